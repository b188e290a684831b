"""A client that pulls its diagnostics: it gets the same marks, and none is pushed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.providers.scripted import ScriptedModel
from tests.support.raw_lsp import RawClient, raw_client

pytestmark = pytest.mark.e2e

_PULLS = {"diagnostic": {"dynamicRegistration": False}}
_REFRESH = "workspace/diagnostic/refresh"
_SCENARIO = """
[[answer]]
[[answer.call]]
tool = "edit_file"
arguments = { path = "a.py", edits = [{ old_string = "x = 1", new_string = "x = undefined_name" }] }
[[answer]]
text = "Done."
[[answer]]
text = "I leave it so."
[[answer]]
text = "I leave it so."
"""


async def _pulled(client: RawClient, uri: str, known: str | None = None) -> dict[str, Any]:
    more = {} if known is None else {"previousResultId": known}
    answer = await client.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}, **more})
    return answer["result"]


async def _workspace(client: RawClient, known: dict[str, str]) -> dict[str, dict[str, Any]]:
    ids = [{"uri": uri, "value": value} for uri, value in known.items()]
    answer = await client.ask("workspace/diagnostic", {"previousResultIds": ids})
    return {one["uri"]: one for one in answer["result"]["items"]}


async def _pulled_with(client: RawClient, uri: str, words: str) -> dict[str, Any]:
    """Pull after each refresh, as an editor does, until a message has these words."""
    count = 0
    while True:
        count += 1
        asked = await client.asked(_REFRESH, count)
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": None})
        report = await _pulled(client, uri)
        if any(words in one["message"] for one in report["items"]):
            return report


async def _allow(client: RawClient, uri: str) -> None:
    zero = {"line": 0, "character": 0}
    where = {"textDocument": {"uri": uri}, "range": {"start": zero, "end": zero}}
    menu = await client.ask("textDocument/codeAction", {**where, "context": {"diagnostics": []}})
    allow = next(one["command"] for one in menu["result"] if "Allow" in one["title"])
    await client.ask("workspace/executeCommand", allow)


async def test_marks_are_pulled_where_the_client_takes_no_others(tmp_path: Path) -> None:
    file = tmp_path / "work/a.py"
    file.parent.mkdir()
    file.write_text("x = 1\n")
    changed, opened = file.as_uri(), (tmp_path / "work/b.py").as_uri()
    places = {f"XDG_{one}_HOME": str(tmp_path / one) for one in ("CONFIG", "DATA", "STATE")}
    async with ScriptedModel(_SCENARIO) as model:
        told = {"MODEL": "openai/scripted", "API_BASE": model.base_url, "API_KEY": "x"}
        env = {**places, **{f"AGENT_LS_{name}": value for name, value in told.items()}}
        async with raw_client("-m", "agent_ls", "serve", env=env) as client:
            started = await client.initialize(
                {
                    "textDocument": _PULLS,
                    "workspace": {"diagnostics": {"refreshSupport": True}},
                },
                workspaceFolders=[{"uri": file.parent.as_uri(), "name": "work"}],
            )
            assert started["result"]["capabilities"]["diagnosticProvider"] == {
                "interFileDependencies": True,
                "workspaceDiagnostics": True,
            }
            document = {"uri": opened, "languageId": "python", "version": 1, "text": "y = 1\n"}
            client.notify("textDocument/didOpen", {"textDocument": document})
            first = await _pulled(client, opened)
            assert (first["kind"], first["items"]) == ("full", [])
            again = await _pulled(client, opened, first["resultId"])
            assert again == {"kind": "unchanged", "resultId": first["resultId"]}

            asked = {"command": "agent-ls.prompt", "arguments": ["Set x"]}
            await client.ask("workspace/executeCommand", asked)
            waiting = await _pulled_with(client, opened, "Edit a.py")
            found = await _workspace(client, {opened: waiting["resultId"], changed: "outdated"})
            assert (found[opened]["kind"], found[opened]["version"]) == ("unchanged", 1)
            assert (found[changed]["kind"], found[changed]["items"]) == ("full", [])

            await _allow(client, opened)
            report = await _pulled_with(client, changed, "undefined_name")
            assert (await _pulled(client, opened))["resultId"] == first["resultId"]
            found = await _workspace(client, {})
            assert found.keys() == {changed}
            assert found[changed]["items"] == report["items"]
            assert found[changed]["version"] is None
            assert not client.of("textDocument/publishDiagnostics")
            assert await client.leave() == 0


@pytest.mark.parametrize("declared", [{}, {"publishDiagnostics": {}, **_PULLS}])
async def test_a_client_that_takes_pushed_ones_is_offered_no_others(
    declared: dict[str, Any],
) -> None:
    async with raw_client("-m", "agent_ls", "serve") as client:
        started = await client.initialize({"textDocument": declared})
        assert "diagnosticProvider" not in started["result"]["capabilities"]
        assert await client.leave() == 0
