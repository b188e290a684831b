"""A small LSP client with real buffers.

An editor without a screen: it holds documents, applies edits with version checks, notifies the
server of changes, and keeps what the server shows (``connection``). It shares no code with the
server's document store, so that one cannot hide the other's mistakes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from tests.support.lsp_buffers import Buffer, common_ends, language_of
from tests.support.lsp_connection import LspConnection


class LspClient(LspConnection):
    """An editor connected to one server process."""

    def __init__(
        self,
        root: Path,
        *,
        capabilities: Mapping[str, Any],
        name: str = "agent-ls tests",
        initialization_options: Mapping[str, Any] | None = None,
        has_folder: bool = True,
    ) -> None:
        """``capabilities`` are those the editor declares."""
        super().__init__()
        self.root = root
        self.capabilities = capabilities
        self.name = name
        self.initialization_options = dict(initialization_options or {})
        self.has_folder = has_folder
        self.encoding = "utf-16"
        self.buffers: dict[str, Buffer] = {}
        self.server_capabilities: dict[str, Any] = {}

    async def start(
        self, command: Sequence[str], *, env: Mapping[str, str], log: Path
    ) -> dict[str, Any]:
        """Start and initialize the server; return its capabilities. Its stderr goes to ``log``."""
        await self.spawn(command, cwd=self.root, env=env, log=log)
        folders = [{"uri": self.root.as_uri(), "name": self.root.name}] if self.has_folder else None
        answer = await self.request(
            "initialize",
            {
                "processId": None,
                "clientInfo": self.client_info(),
                "rootUri": self.root.as_uri() if self.has_folder else None,
                "workspaceFolders": folders,
                "capabilities": self.capabilities,
                "initializationOptions": self.initialization_options,
            },
        )
        self.server_capabilities = answer["capabilities"]
        self.encoding = self.server_capabilities.get("positionEncoding") or "utf-16"
        await self.notify("initialized", {})
        return self.server_capabilities

    def client_info(self) -> dict[str, Any] | None:
        """Return the ``clientInfo``; None to send none."""
        return {"name": self.name}

    # Actions of the user.

    def uri(self, path: str) -> str:
        """Return the URI of a file below the root."""
        return (self.root / path).as_uri()

    async def open(self, path: str, language_id: str = "", text: str | None = None) -> Buffer:
        """Open a file, or a new buffer with this text."""
        if text is None:
            data = (self.root / path).read_bytes()
            text = data.decode("utf-8-sig")
        buffer = Buffer(self.uri(path), language_id or language_of(path), text, version=1)
        self.buffers[buffer.uri] = buffer
        await self.notify(
            "textDocument/didOpen",
            {
                "textDocument": {
                    "uri": buffer.uri,
                    "languageId": buffer.language_id,
                    "version": buffer.version,
                    "text": text,
                }
            },
        )
        return buffer

    async def change(self, uri: str, text: str) -> None:
        """Set the buffer's text, and send the smallest change to the server."""
        buffer = self.buffers[uri]
        before, after = buffer.text, text
        start, end = common_ends(before, after)
        change = {
            "range": {
                "start": buffer.place(start, self.encoding),
                "end": buffer.place(len(before) - end, self.encoding),
            },
            "text": after[start : len(after) - end],
        }
        buffer.text = after
        buffer.version += 1
        await self.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": uri, "version": buffer.version},
                "contentChanges": [change],
            },
        )

    async def save(self, uri: str) -> None:
        """Write a buffer to its file, and notify the server."""
        path = self.path_of(uri)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.buffers[uri].text.encode())
        await self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    async def close(self, uri: str) -> None:
        """Close a buffer; unsaved text is lost."""
        del self.buffers[uri]
        await self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def problems(self, uri: str) -> list[Any]:
        """Return the diagnostics that the editor shows in a document."""
        return self.shown.diagnostics.get(uri, [])

    async def code_actions(self, uri: str, line: int, last_line: int | None = None) -> list[Any]:
        """Return the code actions on lines (0-based); sends diagnostics along as editors do."""
        end = line if last_line is None else last_line
        known = [
            one
            for one in self.problems(uri)
            if one["range"]["start"]["line"] <= end and line <= one["range"]["end"]["line"]
        ]
        found = await self.request(
            "textDocument/codeAction",
            {
                "textDocument": {"uri": uri},
                "range": {
                    "start": {"line": line, "character": 0},
                    "end": {"line": end, "character": 0},
                },
                "context": {"diagnostics": known, "triggerKind": 1},
            },
        )
        return found or []

    async def execute(self, command: str, *arguments: Any) -> Any:
        """Run a command of the server."""
        params = {"command": command, "arguments": list(arguments)}
        return await self.request("workspace/executeCommand", params)

    async def choose(self, action: Mapping[str, Any]) -> Any:
        """Carry out a code action: its edit first, then its command."""
        if action.get("edit"):
            await self.apply_workspace_edit(action["edit"])
        command = action.get("command")
        if isinstance(command, str):
            return await self.execute(command, *action.get("arguments", ()))
        if command:
            return await self.execute(command["command"], *(command.get("arguments") or ()))
        return None

    async def _end(self) -> None:
        await super()._end()
        self.buffers.clear()

    # Requests from the server.

    async def answer(self, method: str, params: Any) -> Any:
        """Return the answer to a request of the server; override it for another kind of editor.

        Errors: ``LookupError`` for a method this editor does not know.
        """
        match method:
            case "workspace/applyEdit":
                return await self.apply_edit(params)
            case "workspace/configuration":
                return [None for _ in params["items"]]
            case "window/workDoneProgress/create" | "client/registerCapability":
                return None
            case "window/showMessageRequest":
                self.shown.messages.append(params)
                return None
            case "agent/save":
                return await self.save_all(params["uris"])
            case _:
                raise LookupError(method)

    async def apply_edit(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Apply an edit wholly, or refuse it when a document has changed."""
        stale = self.stale(params["edit"])
        if stale is not None:
            return {"applied": False, "failureReason": f"{stale} has changed in the meantime"}
        await self.apply_workspace_edit(params["edit"])
        return {"applied": True}

    def stale(self, edit: Mapping[str, Any]) -> str | None:
        """Return the first document whose version differs from the edit's."""
        for change in edit.get("documentChanges") or ():
            if "kind" in change:
                continue
            document = change["textDocument"]
            buffer = self.buffers.get(document["uri"])
            version = document.get("version")
            if buffer is not None and version is not None and version != buffer.version:
                return str(document["uri"])
        return None

    async def apply_workspace_edit(self, edit: Mapping[str, Any]) -> None:
        """Apply an edit's text changes and file operations."""
        changes = cast("dict[str, list[Any]]", edit.get("changes") or {})
        for uri, edits in changes.items():
            await self._apply_text(uri, edits)
        for change in edit.get("documentChanges") or ():
            match change.get("kind"):
                case "create":
                    path = self.path_of(change["uri"])
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.touch()
                case "rename":
                    await self._rename(change["oldUri"], change["newUri"])
                case "delete":
                    if change["uri"] in self.buffers:
                        await self.close(change["uri"])
                    self.path_of(change["uri"]).unlink()
                case _:
                    await self._apply_text(change["textDocument"]["uri"], change["edits"])

    async def save_all(self, uris: Sequence[str]) -> dict[str, Any]:
        """Save these buffers; return the URIs that are not open."""
        for uri in uris:
            if uri in self.buffers:
                await self.save(uri)
        return {"unsaved": [uri for uri in uris if uri not in self.buffers]}

    async def _apply_text(self, uri: str, edits: Sequence[Mapping[str, Any]]) -> None:
        if uri not in self.buffers:
            await self.open(str(self.path_of(uri)))
        await self.change(uri, self.buffers[uri].edited(edits, self.encoding))

    async def _rename(self, old: str, new: str) -> None:
        self.path_of(new).parent.mkdir(parents=True, exist_ok=True)
        self.path_of(old).rename(self.path_of(new))
        if old in self.buffers:
            text = self.buffers[old].text
            await self.close(old)
            await self.open(str(self.path_of(new).relative_to(self.root)), text=text)

    def path_of(self, uri: str) -> Path:
        """Return the file of a URI."""
        return Path(unquote(urlsplit(uri).path))
