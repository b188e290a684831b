"""Running commands: the model's, a goal's and hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from agent_ls.domain.images import Images
from agent_ls.domain.permissions import Modes


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """The outcome of a command."""

    exit_code: int | None
    """None when it was killed."""
    output: str
    """Standard output and error interleaved, decoded leniently, capped in bytes."""
    end: Literal["exited", "timed_out", "cancelled", "simulated"]
    duration_ms: int
    is_cut: bool = False
    """Whether the output exceeded the cap."""


class Runner(Protocol):
    """Runs commands in their own process group, with an allow-listed environment and no stdin."""

    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        timeout_s: float,
        on_output: Callable[[str], None] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> CommandOutcome:
        """Run a shell command to its end; on timeout or cancellation kill it with all its children.

        ``on_output`` receives whole, masked lines, throttled for a human reader.
        """
        ...


class GoalCommands(Protocol):
    """Runs the commands of a turn's goal, and records each start before it happens."""

    async def run(self, command: str, *, timeout_s: float) -> CommandOutcome:
        """Run a command in the first folder. Errors: ``OSError`` when it cannot start."""
        ...


@dataclass(slots=True, eq=False)
class CommandMark:
    """A running command, with what limits the list of its changes."""

    gap: str = ""
    """The files that are not watched, in words; empty when all are."""
    is_alone: bool = True
    """Whether no other command ran at the same time."""
    notes: list[str] = field(default_factory=list[str])
    """Which changes may be somebody else's; complete once the changes are known."""


@dataclass(frozen=True, slots=True)
class CommandChange:
    """A file that a command changed, created or deleted."""

    path: str
    before: bytes | None
    """None: there was no file, or its content is not known."""
    after: bytes | None
    """None: the file is gone, or too large to store."""
    is_before_known: bool = True
    images: Images | None = None
    """Both sides, when one of them is binary or too large for a text."""
    modes: Modes = (None, None)
    """The permissions before and after; None: unknown, or no file. ``images`` carry their own."""

    @property
    def is_new(self) -> bool:
        """Say whether there was no file before."""
        if self.images is not None:
            return self.images[0] is None
        return self.is_before_known and self.before is None


@dataclass(frozen=True, slots=True)
class HookRun:
    """The outcome of a hook's command."""

    exit_code: int | None
    """None when it was killed."""
    output: str
    """Standard output, which holds the hook's answer."""
    errors: str
    """The beginning of standard error, cleaned and masked."""
    has_timed_out: bool
    duration_ms: int


class HookRunner(Protocol):
    """Runs hooks like commands, but with stdin and with separate stdout and stderr."""

    async def run(
        self, command: str, stdin: str, *, cwd: Path, timeout_s: float, env: Mapping[str, str]
    ) -> HookRun:
        """Run a hook to its end. Errors: ``OSError`` or ``ValueError`` when it cannot start."""
        ...
