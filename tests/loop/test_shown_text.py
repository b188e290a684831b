"""What a user sees of an answer while it streams: words, and no calls."""

from __future__ import annotations

import pytest

from agent_ls.loop.printed.showing import ShownText

CASES = {
    "hermes": ("I read it.\n<tool_call>\n{}\n</tool_call>", "I read it.\n"),
    "function": ("<function=read_file>{}</function>", ""),
    "invoke": ('<invoke name="a">', ""),
    "prefix": ('<minimax:tool_call>\n<invoke name="a">', ""),
    "tokens": ("I see. <|channel|>commentary", "I see. "),
    "deepseek": ("<｜tool▁calls▁begin｜>", ""),
    "mistral": ("So: [TOOL_CALLS]a[ARGS]{}", "So: "),
    "code-block": ("```\n<tool_call>\n```\nThat is it.", "```\n<tool_call>\n```\nThat is it."),
    "backticks": ("The tag `<tool_call>` opens it.", "The tag `<tool_call>` opens it."),
    "after-a-code-block": ("```\na\n```\n<tool_call>{", "```\na\n```\n"),
    "prose": ("It is a < b, a[0] <b>and</b> [x](y).", "It is a < b, a[0] <b>and</b> [x](y)."),
}


@pytest.mark.parametrize("text, shown", CASES.values(), ids=CASES)
def test_calls_are_held_back_from_the_first_sign_on(text: str, shown: str) -> None:
    for size in (1, 3, len(text)):
        held = ShownText()
        pieces = [held.take(text[at : at + size]) for at in range(0, len(text), size)]
        assert "".join(pieces) == shown, size
        assert "".join(pieces) + held.rest() == text, size


def test_words_are_shown_without_delay() -> None:
    held = ShownText()
    assert [held.take(one) for one in ("It ", "is ", "9.")] == ["It ", "is ", "9."]
