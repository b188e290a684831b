"""Requests to the editor: edit, save, delete, move, show messages.

Owns the time limits and the differences between editors. Callers judge what an answer proves. Every
request ends, whatever the editor does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence

from lsprotocol import types

from agent_ls.lsp.connection.asking import ClientError, ClientRefused
from agent_ls.lsp.connection.clients import StaleEdit, brief
from agent_ls.lsp.connection.documents import Snapshot
from agent_ls.lsp.connection.language_server import AgentLanguageServer
from agent_ls.lsp.connection.limits import TO_CLIENT
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.lsp.wire import SaveParams
from agent_ls.lsp.workspace.editor_port import Level, Reply
from agent_ls.safety.text import visible, visible_line

_log = logging.getLogger(__name__)

_PENDING_EDIT_S = 3600.0
"""For an edit that waits as a code action."""
_AFTER_COMMAND_S = 1.5
"""Some editors take edits only within 2 s after a command; this leaves time for the way."""

_LEVELS = {
    "error": types.MessageType.Error,
    "warning": types.MessageType.Warning,
    "info": types.MessageType.Info,
    "log": types.MessageType.Log,
}

OfferEdit = Callable[[Snapshot, types.WorkspaceEdit, str], "asyncio.Future[Reply]"]


class EditorClient:
    """The editor, as the workspace and the presenters use it."""

    def __init__(self, server: AgentLanguageServer, offer_edit: OfferEdit) -> None:
        """``offer_edit`` offers an edit to the user as a code action."""
        self._server = server
        self._offer_edit = offer_edit
        self._last_command_s = -_AFTER_COMMAND_S
        self._has_refused_to_ask = False

    def command_came(self) -> None:
        """Record that the user ran a command: for a moment, every editor takes edits."""
        self._last_command_s = time.monotonic()

    async def apply_text(
        self, snapshot: Snapshot, edits: list[types.TextEdit], label: str
    ) -> Reply:
        """Edit one document; if the editor takes no edits now, offer a code action."""
        profile = self._server.profile
        edit = _workspace_edit([(snapshot, edits)], is_versioned=profile.document_changes)
        is_late = time.monotonic() - self._last_command_s > _AFTER_COMMAND_S
        if profile.edits == "after_command" and is_late:
            return await self._applied_by_hand(snapshot, edit, label)
        limit = TO_CLIENT[types.WORKSPACE_APPLY_EDIT]
        limit_s = limit.longest_s if profile.edits == "asks_user" else limit.limit_s
        reply = await self._apply(edit, label, limit_s)
        if profile.edits == "after_command" and reply.said == "no":
            return await self._applied_by_hand(snapshot, edit, label)
        return reply

    async def apply_cells(self, uri: str, expected: str, label: str) -> Reply:
        """Edit the cells of an open notebook so that its text is as expected."""
        edits = self._server.protocol.notebooks.edits(uri, expected)
        if isinstance(edits, str):
            return Reply("no", edits)
        is_versioned = self._server.profile.document_changes
        return await self._apply(_workspace_edit(edits, is_versioned=is_versioned), label)

    @property
    def stale_edit(self) -> StaleEdit:
        """What the editor does with an edit for an older text."""
        return self._server.profile.stale_edit

    def close(self) -> None:
        """End all pending requests to the editor."""
        self._server.protocol.questions.close()

    async def take_away(self, uri: str, new_uri: str | None) -> Reply:
        """Delete or move a file; ``nothing`` when the editor cannot or does not answer."""
        operation = "delete" if new_uri is None else "rename"
        if operation not in self._server.profile.file_operations:
            return Reply("nothing")
        change = types.DeleteFile(uri=uri) if new_uri is None else types.RenameFile(uri, new_uri)
        edit = types.WorkspaceEdit(document_changes=[change])
        return await self._apply(edit, f"Agent: {operation}")

    @property
    def saves(self) -> bool:
        """Whether the editor can be asked to save."""
        return self._server.profile.opted_in

    @property
    def follows_disk(self) -> bool:
        """Whether the editor itself shows that an open document's file changed or was deleted."""
        return self._server.profile.shows_gone

    async def save(self, uris: list[str]) -> bool:
        """Save documents; False when the editor cannot or fails."""
        if not self.saves:
            return False
        try:
            await self._server.ask_client("agent/save", SaveParams(uris=uris))
        except ClientError as error:
            _log.warning("saving failed: %s", error)
            return False
        return True

    async def refresh_lenses(self) -> None:
        """Ask the editor to request its code lenses again."""
        with contextlib.suppress(ClientError):
            await self._server.ask_client(types.WORKSPACE_CODE_LENS_REFRESH)

    async def refresh_diagnostics(self) -> None:
        """Ask the editor to request its diagnostics again."""
        with contextlib.suppress(ClientError):
            await self._server.ask_client(types.WORKSPACE_DIAGNOSTIC_REFRESH)

    async def create_progress(self, token: str) -> bool:
        """Create a progress token; False when the editor shows none or does not answer."""
        if not self._server.profile.progress:
            return False
        params = types.WorkDoneProgressCreateParams(token=token)
        try:
            await self._server.ask_client(types.WINDOW_WORK_DONE_PROGRESS_CREATE, params)
        except ClientError as error:
            _log.info("no progress: %s", error)
            return False
        return True

    @property
    def asks_choices(self) -> bool:
        """Whether the editor shows messages with buttons, as far as is known."""
        return self._server.profile.message_requests and not self._has_refused_to_ask

    async def choose(self, text: str, choices: list[str]) -> str | None:
        """Return the user's choice in a message box; None when dismissed or not supported."""
        if not self.asks_choices:
            return None
        params = types.ShowMessageRequestParams(
            type=types.MessageType.Info,
            message=_plain(text),
            actions=[types.MessageActionItem(title=one) for one in choices],
        )
        try:
            chosen = await self._server.ask_client(types.WINDOW_SHOW_MESSAGE_REQUEST, params)
        except ClientError as error:
            _log.info("no choice: %s", error)
            self._has_refused_to_ask = isinstance(error, ClientRefused)
            return None
        title = getattr(chosen, "title", None)
        return title if title in choices else None

    @property
    def shows_failures(self) -> bool:
        """Whether the editor itself shows a command's error."""
        return self._server.profile.opted_in or self._server.profile.shows_command_errors

    def say_failed(self, command: str, why: str) -> None:
        """Show a failed command's error in one line, unless the client shows it itself."""
        if not self.shows_failures:
            words = why if why.startswith(command) else f"{command}: {why}"
            self.say("error", visible_line(words))

    def confirm(self, text: str) -> None:
        """Say what a command did, unless the client has the panel, which shows it."""
        if not self._server.profile.opted_in:
            self.say("info", text)

    def say_brief(self, level: Level, text: str, short: str = "") -> None:
        """Show a message; where a long one blocks the editor, only its beginning; log the whole.

        ``short`` says the same in fewer words, to begin with; empty: ``text`` does.
        """
        characters = self._server.profile.message_characters
        shown = brief(text, characters)
        if shown != text:
            self.say("log", text)
            shown = brief(short or text, characters)
        self.say(level, shown)

    def say(self, level: Level, text: str) -> None:
        """Show a message, or write it to the client's log."""
        params = {"type": _LEVELS[level].value, "message": _plain(text)}
        shown = types.WINDOW_LOG_MESSAGE if level == "log" else types.WINDOW_SHOW_MESSAGE
        self._server.protocol.notify(shown, params)

    async def _applied_by_hand(
        self, snapshot: Snapshot, edit: types.WorkspaceEdit, label: str
    ) -> Reply:
        """Offer an edit, and apply it after the user's command; later ones come along with it."""
        while (reply := await self._offered(snapshot, edit, label)).said == "now":
            reply = await self._apply(edit, label)
            if reply.said != "no":
                break
        return reply

    async def _offered(self, snapshot: Snapshot, edit: types.WorkspaceEdit, label: str) -> Reply:
        offered = self._offer_edit(snapshot, edit, label)
        path = uri_to_path(snapshot.uri)
        name = path.name if path else snapshot.uri
        self.say("warning", f"{name}: an edit waits for the code action “Apply”.")
        try:
            async with asyncio.timeout(_PENDING_EDIT_S):
                return await offered
        except TimeoutError:
            return Reply("no", "nobody applied it")
        finally:
            offered.cancel()

    async def _apply(
        self, edit: types.WorkspaceEdit, label: str, limit_s: float | None = None
    ) -> Reply:
        shown_label = label if self._server.profile.shows_labels else None
        params = types.ApplyWorkspaceEditParams(edit=edit, label=shown_label)
        try:
            result = await self._server.ask_client(
                types.WORKSPACE_APPLY_EDIT, params, timeout_s=limit_s
            )
        except ClientRefused as error:
            return Reply("no", str(error))
        except ClientError as error:
            _log.info("no answer to an edit: %s", error)
            return Reply("nothing")
        return Reply("yes") if result.applied else Reply("no", result.failure_reason or "")


def _plain(text: str) -> str:
    """Return a text for a message box, which may hold the model's words and file names.

    Some editors render Markdown links in it, even links that run commands.
    """
    return visible(text).replace("](", "] (")


def _workspace_edit(
    edits: Sequence[tuple[Snapshot, list[types.TextEdit]]], *, is_versioned: bool
) -> types.WorkspaceEdit:
    if not is_versioned:
        return types.WorkspaceEdit(changes={snapshot.uri: found for snapshot, found in edits})
    changes = [
        types.TextDocumentEdit(
            types.OptionalVersionedTextDocumentIdentifier(snapshot.uri, snapshot.version), [*found]
        )
        for snapshot, found in edits
    ]
    return types.WorkspaceEdit(document_changes=changes)
