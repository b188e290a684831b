"""The scripted model: a server on loopback that plays a scenario over real HTTP.

No AI is involved. It streams OpenAI chat completions, so that everything between the loop and the
wire is exercised. The format of a scenario and how answers are chosen are
described in docs/scripted-model.md.

    python -P -m agent_ls.providers.scripted SCENARIO.toml [--port N] [--record FILE]

prints one line of JSON with its base URL when it listens, and plays until it is stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Self

from agent_ls.domain.errors import SettingsError
from agent_ls.providers.scenario import Answer, Scenario, When, load_scenario, parse_scenario
from agent_ls.providers.scripted_chat import dumps
from agent_ls.providers.scripted_connection import Conversation, WatchedConnection
from agent_ls.providers.scripted_requests import RecordedRequest

_LOOPBACK = "127.0.0.1"


class ScriptedModel:
    """Plays a scenario; ``async with ScriptedModel(scenario) as model: model.base_url``.

    All requests of all conversations share the scenario: a request gets the first answer, in the
    order of the file, that still has repeats left and whose ``when`` holds; answers with a
    ``when`` go before those without.
    """

    def __init__(
        self,
        scenario: Scenario | str,
        *,
        port: int = 0,
        on_request: Callable[[RecordedRequest], None] | None = None,
    ) -> None:
        """``scenario`` may be TOML text; port 0 takes any free port."""
        self.scenario = parse_scenario(scenario) if isinstance(scenario, str) else scenario
        self.requests: list[RecordedRequest] = []
        """Model requests in the order they came."""
        self.connections = 0
        """Number of connections made."""
        self._used = [0] * len(self.scenario.answer)
        self._port = port
        self._on_request = on_request
        self._server: asyncio.Server | None = None
        self._conversations: set[asyncio.Task[None]] = set()
        self._arrived = asyncio.Condition()

    @property
    def base_url(self) -> str:
        """Return the address for OpenAI-compatible clients, ``/v1`` included."""
        return f"http://{_LOOPBACK}:{self._port}/v1"

    @property
    def problems(self) -> list[str]:
        """Return what differed from the scenario: unmet expectations and surplus requests."""
        return [request.problem for request in self.requests if request.problem]

    @property
    def unused(self) -> list[int]:
        """Return the indexes of answers that were never given."""
        return [index for index, count in enumerate(self._used) if count == 0]

    async def wait_for_requests(self, count: int, timeout_s: float = 30) -> None:
        """Wait until ``count`` requests have come. Errors: ``TimeoutError``."""
        async with asyncio.timeout(timeout_s), self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)

    async def start(self) -> None:
        """Start listening on loopback."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connection, _LOOPBACK, self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening and drop every connection, answered or not."""
        if self._server is not None:
            self._server.close()
        for task in self._conversations:
            task.cancel()
        await asyncio.gather(*self._conversations, return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.stop()

    def _connection(self) -> asyncio.Protocol:
        left = asyncio.Event()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            task = asyncio.ensure_future(
                Conversation(self.scenario.model, self.take, reader, writer, left).run()
            )
            self._conversations.add(task)
            task.add_done_callback(self._conversations.discard)

        return WatchedConnection(left, connected)

    async def take(self, request: RecordedRequest) -> Answer | None:
        """Record a request and return its answer; None if the request breaks the scenario."""
        self.requests.append(request)
        request.serial = len(self.requests)
        index = self._choose(request)
        if index is None:
            request.problem = "the scenario has no answer left for this request"
        else:
            self._used[index] += 1
            request.answer = index
            problem = request.mismatch(self.scenario.answer[index].expect)
            request.problem = problem and f"answer {index}: {problem}"
        if self._on_request:
            self._on_request(request)
        async with self._arrived:
            self._arrived.notify_all()
        if index is None or request.problem:
            return None
        return self.scenario.settled(self.scenario.answer[index])

    def _choose(self, request: RecordedRequest) -> int | None:
        """Return the index of the first fitting answer; answers with a condition come first."""
        answers = self.scenario.answer
        fitting = (
            index
            for index, answer in enumerate(answers)
            if not (answer.repeat and self._used[index] >= answer.repeat)
            and request.suits(answer.when)
        )
        return min(fitting, key=lambda index: answers[index].when == When(), default=None)


async def _play(scenario: Scenario, port: int, record: Path | None) -> None:
    out = record.open("a", encoding="utf-8", buffering=1) if record else None

    def note(request: RecordedRequest) -> None:
        if out:
            entry = {
                "path": request.path,
                "answer": request.answer,
                "problem": request.problem,
                "body": request.body,
            }
            out.write(dumps(entry) + "\n")

    async with ScriptedModel(scenario, port=port, on_request=note) as model:
        sys.stdout.write(dumps({"base_url": model.base_url}) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main(argv: list[str] | None = None) -> int:
    """Play a scenario file until stopped; 3 when the file cannot be used."""
    parser = argparse.ArgumentParser(
        prog="python -P -m agent_ls.providers.scripted",
        description="Play a scenario as a model server on loopback; no AI is involved.",
    )
    parser.add_argument("scenario", type=Path)
    parser.add_argument("--port", type=int, default=0, help="default: any free one")
    parser.add_argument("--record", type=Path, help="append each request to this file as JSON")
    options = parser.parse_args(argv)
    try:
        asyncio.run(_play(load_scenario(options.scenario), options.port, options.record))
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
