"""Sends a real server frames that nobody should send, bytes and states alike.

A server is in the middle of a turn that waits for an approval. It gets good messages, bent ones,
broken bytes, answers to questions it never asked, and answers to its own that no editor would give.
Settings and workspace folders change again and again: the store, the sandbox, the model.
Between them good requests have to be answered within a second, and none of the bent ones may be
a mistake of the server's. A request that needs the store may be told to come again while it opens.
After some thousand frames a new server takes over.

    python -m benchmarks.fuzz [FRAMES] [--seed N] [--json]

exits with 1 when a server died, made a mistake, left a good request alone, or grew over 512 MB with
all that it started.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from agent_ls.providers.scripted import ScriptedModel
from benchmarks.figures import Figure, finish, quantile
from benchmarks.machine import private_environment, resident_bytes_of_tree
from benchmarks.odd_messages import (
    NOT_SENT,
    UNUSABLE_STORE,
    change_of_folders,
    good_messages,
    odd,
    some_settings,
)
from benchmarks.places import AGENT_LS, REPOSITORY

MOST_BYTES = 512 * 2**20
GOOD_S = 1.0
_FRAMES_OF_ONE = 20_000
_BATCH = 50
_CHANGED_EVERY = 5
"""Batches from one change of settings or folders to the next."""
_COME_AGAIN = {-32801, -32802}
"""ContentModified and ServerCancelled: the answer while the store opens under other settings."""
_FOLDERS_SHARE = 0.25
_DEAD_S = 60.0
_NAMES = re.compile(
    r"\b(?:apr|qst|ses|trn|call|cal|stp|evt)_\w+|file://[^\s\"')]+|agent-ls:[^\s\"')]+"
)
_MOST_NAMES = 200
_SCENARIO = """
[[answer]]
[[answer.call]]
tool = "edit_file"
arguments = { path = "a.py", old_string = "x = 1", new_string = "x = 2" }
[[answer]]
[[answer.call]]
tool = "run_command"
arguments = { command = "touch made" }
[[answer]]
text = "Done."
"""


@dataclass
class Tally:
    """What was seen so far; the sentences say what went wrong."""

    frames: int = 0
    servers: int = 0
    peak_bytes: int = 0
    """Of the server and all that it started."""
    changes: int = 0
    put_off: int = 0
    """Good requests that were told to come again."""
    good_s: list[float] = field(default_factory=list[float])
    deaths: list[str] = field(default_factory=list[str])
    mistakes: list[str] = field(default_factory=list[str])
    late: list[str] = field(default_factory=list[str])
    duration_s: float = 0.0

    @property
    def wrong(self) -> list[str]:
        return [*self.deaths, *self.mistakes, *self.late]

    def figures(self) -> list[Figure]:
        return [
            Figure("frames", self.frames),
            Figure("servers", self.servers),
            Figure("changes of settings and folders", self.changes),
            Figure("good requests", len(self.good_s)),
            Figure("good requests told to come again", self.put_off),
            Figure("good request: p99", quantile(self.good_s, 0.99), "s"),
            Figure("good request: longest", max(self.good_s), "s"),
            Figure("good requests unanswered after 1 s", len(self.late), goal=0),
            Figure("deaths", len(self.deaths), goal=0),
            Figure("mistakes of the server", len(self.mistakes), goal=0),
            Figure("memory at most", self.peak_bytes / 2**20, "MB", goal=MOST_BYTES / 2**20),
            Figure("duration", self.duration_s, "s"),
        ]


class Server:
    """One server process, and an editor that answers its requests as it likes."""

    def __init__(
        self, process: asyncio.subprocess.Process, chance: random.Random, place: Path
    ) -> None:
        self.process = process
        self.place = place
        """What the server has as its home, with the workspace beside it."""
        self.names: deque[str] = deque(maxlen=_MOST_NAMES)
        """Ids and URIs that the server has told, newest last."""
        self.stderr = b""
        self.mistakes: list[str] = []
        self._chance = chance
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._number = 1_000_000
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._read_errors())]

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def send(self, message: Any) -> None:
        self.write(framed(message))

    def notify(self, method: str, params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, params: Any, limit_s: float = _DEAD_S) -> Any:
        """Return the answer to a good request.

        Errors: ``TimeoutError``; ``EOFError`` when the server has ended.
        """
        self._number += 1
        number = self._number
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            assert self.process.stdin is not None
            await self.process.stdin.drain()
            async with asyncio.timeout(limit_s):
                return await answer
        finally:
            self._waiting.pop(number, None)

    async def end(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        await asyncio.gather(*self._tasks)

    async def _read(self) -> None:
        assert self.process.stdout is not None
        buffer = bytearray()
        while data := await self.process.stdout.read(1 << 18):
            buffer += data
            while (head := buffer.find(b"\r\n\r\n")) >= 0:
                stop = head + 4 + int(buffer[:head].rpartition(b":")[2])
                if len(buffer) < stop:
                    break
                body = bytes(buffer[head + 4 : stop])
                del buffer[:stop]
                self._take(json.loads(body), body)
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(EOFError("the server has ended"))

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(1 << 16):
            self.stderr = (self.stderr + data)[-20_000:]
            if b"Traceback" in data:
                self.mistakes.append(self.stderr.decode(errors="replace")[-3_000:])

    def _take(self, message: dict[str, Any], body: bytes) -> None:
        if len(body) < 20_000:
            self.names.extend(_NAMES.findall(body.decode(errors="replace"))[:5])
        if "method" in message:
            if "id" in message:
                self._answer_oddly(message)
            return
        if message.get("error", {}).get("code") == -32603:
            self.mistakes.append(str(message))
        answer = self._waiting.get(message.get("id", 0)) if type(message.get("id")) is int else None
        if answer is not None and not answer.done():
            answer.set_result(message)

    def _answer_oddly(self, message: dict[str, Any]) -> None:
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        match self._chance.randrange(7):
            case 0:
                return
            case 1:
                self.send({**reply, "error": {"code": -32601, "message": "no"}})
            case 2:
                self.send({**reply, "error": "broken"})
            case 3:
                self.send({**reply, "result": odd({"applied": True}, self._chance)})
            case 4:
                self.send({**reply, "result": {"applied": False}})
            case _:
                self.send({**reply, "result": {"applied": True}})
                self.send({**reply, "result": None})


def framed(message: Any) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def broken(frame: bytes, chance: random.Random) -> bytes:
    """Return bytes that are no good frame."""
    place = chance.randrange(len(frame))
    match chance.randrange(8):
        case 0:
            return frame[:place]
        case 1:
            return frame[:place] + bytes([chance.randrange(256)]) + frame[place + 1 :]
        case 2:
            return frame[:place] + chance.randbytes(chance.randrange(1, 30)) + frame[place:]
        case 3:
            length = chance.choice(
                [b"0", b"-1", b"5", b"99999999999999999999", b"1e3", b"", b"67108865"]
            )
            return re.sub(rb"\d+", length, frame, count=1)
        case 4:
            return frame[: frame.find(b"\r\n")] + b"\r\nContent-Type: x; charset=y\r\n" + frame
        case 5:
            return frame.replace(b"\r\n\r\n", b"\n\n", 1)
        case 6:
            return chance.randbytes(chance.randrange(1, 400))
        case _:
            return framed([json.loads(frame.partition(b"\r\n\r\n")[2])] * 2)


async def fuzz(frames: int, seed: int, *, frames_of_one: int = _FRAMES_OF_ONE) -> Tally:
    """Send so many frames, to one server after the other."""
    tally, chance = Tally(), random.Random(seed)
    begun = time.monotonic()
    while tally.frames < frames:
        with tempfile.TemporaryDirectory(prefix="agent-ls-fuzz-") as place:
            async with ScriptedModel(_SCENARIO) as model:
                await _one(
                    Path(place),
                    model.base_url,
                    chance,
                    tally,
                    min(frames_of_one, frames - tally.frames),
                )
        tally.duration_s = time.monotonic() - begun
        sys.stderr.write(f"{tally.frames} frames, wrong: {len(tally.wrong)}\n")
    return tally


async def _one(place: Path, model: str, chance: random.Random, tally: Tally, frames: int) -> None:
    work = place / "work"
    work.mkdir()
    (work / "a.py").write_text("x = 1\n# agent: do it\n")
    uri = (work / "a.py").as_uri()
    told = {
        "AGENT_LS_MODEL": "openai/scripted",
        "AGENT_LS_API_BASE": model,
        "AGENT_LS_API_KEY": "x",
    }
    process = await asyncio.create_subprocess_exec(
        *AGENT_LS,
        "serve",
        cwd=work,
        env=private_environment(place / "home", {**told, "PYTHONPATH": str(REPOSITORY)}),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    server = Server(process, chance, place)
    tally.servers += 1
    try:
        await _begin(server, work, uri)
        for first in range(0, frames, _BATCH):
            _send_batch(server, uri, chance)
            if first % (_CHANGED_EVERY * _BATCH) == 0:
                _change(server, chance, tally)
            tally.frames += _BATCH
            await _probe(server, uri, tally)
            if first % (20 * _BATCH) == 0:
                _weigh(server, tally)
        _weigh(server, tally)
        await server.ask("shutdown", None)
        server.notify("exit", None)
        if (code := await asyncio.wait_for(process.wait(), 10)) != 0:
            tally.deaths.append(f"ended with code {code}")
    except (EOFError, TimeoutError, ConnectionError) as error:
        words = server.stderr.decode(errors="replace")[-2_000:]
        tally.deaths.append(f"frame {tally.frames}: {error!r}\n{words}")
    finally:
        await server.end()
        tally.mistakes += server.mistakes


async def _begin(server: Server, work: Path, uri: str) -> None:
    agent = {"agent": {"version": 1}}
    capabilities = {
        "experimental": agent,
        "workspace": {
            "applyEdit": True,
            "configuration": True,
            "codeLens": {"refreshSupport": True},
        },
        "window": {"workDoneProgress": True, "showDocument": {"support": True}},
    }
    root = {"rootUri": work.as_uri(), "capabilities": capabilities, "initializationOptions": agent}
    # What comes before `initialize` is refused or ignored.
    server.write(b"noise\r\n")
    server.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "text": "y"}})
    await server.ask("textDocument/hover", {})
    await server.ask("initialize", {"processId": None, **root})
    server.notify("initialized", {})
    text = (work / "a.py").read_text()
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    server.notify("textDocument/didOpen", {"textDocument": document})
    await server.ask(
        "workspace/executeCommand", {"command": "agent-ls.prompt", "arguments": ["Do it"]}
    )


def _send_batch(server: Server, uri: str, chance: random.Random) -> None:
    good, names = good_messages(uri), list(server.names)
    for _ in range(_BATCH):
        method, params, is_request = chance.choice(good)
        if chance.random() < 0.75:
            params = odd(params, chance, names)
        if isinstance(params, dict) and str(params.get("command")) in NOT_SENT:
            continue
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if is_request:
            message["id"] = chance.choice([chance.randrange(1, 1_000_000), f"s{chance.random()}"])
        match chance.randrange(20):
            case 0 | 1 | 2:
                server.write(broken(framed(message), chance))
            case 3:
                server.send(odd(message, chance, names))
            case 4:
                server.send(
                    {"jsonrpc": "2.0", "id": chance.randrange(50), "result": odd([], chance)}
                )
            case 5:
                server.notify("$/cancelRequest", {"id": chance.randrange(1_000_000)})
            case 6:
                server.send({**message, "id": chance.randrange(5)})
            case _:
                server.send(message)


def _change(server: Server, chance: random.Random, tally: Tally) -> None:
    """Change the folders or the settings; the user's own file says what no editor may set."""
    tally.changes += 1
    if chance.random() < _FOLDERS_SHARE:
        server.notify(
            "workspace/didChangeWorkspaceFolders", change_of_folders(server.place, chance)
        )
        return
    own, told = some_settings(server.place, chance)
    file = server.place / "home" / "config" / "agent-ls" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(own)
    server.notify("workspace/didChangeConfiguration", {"settings": {"agent-ls": told}})


