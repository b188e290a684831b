"""What both ways of running TypeScript share: the question, the raw answer, and failing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_ls.checkers.process import ProgramOutcome, run_program
from agent_ls.checkers.programs import TypeScript
from agent_ls.loop.ports.workspace import Root

CONFIGURATIONS = ("tsconfig.json", "jsconfig.json")
CONFIGURATION = re.compile(r"(^|/)[jt]sconfig[^/]*\.json$")
"""Also what such a project extends or refers to."""


class TscFailedError(Exception):
    """TypeScript gave no answer; the text says why, for a person."""


@dataclass(frozen=True, slots=True)
class TscJob:
    """Files of one root to check with one TypeScript."""

    root: Root
    files: tuple[Path, ...]
    """The changed ones, absolute."""
    texts: Mapping[Path, str | None]
    """What differs from the disk: the changed files and unsaved ones; None: deleted."""
    typescript: TypeScript
    node: Path
    path: str
    """PATH for what runs."""
    timeout_s: float

    async def run(
        self, arguments: Sequence[str | Path], *, cwd: Path, stdin: str = ""
    ) -> ProgramOutcome:
        """Run node with these arguments.

        Errors: ``TscFailedError`` when it does not come to an end by itself.
        """
        outcome = await run_program(
            [self.node, *arguments], cwd=cwd, path=self.path, stdin=stdin, timeout_s=self.timeout_s
        )
        match outcome.end:
            case "exited":
                return outcome
            case "timed_out":
                raise TscFailedError(
                    f"it took longer than {self.timeout_s:g} s (checkers.tsc.timeout_s)"
                )
            case "too_much":
                raise TscFailedError("it printed without end")
            case "not_started":
                raise TscFailedError(f"{self.node} could not be started: {outcome.stderr}")


def failure(outcome: ProgramOutcome) -> TscFailedError:
    """Return the error for a program that ended without an answer, with node's own reason."""
    said = (outcome.stderr.strip() or outcome.stdout.strip()).splitlines()
    reasons = [line for line in said if "Error" in line] or said[-3:]
    text = "; ".join(reasons)[:500]
    return TscFailedError(text or f"it ended with code {outcome.exit_code}")


@dataclass(frozen=True, slots=True)
class TscAnswer:
    """What TypeScript said."""

    findings: tuple[dict[str, Any], ...]
    """Fields of ``Finding`` but for the checker; paths are absolute."""
    unconfigured: frozenset[str]
    """Files that no project includes, checked with common options; absolute."""
    is_cut_short: bool = False
    """There is nothing but broken syntax, behind which 7 looks at nothing else."""
    caution: str = ""
    """Why it may be wrong, for a person."""
