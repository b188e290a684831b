"""What the loop needs from the world, as protocols; ``assembly`` injects the real ones.

Siblings that must not import each other meet here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from agent_ls.domain.agents import ChildResult
from agent_ls.domain.approvals import ApprovalAnswer, ApprovalRequest, Question, QuestionAnswer
from agent_ls.domain.edits import EditOutcome, FileEdit, TextFile
from agent_ls.domain.events import Ephemeral, StoredEvent
from agent_ls.domain.findings import CheckReport
from agent_ls.domain.model_io import ModelEvent, ModelRequest, ModelRole
from agent_ls.domain.symbols import Definition, Fault, Occurrences, Symbol


class Clock(Protocol):
    """Time; the only way to it."""

    def now_ms(self) -> int:
        """Return the wall clock in milliseconds since 1970; for people and ids."""
        ...

    def monotonic_s(self) -> float:
        """Return a clock that never goes back; for durations and limits."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model."""

    window_tokens: int
    """0: unknown."""
    max_output_tokens: int
    """0: unknown."""


class Provider(Protocol):
    """A way to models."""

    async def start(self) -> None:
        """Begin to get ready; returns at once, and requests wait until it is."""
        ...

    async def close(self) -> None:
        """End every request and everything that was started."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Send the request and yield what comes back, ending with ``StreamFinished``.

        Errors: ``ProviderError`` for everything that goes wrong, in the middle too.
        Closing the iterator (or cancelling the task) cancels the request on the wire.
        """
        ...

    async def facts(self, model: str) -> ModelFacts:
        """Return what is known of ``model``; never raises for an unknown one."""
        ...


@dataclass(frozen=True, slots=True)
class Consumption:
    """What the server and its children use of the machine."""

    memory_bytes: int
    """Resident memory of all together."""
    cpu_s: float
    """Processor time of all together, those that have ended included."""
    descriptors: int
    """Of the process that has most of them open."""
    max_descriptors: int
    """How many one process may open; 0: not known."""


class Meter(Protocol):
    """Says what the server and its children use."""

    async def measure(self) -> Consumption:
        """Return what is in use, at most some seconds old; never raises."""
        ...


class Adviser(Protocol):
    """A side model that gives short texts: summaries, confidence, evaluations."""

    async def ask(
        self,
        system: str,
        text: str,
        *,
        origin: str,
        role: ModelRole = ModelRole.CHEAP,
        max_tokens: int = 1_000,
    ) -> str:
        """Return what the model of that role answers; recorded as ``AdviceGiven``.

        ``origin`` is the policy that asks.
        Errors: ``ProviderError`` when there is no answer, a time-out and an empty one included.
        """
        ...


@dataclass(frozen=True, slots=True)
class Root:
    """One folder the agent works in."""

    name: str
    path: Path
    """Absolute and resolved."""
    is_trusted: bool
    """Whether the user trusts what this folder's content would run."""


@dataclass(frozen=True, slots=True)
class DirEntry:
    """One entry of a folder."""

    name: str
    is_dir: bool
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Look:
    """What a file held when it was seen: by the version it was read with, or by the digest of the
    stored bytes that were written; with neither, nothing was there.
    """

    path: str
    version: str | None = None
    digest: str | None = None


class Workspace(Protocol):
    """Files as the user sees them: open buffers first, then the disk.

    Paths are as the model writes them. Every method raises ``PathRefused`` for a path that
    leaves the roots and ``WorkspaceError`` for one that cannot be used.
    """

    @property
    def roots(self) -> tuple[Root, ...]:
        """Return the folders, in the editor's order; at least one."""
        ...

    def locate(self, path: str) -> tuple[Root, Path]:
        """Return the root and the absolute, resolved path that ``path`` names.

        Inside that root after links are resolved; need not exist.
        """
        ...

    def shown(self, absolute: Path) -> str | None:
        """Return how the model names an absolute path; None outside every root."""
        ...

    async def read(self, path: str) -> TextFile:
        """Return the newest text; ``WorkspaceError`` for missing, binary and too large files."""
        ...

    async def snapshot(self, path: str) -> bytes | None:
        """Return the exact newest content, whatever it is: a buffer encoded as it will be saved,
        else the disk's bytes; None when nothing is there.
        """
        ...

    async def compare(self, looks: Sequence[Look]) -> list[tuple[str, bool]]:
        """Return of each look the workspace's own name of the file and whether it still holds.

        Cheap for files that nobody touched. Never raises: what cannot be read does not hold.
        """
        ...

    async def exists(self, path: str) -> bool:
        """Say whether anything is there, in a buffer or on disk."""
        ...

    async def list_dir(self, path: str) -> list[DirEntry]:
        """Return a folder's entries, folders first, each group by name."""
        ...

    async def files(self, path: str = ".") -> list[str]:
        """Return all files below, ignore rules honoured, sorted."""
        ...

    async def dirty(self) -> list[TextFile]:
        """Return the open files whose text differs from the disk's."""
        ...

    async def apply(self, edit: FileEdit) -> EditOutcome:
        """Carry out one file edit, wholly or not at all; shielded from cancellation."""
        ...

    async def save_dirty(self) -> list[str]:
        """Bring the disk up to the buffers before something reads the disk.

        Returns the paths that could not be saved: what then reads the disk sees older text.
        """
        ...

    def saved_since(self, at_ns: int) -> Mapping[Path, str]:
        """Return the texts that the editor has saved since that time of the wall clock, by place.

        Empty where nobody tells of it.
        """
        ...

    async def describe(self) -> str:
        """Return a short project tree for the system prompt."""
        ...


