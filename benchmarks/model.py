"""A model that notes when requests come and go: the clock of the benchmarks.

It plays a plan of calls over HTTP in a process of its own. Requests are kept raw and looked at only
when the session is over, so that its own work is not in the gaps it measures.

    python -m benchmarks.model PLAN.json OUT.json

prints one line with its base URL when it listens, and writes what it saw when it is terminated.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import takewhile
from pathlib import Path
from typing import Self

from agent_ls.providers.scenario import Answer, ScriptedCall, ScriptedUsage
from agent_ls.providers.scripted_chat import Reply
from benchmarks.places import REPOSITORY
from benchmarks.session import FINAL, Call

_CHARACTERS_PER_TOKEN = 4
# As providers cache: whole blocks, from a minimum on.
_CACHE_BLOCK_TOKENS = 128
_CACHE_MIN_TOKENS = 1_024


@dataclass(frozen=True)
class Plan:
    """What the model does."""

    calls: list[Call]
    chunk: int = 16
    """Characters per streamed piece."""
    delay_s: float = 0.0
    """Before the first byte of each answer."""


@dataclass(frozen=True)
class Request:
    """One request as it was seen; times are of the machine's monotonic clock."""

    first_byte_at: float
    answered_at: float
    is_side: bool
    """It offered no tools: a title, a summary, a closing word."""
    prompt_tokens: int
    cached_tokens: int
    """What a provider's cache would have held of the prompt."""
    dropped_messages: int
    """Messages at the end of the previous request that it does not begin with."""


class RunningModel:
    """A model in a process of its own; ``with RunningModel(plan, folder) as model``."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self._plan_file, self._seen_file = folder / "plan.json", folder / "seen.json"
        self._plan_file.write_text(json.dumps(asdict(plan)), "utf-8")

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.model", self._plan_file, self._seen_file],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout
        self.base_url: str = json.loads(self._process.stdout.readline())["base_url"]
        return self

    def finish(self) -> list[Request]:
        """Stop it, and return what it saw."""
        self._process.terminate()
        self._process.wait(60)
        return [Request(**one) for one in json.loads(self._seen_file.read_text("utf-8"))]

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


class TimingModel:
    """Answers request after request with the next call of the plan, then with the last word."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._step = 0
        self._seen: list[tuple[float, float, bool, bytes]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._serve_one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        first = await reader.read(1)
        if not first:
            return False
        first_byte_at = time.monotonic()
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
        raw = await reader.readexactly(length)
        is_side = b'"tools"' not in raw
        if self._plan.delay_s:
            await asyncio.sleep(self._plan.delay_s)
        await self._answer(writer, self._reply(raw, is_side))
        self._seen.append((first_byte_at, time.monotonic(), is_side, raw))
        return True

    def _reply(self, raw: bytes, is_side: bool) -> Reply:
        serial = len(self._seen) + 1
        text, calls = "Next step.", ()
        if is_side or self._step >= len(self._plan.calls):
            text = FINAL
        else:
            tool, arguments = self._plan.calls[self._step]
            calls = (ScriptedCall(tool=tool, arguments=arguments),)
            self._step += 1
        return Reply(
            answer=Answer(text=text, call=calls, chunk=self._plan.chunk),
            usage=ScriptedUsage(input=len(raw) // _CHARACTERS_PER_TOKEN, output=50),
            serial=serial,
            model="timing",
            wants_usage=b'"include_usage"' in raw,
        )

    async def _answer(self, writer: asyncio.StreamWriter, reply: Reply) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        for event in reply.stream():
            writer.write(b"%x\r\n%s\r\n" % (len(event), event))
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    def seen(self) -> Iterator[Request]:
        """Yield what came, in order."""
        prompts: list[str] = []
        messages: list[object] = []
        for first_byte_at, answered_at, is_side, raw in self._seen:
            body = json.loads(raw)
            now = body["messages"]
            # The order in which a provider's cache sees a prompt.
            prompt = "\n".join(map(_dumps, [body.get("tools"), *now]))
            shared = max((_common(earlier, prompt) for earlier in prompts[-3:]), default=0)
            tokens = shared // _CHARACTERS_PER_TOKEN // _CACHE_BLOCK_TOKENS * _CACHE_BLOCK_TOKENS
            yield Request(
                first_byte_at=first_byte_at,
                answered_at=answered_at,
                is_side=is_side,
                prompt_tokens=len(prompt) // _CHARACTERS_PER_TOKEN,
                cached_tokens=tokens if tokens >= _CACHE_MIN_TOKENS else 0,
                dropped_messages=_dropped(messages, now),
            )
            prompts.append(prompt)
            messages = now


def _dumps(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _common(one: str, other: str) -> int:
    """Return how many characters two texts share at their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _dropped(before: list[object], after: list[object]) -> int:
    kept = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
    )
    return len(before) - kept


async def _play(model: TimingModel) -> None:
    server = await asyncio.start_server(model.serve, "127.0.0.1", 0, limit=1 << 26)
    port = server.sockets[0].getsockname()[1]
    print(json.dumps({"base_url": f"http://127.0.0.1:{port}/v1"}), flush=True)
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await stopped.wait()
    server.close()


def _main(plan: Path, out: Path) -> None:
    model = TimingModel(Plan(**json.loads(plan.read_text("utf-8"))))
    asyncio.run(_play(model))
    out.write_text(json.dumps([asdict(request) for request in model.seen()]), "utf-8")


if __name__ == "__main__":
    _main(Path(sys.argv[1]), Path(sys.argv[2]))
