"""Check TypeScript texts with tsc, in a copy of the folder."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from agent_ls.checkers.copies import FolderCopy
from agent_ls.checkers.overlay import Copies, Overlay, folders_up, overlays
from agent_ls.checkers.process import together
from agent_ls.checkers.programs import (
    find_program,
    find_typescript,
    has_typescript,
    trust_words,
    untrusted,
)
from agent_ls.checkers.raw_finding import finding_of
from agent_ls.checkers.tsc_projects import (
    CONFIGURATION,
    CONFIGURATIONS,
    TscAnswer,
    TscFailedError,
    TscJob,
    TscRun,
)
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.findings import CheckReport, Finding, Severity
from agent_ls.domain.record import Record
from agent_ls.loop.ports.workspace import Root, Workspace
from agent_ls.safety.programs import path_outside
from agent_ls.safety.sandbox.builder import SandboxBuilder

_TYPESCRIPT = (".ts", ".tsx", ".mts", ".cts")
_JAVASCRIPT = (".js", ".jsx", ".mjs", ".cjs")
_NOT_BUILT = frozenset({"TS6305"})
"""Another project was not built: no change of a text can fix that."""
_NOT_INSTALLED = frozenset(
    {
        *("TS2307", "TS2580", "TS2581", "TS2582", "TS2591", "TS2592", "TS2593", "TS2688"),
        *("TS2792", "TS2867", "TS2868", "TS2875", "TS7016"),
    }
)
"""A package or its types are missing: irrelevant for files outside of all projects."""


class TscOptions(Record):
    """Which TypeScript, and how it is run."""

    enabled: bool = True
    """Check TypeScript files, and JavaScript files that a project includes, at all."""
    typescript: str = ""
    """Path of a TypeScript package or of its tsc; empty: the workspace's own when the folder is
    trusted, else the user's."""
    node: str = ""
    """Path of node; empty: the one on PATH."""
    timeout_s: float = Field(default=60.0, gt=0)
    """For one check of all projects concerned."""


