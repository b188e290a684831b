"""Decides whether a call may run its shell command, by the command's shape and the paths it names.

Text cannot show everything that a command does. What it names as an operand or a redirection is
judged here as the file tools judge it, in every mode; ``commands`` judges the shape.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import subprocess
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import assert_never

from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.verdicts import Allow, Ask, Deny
from agent_ls.loop.ports.commands import Boundary
from agent_ls.loop.ports.workspace import Root, Workspace
from agent_ls.loop.sockets import PlannedCall
from agent_ls.safety.commands import CommandVerdict, decide
from agent_ls.safety.control_files import (
    IS_HARD_LINK,
    has_other_names,
    is_loaded_later,
    names_of,
    names_own,
    names_secret,
    steers,
)
from agent_ls.safety.flags import MustAskError
from agent_ls.safety.git_reading import read_git
from agent_ls.safety.git_repository import check_repository, printed_names
from agent_ls.safety.named_places import UNKNOWN, Named, Use, at_home, named_places
from agent_ls.safety.own_places import OwnPlaces
from agent_ls.safety.paths import MAX_PATH_BYTES, components_below, is_inside, real_path
from agent_ls.safety.text import visible_line
from agent_ls.safety.work import is_work

COMMAND_TOOL = "run_command"
_MAX_PLACES = 2_000
_DEVICES = ("/dev/", "/proc/self/fd/")
_TEMPORARY = ("/tmp", "/var/tmp")
_WIDE_READER = re.compile(
    r"(?:^|[\s;&|(])(?:(?:git|rg|find)(?=\s|$)|[ef]?grep(?=\s(?:.*\s)?(?:-\w*[rR]|--recursive)))"
)
"""Programs that read configuration, or whole folders."""
_OUTSIDE = "is outside the workspace, and the command would change it"


async def decide_call(
    planned: PlannedCall, workspace: Workspace, boundary: Boundary = "off"
) -> CommandVerdict | None:
    """Return the verdict on the call's command; None if the tool runs no command."""
    if planned.tool.name != COMMAND_TOOL:
        return None
    command = str(getattr(planned.arguments, "command", ""))
    folder = str(getattr(planned.arguments, "cwd", "."))
    known, key = _decided.get(), (command, folder, workspace.roots, boundary)
    if known is not None and key in known:
        return known[key]
    try:
        _, cwd = workspace.locate(folder)
    except WorkspaceError as error:
        return Deny(str(error), whatever_tool=True)
    verdict = await asyncio.to_thread(decide_command, command, cwd, workspace.roots, boundary)
    if known is not None:
        known[key] = verdict
    return verdict


_Verdicts = dict[tuple[object, ...], CommandVerdict]
_decided: ContextVar[_Verdicts | None] = ContextVar("decided", default=None)


@contextmanager
def each_decided_once() -> Generator[None]:
    """During the block, decide on a command once, however many guards ask.

    Only for a block in which nothing runs and nobody is waited for.
    """
    token = _decided.set({})
    try:
        yield
    finally:
        _decided.reset(token)


def decide_command(
    command: str, cwd: Path, roots: Sequence[Root], boundary: Boundary = "off"
) -> CommandVerdict:
    """Return the stricter of two verdicts: on the command's shape, and on the paths it names.

    In a sandbox, what tests, builds or runs the project needs no consent. Looks at the disk, so
    call it off the event loop.
    """
    verdict = decide(command, cwd, roots)
    if isinstance(verdict, Deny):
        return verdict
    if isinstance(verdict, Allow):
        if boundary == "missing" and (reader := _WIDE_READER.search(command)):
            return Ask(f"No sandbox works on this machine, so {reader[0].strip()} asks.")
        # For a plainly read-only command, ``decide`` has checked every path.
        return Allow(reads_only=True)
    found = _judge_places(command, cwd, roots)
    if isinstance(found, Deny):
        return found
    if found:
        return Ask(f"{verdict.reason} {found}", broad=False)
    is_free = boundary == "sandbox" and verdict.broad and is_work(command, cwd, roots)
    return Allow() if is_free else verdict


def _judge_places(command: str, cwd: Path, roots: Sequence[Root]) -> Deny | str:
    """Return a Deny, or the reasons to ask in every mode for the paths that a command names.

    Shape: Deny if it may change agent-ls's own files. A reason if it changes files that steer other
    programs, touches a place for secrets, or changes files outside; else empty.
    """
    reasons: dict[str, str] = {}
    seen: set[Named] = set()
    own = OwnPlaces.now()
    for named in named_places(command, cwd):
        if named in seen:
            continue
        seen.add(named)
        if len(seen) > _MAX_PLACES:
            return "The command names more places than can be checked."
        verdict = _judge(named, roots, own)
        if isinstance(verdict, Deny):
            return verdict
        if verdict:
            # One place outside is enough to show: a copy names each target twice.
            reasons.setdefault(_OUTSIDE if verdict.endswith(f"{_OUTSIDE}.") else verdict, verdict)
    return " ".join(reasons.values())


