"""Records what the panel is told: the real server's messages, without what differs by run.

A recording is a list of messages as the extension passes them to its panel, and how many of them
each named state has seen.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, cast

from tests.support.client_editors import KINDS, ClientEditor

_ID = re.compile(r"\b(ses|trn|stp|cal|apr|qst|rev|pmt)_[0-9A-HJKMNP-TV-Z]{26}\b")
_WAIT_S = 60
_BASE = re.compile(r"http://127\.0\.0\.1:\d+/v1")
_TIMES = {"durationMs": 40, "duration_ms": 40}
_CHUNKS = frozenset({"agent_message_chunk", "agent_thought_chunk", "tool_call_output"})
_Json = Any


class Recording:
    """The messages of one story, and its states."""

    def __init__(self, root: Path) -> None:
        """``root`` is the workspace; what is beside it becomes a user's home."""
        self._home = str(root.parent)
        self._ids: dict[str, str] = {}
        self._messages: list[dict[str, _Json]] = []
        self._states: dict[str, int] = {}

    def add(self, message: dict[str, _Json]) -> None:
        """Add what the extension would tell its panel."""
        self._messages.append(message)

    def add_update(self, session_id: str, update: dict[str, _Json]) -> None:
        """Add one update, to the last notification where no state lies between them.

        The server sends what happens within some milliseconds in one notification, and text in
        pieces; where it cuts differs by run.
        """
        last = self._messages[-1] if self._messages else {}
        is_cut = len(self._messages) in self._states.values()
        if is_cut or last.get("type") != "updates" or last["params"]["sessionId"] != session_id:
            params: dict[str, _Json] = {"sessionId": session_id, "seq": 0, "updates": []}
            last = {"type": "updates", "params": params}
            self._messages.append(last)
        updates: list[dict[str, _Json]] = last["params"]["updates"]
        if updates and _continues(updates[-1], update):
            update["content"]["text"] = updates.pop()["content"]["text"] + update["content"]["text"]
        updates.append(update)

    def mark(self, state: str) -> None:
        """Name the state in which the panel is now."""
        self._states[state] = len(self._messages)

    def text(self) -> str:
        """Return the recording as it is stored: one update a line, so that changes can be read."""
        result = self.result()

        def dumped(value: _Json) -> str:
            return json.dumps(value, ensure_ascii=False)

        lines: list[str] = []
        for one in result["messages"]:
            if one["type"] == "updates":
                head = dumped({**one["params"], "updates": []}).removesuffix("]}")
                updates = ",\n".join(f"  {dumped(update)}" for update in one["params"]["updates"])
                lines.append(f'{{"type": "updates", "params": {head}\n{updates}\n]}}}}')
            else:
                lines.append(dumped(one))
        messages = ",\n".join(lines)
        return f'{{"states": {dumped(result["states"])},\n"messages": [\n{messages}\n]}}\n'

    def result(self) -> dict[str, _Json]:
        """Return the states and the messages, without what differs by run."""
        found = cast("list[dict[str, _Json]]", self._steady(self._messages))
        for number, message in enumerate(found, 1):
            for one in (message.get("params"), message.get("snapshot")):
                if one is not None and "seq" in one and message["type"] != "transcript":
                    one["seq"] = number
        return {"states": self._states, "messages": found}

    def _steady(self, value: _Json) -> _Json:
        """Return a value with the same ids, places and times in every run."""
        match value:
            case str():
                return self._named(value)
            case list():
                return [self._steady(one) for one in cast("list[_Json]", value)]
            case dict():
                given = cast("dict[str, _Json]", value)
                times = {key: time for key, time in _TIMES.items() if given.get(key) is not None}
                return {key: self._steady(one) for key, one in given.items()} | times
            case _:
                return value

    def _named(self, text: str) -> str:
        text = text.replace(self._home, "/home/ada")
        text = text.replace(sys.executable, "/home/ada/venv/bin/python")
        text = _BASE.sub("https://api.openai.com/v1", text)
        return _ID.sub(lambda found: self._id(found[0]), text)

    def _id(self, found: str) -> str:
        kind = found[:3]
        count = sum(name.startswith(kind) for name in self._ids)
        return self._ids.setdefault(found, f"{kind}_{count + 1:02}")


def _continues(last: dict[str, _Json], update: dict[str, _Json]) -> bool:
    """Tell whether two updates are pieces of one text."""
    if update["sessionUpdate"] not in _CHUNKS:
        return False
    return {**last, "content": None} == {**update, "content": None}


class RecordingEditor(ClientEditor):
    """VS Code with our extension, as far as the server sees it; keeps what it would show."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, KINDS["panel"], options={})
        self.recording = Recording(root)
        self.shown_session = ""
        """Updates of other sessions are not recorded."""

    def _show(self, method: str, params: dict[str, Any]) -> None:
        if method == "agent/update" and params["sessionId"] == self.shown_session:
            for update in params["updates"]:
                self.recording.add_update(params["sessionId"], update)
        super()._show(method, params)

    def begin_recording(self) -> None:
        """Begin a story; nothing of the one before is recorded any more."""
        self.recording = Recording(self.root)
        self.shown.updates.clear()
        self.shown_session = ""

    async def begin(self, mode: str = "ask") -> str:
        """Begin a story in a session of its own; return the session's id."""
        self.begin_recording()
        made = await self.request("agent/sessions/new", {"mode": mode})
        self.shown_session = str(made["session"]["sessionId"])
        await self.snapshot()
        return self.shown_session

    async def snapshot(self) -> dict[str, Any]:
        """Have the panel told everything of the session, as after a reload."""
        snapshot = await self.request("agent/snapshot", {"sessionId": self.shown_session})
        self.recording.add({"type": "snapshot", "snapshot": snapshot})
        await self.tell_config()
        return cast("dict[str, Any]", snapshot)

    async def tell_config(self) -> None:
        """Have the panel told what is chosen and what can be."""
        config = await self.request("agent/config", {"sessionId": self.shown_session})
        self.recording.add({"type": "config", "config": config})

    async def prompt(self, text: str, **more: Any) -> str:
        """Say something in the session; return the turn's id."""
        here = {} if "anchor" in more else {"editorState": False}
        asked = {"text": text, "sessionId": self.shown_session, **here, **more}
        return str((await self.request("agent/prompt", asked))["turnId"])

    async def wait(self, kind: str, count: int = 1, **facts: Any) -> dict[str, Any]:
        """Wait for so many updates of a kind with these facts; return the last of them."""

        def found() -> dict[str, Any] | None:
            updates = [
                one
                for one in self.shown.updates
                if one["sessionUpdate"] == kind and facts.items() <= one.items()
            ]
            return updates[count - 1] if len(updates) >= count else None

        return await self.until(found, timeout_s=_WAIT_S, why=f"{count} {kind} with {facts}")

    async def allow(
        self, request: dict[str, Any], choice: str = "allow_once", note: str = ""
    ) -> None:
        """Answer an approval."""
        answer = {"approvalId": request["approvalId"], "choice": choice, "note": note}
        await self.request("agent/approval/resolve", answer)

    async def answer_question(self, question: dict[str, Any], text: str) -> None:
        """Answer a question."""
        answer = {"questionId": question["questionId"], "text": text}
        await self.request("agent/question/resolve", answer)

    async def review(self) -> list[dict[str, Any]]:
        """Have the panel told what the session's changes are."""
        asked = {"sessionId": self.shown_session}
        turns = (await self.request("agent/review/list", asked))["turns"]
        self.recording.add({"type": "review", "turns": turns})
        return cast("list[dict[str, Any]]", turns)
