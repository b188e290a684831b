"""An editor without a screen, for ``agent-ls demo``: pygls's client, with documents of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cattrs import Converter
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient
from pygls.protocol import default_converter
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

from agent_ls import __version__

TextEdit = lsp.TextEdit | lsp.AnnotatedTextEdit | lsp.SnippetTextEdit

_NAME = "agent-ls demo"
_OFFER_S = 30.0
_STOP_S = 20.0
_LANGUAGES = {".py": "python", ".ts": "typescript"}
_CAPABILITIES = lsp.ClientCapabilities(
    workspace=lsp.WorkspaceClientCapabilities(
        apply_edit=True,
        workspace_edit=lsp.WorkspaceEditClientCapabilities(document_changes=True),
    ),
    window=lsp.WindowClientCapabilities(work_done_progress=True),
    text_document=lsp.TextDocumentClientCapabilities(
        publish_diagnostics=lsp.PublishDiagnosticsClientCapabilities(),
        code_action=lsp.CodeActionClientCapabilities(
            code_action_literal_support=lsp.ClientCodeActionLiteralOptions(
                code_action_kind=lsp.ClientCodeActionKindOptions(
                    value_set=["quickfix", "refactor", "source"]
                )
            )
        ),
    ),
)


class ServerEnded(Exception):
    """The server's process ended in the middle of the demo."""


@dataclass(frozen=True)
class Progress:
    """A word of the progress that the server shows."""

    message: str
    is_end: bool


@dataclass(frozen=True)
class Problem:
    """A diagnostic that the server shows."""

    path: Path
    line: int
    """From 0."""
    source: str
    code: str
    message: str


class DemoEditor(LanguageClient):
    """An editor connected to one server process."""

    def __init__(self, root: Path) -> None:
        super().__init__(_NAME, __version__, converter_factory=_converter)
        self.root = root
        self.messages: list[str] = []
        self.edits = 0
        """How many ``workspace/applyEdit`` were carried out."""
        self._documents: dict[Path, TextDocument] = {}
        self._diagnostics: dict[Path, Sequence[lsp.Diagnostic]] = {}
        self._told: asyncio.Queue[Progress | Problem | None] = asyncio.Queue()
        self._logging: asyncio.Task[None] | None = None
        _register(self)

    async def begin(self, command: Sequence[str], *, env: Mapping[str, str], log: Path) -> None:
        """Start and initialize the server; its stderr goes to ``log``."""
        await self.start_io(  # pyright: ignore[reportUnknownMemberType] - pygls leaves it untyped
            *command, cwd=self.root, env=dict(env)
        )
        if self._server is None or self._server.stderr is None:
            raise RuntimeError("the server's process has no stderr")
        self._logging = asyncio.create_task(_copy(self._server.stderr, log))
        folder = lsp.WorkspaceFolder(uri=self.root.as_uri(), name=self.root.name)
        await self.initialize_async(
            lsp.InitializeParams(
                capabilities=_CAPABILITIES,
                client_info=lsp.ClientInfo(name=_NAME, version=__version__),
                root_uri=folder.uri,
                workspace_folders=[folder],
            )
        )
        self.initialized(lsp.InitializedParams())

    async def end(self) -> None:
        """Shut the server down; kill it if it does not end."""
        try:
            async with asyncio.timeout(_STOP_S):
                await self.shutdown_async(None)
                self.exit(None)
                await self.stop()
        except Exception:
            if self._server is not None and self._server.returncode is None:
                self._server.kill()
            with contextlib.suppress(Exception):
                await self.stop()
        if self._logging is not None:
            await self._logging

    async def next_shown(self, limit_s: float) -> Progress | Problem:
        """Return what the server showed next. Errors: ``ServerEnded``, ``TimeoutError``."""
        async with asyncio.timeout(limit_s):
            told = await self._told.get()
        if told is None:
            raise ServerEnded("the server ended")
        return told

    def text_of(self, path: Path) -> str:
        """Return the text of a document, which is opened first where it is not."""
        return self._opened(path).source

    def insert(self, path: Path, line: int, text: str) -> None:
        """Type text into a document, before a line counted from 0."""
        place = lsp.Position(line=line, character=0)
        edit = lsp.TextEdit(range=lsp.Range(start=place, end=place), new_text=text)
        self._change(self._opened(path), [edit])

    def save(self, path: Path) -> None:
        """Write a document to its file, and notify the server."""
        document = self._opened(path)
        path.write_bytes(document.source.encode())
        named = lsp.TextDocumentIdentifier(uri=document.uri)
        self.text_document_did_save(lsp.DidSaveTextDocumentParams(text_document=named))

    def save_all(self) -> None:
        """Save every document."""
        for path in self._documents:
            self.save(path)

    async def code_actions(self, path: Path, line: int) -> list[lsp.CodeAction]:
        """Return the code actions on a line; sends its diagnostics along as editors do."""
        place = lsp.Position(line=line, character=0)
        known = [
            one
            for one in self._diagnostics.get(path, ())
            if one.range.start.line <= line <= one.range.end.line
        ]
        found = await self.text_document_code_action_async(
            lsp.CodeActionParams(
                text_document=lsp.TextDocumentIdentifier(uri=path.as_uri()),
                range=lsp.Range(start=place, end=place),
                context=lsp.CodeActionContext(diagnostics=known),
            )
        )
        return [one for one in found or () if isinstance(one, lsp.CodeAction)]

    async def offered(self, path: Path, line: int, title: str) -> lsp.CodeAction:
        """Wait for a code action on a line whose title begins so. Errors: ``TimeoutError``."""
        async with asyncio.timeout(_OFFER_S):
            while True:
                for one in await self.code_actions(path, line):
                    if one.title.startswith(title):
                        return one
                await asyncio.sleep(0.1)

    async def choose(self, action: lsp.CodeAction) -> None:
        """Carry out the command of a code action."""
        if action.command is not None:
            await self.workspace_execute_command_async(
                lsp.ExecuteCommandParams(
                    command=action.command.command, arguments=action.command.arguments
                )
            )

    async def server_exit(self, server: asyncio.subprocess.Process) -> None:
        """Tell whoever waits that nothing more comes."""
        self._told.put_nowait(None)

    def show_diagnostics(self, uri: str, found: Sequence[lsp.Diagnostic]) -> None:
        """Take in the diagnostics of a document, in place of those before."""
        path = _path_of(uri)
        self._diagnostics[path] = found
        for one in found:
            line, code = one.range.start.line, str(one.code or "")
            self._told.put_nowait(Problem(path, line, one.source or "", code, one.message))

    def show_progress(self, value: Mapping[str, Any]) -> None:
        """Take in a word of progress."""
        message = str(value.get("message") or "")
        self._told.put_nowait(Progress(message, value.get("kind") == "end"))

    def apply(self, edit: lsp.WorkspaceEdit) -> lsp.ApplyWorkspaceEditResult:
        """Apply an edit wholly, or refuse it; this editor takes changes of texts alone."""
        changes: list[lsp.TextDocumentEdit] = []
        for change in edit.document_changes or ():
            if not isinstance(change, lsp.TextDocumentEdit):
                return _refused(f"this editor cannot {change.kind} files")
            path, version = _path_of(change.text_document.uri), change.text_document.version
            known = self._documents.get(path)
            if known is not None and version is not None and version != known.version:
                return _refused(f"{path.name} has changed in the meantime")
            changes.append(change)
        for change in changes:
            self._change(self._opened(_path_of(change.text_document.uri)), change.edits)
        self.edits += 1
        return lsp.ApplyWorkspaceEditResult(applied=True)

    def _opened(self, path: Path) -> TextDocument:
        if path in self._documents:
            return self._documents[path]
        uri, text = path.as_uri(), path.read_bytes().decode()
        document = TextDocument(uri, text, version=1)
        self._documents[path] = document
        language = _LANGUAGES.get(path.suffix, "plaintext")
        item = lsp.TextDocumentItem(uri=uri, language_id=language, version=1, text=text)
        self.text_document_did_open(lsp.DidOpenTextDocumentParams(text_document=item))
        return document

    def _change(
        self,
        document: TextDocument,
        edits: Sequence[TextEdit],
    ) -> None:
        # Each change counts on the text after those before it, so the last place comes first.
        placed = sorted(edits, key=lambda one: (one.range.start.line, one.range.start.character))
        changes = [
            lsp.TextDocumentContentChangePartial(range=one.range, text=_new_text(one))
            for one in reversed(placed)
        ]
        for change in changes:
            document.apply_change(change)
        document.version = (document.version or 0) + 1
        named = lsp.VersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
        self.text_document_did_change(
            lsp.DidChangeTextDocumentParams(text_document=named, content_changes=changes)
        )


