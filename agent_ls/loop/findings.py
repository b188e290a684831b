"""What the checkers say of a turn's changes, and how findings read.

Shared by the policies that check: which texts are compared, what counts, one line per finding.
It runs no checker itself; the CompileChecks port does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from agent_ls.domain.errors import StoreError, WorkspaceError
from agent_ls.domain.events import FindingsReported
from agent_ls.domain.findings import CheckReport, Finding, Severity
from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.spelling import canonical
from agent_ls.loop.state import TouchedFile
from agent_ls.loop.view import TurnView

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Looked:
    """What a check of the turn's changes looked at, and what it found."""

    report: CheckReport
    """New findings only, in any file."""
    paths: tuple[str, ...]
    """Every file whose shown findings this replaces, sorted."""
    kept: tuple[Finding, ...] = ()
    """What is shown in these by checkers that gave no answer this time: nobody knows better."""

    @property
    def shown(self) -> CheckReport:
        """Return what a person is to see of the files."""
        findings = (*self.report.findings, *self.kept)
        return self.report.model_copy(update={"findings": findings})


async def check_changes(
    view: TurnView,
    checks: CompileChecks,
    workspace: Workspace,
    blobs: Blobs,
    *,
    anew: bool = False,
    within_s: float | None = None,
) -> Looked | None:
    """Return what the turn's changes introduced; None when it changed no file.

    Compares the texts from before the turn's first touch with the newest ones, saved or not;
    ``anew`` whatever was said of the same texts earlier, ``within_s`` without checkers that take
    longer.
    """
    if not view.turn.touched:
        return None
    files: dict[str, TouchedFile] = {}
    for path, touched in view.turn.touched.items():
        # Two spellings of one file: the first touch knows the text from before the turn.
        files.setdefault(canonical(path, workspace), touched)
    # At once, because the store fetches in one go what is asked for together.
    texts = await asyncio.gather(
        *(_texts(name, touched, workspace, blobs) for name, touched in files.items())
    )
    before: dict[str, str | None] = {}
    now: dict[str, str | None] = {}
    problems: list[str] = []
    for name, found in zip(files, texts, strict=True):
        if isinstance(found, str):
            problems.append(found)
        else:
            before[name], now[name] = found
    report = await checks.introduced(before, now, anew=anew, within_s=within_s)
    if problems:
        report = report.model_copy(update={"problems": (*problems, *report.problems)})
    shown = {path for event in view.each(FindingsReported) for path in event.paths}
    # What an earlier turn broke elsewhere, this one may have mended.
    shown |= view.session.findings.keys() & set(report.mended)
    found = {finding.path for finding in report.findings}
    paths = tuple(sorted(now.keys() | shown | found))
    kept = (
        one
        for path in paths
        for one in view.session.findings.get(path, ())
        if one.checker not in report.checkers
    )
    return Looked(report, paths, tuple(kept))


def counting(findings: Iterable[Finding]) -> list[Finding]:
    """Return those that have to be fixed: errors and warnings, in the order of files and lines."""
    chosen = [one for one in findings if one.severity in (Severity.ERROR, Severity.WARNING)]
    return sorted(chosen, key=lambda one: (one.path, one.start_line, one.start_column, one.code))


def listed(findings: list[Finding], limit: int) -> str:
    """Return one line for each finding, and how many there are beyond the limit."""
    lines = [line_of(finding) for finding in findings[:limit]]
    if len(findings) > limit:
        lines.append(f"… and {len(findings) - limit} more.")
    return "\n".join(lines)


def line_of(finding: Finding) -> str:
    """Return a finding as compilers print it, with lines and columns from 1."""
    code = f" {finding.code}" if finding.code else ""
    return (
        f"{finding.path}:{finding.start_line + 1}:{finding.start_column + 1}: "
        f"{finding.severity} {finding.checker}{code}: {finding.message}"
    )


async def _texts(
    path: str, touched: TouchedFile, workspace: Workspace, blobs: Blobs
) -> tuple[str | None, str | None] | str:
    """Return the text from before the turn's first touch and the newest; else why it has none."""
    try:
        newest = await _newest(path, workspace)
        return await _stored(touched.before_blob, newest, blobs), newest
    except (StoreError, WorkspaceError) as error:
        return f"{path} was not checked: {error}"


async def _newest(path: str, workspace: Workspace) -> str | None:
    """Return the text as it is now; None when the file is gone."""
    try:
        return (await workspace.read(path)).text
    except WorkspaceError:
        if await workspace.exists(path):
            raise
        return None


async def _stored(blob: str | None, newest: str | None, blobs: Blobs) -> str | None:
    """Return the text from before; without one to compare with, nothing counts as new."""
    if blob is None:
        return None
    data = await blobs.get_blob(blob)
    if data is None:
        return newest
    text = data.decode("utf-8", errors="replace")
    keeps_mark = newest is not None and newest.startswith(_BOM)
    return text if keeps_mark else text.removeprefix(_BOM)
