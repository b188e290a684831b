"""Resolves a path that the model wrote to a place below a root, or refuses it.

Owns spelling and resolution; what may be done with a place is decided in ``control_files``.
Paths are plain text here: no URI, no tilde, no variable is ever decoded or expanded.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NoReturn

from agent_ls.domain.errors import PathRefused, WorkspaceError
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.text import visible_line

MAX_PATH_BYTES = 4_096
MAX_NAME_BYTES = 255

_SCHEME = re.compile(
    r"[a-z][a-z0-9+.-]+:[/\\]|(?:file|untitled|data|javascript|vscode|jar|zipfile|mailto|blob):",
    re.IGNORECASE,
)
_DRIVE = re.compile(r"[A-Za-z]:(?:[\\/]|$)")
_VARIABLE = re.compile(r"(?:\$(?:\w+|\{\w+\}|env:\w+)|%\w+%)[\\/]|\$(?:[A-Z_]+|\{\w+\})$|%[A-Z]+%$")
_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$):?", re.IGNORECASE
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x80-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads."""

    root: Root
    """The root that holds ``absolute``."""
    absolute: Path
    """Without links; need not exist."""
    spelled: tuple[str, ...]
    """The components below the root as they were written, dots resolved by name."""

    @property
    def below(self) -> PurePosixPath:
        """Return ``absolute`` relative to its root."""
        return PurePosixPath(*(components_below(self.absolute, self.root.path) or ()))


def locate(path: str, roots: Sequence[Root]) -> Place:
    """Return the place below one of the roots that ``path`` names.

    Shape: relative to the only root, or beginning with a root's name if there are several. A path
    may be absolute. Links are followed, and their target counts.
    Errors: ``WorkspaceError`` for an unusable name, ``PathRefused`` for a path that leads out or
    whose root is gone.
    """
    _check_spelling(path)
    root, parts = _spelled_in(path, roots)
    plain = _without_links(root, parts)
    if plain is None and not path.isascii():
        parts = _as_on_disk(root, parts)
        plain = _without_links(root, parts)
    spelled = _by_name(path, parts)
    try:
        absolute = plain or real_path(root.path.joinpath(*parts))
    except OSError:
        # A folder and a link changed names just now.
        why = "changed while it was looked up; try again"
        raise WorkspaceError(f"{_quoted(path)} {why}.") from None
    holder = _holder(absolute, roots)
    if holder is None:
        raise PathRefused(f"{_quoted(path)} {_leads_out(spelled)} the workspace.")
    if plain is None:
        if not (holder.is_assumed or holder.path.is_dir()):
            # The root may have been moved, and writing would create it again.
            raise PathRefused(f"{_quoted(path)} cannot be used: the folder {holder.name} is gone.")
        _check_components(path, holder, absolute)
    return Place(holder, absolute, spelled or ())


def _without_links(root: Root, parts: tuple[str, ...]) -> Path | None:
    """Return the path if it exists and has no link below the root; None if it must be resolved.

    A shortcut: most paths are like that, and resolving reads the disk more often.
    """
    place = str(root.path)
    for part in ("", *parts):
        if part == "..":
            return None
        place = f"{place.rstrip('/')}/{part}" if part else place
        try:
            if stat.S_ISLNK(os.lstat(place).st_mode):
                return None
        except OSError:
            # It does not exist or cannot be read, which resolving finds out.
            return None
    return Path(place)