def _converter() -> Converter:
    """Return pygls's converter; lsprotocol takes an action that has a command for a command."""
    converter = default_converter()

    def structure(value: Mapping[str, Any], _: object) -> lsp.Command | lsp.CodeAction:
        is_bare = isinstance(value.get("command"), str)
        return converter.structure(value, lsp.Command if is_bare else lsp.CodeAction)

    converter.register_structure_hook(lsp.Command | lsp.CodeAction, structure)
    return converter


def _register(editor: DemoEditor) -> None:
    """Register what the editor does when the server asks or tells something."""
    handlers: dict[str, Callable[[Any], object]] = {
        lsp.WORKSPACE_APPLY_EDIT: lambda params: editor.apply(params.edit),
        lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: lambda params: editor.show_diagnostics(
            params.uri, params.diagnostics
        ),
        lsp.PROGRESS: lambda params: editor.show_progress(params.value),
        lsp.WINDOW_SHOW_MESSAGE: lambda params: editor.messages.append(params.message),
        lsp.WINDOW_LOG_MESSAGE: lambda _: None,
        lsp.WINDOW_WORK_DONE_PROGRESS_CREATE: lambda _: None,
    }
    for name, handler in handlers.items():
        editor.feature(name)(handler)


async def _copy(stream: asyncio.StreamReader, log: Path) -> None:
    with log.open("ab") as file:
        while data := await stream.read(2**16):
            file.write(data)
            file.flush()


def _path_of(uri: str) -> Path:
    return Path(to_fs_path(uri) or "")


def _new_text(edit: TextEdit) -> str:
    return edit.snippet.value if isinstance(edit, lsp.SnippetTextEdit) else edit.new_text


def _refused(reason: str) -> lsp.ApplyWorkspaceEditResult:
    return lsp.ApplyWorkspaceEditResult(applied=False, failure_reason=reason)
