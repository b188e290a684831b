"""Messages that a client may send, and how one of them is bent; for `fuzz`.

What is sent names the things of a real session: the ids and URIs that the server has told.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent_ls.lsp.handlers.verbs import VERBS
from agent_ls.lsp.server import COMMANDS, FEATURES

NOT_SENT = {"agent-ls.prompt", "agent-ls.steer", "agent/prompt", "agent/steer"}
"""They start turns, of which one server has one."""

UNUSABLE_STORE = "/proc/no-store"
"""A folder that nobody can make."""

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
        "textDocument/completion": {**document, "position": where["end"]},
        "textDocument/documentLink": document,
        "documentLink/resolve": {"range": where, "data": {"agent-ls": {"turnId": "trn_1"}}},
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
        if name not in NOT_SENT
    ]
    return [one for one in (*told, *asked, *commands) if one[0] not in NOT_SENT]


def some_settings(place: Path, chance: random.Random) -> tuple[str, dict[str, Any]]:
    """Return settings: the text of the user's file, which may say all, and the editor's."""
    stores = [f"sqlite:///{place}/home/store-{number}.db" for number in range(3)]
    store = chance.choice(["", *stores, f"sqlite:///{UNUSABLE_STORE}/store.db"])
    sandbox = chance.choice(["auto", "off"])
    own = f'store_url = "{store}"\n[sandbox]\nuse = "{sandbox}"\n'
    told = {
        "marker": chance.choice(["agent:", "ai:", ""]),
        "model": chance.choice(["openai/scripted", "openai/other"]),
        "mode": chance.choice(["plan", "ask", "no mode"]),
    }
    return own, told


def change_of_folders(place: Path, chance: random.Random) -> dict[str, Any]:
    """Return that a folder beside the workspace was opened or closed, which may not be there."""
    folder = {"uri": (place / chance.choice(["home", "gone"])).as_uri(), "name": "beside"}
    added, removed = chance.choice([([folder], []), ([], [folder])])
    return {"event": {"added": added, "removed": removed}}


def odd(value: Any, chance: random.Random, names: Sequence[str] = ()) -> Any:
    """Return the value with one place in it that is odd, turned round, or one of `names`."""
    places = list(_places(value, ()))
    path = chance.choice(places)
    if not path:
        return chance.choice(ODD)
    changed = copy.deepcopy(value)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    match chance.randrange(5):
        case 0 if isinstance(inner, dict):
            del inner[path[-1]]
        case 1 if isinstance(inner.get("start") if isinstance(inner, dict) else None, dict):
            inner["start"], inner["end"] = inner["end"], inner["start"]
        case 2 if names:
            inner[path[-1]] = chance.choice(names)
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
