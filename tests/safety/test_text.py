"""Hidden characters: gone on the way to the model, visible for a user, legitimate ones kept."""

from __future__ import annotations

import asyncio
import json
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.safety.text import (
    cleaned,
    escaped_in_json,
    has_hidden,
    label,
    plain_output,
    plain_output_slowly,
    visible,
    visible_line,
)


def check(text: str, for_model: str, for_user: str | None = None) -> None:
    """Assert what the model gets, and what a user sees where that differs."""
    assert cleaned(text) == for_model
    assert visible(text) == (for_model if for_user is None else for_user)
    assert has_hidden(text) == (for_model != text)


SCOTLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"


@pytest.mark.parametrize(
    "text",
    [
        "plain text, tabs\tand\nlines",
        "naïve façade, Ærø, ﬁne",
        "Ελληνικά, Русский, 日本語, 한국어, ไทย",
        "שלום עולם",
        "שלום\u200f!",
        "x \u05e9\u200e x",
        "مرحبا\u200f!",
        "\u200f\u05e9 1 \u200fب\u061c-5",
        "می\u200cخو",
        # Joiners at the end of a word, and between a number or foreign letters and an ending.
        "\u0647\u200c x ന്\u200d. ۲۰\u200cس PDF\u200cس",
        "ไทย\u200bไทย ភាសា\u200bខ្មែរ မြန်\u200bမာ",
        "क्\u200dष",
        "👨\u200d👩\u200d👧\u200d👦 👩🏽\u200d💻 🏳️\u200d🌈",
        "❤️ ☎︎ 1️⃣ #️⃣ *️⃣ ©️ ‼️ ↔️ ℹ️ 〰️",
        SCOTLAND,
        "葛\U000e0100\U00020000\U000e01ef神\ufe00神\ufe0d",
        "ᠠ\u180bᠠ\u180dᠠ\u180eᠠ\u180f",
        # The first or last letters of scripts, or parts of scripts, in which letters are joined.
        *(f"{letter}\u200c{letter}" for letter in "\u0610ក\ua840\ufb50\ufe70\ufefc\U00011000"),
    ],
)
def test_legitimate_scripts_survive(text: str) -> None:
    check(text, text)


