"""What edits do to texts."""

from __future__ import annotations

import pytest

from agent_ls.domain.edits import ChangeText, Replacement, text_after


def test_a_change_of_another_text_is_told() -> None:
    beyond = Replacement(start=3, end=9, text="x")
    edit = ChangeText(path="a", base_version="v1", replacements=(beyond,))
    with pytest.raises(ValueError, match="leave the text"):
        text_after(edit, "abc")
