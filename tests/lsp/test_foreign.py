"""Findings beside other servers: which of ours are shown."""

from __future__ import annotations

import pytest

from agent_ls.domain.findings import Finding, Severity
from agent_ls.lsp.diagnostics.foreign import ForeignDiagnostics, Shown, editor_diagnostics

URI = "file:///a.py"


def said(line: int, message: str, **more: object) -> dict[str, object]:
    at = {"line": line, "character": 0}
    return {"range": {"start": at, "end": at}, "message": message, **more}


@pytest.mark.parametrize(
    ("theirs", "shown", "is_hidden"),
    [
        pytest.param(said(3, "Undefined name  `x`"), "deduplicated", True, id="the-same-words"),
        pytest.param(said(3, "F821: undefined name `x`"), "deduplicated", True, id="within-words"),
        pytest.param(said(3, "no x here", code="F821"), "deduplicated", True, id="the-same-code"),
        pytest.param(said(3, "unused import"), "deduplicated", False, id="something-else"),
        pytest.param(said(4, "Undefined name `x`"), "deduplicated", False, id="another-line"),
        pytest.param(said(3, "Undefined name `x`"), "all", False, id="all-are-wanted"),
        pytest.param(said(9, "unused import"), "never", True, id="none-is-wanted"),
    ],
)
def test_a_finding_that_another_server_has_too_is_shown_once(
    theirs: dict[str, object], shown: Shown, *, is_hidden: bool
) -> None:
    foreign = ForeignDiagnostics()
    foreign.shown = shown
    foreign.replace(URI, editor_diagnostics([theirs]))
    finding = Finding(path="a.py", checker="ruff", code="F821", message="undefined name `x`")
    assert foreign.hides(URI, finding, 3) is is_hidden
    foreign.replace(URI, [])
    assert foreign.hides(URI, finding, 3) is (shown == "never")


def test_a_request_tells_of_its_own_lines_alone() -> None:
    foreign = ForeignDiagnostics()
    first, fourth = editor_diagnostics([said(0, "unused"), said(3, "undefined name `x`")])
    finding = Finding(path="a.py", checker="ruff", message="undefined name `x`")
    assert foreign.see(URI, (3, 3), [fourth])
    assert not foreign.see(URI, (3, 3), [fourth]), "nothing new"
    assert foreign.see(URI, (0, 2), [first])
    assert foreign.hides(URI, finding, 3)
    assert foreign.see(URI, (2, 4), [])
    assert not foreign.hides(URI, finding, 3)


def test_what_is_no_diagnostic_is_left_out() -> None:
    odd = [
        None,
        {},
        {"range": []},
        said(1, "x", severity=9),
        said(1, "x", severity="y"),
        said(2, "z"),
    ]
    (read,) = editor_diagnostics(odd)
    assert (read.line, read.message, read.severity) == (2, "z", Severity.ERROR)