@pytest.mark.parametrize(
    "text, for_model, for_user",
    [
        ("a\u200bb", "ab", "a\\u200bb"),
        ("a\u00adb\u00adc", "abc", "a\\xadb\\xadc"),
        ("x\u200dy\u200cz", "xyz", "x\\u200dy\\u200cz"),
        ("می\u200c\u200cخ", "می\u200cخ", "می\u200c\\u200cخ"),
        ("a\u200b\u200cب", "aب", "a\\u200b\\u200cب"),
        ("ไทย\u200bx", "ไทยx", "ไทย\\u200bx"),
        ("ไทย\u200b\u200bไทย", "ไทยไทย", "ไทย\\u200b\\u200bไทย"),
        ("ب\u061c\U000e0041\u061cא", "ب\u061cא", "ب\u061c\\U000e0041\\u061cא"),
        ("٣\u200c٣", "٣٣", "٣\\u200c٣"),
        ("Ⴀ\u200cႠ", "ႠႠ", "Ⴀ\\u200cႠ"),
        ("ᢰ\u200cᢰ", "ᢰᢰ", "ᢰ\\u200cᢰ"),
        ("가\u200c가", "가가", "가\\u200c가"),
        ("𒀀\u200c𒀀", "𒀀𒀀", "𒀀\\u200c𒀀"),
        ("👩\u200c👩", "👩👩", "👩\\u200c👩"),
        ("👩\u200dx", "👩x", "👩\\u200dx"),
        ("x\u200d👩", "x👩", "x\\u200d👩"),
        ("x\ufe0f\u200d👩", "x👩", "x\\ufe0f\\u200d👩"),
        ("😀\u200d\ufe0f", "😀", "😀\\u200d\\ufe0f"),
        ("שלום\u200f\u200f!", "שלום\u200f!", "שלום\u200f\\u200f!"),
        ("a\u200f\u200fb", "ab", "a\\u200f\\u200fb"),
        ("¨\ufe0f", "¨", "¨\\ufe0f"),
        ("葛\U000e01f0", "葛", "葛\\U000e01f0"),
        ("ꀀ\U000e0100", "ꀀ", "ꀀ\\U000e0100"),
        ("ᠠ\u180b\u180c", "ᠠ\u180b", "ᠠ\u180b\\u180c"),
        ("\ufeffa", "a", "\\ufeffa"),
        ("access\u202e }⁦if admin", "access }if admin", "access\\u202e }\\u2066if admin"),
        ("a\u200fb", "ab", "a\\u200fb"),
        ("\U000e0041\U000e0042", "", "\\U000e0041\\U000e0042"),
        ("🏴\U000e0041\U000e007f", "🏴", "🏴\\U000e0041\\U000e007f"),
        ("😀\ufe0f\ufe0f", "😀\ufe0f", "😀\ufe0f\\ufe0f"),
        ("😀\U000e0101\U000e0102", "😀", "😀\\U000e0101\\U000e0102"),
        ("a\ufe01", "a", "a\\ufe01"),
        ("a\x00b\x07", "ab", "a\\x00b\\x07"),
        ("\x1b[2J\x1b[1;31mred\x1b[0m", "red", "\\x1b[2J\\x1b[1;31mred\\x1b[0m"),
        ("\x1b]0;title\x07x", "x", "\\x1b]0;title\\x07x"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link", None),
        ("\x9b31mx", "x", "\\x9b31mx"),
        ("\ud800\udfff", "\ufffd\ufffd", "\\ud800\\udfff"),
        ("ㅤ" * 3, "", "\\u3164" * 3),
    ],
)
def test_what_hides_is_taken_out_or_shown(text: str, for_model: str, for_user: str | None) -> None:
    if for_user is None:
        assert cleaned(text) == for_model
        return
    check(text, for_model, for_user)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("ok" + " " * 200 + "; rm -rf /", "ok ⟨200 blanks⟩ ; rm -rf /"),
        ("ok" + "\n" * 30 + "rm", "ok\n⟨29 empty lines⟩\nrm"),
        ("a\rb", "a\\rb"),
        ("a\u2028b", "a\\u2028b"),
        ("    indented\n\n\nfine", "    indented\n\n\nfine"),
    ],
)
def test_a_user_sees_what_would_push_text_out_of_sight(text: str, expected: str) -> None:
    assert visible(text) == expected


def test_the_model_gets_every_character_that_shows_and_no_other() -> None:
    signs = {*"\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"}
    signs |= {chr(one) for one in (*range(0x600, 0x606), *range(0x13430, 0x13440))}
    blank = {*"\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"}
    selectors = (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10))
    blank |= {chr(one) for one in selectors}
    # Places that are kept free for characters which do not show.
    blank |= {*"\u2065", *map(chr, (*range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000)))}
    # Of the planes between these and above them, none holds a character.
    every = [chr(one) for one in (*range(0x40000), *range(0xE0000, 0xF0000))]
    expected = {
        one
        for one in every
        if one in signs or (category(one) not in ("Cc", "Cf", "Cs") and one not in blank)
    }
    assert set(cleaned("x" + "x".join(every) + "x")) == expected | {*"\t\n\r"}


def test_a_title_stays_on_one_line() -> None:
    assert visible_line("Run:\n\techo\x1b[A") == "Run:\\n\\techo\\x1b[A"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("10%\r55%\r100%\ndone\r\n", "100%\ndone\n"),
        ("N\bNA\bAM\bME\bE", "NAME"),
        ("safe\r\x1b[Kevil", "evil"),
        ("\b\b\bx", "x"),
        ("working\r", "working"),
        ("a\x1b[1A\x1b[2Kb", "ab"),
        ("one\n\b\btwo", "one\ntwo"),
        ("  10%\r    \r", "  10%"),
    ],
)
def test_output_reads_as_a_terminal_would_have_left_it(text: str, expected: str) -> None:
    assert plain_output(text) == expected


