"""Run the user's own check commands on a copy of the folder that includes unsaved texts.

Decides when and where a command runs. Settings are in ``command_options.py``, parsing of the output
is in ``command_output.py``.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from agent_ls.checkers.command_options import FILES, CheckCommand
from agent_ls.checkers.command_output import CommandRun, report_of
from agent_ls.checkers.copies import FolderCopy
from agent_ls.checkers.overlay import Copies, Overlay, folders_up, overlays
from agent_ls.checkers.process import run_program
from agent_ls.checkers.programs import find_program, own_programs, trust_words, untrusted
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.findings import CheckReport, Finding
from agent_ls.loop.ports.workspace import Root, Workspace
from agent_ls.safety.programs import path_outside
from agent_ls.safety.sandbox.builder import SandboxBuilder


@dataclass(frozen=True, slots=True)
class CommandChecker:
    """Runs one configured command when a file of its kind changed.

    Runs only in trusted folders, because such programs load code from the folder.
    """

    workspace: Workspace
    options: CheckCommand
    builder: SandboxBuilder | None = None
    _copies: Copies = field(default_factory=Copies, init=False, repr=False)

    @property
    def name(self) -> str:
        """Return the command's name."""
        return self.options.name

    @property
    def is_per_file(self) -> bool:
        """Tell whether findings in a file depend on that file alone, as the user configured."""
        return self.options.per_file

    def handles(self, path: str) -> bool:
        """Tell whether the path matches the command's file patterns."""
        names = (path, path.rpartition("/")[2])
        return any(fnmatchcase(one, pattern) for one in names for pattern in self.options.files)

    def is_here(self) -> bool:
        """Tell whether the program exists and may run in at least one folder."""
        return not all(self.obstacle(root) for root in self.workspace.roots)

    async def end(self) -> None:
        """Do nothing: no program of it runs on."""

    async def check(self, texts: Mapping[str, str | None]) -> CheckReport:
        """Check these files as if the disk held these texts (None: deleted).

        Never raises: what cannot run is a problem in the report.
        """
        parts, problems = await overlays(self.workspace, texts, self.name)
        findings: list[Finding] = []
        waits: list[str] = []
        has_run = False
        for part in parts:
            folders = await asyncio.to_thread(self._folders, part)
            for folder, files in folders.items():
                report = await self._check_in(folder, files, part)
                findings += report.findings
                problems += report.problems
                waits += report.untrusted
                has_run |= bool(report.checkers)
        return CheckReport(
            findings=tuple(
                one for one in dict.fromkeys(findings) if not self.is_per_file or one.path in texts
            ),
            checkers=(self.name,) if has_run else (),
            problems=tuple(dict.fromkeys(problems)),
            untrusted=tuple(dict.fromkeys(waits)),
        )

    def obstacle(self, root: Root, folders: Sequence[Path] = ()) -> str:
        """Return a message why it cannot run in a folder; empty if it can. Blocking."""
        if not root.is_trusted:
            return trust_words(self.name, root)
        if self._program(folders or (root.path,)) is None:
            return (
                f"{self.name} did not run: there is no program {self._words()[0]}. "
                "Install it, or correct checkers.commands in your settings."
            )
        return ""

    def _folders(self, part: Overlay) -> dict[Path, list[Path]]:
        found: dict[Path, list[Path]] = {}
        for file in part.changed:
            folder = self._home(file, part)
            if folder is not None:
                found.setdefault(folder, []).append(file)
        return found

    def _home(self, file: Path, part: Overlay) -> Path | None:
        if not self.options.beside:
            return part.root.path
        for folder in folders_up(file, part.root):
            for one in (folder / name for name in self.options.beside):
                if part.texts.get(one) is not None or one.is_file():
                    return folder
        return None

    async def _check_in(self, folder: Path, files: Sequence[Path], part: Overlay) -> CheckReport:
        root = part.root
        present = [file for file in files if part.texts.get(file) is not None]
        if not present and FILES in self._words():
            return CheckReport(checkers=(self.name,))
        folders = (folder, *folders_up(folder, root))
        if obstacle := await asyncio.to_thread(self.obstacle, root, folders):
            untrusted = () if root.is_trusted else (str(root.path),)
            return CheckReport(problems=(obstacle,), untrusted=untrusted)
        try:
            async with self._copies.of(part, self.workspace) as (copy, gap):
                run = await self._run(copy, folders, present)
                # Read the output while the copy still holds the texts that the command saw.
                report = await report_of(run, self.workspace.shown)
        except (OSError, WorkspaceError) as error:
            reason = f"there is no copy of {root.path} for it: {error}"
            return CheckReport(problems=(f"{self.name} did not run: {reason}",))
        cautions = (f"{self.name} saw a part: {gap}",) if gap else ()
        return report.model_copy(update={"cautions": (*report.cautions, *cautions)})

    async def _run(
        self, copy: FolderCopy, folders: Sequence[Path], files: Iterable[Path]
    ) -> CommandRun:
        words: list[str | Path] = []
        for word in self._words():
            words += [_below(file, folders[0]) for file in files] if word == FILES else [word]
        avoid = untrusted(self.workspace.roots)
        cwd = copy.inside(folders[0])
        outcome = await run_program(
            [await asyncio.to_thread(self._program, folders) or words[0], *words[1:]],
            cwd=cwd,
            path=os.pathsep.join([*map(str, own_programs(folders)), path_outside(avoid)]),
            stdin="",
            timeout_s=self.options.timeout_s,
            variables=self.options.variables,
            builder=self.builder if self.options.sandbox else None,
            readable=copy.readable,
            writable=(copy.inside(copy.folder),),
        )
        return CommandRun(self.options, copy, cwd, outcome)

    def _words(self) -> list[str]:
        return shlex.split(self.options.command)

    def _program(self, folders: Sequence[Path]) -> Path | None:
        word = self._words()[0]
        is_path = "/" in word
        return find_program(
            word,
            configured=str(folders[0] / Path(word).expanduser()) if is_path else "",
            avoid=untrusted(self.workspace.roots),
            first=own_programs(folders),
        )


def _below(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()