class SeenTexts(Protocol):
    """The texts that the model goes by: each file as it last read it, with its own edits since."""

    def keep(self, path: str, text: str) -> str | None:
        """Begin to store a text that the model is about to see; return its digest if so."""
        ...

    async def text(self, path: str) -> str | None:
        """Return the text that the model believes a file to have; None when nobody knows."""
        ...


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


class GoalCommands(Protocol):
    """Runs the commands of a turn's goal; that one began is recorded before it does."""

    async def run(self, command: str, *, timeout_s: float) -> CommandOutcome:
        """Run a command in the first folder; see ``Runner``.

        Errors: ``OSError`` when it cannot be started.
        """
        ...


@dataclass(frozen=True, slots=True)
class CommandChange:
    """A text that a command changed, made or took away."""

    path: str
    before: bytes | None
    """None: there was no file, or its text was not known."""
    after: bytes | None
    """None: it is gone."""
    is_before_known: bool = True


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
        """Run a shell command to its end; kills it with all its children on time-out or cancel."""
        ...


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


class Checker(Protocol):
    """One compile-time checker (ruff, tsc, …) over given texts instead of the disk."""

    @property
    def name(self) -> str:
        """Return the checker's name, as in ``Finding.checker``."""
        ...

    @property
    def is_per_file(self) -> bool:
        """Say whether what it says of a file comes from that file's text alone."""
        ...

    def handles(self, path: str) -> bool:
        """Say whether this file is of its kind."""
        ...

    async def check(self, texts: Mapping[str, str | None]) -> CheckReport:
        """Check these files as if the disk held these texts (None: deleted).

        Never raises: what cannot run is a problem in the report.
        """
        ...


class CompileChecks(Protocol):
    """All checkers together, and what of their findings is new."""

    async def introduced(
        self,
        before: Mapping[str, str | None],
        now: Mapping[str, str | None],
        *,
        anew: bool = False,
    ) -> CheckReport:
        """Return the findings of ``now`` that ``before`` did not have; same keys in both.

        ``anew``: what was said of the same texts earlier does not count.
        """
        ...


class CodeIntel(Protocol):
    """What code defines and where it is used, on the newest texts; parsing never holds the loop.

    Errors: ``ToolError`` when an answer takes too long or its process ends.
    """

    async def symbols(self, path: str, text: str) -> Sequence[Symbol] | None:
        """Return the symbols of a text, outermost first; None when nobody can parse it."""
        ...

    async def faults(self, path: str, before: str, after: str) -> Sequence[Fault]:
        """Return the syntax errors that ``after`` has and ``before`` had not."""
        ...

    async def find(self, name: str, limit: int) -> Sequence[Definition]:
        """Return definitions in the workspace by name, qualified name or part, the best first."""
        ...

    async def references(self, name: str, below: str, limit: int) -> Occurrences:
        """Return where a name stands in code below a file or folder, by path and line."""
        ...

    async def repository_map(self, near: Sequence[str], max_tokens: int) -> str:
        """Return the definitions that matter most, seen from these files, as text."""
        ...


