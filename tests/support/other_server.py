"""A language server as bad as a test wants it: what it does is named by the requests it gets.

Run as a program; its argument is JSON: `{"capabilities": {}, "on_initialize": ""}`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

HERE = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
FLOOD = 20_000


def read() -> Any:
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        length = int(line.partition(b":")[2])
    if not length:
        os._exit(0)
    return json.loads(sys.stdin.buffer.read(length))


def send(message: Any) -> None:
    body = json.dumps(message).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    sys.stdout.buffer.flush()


def notify(method: str, params: Any) -> None:
    send({"jsonrpc": "2.0", "method": method, "params": params})


def answer(message: Any, result: Any) -> None:
    send({"jsonrpc": "2.0", "id": message["id"], "result": result})


def problem(line: int, text: str) -> Any:
    at = {"line": line, "character": 0}
    return {"range": {"start": at, "end": at}, "message": text, "severity": 1, "source": "other"}


seen: list[Any] = []
"""Everything that came, for `test/seen`."""


def initialize(message: Any) -> None:
    match HERE.get("on_initialize"):
        case "refuse":
            error = {"code": -32603, "message": "no licence"}
            send({"jsonrpc": "2.0", "id": message["id"], "error": error})
        case "crash":
            os._exit(7)
        case "foreign encoding":
            answer(message, {"capabilities": {"positionEncoding": "utf-7"}})
        case "nonsense":
            answer(message, {"capabilities": {"textDocumentSync": {"change": "x"}, "a": [{}]}})
        case "noise":
            sys.stdout.buffer.write(b"Loading...\r\n\x00\xff\n")
            answer(message, {"capabilities": HERE.get("capabilities", {})})
        case _:
            answer(message, {"capabilities": HERE.get("capabilities", {})})


def crash(message: Any, params: Any) -> None:
    os._exit(3)


def answer_twice(message: Any, params: Any) -> None:
    answer(message, 1)
    answer(message, 2)


def use_strange_ids(message: Any, params: Any) -> None:
    for one in (None, 99, "x", 1.5, True, [1], {}, "beside:1", "agent-ls:1"):
        send({"jsonrpc": "2.0", "id": one, "result": "nobody asked"})
    send([])
    send({"jsonrpc": "2.0", "method": 5})
    answer(message, "good")


def be_huge(message: Any, params: Any) -> None:
    notify("window/logMessage", {"type": 4, "message": "x" * (70 * 2**20)})
    answer(message, "x" * (8 * 2**20))


def give_wrong_lengths(message: Any, params: Any) -> None:
    sys.stdout.buffer.write(b"Content-Length: 10\r\n\r\n{}Content-Length: 99999\r\n\r\n{")
    answer(message, "good")


def flood(message: Any, params: Any) -> None:
    for number in range(FLOOD):
        text = {"uri": "file:///f.py", "diagnostics": [problem(number, "y" * 500)]}
        notify("textDocument/publishDiagnostics", text)
    answer(message, "flooded")


def ask(message: Any, params: Any) -> None:
    for one in params["ids"]:
        method, told = params["method"], params.get("params")
        send({"jsonrpc": "2.0", "id": one, "method": method, "params": told})
    answer(message, None)


def tell(message: Any, params: Any) -> None:
    notify(params["method"], params["params"])
    answer(message, None)


def be_deaf(message: Any, params: Any) -> None:
    while True:
        time.sleep(1)


TRICKS = {
    "test/crash": crash,
    "test/seen": lambda message, params: answer(message, seen),
    "test/twice": answer_twice,
    "test/strange ids": use_strange_ids,
    "test/huge": be_huge,
    "test/wrong length": give_wrong_lengths,
    "test/flood": flood,
    "test/ask": ask,
    "test/tell": tell,
    "test/deaf": be_deaf,
}

while True:
    message = read()
    seen.append(message)
    method = message.get("method", "")
    if method == "exit":
        os._exit(0)
    elif method == "initialize":
        initialize(message)
    elif method in TRICKS:
        TRICKS[method](message, message.get("params"))
    elif method and "id" in message:
        time.sleep(HERE.get("late_s", {}).get(method, 0))
        answer(message, HERE.get("answers", {}).get(method))
