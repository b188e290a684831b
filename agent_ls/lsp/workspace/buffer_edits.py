"""Changes the text of one open document through the editor, and finds out whether it did.

What the editor answers is a hint; what counts is the text that comes back in ``didChange``:
some editors apply and never answer, some say yes and skip, some refuse what comes late, and some
carry an edit out at its old place although the person has typed meanwhile.
An edit is shown, or stale, or unconfirmed: then the model is told, and reads again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol
from weakref import WeakValueDictionary

from lsprotocol import types

from agent_ls.domain.edits import EditOutcome, Replacement, apply_replacements
from agent_ls.lsp.connection.clients import StaleEdit
from agent_ls.lsp.connection.convert import sayable, text_edits
from agent_ls.lsp.connection.documents import DocumentStore, Snapshot
from agent_ls.lsp.connection.saved_texts import version_of
from agent_ls.lsp.workspace.sent_edit import SentEdit

SHOW_S = 2.0
"""How long after its answer the editor may take to show the new text."""

_SAID = {
    "yes": "said it applied the edit",
    "no": "refused the edit",
    "nothing": "never answered",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What the editor answered to ``workspace/applyEdit``."""

    said: Literal["yes", "no", "nothing"]
    """``nothing``: no answer in time, or one that cannot be understood."""
    reason: str = ""


class EditSender(Protocol):
    """Sends one document's edit to the editor and waits for its answer, within a limit."""

    async def apply_text(
        self, snapshot: Snapshot, edits: list[types.TextEdit], label: str
    ) -> Reply:
        """Send; ``snapshot`` names the document and the version that the edit was computed on."""
        ...

    @property
    def stale_edit(self) -> StaleEdit:
        """What the editor does with an edit when the text has changed since it was made."""
        ...

    def advise_looking(self, uri: str, lines: str) -> None:
        """Tell the person which lines of a document an edit may have damaged."""
        ...


