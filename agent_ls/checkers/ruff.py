"""Check Python texts with ruff: syntax and lint."""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from agent_ls.checkers.process import ProgramOutcome, run_program, together
from agent_ls.checkers.programs import find_program, untrusted
from agent_ls.checkers.said import UNPARSABLE, Said, finding_of, lines_of
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.findings import CheckReport, Finding, Severity
from agent_ls.domain.record import Record
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.processes.reading import read_file
from agent_ls.safety.programs import path_outside
from agent_ls.safety.sandbox.confining import Confiner

_SUFFIXES = (".py", ".pyi")
_OWN_CONFIGURATION = (".ruff.toml", "ruff.toml")
# As in ruff's own server: code that cannot run is an error, the rest are warnings.
_ERRORS = frozenset({None, "invalid-syntax", "E902", "E999", "F821"})
_AT_ONCE = 4
_NOT_CHECKED = 2
"""Exit code for an unusable configuration or an internal error of ruff."""
_MAX_REASON = 500


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
class Ruff:
    """Checks Python with ``ruff check``, each text through standard input.

    Uses the project's ruff configuration if its folder is trusted.
    """

    name: ClassVar[str] = "ruff"
    is_per_file: ClassVar[bool] = True
    workspace: Workspace
    options: RuffOptions = RuffOptions()
    confiner: Confiner | None = None

    def handles(self, path: str) -> bool:
        """Tell whether this file is Python and ruff is enabled."""
        return self.options.enabled and path.endswith(_SUFFIXES)

    def is_here(self) -> bool:
        """Tell whether there is a ruff that may run."""
        return self.options.enabled and self._program() is not None

    async def check(self, texts: Mapping[str, str | None]) -> CheckReport:
        """Check these files as if the disk held these texts (None: deleted).

        Never raises: what cannot run is a problem in the report.
        """
        present = {path: text for path, text in texts.items() if text is not None}
        if not present:
            return CheckReport(checkers=(self.name,))
        program = await asyncio.to_thread(self._program)
        if program is None:
            return CheckReport(problems=(self._missing(),))
        avoid = untrusted(self.workspace.roots)
        few = asyncio.Semaphore(_AT_ONCE)
        env_path = await asyncio.to_thread(path_outside, avoid)

        async def check_one(path: str, text: str) -> CheckReport:
            async with few:
                return await self._check_file(program, path, text, env_path)

        reports = await together(check_one(*item) for item in present.items())
        return CheckReport(
            findings=tuple(finding for report in reports for finding in report.findings),
            checkers=tuple(sorted({name for report in reports for name in report.checkers})),
            problems=tuple(dict.fromkeys(text for report in reports for text in report.problems)),
        )

    async def _check_file(self, program: Path, path: str, text: str, env_path: str) -> CheckReport:
        try:
            root, absolute = self.workspace.locate(path)
        except WorkspaceError as error:
            return CheckReport(problems=(f"ruff did not check {path}: {error}",))
        command: list[str | Path] = [
            program, "check", "--output-format", "json", "--no-cache", "--no-fix", "--quiet",
            "--force-exclude", "--exit-zero", "--stdin-filename", absolute,
        ]  # fmt: skip
        if not root.is_trusted:
            command += ["--isolated", "--select", ",".join(self.options.select)]
        elif not await asyncio.to_thread(_is_configured, absolute):
            command += ["--select", ",".join(self.options.select)]
        outcome = await run_program(
            [*command, "-"],
            cwd=root.path if root.is_trusted else Path(root.path.anchor),
            path=env_path,
            stdin=text,
            timeout_s=self.options.timeout_s,
            confiner=self.confiner,
        )
        if outcome.end == "exited" and outcome.exit_code == 0:
            try:
                found = _parse(outcome.stdout, path, text)
            except (ValueError, LookupError, TypeError):
                return CheckReport(problems=(f"ruff's answer on {path} could not be read.",))
            return CheckReport(findings=found, checkers=(self.name,))
        return CheckReport(problems=(self._why(outcome, path),))

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


def _is_configured(file: Path) -> bool:
    """Tell whether ruff would find a project configuration for this file."""
    for folder in file.parents:
        if any((folder / name).is_file() for name in _OWN_CONFIGURATION):
            return True
        try:
            project = tomllib.loads(read_file(folder / "pyproject.toml").decode("utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if "ruff" in project.get("tool", {}):
            return True
    return False


def _parse(output: str, path: str, text: str) -> tuple[Finding, ...]:
    lines = lines_of(text)
    said = map(_said, json.loads(output))
    return tuple(finding_of(one, path, lines, checker="ruff") for one in said)


def _said(item: dict[str, Any]) -> Said:
    start, end, code = item["location"], item["end_location"], item["code"]
    return Said(
        path="",
        message=item["message"],
        line=start["row"],
        column=start["column"],
        end_line=end["row"],
        end_column=end["column"],
        code=code or UNPARSABLE,
        severity=Severity.ERROR if code in _ERRORS else Severity.WARNING,
    )
