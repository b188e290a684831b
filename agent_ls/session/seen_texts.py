"""The file texts that a session's model has seen, kept in the store.

``loop/state/seen.py`` decides from events which text counts; this module only holds the texts.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from dataclasses import replace

from agent_ls.domain.edits import apply_replacements, text_of
from agent_ls.domain.errors import StoreError
from agent_ls.edits.lines import BOM
from agent_ls.edits.merge import merge
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.workspace import SeenTexts, Workspace
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.state.seen import SeenFile
from agent_ls.safety.control_files import is_secret
from agent_ls.safety.paths import locate

_log = logging.getLogger(__name__)


class SessionTexts:
    """The ``SeenTexts`` of one session."""

    def __init__(self, recorder: Recorder, blobs: Blobs, workspace: Workspace) -> None:
        self._recorder = recorder
        self._blobs = blobs
        self._workspace = workspace
        self._storing: set[asyncio.Task[None]] = set()
        self._begun: tuple[SeenFile, str] | None = None
        """Cache: the last requested file without its newest edit, and its text."""

    def keep(self, path: str, text: str) -> str | None:
        """Start storing a text and return its digest; None when its file may hold secrets.

        Reads do not wait for the store. If a text is missing, a mergeable edit is refused.
        """
        if is_secret(locate(path, self._workspace.roots)):
            return None
        data = text.encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(data).hexdigest()
        known = self._recorder.state.seen.get(path)
        if known is None or known.newest != digest:
            task = asyncio.create_task(self._put(data))
            self._storing.add(task)
            task.add_done_callback(self._storing.discard)
        return digest

    async def text(self, path: str) -> str | None:
        """Return the text as the model believes it to be: as read, with its own edits."""
        if self._storing:
            await asyncio.wait(self._storing)
        known = self._recorder.state.seen.get(path)
        if known is None:
            return None
        done, text = 0, None
        if self._begun is not None and _begins_with(known, self._begun[0]):
            done, text = len(self._begun[0].edits), self._begun[1]
        else:
            text = await self._stored(known.text)
        for number, (before_blob, after_blob) in enumerate(known.edits[done:], done):
            before, after = await self._stored(before_blob), await self._stored(after_blob)
            if text is None or before is None or after is None:
                return None
            self._begun = replace(known, edits=known.edits[:number]), text
            text = _as_edited(text, before, after)
        return text

    async def _put(self, data: bytes) -> None:
        try:
            await self._blobs.put_blob(data)
        except StoreError as error:
            _log.warning("a text that was read could not be stored: %s", error)

    async def _stored(self, digest: str) -> str | None:
        try:
            data = await self._blobs.get_blob(digest)
        except StoreError as error:
            _log.warning("a text that was read is not at hand: %s", error)
            return None
        if data is None:
            return None
        try:
            return data.decode("utf-8", "surrogatepass").removeprefix(BOM)
        except UnicodeDecodeError:
            # A new file that the model created in another file's encoding.
            return text_of(data)[0].removeprefix(BOM)


class RehearsedTexts:
    """The ``SeenTexts`` after edits that were only rehearsed."""

    def __init__(self, seen: SeenTexts, real: Workspace, rehearsed: Workspace) -> None:
        self._seen = seen
        self._real = real
        self._rehearsed = rehearsed

    def keep(self, path: str, text: str) -> str | None:
        """Return None: nothing is kept of a rehearsal."""
        return None

    async def text(self, path: str) -> str | None:
        """Return the text as the model would know it after the edits."""
        text = await self._seen.text(path)
        if text is None:
            return None
        before, after = await self._real.read(path), await self._rehearsed.read(path)
        return text if before.text == after.text else _as_edited(text, before.text, after.text)


def _as_edited(text: str, before: str, after: str) -> str:
    """Return a known text after an edit of what the file had then."""
    merged = merge(before, text, after)
    return after if merged.conflicts else apply_replacements(text, merged.replacements)


def _begins_with(known: SeenFile, other: SeenFile) -> bool:
    return known.text == other.text and known.edits[: len(other.edits)] == other.edits
