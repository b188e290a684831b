"""What a confined command may see and change, and the protocol of the sandboxes that enforce it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, Protocol

View = Literal["read-only", "workspace-write"]
ALL_HOSTS = ("*",)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a command may use; the supervisor sets them before the command starts."""

    processes: int
    """Living at the same time."""
    file_bytes: int
    """The largest file that it may write."""
    memory_bytes: int = 0
    """What its processes may hold together; 0: no limit."""
    open_files: int = 65_536

    def in_words(self) -> str:
        """Return them as the supervisor reads them."""
        return ",".join(f"{name}={number}" for name, number in asdict(self).items())


@dataclass(frozen=True, slots=True)
class Confinement:
    """What one command may see and change. All paths are absolute, without links."""

    view: View
    """``read-only`` changes nothing but a private /tmp; ``workspace-write`` also the roots."""
    roots: tuple[Path, ...]
    """The workspace's folders."""
    readable: tuple[Path, ...] = ()
    """Files and folders beyond the roots, such as toolchains in the home folder."""
    links: Mapping[Path, Path] = field(default_factory=dict[Path, Path])
    """Other names of what is readable, and where they lead: a link, or below one."""
    writable: tuple[Path, ...] = ()
    """Files and folders beyond the roots that ``workspace-write`` may change."""
    protected: tuple[Path, ...] = ()
    """Read-only although inside of what is writable, where they exist."""
    linked: tuple[Path, ...] = ()
    """Files with names elsewhere (hard links), and folders of such: read-only, where they exist."""
    hidden: tuple[Path, ...] = ()
    """Existing files and folders inside of what is readable that look empty: secrets."""
    shown: Mapping[Path, Path] = field(default_factory=dict[Path, Path])
    """Existing files that hold another text, and the file with that text; read-only."""
    network: tuple[str, ...] = ()
    """Hosts that it may reach: none, or ``ALL_HOSTS``, or names."""
    tmp: Path | None = None
    """The server's own temporary folder. It holds what is /tmp in ``workspace-write``, and what a
    sandbox prepares; None: /tmp is empty, and nothing is prepared."""


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A command inside of a sandbox, ready to start."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    """The whole environment."""
    end: Callable[[], None] = _nothing
    """Call it on a thread once all processes of the command have ended."""
    hints: tuple[str, ...] = ()
    """For the model, if the command fails on what is read-only."""
    notes: list[str] = field(default_factory=list[str])
    """What to tell the model and the user about the command; complete after ``end``."""

    def refusal(self, output: str) -> str:
        """Return why the sandbox could not start the command, as its output says; or nothing."""
        names, first = (f"{Path(self.argv[0]).name}: ", "landlock: "), output.split("\n", 1)[0]
        return first if first.startswith(names) else ""


class Sandbox(Protocol):
    """Runs commands so that the operating system enforces a confinement."""

    name: ClassVar[str]
    """``bubblewrap``, ``landlock`` or ``seatbelt``."""
    shows_texts: ClassVar[bool]
    """Whether ``shown`` counts."""
    hint: ClassVar[str]
    """For the model, when a command was refused what it may well need; empty: nothing to say."""
    remains: ClassVar[str]
    """What commands can do although they should not, for a user; empty: nothing known."""

    def wrap(
        self,
        confinement: Confinement,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
    ) -> Wrapped:
        """Return how to start ``command`` confined. The descriptors it is given stay open.

        Looks at the disk: call it on a thread. ``Wrapped.end`` removes what it needed.
        Errors: ``OSError`` if it cannot be confined.
        """
        ...