@dataclass(frozen=True, slots=True)
class Tsc:
    """Type-checks the projects of changed files; emits nothing.

    Unsaved texts of other files count. Findings in unchanged files are reported too. The
    workspace's own TypeScript runs only if its folder is trusted.
    """

    name: ClassVar[str] = "tsc"
    is_per_file: ClassVar[bool] = False
    workspace: Workspace
    options: TscOptions = TscOptions()
    builder: SandboxBuilder | None = None
    _copies: Copies = field(default_factory=Copies, init=False, repr=False, compare=False)

    def handles(self, path: str) -> bool:
        """Tell whether a change of this file can matter to TypeScript."""
        is_code = path.endswith((*_TYPESCRIPT, *_JAVASCRIPT))
        return self.options.enabled and (is_code or CONFIGURATION.search(path) is not None)

    def is_here(self) -> bool:
        """Tell whether there is a TypeScript that may run, in the folders or outside."""
        roots = self.workspace.roots
        jobs = (self._job(root, [root.path / "any.ts"], {}) for root in roots)
        return self.options.enabled and any(isinstance(job, TscJob) for job in jobs)

    async def end(self) -> None:
        """Do nothing: no program of it runs on."""

    async def check(self, texts: Mapping[str, str | None]) -> CheckReport:
        """Check these files as if the disk held these texts (None: deleted).

        Never raises: what cannot run is a problem in the report.
        """
        parts, problems = await overlays(self.workspace, texts, self.name)
        reports = await together(map(self._check_root, parts))
        found = dict.fromkeys(finding for report in reports for finding in report.findings)
        doubts = [one for one in found if _is_doubt(one) and one.path not in texts]
        problems += [text for report in reports for text in report.problems]
        cautions = dict.fromkeys(text for report in reports for text in report.cautions)
        ran = any(report.checkers for report in reports)
        return CheckReport(
            findings=tuple(found),
            checkers=(self.name,) if ran else (),
            problems=tuple(dict.fromkeys(problems)),
            untrusted=tuple(path for report in reports for path in report.untrusted),
            is_cut_short=any(report.is_cut_short for report in reports),
            cautions=(*cautions, *{one.path: _caution(one) for one in reversed(doubts)}.values()),
        )

    async def _check_root(self, part: Overlay) -> CheckReport:
        root, texts = part.root, part.texts
        files = [path for path in part.changed if _is_concerned(path, root, texts)]
        if not files:
            return CheckReport()
        job = await asyncio.to_thread(self._job, root, files, texts)
        if isinstance(job, CheckReport):
            return job
        try:
            async with self._copies.of(part, self.workspace) as (copy, gap):
                # The time limit excludes waiting for the copy.
                async with asyncio.timeout(job.timeout_s):
                    answer = await TscRun(job, copy, self.builder).check()
                findings = await asyncio.to_thread(self._findings, answer, copy)
        except TimeoutError:
            limit = f"{job.timeout_s:g} s (checkers.tsc.timeout_s)"
            return _no_answer(f"it took longer than {limit}")
        except TscFailedError as error:
            return _no_answer(str(error))
        except (OSError, WorkspaceError) as error:
            return _no_answer(f"there is no copy of {root.path} for it: {error}")
        return CheckReport(
            findings=findings,
            checkers=(self.name,),
            cautions=(f"tsc saw a part: {gap}",) if gap else (),
            is_cut_short=answer.is_cut_short,
        )

    def _job(
        self, root: Root, files: list[Path], texts: Mapping[Path, str | None]
    ) -> TscJob | CheckReport:
        """Return what to run, or a report why nothing can. Blocking."""
        avoid = untrusted(self.workspace.roots)
        node = find_program("node", configured=self.options.node, avoid=avoid)
        if node is None:
            return _did_not_run(
                "it needs Node.js. Install Node.js 18 or newer, "
                "or set checkers.tsc.node in your settings."
            )
        folders = list(dict.fromkeys(up for file in files for up in folders_up(file, root)))
        typescript = find_typescript(
            folders, configured=self.options.typescript, avoid=avoid, node=node
        )
        if typescript is None:
            return self._missing(root, folders)
        return TscJob(
            root, tuple(files), texts, typescript, node, path_outside(avoid), self.options.timeout_s
        )

    def _missing(self, root: Root, folders: Iterable[Path]) -> CheckReport:
        if self.options.typescript:
            return _did_not_run(
                f"{self.options.typescript} is no TypeScript. "
                "Correct checkers.tsc.typescript in your settings."
            )
        if not root.is_trusted and has_typescript(folders):
            own = "Or install TypeScript for yourself (npm install --global typescript)."
            return CheckReport(
                problems=(f"{trust_words(self.name, root)} {own}",), untrusted=(str(root.path),)
            )
        return _did_not_run(
            f"there is no TypeScript for {root.path}. Install it there (npm install --save-dev "
            "typescript), or set checkers.tsc.typescript in your settings."
        )

    def _findings(self, answer: TscAnswer, copy: FolderCopy) -> tuple[Finding, ...]:
        """Return the findings in files of the workspace; others are dropped."""
        found: list[Finding] = []
        for one in answer.said:
            path = copy.outside(Path(one.path))
            if (shown := self.workspace.shown(path)) is None:
                continue
            lines = (copy.lines(path) if one.line else None) or [""]
            # Messages contain paths of the copy.
            plain = replace(one, message=copy.plain(one.message))
            finding = finding_of(plain, shown, lines, checker=self.name, columns="utf-16")
            beyond = _NOT_BUILT | _NOT_INSTALLED if path in answer.alone else _NOT_BUILT
            if finding.code in beyond:
                finding = finding.model_copy(update={"severity": Severity.INFORMATION})
            found.append(finding)
        return tuple(found)


def _did_not_run(reason: str) -> CheckReport:
    return CheckReport(problems=(f"tsc did not run: {reason}",))


def _no_answer(reason: str) -> CheckReport:
    return CheckReport(problems=(f"tsc gave no answer: {reason}.",))


def _is_doubt(finding: Finding) -> bool:
    """Tell whether it is an error in a configuration, which may cause or hide other findings."""
    is_error = finding.severity is Severity.ERROR
    return is_error and CONFIGURATION.search(finding.path) is not None


def _caution(finding: Finding) -> str:
    message = finding.message.partition("\n")[0]
    return (
        f"tsc may find too much or too little until {finding.path} is corrected, "
        f"line {finding.start_line + 1}: {message} ({finding.code})"
    )


def _is_concerned(file: Path, root: Root, texts: Mapping[Path, str | None]) -> bool:
    """Tell whether TypeScript checks a file; JavaScript only if there is a project above it."""
    if file.name.endswith(_TYPESCRIPT) or CONFIGURATION.search(file.name):
        return True
    return any(
        texts.get(folder / name) is not None or (folder / name).is_file()
        for folder in folders_up(file, root)
        for name in CONFIGURATIONS
    )
