"""Announcements of work in other languages than English, and endings that only look like them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.verdicts import Nudge, Pass
from agent_ls.policies.gates.incomplete_action import PHRASES, IncompleteAction
from tests.policies.views import view_of

ANSWERS = tomllib.loads(Path(__file__).with_name("announcements.toml").read_text("utf-8"))


async def check(text: str, verdict: type[Nudge | Pass]) -> None:
    """Judge an answer that ends with the text."""
    for answer in (text, f"`parse` (a.py:3).\n\n{text}"):
        found = await IncompleteAction().judge(AssistantMessage(text=answer), view_of())
        assert isinstance(found, verdict), (answer, found)


def lines(kind: str) -> list[object]:
    return [
        pytest.param(line, id=f"{language}-{line}")
        for language, text in ANSWERS[kind].items()
        for line in text.strip().splitlines()
    ]


def test_each_language_has_both_lists() -> None:
    assert ANSWERS["announced"].keys() == ANSWERS["innocent"].keys() == PHRASES.keys() - {"en"}


@pytest.mark.parametrize("text", lines("announced"))
async def test_an_announcement_without_a_call_is_nudged(text: str) -> None:
    await check(text, Nudge)


@pytest.mark.parametrize("text", lines("innocent"))
async def test_reports_questions_and_explanations_are_left_alone(text: str) -> None:
    await check(text, Pass)
