"""Parse the output of a check command into findings or a problem.

Reads lines as most compilers print them, lines that match the user's own pattern, and the JSON of
eslint and pyright.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_ls.checkers.command_options import CheckCommand
from agent_ls.checkers.copies import FolderCopy
from agent_ls.checkers.process import ProgramOutcome
from agent_ls.checkers.raw_finding import UNPARSABLE, RawFinding, finding_of
from agent_ls.domain.findings import CheckReport, Finding, Severity
from agent_ls.safety.text import visible

_MAX_REASON = 500
_MAX_SAID = 10_000
_MAX_LINE = 4_096
"""Longer lines, such as quoted minified code, are cut to this."""
_MAX_PATTERN_S = 10.0
_MAX_SHOWN = 200
_ESLINT_ERROR = 2
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_LINE = re.compile(
    r"^\s*(?:[\w-]+: )?(?P<path>[^:\s][^:]*?):(?P<line>\d+)(?::(?P<column>\d+))?"
    r"(?::(?P<end_line>\d+):(?P<end_column>\d+))?:?\s+(?:- )?"
    r"(?:(?P<severity>(?i:fatal error|error|warning|note|info(?:rmation)?|hint|help|style))"
    r"(?:\[(?P<code>[^\]]+)\])?:\s*)?(?P<message>\S.*)$"
)
_CODE_AT_END = re.compile(r"(?<!\s)\s+[\[(](?P<code>-W[\w=,+-]+|[A-Za-z][\w./-]*)[\])]$")
_SEVERITIES = {
    "error": Severity.ERROR,
    "fatal error": Severity.ERROR,
    "fatal": Severity.ERROR,
    "warning": Severity.WARNING,
    "note": Severity.INFORMATION,
    "info": Severity.INFORMATION,
    "information": Severity.INFORMATION,
    "help": Severity.INFORMATION,
    "hint": Severity.HINT,
    "style": Severity.HINT,
}


@dataclass(frozen=True, slots=True)
class CommandRun:
    """One run of a command in a copy of a folder."""

    options: CheckCommand
    copy: FolderCopy
    cwd: Path
    """Its folder in the copy."""
    outcome: ProgramOutcome


async def report_of(run: CommandRun, shown: Callable[[Path], str | None]) -> CheckReport:
    """Return the findings or the problem; ``shown`` maps a path to its name for the user."""
    return await asyncio.to_thread(_report, run, shown)


def _report(run: CommandRun, shown: Callable[[Path], str | None]) -> CheckReport:
    name, outcome = run.options.name, run.outcome
    try:
        findings = _findings(run, list(_said(run)), shown)
        if outcome.exit_code and not findings:
            said = visible((outcome.stderr.strip() or outcome.stdout.strip())[-_MAX_REASON:])
            words = f"it ended with code {outcome.exit_code}. {run.copy.plain(said)}"
            raise ValueError(words.strip())
    except ValueError as error:
        return CheckReport(problems=(f"{name} gave no answer: {error}",))
    return CheckReport(findings=findings, checkers=(name,))


def _said(run: CommandRun) -> Iterator[RawFinding]:
    """Parse all findings in the output. Errors: ``ValueError`` with the reason."""
    options, outcome = run.options, run.outcome
    match outcome.end:
        case "timed_out":
            raise ValueError(
                f"it took longer than {options.timeout_s:g} s (timeout_s in checkers.commands)."
            )
        case "too_much":
            raise ValueError("it printed without end.")
        case "not_started":
            raise ValueError(f"it could not be started: {outcome.stderr}")
        case "exited":
            pass
    printed = outcome.stdout.removeprefix("\ufeff")
    if options.output != "lines":
        return iter(read_json(options.output, printed) if printed.strip() else ())
    printed = f"{printed}\n{outcome.stderr}"
    if options.pattern:
        return read_by_pattern(printed, options.pattern, min(options.timeout_s, _MAX_PATTERN_S))
    return read_lines(printed)


def _findings(
    run: CommandRun, said: Sequence[RawFinding], shown: Callable[[Path], str | None]
) -> tuple[Finding, ...]:
    """Return the findings in files that exist. Errors: ``ValueError`` with the reason."""
    if len(said) > _MAX_SAID:
        # Do not cut: findings that cross the limit later would seem fixed or new.
        raise ValueError(f"it found {len(said):,} problems, too many to tell which are new.")
    options = run.options
    texts: dict[Path, list[str] | None] = {}
    found: list[Finding] = []
    for one in said:
        file = run.copy.outside(Path(os.path.normpath(run.cwd / run.copy.plain(one.path))))
        if file not in texts:
            texts[file] = run.copy.lines(file)
        lines = texts[file]
        name = shown(file) if lines is not None else None
        if lines is not None and name is not None:
            finding = finding_of(
                one, name, lines,
                checker=options.name, columns=options.columns, severity=options.severity,
            )  # fmt: skip
            message = run.copy.plain(finding.message)
            found.append(finding.model_copy(update={"message": message}))
    return tuple(found)


def read_lines(output: str) -> Iterator[RawFinding]:
    """Yield the findings in lines of the form that most compilers print."""
    matches = map(_LINE.search, _plain_lines(output))
    return (_of_groups(match.groupdict()) for match in matches if match is not None)


def read_by_pattern(output: str, pattern: str, limit_s: float) -> Iterator[RawFinding]:
    """Yield the findings in matching lines. Errors: ``ValueError`` if matching takes too long."""
    # Unlike ``re``, ``regex`` has a timeout and can release the GIL.
    search = importlib.import_module("regex").compile(pattern).search
    ends_at = time.monotonic() + limit_s
    for line in _plain_lines(output):
        try:
            left_s = max(ends_at - time.monotonic(), 0.001)
            match = search(line, concurrent=True, timeout=left_s)
        except TimeoutError:
            shown = pattern if len(pattern) <= _MAX_SHOWN else f"{pattern[:_MAX_SHOWN]}…"
            raise ValueError(
                f"its pattern {shown} took longer than {limit_s:g} s with what it printed. Let no "
                "repeat hold another that fits the same text, such as (a+)+."
            ) from None
        if match:
            yield _of_groups(match.groupdict())


def _plain_lines(output: str) -> list[str]:
    """Return the lines without colour codes, long ones cut."""
    return [_ESCAPE.sub("", line[:_MAX_LINE]) for line in output.splitlines()]


def _of_groups(groups: Mapping[str, str | None]) -> RawFinding:

    def number(name: str) -> int:
        # A user's pattern may capture words here; ignore them and keep the rest.
        text = (groups.get(name) or "").strip()
        return int(text) if text.isdecimal() else 0

    message, code = (groups["message"] or "").strip(), groups.get("code") or ""
    if not code and (at_end := _CODE_AT_END.search(message)):
        message, code = message[: at_end.start()], at_end["code"]
    # mypy and compilers print an inclusive end column.
    end_column = number("end_column")
    return RawFinding(
        path=(groups["path"] or "").strip(),
        message=message,
        line=number("line"),
        column=number("column"),
        end_line=number("end_line"),
        end_column=end_column + 1 if end_column else 0,
        code=code,
        severity=_SEVERITIES.get((groups.get("severity") or "").lower()),
    )


def read_json(kind: str, output: str) -> list[RawFinding]:
    """Parse the JSON of eslint or pyright. Errors: ``ValueError`` if it has another form."""
    try:
        told = json.loads(output)
        return list(_of_eslint(told) if kind == "eslint" else _of_pyright(told))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"[:_MAX_REASON]
        raise ValueError(f"it is no output of that kind: {reason}.") from None


def _of_eslint(told: Any) -> Iterator[RawFinding]:
    for file in told:
        for one in file["messages"]:
            yield RawFinding(
                path=file["filePath"],
                message=one["message"].strip(),
                line=_number(one.get("line")),
                column=_number(one.get("column")),
                end_line=_number(one.get("endLine")),
                end_column=_number(one.get("endColumn")),
                code=UNPARSABLE if one.get("fatal") else str(one.get("ruleId") or ""),
                severity=Severity.ERROR
                if _number(one["severity"]) == _ESLINT_ERROR
                else Severity.WARNING,
            )


def _of_pyright(told: Any) -> Iterator[RawFinding]:
    for one in told["generalDiagnostics"]:
        if place := one.get("range"):
            yield RawFinding(
                path=one["file"],
                message=one["message"].strip(),
                line=place["start"]["line"] + 1,
                column=place["start"]["character"] + 1,
                end_line=place["end"]["line"] + 1,
                end_column=place["end"]["character"] + 1,
                code=str(one.get("rule") or ""),
                severity=_SEVERITIES.get(one["severity"]),
            )


def _number(value: Any) -> int:
    """Convert a number that may be missing, a string or a float."""
    return int(value or 0)