async def test_a_long_output_reads_the_same_and_lets_everything_else_have_its_turn() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    text = "The log:\n" + "N\bNA\bA of the log\r100%\n" * 40_000 + "the end"
    counting = asyncio.create_task(count())
    assert await plain_output_slowly(text) == plain_output(text)
    counting.cancel()
    assert turns > 40


_SIGNS = st.sampled_from([*"x1خש葛ᠠ😀\u200c\u200d\u200f\ufe00\ufe0f\u180b\u200b\ud800", "\x1b["])


@given(
    st.text(alphabet=st.characters(codec=None), max_size=80)
    | st.lists(_SIGNS, max_size=12).map("".join)
)
def test_cleaning_twice_is_cleaning_once_and_leaves_sendable_text(text: str) -> None:
    once = cleaned(text)
    once.encode("utf-8")
    assert "\x1b" not in once
    assert cleaned(once) == once


@given(st.text(max_size=60))
def test_nothing_a_user_sees_is_lost(text: str) -> None:
    shown = visible(text)
    assert [c for c in text if c.isalnum()] == [c for c in shown if c.isalnum()] or "\\" in shown


@pytest.mark.timeout(10)
@pytest.mark.parametrize("piece", ["\x1b]", "\x1b[", "\u200d", "\b", "\r", " ", "\n", "\x1b]x\x1b"])
def test_hostile_text_takes_linear_time(piece: str) -> None:
    assert plain_output(piece * 100_000) is not None
    assert visible(piece * 100_000) is not None


@given(st.text(max_size=400), st.integers(30, 120))
def test_a_label_is_one_short_line_that_shows_both_ends_or_all(text: str, characters: int) -> None:
    shown = label(text, characters)
    assert len(shown) <= characters
    assert "\n" not in shown
    whole = visible_line(text.strip())
    assert shown == whole or " … " in shown


@pytest.mark.parametrize(
    "text, expected",
    [
        ("make test", "make test"),
        ("a" * 30, "a" * 30),
        ("make\nmake lint", "make\\nmake lint"),
        ("a" * 20 + "\n" + "b" * 20 + "\n" + "c" * 20, "aaaaaaaa … cccccccc (+2 lines)"),
        ("a" * 300, "a" * 14 + " … " + "a" * 13),
        ("a" * 5_000 + "\n" + "b" * 5_000, "aaaaaaaaa … bbbbbbbb (+1 line)"),
        ("rounded half up, and shown on the receipt", "rounded half … the receipt"),
        ("rounded half up, and shown on a receipt of it", "rounded half … receipt of it"),
        ("x " + "a" * 50 + " y", "x " + "a" * 12 + " … " + "a" * 11 + " y"),
        ("a" + " " * 238 + "b", "a ⟨238 blanks⟩ b"),
        ("a" * 9 + " " + "b" * 20 + " " + "c" * 8, "a" * 9 + " … " + "c" * 8),
    ],
)
def test_a_label_counts_the_lines_beyond_the_first(text: str, expected: str) -> None:
    assert label(text, 30) == expected


def test_a_label_of_another_length_shows_both_ends_too() -> None:
    assert label("a" + " " * 900 + "b", 60) == "a ⟨239 blanks⟩ … ⟨239 blanks⟩ b"
    assert label("first\nsecond\nlast", 10) == "f … t (+2 lines)"


def test_json_keeps_its_value_and_has_nothing_for_a_terminal_to_obey() -> None:
    value = {"a": "\u009b2J\u202ex\x7f\x1b[2J\ud800\U000e0041 漢字\n\t"}
    text = escaped_in_json(json.dumps(value, ensure_ascii=False, indent=2))
    assert json.loads(text) == value
    assert "漢字" in text
    assert not has_hidden(text)
