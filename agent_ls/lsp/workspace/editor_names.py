"""The URIs of files as the editor spells them: its folders may lie behind links."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import quote_from_bytes

from agent_ls.lsp.connection.documents import DocumentEvent, DocumentEventKind, DocumentStore
from agent_ls.lsp.connection.uris import path_to_uri, uri_to_path


class EditorNames:
    """The spellings that one editor has used."""

    def __init__(self, documents: DocumentStore, folders: Callable[[], Iterable[str]]) -> None:
        """``folders`` returns the URIs of the editor's folders."""
        self._folders = folders
        self._opened: dict[Path, str] = {}
        """By resolved path: the last URI under which the editor opened the file."""
        documents.listen(self._on_document)

    def uri(self, place: Path) -> str:
        """Return the editor's URI of a resolved path.

        That is the URI under which it was opened, or else one below the innermost folder of the
        editor; without a folder, one beside an opened file.
        """
        known = self._opened.get(place)
        if known is not None and _place(known) == place:
            return known
        beside = (uri.rpartition("/")[0] for uri in self._opened.values())
        return (
            _below(self._folders(), place)
            or _below(dict.fromkeys(beside), place)
            or path_to_uri(place)
        )

    def _on_document(self, event: DocumentEvent) -> None:
        if event.kind is DocumentEventKind.OPENED and event.path is not None:
            self._opened[event.path.resolve()] = event.uri


def _below(folders: Iterable[str], place: Path) -> str | None:
    """Return the URI of a path below the innermost of these folders; None if it is in none."""
    around = [
        (folder, uri)
        for uri in folders
        if (folder := _place(uri)) is not None and place.is_relative_to(folder)
    ]
    if not around:
        return None
    folder, uri = max(around, key=lambda one: len(one[0].parts))
    if place == folder:
        return uri
    below = quote_from_bytes(bytes(place.relative_to(folder)), safe="/")
    return f"{uri.rstrip('/')}/{below}"


def _place(uri: str) -> Path | None:
    path = uri_to_path(uri)
    return None if path is None else path.resolve()
