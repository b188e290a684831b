"""Edits the text of one open document through the editor, and verifies the result.

The editor's answer is only a hint; what counts is the text in ``didChange``. Some editors apply
and never answer, some say yes and skip, some refuse late edits. Some apply an edit at its old place
although the user has typed meanwhile.
An edit ends as shown, stale or unconfirmed; if not shown, the model is told to read again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple
from weakref import WeakValueDictionary

from lsprotocol import types

from agent_ls.domain.edits import EditOutcome, Replacement, apply_replacements
from agent_ls.edits.notebooks import shown_text
from agent_ls.lsp.connection.convert import sayable, text_edits
from agent_ls.lsp.connection.documents import CELLS, DocumentStore, Snapshot
from agent_ls.lsp.connection.positions import split_lines
from agent_ls.lsp.connection.saved_texts import version_of
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.lsp.workspace.editor_port import Editor, Reply

SHOW_S = 2.0
"""How long after its answer the editor may take to show the new text."""

_CELLS_NAME = ".ipynb"

_SAID = {
    "yes": "said it applied the edit",
    "no": "refused the edit",
    "nothing": "never answered",
    "now": "was to apply the edit",
}


@dataclass(frozen=True, slots=True)
class _Sent:
    """An edit that was sent to the editor."""

    before: Snapshot
    expected: str
    edits: list[types.TextEdit]

    def is_shown_in(self, now: Snapshot) -> bool:
        """Say whether a text is the expected one, up to line ends that the editor normalised."""
        if not now.in_sync or now.text == self.expected:
            return now.in_sync
        if now.language_id == CELLS:
            return shown_text(_CELLS_NAME, now.text) == shown_text(_CELLS_NAME, self.expected)
        if "\r" not in self.expected and "\r" not in now.text:
            return False
        # Line ends count when the edit changes nothing else.
        plain = _plain(self.expected)
        return plain != _plain(self.before.text) and _plain(now.text) == plain

    def proof_in(self, now: Snapshot) -> Literal["applied", "untouched", "nothing"]:
        """Return what a text with the user's typing proves of the edit; ``nothing``: neither."""
        edit = _Change.between(self.before.text, self.expected)
        as_new = _Change.between(self.expected, now.text)
        as_old = _Change.between(self.before.text, now.text)
        new_span, old_span = (edit.first, edit.new_end), (edit.first, edit.old_end)
        if as_new.is_apart(new_span) and not as_old.is_apart(old_span, as_old.slack):
            return "applied"
        if as_old.is_apart(old_span) and not as_new.is_apart(new_span, as_new.slack):
            return "untouched"
        return "nothing"

    @property
    def lines(self) -> str:
        """Return the 1-based lines of the edit at its original place, as words."""
        first = 1 + min(one.range.start.line for one in self.edits)
        last = max(one.range.end.line + len(split_lines(one.new_text)) for one in self.edits)
        return f"line {first}" if first == last else f"lines {first}-{last}"


class _Change(NamedTuple):
    """The range in which two texts differ.

    Repeated text is ambiguous: of a doubled line, either copy may be the new one. The range covers
    all possibilities.
    """

    first: int
    old_end: int
    new_end: int
    slack: int
    """How much later than ``first`` the change may begin."""

    @classmethod
    def between(cls, old: str, new: str) -> _Change:
        from rapidfuzz.distance import Postfix, Prefix

        head, tail = Prefix.similarity(old, new), Postfix.similarity(old, new)
        slack = max(0, head + tail - min(len(old), len(new)))
        return cls(head - slack, len(old) - tail + slack, len(new) - tail + slack, slack)

    def is_apart(self, span: tuple[int, int], slack: int = 0) -> bool:
        """Say whether it is apart from a span of the old text; with slack: possibly apart."""
        return span[1] < self.first + slack or self.old_end - slack < span[0]


