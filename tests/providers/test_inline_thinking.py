"""Thinking that a server sends as the answer's text: told apart, however it is cut into pieces."""

from __future__ import annotations

import pytest

from agent_ls.domain.model_io import ReasoningDelta, TextDelta, TextWasReasoning
from agent_ls.providers.answer import Answer


def parted(*pieces: str) -> tuple[str, str, str]:
    """Return the thinking, the answer, and what was taken back from those who saw the stream."""
    answer = Answer("m")
    thinking = text = taken_back = ""
    answer.finish("stop")
    for event in [*(one for piece in pieces for one in answer.text(piece)), *answer.end(1)]:
        match event:
            case ReasoningDelta(more):
                thinking += more
            case TextDelta(more):
                text += more
            case TextWasReasoning():
                thinking, text, taken_back = thinking + text, "", text
            case _:
                pass
    return thinking, text, taken_back


CASES = {
    "think": ("<think>I see.</think>\n\nIt is 9.", "I see.", "It is 9."),
    "after-blanks": ("\n <think>I see.</think>It is 9.", "I see.", "It is 9."),
    "empty": ("<think>\n\n</think>\n\nIt is 9.", "\n\n", "It is 9."),
    "not-closed": ("<think>I see", "I see", ""),
    "alone": ("<think>I see.</think>", "I see.", ""),
    "twice": ("<think>a</think>\n<think>b</think>\nIt is 9.", "ab", "It is 9."),
    "thinking": ("<thinking>I see.</thinking>It is 9.", "I see.", "It is 9."),
    "reasoning": ("<reasoning>I see.</reasoning>It is 9.", "I see.", "It is 9."),
    "seed": ("<seed:think>I see.</seed:think>It is 9.", "I see.", "It is 9."),
    "mistral": ("[THINK]I see.[/THINK]It is 9.", "I see.", "It is 9."),
    "kimi-vl": ("◁think▷I see.◁/think▷It is 9.", "I see.", "It is 9."),
    "command": (
        "<|START_THINKING|>I see.<|END_THINKING|><|START_RESPONSE|>It is 9.<|END_RESPONSE|>",
        "I see.",
        "It is 9.",
    ),
    "gemma": ("<|channel>thought\nI see.<channel|>It is 9.", "\nI see.", "It is 9."),
    "harmony": (
        "<|channel|>analysis<|message|>I see.<|end|>"
        "<|start|>assistant<|channel|>final<|message|>It is 9.<|return|>",
        "I see.",
        "It is 9.",
    ),
    "harmony-with-a-call": (
        "<|channel|>analysis<|message|>I see.<|end|><|start|>assistant<|channel|>commentary "
        "to=functions.f<|message|>{}<|call|>",
        "I see.",
        "<|start|>assistant<|channel|>commentary to=functions.f<|message|>{}<|call|>",
    ),
    "without-an-opening": ("I see.\n</think>\n\nIt is 9.", "I see.\n", "It is 9."),
    "without-an-opening-in-a-line": ("I see.</think>It is 9.", "I see.", "It is 9."),
    "only-a-closing": ("</think>\n\nIt is 9.", "", "It is 9."),
    "in-the-middle": ("It is <think>9</think>.", "", "It is <think>9</think>."),
    "in-backticks": ("The tag `</think>` ends it.", "", "The tag `</think>` ends it."),
    "in-quotes": ('The tag "</think>" ends it.', "", 'The tag "</think>" ends it.'),
    "in-a-code-block": ("```\na</think>\n```\n", "", "```\na</think>\n```\n"),
    "code-that-begins-so": ("```\n<think>a</think>\n```", "", "```\n<think>a</think>\n```"),
    "other-tags": ("<thing>a</thing>", "", "<thing>a</thing>"),
    "the-beginning-of-a-tag": ("<thin", "", "<thin"),
    "blanks": (" \n", "", " \n"),
    "plain": ("  It is 9 < 10.\n", "", "  It is 9 < 10.\n"),
    "nothing": ("", "", ""),
}


@pytest.mark.parametrize("text, thinking, answer", CASES.values(), ids=CASES)
def test_thinking_in_the_content_is_no_answer(text: str, thinking: str, answer: str) -> None:
    for size in (len(text) or 1, 1, 2, 3, 7):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert parted(*pieces)[:2] == (thinking, answer), size


def test_nothing_of_marked_thinking_is_shown_as_answer() -> None:
    assert parted(*"<think>I see.</think>It is 9.")[2] == ""
    assert parted(*"I see.</think>It is 9.")[2] == "I see."


def test_an_answer_streams_on_without_delay() -> None:
    answer = Answer("m")
    assert list(answer.text("It is")) == [TextDelta("It is")]
    assert list(answer.text(" 9.")) == [TextDelta(" 9.")]
