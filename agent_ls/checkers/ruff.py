"""Check Python texts with ruff: syntax and lint."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from agent_ls.checkers.process import ProgramOutcome, run_program, together
from agent_ls.checkers.programs import find_program, untrusted
from agent_ls.checkers.raw_finding import UNPARSABLE, RawFinding, finding_of, lines_of
from agent_ls.checkers.ruff_server import AskedText, Diagnostic, RuffServers, ServerStart
from agent_ls.checkers.ruff_settings import RuffSettings, RuffSettingsFinder
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.findings import CheckReport, Finding, Severity
from agent_ls.domain.record import Record
from agent_ls.loop.ports.workspace import Root, Workspace
from agent_ls.safety.programs import path_outside
from agent_ls.safety.sandbox.builder import SandboxBuilder

_SUFFIXES = (".py", ".pyi")
# As in ruff's own server: code that cannot run is an error, the rest are warnings.
_ERRORS = frozenset({None, "invalid-syntax", "E902", "E999", "F821"})
_AT_ONCE = 4
_NOT_CHECKED = 2
"""Exit code for an unusable configuration or an internal error of ruff."""
_MAX_REASON = 500
_ADVICE = "\n\nhelp: "
"""Before what newer servers add to a message: the title of the fix."""
_CODE = re.compile(rf"[A-Z]+\d+|{UNPARSABLE}")
_ISOLATED = RuffSettings(None, 0, is_certain=True)
"""Of folders that are not trusted: their configuration does not count."""


class RuffOptions(Record):
    """Which ruff, and how it is run."""

    enabled: bool = True
    """Check Python files at all."""
    command: str = ""
    """Path of the program; empty: the one on PATH, or beside agent-ls."""
    select: tuple[str, ...] = ("E9", "F")
    """Rules for files of projects that configure none, and of folders that are not trusted."""
    timeout_s: float = Field(default=20.0, gt=0)
    """For one file."""


@dataclass(frozen=True, slots=True)
class _File:
    """A file to check."""

    path: str
    """As the workspace names it."""
    text: str
    root: Root
    absolute: Path
    settings: RuffSettings


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a check needs of the disk."""

    program: Path
    program_identity: tuple[int, int]
    env_path: str
    files: list[_File]
    folder_inodes: Mapping[Path, int]
    """The inodes of the workspace's folders."""
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ruff:
    """Checks Python with ``ruff server``, and where that cannot answer with ``ruff check``.

    Uses the project's ruff configuration if its folder is trusted. ``end`` it.
    """

    name: ClassVar[str] = "ruff"
    is_per_file: ClassVar[bool] = True
    workspace: Workspace
    options: RuffOptions = RuffOptions()
    builder: SandboxBuilder | None = None
    _settings: RuffSettingsFinder = field(
        default_factory=RuffSettingsFinder, init=False, repr=False, compare=False
    )
    _servers: list[RuffServers] = field(
        default_factory=list[RuffServers], init=False, repr=False, compare=False
    )

    def handles(self, path: str) -> bool:
        """Tell whether this file is Python and ruff is enabled."""
        return self.options.enabled and path.endswith(_SUFFIXES)

    def is_here(self) -> bool:
        """Tell whether there is a ruff that may run."""
        return self.options.enabled and self._program() is not None

    async def end(self) -> None:
        """End the servers."""
        for servers in self._servers:
            await servers.end()

    async def check(self, texts: Mapping[str, str | None]) -> CheckReport:
        """Check these files as if the disk held these texts (None: deleted).

        Never raises: what cannot run is a problem in the report.
        """
        present = {path: text for path, text in texts.items() if text is not None}
        if not present:
            return CheckReport(checkers=(self.name,))
        plan = await asyncio.to_thread(self._plan, present)
        if plan is None:
            return CheckReport(problems=(self._missing(),))
        found = await self._asked(plan)
        few = asyncio.Semaphore(_AT_ONCE)

        async def check_one(file: _File) -> CheckReport:
            if file.path in found:
                return CheckReport(findings=found[file.path], checkers=(self.name,))
            async with few:
                return await self._check_file(plan, file)

        reports = await together(map(check_one, plan.files))
        problems = (*plan.problems, *(text for report in reports for text in report.problems))
        return CheckReport(
            findings=tuple(finding for report in reports for finding in report.findings),
            checkers=tuple(sorted({name for report in reports for name in report.checkers})),
            problems=tuple(dict.fromkeys(problems)),
        )

    def _plan(self, texts: Mapping[str, str]) -> _Plan | None:
        """Look at the disk for what a check needs; None without a program."""
        program = self._program()
        if program is None:
            return None
        located = dict[str, tuple[Root, Path]]()
        problems = list[str]()
        for path in texts:
            try:
                located[path] = self.workspace.locate(path)
            except WorkspaceError as error:
                problems.append(f"ruff did not check {path}: {error}")
        folders = {absolute.parent for root, absolute in located.values() if root.is_trusted}
        settings = self._settings.of_folders(folders)
        files = [
            _File(path, texts[path], root, absolute, settings.get(absolute.parent, _ISOLATED))
            for path, (root, absolute) in located.items()
        ]
        return _Plan(
            program,
            _identity(program),
            path_outside(untrusted(self.workspace.roots)),
            files,
            {file.root.path: _identity(file.root.path)[0] for file in files},
            tuple(problems),
        )

    async def _asked(self, plan: _Plan) -> Mapping[str, tuple[Finding, ...]]:
        """Return what servers find, by path; files of which they cannot tell are left out."""
        if not self._servers:
            self._servers.append(RuffServers(self.builder, self.options.timeout_s))
        by_start = dict[ServerStart, list[_File]]()
        for file in plan.files:
            start = ServerStart(
                plan.program,
                plan.program_identity,
                file.root.path,
                plan.folder_inodes[file.root.path],
                plan.env_path,
                json.dumps(self._server_options(file)),
            )
            by_start.setdefault(start, []).append(file)
        found = dict[str, tuple[Finding, ...]]()
        for start, files in by_start.items():
            asked = [AskedText(file.absolute, file.text, file.settings) for file in files]
            answers = await self._servers[0].diagnostics(start, asked)
            for file, answer in zip(files, answers, strict=True):
                said = None if answer is None else _said_by_server(answer)
                if said is not None:
                    found[file.path] = _findings(said, file)
        return found

    def _server_options(self, file: _File) -> dict[str, Any]:
        """Return the options of a server that do what ``_choice`` does for the command."""
        select = {"lint": {"select": list(self.options.select)}}
        if not file.root.is_trusted:
            return {"configurationPreference": "editorOnly", **select}
        return {} if file.settings.path is not None else select

    def _choice(self, file: _File) -> list[str]:
        select = ["--select", ",".join(self.options.select)]
        if not file.root.is_trusted:
            return ["--isolated", *select]
        return [] if file.settings.path is not None else select

    async def _check_file(self, plan: _Plan, file: _File) -> CheckReport:
        root = file.root
        outcome = await run_program(
            [
                plan.program, "check", "--output-format", "json", "--no-cache", "--no-fix",
                "--quiet", "--force-exclude", "--exit-zero", "--stdin-filename", file.absolute,
                *self._choice(file), "-",
            ],
            cwd=root.path if root.is_trusted else Path(root.path.anchor),
            path=plan.env_path,
            stdin=file.text,
            timeout_s=self.options.timeout_s,
            builder=self.builder,
        )  # fmt: skip
        if outcome.end == "exited" and outcome.exit_code == 0:
            try:
                found = _findings(map(_said, json.loads(outcome.stdout)), file)
            except (ValueError, LookupError, TypeError):
                return CheckReport(problems=(f"ruff's answer on {file.path} could not be read.",))
            return CheckReport(findings=found, checkers=(self.name,))
        return CheckReport(problems=(self._why(outcome, file.path),))

    def _program(self) -> Path | None:
        avoid = untrusted(self.workspace.roots)
        return find_program("ruff", configured=self.options.command, avoid=avoid)

    def _missing(self) -> str:
        if self.options.command:
            return (
                f"ruff did not run: {self.options.command} is not a program. "
                "Correct checkers.ruff.command in your settings."
            )
        return (
            "ruff did not run: it is not installed. Install it (uv tool install ruff, or "
            "pip install ruff) or set checkers.ruff.command in your settings."
        )

    def _why(self, outcome: ProgramOutcome, path: str) -> str:
        match outcome.end:
            case "timed_out":
                limit = f"{self.options.timeout_s:g} s (checkers.ruff.timeout_s)"
                return f"ruff did not check {path}: it took longer than {limit}."
            case "too_much":
                return f"ruff did not check {path}: it printed without end."
            case "not_started":
                return f"ruff could not be started: {outcome.stderr}"
            case "exited":
                said = outcome.stderr.strip()
                if outcome.exit_code == _NOT_CHECKED and said:
                    # The same for every file, so the message names no file and is shown once.
                    return f"ruff did not run: {_reason(said)}"
                ended = f"it ended with code {outcome.exit_code}"
                return f"ruff did not check {path}: {said[:_MAX_REASON] or ended}"


