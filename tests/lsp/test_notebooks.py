"""Notebooks that the editor has open by their cells."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from agent_ls.domain.edits import ChangeText, Replacement
from agent_ls.edits.notebooks import parse_notebook
from agent_ls.loop.ports.workspace import Root
from agent_ls.lsp.connection.documents import DocumentStore
from agent_ls.lsp.connection.notebooks import FIXED, OpenNotebooks
from agent_ls.lsp.connection.saved_texts import SavedTexts
from agent_ls.lsp.workspace.editor_workspace import EditorWorkspace
from agent_ls.providers.scripted import ScriptedModel
from agent_ls.workspace.disk import DiskWorkspace
from tests.edits.test_notebooks import BASE, code, edited, markdown, notebook, pretty, sources
from tests.lsp.test_editor_workspace import Editor
from tests.support.raw_lsp import RawClient, raw_client


class Cells:
    """A notebook as VS Code has it open; it says what VS Code would say."""

    def __init__(self, file: Path) -> None:
        self.file, self.uri = file, file.as_uri()
        self.version = 1
        self.texts: list[tuple[str, str, str]] = []
        """URI, kind and text of each cell."""
        self._made = 0
        for kind, text in sources(file.read_text()):
            self.texts.append((self._name(), kind, text))

    def _name(self) -> str:
        self._made += 1
        return f"vscode-notebook-cell:{self.file}#W{self._made}sZmlsZQ%3D%3D"

    def opening(self) -> tuple[str, dict[str, Any]]:
        document = {"uri": self.uri, "notebookType": "jupyter-notebook", "version": self.version}
        cells = [self._cell(uri, kind) for uri, kind, _ in self.texts]
        texts = [self._text(*one) for one in self.texts]
        opened = {"notebookDocument": {**document, "cells": cells}, "cellTextDocuments": texts}
        return types.NOTEBOOK_DOCUMENT_DID_OPEN, opened

    def typing(self, index: int, text: str) -> tuple[str, dict[str, Any]]:
        uri, kind, _ = self.texts[index]
        self.texts[index] = uri, kind, text
        document = {"uri": uri, "version": self.version + 1}
        return self._changing(
            {"textContent": [{"document": document, "changes": [{"text": text}]}]}
        )

    def inserting(self, index: int, kind: str, text: str) -> tuple[str, dict[str, Any]]:
        one = self._name(), kind, text
        self.texts.insert(index, one)
        array = {"start": index, "deleteCount": 0, "cells": [self._cell(*one[:2])]}
        return self._changing({"structure": {"array": array, "didOpen": [self._text(*one)]}})

    def deleting(self, index: int) -> tuple[str, dict[str, Any]]:
        uri, _, _ = self.texts.pop(index)
        array = {"start": index, "deleteCount": 1}
        return self._changing({"structure": {"array": array, "didClose": [{"uri": uri}]}})

    def saving(self, written: str) -> tuple[str, dict[str, Any]]:
        self.file.write_bytes(written.encode())
        return types.NOTEBOOK_DOCUMENT_DID_SAVE, {"notebookDocument": {"uri": self.uri}}

    def closing(self) -> tuple[str, dict[str, Any]]:
        texts = [{"uri": uri} for uri, _, _ in self.texts]
        closed = {"notebookDocument": {"uri": self.uri}, "cellTextDocuments": texts}
        return types.NOTEBOOK_DOCUMENT_DID_CLOSE, closed

    def _changing(self, cells: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        self.version += 1
        document = {"uri": self.uri, "version": self.version}
        params = {"notebookDocument": document, "change": {"cells": cells}}
        return types.NOTEBOOK_DOCUMENT_DID_CHANGE, params

    @staticmethod
    def _cell(uri: str, kind: str) -> dict[str, Any]:
        return {"kind": 1 if kind == "markdown" else 2, "document": uri}

    @staticmethod
    def _text(uri: str, kind: str, text: str) -> dict[str, Any]:
        language = "python" if kind == "code" else kind
        return {"uri": uri, "languageId": language, "version": 1, "text": text}


class World:
    """An open notebook, and what the agent sees of it."""

    def __init__(self, root: Path, text: str) -> None:
        file = root / "a.ipynb"
        file.write_bytes(text.encode())
        self.file, self.cells = file, Cells(file)
        self.documents = DocumentStore()
        saved = SavedTexts(self.documents)
        self.notebooks = OpenNotebooks(self.documents)
        self.workspace = EditorWorkspace(
            DiskWorkspace([Root("work", root, is_trusted=True)]),
            self.documents,
            Editor(self.documents),
            saved,
        )
        self.follow(self.cells.opening())

    def follow(self, told: tuple[str, dict[str, Any]]) -> None:
        self.notebooks.follow(*told)

    async def check(self, text: str, *, is_dirty: bool) -> None:
        """Assert what is read, and that it is as the editor would save it."""
        file = await self.workspace.read("a.ipynb")
        assert file.text == text
        assert (file.is_open, file.is_dirty, file.has_fixed_cells) == (True, is_dirty, True)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path.resolve(), pretty(BASE))


async def test_an_open_notebook_is_the_file_with_the_texts_of_its_cells(world: World) -> None:
    await world.check(pretty(BASE), is_dirty=False)
    world.follow(world.cells.typing(2, "y = 3\nz"))
    changed = notebook(*BASE["cells"][:2], code("y = 3\nz"))
    await world.check(pretty(changed), is_dirty=True)
    world.follow(world.cells.inserting(0, "markdown", "# New\n"))
    added = notebook(markdown("# New\n"), *changed["cells"])
    await world.check(pretty(added), is_dirty=True)
    world.follow(world.cells.deleting(1))
    left = notebook(added["cells"][0], *added["cells"][2:])
    await world.check(pretty(left), is_dirty=True)
    world.follow(world.cells.closing())
    assert (await world.workspace.read("a.ipynb")).text == pretty(BASE)


async def test_what_the_editor_saves_is_the_file_from_then_on(world: World) -> None:
    world.follow(world.cells.typing(2, "y = 3"))
    run = notebook(*BASE["cells"][:2], code("y = 3", outputs=[{"text": "new"}]))
    written = json.dumps(run, indent=4)
    world.follow(world.cells.saving(written))
    await world.check(written, is_dirty=False)
    world.follow(world.cells.typing(2, "y = 4"))
    await world.check(written.replace("y = 3", "y = 4"), is_dirty=True)


async def test_line_ends_that_only_the_editor_shows_are_no_change(tmp_path: Path) -> None:
    crlf = {**code(""), "source": ["a\r\n", "b"]}
    world = World(tmp_path.resolve(), pretty(notebook(crlf)))
    world.follow(world.cells.typing(0, "a\nb"))
    await world.check(pretty(notebook(crlf)), is_dirty=False)


@pytest.mark.parametrize("text", ["", "{", '{"nbformat": 3, "worksheets": []}'])
async def test_a_file_that_is_no_notebook_stays_what_it_is(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.ipynb").write_text(pretty(notebook()))
    world = World(tmp_path.resolve(), pretty(notebook(code("a"))))
    world.follow(world.cells.closing())
    world.file.write_text(text)
    world.follow(world.cells.opening())
    file = await world.workspace.read("a.ipynb")
    assert (file.text, file.is_open) == (text, False)


async def test_an_edit_is_sent_as_edits_of_cells(world: World) -> None:
    expected = edited(edited(pretty(BASE), "text\n", "words\n"), "x = 1\n", "x = 2\n")
    found = world.notebooks.edits(world.cells.uri, expected)
    assert not isinstance(found, str)
    assert [(one.uri, edits) for one, edits in found] == [
        (world.cells.texts[0][0], [_edit(1, "text", "words")]),
        (world.cells.texts[1][0], [_edit(1, "1", "2", 4)]),
    ]
    for changed in (
        edited(pretty(BASE), "# %% [code] cell 3\ny = 2\n", ""),
        edited(pretty(BASE), "[code] cell 3", "[raw] cell 3"),
        pretty(BASE).replace("hi\\n", "ho\\n"),
    ):
        assert world.notebooks.edits(world.cells.uri, changed) == FIXED


def _edit(line: int, old: str, new: str, column: int = 0) -> types.TextEdit:
    ends = types.Position(line, column), types.Position(line, column + len(old))
    return types.TextEdit(types.Range(*ends), new)


async def test_an_edit_that_would_break_the_json_is_refused(world: World) -> None:
    file = await world.workspace.read("a.ipynb")
    replacement = Replacement(start=0, end=1, text="[")
    edit = ChangeText(path="a.ipynb", base_version=file.version, replacements=(replacement,))
    outcome = await world.workspace.apply(edit)
    assert outcome.status == "refused"
    assert "would no longer be a notebook" in outcome.reason
    world.follow(world.cells.closing())
    version = (await world.workspace.read("a.ipynb")).version
    outcome = await world.workspace.apply(edit.model_copy(update={"base_version": version}))
    assert outcome.status == "refused"
    assert world.file.read_text() == pretty(BASE)


async def test_typing_goes_on_while_the_file_is_away(world: World) -> None:
    for away in (None, "{ half"):
        if away is None:
            world.file.unlink()
        else:
            world.file.write_text(away)
        world.follow(world.cells.typing(2, f"y = {away}"))
        known = world.documents.get(world.cells.uri)
        assert known is not None
        assert sources(known.text)[2] == ("code", f"y = {away}")


async def test_a_cell_that_could_not_be_followed_is_out_of_step_until_sent_whole(
    world: World,
) -> None:
    world.follow(world.cells.typing(2, "y = '🙂'"))
    uri = world.cells.texts[2][0]
    half = {"line": 0, "character": 6}
    changes = [{"text": "x", "range": {"start": half, "end": half}}]
    document = {"uri": uri, "version": 9}
    told = {"textContent": [{"document": document, "changes": changes}]}
    with pytest.raises(ValueError, match="inside a character"):
        world.follow(world.cells._changing(told))
    with pytest.raises(ValueError, match="is not known"):
        world.follow(world.cells.typing(1, "z"))
    world.follow(world.cells.typing(2, "y = 2"))
    changed = notebook(BASE["cells"][0], code("z"), BASE["cells"][2])
    await world.check(pretty(changed), is_dirty=True)


def test_places_are_translated_both_ways(world: World) -> None:
    raw = pretty(BASE).split("\n")
    line = next(n for n, one in enumerate(raw) if '"x = 1"' in one)
    cell = world.cells.texts[1][0]
    where = {"line": 1, "character": 2}
    asked = {"textDocument": {"uri": cell}, "range": {"start": where, "end": where}}
    moved = {"line": line, "character": raw[line].index("x") + 2}
    assert world.notebooks.in_notebook(asked) == {
        "textDocument": {"uri": world.cells.uri},
        "range": {"start": moved, "end": moved},
    }
    arguments = [{"uri": cell, "line": 1, "last_line": 1, "text": "t"}, 3]
    assert world.notebooks.in_notebook({"command": "c", "arguments": arguments}) == {
        "command": "c",
        "arguments": [{"uri": world.cells.uri, "line": line, "last_line": line, "text": "t"}, 3],
    }
    # As clients name it.
    given = {"command": "c", "arguments": [{"uri": cell, "line": 1, "lastLine": 1}]}
    meant = [{"uri": world.cells.uri, "line": line, "lastLine": line}]
    assert world.notebooks.in_notebook(given)["arguments"] == meant
    told = [{"line": 1, "end_line": 1, "message": "m"}]
    context = {"arguments": [{"uri": cell, "context": {"diagnostics": told}}]}
    named = {"line": line, "end_line": line, "message": "m"}
    assert world.notebooks.in_notebook(context)["arguments"][0]["context"] == {
        "diagnostics": [named]
    }
    at = types.Position(line, 0), types.Position(line, 9)
    assert world.notebooks.cell_ranges(world.cells.uri, [types.Range(*at)]) == [
        (cell, types.Range(types.Position(1, 0), types.Position(1, 5)))
    ]
    found = parse_notebook(pretty(BASE))
    assert found.shown_lines(line, None) == (5, None)
    assert found.shown_lines(0, len(raw)) == (1, 7)


_DELETES = (
    '{ old_string = "y = 2\\n", new_string = "" }, '
    '{ old_string = "# %% [code] cell 3\\n", new_string = "" }'
)
_SCENARIO = f"""
[[answer]]
[[answer.call]]
tool = "read_file"
arguments = {{ path = "a.ipynb" }}
[[answer]]
[[answer.call]]
tool = "edit_file"
arguments = {{ path = "a.ipynb", edits = [{{ old_string = "x = 1", new_string = "x = 2" }}] }}
[[answer]]
[[answer.call]]
tool = "edit_file"
arguments = {{ path = "a.ipynb", edits = [{_DELETES}] }}
[[answer]]
text = "Done."
"""


@pytest.mark.e2e
async def test_a_turn_edits_and_undoes_by_cells(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "work"
    root.mkdir()
    file = root / "a.ipynb"
    file.write_text(pretty(BASE))
    cells = Cells(file)
    places = {f"XDG_{one}_HOME": str(tmp_path / one) for one in ("CONFIG", "DATA", "STATE")}
    async with ScriptedModel(_SCENARIO) as model:
        told = {"MODEL": "openai/scripted", "API_BASE": model.base_url, "API_KEY": "x"}
        env = {**places, **{f"AGENT_LS_{name}": value for name, value in told.items()}}
        async with raw_client("-m", "agent_ls", "serve", env=env) as client:
            workspace = {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}
            started = await client.initialize(
                {"workspace": workspace, "notebookDocument": {"synchronization": {}}},
                workspaceFolders=[{"uri": root.as_uri(), "name": "work"}],
            )
            sync = started["result"]["capabilities"]["notebookDocumentSync"]
            assert sync["notebookSelector"][0]["notebook"]["notebookType"] == "jupyter-notebook"
            client.notify(*cells.opening())
            editor = asyncio.create_task(_edit_cells(client, cells))
            await client.ask(
                "workspace/executeCommand", {"command": "agent-ls.prompt", "arguments": ["Set x"]}
            )
            cell = cells.texts[1][0]
            asking = await client.wait_for(lambda one: _diagnoses(one, cell, "Edit a.ipynb"))
            (asked,) = asking["params"]["diagnostics"]
            assert asked["range"]["start"] == {"line": 1, "character": 0}
            assert "+x = 2" in asked["message"]
            await _choose(client, cell, 1, "Allow")
            await client.wait_for(lambda one: _diagnoses(one, cell, "changed"))
            assert cells.texts[1][2] == 'print("é")\nx = 2'
            assert await _lenses(client, cell) == [(1, "Keep +1 -1"), (1, "Undo")]
            assert await _lenses(client, cells.texts[2][0]) == []
            assert file.read_text() == pretty(BASE)
            await client.wait_for(lambda _: len(model.requests) == 4)
            refused = json.dumps(model.requests[-1].body)
            assert "The user has it open as a notebook" in refused
            saved = pretty(BASE).replace("x = 1", "x = 2")
            client.notify(*cells.saving(saved))
            seen = len(client.received)
            client.notify(*cells.closing())
            gone = await client.wait_for(
                lambda one: _is_of(one, cell) and one["params"]["diagnostics"] == [], since=seen
            )
            client.notify(*cells.opening())
            await client.wait_for(
                lambda one: _diagnoses(one, cell, "changed"), since=client.received.index(gone)
            )
            await _choose(client, cell, 1, "ndo")
            await _until(lambda: cells.texts[1][2] == 'print("é")\nx = 1')
            assert file.read_text() == saved
            editor.cancel()
            assert await client.leave() == 0


async def _edit_cells(client: RawClient, cells: Cells) -> None:
    """Carry out edits of cells as VS Code does."""
    done = 0
    while True:
        asked = await client.asked("workspace/applyEdit", done + 1)
        done += 1
        for change in asked["params"]["edit"]["documentChanges"]:
            uri = change["textDocument"]["uri"]
            index = next(n for n, one in enumerate(cells.texts) if one[0] == uri)
            lines: list[Any] = [*cells.texts[index][2].split("\n")]
            for edit in reversed(change["edits"]):
                start, end = edit["range"]["start"], edit["range"]["end"]
                assert start["line"] == end["line"]
                line: str = lines[start["line"]]
                new = line[: start["character"]] + edit["newText"] + line[end["character"] :]
                lines[start["line"]] = new
            client.notify(*cells.typing(index, "\n".join(lines)))
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"applied": True}})


def _is_of(message: dict[str, Any], uri: str) -> bool:
    is_told = message.get("method") == "textDocument/publishDiagnostics"
    return is_told and message["params"]["uri"] == uri


def _diagnoses(message: dict[str, Any], uri: str, words: str) -> bool:
    return _is_of(message, uri) and any(
        words in one["message"] for one in message["params"]["diagnostics"]
    )


async def _lenses(client: RawClient, uri: str) -> list[tuple[int, str]]:
    answer = await client.ask("textDocument/codeLens", {"textDocument": {"uri": uri}})
    return [(one["range"]["start"]["line"], one["command"]["title"]) for one in answer["result"]]


async def _choose(client: RawClient, uri: str, line: int, words: str) -> None:
    where = {"line": line, "character": 0}
    asked = {"textDocument": {"uri": uri}, "range": {"start": where, "end": where}}
    answer = await client.ask("textDocument/codeAction", {**asked, "context": {"diagnostics": []}})
    chosen = next(one for one in answer["result"] if words in one["title"])
    command = chosen["command"]
    done = await client.ask(
        "workspace/executeCommand",
        {"command": command["command"], "arguments": command.get("arguments", [])},
    )
    assert "error" not in done


async def _until(holds: Any) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - the server's process makes it true
            await asyncio.sleep(0.05)
