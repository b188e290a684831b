"""What is shown of a turn's end: for every cause a short title, and a next step where one helps."""

from __future__ import annotations

from typing import get_args

import pytest

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.stops import STATUS, StopReason, TurnStatus
from agent_ls.lsp.ends import FAILURES, STOPS, NextAction, end_of, failure_of

_MOST_WORDS = 8


def check(title: str, actions: tuple[NextAction, ...]) -> None:
    """Assert that a title is a short sentence without marks, and that the actions are known."""
    assert 0 < len(title.split()) <= _MOST_WORDS, title
    assert not title.endswith("."), title
    assert "{" not in title, title
    assert set(actions) <= set(get_args(NextAction))
    assert len(set(actions)) == len(actions)


@pytest.mark.parametrize("model", ["openai/gpt-5", "github_copilot/gpt-4o", "gpt-5", "", "a/b/c"])
def test_every_failure_of_a_model_has_a_title_and_a_next_step(model: str) -> None:
    assert {*FAILURES} == {*ProviderFailure}
    for failure in ProviderFailure:
        end = failure_of(failure, model)
        check(end.title, end.actions)
        assert end.actions


def test_every_end_has_a_title_and_a_bad_one_a_next_step() -> None:
    assert {*STOPS} == {*StopReason}
    for stop in StopReason:
        end = end_of(stop, STATUS[stop], None, "openai/gpt-5", has_answered=False)
        check(end.title, end.actions)
        is_fine = STATUS[stop] in (TurnStatus.SUCCESS, TurnStatus.CANCELLED)
        assert bool(end.actions) is not is_fine


@pytest.mark.parametrize(
    "failure, model, title",
    [
        (ProviderFailure.AUTHENTICATION, "openai/gpt-5", "Key refused by openai"),
        (ProviderFailure.NO_KEY, "anthropic/claude", "No usable key for anthropic"),
        (ProviderFailure.NOT_SIGNED_IN, "chatgpt/gpt-5", "Not signed in to chatgpt"),
        (ProviderFailure.RATE_LIMITED, "openai/gpt-5", "Rate limit of openai reached"),
        (ProviderFailure.CONTEXT_OVERFLOW, "openai/gpt-5", "Conversation too long for the model"),
        (ProviderFailure.CONNECTION, "ollama_chat/qwen3", "Cannot reach ollama_chat"),
        (ProviderFailure.OVERLOADED, "gpt-5", "gpt-5 is overloaded"),
        (ProviderFailure.NO_MODEL, "", "No model is chosen"),
    ],
)
def test_a_title_names_who_was_asked(failure: ProviderFailure, model: str, title: str) -> None:
    assert failure_of(failure, model).title == title


def test_a_turn_that_has_done_something_goes_on_and_does_not_begin_anew() -> None:
    for has_answered, action in ((False, "retry"), (True, "go_on")):
        end = end_of(
            StopReason.ERROR,
            TurnStatus.FAILED,
            ProviderFailure.SERVER,
            "openai/x",
            has_answered=has_answered,
        )
        assert end.actions[0] == action


def test_a_turn_that_was_kept_from_its_work_is_not_called_done() -> None:
    end = end_of(StopReason.COMPLETED, TurnStatus.PARTIAL, None, "openai/x", has_answered=True)
    assert end.title == "Partly done"