def _reason(said: str) -> str:
    """Return ruff's reason for checking nothing, and advice if there is any."""
    lines = [line.strip().removeprefix("Cause: ") for line in said.splitlines()]
    reason = "\n".join(line for line in lines if line not in ("", "|", "ruff failed"))
    advice = "\nCorrect that file, then ruff checks again." if ".toml" in reason else ""
    return f"{reason[:_MAX_REASON]}{advice}"


def _findings(said: Iterable[RawFinding], file: _File) -> tuple[Finding, ...]:
    found = sorted(said, key=_place)
    lines = lines_of(file.text) if found else []
    return tuple(finding_of(one, file.path, lines, checker="ruff") for one in found)


def _said(item: dict[str, Any]) -> RawFinding:
    start, end = item["location"], item["end_location"]
    return _said_at(item, (start["row"], start["column"]), (end["row"], end["column"]))


def _said_by_server(answer: Iterable[Diagnostic]) -> list[RawFinding] | None:
    """Return what the command would say; None if that is not sure."""
    found = list[RawFinding]()
    try:
        for one in answer:
            start, end = one["range"]["start"], one["range"]["end"]
            message, _, advice = one["message"].partition(_ADVICE)
            if advice and advice != one["data"]["title"]:
                return None
            # With ``preview`` the server gives a rule's name instead of its code.
            if one.get("code") is not None and not _CODE.fullmatch(one["code"]):
                return None
            found.append(
                _said_at(
                    {"message": message, "code": one.get("code")},
                    (start["line"] + 1, start["character"] + 1),
                    (end["line"] + 1, end["character"] + 1),
                )
            )
    except (LookupError, TypeError, AttributeError):
        return None
    return found


def _said_at(item: dict[str, Any], start: tuple[int, int], end: tuple[int, int]) -> RawFinding:
    """Return what ruff says, with places from 1."""
    code = item["code"]
    return RawFinding(
        path="",
        message=item["message"],
        line=start[0],
        column=start[1],
        end_line=end[0],
        end_column=end[1],
        code=code or UNPARSABLE,
        severity=Severity.ERROR if code in _ERRORS else Severity.WARNING,
    )


def _place(said: RawFinding) -> tuple[int | str, ...]:
    return said.line, said.column, said.code, said.message


def _identity(path: Path) -> tuple[int, int]:
    """Return inode and modification time, which tell a replaced file; zeros if there is none."""
    try:
        facts = path.stat()
    except OSError:
        return 0, 0
    return facts.st_ino, facts.st_mtime_ns
