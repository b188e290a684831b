"""The files as the user sees them, and as the model believes them to be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent_ls.domain.edits import EditOutcome, FileEdit, TextFile
from agent_ls.domain.images import PutImage
from agent_ls.domain.permissions import ModeChange


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


class Listed(list[str]):
    """Names of files, sorted."""

    def __init__(self, names: Iterable[str] = (), *, is_cut: bool = False) -> None:
        """Take the names; ``is_cut`` says that there are more files than these."""
        super().__init__(names)
        self.is_cut = is_cut

    @property
    def gap(self) -> str:
        """Say what a reader must know of files that are not listed; empty when all are."""
        if not self.is_cut:
            return ""
        return f"only the first {len(self):,} files were looked at; name a folder to see the others"


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
        """Return the newest content, a buffer's text in UTF-8, with the file's mark, else
        the disk's bytes, whatever they are; None when nothing is there.
        """
        ...

    async def saved(self, path: str) -> bytes | None:
        """Return the bytes that are lost with the file: those on disk, in an encoding and with
        line ends that the buffer may not show, once what is unsaved is saved.
        """
        ...

    async def mode(self, path: str) -> int | None:
        """Return the permissions that a file has on disk; None when there is none, or they are not
        to be known.
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

    async def files(self, path: str = ".") -> Listed:
        """Return all files below, ignore rules honoured, sorted; where it is cut, it says so."""
        ...

    async def dirty(self) -> list[TextFile]:
        """Return the open files with text that the disk does not hold."""
        ...

    async def apply(self, edit: FileEdit) -> EditOutcome:
        """Carry out one file edit, wholly or not at all; shielded from cancellation."""
        ...

    async def put(self, edit: PutImage, data: bytes | None) -> EditOutcome:
        """Give a closed file these bytes, or take it away, wholly or not at all; as ``apply``."""
        ...

    async def permit(self, path: str, change: ModeChange) -> None:
        """Give a file on disk other permissions, if it still has those of before.

        What cannot be is logged: the text counts for more than who may read it.
        """
        ...

    async def save_dirty(self) -> list[str]:
        """Bring the disk up to the buffers before something reads the disk.

        Returns the paths that could not be saved: what then reads the disk sees older text.
        """
        ...

    def follow_editor(self, written: Callable[[Path], None]) -> Callable[[], None]:
        """Tell of each file and folder that the editor writes, makes, moves or takes away, until
        the answer is called; of nothing where there is no editor.
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

    def mark_of(self, path: str, text: str) -> str | None:
        """Return what tells a text from others of which the model sees only what it defines; None
        for a file that may hold secrets.
        """
        ...

    def listed(self, path: str) -> str | None:
        """Return the mark of the text that the model knows only so; None for none or a read one."""
        ...