async def _probe(server: Server, uri: str, tally: Tally) -> None:
    """Ask for something good: what needs no store, and what does."""
    document = {"textDocument": {"uri": uri}}
    place = {"line": 0, "character": 0}
    around = {"range": {"start": place, "end": place}, "context": {"diagnostics": []}}
    for method, params, may_come_again in (
        ("textDocument/hover", {**document, "position": place}, False),
        ("textDocument/codeAction", {**document, **around}, False),
        ("textDocument/codeLens", document, False),
        ("workspace/executeCommand", {"command": "agent-ls.commands"}, True),
        ("agent/sessions/list", {}, True),
    ):
        begun, busy_s = time.monotonic(), _computed_s(server)
        answer = await server.ask(method, params)
        took_s = time.monotonic() - begun
        tally.good_s.append(took_s)
        if took_s > GOOD_S:
            # On a machine that does much else, most of it may be somebody else's.
            computed_s = _computed_s(server) - busy_s
            tally.late.append(
                f"frame {tally.frames}: {method} took {took_s:.2f} s, of which the server "
                f"computed {computed_s:.2f} s"
            )
        error = answer.get("error", {})
        if may_come_again and error.get("code") in _COME_AGAIN:
            tally.put_off += 1
        elif error and not (may_come_again and _has_no_store(error)):
            tally.mistakes.append(f"a good {method} was answered with {error}")


def _computed_s(server: Server) -> float:
    used = psutil.Process(server.process.pid).cpu_times()
    return used.user + used.system


def _has_no_store(error: dict[str, Any]) -> bool:
    """Say whether the error is that of settings whose store cannot be used."""
    return error.get("code") == -32803 and UNUSABLE_STORE in error.get("message", "")


def _weigh(server: Server, tally: Tally) -> None:
    held = resident_bytes_of_tree(psutil.Process(server.process.pid))
    tally.peak_bytes = max(tally.peak_bytes, held)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("frames", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    tally = asyncio.run(fuzz(options.frames, options.seed))
    for words in tally.wrong[:20]:
        sys.stderr.write(f"{words}\n\n")
    return finish("fuzz", tally.figures(), as_json=options.json)


if __name__ == "__main__":
    raise SystemExit(main())
