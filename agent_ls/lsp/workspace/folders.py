"""The folders the agent works in: the editor's, or that of the first open file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from agent_ls.loop.ports.workspace import Root
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.safety.trust import TrustedFolders


def roots_of(
    folders: Mapping[str, str], document_uris: Iterable[str], trust: TrustedFolders
) -> tuple[Root, ...]:
    """Return the roots in the editor's order with unique names; missing folders come last.

    A missing folder keeps its name, so that a recorded name never means another folder's file.
    Missing folders are roots only beside existing ones. If no folder exists, the root is that of
    the first open file; without one there is no root.
    """
    named: dict[Path, str] = {}
    for uri, name in folders.items():
        path = uri_to_path(uri)
        if path is not None:
            named.setdefault(path.resolve(), name)
    gone = {path for path in named if not path.is_dir()}
    if len(gone) == len(named):
        files = (path for uri in document_uris if (path := uri_to_path(uri)) is not None)
        first = next((path.parent for path in files if path.parent.is_dir()), None)
        named = {} if first is None else {first.resolve(): first.name}
    roots: list[Root] = []
    for path, name in named.items():
        taken = {root.name for root in roots}
        roots.append(Root(_free(name or path.name or "root", taken), path, trust.is_trusted(path)))
    return tuple(sorted(roots, key=lambda root: root.path in gone))


def _free(name: str, taken: set[str]) -> str:
    """Return a name that is not taken and has no separator."""
    plain = name.replace("/", "-").replace("\\", "-")
    number, free = 2, plain
    while free in taken:
        free, number = f"{plain}-{number}", number + 1
    return free
