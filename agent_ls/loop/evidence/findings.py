"""Checks a turn's changes and formats the findings.

Decides which texts are compared, which findings count and which are new. The CompileChecks port
runs the checkers.
"""

from __future__ import annotations

import asyncio
import hashlib
import posixpath
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from agent_ls.domain.calls import Effect
from agent_ls.domain.errors import StoreError, WorkspaceError
from agent_ls.domain.events import FindingsReported, ToolCallFinished
from agent_ls.domain.findings import CheckReport, Finding, Severity
from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.spelling import canonical
from agent_ls.loop.state.state import TouchedFile
from agent_ls.loop.state.view import TurnView

_BOM = "\ufeff"
_RUNS = (Effect.EXECUTE, Effect.DELEGATE)
"""Effects that run commands; a sub-agent's own commands are in its own journal."""


@dataclass(frozen=True, slots=True)
class Looked:
    """The result of checking a turn's changes."""

    report: CheckReport
    """New findings only, in any file."""
    paths: tuple[str, ...]
    """Every file whose displayed findings this report replaces, sorted."""
    kept: tuple[Finding, ...] = ()
    """Findings displayed before, from checkers that gave no answer this time."""

    @property
    def shown(self) -> CheckReport:
        """Return the report to display to the user."""
        findings = (*self.report.findings, *self.kept)
        return self.report.model_copy(update={"findings": findings})


async def check_changes(
    view: TurnView,
    checks: CompileChecks,
    workspace: Workspace,
    blobs: Blobs,
    *,
    only: Collection[str] | None = None,
    anew: bool = False,
    within_s: float | None = None,
) -> Looked | None:
    """Return the findings that the turn's changes introduced; None when it changed no file.

    Compares the newest texts, saved or not, with those before the turn's first change; changes by
    others are discounted. Of files that are checked by themselves it looks at ``only`` these, under
    their canonical names: the others have not changed. ``anew`` and ``within_s`` are those of
    ``CompileChecks.introduced``.
    """
    if not view.turn.touched:
        return None
    chosen = view.turn.touched if only is None else _chosen(view.turn.touched, only, checks)
    files: dict[str, TouchedFile] = {}
    for path, touched in chosen.items():
        # Two spellings of one file: the first touch has the text from before the turn.
        files.setdefault(canonical(path, workspace), touched)
    # Concurrent, because the store batches requests made together.
    texts = await asyncio.gather(
        *(_texts(name, touched, workspace, blobs) for name, touched in files.items())
    )
    known = {name: one for name, one in zip(files, texts, strict=True) if not isinstance(one, str)}
    problems = [one for one in texts if isinstance(one, str)]
    now = {name: one.now for name, one in known.items()}
    report = await checks.introduced(
        {name: one.before for name, one in known.items()},
        now,
        changed_by_others={
            name: one.changed_by_others for name, one in known.items() if one.changed_by_others
        },
        asker=view.turn.turn_id,
        anew=anew,
        commands=sum(one.effect in _RUNS for one in view.turn.events.of(ToolCallFinished)),
        within_s=within_s,
    )
    if problems:
        report = report.model_copy(update={"problems": (*problems, *report.problems)})
    unread = view.turn.touched.keys() - chosen.keys() - files.keys()
    shown = {path for event in view.each(FindingsReported) for path in event.paths} - unread
    # This turn may have fixed what an earlier turn broke elsewhere.
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


def _chosen(
    touched: Mapping[str, TouchedFile], only: Collection[str], checks: CompileChecks
) -> dict[str, TouchedFile]:
    """Return what may be one of these files, is gone, or is checked together with others."""
    # The canonical names of all would cost as much as looking at them.
    names = {posixpath.basename(path) for path in only}
    return {
        path: one
        for path, one in touched.items()
        # A finding may have moved from a file that is gone.
        if one.after_blob is None or posixpath.basename(path) in names or checks.is_of_project(path)
    }


