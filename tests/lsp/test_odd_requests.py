"""Odd but well-formed messages to a whole server: each is answered, none breaks anything in it."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import psutil
import pytest

from agent_ls.lsp.handlers.verbs import VERBS
from agent_ls.lsp.server import COMMANDS, FEATURES
from tests.support.raw_lsp import RawClient, raw_client

pytestmark = pytest.mark.e2e

FRAMES = 20_000
MOST_BYTES = 512 * 2**20
_BATCH = 200
_NOT_SENT = {"agent-ls.prompt", "agent-ls.steer", "agent/prompt", "agent/steer"}
"""They start turns, which would ask a model."""

ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    1.5,
    2**31,
    2**63,
    10**40,
    1e308,
    "",
    " ",
    "x",
    "\x00",
    "\ud800",
    "file://",
    "file:///",
    "file:///%00",
    "file:///%zz/%ff",
    "file://host/share/a.py",
    "file:///" + "a" * 5_000,
    "http://[",
    "untitled:1",
    "agent-ls:/review/none",
    "all",
    "trn_1",
    [],
    [[]],
    {},
    {"uri": ""},
    [None],
]


def _range(first: tuple[int, int], last: tuple[int, int]) -> dict[str, Any]:
    start, end = ({"line": line, "character": column} for line, column in (first, last))
    return {"start": start, "end": end}


def good_messages(uri: str) -> list[tuple[str, Any, bool]]:
    """Return what a client may say: method, params, whether it is a request."""
    document = {"textDocument": {"uri": uri, "version": 2, "languageId": "python", "text": "x\n"}}
    where = _range((0, 0), (1, 0))
    problem = {"range": where, "message": "wrong", "source": "other", "code": 1}
    requests: dict[str, Any] = {
        "textDocument/codeAction": {
            **document,
            "range": where,
            "context": {"diagnostics": [problem], "only": ["quickfix"], "triggerKind": 1},
        },
        "textDocument/codeLens": document,
        "textDocument/hover": {**document, "position": where["start"]},
        "workspace/textDocumentContent": {"uri": "agent-ls:/review/x"},
        "agent/review/decide": {"decision": "undo", "hunkIds": ["1"], "path": "a.py"},
        "agent/review/diff": {"turnId": "trn_1", "path": "a.py"},
        "agent/review/list": {"sessionId": None, "withText": True},
        "agent/approval/resolve": {"approvalId": "apr_1", "choice": "allow_once", "note": ""},
        "agent/question/resolve": {"questionId": "qst_1", "text": "yes"},
        "agent/config": {"mode": "ask", "model": "openai/x", "silence": "budget"},
        "agent/sessions/resume": {"sessionId": "ses_1", "continueTurn": False},
        "agent/snapshot": {"sessionId": None},
    }
    renamed = [{"oldUri": uri, "newUri": f"{uri}2", "uri": uri}]
    change = {"range": where, "rangeLength": 1, "text": "y"}
    folders = {"event": {"added": [{"uri": uri, "name": "n"}], "removed": [{"uri": uri}]}}
    notifications: dict[str, Any] = {
        "textDocument/didOpen": document,
        "textDocument/didChange": {**document, "contentChanges": [change]},
        "textDocument/didSave": {**document, "text": "x"},
        "textDocument/didClose": document,
        "workspace/didCreateFiles": {"files": renamed},
        "workspace/didRenameFiles": {"files": renamed},
        "workspace/didDeleteFiles": {"files": renamed},
        "workspace/didChangeWorkspaceFolders": folders,
        "workspace/didChangeConfiguration": {"settings": {"agent-ls": {"marker": "agent:"}}},
        "window/workDoneProgress/cancel": {"token": "t"},
        "agent/editorDiagnostics": {
            "uri": uri,
            "diagnostics": [{"line": 0, "endLine": 0, "message": "m", "source": "s"}],
        },
        "$/cancelRequest": {"id": 1},
        "$/setTrace": {"value": "off"},
    }
    served = [*FEATURES, *(one.method for one in VERBS if one.method)]
    requests |= {one: {} for one in served if one not in requests and one not in notifications}
    told = [(method, params, False) for method, params in notifications.items()]
    asked = [(method, params, True) for method, params in requests.items()]
    place = {"uri": uri, "line": 0, "lastLine": 1, "turnId": "trn_1"}
    commands: list[tuple[str, Any, bool]] = [
        ("workspace/executeCommand", {"command": name, "arguments": [one, "x"][:count]}, True)
        for name in COMMANDS
        for one in (place, "ses_1")
        for count in (0, 1, 2)
        if name not in _NOT_SENT
    ]
    return [one for one in (*told, *asked, *commands) if one[0] not in _NOT_SENT]


def odd(value: Any, chance: random.Random) -> Any:
    """Return the value with one place in it that is odd, or turned round."""
    places = list(_places(value, ()))
    path = chance.choice(places)
    if not path:
        return chance.choice(ODD)
    changed = copy.deepcopy(value)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    match chance.randrange(4):
        case 0 if isinstance(inner, dict):
            del inner[path[-1]]
        case 1 if isinstance(inner.get("start") if isinstance(inner, dict) else None, dict):
            inner["start"], inner["end"] = inner["end"], inner["start"]
        case _:
            inner[path[-1]] = copy.deepcopy(chance.choice(ODD))
    return changed


def _places(value: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        for key, one in value.items():
            found += _places(one, (*path, key))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            found += _places(one, (*path, index))
    return found


async def check(folder: Path, seed: int, frames: int) -> None:
    """Send so many odd messages to one server; none is its mistake, and it stays small."""
    work = folder / "work"
    work.mkdir()
    (work / "a.py").write_text("x = 1\n# agent: do it\n")
    env = {f"XDG_{name}_HOME": str(folder / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    env |= {"AGENT_LS_MODEL": "openai/none", "AGENT_LS_API_BASE": "http://127.0.0.1:9/v1"}
    chance = random.Random(seed)
    good = good_messages((work / "a.py").as_uri())
    async with raw_client("-m", "agent_ls", "serve", env=env) as client:
        await client.initialize(
            {"experimental": {"agent": {"version": 1}}},
            rootUri=work.as_uri(),
            initializationOptions={"agent": {"version": 1}},
        )
        server = psutil.Process(client.process.pid)
        for first in range(0, frames, _BATCH):
            asked = [_say(client, *chance.choice(good), chance) for _ in range(_BATCH)]
            for one in asked:
                if one is not None:
                    answer = await client.answer(one[0], 60)
                    code = answer.get("error", {}).get("code")
                    assert code != -32603, (one, answer, client.stderr[-3000:].decode())
            # What was read is not looked through again for the answers of the next ones.
            client.received.clear()
            if first % (10 * _BATCH) == 0:
                assert b"Traceback" not in client.stderr, client.stderr[-5000:].decode()
                assert server.memory_info().rss < MOST_BYTES
        assert client.stray == b""
        assert await client.leave() == 0
        assert b"Traceback" not in client.stderr, client.stderr[-5000:].decode()


def _say(
    client: RawClient, method: str, params: Any, is_request: bool, chance: random.Random
) -> tuple[int, str, Any] | None:
    """Send a message that is odd most of the time; return what is to be answered."""
    if chance.random() < 0.95:
        params = odd(params, chance)
        if method == "workspace/executeCommand" and isinstance(params, dict):
            command = params.get("command")
            if isinstance(command, str) and command in _NOT_SENT:
                return None
    if is_request:
        return client.start(method, params), method, params
    client.notify(method, params)
    return None


async def test_no_odd_message_is_a_mistake_of_the_server(tmp_path: Path) -> None:
    await check(tmp_path, 1, FRAMES)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 7))
async def test_no_odd_message_of_many_is_a_mistake_of_the_server(tmp_path: Path, seed: int) -> None:
    await check(tmp_path, seed, 3 * FRAMES)
