"""What edits do to texts, and the edits that undo them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.domain.edits import (
    ChangeText,
    CreateFile,
    DeleteFile,
    FileEdit,
    MoveFile,
    Replacement,
    taken_back,
    text_after,
)


def check(edit: FileEdit, before: str | None, expected: FileEdit) -> None:
    """Assert which edit undoes one, and that it leaves what was there before."""
    undoing = taken_back(edit, before, "v2")
    assert undoing == expected
    if edit.kind != "move":
        assert text_after(undoing, text_after(edit, before)) == before


def change(*spans: tuple[int, int, str], version: str) -> ChangeText:
    found = tuple(Replacement(start=start, end=end, text=text) for start, end, text in spans)
    return ChangeText(path="a", base_version=version, replacements=found)


@pytest.mark.parametrize(
    ("edit", "before", "expected"),
    [
        pytest.param(
            change((0, 1, "AAA"), (2, 4, ""), (5, 5, "E"), version="v1"), "abcdef",
            change((0, 3, "a"), (4, 4, "cd"), (5, 6, ""), version="v2"), id="a-change",
        ),
        pytest.param(
            CreateFile(path="a", text="new"), None,
            DeleteFile(path="a", base_version="v2"), id="a-new-file",
        ),
        pytest.param(
            CreateFile(path="a", text="new"), "", change((0, 3, ""), version="v2"),
            id="a-buffer-that-was-empty",
        ),
        pytest.param(
            DeleteFile(path="a", base_version="v1"), "old", CreateFile(path="a", text="old"),
            id="a-deletion",
        ),
        pytest.param(
            MoveFile(path="a", base_version="v1", new_path="b"), "old",
            MoveFile(path="b", base_version="v2", new_path="a"), id="a-move",
        ),
    ],
)  # fmt: skip
def test_an_edit_is_undone_by_another(
    edit: FileEdit, before: str | None, expected: FileEdit
) -> None:
    check(edit, before, expected)


@given(
    st.text(max_size=30), st.lists(st.tuples(st.integers(0, 30), st.text(max_size=4)), max_size=6)
)
def test_any_change_is_undone(before: str, spans: list[tuple[int, str]]) -> None:
    ends = sorted(min(end, len(before)) for end, _ in spans)
    pairs = zip(ends[::2], ends[1::2], (text for _, text in spans), strict=False)
    edit = change(*pairs, version="v1")
    after = text_after(edit, before)
    assert text_after(taken_back(edit, before, "v2"), after) == before


def test_a_change_of_another_text_is_told() -> None:
    with pytest.raises(ValueError, match="leave the text"):
        text_after(change((3, 9, "x"), version="v1"), "abc")