class BufferEdits:
    """Edits open documents, one at a time for each."""

    def __init__(
        self,
        documents: DocumentStore,
        sender: EditSender,
        show_s: float = SHOW_S,
    ) -> None:
        """Take the open documents and the way to the editor."""
        self._show_s = show_s
        self._documents = documents
        self._sender = sender
        self._locks = WeakValueDictionary[str, asyncio.Lock]()
        """Those of the documents that somebody edits or waits to edit, by URI."""
        self._unanswered: dict[str, asyncio.Future[Reply]] = {}
        self._waiting: set[asyncio.Future[Reply]] = set()
        self._closed = asyncio.Event()

    def close(self) -> None:
        """Judge the edits under way at once, by the text there is: the editor leaves."""
        self._closed.set()

    async def change(
        self, uri: str, base_version: str | None, replacements: tuple[Replacement, ...], label: str
    ) -> EditOutcome:
        """Carry out the replacements if the document still has this version (None: any)."""
        lock = self._locks.setdefault(uri, asyncio.Lock())
        async with lock:
            await self._settle_last(uri)
            snapshot = self._documents.get(uri)
            if snapshot is None:
                return EditOutcome(status="stale", reason="the document was closed meanwhile")
            if not snapshot.in_sync:
                return EditOutcome(
                    status="refused",
                    reason="the editor sent a change that could not be understood, so its text is "
                    "not known; close the file and open it again",
                )
            if base_version is not None and version_of(snapshot.text) != base_version:
                return EditOutcome(status="stale", reason="the text changed meanwhile")
            replacements = sayable(snapshot.text, replacements)
            expected = apply_replacements(snapshot.text, replacements)
            if expected == snapshot.text:
                version = version_of(expected)
                return EditOutcome(status="applied", version=version, text=expected)
            return await self._send(snapshot, expected, replacements, label)

    async def _settle_last(self, uri: str) -> None:
        """Give an edit that was never answered one more chance to end before the next is sent."""
        task = self._unanswered.pop(uri, None)
        if task is not None and not task.done():
            await asyncio.wait([task], timeout=self._show_s)

    async def _send(
        self, before: Snapshot, expected: str, replacements: tuple[Replacement, ...], label: str
    ) -> EditOutcome:
        positions = self._documents.positions(before.uri)
        assert positions is not None, "the document was found open just now"
        sent = SentEdit(before.text, expected, text_edits(positions, replacements))
        was_shown, reply = await self._watched(before, sent, label)
        outcome = self._judge(before, sent, reply, was_shown=was_shown)
        if not reply.done():
            self._waiting.add(reply)
            reply.add_done_callback(self._waiting.discard)
            if outcome.status != "applied":
                self._unanswered[before.uri] = reply
        return outcome

    async def _watched(
        self, before: Snapshot, sent: SentEdit, label: str
    ) -> tuple[bool, asyncio.Future[Reply]]:
        """Send, and wait for what the editor does; return whether it showed the new text, and its
        answer, which may still be to come."""
        shown = self._wait_for(before, lambda now: now.in_sync and sent.is_shown_in(now.text))
        moved = self._wait_for(before, lambda now: now.text != before.text)
        closed = asyncio.ensure_future(self._closed.wait())
        reply = asyncio.ensure_future(self._sender.apply_text(before, [*sent.said], label))
        try:
            await _first([shown, reply, closed])
            if not shown.done():
                # Answered first, as most do; the text is to follow at once.
                is_final = self._sender.stale_edit == "refused" and _answer(reply).said == "no"
                awaited = [shown, closed, *([moved] if is_final else [])]
                await _first(awaited, timeout_s=self._show_s)
        finally:
            for one in (shown, moved, closed):
                one.cancel()
        return shown.done() and not shown.cancelled() and shown.result() is not None, reply

    def _wait_for(
        self, before: Snapshot, predicate: Callable[[Snapshot], bool]
    ) -> asyncio.Future[Snapshot | None]:
        # The caller ends this by cancelling; the limit is only for a caller that is gone.
        waiting = self._documents.wait_for(before.uri, predicate, timeout_s=3600)
        return asyncio.ensure_future(waiting)

    def _judge(
        self, before: Snapshot, sent: SentEdit, reply: asyncio.Future[Reply], *, was_shown: bool
    ) -> EditOutcome:
        """Return what the document's text proves, and only then what the editor said."""
        now = self._documents.get(before.uri)
        if now is None:
            return _unconfirmed("the document was closed while it was edited.")
        answer = _answer(reply)
        is_known = now.in_sync and now.text != before.text
        proof = sent.proof_in(now.text) if is_known else "nothing"
        # What looks applied beside typing can be a copy that the person made of the new text, so
        # an editor that says no is believed then; not when it has shown the very text.
        was_shown = was_shown or (now.in_sync and sent.is_shown_in(now.text))
        if was_shown or (proof == "applied" and answer.said != "no"):
            return EditOutcome(status="applied", version=version_of(now.text), text=now.text)
        if answer.said == "no" and now.text == before.text:
            why = f": {answer.reason}" if answer.reason else ""
            return EditOutcome(status="refused", reason=f"the editor refused the edit{why}")
        is_trusted = self._sender.stale_edit in ("skipped", "refused")
        is_left = answer.said == "no" and proof != "applied"
        if is_left or (is_trusted and proof == "untouched"):
            return EditOutcome(status="stale", reason="the text changed meanwhile")
        if not is_trusted and answer.said != "no" and now.revision != before.revision:
            # The editor may have carried the edit out at its old place in what the person typed,
            # where a line that was typed and taken out is seen by nobody.
            self._sender.advise_looking(before.uri, sent.lines)
            return _unconfirmed(
                "the text had just changed, and the edit may have gone to wrong lines: see "
                f"{sent.lines}."
            )
        shows = "still shows the old text" if now.text == before.text else "shows another text"
        return _unconfirmed(f"the editor {_SAID[answer.said]} but {shows}.")


def _unconfirmed(reason: str) -> EditOutcome:
    return EditOutcome(status="unconfirmed", reason=reason)


def _answer(reply: asyncio.Future[Reply]) -> Reply:
    return reply.result() if reply.done() else Reply("nothing")


async def _first(futures: Sequence[asyncio.Future[Any]], timeout_s: float | None = None) -> None:
    await asyncio.wait(futures, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
