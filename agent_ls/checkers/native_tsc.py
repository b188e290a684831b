"""TypeScript 7, which has no interface for programs: ``tsc`` on a shadow tree.

A package that is linked into ``node_modules`` from elsewhere in the workspace is seen there as it
is on the disk, because links are followed to their end.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_ls.checkers.lines import line_text, lines_of
from agent_ls.checkers.shadow import shadow_tree
from agent_ls.checkers.tsc_job import CONFIGURATIONS, TscAnswer, TscFailedError, TscJob, failure
from agent_ls.checkers.tsc_output import Printed, parse_output, place_of

_QUIET = ("--noEmit", "--pretty", "false", "--emitDeclarationOnly", "false")
_WITHOUT_PROJECT = (
    "--target", "esnext", "--module", "preserve", "--moduleResolution", "bundler",
    "--jsx", "preserve", "--allowImportingTsExtensions", "--skipLibCheck",
)  # fmt: skip
_SEVERITIES = {"suggestion": "hint", "message": "information"}


async def check_natively(job: TscJob) -> TscAnswer:
    """Return what TypeScript says of the projects that the files belong to.

    Errors: ``TscFailedError``.
    """
    entered = shadow_tree(job.texts)
    try:
        shadow = await asyncio.to_thread(entered.__enter__)
    except OSError as error:
        raise TscFailedError(f"its copy of the folder could not be made: {error}") from error
    try:
        return await _Shadowed(job, shadow).check()
    finally:
        await asyncio.to_thread(entered.__exit__, None, None, None)


@dataclass(frozen=True, slots=True)
class _Shadowed:
    """One check on one shadow tree."""

    job: TscJob
    shadow: Path
    _projects: dict[Path, _Project] = field(default_factory=dict["Path", "_Project"])

    async def check(self) -> TscAnswer:
        chosen: list[Path] = []
        unconfigured: list[Path] = []
        for file in self.job.files:
            homes = await self._projects_of(file)
            chosen += [home for home in homes or () if home not in chosen]
            if homes is None and self.job.texts.get(file) is not None:
                unconfigured.append(self._inside(file))
        printed: list[Printed] = []
        for number, project in enumerate(chosen):
            # An incremental project would write its state beside itself, through a link.
            state = self.shadow / f"{number}.tsbuildinfo"
            printed += await self._tsc(
                *_QUIET, "--incremental", "--tsBuildInfoFile", state, "-p", project
            )
        if unconfigured:
            printed += await self._tsc(*_QUIET, *_WITHOUT_PROJECT, *unconfigured)
        findings = await asyncio.to_thread(lambda: [self._finding(one) for one in printed])
        return TscAnswer(
            tuple(findings), frozenset(str(self._outside(file)) for file in unconfigured)
        )

    async def _projects_of(self, file: Path) -> list[Path] | None:
        """Return the projects that include a file; None when there is no project at all."""
        inside = self._inside(file)
        if file.name.endswith(".json") and inside.is_file():
            return [inside]
        above = [
            folder / name
            for folder in (*self._folders_above(inside),)
            for name in CONFIGURATIONS
            if (folder / name).is_file()
        ]
        if not above:
            return None
        for configuration in above:
            reached = await self._reachable(configuration)
            is_gone = self.job.texts.get(file) is None
            homes = [one.path for one in reached if is_gone or inside in one.files]
            if homes:
                return homes
        return []

    def _folders_above(self, inside: Path) -> Iterable[Path]:
        root = self._inside(self.job.root.path)
        for folder in inside.parents:
            yield folder
            if folder == root:
                return

    async def _reachable(self, configuration: Path) -> list[_Project]:
        """Return a project and all that it refers to, directly or not."""
        found: dict[Path, _Project] = {}
        waiting = [configuration]
        while waiting:
            path = waiting.pop()
            if path not in found:
                found[path] = await self._project(path)
                waiting += found[path].references
        return [project for project in found.values() if project.files]

    async def _project(self, path: Path) -> _Project:
        if path not in self._projects:
            outcome = await self._run("--showConfig", "-p", path)
            try:
                told = json.loads(outcome.stdout)
            except ValueError:
                # It cannot be read; checking it says why.
                told = {"files": [str(self._inside(file)) for file in self.job.files]}
            self._projects[path] = _project_of(path, told)
        return self._projects[path]

    async def _tsc(self, *arguments: str | Path) -> list[Printed]:
        outcome = await self._run(*arguments)
        printed = parse_output(outcome.stdout)
        if outcome.exit_code != 0 and not printed:
            raise failure(outcome)
        return printed

    async def _run(self, *arguments: str | Path) -> Any:
        cwd = self._inside(self.job.root.path)
        return await self.job.run([self.job.typescript.tsc, *arguments], cwd=cwd)

    def _finding(self, printed: Printed) -> dict[str, Any]:
        path = self._printed_path(printed.file)
        text = self._text(path) if printed.file else ""
        line, column, end_column = place_of(printed, text) if text else (0, 0, 0)
        return {
            "path": str(path),
            "code": printed.code,
            # Messages name files where tsc saw them.
            "message": printed.message.replace(str(self.shadow), ""),
            "severity": _SEVERITIES.get(printed.severity, printed.severity),
            "start_line": line,
            "start_column": column,
            "end_line": line,
            "end_column": end_column,
            "line_text": line_text(lines_of(text), line),
        }

    def _printed_path(self, file: str) -> Path:
        inside = Path(os.path.normpath(self._inside(self.job.root.path) / file))
        return self._outside(inside)

    def _text(self, path: Path) -> str:
        text = self.job.texts.get(path)
        if text is not None:
            return text
        try:
            return path.read_bytes().decode(errors="replace").removeprefix("\ufeff")
        except OSError:
            return ""

    def _inside(self, path: Path) -> Path:
        return self.shadow.joinpath(*path.parts[1:])

    def _outside(self, path: Path) -> Path:
        if path.is_relative_to(self.shadow):
            return Path("/", path.relative_to(self.shadow))
        return path


@dataclass(frozen=True, slots=True)
class _Project:
    """A project as ``tsc --showConfig`` tells it."""

    path: Path
    files: frozenset[Path]
    references: tuple[Path, ...]


def _project_of(path: Path, told: dict[str, Any]) -> _Project:
    def absolute(name: str) -> Path:
        return Path(os.path.normpath(path.parent / name))

    references = [absolute(one["path"]) for one in told.get("references", ())]
    return _Project(
        path,
        frozenset(absolute(name) for name in told.get("files", ())),
        tuple(one / CONFIGURATIONS[0] if one.is_dir() else one for one in references),
    )
