"""Running commands: the model's, a goal's and hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from agent_ls.domain.events import BackgroundEnded, BackgroundStarted
from agent_ls.domain.images import Images
from agent_ls.domain.permissions import Modes
from agent_ls.domain.verdicts import Consent
from agent_ls.loop.ports.workspace import Unsaved


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
    notes: tuple[str, ...] = ()
    """Lines of agent-ls at the end of the output, such as what the network refused."""


Boundary = Literal["sandbox", "missing", "off"]
"""What holds commands: a sandbox, none although one is wanted, or none as the user wants it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a command may see and change, as its caller knows it. It counts where a sandbox works.

    The runner adds the folders, what is protected in them, and what is secret.
    """

    view: Literal["read-only", "workspace-write", "outside"] = "workspace-write"
    """``read-only`` changes nothing; ``outside`` is not confined."""
    consent: Consent = "none"
    """Whoever allowed it: a user's command sees secrets, and only with consent git commits."""
    network: tuple[str, ...] = ()
    """Hosts that it may reach; ``*`` is every host."""
    readable: tuple[Path, ...] = ()
    """Files and folders beyond the workspace that it may read."""
    writable: tuple[Path, ...] = ()
    """Files and folders beyond the workspace that it may change."""
    texts: Mapping[Path, bytes] = field(default_factory=dict[Path, bytes])
    """What existing files hold for it, by real path; it cannot change these files."""
    goes_on: bool = False
    """It runs beside later commands, so what they made is looked at while it runs."""


WORK = Bounds()


class Runner(Protocol):
    """Runs commands in their own process group, with an allow-listed environment and no stdin."""

    @property
    def boundary(self) -> Boundary:
        """Say whether a sandbox holds commands to their bounds."""
        ...

    @property
    def shows_texts(self) -> bool:
        """Say whether ``Bounds.texts`` counts, for commands that are not ``outside``."""
        ...

    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        timeout_s: float,
        on_output: Callable[[str], None] | None = None,
        env: Mapping[str, str] | None = None,
        bounds: Bounds = WORK,
        on_bytes: Callable[[bytes], None] | None = None,
    ) -> CommandOutcome:
        """Run a shell command to its end; on timeout or cancellation kill it with all its children.

        ``on_output`` receives whole, masked lines, throttled for a human reader; ``on_bytes`` all
        output as it comes.
        """
        ...


@dataclass(frozen=True, slots=True)
class BackgroundOutput:
    """A part of a background program's output, and how the program is."""

    text: str
    """Whole lines while it runs; decoded leniently, secrets masked."""
    until_bytes: int
    """Where the part ends, counted from the beginning of all output."""
    left_out_bytes: int = 0
    """What was printed before the part, was not asked for, and is no longer kept."""
    ended: BackgroundEnded | None = None
    """None while it runs."""
    failure: str = ""
    """Why the program could not be started; empty if it could."""


class Background(Protocol):
    """Runs one session's programs that go on when their calls have ended.

    They end with the session. What happens to them is recorded.
    """

    async def start(
        self,
        started: BackgroundStarted,
        *,
        cwd: Path,
        env: Mapping[str, str] | None,
        bounds: Bounds,
    ) -> BackgroundOutput:
        """Start a program; return its first output after a moment, or at its end.

        Errors: ``ToolError`` if a program of this name runs, or too many do.
        """
        ...

    async def output(self, name: str, *, after_bytes: int, wait_s: float) -> BackgroundOutput:
        """Return the output behind this place; if there is none, wait for it or for the end.

        Errors: ``ToolError`` if this process has no such program.
        """
        ...

    async def stop(self, name: str) -> None:
        """End a program with everything it has started; one that has ended stays as it is.

        Errors: ``ToolError`` if this process has no such program.
        """
        ...

    async def close(self) -> None:
        """End all programs; none starts any more."""


class GoalCommands(Protocol):
    """Runs the commands of a turn's goal, and records each start before it happens."""

    async def run(self, command: str, *, timeout_s: float) -> tuple[CommandOutcome, Unsaved]:
        """Save, and run a command in the first folder. Errors: ``OSError`` if it cannot start."""
        ...


@dataclass(slots=True, eq=False)
class CommandMark:
    """A running command, with what limits the list of its changes."""

    gap: str = ""
    """The files that are not watched, in words; empty when all are."""
    is_alone: bool = True
    """Whether no other command ran at the same time."""
    ignored_gone: list[str] = field(default_factory=list[str])
    """Ignored files that are gone, folders with a final slash; complete likewise."""
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

    @property
    def is_lost(self) -> bool:
        """Say whether the file is gone and nothing of it was kept."""
        if self.images is None:
            return self.after is None and not self.is_before_known
        before, after = self.images
        return after is None and before is not None and not (before.is_kept or before.other_path)


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

    @property
    def shows_texts(self) -> bool:
        """Say whether ``texts`` count for confined hooks."""
        ...

    async def run(
        self,
        command: str,
        stdin: str,
        *,
        cwd: Path,
        timeout_s: float,
        env: Mapping[str, str],
        is_confined: bool,
        texts: Mapping[Path, bytes],
    ) -> HookRun:
        """Run a hook to its end, in the sandbox if ``is_confined`` and there is one.

        ``texts`` is as in ``Bounds``. Errors: ``OSError`` or ``ValueError`` when it cannot start.
        """
        ...
