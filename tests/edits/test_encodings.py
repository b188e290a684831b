"""What an editor can have written for a text is recognised, in the encoding that the file has."""

from __future__ import annotations

import codecs

import pytest

from agent_ls.edits.encodings import encodings_of, held_as
from agent_ls.edits.in_place import in_place_of, in_place_of_shown

_TEXT = "x = 'café'\n"
_UTF_16 = codecs.BOM_UTF16_LE + _TEXT.encode("utf-16-le")


@pytest.mark.parametrize(
    ("text", "data", "names"),
    [
        pytest.param("a\n", b"a\r\n", ["utf-8"], id="ascii"),
        pytest.param("č\n", "č\r\n".encode("cp1250"), ["iso8859-2", "cp1250"], id="several"),
        pytest.param("привет", "привет".encode("koi8-r"), ["koi8-r"], id="one"),
        pytest.param("č\n", codecs.BOM_UTF16_LE + "č\r\n".encode("utf-16-le"), ["utf-16-le"],
                     id="marked-with-line-ends"),
        pytest.param("č", codecs.BOM_UTF8 + "č".encode(), ["utf-8"], id="marked"),
        pytest.param("\udc80", "\udc80".encode("utf-8", "surrogatepass"), ["utf-8"], id="half"),
        pytest.param("š", "č".encode("cp1250"), [], id="another-text"),
        pytest.param("a\r\n", b"a\n", [], id="line-ends-that-are-shown"),
    ],
)  # fmt: skip
def test_the_bytes_say_in_which_encodings_they_are_a_text(
    text: str, data: bytes, names: list[str]
) -> None:
    assert [one.name for one in encodings_of(text, data)] == names


def test_lines_that_stay_end_as_they_did_in_any_encoding() -> None:
    before = "č = 1\r\nb = 2\nc = 3\n".encode("cp1250")
    shown = "č = 1\nb = 2\nc = 3\n"
    after = in_place_of(shown.replace("2", "4"), before, encodings_of(shown, before))
    assert after == before.replace(b"2", b"4")


_CZECH = "č\r\nb\r\n".encode("cp1250")


@pytest.mark.parametrize(
    ("text", "data", "held"),
    [
        pytest.param("a\nb", b"a\nb\n", "a\nb\n", id="ended-as-it-was-written"),
        pytest.param("a\nb\n", b"a\nb", "a\nb", id="ended-as-it-is-shown"),
        pytest.param("a\nb\n", b"a\nb\n", "a\nb\n", id="just-so"),
        pytest.param("a\r\nb", b"a\r\nb\r\n", "a\r\nb\r\n", id="crlf-that-is-shown"),
        pytest.param("č\nb", _CZECH, "č\nb\n", id="line-ends-of-the-file"),
        pytest.param("a\nb", codecs.BOM_UTF8 + b"a\nb\n", "a\nb\n", id="with-a-mark"),
        pytest.param("\n", b"", "", id="an-empty-file"),
        pytest.param("a\n\n", b"a\n", "", id="an-empty-line-more"),
        pytest.param("a", b"a\n\n", "", id="two-ends-more"),
        pytest.param("a\nb", b"a\nc\n", "", id="another-text"),
        pytest.param("a", b"a ", "", id="a-blank-more"),
        pytest.param("a\r\nb\r\n", b"a\r\nb\n", "a\nb\n", id="mixed-shown-as-crlf"),
        pytest.param("č\r\nb\r\n", "č\r\nb\n".encode("utf-16"), "č\nb\n", id="mixed-in-utf-16"),
        pytest.param("a\r\nb\r\n", b"a\nb\n", "", id="lf-shown-as-crlf"),
        pytest.param("a\r\nb\n", b"a\nb\r\n", "", id="mixed-otherwise"),
        pytest.param("a\rb\r\n", b"a\nb\r\n", "", id="a-cr-alone"),
    ],
)
def test_an_editor_shows_line_ends_otherwise(text: str, data: bytes, held: str) -> None:
    found, encodings = held_as(text, data)
    assert found == held
    assert bool(encodings) is (bool(held) or not data)


@pytest.mark.parametrize(
    ("text", "shown", "sample", "data"),
    [
        pytest.param("a\nc", "a\nb", b"a\nb\n", b"a\nc\n", id="written-with-an-end"),
        pytest.param("a\nc\n", "a\nb\n", b"a\nb", b"a\nc", id="shown-with-an-end"),
        pytest.param("a\nc\n", "a\nb", b"a\nb", b"a\nc\n", id="given-one"),
        pytest.param("a\nc", "a\nb\n", b"a\nb\n", b"a\nc", id="taken-away"),
        pytest.param("a\nc", "a\nb", b"a\r\nb\r\n", b"a\r\nc\r\n", id="in-crlf"),
    ],
)
def test_the_last_line_ends_as_it_did(text: str, shown: str, sample: bytes, data: bytes) -> None:
    assert in_place_of_shown(text, shown, sample) == data
