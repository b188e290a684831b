"""Another server behind ours: what the editor sees of both, and what a bad one can break.

Everything goes through a real server process; the other one is pyright or a program that
misbehaves on request.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from agent_ls.providers.scripted import ScriptedModel
from tests.support.raw_lsp import RawClient, raw_client

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
OTHER = ROOT / "tests/support/other_server.py"
PYRIGHT = ROOT / "tools/node/node_modules/.bin/pyright-langserver"
ZERO = {"line": 0, "character": 0}
HERE = {"start": ZERO, "end": ZERO}


@asynccontextmanager
async def beside(
    command: str, root: Path, *, env: Mapping[str, str] | None = None, **initialize: Any
) -> AsyncIterator[RawClient]:
    places = {f"XDG_{one}_HOME": str(root / "xdg" / one) for one in ("CONFIG", "DATA", "STATE")}
    work = root / "work"
    work.mkdir(exist_ok=True)
    async with raw_client(
        "-m", "agent_ls", "serve", "--beside", command, env={**places, **(env or {})}
    ) as client:
        await client.initialize(
            **{"workspaceFolders": [{"uri": work.as_uri(), "name": "work"}], **initialize}
        )
        yield client


def other(**how: Any) -> str:
    return shlex.join([sys.executable, str(OTHER), json.dumps(how)])


def started(client: RawClient) -> dict[str, Any]:
    return next(m for m in client.received if m.get("id") == 1)["result"]["capabilities"]


def opened(client: RawClient, uri: str, text: str) -> None:
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})


async def commands(client: RawClient) -> Any:
    """What ours answers to a command of its own: the proof that it is alive."""
    answer = await client.ask("workspace/executeCommand", {"command": "agent-ls.commands"})
    return answer["result"]


def said(client: RawClient) -> list[str]:
    return [m["params"]["message"] for m in client.of("window/showMessage")]


# Together with pyright.


async def test_pyright_behind_ours_is_as_if_it_were_alone(tmp_path: Path) -> None:
    if not PYRIGHT.exists():
        pytest.skip("make node-tools installs pyright")
    (tmp_path / "work").mkdir()
    file = tmp_path / "work/a.py"
    file.write_text('def f(x: int) -> int:\n    return x\n\n\nf("s")\n# agent: fix the call\n')
    uri, call = file.as_uri(), {"line": 4, "character": 0}
    async with beside(f"{shlex.quote(str(PYRIGHT))} --stdio", tmp_path) as client:
        capabilities = started(client)
        assert capabilities["completionProvider"]["triggerCharacters"]
        assert capabilities["renameProvider"]
        assert "agent-ls.prompt" in capabilities["executeCommandProvider"]["commands"]
        opened(client, uri, file.read_text())
        told = await client.asked("textDocument/publishDiagnostics")
        assert [one["source"] for one in told["params"]["diagnostics"]] == ["Pyright"]
        place = {"textDocument": {"uri": uri}, "position": call}
        assert "def f(x: int)" in json.dumps(await client.ask("textDocument/hover", place))
        used = await client.ask(
            "textDocument/references", {**place, "context": {"includeDeclaration": True}}
        )
        assert {one["range"]["start"]["line"] for one in used["result"]} >= {4}
        renamed = await client.ask("textDocument/rename", {**place, "newName": "g"})
        edits = renamed["result"]
        assert json.dumps(edits).count('"newText": "g"') == 2
        comment = {"start": {"line": 5, "character": 0}, "end": {"line": 5, "character": 0}}
        asked = {"textDocument": {"uri": uri}, "range": comment, "context": {"diagnostics": []}}
        actions = await client.ask("textDocument/codeAction", asked)
        assert any("agent" in one["title"].lower() for one in actions["result"])
        children = psutil.Process(client.process.pid).children(recursive=True)
        assert any("pyright-langserver" in " ".join(one.cmdline()) for one in children)
        assert await client.leave() == 0
        _, alive = psutil.wait_procs(children, timeout=5)
        assert not alive


# What is joined.

_ACTION = {"title": "Theirs", "kind": "quickfix"}
_DECLARED = {
    "textDocumentSync": 1,
    "hoverProvider": True,
    "codeActionProvider": True,
    "codeLensProvider": {"resolveProvider": True},
    "documentSymbolProvider": True,
    "executeCommandProvider": {"commands": ["other.run"]},
    "completionProvider": {},
    "documentLinkProvider": {},
}
_ANSWERS = {
    "textDocument/hover": {"contents": [{"language": "c", "value": "int x;"}, "words"]},
    "textDocument/codeAction": [_ACTION],
    "textDocument/documentSymbol": [{"name": "theirs"}],
    "textDocument/completion": [{"label": "theirs"}],
    "workspace/executeCommand": "their command",
}


async def test_each_request_is_answered_by_its_owner_or_by_both(tmp_path: Path) -> None:
    command = other(capabilities=_DECLARED, answers=_ANSWERS)
    async with beside(command, tmp_path) as client:
        capabilities = started(client)
        assert capabilities["textDocumentSync"]["change"] == 1, "only whole texts suit both"
        assert "codeActionKinds" not in capabilities["codeActionProvider"]
        assert capabilities["codeLensProvider"]["resolveProvider"] is True
        uri = (tmp_path / "work/a.py").as_uri()
        opened(client, uri, "x = 1\n# agent: do it\n")
        where = {"textDocument": {"uri": uri}}
        line = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 3}}
        asked = {**where, "range": line, "context": {"diagnostics": []}}
        titles = [
            a["title"] for a in (await client.ask("textDocument/codeAction", asked))["result"]
        ]
        assert "Theirs" in titles
        assert len(titles) > 1
        for method, wanted in (
            ("textDocument/hover", _ANSWERS["textDocument/hover"]),
            ("textDocument/completion", _ANSWERS["textDocument/completion"]),
            ("textDocument/documentSymbol", _ANSWERS["textDocument/documentSymbol"]),
        ):
            answer = await client.ask(method, {**where, "position": ZERO})
            assert answer["result"] == wanted, method
        run = await client.ask("workspace/executeCommand", {"command": "other.run"})
        assert run["result"] == "their command"
        assert await commands(client) is not None
        lenses = await client.ask("textDocument/codeLens", where)
        assert [one["command"]["title"] for one in lenses["result"]] == ["Run agent"]
        link = {"range": HERE, "data": 5}
        resolved = await client.ask("documentLink/resolve", link)
        assert resolved["result"] == link, "the other server resolves none"


async def test_a_conversation_is_nothing_to_the_other_server(tmp_path: Path) -> None:
    async with beside(other(capabilities=_DECLARED, answers=_ANSWERS), tmp_path) as client:
        uri = (tmp_path / "work/abc.agent-ls.md").as_uri()
        opened(client, uri, "# Conversation\n")
        symbols = await client.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
        assert symbols["result"] != _ANSWERS["textDocument/documentSymbol"]
        seen = await client.ask("test/seen")
        assert uri not in json.dumps(seen)


async def test_the_other_servers_options_and_settings_are_not_ours(tmp_path: Path) -> None:
    options = {"agent-ls": {"mode": "plan"}, "python": {"path": "p"}, "settings": {"odd": 1}}
    async with beside(other(), tmp_path, initializationOptions=options) as client:
        settings = {"settings": {"python": {"odd": 1}, "agent-ls": {"mode": "plan"}}}
        client.notify("workspace/didChangeConfiguration", settings)
        seen = (await client.ask("test/seen"))["result"]
        told = seen[0]["params"]["initializationOptions"]
        assert told == {"python": {"path": "p"}, "settings": {"odd": 1}}
        assert any(m.get("params") == settings for m in seen)
        await commands(client)
        assert said(client) == []


async def test_the_encoding_that_the_other_one_chooses_is_ours_too(tmp_path: Path) -> None:
    offers = {"general": {"positionEncodings": ["utf-32", "utf-7", "utf-8"]}}
    command = other(capabilities={"positionEncoding": "utf-8"})
    async with beside(command, tmp_path, capabilities=offers) as client:
        assert started(client)["positionEncoding"] == "utf-8"
        seen = (await client.ask("test/seen"))["result"]
        general = seen[0]["params"]["capabilities"]["general"]
        assert general["positionEncodings"] == ["utf-32", "utf-8"]


async def test_our_approvals_do_not_wait_for_a_slow_server(tmp_path: Path) -> None:
    late = {"textDocument/codeAction": 50}
    async with beside(other(capabilities=_DECLARED, late_s=late), tmp_path) as client:
        uri = (tmp_path / "work/a.py").as_uri()
        opened(client, uri, "# agent: do it\n")
        asked = {"textDocument": {"uri": uri}, "range": HERE, "context": {"diagnostics": []}}
        begun = asyncio.get_running_loop().time()
        answer = await client.ask("textDocument/codeAction", asked)
        assert answer["result"]
        assert asyncio.get_running_loop().time() - begun < 40
        assert await client.leave() == 0


# Requests of the other server.


async def test_questions_of_the_other_server_find_their_way_back(tmp_path: Path) -> None:
    async with beside(other(), tmp_path) as client:
        params = {"items": [{"section": "python"}]}
        how = {"ids": [1, "1", 2], "method": "workspace/configuration", "params": params}
        await client.ask("test/ask", how)
        await client.asked("workspace/configuration", 3)
        asked = [m for m in client.of("workspace/configuration") if m["params"] == params]
        assert len({m["id"] for m in asked}) == 3
        for number, message in enumerate(asked):
            client.send({"jsonrpc": "2.0", "id": message["id"], "result": [number]})
            client.send({"jsonrpc": "2.0", "id": message["id"], "result": ["again"]})
        seen = (await client.ask("test/seen"))["result"]
        answers = [(m["id"], m["result"]) for m in seen if "result" in m]
        assert answers == [(1, [0]), ("1", [1]), (2, [2])]


async def test_cancelling_goes_both_ways(tmp_path: Path) -> None:
    async with beside(other(), tmp_path) as client:
        client.notify("$/cancelRequest", {"id": 12345})
        await client.ask("test/ask", {"ids": [7], "method": "workspace/codeLens/refresh"})
        name = (await client.asked("workspace/codeLens/refresh"))["id"]
        told = {"method": "$/cancelRequest", "params": {"id": 7}}
        await client.ask("test/tell", told)
        assert (await client.asked("$/cancelRequest"))["params"] == {"id": name}
        seen = (await client.ask("test/seen"))["result"]
        assert any(m.get("params") == {"id": 12345} for m in seen)


# Bad ones.


@pytest.mark.parametrize("what", ["twice", "strange ids", "wrong length", "huge", "flood"])
async def test_a_bad_server_harms_nobody(tmp_path: Path, what: str) -> None:
    async with beside(other(capabilities=_DECLARED), tmp_path) as client:
        answer = await client.ask(f"test/{what}")
        assert "result" in answer
        await commands(client)
        ids = [m["id"] for m in client.received if "method" not in m]
        assert len(ids) == len(set(ids)), "each request is answered once"
        assert (await client.ask("test/seen"))["result"]
        assert await client.leave() == 0


async def test_while_the_editor_does_not_read_the_other_server_has_to_wait(tmp_path: Path) -> None:
    async with beside(other(), tmp_path) as client:
        client.stop_reading()
        client.start("test/flood")
        await asyncio.sleep(2)
        used = psutil.Process(client.process.pid).memory_info().rss
        assert used < 400 * 2**20
        client.read_again()
        await client.wait_for(lambda m: m.get("result") == "flooded")
        assert await commands(client) is not None


async def test_a_crash_is_told_once_and_ours_goes_on(tmp_path: Path) -> None:
    async with beside(other(capabilities=_DECLARED, answers=_ANSWERS), tmp_path) as client:
        uri = (tmp_path / "work/a.py").as_uri()
        problem = {"range": HERE, "message": "theirs"}
        published = {"uri": uri, "diagnostics": [problem]}
        told = {"method": "textDocument/publishDiagnostics", "params": published}
        await client.ask("test/tell", told)
        asked = {"ids": [1], "method": "window/workDoneProgress/create", "params": {"token": "t"}}
        await client.ask("test/ask", asked)
        waiting = client.start("test/crash")
        answer = await client.answer(waiting)
        assert "has ended with code 3" in answer["error"]["message"]
        await client.asked("$/progress")
        cleared = {**told, "params": {"uri": uri, "diagnostics": []}, "jsonrpc": "2.0"}
        await client.wait_for(lambda m: m == cleared)
        where = {"textDocument": {"uri": uri}, "position": ZERO}
        assert (await client.ask("textDocument/completion", where))["result"] is None
        assert (await client.ask("textDocument/documentSymbol", where))["result"] == []
        asked = {**where, "range": HERE, "context": {"diagnostics": []}}
        assert "result" in await client.ask("textDocument/codeAction", asked)
        await commands(client)
        assert len([words for words in said(client) if "has ended" in words]) == 1
        assert await client.leave() == 0


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("no-such-server --stdio", "no-such-server is not there: its program was not found"),
        ("", "the other server is not there"),
        (other(on_initialize="refuse"), "refused to start: no licence"),
        (other(on_initialize="crash"), "has ended with code 7"),
        (other(on_initialize="foreign encoding"), "counts columns in 'utf-7'"),
        (shutil.which("true") or "true", "has ended with code 0"),
    ],
)
async def test_without_the_other_server_ours_says_so_and_serves(
    tmp_path: Path, command: str, words: str
) -> None:
    options = {"python": {"odd": 1}}
    async with beside(command, tmp_path, initializationOptions=options) as client:
        assert "definitionProvider" not in started(client)
        await commands(client)
        assert [one for one in said(client) if words in one] == said(client)
        assert len(said(client)) == 1
        assert await client.leave() == 0


@pytest.mark.parametrize("how", ["nonsense", "noise"])
async def test_a_server_that_begins_badly_is_taken_as_it_is(tmp_path: Path, how: str) -> None:
    async with beside(other(on_initialize=how), tmp_path) as client:
        await commands(client)
        assert (await client.ask("test/seen"))["result"]


async def test_a_server_that_no_longer_reads_does_not_keep_the_editor(tmp_path: Path) -> None:
    async with beside(other(), tmp_path) as client:
        client.start("test/deaf")
        uri = (tmp_path / "work/a.py").as_uri()
        opened(client, uri, "x" * 2**20)
        await commands(client)
        children = psutil.Process(client.process.pid).children(recursive=True)
        assert await client.leave() == 0
        _, alive = psutil.wait_procs(children, timeout=5)
        assert not alive


# What the agent has of the other server.

_SCENARIO = """
[[answer]]
[[answer.call]]
tool = "references"
arguments = { name = "run" }
[[answer]]
text = "Done."
"""


@pytest.mark.story("another language server")
async def test_the_agent_finds_references_by_the_other_server_and_hears_its_diagnostics(
    tmp_path: Path,
) -> None:
    if not PYRIGHT.exists():
        pytest.skip("make node-tools installs pyright")
    (tmp_path / "work").mkdir()
    file = tmp_path / "work/a.py"
    # The second `run` is another thing of the same name.
    file.write_text("é = 1; run = 2\n\n\ndef f(run: str) -> str:\n    return run\n\n\nprint(run)\n")
    (tmp_path / "work/b.py").write_text("import a\n\nprint(a.run, a.nothing)\n")
    uri = (tmp_path / "work/b.py").as_uri()
    async with ScriptedModel(_SCENARIO) as model:
        told = {"MODEL": "openai/scripted", "API_BASE": model.base_url, "API_KEY": "x"}
        env = {f"AGENT_LS_{name}": value for name, value in told.items()}
        command = f"{shlex.quote(str(PYRIGHT))} --stdio"
        async with beside(command, tmp_path, env=env) as client:
            opened(client, uri, (tmp_path / "work/b.py").read_text())
            await client.asked("textDocument/publishDiagnostics")
            asked = {"command": "agent-ls.prompt", "arguments": ["Who uses run?"]}
            await client.ask("workspace/executeCommand", asked)
            await client.wait_for(
                lambda m: m.get("method") == "window/showMessage" and "Done" in json.dumps(m)
            )
            said_to_model = json.dumps([one.body for one in model.requests], ensure_ascii=False)
            assert "a.py:1:*" in said_to_model
            assert "a.py:8: print(run)" in said_to_model
            assert "b.py:3: print(a.run" in said_to_model
            assert "a.py:5" not in said_to_model, "another run"
            assert "more lines have the same name" in said_to_model
            assert "nothing" in said_to_model, "what pyright says of the file"


_RENAME = """
[[answer]]
[[answer.call]]
tool = "references"
arguments = { name = "run", path = "a.py", new_name = "walk" }
[[answer]]
text = "Done."
"""


@pytest.mark.parametrize(
    ("renames", "expected"),
    [
        pytest.param(True, ["-def run():", "+def walk():", "-a.run()", "+a.walk()"], id="a-patch"),
        pytest.param("twice", ["+def walk():", "+    return 'walk'"], id="a-file-twice"),
        pytest.param(False, ["No language server works beside"], id="not-offered"),
        pytest.param("file", ["would rename files as well"], id="files-too"),
        pytest.param("outside", ["outside the workspace"], id="outside"),
        pytest.param("nothing", ["does not rename run to walk"], id="nothing"),
    ],
)
async def test_the_agent_gets_a_renaming_by_the_other_server_as_a_patch(
    tmp_path: Path, renames: bool | str, expected: list[str]
) -> None:
    (tmp_path / "work").mkdir()
    a, b = tmp_path / "work/a.py", tmp_path / "work/b.py"
    a.write_text("é = 1\n\n\ndef run():\n    return 'run'\n")
    b.write_text("import a\n\na.run()\n")

    def edit(line: int, start: int) -> dict[str, Any]:
        at = [{"line": line, "character": column} for column in (start, start + 3)]
        return {"range": {"start": at[0], "end": at[1]}, "newText": "walk"}

    files: list[dict[str, Any]] = [
        {"textDocument": {"uri": one.as_uri(), "version": None}, "edits": [edit(line, start)]}
        for one, line, start in ((a, 3, 4), (b, 2, 2))
    ]
    again = {**files[0], "edits": [edit(4, 12)]}
    moved = {"kind": "rename", "oldUri": a.as_uri(), "newUri": b.as_uri()}
    answer = {
        "file": {"documentChanges": [*files, moved]},
        "twice": {"documentChanges": [*files, again]},
        "outside": {"changes": {(tmp_path / "c.py").as_uri(): [edit(0, 0)]}},
        "nothing": None,
    }.get(str(renames), {"documentChanges": files})
    command = other(
        capabilities={"renameProvider": bool(renames)}, answers={"textDocument/rename": answer}
    )
    async with ScriptedModel(_RENAME) as model:
        told = {"MODEL": "openai/scripted", "API_BASE": model.base_url, "API_KEY": "x"}
        env = {f"AGENT_LS_{name}": value for name, value in told.items()}
        async with beside(command, tmp_path, env=env) as client:
            asked = {"command": "agent-ls.prompt", "arguments": ["Call it walk"]}
            await client.ask("workspace/executeCommand", asked)
            await client.wait_for(
                lambda m: m.get("method") == "window/showMessage" and "Done" in json.dumps(m)
            )
            said_to_model = json.dumps([one.body for one in model.requests], ensure_ascii=False)
            for words in expected:
                assert words in said_to_model


_FIND = """
[[answer]]
[[answer.call]]
tool = "find_symbol"
arguments = { name = "Widget.spin" }
[[answer]]
text = "Done."
"""


@pytest.mark.parametrize(
    ("is_offered", "late_s", "expected"),
    [
        pytest.param(True, 0, "a.odd:2: Widget.spin: operation spin", id="asked"),
        pytest.param(True, 9, "Nothing is defined", id="too-late"),
        pytest.param(False, 0, "Nothing is defined", id="not-offered"),
    ],
)
async def test_the_agent_finds_definitions_by_the_other_server_where_no_parser_does(
    tmp_path: Path, expected: str, *, is_offered: bool, late_s: float
) -> None:
    (tmp_path / "work").mkdir()
    file = tmp_path / "work/a.odd"
    file.write_text("thing Widget\n  operation spin\n")
    at = {"line": 1, "character": 12}
    location = {"uri": file.as_uri(), "range": {"start": at, "end": at}}
    symbol = {"name": "spin", "kind": 6, "containerName": "Widget", "location": location}
    command = other(
        capabilities={"workspaceSymbolProvider": is_offered},
        answers={"workspace/symbol": [None, {"name": "spin"}, {**symbol, "name": "x"}, symbol]},
        late_s={"workspace/symbol": late_s},
    )
    async with ScriptedModel(_FIND) as model:
        told = {"MODEL": "openai/scripted", "API_BASE": model.base_url, "API_KEY": "x"}
        env = {f"AGENT_LS_{name}": value for name, value in told.items()}
        async with beside(command, tmp_path, env=env) as client:
            asked = {"command": "agent-ls.prompt", "arguments": ["Where is spin?"]}
            await client.ask("workspace/executeCommand", asked)
            await client.wait_for(
                lambda m: m.get("method") == "window/showMessage" and "Done" in json.dumps(m)
            )
            assert expected in json.dumps([one.body for one in model.requests])
