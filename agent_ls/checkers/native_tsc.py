"""TypeScript 7, which has no interface for programs: ``tsc`` on a shadow tree.

Other projects and packages of the workspace count as they stand in their sources, built or not,
where the project refers to them by relative names or its ``package.json`` leads to sources.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_ls.checkers.lines import line_text, lines_of
from agent_ls.checkers.native_projects import NativeProjects, Project
from agent_ls.checkers.overlay import folders_up
from agent_ls.checkers.shadow import Shadow, shadow_tree
from agent_ls.checkers.tsc_job import TscAnswer, TscFailedError, TscJob, failure
from agent_ls.checkers.tsc_output import Printed, parse_output, place_of
from agent_ls.processes.reading import MAX_BYTES, read_file

_QUIET = ("--noEmit", "--pretty", "false", "--emitDeclarationOnly", "false")
_WITHOUT_PROJECT = (
    "--target", "esnext", "--module", "preserve", "--moduleResolution", "bundler",
    "--jsx", "preserve", "--allowImportingTsExtensions", "--skipLibCheck",
)  # fmt: skip
_WITH_FOREIGN_SOURCES = ("--composite", "false", "--rootDir", "/")
_SYNTAX = re.compile(r"TS1\d{3}")
_SEVERITIES = {"suggestion": "hint", "message": "information"}


async def check_natively(job: TscJob) -> TscAnswer:
    """Return what TypeScript says of the projects that the files belong to.

    Errors: ``TscFailedError``.
    """
    entered = shadow_tree(job.texts)
    try:
        shadow = await asyncio.to_thread(entered.__enter__)
    except OSError as error:
        raise _uncopied(error) from error
    try:
        return await _Shadowed(job, shadow).check()
    except OSError as error:
        raise _uncopied(error) from error
    finally:
        await asyncio.to_thread(entered.__exit__, None, None, None)


def _uncopied(error: OSError) -> TscFailedError:
    return TscFailedError(f"its copy of the folder could not be made: {error}")


@dataclass(frozen=True, slots=True)
class _Shadowed:
    """One check on one shadow tree."""

    job: TscJob
    shadow: Shadow
    _stand_ins: dict[Path, Path] = field(default_factory=dict[Path, Path], init=False)
    """Configurations of our own in the copy, and whose place each takes."""

    async def check(self) -> TscAnswer:
        projects = NativeProjects(self.job, self.shadow)
        chosen, alone = await projects.concerned()
        await asyncio.to_thread(self._link_packages, [one.path for one in chosen])
        findings: list[dict[str, Any]] = []
        answers: list[list[Printed]] = []
        for number, project in enumerate(chosen):
            built_on = [one for one in await projects.reachable(project.path) if one != project]
            printed = await self._check(project, built_on, number)
            answers.append(printed)
            findings += await asyncio.to_thread(self._findings, printed, project.path)
        if alone:
            printed = await self._tsc(*_QUIET, *_WITHOUT_PROJECT, *alone)
            answers.append(printed)
            root = self.shadow.inside(self.job.root.path)
            findings += await asyncio.to_thread(self._findings, printed, root)
        once = {json.dumps(one): one for one in findings}
        return TscAnswer(
            tuple(once.values()),
            frozenset(str(self.shadow.outside(file)) for file in alone),
            any(_is_cut_short(printed) for printed in answers),
        )

    async def _check(
        self, project: Project, built_on: Iterable[Project], number: int
    ) -> list[Printed]:
        # An incremental project would write its state beside itself, through a link.
        state = self.shadow.place.parent / f"{number}.tsbuildinfo"
        options = [*_QUIET, "--incremental", "--tsBuildInfoFile", str(state)]
        if not project.references:
            return await self._tsc(*options, "-p", project.path)
        own = await asyncio.to_thread(self._stand_in, project)
        printed = await self._tsc(*options, *_WITH_FOREIGN_SOURCES, "-p", own)
        # What is wrong in another project is told by that one's options.
        foreign = {file for one in built_on for file in one.files} - project.files
        return [one for one in printed if self._printed_path(one.file) not in foreign]

    def _stand_in(self, project: Project) -> Path:
        """Return the project without its references, which would bring in what was built last."""
        own = project.path.with_name(f".agent-ls.{project.path.name}")
        files = sorted(map(str, project.files))
        told = {
            "extends": f"./{project.path.name}",
            "files": files,
            "include": [],
            "references": [],
        }
        self.shadow.put(self.shadow.outside(own), json.dumps(told))
        self._stand_ins[own] = project.path
        return own

    def _link_packages(self, projects: Iterable[Path]) -> None:
        """Let packages that are linked from elsewhere in the workspace lead into the copy.

        Links are followed to their end, which would be the text on the disk.
        """
        folders = {
            up for path in projects for up in folders_up(self.shadow.outside(path), self.job.root)
        }
        for folder in sorted(folders):
            for link in _links(folder / "node_modules"):
                target = link.resolve()
                if any(file.is_relative_to(target) for file in self.job.texts):
                    self.shadow.lead(link, target)

    async def _tsc(self, *arguments: str | Path) -> list[Printed]:
        cwd = self.shadow.inside(self.job.root.path)
        outcome = await self.job.run([self.job.typescript.tsc, *arguments], cwd=cwd)
        printed = parse_output(outcome.stdout)
        if outcome.exit_code != 0 and not printed:
            raise failure(outcome)
        return printed

    def _findings(self, printed: Iterable[Printed], project: Path) -> list[dict[str, Any]]:
        return [self._finding(one, project) for one in printed]

    def _finding(self, printed: Printed, project: Path) -> dict[str, Any]:
        inside = self._printed_path(printed.file) if printed.file else project
        path = self.shadow.outside(self._stand_ins.get(inside, inside))
        is_placed = printed.file and inside not in self._stand_ins
        text = self._text(path) if is_placed else ""
        line, column, end_column = place_of(printed, text) if text else (0, 0, 0)
        return {
            "path": str(path),
            "code": printed.code,
            # Messages name files where tsc saw them.
            "message": printed.message.replace(str(self.shadow.place), ""),
            "severity": _SEVERITIES.get(printed.severity, printed.severity),
            "start_line": line,
            "start_column": column,
            "end_line": line,
            "end_column": end_column,
            "line_text": line_text(lines_of(text), line),
        }

    def _printed_path(self, file: str) -> Path:
        return Path(os.path.normpath(self.shadow.inside(self.job.root.path) / file))

    def _text(self, path: Path) -> str:
        text = self.job.texts.get(path)
        if text is not None:
            return text
        try:
            return (
                read_file(path, max_bytes=8 * MAX_BYTES)
                .decode(errors="replace")
                .removeprefix("\ufeff")
            )
        except OSError:
            return ""


def _is_cut_short(printed: list[Printed]) -> bool:
    return bool(printed) and all(_SYNTAX.fullmatch(one.code) for one in printed)


def _links(packages: Path) -> Iterator[Path]:
    """Yield the packages in a folder that are links, those of scopes as well."""
    try:
        entries = list(os.scandir(packages))
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink():
            yield Path(entry.path)
        elif entry.name.startswith("@"):
            yield from _links(Path(entry.path))