class BufferEdits:
    """Edits open documents, one edit at a time per document."""

    def __init__(self, documents: DocumentStore, editor: Editor, show_s: float = SHOW_S) -> None:
        self._documents, self._editor, self._show_s = documents, editor, show_s
        self._locks = WeakValueDictionary[str, asyncio.Lock]()
        """Locks of the documents being edited, by URI."""
        self._replies: set[asyncio.Future[Reply]] = set()

    async def change(
        self, uri: str, base_version: str | None, replacements: tuple[Replacement, ...], label: str
    ) -> EditOutcome:
        """Apply the replacements if the document still has this version (None: any)."""
        lock = self._locks.setdefault(uri, asyncio.Lock())
        async with lock:
            snapshot = self._documents.get(uri)
            positions = self._documents.positions(uri)
            if snapshot is None or positions is None:
                return EditOutcome(status="stale", reason="the document was closed meanwhile")
            if not snapshot.in_sync:
                return EditOutcome(
                    status="refused",
                    reason="the editor sent changes that could not be followed, so its text is "
                    "not known; close the file and open it again",
                )
            if base_version is not None and version_of(snapshot.text) != base_version:
                return EditOutcome(status="stale", reason="the text changed meanwhile")
            replacements = sayable(snapshot.text, replacements)
            expected = apply_replacements(snapshot.text, replacements)
            if expected == snapshot.text:
                return _applied(expected)
            edits = [*text_edits(positions, replacements)]
            return await self._send(_Sent(snapshot, expected, edits), label)

    async def _send(self, sent: _Sent, label: str) -> EditOutcome:
        """Send the edit, wait for the editor, and judge the result by the document's text."""
        shown = self._wait_for(sent.before, sent.is_shown_in)
        typed = self._wait_for(sent.before, lambda now: now.text != sent.before.text)
        if sent.before.language_id == CELLS:
            asked = self._editor.apply_cells(sent.before.uri, sent.expected, label)
        else:
            asked = self._editor.apply_text(sent.before, sent.edits, label)
        reply = asyncio.ensure_future(asked)
        self._replies.add(reply)
        reply.add_done_callback(self._replies.discard)
        try:
            await _first([shown, reply])
            if not shown.done():
                # Most editors answer first; the text must follow soon.
                is_final = self._editor.stale_edit == "refused" and _answer(reply).said == "no"
                await _first([shown, typed] if is_final else [shown], timeout_s=self._show_s)
        finally:
            shown.cancel()
            typed.cancel()
        was_shown = shown.done() and not shown.cancelled() and shown.result() is not None
        return self._judged(sent, _answer(reply), was_shown=was_shown)

    def _wait_for(
        self, before: Snapshot, predicate: Callable[[Snapshot], bool]
    ) -> asyncio.Future[Snapshot | None]:
        # The caller cancels this; the limit only matters when the caller is gone.
        waiting = self._documents.wait_for(before.uri, predicate, timeout_s=3600)
        return asyncio.ensure_future(waiting)

    def _judged(self, sent: _Sent, answer: Reply, *, was_shown: bool) -> EditOutcome:
        """Return the outcome that the document's text proves; the editor's answer comes second."""
        now = self._documents.get(sent.before.uri)
        if now is None:
            return _unconfirmed("the document was closed while it was edited.")
        is_typed = now.in_sync and now.text != sent.before.text
        proof = sent.proof_in(now) if is_typed else "nothing"
        # Beside typing, the new text may be a copy that the user made. Then believe an editor that
        # says no, unless it has shown exactly the expected text.
        if was_shown or sent.is_shown_in(now) or (proof == "applied" and answer.said != "no"):
            return _applied(now.text)
        if answer.said == "no" and now.text == sent.before.text:
            why = f": {answer.reason}" if answer.reason else ""
            return EditOutcome(status="refused", reason=f"the editor refused the edit{why}")
        is_trusted = self._editor.stale_edit in ("skipped", "refused")
        is_left = answer.said == "no" and proof != "applied"
        if is_left or (is_trusted and proof == "untouched"):
            return EditOutcome(status="stale", reason="the text changed meanwhile")
        if not is_trusted and answer.said != "no" and now.revision != sent.before.revision:
            return self._misplaced(sent)
        shows = "still shows the old text" if now.text == sent.before.text else "shows another text"
        return _unconfirmed(f"the editor {_SAID[answer.said]} but {shows}.")

    def _misplaced(self, sent: _Sent) -> EditOutcome:
        """Warn that the editor may have applied the edit at its old place in a newer text."""
        path = uri_to_path(sent.before.uri)
        self._editor.say(
            "warning",
            f"{path.name if path else sent.before.uri}: you typed while the editor carried an edit "
            f"of the agent's out, which may have gone to wrong lines. Look at {sent.lines}.",
        )
        return _unconfirmed(
            f"the text had just changed, and the edit may have gone to wrong lines: see "
            f"{sent.lines}."
        )


def _applied(text: str) -> EditOutcome:
    return EditOutcome(status="applied", version=version_of(text), text=text)


def _unconfirmed(reason: str) -> EditOutcome:
    return EditOutcome(status="unconfirmed", reason=reason)


def _answer(reply: asyncio.Future[Reply]) -> Reply:
    return reply.result() if reply.done() else Reply("nothing")


async def _first(
    futures: Sequence[asyncio.Future[Snapshot | None] | asyncio.Future[Reply]],
    timeout_s: float | None = None,
) -> None:
    await asyncio.wait(futures, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