def _as_on_disk(root: Root, parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parts with the names that exist: accents may be composed there or decomposed.

    Models write composed names, macOS made decomposed ones. A name that exists as written is kept.
    """
    found: list[str] = []
    for part in parts:
        folder = root.path.joinpath(*found)
        if not part.isascii() and not os.path.lexists(folder / part):
            composed = unicodedata.normalize("NFC", part)
            with suppress(OSError):
                names = (one.name for one in folder.iterdir())
                same = (n for n in names if unicodedata.normalize("NFC", n) == composed)
                part = min(same, default=part)
        found.append(part)
    return tuple(found)


def locate_file(path: str, roots: Sequence[Root]) -> Place:
    """Return the place of a file, which can be neither a root nor be named like a folder.

    Errors: as ``locate``.
    """
    place = locate(path, roots)
    name = path.rpartition("/")[2]
    if name in ("", ".", "..") or any(place.absolute == root.path for root in roots):
        _fail(path, "names a folder, and a file is needed")
    if name[-1] in ". " and not os.path.lexists(place.absolute):
        _fail(path, "ends in a dot or blank, which not every system keeps")
    return place


def check_no_link(path: str, roots: Sequence[Root]) -> None:
    """Refuse to remove a link: the model may mean the link or its target.

    Links among its parent folders do not count.
    Errors: ``WorkspaceError``, and as ``locate``.
    """
    place = locate_file(path, roots)
    if place.root.path.joinpath(*place.spelled).is_symlink():
        target = shown(place.absolute, roots)
        raise WorkspaceError(
            f"{_quoted(path)} is a link to {target}, so it was left alone. Name {target} if that "
            "file is meant; a command can take the link itself."
        )


def shown(absolute: Path, roots: Sequence[Root]) -> str | None:
    """Return how the model names an absolute path; None outside every root."""
    root = _holder(absolute, roots)
    if root is None:
        return None
    below = absolute.relative_to(root.path).as_posix()
    if len(roots) == 1:
        return below
    return root.name if below == "." else f"{root.name}/{below}"


def real_path(place: Path) -> Path:
    """Return a path with its links resolved; circular ones stay in it.

    Faster than ``Path.resolve``, which moreover raises for circular links in some versions.
    Errors: ``ValueError`` for a path that holds a NUL, ``OSError`` where a link goes meanwhile.
    """
    return Path(os.path.realpath(place))


def components_below(place: Path, folder: Path) -> tuple[str, ...] | None:
    """Return a path's components below a folder; None if it does not lie there.

    Many times faster than the methods of ``Path``.
    """
    parts, front = place.parts, folder.parts
    return parts[len(front) :] if parts[: len(front)] == front else None


def is_inside(absolute: Path, roots: Sequence[Root]) -> bool:
    """Say whether a resolved path lies in one of the roots, or is one."""
    return _holder(absolute, roots) is not None


def _holder(absolute: Path, roots: Sequence[Root]) -> Root | None:
    """Return the innermost root around a resolved path; compared by components."""
    around = [root for root in roots if components_below(absolute, root.path) is not None]
    return max(around, key=lambda root: len(root.path.parts), default=None)


def _check_spelling(path: str) -> None:
    if not path or path.isspace():
        raise WorkspaceError("The path is empty. Name a file or folder of the workspace.")
    if _CONTROL.search(path):
        _fail(path, "holds a control character")
    if len(path.encode()) > MAX_PATH_BYTES:
        _fail(path, f"is longer than {MAX_PATH_BYTES:,} bytes")
    if _DRIVE.match(path) or path.startswith(("//", "\\\\")):
        _fail(path, "names a drive, a server or a device")
    if _SCHEME.match(path):
        _fail(path, "looks like a URI; give a plain path, relative to the workspace")
    if path.startswith("~") and ("/" in path or path == "~"):
        _fail(path, "begins with ~, which is not expanded")
    if _VARIABLE.match(path):
        _fail(path, "begins with a variable, and those are not expanded")
    for name in path.split("/"):
        _check_name(path, name)


def _check_name(path: str, name: str) -> None:
    if len(name.encode()) > MAX_NAME_BYTES:
        _fail(path, f"has a name longer than {MAX_NAME_BYTES} bytes")
    if "\\" in name:
        _fail(path, "holds a backslash; separate folders with /")


def _check_components(path: str, root: Root, absolute: Path) -> None:
    """Refuse device names, and circular links, which resolving leaves in the path.

    A device name of another system is fine if a file of that name exists here.
    """
    for place in (absolute, *absolute.parents):
        if place == root.path:
            return
        if place.is_symlink():
            raise PathRefused(f"{_quoted(path)} cannot be resolved: its links run in circles.")
        if _DEVICE.fullmatch(place.name) and not os.path.lexists(place):
            _fail(path, f"holds {place.name}, the name of a device")


def _fail(path: str, why: str) -> NoReturn:
    raise WorkspaceError(f"{_quoted(path)} cannot be used: it {why}.")


def _quoted(path: str) -> str:
    cut = path if len(path) <= 200 else path[:200] + "…"
    return f"'{visible_line(cut)}'"


def _spelled_in(path: str, roots: Sequence[Root]) -> tuple[Root, tuple[str, ...]]:
    """Return the root a path starts from and its components below it, which may be ``..``."""
    if path.startswith("/"):
        for root in sorted(roots, key=lambda root: -len(root.path.parts)):
            if (inner := _below(path, root)) is not None:
                return root, inner
        return _through_links(path, roots)
    parts = _components(path)
    if len(roots) == 1:
        return roots[0], parts
    for root in roots:
        if _is_same(parts[:1], (root.name,)):
            return root, parts[1:]
    names = ", ".join(f"{root.name}/" for root in roots)
    if not parts:
        raise PathRefused(
            f"Several folders are open. Name one instead of {_quoted(path)}: {names}."
        )
    raise PathRefused(f"{_quoted(path)} does not begin with a folder of the workspace: {names}.")


def _components(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part not in ("", "."))


def _below(path: str, root: Root) -> tuple[str, ...] | None:
    """Return an absolute path's components below a root; None if it does not begin with it."""
    parts = _components(path)
    front = root.path.parts[1:]
    return parts[len(front) :] if _is_same(parts[: len(front)], front) else None


def _is_same(parts: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Say whether these are the same names, with accents composed or decomposed."""
    if parts == others:
        return True
    names = ("/".join(one) for one in (parts, others))
    return len({unicodedata.normalize("NFC", name) for name in names}) == 1


def _through_links(path: str, roots: Sequence[Root]) -> tuple[Root, tuple[str, ...]]:
    """Find the root of an absolute path that reaches it by another name, such as a linked home."""
    absolute = real_path(Path(path))
    root = _holder(absolute, roots)
    if root is None:
        raise PathRefused(f"{_quoted(path)} is outside the workspace.")
    return root, absolute.relative_to(root.path).parts


def _by_name(path: str, parts: tuple[str, ...]) -> tuple[str, ...] | None:
    """Resolve dots without looking at the disk; None when they leave the root."""
    found: list[str] = []
    for part in parts:
        if part == "..":
            if not found:
                return None
            found.pop()
        else:
            found.append(part)
    return tuple(found)


def _leads_out(spelled: tuple[str, ...] | None) -> str:
    return "is outside" if spelled is None else "leads through a link out of"
