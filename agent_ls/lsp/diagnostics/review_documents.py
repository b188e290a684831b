"""Documents that show changes: a turn's diff, and both versions of a conflict.

A text is shown as an ``agent-ls:`` document if the client supports those, else as a file in the
user's state folder.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections import OrderedDict
from pathlib import Path
from urllib.parse import quote

import platformdirs
from lsprotocol import types

from agent_ls.domain.errors import AgentLsError
from agent_ls.edits.diff import diff_to_read
from agent_ls.lsp.connection.asking import ClientError
from agent_ls.lsp.connection.language_server import AgentLanguageServer
from agent_ls.lsp.connection.uris import path_to_uri
from agent_ls.lsp.workspace.editor import EditorClient
from agent_ls.review.file_changes import FileLedger
from agent_ls.review.steps import Clash
from agent_ls.safety.text import visible_line

_MOST = 50
"""Older documents are dropped."""
_MOST_NAME_BYTES = 100
"""Longer names keep their end, with a digest in front."""
_UNSAFE = re.compile(r"[^\w.+-]+")


class ReviewDocuments:
    """The documents of one editor."""

    def __init__(self, server: AgentLanguageServer, editor: EditorClient) -> None:
        self._server, self._editor = server, editor
        self._texts: OrderedDict[str, str] = OrderedDict()

    def text(self, uri: str) -> str | None:
        """Return the text of an ``agent-ls:`` document."""
        return self._texts.get(uri)

    async def show(self, name: str, text: str) -> None:
        """Show a text. If the client cannot, say where it is or why it could not be written."""
        try:
            uri = await self.keep(name, text)
        except AgentLsError as error:
            self._editor.say("warning", str(error))
            return
        # Some clients fail despite declaring showDocument.
        if not await self.go_to(uri, None):
            self._editor.say("info", f"It is shown in {place_of(uri)}")

    async def keep(self, name: str, text: str) -> str:
        """Keep a text as a document, and return its URI. Errors: ``AgentLsError``."""
        name = _file_name(name)
        profile = self._server.profile
        if not (profile.text_document_content and profile.show_document):
            place = platformdirs.user_state_path("agent-ls") / "review" / name
            try:
                await asyncio.to_thread(write_private, place, text)
            except OSError as error:
                words = f"It cannot be shown: {place}: {error.strerror}"
                raise AgentLsError(words) from error
            return path_to_uri(place)
        uri = f"agent-ls:/review/{quote(name)}"
        is_known = self._texts.pop(uri, None) is not None
        self._texts[uri] = text
        while len(self._texts) > _MOST:
            self._texts.popitem(last=False)
        if is_known:
            await self._ask(
                types.WORKSPACE_TEXT_DOCUMENT_CONTENT_REFRESH,
                types.TextDocumentContentRefreshParams(uri=uri),
            )
        return uri

    async def go_to(self, uri: str, where: types.Range | None) -> bool:
        """Open a document in the editor; False when the client cannot."""
        if not self._server.profile.show_document:
            return False
        params = types.ShowDocumentParams(uri=uri, take_focus=True, selection=where)
        return await self._ask(types.WINDOW_SHOW_DOCUMENT, params)

    async def _ask(self, method: str, params: object) -> bool:
        try:
            await self._server.ask_client(method, params)
        except ClientError:
            return False
        return True


def place_of(uri: str) -> str:
    """Return a URI as shown to the user: a file's path."""
    return uri.removeprefix("file://")


def file_diff(file: FileLedger, now: str | None) -> str:
    """Return a unified diff of a file from before the turn to now, including later typing.

    For a binary file: its kind and size before and after.
    """
    if file.images is not None:
        name = visible_line(file.path)
        return f"--- a/{name}\n+++ b/{name}\n({file.hunks[0].title})\n"
    return diff_to_read(file.base, now, file.moved_from or file.path, file.path)


def clash_text(clash: Clash, verb: str, *, is_partly_done: bool = False) -> str:
    """Return a conflict as a document: the version that was met against the wanted one.

    ``is_partly_done``: the file's other changes were decided about.
    """
    where = f"line {clash.line}" if clash.line else "the whole file"
    rest, now = "Nothing of the file was changed.", "the file as it is"
    if is_partly_done:
        rest, now = f"Its other changes went with the {verb}.", f"the file before the {verb}"
    return (
        f"{clash.path}: {verb} was not possible, {clash.reason} ({where}).\n"
        f"{rest} Below, - is {now} and + is the file as the {verb} alone would have it.\n\n"
        f"{diff_to_read(clash.now, clash.wanted, clash.path)}"
    )


def _file_name(name: str) -> str:
    """Return a file name that is valid on every system and unique per ``name``."""
    safe = _UNSAFE.sub("-", name)
    if safe == name and len(os.fsencode(safe)) <= _MOST_NAME_BYTES:
        return safe
    end = os.fsencode(safe)[-_MOST_NAME_BYTES:].decode(errors="ignore")
    return f"{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}-{end}"


def write_private(place: Path, text: str) -> None:
    """Write a file readable by this user only. Errors: ``OSError``."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with os.fdopen(os.open(place, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
