"""When a finding's own fix is offered, and what it puts in."""

from __future__ import annotations

import pytest
from lsprotocol import types

from agent_ls.domain.findings import Finding, TextFix
from agent_ls.lsp.connection.positions import TextPositions
from agent_ls.lsp.diagnostics.annotation import Annotation, Span
from agent_ls.lsp.diagnostics.offers import fix_offer

_LINES = ["a = 1", "b = '𝄞' + c", "a = 3", "d = 4", ""]


def _offer(text: str, fix: TextFix | None, line: int = 1) -> types.CodeAction | None:
    finding = Finding(path="a.py", checker="review", message="Wrong.\nWhy.", fix=fix)
    annotation = Annotation("ses_1", "file:///a.py", Span.whole(line), finding)
    shown = types.Diagnostic(types.Range(types.Position(1, 0), types.Position(1, 1)), "Wrong.")
    return fix_offer(annotation, finding, TextPositions(text, "utf-16"), shown)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_fix_replaces_its_text_in_the_clients_columns_and_line_ends(ends: str) -> None:
    offer = _offer(ends.join(_LINES), TextFix(old_text="c\na = 3", new_text="e\na = 5"))
    assert offer is not None
    assert offer.title == "Agent: Fix: Wrong."
    assert offer.edit is not None
    [edit] = (offer.edit.changes or {})["file:///a.py"]
    # The note is two units wide.
    assert edit.range == types.Range(types.Position(1, 11), types.Position(2, 5))
    assert edit.new_text == f"e{ends}a = 5"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("a = ", "x = ", id="twice"),
        pytest.param("gone", "x", id="not-there"),
        pytest.param("", "x", id="empty"),
        pytest.param("d = 4", "d = 5", id="elsewhere"),
        pytest.param("c", "c\u202e", id="unseen-characters"),
    ],
)
def test_a_fix_that_is_not_plainly_of_the_finding_is_not_offered(old: str, new: str) -> None:
    assert _offer("\n".join(_LINES), TextFix(old_text=old, new_text=new)) is None


def test_a_finding_without_a_fix_offers_none() -> None:
    assert _offer("\n".join(_LINES), None) is None
