"""Confinement by bubblewrap: new namespaces, and a file system of only what a command may see."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from agent_ls.safety.programs import find_outside
from agent_ls.safety.sandbox.confinement import ALL_HOSTS, Confinement, Wrapped
from agent_ls.safety.sandbox.surroundings import (
    copied_etc,
    etc_files,
    resolver_folders,
    system_folders,
)

_ISOLATED = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
    *("--cap-drop", "ALL"),
)
_DROPPED = (
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
)
"""Variables that name places which a confined command does not have."""
_ETC = Path("/etc")
_KERNEL = (Path("/proc/sys"), Path("/proc/sysrq-trigger"))
_HIDDEN = ("--perms", "0000", "--tmpfs")
_SHOWN = ("--bind", "--ro-bind", "--symlink")
PLANNED = "AGENT_LS_PLANNED_MOUNT_"
"""Variables that begin so are the supervisor's; no command sees them."""
_Mounts = dict[Path, tuple[str, ...]]
"""The options of a mount, without its target, by target."""


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Runs commands with ``bwrap``."""

    name: ClassVar[str] = "bubblewrap"
    shows_texts: ClassVar[bool] = True
    hint: ClassVar[str] = ""
    remains: ClassVar[str] = ""

    program: Path

    def wrap(
        self,
        confinement: Confinement,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
    ) -> Wrapped:
        """Return how to start the command confined. Errors: ``OSError``."""
        changeable = (*confinement.roots, *confinement.writable)
        if any(self.program.is_relative_to(folder) for folder in changeable):
            raise OSError(f"{self.program} is inside of what a command may change")
        mounts = _mounts(confinement, Path(env.get("HOME", "/")))
        argv = (
            *(str(self.program), *_ISOLATED),
            *(("--share-net",) if confinement.network == ALL_HOSTS else ()),
            *_options(mounts),
            *("--remount-ro", "/", "--chdir", str(cwd), "--", *command),
        )
        inner = {name: value for name, value in env.items() if name not in _DROPPED}
        if confinement.view == "workspace-write":
            inner |= _planned(mounts, changeable)
        return Wrapped(argv, inner)


def find_bubblewrap(avoid: Sequence[Path] = ()) -> Bubblewrap:
    """Return the installed bubblewrap, never one in a folder of ``avoid``.

    Errors: ``OSError`` if there is none.
    """
    found = find_outside("bwrap", avoid)
    if found is None:
        raise FileNotFoundError("bwrap is not installed")
    return Bubblewrap(found.resolve())


def _mounts(confinement: Confinement, home: Path) -> _Mounts:
    """Return all mounts by target. A later rule about the same target wins."""
    may_write = confinement.view == "workspace-write"
    mounts: _Mounts = {}
    for path in system_folders():
        mounts[path] = _system(path)
    mounts |= _etc(confinement)
    mounts |= {Path("/proc"): ("--proc",), Path("/dev"): ("--dev",), home: ("--tmpfs",)}
    # For root, settings of the kernel would be open in it.
    mounts |= {path: ("--ro-bind", str(path)) for path in _KERNEL if path.exists()}
    mounts |= _temporary(confinement, home)
    changeable = "--bind" if may_write else "--ro-bind"
    inside = (*confinement.roots, *confinement.writable)
    for path in confinement.readable:
        if not any(path.is_relative_to(folder) for folder in inside):
            mounts[path] = ("--ro-bind", str(path))
    for path in inside:
        mounts[path] = (changeable, str(path))
    _add_links(mounts, confinement.links)
    if may_write:
        covered = [path for path in confinement.protected if _is_plain(path)]
        # A folder that is a mount cannot be renamed, and what it holds cannot leave its place.
        for path in (*covered, *confinement.hidden):
            for above in _between(path, inside):
                mounts.setdefault(above, ("--bind", str(above)))
        # bwrap reads the table of all mounts for each bind, but for none of these.
        mounts |= {path: ("--ro-bind", str(path)) for path in covered}
        _cover_linked(mounts, confinement.linked)
    mounts |= {path: ("--ro-bind", str(text)) for path, text in confinement.shown.items()}
    for path in confinement.hidden:
        # Opening the device fails here, which says more than an empty file would.
        mounts[path] = _HIDDEN if path.is_dir() else ("--ro-bind", "/dev/null")
    return mounts


def _cover_linked(mounts: _Mounts, linked: Iterable[Path]) -> None:
    """Mount these read-only, and what is mounted in such a folder as it is."""
    covered = frozenset(path for path in linked if _is_plain(path))
    mounts |= {path: ("--ro-bind", str(path)) for path in covered}
    for path, mount in mounts.items():
        if mount == ("--bind", str(path)) and not covered.isdisjoint(path.parents):
            mounts[path] = ("--ro-bind", str(path))


def _add_links(mounts: _Mounts, links: Mapping[Path, Path]) -> None:
    for path, real in sorted(links.items()):
        # Below a folder that is shown, or below another link, the name leads there already.
        if not any(one in mounts and mounts[one][0] in _SHOWN for one in (path, *path.parents)):
            mounts[path] = ("--symlink", str(real))


def _system(path: Path) -> tuple[str, ...]:
    return ("--symlink", str(path.readlink())) if path.is_symlink() else ("--ro-bind", str(path))


def _etc(confinement: Confinement) -> _Mounts:
    network, tmp = bool(confinement.network), confinement.tmp
    resolver = resolver_folders() if network else ()
    mounts = {path: ("--ro-bind", str(path)) for path in resolver}
    seen = (*confinement.roots, *confinement.writable, *confinement.readable, *confinement.links)
    # Nothing else can be mounted in the copy, and no command may change it.
    if tmp is None or any(path.is_relative_to(_ETC) or tmp.is_relative_to(path) for path in seen):
        return mounts | {path: _system(path) for path in etc_files(network=network)}
    return mounts | {_ETC: ("--ro-bind", str(copied_etc(tmp, network=network)))}


def _temporary(confinement: Confinement, home: Path) -> _Mounts:
    if confinement.view == "read-only" or confinement.tmp is None:
        return {Path("/tmp"): ("--tmpfs",), Path("/var/tmp"): ("--tmpfs",)}
    places = {Path("/tmp"): "tmp", Path("/var/tmp"): "var-tmp"}
    # In a home folder that is the workspace, bwrap would make the folder that it mounts on.
    if (home / ".cache").is_dir() or home not in confinement.roots:
        places[home / ".cache"] = "cache"
    return {path: ("--bind", str(confinement.tmp / name)) for path, name in places.items()}


def _planned(mounts: _Mounts, changeable: Sequence[Path]) -> dict[str, str]:
    """Return variables that tell the supervisor what must be mounted where it may be renamed.

    A program that runs in the background can put a link in a folder's place after our look at it,
    and bwrap would follow that. ``@`` is a folder that nothing can rename, ``=`` shows what is at
    its own place, ``.`` anything else.
    """
    outer = [one for one in changeable if set(changeable).isdisjoint(one.parents)]
    elsewhere = _mount_points()
    words: list[str] = []
    for path in _needed(mounts):
        if mounts[path][0] == "--symlink" or not any(path.is_relative_to(one) for one in outer):
            continue
        # Below a mount of the system's, such as a container's volume, the table counts from there.
        above = [one for one in (path, *path.parents) if any(o in one.parents for o in outer)]
        is_other = any(_escaped(str(one)) in elsewhere for one in above)
        is_itself = mounts[path][1:] == (str(path),) and not is_other
        kind = "@" if path in outer else "=" if is_itself else "."
        words.append(f"{kind}{_escaped(str(path))}")
    return {f"{PLANNED}{number}": word for number, word in enumerate(words)}


def _mount_points() -> frozenset[str]:
    """Return where anything is mounted, as the kernel writes it; nothing in the background can."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:  # noqa: PTH123
        return frozenset(line.split(" ")[4] for line in table)


