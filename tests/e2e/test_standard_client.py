"""The main job through pytest-lsp's client, which holds every message against the specification.

Few, because each starts a real server; what the surface does in detail is told in tests/markers.
"""

from __future__ import annotations

import ast
import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

from agent_ls.providers.scripted import ScriptedModel

pytestmark = pytest.mark.e2e

T = TypeVar("T")
WAIT_S = 60

SCENARIO = """
[[answer]]
text = "I look first."
[[answer.call]]
tool = "read_file"
arguments = { path = "app.py" }

[[answer]]
[[answer.call]]
tool = "edit_file"
arguments = { path = "app.py", edits = [{ old_string = "return 1", new_string = "return wrong" }] }

[[answer]]
text = "Done."

[[answer]]
expect = { last_contains = ["Undefined name"] }
[[answer.call]]
tool = "edit_file"
arguments = { path = "app.py", edits = [{ old_string = "return wrong", new_string = "return 2" }] }

[[answer]]
text = "It returns 2 now."
"""


class Editor:
    """What a test needs of an editor around pytest-lsp's client."""

    def __init__(self, client: LanguageClient, root: Path) -> None:
        self.client = client
        self.root = root
        self.text = ""
        self.version = 0
        self.uri = (root / "app.py").as_uri()

        @client.feature(types.WORKSPACE_APPLY_EDIT)
        def apply_edit(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            return types.ApplyWorkspaceEditResult(applied=self._apply(params.edit))

    def open(self) -> None:
        self.text = (self.root / "app.py").read_text()
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(
                types.TextDocumentItem(self.uri, types.LanguageKind.Python, 0, self.text)
            )
        )

    def _apply(self, edit: types.WorkspaceEdit) -> bool:
        for change in edit.document_changes or ():
            assert isinstance(change, types.TextDocumentEdit)
            if change.text_document.version not in (None, self.version):
                return False
            for one in reversed(change.edits):
                assert isinstance(one, types.TextEdit)
                self._replace(one)
        # A client that declares no versions of documents, as this Neovim does not, gets these.
        for one in reversed((edit.changes or {}).get(self.uri, ())):
            self._replace(one)
        self.version += 1
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(uri=self.uri, version=self.version),
                [types.TextDocumentContentChangeWholeDocument(self.text)],
            )
        )
        return True

    def _replace(self, edit: types.TextEdit) -> None:
        lines = self.text.splitlines(keepends=True)
        start, end = (
            sum(map(len, lines[: place.line])) + place.character
            for place in (edit.range.start, edit.range.end)
        )
        self.text = self.text[:start] + edit.new_text + self.text[end:]

    async def actions(self, line: int) -> list[types.CodeAction | types.Command]:
        place = types.Position(line, 0)
        found = await self.client.text_document_code_action_async(
            types.CodeActionParams(
                types.TextDocumentIdentifier(self.uri),
                types.Range(place, place),
                types.CodeActionContext(diagnostics=[]),
            )
        )
        return list(found or ())

    async def choose(self, line: int, title: str) -> None:
        titles = {one.title: one for one in await self.actions(line)}
        [chosen] = [name for name in titles if title in name] or [pytest.fail(str(list(titles)))]
        # lsprotocol takes an action that has a command for a bare command, and makes its command
        # an expression in text.
        command = ast.literal_eval(str(titles[chosen].command))
        await self.execute(command["command"], *command["arguments"])

    async def execute(self, command: str, *arguments: Any) -> Any:
        params = types.ExecuteCommandParams(command=command, arguments=list(arguments))
        return await self.client.workspace_execute_command_async(params)

    async def until(self, what: Callable[[], T]) -> T:
        """Look again and again: this client tells nobody when something comes."""
        async with asyncio.timeout(WAIT_S):
            while not (found := what()):  # noqa: ASYNC110 - there is no event to wait for
                await asyncio.sleep(0.02)
            return found

    def messages(self) -> list[str]:
        """Return what asks or is wrong; a change that is open is neither."""
        shown = self.client.diagnostics.get(self.uri, ())
        return [one.message for one in shown if one.code != "agent-change"]

    def ends(self) -> list[str]:
        values = (one for many in self.client.progress_reports.values() for one in many)
        return [one.message or "" for one in values if isinstance(one, types.WorkDoneProgressEnd)]


@pytest.fixture(params=["visual-studio-code", "neovim"])
async def editor(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Editor]:
    root = tmp_path / "work"
    root.mkdir()
    (root / "app.py").write_text("def number():\n    return 1\n")
    async with ScriptedModel(SCENARIO) as model:
        env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        env |= {
            f"XDG_{one}_HOME": str(tmp_path / one) for one in ("CONFIG", "DATA", "STATE", "CACHE")
        }
        env |= {"AGENT_LS_MODEL": "openai/scripted", "AGENT_LS_API_BASE": model.base_url}
        client = make_test_lsp_client()
        await client.start_io(sys.executable, "-m", "agent_ls", "serve", env=env)
        found = Editor(client, root)
        await client.initialize_session(
            types.InitializeParams(
                capabilities=client_capabilities(request.param),
                root_uri=root.as_uri(),
                workspace_folders=[types.WorkspaceFolder(root.as_uri(), "work")],
            )
        )
        yield found
        await client.shutdown_session()
        await client.stop()
        assert model.problems == []


@pytest.mark.smoke
async def test_a_prompt_asks_edits_fails_its_gate_and_mends_it(editor: Editor) -> None:
    editor.open()
    await editor.execute("agent-ls.prompt", "Return 2")
    await editor.until(lambda: any("The agent asks" in one for one in editor.messages()))
    hover = await editor.client.text_document_hover_async(
        types.HoverParams(types.TextDocumentIdentifier(editor.uri), types.Position(1, 0))
    )
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    assert "+    return wrong" in hover.contents.value
    await editor.choose(1, "Allow for this session")
    await editor.until(lambda: editor.ends())
    assert editor.text == "def number():\n    return 2\n"
    assert editor.ends() == ["completed: It returns 2 now."]
    assert editor.messages() == []
    assert (editor.root / "app.py").read_text() == "def number():\n    return 1\n"
    await editor.until(lambda: len(editor.client.messages) > 1)
    asked, ended = [one.message for one in editor.client.messages]
    assert asked == "The agent asks: Edit app.py"
    assert re.match("Done: It returns 2 now. … read .*[.]md$", ended)


async def test_stopping_withdraws_what_waits(editor: Editor) -> None:
    editor.open()
    await editor.execute("agent-ls.prompt", "Return 2")
    await editor.until(lambda: editor.messages())
    assert await editor.execute("agent-ls.stop") is True
    await editor.until(lambda: any(one.startswith("cancelled") for one in editor.ends()))
    await editor.until(lambda: not editor.messages())
    assert editor.text == "def number():\n    return 1\n"
    assert await editor.execute("agent-ls.stop") is False


async def test_what_cannot_be_done_is_answered_with_words(editor: Editor) -> None:
    for command, words in (
        ("agent-ls.prompt", "the prompt is empty"),
        ("agent-ls.session.resume", "was cut off"),
        ("agent-ls.nothing", "no command"),
    ):
        with pytest.raises(Exception, match=words):
            await editor.execute(command)
    titles = [one.title for one in await editor.actions(0)]
    assert titles == ["Open the conversation with the agent"]