def reported(
    report: CheckReport, paths: Iterable[str], view: TurnView
) -> tuple[FindingsReported, ...]:
    """Return an event that displays the report's findings; none if nothing would change."""
    shown = sorted({*paths, *(one.path for one in report.findings)})
    found = {path: tuple(one for one in report.findings if one.path == path) for path in shown}
    told = {problem for event in view.each(FindingsReported) for problem in event.problems}
    is_known = all(view.session.findings.get(path, ()) == found[path] for path in shown)
    if is_known and told.issuperset(report.problems) and report.unanswered == view.unanswered:
        return ()
    return (
        FindingsReported(
            paths=tuple(shown),
            findings=report.findings,
            problems=report.problems,
            unanswered=report.unanswered,
            untrusted=report.untrusted,
        ),
    )


def not_yet_shown(findings: Iterable[Finding], view: TurnView) -> list[Finding]:
    """Return the errors and warnings that were not displayed yet, in order."""
    known = {one.fingerprint for found in view.session.findings.values() for one in found}
    return [one for one in counting(findings) if one.fingerprint not in known]


def counting(findings: Iterable[Finding]) -> list[Finding]:
    """Return the errors and warnings, sorted by file and line."""
    chosen = [one for one in findings if one.severity in (Severity.ERROR, Severity.WARNING)]
    return sorted(chosen, key=lambda one: (one.path, one.start_line, one.start_column, one.code))


def findings_message(new: list[Finding], when: str, limit: int) -> str:
    """Return new findings for the model; ``when`` is a phrase such as "after this edit"."""
    problems = "problem" if len(new) == 1 else "problems"
    return f"The checkers find {len(new)} new {problems} {when}:\n{listed(new, limit)}"


def listed(findings: list[Finding], limit: int) -> str:
    """Return one line per finding, and the number of findings beyond the limit."""
    lines = [line_of(finding) for finding in findings[:limit]]
    if len(findings) > limit:
        lines.append(f"… and {len(findings) - limit} more.")
    return "\n".join(lines)


def line_of(finding: Finding) -> str:
    """Return a finding in a compiler's format, with lines and columns counted from 1."""
    code = f" {finding.code}" if finding.code else ""
    return (
        f"{finding.path}:{finding.start_line + 1}:{finding.start_column + 1}: "
        f"{finding.severity} {finding.checker}{code}: {finding.message}"
    )


@dataclass(frozen=True, slots=True)
class _Texts:
    before: str | None
    """Before the turn's first change."""
    now: str | None
    changed_by_others: tuple[tuple[str, str], ...]
    """Changes by others since then: the texts before and after each."""


async def _texts(
    path: str, touched: TouchedFile, workspace: Workspace, blobs: Blobs
) -> _Texts | str:
    """Return the file's texts, or why they cannot be read."""
    try:
        newest = await _newest(path, workspace)
        before, since, *between = await asyncio.gather(
            _before(touched.before_blob, newest, blobs),
            _since(touched, newest, blobs),
            *(_stored(one, newest, blobs) for pair in touched.changed_by_others for one in pair),
        )
    except (StoreError, WorkspaceError) as error:
        return f"{path} was not checked: {error}"
    pairs = [*zip(between[::2], between[1::2], strict=True), (since, newest)]
    return _Texts(before, newest, tuple((was, then) for was, then in pairs if was and then))


async def _newest(path: str, workspace: Workspace) -> str | None:
    try:
        return (await workspace.read(path)).text
    except WorkspaceError:
        if await workspace.exists(path):
            raise
        return None


async def _before(blob: str | None, newest: str | None, blobs: Blobs) -> str | None:
    """Return the text from before; if it is lost the newest text, so that nothing counts as new."""
    text = await _stored(blob, newest, blobs)
    return newest if text is None and blob is not None else text


async def _since(touched: TouchedFile, newest: str | None, blobs: Blobs) -> str | None:
    left = touched.after_blob
    if newest is None or touched.before_blob is None:
        return None
    if left == hashlib.sha256(newest.encode(errors="surrogatepass")).hexdigest():
        return None
    text = await _stored(left, newest, blobs)
    return None if text == newest else text


async def _stored(blob: str | None, newest: str | None, blobs: Blobs) -> str | None:
    data = None if blob is None else await blobs.get_blob(blob)
    if data is None:
        return None
    text = data.decode("utf-8", errors="replace")
    keeps_mark = newest is not None and newest.startswith(_BOM)
    return text if keeps_mark else text.removeprefix(_BOM)
