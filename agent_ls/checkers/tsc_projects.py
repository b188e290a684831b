"""Run ``tsc`` on the projects of changed files, in a copy of the folder.

``tsc --showConfig`` lists a project's files. Other projects and packages of the workspace are read
from their sources, built or not. For that, imports must be relative or the ``package.json`` must
point to sources. All paths here are paths of the copy.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agent_ls.checkers.copies import FolderCopy
from agent_ls.checkers.process import ProgramOutcome, run_program
from agent_ls.checkers.programs import TypeScript
from agent_ls.checkers.raw_finding import RawFinding
from agent_ls.domain.findings import Severity
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.sandbox.builder import SandboxBuilder

CONFIGURATIONS = ("tsconfig.json", "jsconfig.json")
CONFIGURATION = re.compile(r"(^|/)[jt]sconfig[^/]*\.json$")
"""Matches projects, and also configurations that they extend or refer to."""
_AT_ONCE = 4
_QUIET = ("--noEmit", "--pretty", "false", "--emitDeclarationOnly", "false")
_WITHOUT_PROJECT = (
    "--target", "esnext", "--module", "preserve", "--moduleResolution", "bundler",
    "--jsx", "preserve", "--allowImportingTsExtensions", "--skipLibCheck",
)  # fmt: skip
_WITH_FOREIGN_SOURCES = ("--composite", "false", "--rootDir", "/")
_SYNTAX = re.compile(r"TS1\d{3}")
_PRINTED = re.compile(
    r"^(?:(?P<file>\S.*?)\((?P<line>\d+),(?P<column>\d+)\): )?"
    r"(?P<severity>error|warning|message|suggestion) (?P<code>TS\d+): ?(?P<text>.*)$"
)
_SEVERITIES = {
    "error": Severity.ERROR,
    "warning": Severity.WARNING,
    "suggestion": Severity.HINT,
    "message": Severity.INFORMATION,
}


class TscFailedError(Exception):
    """TypeScript gave no answer; the text says why, for the user."""


@dataclass(frozen=True, slots=True)
class TscJob:
    """Files of one root to check with one TypeScript."""

    root: Root
    files: tuple[Path, ...]
    """Absolute paths of the changed files."""
    texts: Mapping[Path, str | None]
    """Texts that differ from the disk: changed and unsaved files; None: deleted."""
    typescript: TypeScript
    node: Path
    path: str
    """PATH for the programs."""
    timeout_s: float


@dataclass(frozen=True, slots=True)
class TscAnswer:
    """The output of TypeScript for all projects."""

    said: tuple[RawFinding, ...]
    """Messages, with paths of the copy; line 0 means the whole file or project."""
    alone: frozenset[Path]
    """Real paths of files in no project, which were checked with default options."""
    is_cut_short: bool
    """A run printed only syntax errors, so tsc did not check types."""


@dataclass(frozen=True, slots=True)
class _Project:
    """A project as printed by ``tsc --showConfig``."""

    path: Path
    files: frozenset[Path]
    references: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class TscRun:
    """One check in a copy."""

    job: TscJob
    copy: FolderCopy
    builder: SandboxBuilder | None = None
    _known: dict[Path, _Project] = field(default_factory=dict[Path, _Project], init=False)

    @property
    def root(self) -> Path:
        """Return the folder's path in the copy."""
        return self.copy.inside(self.job.root.path)

    async def check(self) -> TscAnswer:
        """Check the projects of the changed files. Errors: ``TscFailedError``."""
        chosen = await self._concerned()
        present = [file for file in self.job.files if self.job.texts.get(file) is not None]
        alone = [
            file
            for file in present
            if file.suffix != ".json" and not self._above(self.copy.inside(file))
        ]
        answers = [await self._check(project) for project in chosen]
        if alone and not self.job.typescript.checks_loose_files:
            raise TscFailedError(
                f"TypeScript {self.job.typescript.version} is too old for files without a "
                "tsconfig.json. Install 5.4 or newer, or add a tsconfig.json"
            )
        if alone:
            files = map(self.copy.inside, alone)
            answers.append(await self._tsc(self.root, *_QUIET, *_WITHOUT_PROJECT, *files))
        return TscAnswer(
            tuple(dict.fromkeys(one for said in answers for one in said)),
            frozenset(alone),
            any(said and all(_SYNTAX.fullmatch(one.code) for one in said) for said in answers),
        )

    async def _concerned(self) -> list[_Project]:
        """Return the projects of the changed files, and those that depend on them."""
        chosen: dict[Path, _Project] = {}
        solutions: set[Path] = set()
        for file in map(self.copy.inside, self.job.files):
            above = self._above(file)
            solutions.update(above)
            chosen |= {home.path: home for home in await self._homes(file, above)}
        for solution in solutions:
            for one in await self._reachable(solution):
                reached = {built_on.path for built_on in await self._reachable(one.path)}
                if not reached.isdisjoint(chosen):
                    chosen[one.path] = one
        return list(chosen.values())

    async def _homes(self, file: Path, above: Iterable[Path]) -> list[_Project]:
        """Return the projects that include a file; for a configuration, those it reaches."""
        is_there = self.job.texts.get(self.copy.outside(file)) is not None
        if is_there and file.name in CONFIGURATIONS:
            return await self._reachable(file)
        for configuration in above:
            reached = await self._reachable(configuration)
            # A deleted file may have belonged to any of these projects.
            if homes := [one for one in reached if not is_there or file in one.files]:
                return homes
        return []

    def _above(self, file: Path) -> list[Path]:
        """Return the configurations above a file, nearest first, up to the workspace's root."""
        folders = [one for one in file.parents if one.is_relative_to(self.root)]
        there = (folder / name for folder in folders for name in CONFIGURATIONS)
        return [one for one in there if one.is_file()]

    async def _reachable(self, configuration: Path) -> list[_Project]:
        """Return a project and everything it references, directly or not, if it has files."""
        found: dict[Path, _Project] = {}
        waiting = {configuration}
        while waiting:
            projects = await self._projects(waiting)
            found |= {one.path: one for one in projects}
            waiting = {path for one in projects for path in one.references} - found.keys()
        return [project for project in found.values() if project.files]

    async def _projects(self, paths: Iterable[Path]) -> list[_Project]:
        slots = asyncio.Semaphore(_AT_ONCE)

        async def ask(path: Path) -> _Project:
            async with slots:
                if path not in self._known:
                    self._known[path] = await self._project(path)
                return self._known[path]

        return list(await asyncio.gather(*map(ask, paths)))

    async def _project(self, path: Path) -> _Project:
        outcome = await self._run("--showConfig", "-p", path)
        config: dict[str, Any]
        try:
            config = json.loads(outcome.stdout)
        except ValueError:
            # The project is unreadable; checking it prints why.
            config = {"files": [str(self.copy.inside(file)) for file in self.job.files]}
        references = [_absolute(one["path"], path) for one in config.get("references", ())]
        files = (one / CONFIGURATIONS[0] if one.is_dir() else one for one in references)
        return _Project(
            path,
            frozenset(_absolute(name, path) for name in config.get("files", ())),
            tuple(one for one in files if one.is_file()),
        )

    async def _check(self, project: _Project) -> list[RawFinding]:
        # Without this option an incremental project writes its state beside its sources.
        name = hashlib.sha256(str(project.path).encode()).hexdigest()[:16]
        state = self.root / f".agent-ls.{name}.tsbuildinfo"
        options = [*_QUIET, "--incremental", "--tsBuildInfoFile", str(state)]
        if not project.references:
            return await self._tsc(project.path, *options, "-p", project.path)
        own = _stand_in(project)
        try:
            said = await self._tsc(
                project.path, *options, *_WITH_FOREIGN_SOURCES, "-p", own, stand_in=own
            )
        finally:
            own.unlink(missing_ok=True)
        built_on = [one for one in await self._reachable(project.path) if one != project]
        # Drop findings in other projects: those are checked with their own options.
        foreign = {str(file) for one in built_on for file in one.files - project.files}
        return [one for one in said if one.path not in foreign]

    async def _tsc(
        self, about: Path, *arguments: str | Path, stand_in: Path | None = None
    ) -> list[RawFinding]:
        """Run tsc and parse its output; ``about`` is the path for messages without one."""
        outcome = await self._run(*arguments)
        printed = parse_output(outcome.stdout)
        if outcome.exit_code != 0 and not printed:
            raise TscFailedError(_reason(outcome))
        said: list[RawFinding] = []
        for one in printed:
            path = _absolute(one.path, self.root / CONFIGURATIONS[0])
            if not one.path or path == stand_in:
                said.append(replace(one, path=str(about), line=0, column=0))
            else:
                said.append(replace(one, path=str(path)))
        return said

    async def _run(self, *arguments: str | Path) -> ProgramOutcome:
        job = self.job
        command = [job.node, job.typescript.tsc, *arguments]
        outcome = await run_program(
            command,
            cwd=self.root,
            path=job.path,
            stdin="",
            timeout_s=job.timeout_s,
            builder=self.builder,
            readable=(*self.copy.readable, job.typescript.package),
            writable=(self.root,),
        )
        match outcome.end:
            case "exited":
                return outcome
            case "timed_out":
                limit = f"{job.timeout_s:g} s (checkers.tsc.timeout_s)"
                raise TscFailedError(f"it took longer than {limit}")
            case "too_much":
                raise TscFailedError("it printed without end")
            case "not_started":
                raise TscFailedError(f"{job.node} could not be started: {outcome.stderr}")


