"""Joins what both servers say of one thing: answers to a request, diagnostics of a file.

``merging`` says how two results become one; here is which results wait for which.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from agent_ls.lsp.proxy import merging
from agent_ls.lsp.proxy.merging import Json, mapping

Side = Literal["ours", "theirs"]
Send = Callable[[Json], None]
Listener = Callable[[str, list[Json]], None]

_MERGE_S: Final = 2.0
"""How long an answer of ours waits for the other server's part."""
_SHUTDOWN_S: Final = 0.5
_MOST_FILES: Final = 5_000
"""Files whose diagnostics are kept to be joined."""


@dataclass
class _Asked:
    """A request of the editor that at least the other server has to answer."""

    id: int | str
    method: str
    waits_for: set[Side]
    answers: dict[Side, Json] = field(default_factory=dict[Side, Json])
    timer: asyncio.TimerHandle | None = None
    is_late: bool = False
    """The other server's part is no longer waited for, once ours has something to say."""


class Answers:
    """The editor's open requests to the other server, or to both."""

    def __init__(self, send: Send, cancel_theirs: Callable[[int | str], None]) -> None:
        """``send`` gets each answer; ``cancel_theirs`` the id of a request that is answered."""
        self._send = send
        self._cancel_theirs = cancel_theirs
        self._asked: dict[int | str, _Asked] = {}

    def is_open(self, message_id: object) -> bool:
        """Say whether a request with this id waits for an answer."""
        return isinstance(message_id, int | str) and message_id in self._asked

    def wait(self, message_id: int | str, method: str, sides: Collection[Side]) -> None:
        """Wait for the answers of these servers."""
        asked = self._asked[message_id] = _Asked(message_id, method, set(sides))
        if len(sides) == 2:
            limit_s = _SHUTDOWN_S if method == "shutdown" else _MERGE_S
            asked.timer = asyncio.get_running_loop().call_later(limit_s, self._late, asked)

    def settle(self, side: Side, answer: Json) -> None:
        """Take a server's answer to an open request."""
        self._settle(self._asked[answer["id"]], side, answer)

    def fail_theirs(self, error: Json) -> None:
        """Answer for the other server, which has ended."""
        for asked in list(self._asked.values()):
            self._settle(asked, "theirs", {"jsonrpc": "2.0", "id": asked.id, "error": error})

    def _settle(self, asked: _Asked, side: Side, answer: Json) -> None:
        if side not in asked.waits_for:
            return
        asked.waits_for.discard(side)
        asked.answers[side] = answer
        if not asked.waits_for:
            self._answer(asked)
        elif asked.is_late:
            self._late(asked)

    def _late(self, asked: _Asked) -> None:
        """Answer without the other server, if ours has something to say."""
        asked.timer, asked.is_late = None, True
        ours = asked.answers.get("ours", {})
        if asked.method == "shutdown" or ours.get("result"):
            self._cancel_theirs(asked.id)
            self._answer(asked)

    def _answer(self, asked: _Asked) -> None:
        if asked.timer is not None:
            asked.timer.cancel()
        del self._asked[asked.id]
        good = {side: one for side, one in asked.answers.items() if "error" not in one}
        if len(asked.answers) > 1 and good:
            ours, theirs = (good.get(side, {}).get("result") for side in ("ours", "theirs"))
            result = merging.MERGED[asked.method](ours, theirs)
            self._send({"jsonrpc": "2.0", "id": asked.id, "result": result})
            return
        found = asked.answers.get("theirs") or asked.answers.get("ours")
        self._send(found or {"jsonrpc": "2.0", "id": asked.id, "result": None})


class Diagnostics:
    """The diagnostics of both servers, by file."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._listener: Listener = lambda uri, found: None
        self._kept: dict[str, dict[Side, list[Json]]] = {}

    def listen(self, listener: Listener) -> None:
        """Call with a URI and what the other server says of it, now and whenever that changes."""
        self._listener = listener
        for uri, kept in self._kept.items():
            listener(uri, kept.get("theirs", []))

    def publish(self, side: Side, message: Json) -> None:
        """Show what a server says of a file, with what the other one says."""
        params = mapping(message.get("params"))
        uri, found = params.get("uri"), params.get("diagnostics")
        if not isinstance(uri, str) or not isinstance(found, list):
            return
        kept = self._kept.setdefault(uri, {})
        kept[side] = cast(list[Json], found)
        if not any(kept.values()):
            del self._kept[uri]
        while len(self._kept) > _MOST_FILES:
            del self._kept[next(iter(self._kept))]
        if side == "theirs":
            self._listener(uri, kept[side])
        kept = self._kept.get(uri, {})
        joined: list[Any] = [*kept.get("theirs", ()), *kept.get("ours", ())]
        self._send({**message, "params": {**params, "diagnostics": joined}})

    def drop_theirs(self) -> None:
        """Show no diagnostics of the other server any more."""
        for uri, kept in list(self._kept.items()):
            if kept.get("theirs"):
                params: Json = {"uri": uri, "diagnostics": []}
                method = "textDocument/publishDiagnostics"
                self.publish("theirs", {"jsonrpc": "2.0", "method": method, "params": params})
