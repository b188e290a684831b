"""A dry run: edits are kept in memory on top of the real files, and commands do not run.

Reads see the simulated texts. Nothing reaches a buffer, the disk or a process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path

from agent_ls.domain.edits import EditOutcome, FileEdit, TextFile, apply_replacements
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.images import PutImage
from agent_ls.domain.permissions import ModeChange
from agent_ls.loop.ports.commands import WORK, Boundary, Bounds, CommandOutcome
from agent_ls.loop.ports.workspace import DirEntry, FilePart, Listed, Look, Root, Unsaved, Workspace
from agent_ls.loop.state.spelling import canonical

_CHANGED = EditOutcome(status="stale")


class DryRunWorkspace:
    """A workspace whose edits are simulated."""

    def __init__(self, inner: Workspace) -> None:
        """Take the real workspace, which is only read."""
        self._inner = inner
        self._texts: dict[str, str | None] = {}
        """Simulated texts by canonical file name; None: deleted."""
        self._versions: dict[str, str] = {}
        self._numbers = count(1)

    @property
    def roots(self) -> tuple[Root, ...]:
        """Return the real folders."""
        return self._inner.roots

    def locate(self, path: str) -> tuple[Root, Path]:
        """Return the root of a path and its absolute path."""
        return self._inner.locate(path)

    def shown(self, absolute: Path) -> str | None:
        """Return the model's name for an absolute path; None outside all roots."""
        return self._inner.shown(absolute)

    async def read(self, path: str) -> TextFile:
        """Return the simulated text, else the real one."""
        name = canonical(path, self._inner)
        if name not in self._texts:
            return await self._inner.read(path)
        text = self._texts[name]
        if text is None:
            raise WorkspaceError(f"{path} does not exist.")
        return TextFile(path=name, text=text, version=self._versions[name])

    async def read_part(
        self, path: str, first: int, count: int, *, start: int = 0, max_chars: int
    ) -> FilePart:
        """Return lines of a file on disk."""
        return await self._inner.read_part(path, first, count, start=start, max_chars=max_chars)

    async def image_bytes(self, path: str) -> bytes | None:
        """Return the bytes of an image on disk; None for any other file and a simulated one."""
        is_real = canonical(path, self._inner) not in self._texts
        return await self._inner.image_bytes(path) if is_real else None

    async def snapshot(self, path: str) -> bytes | None:
        """Return the simulated text as bytes, else the real content."""
        name = canonical(path, self._inner)
        if name not in self._texts:
            return await self._inner.snapshot(path)
        text = self._texts[name]
        return None if text is None else _stored(text)

    async def saved(self, path: str) -> bytes | None:
        """Return the simulated text as bytes, else the bytes of the real file on disk."""
        name = canonical(path, self._inner)
        return await (self.snapshot(path) if name in self._texts else self._inner.saved(path))

    async def mode(self, path: str) -> int | None:
        """Return the real file's permissions; None if it is simulated or missing."""
        is_real = canonical(path, self._inner) not in self._texts
        return await self._inner.mode(path) if is_real else None

    async def permit(self, path: str, change: ModeChange) -> None:
        """Do nothing: real permissions do not change in a dry run."""

    async def compare(self, looks: Sequence[Look]) -> list[tuple[str, bool]]:
        """Return, for each look, the canonical name and whether it is valid for simulated texts."""
        real = await self._inner.compare(looks)
        return [self._compare(look, *one) for look, one in zip(looks, real, strict=True)]

    def _compare(self, look: Look, name: str, is_real: bool) -> tuple[str, bool]:
        if name not in self._texts:
            return name, is_real
        text = self._texts[name]
        if text is None:
            return name, look.version is None and look.digest is None
        if look.version is not None:
            return name, look.version == self._versions[name]
        return name, look.digest == hashlib.sha256(_stored(text)).hexdigest()

    async def exists(self, path: str) -> bool:
        """Tell whether the path exists, including simulated files and their folders."""
        name = canonical(path, self._inner)
        if name in self._texts:
            return self._texts[name] is not None
        return any(self._below(name)) or await self._inner.exists(path)

    async def list_dir(self, path: str) -> list[DirEntry]:
        """Return a folder's entries, including simulated changes."""
        name = canonical(path, self._inner)
        try:
            found = {one.name: one for one in await self._inner.list_dir(path)}
        except WorkspaceError:
            if not any(self._below(name)):
                raise
            found = {}
        prefix = _prefix(name)
        for file, text in self._texts.items():
            if not file.startswith(prefix):
                continue
            entry, slash, _ = file[len(prefix) :].partition("/")
            if text is not None:
                size = len(_stored(text))
                found[entry] = DirEntry(entry, bool(slash), 0 if slash else size)
            elif not slash:
                found.pop(entry, None)
        return sorted(found.values(), key=lambda one: (not one.is_dir, one.name))

    async def files(self, path: str = ".") -> Listed:
        """Return all files below a folder, including simulated changes."""
        name = canonical(path, self._inner)
        try:
            real = await self._inner.files(path)
        except WorkspaceError:
            if not any(self._below(name)):
                raise
            real = Listed()
        kept = (one for one in real if self._texts.get(one, "") is not None)
        names = sorted({*kept, *self._below(name)})
        return Listed(names, is_cut=real.is_cut, unnamed=real.unnamed)

    async def tracked_though_excluded(self, path: str) -> list[str]:
        """Return the files below a folder that only a rule ignores."""
        return await self._inner.tracked_though_excluded(path)

    async def dirty(self) -> list[TextFile]:
        """Return the unsaved open files and all simulated texts."""
        real = [one for one in await self._inner.dirty() if one.path not in self._texts]
        changed = [
            TextFile(path=name, text=text, version=self._versions[name], is_dirty=True)
            for name, text in self._texts.items()
            if text is not None
        ]
        return [*real, *changed]

    async def apply(self, edit: FileEdit) -> EditOutcome:
        """Apply one edit in memory, under the same rules as a real edit."""
        self._inner.locate(edit.path)
        if edit.kind == "create":
            if await self.exists(edit.path):
                return EditOutcome(status="refused", reason=f"{edit.path} exists already.")
            return self._kept(edit.path, edit.text)
        file = await self.read(edit.path)
        if file.version != edit.base_version:
            return _CHANGED
        if edit.kind == "change":
            return self._kept(edit.path, apply_replacements(file.text, edit.replacements))
        if edit.kind == "move":
            if await self.exists(edit.new_path):
                return EditOutcome(status="refused", reason=f"{edit.new_path} exists already.")
            self._kept(edit.new_path, file.text)
        return self._kept(edit.path, None)

    async def put(self, edit: PutImage, data: bytes | None) -> EditOutcome:
        """Refuse: no command ran, so there is nothing to restore."""
        return EditOutcome(status="refused", reason="this is a dry run; the file was left alone")

    async def save_dirty(self, *, can_show: bool = False) -> Unsaved:
        """Save nothing: no command will read the files."""
        return Unsaved()

    def follow_editor(self, written: Callable[[Path], None]) -> Callable[[], None]:
        """Follow the editor's changes of the real files."""
        return self._inner.follow_editor(written)

    async def describe(self) -> str:
        """Return the tree of the real project."""
        return await self._inner.describe()

    def _kept(self, path: str, text: str | None) -> EditOutcome:
        name = canonical(path, self._inner)
        self._texts[name] = text
        self._versions[name] = f"dry-{next(self._numbers)}"
        return EditOutcome(status="applied", version=self._versions[name], text=text)

    def _below(self, name: str) -> list[str]:
        """Return the simulated files below a folder."""
        prefix = _prefix(name)
        return [
            file
            for file, text in self._texts.items()
            if text is not None and file.startswith(prefix)
        ]


class DryRunner:
    """A command runner that runs nothing."""

    @property
    def boundary(self) -> Boundary:
        """Return that nothing is held, since nothing runs."""
        return "off"

    @property
    def shows_texts(self) -> bool:
        """Return False: nothing runs."""
        return False

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
        """Return a simulated outcome."""
        return CommandOutcome(exit_code=None, output="", end="simulated", duration_ms=0)


def _stored(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _prefix(name: str) -> str:
    return "" if name in ("", ".") else f"{name.rstrip('/')}/"