def _reason(outcome: ProgramOutcome) -> str:
    """Return node's own error lines for a run without an answer."""
    said = (outcome.stderr.strip() or outcome.stdout.strip()).splitlines()
    reasons = [line for line in said if "Error" in line] or said[-3:]
    return "; ".join(reasons)[:500] or f"it ended with code {outcome.exit_code}"


def _stand_in(project: _Project) -> Path:
    """Write the project without its references, since tsc would read their last build instead.

    Errors: ``TscFailedError`` if its folder is a link, which a program may have put there;
    ``OSError`` if it cannot be written.
    """
    if project.path.parent.resolve() != project.path.parent:
        raise TscFailedError(f"{project.path} is reached by a link")
    own = project.path.with_name(f".agent-ls.{project.path.name}")
    files = sorted(map(str, project.files))
    config = {"extends": f"./{project.path.name}", "files": files, "include": [], "references": []}
    # The workspace may have a file of this name, which the copy shows by a link.
    own.unlink(missing_ok=True)
    with own.open("x", encoding="utf-8") as stand_in:
        json.dump(config, stand_in)
    return own


def _absolute(name: str, configuration: Path) -> Path:
    return Path(os.path.normpath(configuration.parent / name))


def parse_output(output: str) -> list[RawFinding]:
    """Parse tsc's output; indented lines continue a message."""
    found: list[RawFinding] = []
    for line in output.replace("\r\n", "\n").split("\n"):
        if match := _PRINTED.match(line):
            found.append(
                RawFinding(
                    path=match["file"] or "",
                    message=match["text"],
                    line=int(match["line"] or 0),
                    column=int(match["column"] or 0),
                    code=match["code"],
                    severity=_SEVERITIES[match["severity"]],
                )
            )
        elif found and line.startswith(" ") and line.strip():
            found[-1] = replace(found[-1], message=f"{found[-1].message}\n{line}")
    return found