class Approver(Protocol):
    """Brings a question to the person, by whatever face there is, and waits."""

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Wait for the decision; without a person answers ``reject_once`` by ``nobody``."""
        ...

    async def ask(self, question: Question) -> QuestionAnswer:
        """Wait for the answer; without a person answers by ``nobody``."""
        ...


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One row of a session list."""

    session_id: str
    title: str
    roots: tuple[str, ...]
    updated_ms: int
    turns: int
    status: str
    """Status of the last turn; ``running`` with an expired lease means it was cut off."""
    cost_usd: float
    parent_id: str = ""
    """The session whose agent started this one; empty for a session of a person's."""
    agent: str = ""
    """The kind of sub-agent; empty for a session of a person's."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One prompt or answer in which all the words were found."""

    session_id: str
    seq: int
    at_ms: int
    said_by: Literal["user", "agent"]
    text: str
    """The part around the first word, on one line."""


class ChildTurns(Protocol):
    """Sub-agents: turns of their own, in sessions of their own."""

    async def run(
        self, call_id: str, kind: str, task: str, show: Callable[[str], None]
    ) -> ChildResult:
        """Let one carry out the task and return what it reports; ``show`` gets what it does.

        Cancelling ends it first.
        Errors: ``ToolError`` when there is no such kind, or too little left to spend.
        """
        ...


class Rules(Protocol):
    """What the person said once and for all about calls in these folders."""

    def decision(self, grant: str, folders: Sequence[Path]) -> Literal["allow", "reject"] | None:
        """Return what holds for a grant when exactly these folders are open; None: nothing."""
        ...

    def granted(self, folders: Sequence[Path]) -> tuple[str, ...]:
        """Return the grants that are always allowed there."""
        ...

    def add(
        self, grant: str, folders: Sequence[Path], decision: Literal["allow", "reject"]
    ) -> None:
        """Write a rule down; the newest for a grant holds.

        Errors: ``SettingsError`` when it cannot be written down.
        """
        ...


class Claims(Protocol):
    """Which agent works on which file right now, so that agents side by side do not collide.

    A claim is a lease: an agent that dies, or forgets, holds nobody up for long.
    """

    def claim(self, path: str, owner: str, ttl_s: float) -> str | None:
        """Take or renew a file for ``owner``; return who holds it when that is somebody else."""
        ...

    def release(self, owner: str) -> None:
        """Give back everything that ``owner`` holds."""
        ...


class Store(Protocol):
    """The one store of all sessions."""

    async def append(self, events: Sequence[StoredEvent], *, durable: bool) -> None:
        """Store events in order; with ``durable`` returns after they survive a crash."""
        ...

    async def load(self, session_id: str) -> list[StoredEvent]:
        """Return a session's events in order, migrated to today's versions; empty if unknown."""
        ...

    async def beginning(self, session_id: str) -> StoredEvent | None:
        """Return a session's first event, which says what kind it is; None if unknown."""
        ...

    async def sessions(
        self, roots: Sequence[str] | None = None, *, parent_id: str | None = ""
    ) -> list[SessionSummary]:
        """Return sessions, newest first; only those of exactly these root URIs when given.

        ``parent_id`` is the session whose sub-agents are meant; empty: those of persons, None: all.
        """
        ...

    async def search(
        self, words: str, roots: Sequence[str] | None = None, *, limit: int = 50
    ) -> list[SearchHit]:
        """Return prompts and answers that contain every word, in any case, newest first."""
        ...

    async def delete(self, session_id: str) -> bool:
        """Remove a session, its sub-agents' and the texts that only they need; False: unknown.

        Errors: ``StoreError`` when somebody holds its lease.
        """
        ...

    async def put_blob(self, data: bytes) -> str:
        """Store bytes durably and return their digest; storing twice is harmless."""
        ...

    async def get_blob(self, digest: str) -> bytes | None:
        """Return stored bytes."""
        ...

    async def lease(self, session_id: str, owner: str, ttl_s: float) -> bool:
        """Take or renew the right to write a session; False when another owner holds it."""
        ...

    async def lease_owner(self, session_id: str) -> str | None:
        """Return who may write a session now; None when its lease is free or over."""
        ...

    async def release(self, session_id: str, owner: str) -> None:
        """Give the right back."""
        ...

    async def close(self) -> None:
        """Write what is pending and close."""
        ...


class Reader(Protocol):
    """Follows a session; an exception in it is logged and never reaches the loop."""

    def on_event(self, stored: StoredEvent) -> None:
        """See a stored event, in order, after it was folded."""
        ...

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """See something that is not stored."""
        ...