def _escaped(path: str) -> str:
    """Return a path as the kernel's table of mounts writes it."""
    return re.sub(r"[ \t\n\\]", lambda found: f"\\{ord(found[0]):03o}", path)


def _is_plain(path: Path) -> bool:
    return path.exists() and path.resolve() == path


def _between(path: Path, folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the folders above the path that lie inside of one of these, but are none of them."""
    for above in path.parents:
        if any(above != folder and above.is_relative_to(folder) for folder in folders):
            yield above


def _options(mounts: _Mounts) -> Iterator[str]:
    """Yield the options of all mounts, outer ones first: a later mount covers what is inside."""
    for path in _needed(mounts):
        yield from (*mounts[path], str(path))
    yield from (
        word
        for path, mount in mounts.items()
        if mount == _HIDDEN
        for word in ("--remount-ro", str(path))
    )


def _needed(mounts: _Mounts) -> Iterator[Path]:
    """Yield the targets; each costs time, so none that its nearest one shows in the same way."""
    for path in sorted(mounts, key=lambda path: len(path.parts)):
        around = next((one for one in path.parents if one in mounts), path)
        if around == path or not (_is_seen(around, mounts) and _is_seen(path, mounts)):
            yield path


def _is_seen(path: Path, mounts: _Mounts) -> bool:
    """Say whether a path is mounted read-only as it is."""
    return mounts[path] == ("--ro-bind", str(path))
