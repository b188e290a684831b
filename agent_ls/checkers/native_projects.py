"""Which projects TypeScript 7 has to check for some files: it is asked for each what is in it.

All paths are those of the shadow tree that it sees.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_ls.checkers.shadow import Shadow
from agent_ls.checkers.tsc_job import CONFIGURATION, CONFIGURATIONS, TscJob
from agent_ls.processes.reading import read_file

_AT_ONCE = 4
_EXTENDS = re.compile(r'"extends"\s*:\s*(\[[^\]]*\]|"[^"]*")')
_STRING = re.compile(r'"([^"]*)"')
_NOT_SEARCHED = frozenset({"node_modules", ".git"})


@dataclass(frozen=True, slots=True)
class Project:
    """A project as ``tsc --showConfig`` tells it."""

    path: Path
    files: frozenset[Path]
    references: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class NativeProjects:
    """The projects around the files of one job."""

    job: TscJob
    shadow: Shadow
    _known: dict[Path, Project] = field(default_factory=dict[Path, Project], init=False)

    async def concerned(self) -> tuple[list[Project], list[Path]]:
        """Return the projects to check, and the files that no configuration is above of."""
        chosen: dict[Path, Project] = {}
        alone: list[Path] = []
        for file in self.job.files:
            homes = await self._homes(file)
            chosen |= {home.path: home for home in homes or ()}
            if homes is None and self.job.texts.get(file) is not None:
                alone.append(self.shadow.inside(file))
        # Who builds on a changed project can break with it.
        for file in self.job.files:
            for solution in self._above(self.shadow.inside(file)):
                for one in await self.reachable(solution):
                    reached = {built_on.path for built_on in await self.reachable(one.path)}
                    if not reached.isdisjoint(chosen):
                        chosen[one.path] = one
        return list(chosen.values()), alone

    async def reachable(self, configuration: Path) -> list[Project]:
        """Return a project and all that it refers to, directly or not; those that have files."""
        found: dict[Path, Project] = {}
        waiting = {configuration}
        while waiting:
            projects = await self._asked(waiting)
            found |= {one.path: one for one in projects}
            waiting = {path for one in projects for path in one.references} - found.keys()
        return [project for project in found.values() if project.files]

    async def _homes(self, file: Path) -> list[Project] | None:
        """Return the projects that include a file; None when there is no project at all."""
        inside = self.shadow.inside(file)
        if CONFIGURATION.search(file.name) and inside.is_file():
            paths = [inside, *await asyncio.to_thread(self._extending, file)]
            return await self._asked([one for one in paths if await self._is_project(one)])
        above = self._above(inside)
        if not above:
            return None
        for configuration in above:
            reached = await self.reachable(configuration)
            is_gone = self.job.texts.get(file) is None
            homes = [one for one in reached if is_gone or inside in one.files]
            if homes:
                return homes
        return []

    def _above(self, inside: Path) -> list[Path]:
        """Return the configurations above a file, nearest first, up to the workspace's root."""
        root = self.shadow.inside(self.job.root.path)
        folders = [one for one in inside.parents if one.is_relative_to(root)]
        there = (folder / name for folder in folders for name in CONFIGURATIONS)
        return [one for one in there if one.is_file()]

    async def _is_project(self, configuration: Path) -> bool:
        """Say whether somebody checks it, and does not only extend it."""
        if configuration.name in CONFIGURATIONS:
            return True
        for solution in self._above(configuration):
            if any(one.path == configuration for one in await self.reachable(solution)):
                return True
        return False

    def _extending(self, file: Path) -> list[Path]:
        """Return the configurations below that take this one's options over. Blocking."""
        found: list[Path] = []
        for folder, below, names in os.walk(file.parent):
            below[:] = [name for name in below if name not in _NOT_SEARCHED]
            found += [Path(folder, name) for name in names if CONFIGURATION.search(name)]
        inside, goal = map(self.shadow.inside, found), self.shadow.inside(file)
        return [one for one in inside if one != goal and goal in _extended(one)]

    async def _asked(self, paths: Iterable[Path]) -> list[Project]:
        few = asyncio.Semaphore(_AT_ONCE)

        async def ask(path: Path) -> Project:
            async with few:
                if path not in self._known:
                    self._known[path] = await self._project(path)
                return self._known[path]

        return list(await asyncio.gather(*map(ask, paths)))

    async def _project(self, path: Path) -> Project:
        cwd = self.shadow.inside(self.job.root.path)
        outcome = await self.job.run([self.job.typescript.tsc, "--showConfig", "-p", path], cwd=cwd)
        try:
            told = json.loads(outcome.stdout)
        except ValueError:
            # It cannot be read; checking it says why.
            told = {"files": [str(self.shadow.inside(file)) for file in self.job.files]}
        return _project_of(path, told)


def _project_of(path: Path, told: dict[str, Any]) -> Project:
    references = [_absolute(one["path"], path) for one in told.get("references", ())]
    files = (one / CONFIGURATIONS[0] if one.is_dir() else one for one in references)
    return Project(
        path,
        frozenset(_absolute(name, path) for name in told.get("files", ())),
        tuple(one for one in files if one.is_file()),
    )


def _absolute(name: str, configuration: Path) -> Path:
    return Path(os.path.normpath(configuration.parent / name))


def _extended(configuration: Path) -> set[Path]:
    """Return what a configuration extends, directly or not, by relative names."""
    found: set[Path] = set()
    waiting = [configuration]
    while waiting:
        path = waiting.pop()
        try:
            told = _EXTENDS.search(read_file(path).decode(errors="replace"))
        except OSError:
            continue
        for name in _STRING.findall(told[1]) if told else ():
            one = _absolute(name if name.endswith(".json") else f"{name}.json", path)
            if name.startswith(".") and one not in found:
                found.add(one)
                waiting.append(one)
    return found
