"""Announcements of work and voiced doubt in ten languages, and what only looks like them."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path

import pytest

from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.verdicts import Nudge, Pass
from agent_ls.loop.evidence import announcements, doubts
from agent_ls.policies.gates.incomplete_action import IncompleteAction
from tests.policies.views import view_of

CODES = ("en", "de", "fr", "es", "it", "pt", "ru", "zh", "ja", "ko")
FILES = ("announcements.toml", "announcements_unseen.toml", "announcements_waiting.toml")


def lines(file: str, kind: str, code: str) -> list[str]:
    table = tomllib.loads(Path(__file__).with_name(file).read_text("utf-8"))
    return [line.replace("⏎", "\n") for line in table[kind][code].strip().splitlines()]


def test_each_table_knows_the_ten_languages() -> None:
    assert tuple(announcements.LANGUAGES) == tuple(doubts.LANGUAGES) == CODES


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(
    "kind, verdict", [("announced", Nudge), ("innocent", Pass)], ids=["announced", "innocent"]
)
async def test_announcements_are_nudged_and_nothing_else(
    file: str, code: str, kind: str, verdict: type[Nudge | Pass]
) -> None:
    wrong: list[str] = []
    for line in lines(file, kind, code):
        for answer in (line, f"`parse` (a.py:3).\n\n{line}"):
            judged = await IncompleteAction().judge(AssistantMessage(text=answer), view_of())
            if not isinstance(judged, verdict):
                wrong.append(answer)
    assert wrong == []


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("kind, expected", [("doubted", True), ("sure", False)])
def test_doubt_is_heard_and_nothing_else(code: str, kind: str, expected: bool) -> None:
    wrong = [one for one in lines("doubts.toml", kind, code) if doubts.is_in_doubt(one) != expected]
    assert wrong == []


MANY = 2_500
LONG = {
    "prose": "The parser reads `a.py` and returns nodes. It is fast enough for now. " * 150,
    "no-full-stop": "die Funktion liest die Datei und gibt dann " * 250,
    "adverbs": "now " * MANY,
    "promises": "ich werde " * MANY,
    "japanese": "ファイルを" * MANY,
    "chinese": "我先" * MANY,
    "list": "- x\n" * MANY,
    "quotes": "'a' \"b " * MANY,
    "one-quote": '"' * MANY,
    "ticks": "`" * MANY,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_long_answers_take_no_time(text: str) -> None:
    for judge in (announcements.announced_action, doubts.is_in_doubt):
        judge(text)  # compiles the patterns
        start = time.process_time()
        judge(text)
        # It takes 2 ms, or of the worst 20; a pattern that backtracks takes seconds.
        assert time.process_time() - start < 0.2
