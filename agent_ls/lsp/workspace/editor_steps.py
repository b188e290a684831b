"""What the editor does to files, noted while somebody asks: while a command runs.

A command's work is what is left when the person's is taken away. All editors tell which texts a
document had, when it was saved and closed; some tell of files that they make, move and delete.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from agent_ls.edits.encodings import forms
from agent_ls.loop.ports.workspace import EditorStep
from agent_ls.lsp.connection.documents import DocumentEvent, DocumentEventKind, DocumentStore
from agent_ls.lsp.connection.saved_texts import content
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.workspace.editors_part import REACTION_NS, folder_changed_ns

_MAX_STEPS = 64
_MAX_CHARACTERS = 4 * 2**20
"""Of one document, of the newest: a save is told a moment after it, and people type on."""
_TOLD_S = 0.1
"""So long after a file was written is it told, at the latest, who did that."""


class EditorStepsLog:
    """Notes what the editor does for those who follow it."""

    def __init__(self, documents: DocumentStore) -> None:
        """Follow these documents."""
        self._documents = documents
        self._followers: list[FollowedEditor] = []
        documents.listen(self._on_document)

    def follow(self) -> FollowedEditor:
        """Begin to note, until it is ended; the texts of the open documents are the first steps."""
        follower = FollowedEditor(self._followers.remove)
        for uri in self._documents.uris():
            self._note_text(uri, [follower], at_ns=0)
        self._followers.append(follower)
        return follower

    def note_saved(self, uri: str) -> None:
        """Know that a document's text was written to its file."""
        path, document = uri_to_path(uri), self._documents.get(uri)
        if not self._followers or path is None or document is None:
            return
        place, now_ns = path.resolve(), time.time_ns()
        data = _content(place)
        for one in self._followers:
            one.note_saved(place, now_ns, document.text, data)

    def note_made(self, uri: str) -> None:
        """Know that the person made a file, or copied one to there."""
        if self._followers and (place := _place(uri)) and (data := _content(place)) is not None:
            self._note(place, EditorStep(time.time_ns(), "", is_done=True, data=data))

    def note_taken(self, uri: str) -> None:
        """Know that the person deleted a file, or a folder with all that was in it."""
        if self._followers and (place := _place(uri)):
            self._note(place, EditorStep(time.time_ns(), None, is_done=True))

    def note_moved(self, uri: str, new_uri: str) -> None:
        """Know that the person moved a file, or a folder with all that was in it."""
        self.note_taken(uri)
        if self._followers and (new := _place(new_uri)):
            step = EditorStep(time.time_ns(), "", is_done=True, origin=_place(uri) or new)
            self._note(new, step)

    def _note(self, place: Path, step: EditorStep) -> None:
        for one in self._followers:
            one.note(place, step)

    def _on_document(self, event: DocumentEvent) -> None:
        match event.kind:
            case _ if not self._followers:
                return
            case DocumentEventKind.SAVED:
                self.note_saved(event.uri)
            case DocumentEventKind.CLOSED:
                self._note_closed(event.uri)
            case DocumentEventKind.OPENED | DocumentEventKind.CHANGED:
                self._note_text(event.uri, self._followers, time.time_ns())

    def _note_text(self, uri: str, followers: Sequence[FollowedEditor], at_ns: int) -> None:
        path, document = uri_to_path(uri), self._documents.get(uri)
        if path is not None and document is not None and document.in_sync:
            for one in followers:
                one.note(path.resolve(), EditorStep(at_ns, document.text))

    def _note_closed(self, uri: str) -> None:
        """See whether a file went with its document; if not yet, it still may."""
        place, now_ns = _place(uri), time.time_ns()
        if place is None:
            return
        is_gone = not place.exists()
        if is_gone and folder_changed_ns(place) < now_ns - REACTION_NS:
            # Something else took it away, and the person now its tab.
            return
        self._note(place, EditorStep(now_ns, None, is_done=is_gone))


class FollowedEditor:
    """What one editor has done since somebody began to follow it."""

    def __init__(self, end: Callable[[FollowedEditor], None]) -> None:
        """Take what ends it."""
        self._end = end
        self._steps: dict[Path, list[EditorStep]] = {}
        self._told = asyncio.Event()

    def of(self, place: Path) -> Sequence[EditorStep]:
        """Return what was told until now of a file, and of the folders that it is in."""
        own = self._steps.get(place, [])
        above = [
            one if one.origin is None else replace(one, origin=one.origin / place.relative_to(at))
            for at in place.parents
            for one in self._steps.get(at, ())
            if one.is_done and (one.text is None or one.origin is not None)
        ]
        return sorted((*own, *above), key=lambda one: one.at_ns) if above else own

    async def settle(self, places: Collection[Path]) -> None:
        """Wait a moment for what was done to these files and is not told yet."""
        waited = {place: len(self._steps[place]) for place in places if place in self._steps}
        with suppress(TimeoutError):
            async with asyncio.timeout(_TOLD_S):
                while any(not self._is_told(*one) for one in waited.items()):
                    self._told.clear()
                    await self._told.wait()

    def _is_told(self, place: Path, since: int) -> bool:
        return any(one.is_done for one in self._steps[place][since:])

    def end(self) -> None:
        """Listen no longer."""
        self._end(self)

    def note(self, place: Path, step: EditorStep) -> None:
        """Add a step, and forget the oldest but the first of too many."""
        steps = self._steps.setdefault(place, [])
        steps.append(step)
        while len(steps) > 2 and _is_too_much(steps):
            del steps[1]
        if step.is_done:
            self._told.set()

    def note_saved(self, place: Path, at_ns: int, text: str, data: bytes | None) -> None:
        """Add a save that was told just now, when the disk held ``data``.

        The text was perhaps another by then than what was written.
        """
        texts = [one.text for one in self._steps.get(place, ()) if one.text is not None]
        for one in reversed(texts):
            if data is not None and data in forms(one):
                self.note(place, EditorStep(at_ns, one, is_done=True, data=data))
                return
        # Somebody has written the file since.
        self.note(place, EditorStep(at_ns, text, is_done=True))


def _is_too_much(steps: Sequence[EditorStep]) -> bool:
    return len(steps) > _MAX_STEPS or sum(len(one.text or "") for one in steps) > _MAX_CHARACTERS


def _place(uri: str) -> Path | None:
    path = uri_to_path(uri)
    return None if path is None else path.resolve()


def _content(place: Path) -> bytes | None:
    try:
        return content(place)
    except OSError:
        return None
