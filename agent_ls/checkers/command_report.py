"""What came of a command's run: findings where the person sees the files, or why there are none."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_ls.checkers.command_json import read_json
from agent_ls.checkers.command_options import CheckCommand
from agent_ls.checkers.command_output import Said, column_of, read_lines, word_end
from agent_ls.checkers.lines import line_text, lines_of
from agent_ls.checkers.own_pattern import read_by_pattern
from agent_ls.checkers.process import ProgramOutcome
from agent_ls.domain.findings import CheckReport, Finding
from agent_ls.processes.reading import read_file
from agent_ls.safety.text import cleaned, visible, visible_line

_MAX_REASON = 500
_MAX_FILE_BYTES = 8 * 2**20
_MAX_SAID = 10_000


@dataclass(frozen=True, slots=True)
class CommandRun:
    """One run, in the copy of a folder."""

    options: CheckCommand
    folder: Path
    copy: Path
    cwd: Path
    """Where in the copy it ran."""
    outcome: ProgramOutcome


async def report_of(run: CommandRun, shown: Callable[[Path], str | None]) -> CheckReport:
    """Return the findings, or the problem; ``shown`` is how a file is named."""
    options, outcome = run.options, run.outcome
    try:
        findings = await asyncio.to_thread(_findings, run, await _said(run), shown)
    except ValueError as error:
        return _problem(run, str(error))
    if outcome.exit_code and not findings:
        said = visible((outcome.stderr.strip() or outcome.stdout.strip())[-_MAX_REASON:])
        return _problem(run, f"it ended with code {outcome.exit_code}. {_plain(run, said)}".strip())
    return CheckReport(findings=findings, checkers=(options.name,))


def _problem(run: CommandRun, reason: str) -> CheckReport:
    return CheckReport(problems=(f"{run.options.name} gave no answer: {reason}",))


async def _said(run: CommandRun) -> list[Said]:
    """Return what was said of any file. Errors: ``ValueError`` with the reason."""
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
        return (
            await asyncio.to_thread(read_json, options.output, printed) if printed.strip() else []
        )
    printed = f"{printed}\n{outcome.stderr}"
    if options.pattern:
        return await read_by_pattern(printed, options.pattern, options.timeout_s)
    return await asyncio.to_thread(read_lines, printed)


def _findings(
    run: CommandRun, said: Sequence[Said], shown: Callable[[Path], str | None]
) -> tuple[Finding, ...]:
    """Return what was said of files that are there. Errors: ``ValueError`` with the reason."""
    if len(said) > _MAX_SAID:
        # With a part of them, what comes to stand beyond it or before would seem mended or new.
        raise ValueError(f"it found {len(said):,} problems, too many to tell which are new.")
    texts: dict[Path, list[str] | None] = {}
    found: list[Finding] = []
    for one in said:
        inside = _inside(run, one.path)
        if inside not in texts:
            texts[inside] = _lines(inside)
        lines = texts[inside]
        name = shown(run.folder / inside.relative_to(run.copy)) if lines is not None else None
        if lines is not None and name is not None:
            found.append(_finding(run, one, name, lines))
    return tuple(found)


def _inside(run: CommandRun, printed: str) -> Path:
    """Return the file in the copy that a command names, whichever way; the copy when it is none."""
    path = Path(os.path.normpath(run.cwd / printed))
    for folder in (run.copy, run.folder):
        if path.is_relative_to(folder):
            return run.copy / path.relative_to(folder)
    return run.copy


def _lines(file: Path) -> list[str] | None:
    try:
        text = read_file(file, max_bytes=_MAX_FILE_BYTES).decode(errors="replace")
    except (OSError, ValueError):
        # There is none such, or there can be none, such as one with a NUL in its name.
        return None
    return lines_of(text.removeprefix("\ufeff"))


def _finding(run: CommandRun, said: Said, name: str, lines: list[str]) -> Finding:
    unit = run.options.columns
    line = min(max(said.line - 1, 0), len(lines) - 1)
    end_line = min(max(said.end_line - 1, line), len(lines) - 1)
    if said.column > 0:
        column = column_of(lines[line], said.column, unit)
        end_column = word_end(lines[line], column)
    else:
        column = len(lines[line]) - len(lines[line].lstrip())
        end_column = len(lines[line])
    if said.end_column > 0:
        end_column = column_of(lines[end_line], said.end_column, unit)
    if end_line == line:
        end_column = max(end_column, column)
    return Finding(
        path=name,
        checker=run.options.name,
        code=visible_line(said.code),
        # The model reads it, too.
        message=cleaned(_plain(run, said.message)),
        severity=said.severity or run.options.severity,
        start_line=line,
        start_column=column,
        end_line=end_line,
        end_column=end_column,
        line_text=line_text(lines, line),
    )


def _plain(run: CommandRun, words: str) -> str:
    """Name files where the person knows them, not where the command saw them."""
    return words.replace(str(run.copy), str(run.folder))