def named_files(
    command: str, cwd: Path, roots: Sequence[Root]
) -> Iterator[tuple[Use, Path, set[str]]]:
    """Yield the places that a command names, each with its use and its names below its root."""
    named = dict.fromkeys(named_places(command, cwd))
    for one in itertools.islice(named, _MAX_PLACES):
        for place in _places(one):
            yield one.use, place, _names(place, roots)


def printed_files(
    programs: Iterable[Sequence[str]], cwd: Path, roots: Sequence[Root]
) -> Iterator[tuple[Use, Path, set[str]]]:
    """Yield the files whose text git commands of known forms would print, like ``named_files``.

    Yields others too: it is not known below which folder a name is.
    """
    for words in (one for one in programs if one[0] == "git"):
        try:
            use = read_git(words[1:])
            folder = real_path(cwd / use.folder)
            # What is not plain could run programs when git is asked.
            tops = [one.path for one in roots]
            is_plain = check_repository(folder, tops)
            found = list(printed_names(use, folder, tops)) if is_plain else []
        except (MustAskError, OSError, ValueError, subprocess.SubprocessError):
            continue
        tops = [one for one in (folder, *folder.parents) if is_inside(one, roots)]
        for place in (top / name for top in tops for name in found):
            yield "read", place, _names(place, roots)


def _judge(named: Named, roots: Sequence[Root], own: OwnPlaces) -> Deny | str:
    """Return a Deny, or the reason to ask; empty for none."""
    shown = visible_line(named.path.replace(UNKNOWN, "…")[:200])
    if len(named.path) > MAX_PATH_BYTES:
        return f"{shown} is longer than a path can be."
    if UNKNOWN in named.path and named.use == "write":
        return f"It writes to {shown}, which only the running shell knows."
    if os.path.normpath(named.path).startswith(_DEVICES) or not named.path.strip(UNKNOWN):
        return ""
    found = ""
    for place in _places(named):
        names = _names(place, roots)
        # The workspace's settings for agent-ls hold nothing private, so they may be read.
        is_own = own.hold(place) or (named.use != "read" and names_own(names))
        if is_own or (named.use == "take" and own.lie_in(place)):
            if named.use == "read":
                return f"{shown} belongs to agent-ls itself and may hold keys."
            return Deny(f"{shown} belongs to agent-ls itself; only the person changes it.")
        found = found or _reason(place, names, named.use, roots)
    if not found and _changes_outside(named, roots):
        found = _OUTSIDE
    return f"{shown} {found}." if found else ""


def _places(named: Named) -> Iterator[Path]:
    """Yield the paths a name may stand for: as written, and with links resolved."""
    path = at_home(named.path.replace(UNKNOWN, "_"))
    for folder in named.folders:
        written = Path(os.path.normpath(folder / path))
        yield written
        with suppress(ValueError):
            if (real := real_path(folder / path)) != written:
                yield real


def _reason(place: Path, names: set[str], use: Use, roots: Sequence[Root]) -> str:
    """Return why the file tools would ask for this place; empty if they would not."""
    if names_secret(names):
        return "looks like a file that holds secrets"
    if has_other_names(place):
        return IS_HARD_LINK
    root = next((one.path for one in roots if is_inside(place, (one,))), None)
    match use:
        case "read":
            return ""
        case "write":
            is_loaded = root is not None and is_loaded_later(names, place, root)
            return steers(names) or ("is run by builds, tests or tools later" if is_loaded else "")
        case "take" | "change" | "any":
            return steers(names) if root else ""
        case _:
            assert_never(use)


def _changes_outside(named: Named, roots: Sequence[Root]) -> bool:
    """Say whether the command clearly creates, changes, moves or deletes something outside.

    Temporary folders do not count, unless a path in the workspace leads there by links or dots.
    """
    path = Path(at_home(named.path.replace(UNKNOWN, "_")))
    is_known = named.here is not None or path.is_absolute()
    if named.use in ("read", "any") or not is_known:
        return False
    written = path if named.here is None else named.here / path
    # Removing a link does not touch its target.
    is_entry = named.use == "take" and written.name != ".."
    try:
        real = real_path(written.parent) / written.name if is_entry else real_path(written)
        temporary = [real_path(Path(one)) for one in (*_TEMPORARY, os.environ.get("TMPDIR")) if one]
    except ValueError:
        return False
    if is_inside(real, roots):
        return False
    is_beside = any(written.is_relative_to(one.path) for one in roots)
    takes_all = is_entry and any(one.path.is_relative_to(real) for one in roots)
    if is_beside or takes_all or (is_entry and real in temporary):
        return True
    return not any(real.is_relative_to(one) for one in temporary)


def _names(place: Path, roots: Sequence[Root]) -> set[str]:
    """Return the names of a path, relative to its root if it is inside one."""
    below = (components_below(place, root.path) for root in roots)
    return names_of(next((one for one in below if one is not None), place.parts[1:]))
