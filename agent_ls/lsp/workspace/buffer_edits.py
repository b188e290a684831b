"""Changes the text of one open document through the editor, and finds out whether it did.

What the editor answers is a hint; what counts is the text that comes back in ``didChange``:
some editors apply and never answer, some say yes and skip, some refuse what comes late.
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
from agent_ls.lsp.workspace.edit_proof import Verdict, proven
from agent_ls.lsp.workspace.misplaced import (
    Misplaced,
    SentEdit,
    Watch,
    guessed_from,
    is_at_old_place,
    meant_lines,
)
from agent_ls.lsp.workspace.shown import Wanted

SHOW_S = 2.0
"""How long after its answer the editor may take to show the new text."""

_AGAIN_S = 0.25
"""How long an edit is waited for when its text is there already, where no version is looked at."""

_MOST_REPAIRS = 2
"""A misplaced edit is taken back, and so is what took it back where the person typed: what was
typed there comes back, and the person is told the lines."""

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
    was_sent: bool = True
    """False: it was only offered, and what the person chose was made for the text there was."""


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

    @property
    def edits_unasked(self) -> bool:
        """Whether an edit is carried out at once, and no person is asked first."""
        ...

    def advise_repairing(self, uri: str, lines: str) -> None:
        """Tell the person which lines of a document an edit has damaged."""
        ...

    def advise_looking(self, uri: str, lines: str) -> None:
        """Tell the person which lines of a document an edit may have damaged."""
        ...


Versioned = Callable[[str], str]


class BufferEdits:
    """Edits open documents, one at a time for each."""

    def __init__(
        self,
        documents: DocumentStore,
        sender: EditSender,
        version_of: Versioned,
        show_s: float = SHOW_S,
    ) -> None:
        """Take the open documents, the way to the editor, and how a text becomes a version."""
        self._show_s = show_s
        self._documents = documents
        self._sender = sender
        self._version_of = version_of
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
            if base_version is not None and self._version_of(snapshot.text) != base_version:
                return EditOutcome(status="stale", reason="the text changed meanwhile")
            replacements = sayable(snapshot.text, replacements)
            expected = apply_replacements(snapshot.text, replacements)
            if expected == snapshot.text:
                version = self._version_of(expected)
                return EditOutcome(status="applied", version=version, text=expected)
            return await self._send(snapshot, expected, replacements, label)

    async def _settle_last(self, uri: str) -> None:
        """Give an edit that was never answered one more chance to end before the next is sent."""
        task = self._unanswered.pop(uri, None)
        if task is not None and not task.done():
            await asyncio.wait([task], timeout=self._show_s)

    async def _send(
        self,
        snapshot: Snapshot,
        expected: str,
        replacements: tuple[Replacement, ...],
        label: str,
        *,
        repairs: int = 0,
    ) -> EditOutcome:
        positions = self._documents.positions(snapshot.uri)
        assert positions is not None, "the document was found open just now"
        said = text_edits(positions, replacements)
        sent = SentEdit(snapshot.text, expected, replacements, said, positions.encoding)
        was_shown, wrong, reply = await self._watched(snapshot, sent, label)
        outcome = self._judge(snapshot, expected, replacements, reply, was_shown=was_shown)
        if not reply.done():
            self._waiting.add(reply)
            reply.add_done_callback(self._waiting.discard)
        if wrong is None and outcome.status == "applied":
            return outcome
        if wrong is None and not reply.done():
            self._unanswered[snapshot.uri] = reply
        # Who says no is believed where the text proves nothing, and so is what was typed past an
        # offer; but the person may have taken one from a list that is older than the typing.
        is_open = not repairs and _was_sent(reply) and not _is_refused(reply)
        if repairs < _MOST_REPAIRS and (wrong is not None or is_open):
            return await self._mended(snapshot, sent, wrong, outcome, repairs)
        return outcome

    async def _watched(
        self, before: Snapshot, sent: SentEdit, label: str
    ) -> tuple[bool, Misplaced | None, asyncio.Future[Reply]]:
        """Send, and wait for what the editor does; return if it showed the new text, what it did
        in wrong lines, and its answer, which may still be to come.

        Not of an editor that was seen to leave stale edits alone: what looks like one that went to
        the wrong lines is the person's own work then.
        """
        stale_edit = self._sender.stale_edit
        shown = asyncio.ensure_future(self._wait_until_shown(before, sent.expected))
        is_trusted = stale_edit in ("skipped", "refused")
        missed = (
            None if is_trusted else asyncio.ensure_future(self._wait_until_misplaced(before, sent))
        )
        moved = asyncio.ensure_future(self._wait_until_moved(before))
        closed = asyncio.ensure_future(self._closed.wait())
        reply = asyncio.ensure_future(self._sender.apply_text(before, [*sent.said], label))
        ends = [closed] if missed is None else [closed, missed]
        try:
            await _first([shown, reply, *ends])
            if not shown.done():
                # Answered first, as most do; the text is to follow at once.
                is_final = stale_edit == "refused" and _is_refused(reply)
                awaited = [shown, *ends, *([moved] if is_final else [])]
                await _first(awaited, timeout_s=self._show_s)
            elif stale_edit == "applied" and not reply.done():
                # The person may have made the very change, and the edit is still to come.
                await _first([reply, *ends], timeout_s=min(self._show_s, _AGAIN_S))
        finally:
            for one in (shown, moved, *ends):
                one.cancel()
        was_shown = shown.done() and not shown.cancelled() and shown.result()
        is_over = missed is not None and missed.done() and not missed.cancelled()
        return was_shown, missed.result() if missed is not None and is_over else None, reply

    async def _wait_until_misplaced(self, before: Snapshot, sent: SentEdit) -> Misplaced | None:
        """Return what the editor did once it has carried the edit out on what was just typed."""
        watch = Watch(sent, lambda: self._documents.positions(before.uri))
        found: Misplaced | None = None

        def is_misplaced(now: Snapshot) -> bool:
            nonlocal found
            found = watch.found(now.text) if now.in_sync else None
            return found is not None

        await self._documents.wait_for(before.uri, is_misplaced, timeout_s=3600)
        return found

    async def _mended(
        self,
        before: Snapshot,
        sent: SentEdit,
        wrong: Misplaced | None,
        outcome: EditOutcome,
        repairs: int,
    ) -> EditOutcome:
        """Return the outcome, once what went to the wrong lines is taken back or told."""
        now, stale_edit = self._documents.get(before.uri), self._sender.stale_edit
        is_blind = stale_edit == "applied"
        if wrong is None:
            if now is None or not now.in_sync or not (is_blind or stale_edit == "unknown"):
                return outcome
            wrong = guessed_from(sent, now.text)
            # Of an editor that nobody knows, the new text is at least where a blind one puts it.
            may_hide = is_blind or is_at_old_place(sent, now.text)
            if wrong is None and (now.revision == before.revision or not may_hide):
                return outcome
        if wrong is not None and is_blind:
            return await self._repair(before.uri, wrong, repairs)
        # An editor that carries out whatever it is told has hidden the edit in what looks like
        # typing alone: a line that was typed and taken out is seen by nobody.
        lines = _said_lines(meant_lines(sent) if wrong is None else wrong.lines)
        self._sender.advise_looking(before.uri, lines)
        reason = (
            f"the text had just changed, and the edit may have gone to wrong lines: see {lines}."
        )
        return EditOutcome(status="unconfirmed", reason=reason)

    async def _repair(self, uri: str, wrong: Misplaced, repairs: int) -> EditOutcome:
        """Take a misplaced edit back where the person has not typed on; else tell everybody."""
        now = self._documents.get(uri)
        is_there = now is not None and now.in_sync and now.text == wrong.damaged
        if now is not None and is_there and self._sender.edits_unasked:
            outcome = await self._send(
                now,
                wrong.text,
                sayable(now.text, wrong.repair),
                "Agent: take back an edit that went to the wrong lines",
                repairs=repairs + 1,
            )
            if outcome.status == "applied":
                return EditOutcome(status="stale", reason="the text changed meanwhile")
        lines = _said_lines(wrong.lines)
        self._sender.advise_repairing(uri, lines)
        return EditOutcome(
            status="unconfirmed",
            reason="the text had just changed, and the editor carried the edit out in other lines "
            f"than meant, at {lines}, which are to be repaired.",
        )

    def _judge(
        self,
        before: Snapshot,
        expected: str,
        replacements: tuple[Replacement, ...],
        reply: asyncio.Future[Reply],
        *,
        was_shown: bool,
    ) -> EditOutcome:
        """Return what the document's text proves, and only then what the editor said."""
        now = self._documents.get(before.uri)
        if now is None:
            return EditOutcome(
                status="unconfirmed", reason="the document was closed while it was edited."
            )
        answer = reply.result() if reply.done() and not reply.cancelled() else Reply("nothing")
        is_moved = now.text != before.text
        verdict: Verdict = "nothing"
        if is_moved and now.in_sync:
            verdict = proven(before.text, expected, replacements, now.text)
        # What looks applied beside typing can be a copy that the person made of the new text, so
        # an editor that says no is believed then; not when it has shown the very text.
        was_shown = was_shown or (now.in_sync and Wanted(before.text, expected).is_in(now.text))
        if was_shown or (verdict == "applied" and answer.said != "no"):
            return EditOutcome(status="applied", version=self._version_of(now.text), text=now.text)
        # Nor is an offer there any more once the text has moved on.
        is_denied = is_moved and (answer.said == "no" or not answer.was_sent)
        if verdict == "untouched" or (verdict == "nothing" and is_denied):
            return EditOutcome(status="stale", reason="the text changed meanwhile")
        if answer.said == "no" and not is_moved:
            why = f": {answer.reason}" if answer.reason else ""
            return EditOutcome(status="refused", reason=f"the editor refused the edit{why}")
        shows = "shows another text" if is_moved else "still shows the old text"
        return EditOutcome(
            status="unconfirmed", reason=f"the editor {_SAID[answer.said]} but {shows}."
        )

    async def _wait_until_moved(self, before: Snapshot) -> bool:
        """Return True once the document has another text, False if it is closed instead."""

        def is_other(now: Snapshot) -> bool:
            return now.text != before.text

        return await self._documents.wait_for(before.uri, is_other, timeout_s=3600) is not None

    async def _wait_until_shown(self, before: Snapshot, expected: str) -> bool:
        """Return True once the document has the expected text, False if it is closed instead."""
        wanted = Wanted(before.text, expected)

        def is_there(now: Snapshot) -> bool:
            return now.in_sync and wanted.is_in(now.text)

        # The caller ends this by cancelling; the limit is only for a caller that is gone.
        return await self._documents.wait_for(before.uri, is_there, timeout_s=3600) is not None


def _is_refused(reply: asyncio.Future[Reply]) -> bool:
    return reply.done() and reply.result().said == "no"


def _was_sent(reply: asyncio.Future[Reply]) -> bool:
    return not reply.done() or reply.result().was_sent


def _said_lines(lines: tuple[int, int]) -> str:
    first, last = lines
    return f"line {first}" if first == last else f"lines {first}-{last}"


async def _first(futures: Sequence[asyncio.Future[Any]], timeout_s: float | None = None) -> None:
    await asyncio.wait(futures, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
