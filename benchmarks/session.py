"""The session that every program under measurement plays, the files it plays on, and its check.

A third of nothing but reading, edits spread among them, and a command and a search now and then:
of 30 steps 20 read, 6 edit, 2 run a command and 2 search.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Literal

Kind = Literal["read", "edit", "run", "search"]
Call = tuple[str, dict[str, object]]
_BLOCK: tuple[Kind, ...] = (
    *("read", "read", "read", "edit", "run"),
    *("read", "read", "read", "edit", "read"),
    *("read", "read", "read", "edit", "search"),
)
_FUNCTIONS = 30
TASK = "Work through the steps of the session, one call at a time, then say that you are done."
FINAL = "Done: every step of the session was carried out."


@dataclass(frozen=True)
class Step:
    """One call that the model will ask for."""

    number: int
    kind: Kind
    file: int

    @property
    def path(self) -> str:
        return f"src/part_{self.file:03d}.py"

    @property
    def change(self) -> tuple[str, str]:
        """The text an edit replaces, and by what."""
        return f"LIMIT_{self.file} = 10", f"LIMIT_{self.file} = 20"


def plan(steps: int) -> list[Step]:
    """Return the steps; an edit is always of a file that was read before and not edited yet."""
    made: list[Step] = []
    readable: list[int] = []
    files = 0
    for number, kind in enumerate(islice(cycle(_BLOCK), steps)):
        file = number
        if kind == "read":
            file, files = files, files + 1
            readable.append(file)
        elif kind == "edit":
            file = readable.pop()
        made.append(Step(number, kind, file))
    return made


def write_workspace(root: Path, steps: list[Step]) -> None:
    """Write the files that the steps read and edit, as a Git repository."""
    (root / "src").mkdir(parents=True)
    for file in _files(steps):
        (root / f"src/part_{file:03d}.py").write_text(_module(file), "utf-8")
    (root / "README.md").write_text("# Sample\n", "utf-8")
    git = ("git", "-C", str(root), "-c", "user.name=b", "-c", "user.email=b@localhost")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Start")):
        subprocess.run([*git, *command], check=True)


@dataclass(frozen=True)
class Edits:
    """How the workspace looks after a session."""

    exact: int
    planned: int
    wrong: int
    """Files that are neither as they were nor as planned, or that nobody asked for."""

    @property
    def is_exact(self) -> bool:
        return self.exact == self.planned and self.wrong == 0

    def __str__(self) -> str:
        return f"{self.exact}/{self.planned}" + (f", {self.wrong} wrong" if self.wrong else "")


def check_workspace(root: Path, steps: list[Step]) -> Edits:
    """Compare every file with what the plan makes of it."""
    edited = {step.file: step for step in steps if step.kind == "edit"}
    want = {root / f"src/part_{file:03d}.py": _module(file) for file in _files(steps)}
    want[root / "README.md"] = "# Sample\n"
    exact = wrong = 0
    for path in sorted(p for p in root.rglob("*") if p.is_file() and ".git" not in p.parts):
        text, before = path.read_text("utf-8"), want.get(path)
        if text == before:
            continue
        step = edited.get(int(path.stem[5:])) if before else None
        is_planned = step is not None and before is not None
        if is_planned and text == before.replace(*step.change):
            exact += 1
        else:
            wrong += 1
    return Edits(exact, len(edited), wrong)


def calls_of_agent_ls(steps: list[Step]) -> Iterator[Call]:
    """Yield the steps in the words of our tools."""
    for step in steps:
        match step.kind:
            case "read":
                yield "read_file", {"path": step.path}
            case "edit":
                old, new = step.change
                edit = {"old_string": old, "new_string": new}
                yield "edit_file", {"path": step.path, "edits": [edit]}
            case "run":
                yield "run_command", {"command": f"echo step-{step.number}"}
            case "search":
                yield "grep", {"pattern": _sought(step), "path": "src"}


def calls_of_floor(steps: list[Step]) -> Iterator[Call]:
    """Yield the steps in the words of ``floor``."""
    for step in steps:
        match step.kind:
            case "read":
                yield "read", {"path": step.path}
            case "edit":
                old, new = step.change
                yield "edit", {"path": step.path, "old": old, "new": new}
            case "run":
                yield "run", {"command": f"echo step-{step.number}"}
            case "search":
                yield "search", {"pattern": _sought(step)}


def _sought(step: Step) -> str:
    return f"LIMIT_{step.number % 10} ="


def _files(steps: list[Step]) -> list[int]:
    return sorted({step.file for step in steps if step.kind == "read"})


def _module(file: int) -> str:
    body = "".join(
        f"\n\ndef f{file}_{number}(value):\n    return value + {number}\n"
        for number in range(_FUNCTIONS)
    )
    return f"LIMIT_{file} = 10\n{body}"
