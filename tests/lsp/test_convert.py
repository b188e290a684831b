"""Conversions: what the agent means is what the client does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from agent_ls.domain.edits import Replacement, apply_replacements
from agent_ls.lsp.connection.convert import text_edits
from agent_ls.lsp.connection.documents import Change, DocumentStore
from agent_ls.lsp.connection.positions import ENCODINGS, Encoding, TextPositions


def replacements(*parts: tuple[int, int, str]) -> tuple[Replacement, ...]:
    return tuple(Replacement(start=a, end=b, text=text) for a, b, text in parts)


def check(text: str, changes: tuple[Replacement, ...], encoding: Encoding) -> str:
    """The text after a client has carried out the edits, last one first, as LSP asks it to."""
    client = DocumentStore(encoding)
    client.open("x:", "", 1, text)
    for edit in reversed(text_edits(TextPositions(text, encoding), changes)):
        start, end = edit.range.start, edit.range.end
        places = (start.line, start.character), (end.line, end.character)
        client.change("x:", 1, [Change(edit.new_text, *places)])
    snapshot = client.get("x:")
    assert snapshot is not None
    return snapshot.text


CASES = {
    "insert": ("ab", replacements((1, 1, "X")), "aXb"),
    "several": ("abcd", replacements((0, 1, "1"), (2, 3, "3")), "1b3d"),
    "touching": ("abcd", replacements((0, 2, "1"), (2, 4, "2")), "12"),
    "after-astral": ("😀a😀b", replacements((1, 2, "X"), (3, 4, "Y")), "😀X😀Y"),
    "after-a-form-feed": ("a\x0cb\nc", replacements((4, 5, "X")), "a\x0cb\nX"),
    "whole-crlf": ("a\r\nb", replacements((1, 3, "\n")), "a\nb"),
    "only-the-cr": ("a\r\nb", replacements((1, 2, "")), "a\nb"),
    "only-the-lf": ("a\r\nb", replacements((2, 3, "")), "a\rb"),
    "between-the-two": ("a\r\nb", replacements((2, 2, "X")), "a\rX\nb"),
    "meeting-between-the-two": ("a\r\nb", replacements((0, 2, "1"), (2, 4, "2")), "12"),
    "two-inserts-between-the-two": ("\r\n", replacements((1, 1, "1"), (1, 1, "2")), "\r12\n"),
    "at-the-end": ("a\n", replacements((2, 2, "b")), "a\nb"),
    "a-line-at-the-end": ("a\n", replacements((2, 2, "b\n")), "a\nb\n"),
    "a-line-at-the-end-with-crlf": ("a\r\n", replacements((3, 3, "b\r\n")), "a\r\nb\r\n"),
    "a-line-behind-a-changed-end": ("a\n", replacements((1, 2, "\n\n"), (2, 2, "b\n")), "a\n\nb\n"),
    "a-line-behind-a-changed-line": ("a\n", replacements((0, 1, "x"), (2, 2, "b\n")), "x\nb\n"),
    "nothing": ("a", (), "a"),
}


def test_no_edit_names_the_line_behind_the_last_line_end() -> None:
    [edit] = text_edits(TextPositions("a\n", "utf-16"), replacements((2, 2, "b\n")))
    assert (edit.range.start, edit.new_text) == (types.Position(0, 1), "\nb")


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("text, changes, after", CASES.values(), ids=CASES.keys())
def test_the_client_makes_the_text_that_was_meant(
    text: str, changes: tuple[Replacement, ...], after: str, encoding: Encoding
) -> None:
    assert apply_replacements(text, changes) == after
    assert check(text, changes, encoding) == after


@st.composite
def texts_with_changes(draw: st.DrawFn) -> tuple[str, tuple[Replacement, ...]]:
    alphabet = st.sampled_from(["a", "\r\n", "\r", "\n", "é", "😀", "\u2028"])
    text = "".join(draw(st.lists(alphabet, max_size=12)))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
    new = draw(st.lists(st.sampled_from(["", "X", "😁", "é"]), min_size=3, max_size=3))
    return text, replacements(
        *((a, b, t) for a, b, t in zip(cuts[::2], cuts[1::2], new, strict=False))
    )


@settings(max_examples=500, deadline=None)
@given(case=texts_with_changes(), encoding=st.sampled_from(ENCODINGS))
def test_any_change_arrives_as_it_was_meant(
    case: tuple[str, tuple[Replacement, ...]], encoding: Encoding
) -> None:
    text, changes = case
    assert check(text, changes, encoding) == apply_replacements(text, changes)
