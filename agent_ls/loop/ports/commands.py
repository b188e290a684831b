"""Running commands: the model's, those of a goal, and hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from agent_ls.domain.images import Images
from agent_ls.domain.permissions import Modes


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """What a command did."""

    exit_code: int | None
    """None when it was killed."""
    output: str
    """Standard output and error as they came, decoded leniently, capped in bytes."""
    end: Literal["exited", "timed_out", "cancelled", "simulated"]
    duration_ms: int
    is_cut: bool = False
    """Whether there was more output than the cap lets through."""


class Runner(Protocol):
    """Runs commands: own process group, environment from an allow-list, no stdin."""

    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        timeout_s: float,
        on_output: Callable[[str], None] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> CommandOutcome:
        """Run a shell command to its end; kills it with all its children on time-out or cancel.

        ``on_output`` is told whole lines, masked, and not more than a reader can follow.
        """
        ...


class GoalCommands(Protocol):
    """Runs the commands of a turn's goal; that one began is recorded before it does."""

    async def run(self, command: str, *, timeout_s: float) -> CommandOutcome:
        """Run a command in the first folder; see ``Runner``.

        Errors: ``OSError`` when it cannot be started.
        """
        ...


@dataclass(slots=True, eq=False)
class CommandMark:
    """A command that runs, and what a reader of its changes must know."""

    gap: str = ""
    """Which files are not watched; empty when all are."""
    is_alone: bool = True
    """Whether no other command ran beside it."""
    notes: list[str] = field(default_factory=list[str])
    """What of its changes may be others' work; complete once they are known."""


@dataclass(frozen=True, slots=True)
class CommandChange:
    """A file that a command changed, made or took away."""

    path: str
    before: bytes | None
    """None: there was no file, or what it held is not known."""
    after: bytes | None
    """None: it is gone, or too large to be kept."""
    is_before_known: bool = True
    images: Images | None = None
    """Both sides where one of them is no text, or too large for one."""
    modes: Modes = (None, None)
    """The permissions before and after; None: not known, or no file. ``images`` have their own."""

    @property
    def is_new(self) -> bool:
        """Say whether there was no file before."""
        if self.images is not None:
            return self.images[0] is None
        return self.is_before_known and self.before is None


@dataclass(frozen=True, slots=True)
class HookRun:
    """What a hook's command did."""

    exit_code: int | None
    """None when it was killed."""
    output: str
    """Standard output, where its answer is."""
    errors: str
    """The beginning of standard error: cleaned, masked."""
    has_timed_out: bool
    duration_ms: int


class HookRunner(Protocol):
    """Runs hooks: as commands run, with input and with the two outputs apart."""

    async def run(
        self, command: str, stdin: str, *, cwd: Path, timeout_s: float, env: Mapping[str, str]
    ) -> HookRun:
        """Run a hook to its end; ``OSError`` or ``ValueError`` when it cannot be started."""
        ...
