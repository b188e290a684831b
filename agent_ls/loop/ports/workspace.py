"""Files as the user sees them, and the texts the model last saw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from agent_ls.domain.edits import EditOutcome, FileEdit, TextFile
from agent_ls.domain.images import PutImage
from agent_ls.domain.permissions import ModeChange
from agent_ls.domain.sentences import counted


@dataclass(frozen=True, slots=True)
class Root:
    """One folder the agent works in."""

    name: str
    path: Path
    """Absolute and resolved."""
    is_trusted: bool
    """Whether the user allows this folder's content to run code."""
    is_assumed: bool = False
    """Judged as if it existed, to explain a decision; nothing can run there."""


@dataclass(frozen=True, slots=True)
class DirEntry:
    """One entry of a folder."""

    name: str
    is_dir: bool
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Look:
    """A file as it was seen: by its version, or the digest of written bytes; neither: no file."""

    path: str
    version: str | None = None
    digest: str | None = None


class Listed(list[str]):
    """Names of files, sorted."""

    def __init__(
        self, names: Iterable[str] = (), *, is_cut: bool = False, unnamed: int = 0
    ) -> None:
        """Take the names; ``is_cut`` means that more files exist.

        ``unnamed`` files are left out, as their names are no text.
        """
        super().__init__(names)
        self.is_cut = is_cut
        self.unnamed = unnamed

    @property
    def gap(self) -> str:
        """Return a note that files are missing from this list; empty when all are listed."""
        if not self.is_cut:
            return ""
        return f"only the first {len(self):,} files were looked at; name a folder to see the others"

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what is missing from this list, a note for each cause."""
        unnamed = f"left out: {counted(self.unnamed, 'file')} with a name that is not UTF-8"
        return tuple(filter(None, (self.gap, unnamed if self.unnamed else "")))


@dataclass(frozen=True, slots=True)
class FilePart:
    """Some lines of a large file."""

    lines: tuple[str, ...]
    """Without their ends, and each at most as long as there was room."""
    lengths: tuple[int, ...]
    """The characters of each whole line."""
    is_end: bool
    """No line follows."""
    count: int = 0
    """How many lines the file has, with ``is_end``."""
    size_bytes: int = 0
    encoding: str = ""


@dataclass(frozen=True, slots=True)
class Unsaved:
    """Open files with unsaved text that could not be saved."""

    paths: tuple[str, ...] = ()
    """What reads the disk sees an older text of these."""
    texts: Mapping[Path, bytes] = field(default_factory=dict[Path, bytes])
    """What these files would hold, by their real path: what reads the disk can be shown it."""


class Workspace(Protocol):
    """Files as the user sees them: open buffers first, then the disk.

    Paths are as the model writes them. Every method raises ``PathRefused`` for a path outside the
    roots and ``WorkspaceError`` for an unusable one.
    """

    @property
    def roots(self) -> tuple[Root, ...]:
        """Return the folders in the editor's order; at least one."""
        ...

    def locate(self, path: str) -> tuple[Root, Path]:
        """Return the root and the absolute, resolved path that ``path`` names.

        The result is inside that root after links are resolved. The file need not exist.
        """
        ...

    def shown(self, absolute: Path) -> str | None:
        """Return the model's name for an absolute path; None outside every root."""
        ...

    async def read(self, path: str) -> TextFile:
        """Return the newest text; ``WorkspaceError`` for missing, binary and unknown files.

        Errors: ``FileTooLarge`` for one that can only be read in parts.
        """
        ...

    async def read_part(
        self, path: str, first: int, count: int, *, start: int = 0, max_chars: int
    ) -> FilePart:
        """Return lines of a file on disk, also of one too large for ``read``.

        Shape: from line ``first``, 1-based; of each line what comes after ``start`` characters;
        about ``max_chars`` in all.
        """
        ...

    async def image_bytes(self, path: str) -> bytes | None:
        """Return the bytes of an image on disk; None for a file that is none, by its content.

        Errors: ``WorkspaceError`` for one that is too large to be read.
        """
        ...

    async def snapshot(self, path: str) -> bytes | None:
        """Return the newest content, None when there is no file.

        A text that is not in UTF-8 on disk is given in UTF-8, as ``read`` returns it, and so is an
        open buffer, with the file's byte order mark; otherwise the disk's raw bytes.
        """
        ...

    async def saved(self, path: str) -> bytes | None:
        """Return the bytes on disk; with unsaved text, the bytes that saving would write.

        These are what deleting the file loses. Encoding and line endings may differ from the
        buffer's.
        """
        ...

    async def mode(self, path: str) -> int | None:
        """Return the file's permissions on disk; None when there is no file or they are unknown."""
        ...

    async def compare(self, looks: Sequence[Look]) -> list[tuple[str, bool]]:
        """Return for each look the workspace's name of the file, and whether the look still holds.

        Cheap for files that nobody touched. Never raises: an unreadable file does not hold.
        """
        ...

    async def exists(self, path: str) -> bool:
        """Say whether anything exists there, in a buffer or on disk."""
        ...

    async def list_dir(self, path: str) -> list[DirEntry]:
        """Return a folder's entries: folders first, each group sorted by name."""
        ...

    async def files(self, path: str = ".") -> Listed:
        """Return all files below the path, sorted, without ignored ones; may be cut."""
        ...

    async def tracked_though_excluded(self, path: str) -> list[str]:
        """Return the files below a folder that a rule excludes, but that git tracks.

        They are not ignored. As of the last change of git's index, so that it costs little.
        """
        ...

    async def dirty(self) -> list[TextFile]:
        """Return the open files with unsaved text."""
        ...

    async def apply(self, edit: FileEdit) -> EditOutcome:
        """Apply one file edit, wholly or not at all; shielded from cancellation."""
        ...

    async def put(self, edit: PutImage, data: bytes | None) -> EditOutcome:
        """Give a closed file these bytes, or delete it (None); otherwise like ``apply``."""
        ...

    async def permit(self, path: str, change: ModeChange) -> None:
        """Change a file's permissions on disk, if they are still ``change.base``.

        Failures are only logged: permissions matter less than the text.
        """

    async def save_dirty(self, *, can_show: bool = False) -> Unsaved:
        """Save dirty buffers before something reads the disk, and return what is not saved.

        ``can_show``: what reads the disk can be shown other texts there.
        """
        ...

    def follow_editor(self, written: Callable[[Path], None]) -> Callable[[], None]:
        """Call ``written`` for each file or folder the editor writes, creates, moves or deletes.

        Returns a function that stops it. Without an editor nothing is reported.
        """
        ...

    async def describe(self) -> str:
        """Return a short project tree for the system prompt."""
        ...


class SeenTexts(Protocol):
    """The text of each file as the model knows it: the last read, plus the model's own edits."""

    def keep(self, path: str, text: str) -> str | None:
        """Return the text's digest and store it in the background; None for a file with secrets."""
        ...

    async def text(self, path: str) -> str | None:
        """Return the file's text as the model knows it; None when unknown."""
        ...
