"""The smallest agent loop: what a step costs with httpx or litellm and nothing of ours.

    python -m benchmarks.floor httpx|litellm|litellm-raw BASE_URL WORKSPACE

``litellm-raw`` hands the history over past litellm's per-message work, as agent-ls does.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from benchmarks.session import TASK

Ask = Callable[[list[Any]], AsyncIterator[dict[str, Any]]]
_ARGUMENTS = {
    "read": ("path",),
    "edit": ("path", "old", "new"),
    "run": ("command",),
    "search": ("pattern",),
}
_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name} something",
            "parameters": {
                "type": "object",
                "properties": {argument: {"type": "string"} for argument in arguments},
                "required": list(arguments),
            },
        },
    }
    for name, arguments in _ARGUMENTS.items()
]


class Floor:
    """One loop over one workspace."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def loop(self, ask: Ask) -> None:
        """Ask and carry out until an answer has no calls."""
        messages: list[Any] = [
            {"role": "system", "content": "You are an agent. " * 60},
            {"role": "user", "content": TASK},
        ]
        while calls := await _answer(ask, messages):
            for call in calls:
                arguments = json.loads(call["function"]["arguments"])
                result = await self._carry_out(call["function"]["name"], arguments)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    async def _carry_out(self, tool: str, arguments: dict[str, str]) -> str:
        match tool:
            case "read":
                return (self._root / arguments["path"]).read_text("utf-8")
            case "edit":
                path = self._root / arguments["path"]
                text = path.read_text("utf-8")
                if text.count(arguments["old"]) != 1:
                    return "not found exactly once"
                path.write_text(text.replace(arguments["old"], arguments["new"]), "utf-8")
                return "ok"
            case "run":
                process = await asyncio.create_subprocess_shell(
                    arguments["command"], cwd=self._root, stdout=asyncio.subprocess.PIPE
                )
                return (await process.communicate())[0].decode()
            case _:
                pattern = re.compile(arguments["pattern"])
                files = sorted((self._root / "src").glob("*.py"))
                return "\n".join(f.name for f in files if pattern.search(f.read_text("utf-8")))


async def _answer(ask: Ask, messages: list[Any]) -> list[Any]:
    """Ask once, append the answer, and return its calls."""
    text: list[str] = []
    calls: dict[int, Any] = {}
    async for chunk in ask(messages):
        for choice in chunk.get("choices") or ():
            text.append(choice["delta"].get("content") or "")
            for piece in choice["delta"].get("tool_calls") or ():
                empty = {"id": None, "type": "function", "function": {"name": "", "arguments": ""}}
                call = calls.setdefault(piece["index"], empty)
                call["id"] = piece.get("id") or call["id"]
                for key in ("name", "arguments"):
                    call["function"][key] += piece["function"].get(key) or ""
    answer: dict[str, Any] = {"role": "assistant", "content": "".join(text)}
    if calls:
        answer["tool_calls"] = list(calls.values())
    messages.append(answer)
    return list(calls.values())


async def _with_httpx(base_url: str, floor: Floor) -> None:
    import httpx

    async with httpx.AsyncClient(timeout=60) as client:

        async def ask(messages: list[Any]) -> AsyncIterator[dict[str, Any]]:
            body = {"model": "m", "stream": True, "messages": messages, "tools": _TOOLS}
            async with client.stream("POST", f"{base_url}/chat/completions", json=body) as answer:
                async for line in answer.aiter_lines():
                    if line.startswith("data: ") and line != "data: [DONE]":
                        yield json.loads(line[6:])

        await floor.loop(ask)


async def _with_litellm(base_url: str, floor: Floor, is_raw: bool) -> None:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    import litellm

    litellm.suppress_debug_info = True

    async def ask(messages: list[Any]) -> AsyncIterator[dict[str, Any]]:
        history: dict[str, Any] = {"messages": messages}
        if is_raw:
            stub = [{"role": "user", "content": "."}]
            history = {"messages": stub, "extra_body": {"messages": messages}}
        answer: Any = await litellm.acompletion(
            model="openai/m", api_base=base_url, api_key="x", stream=True, tools=_TOOLS, **history
        )
        async for chunk in answer:
            yield chunk.model_dump()

    await floor.loop(ask)


async def _main(client: str, base_url: str, root: Path) -> None:
    floor = Floor(root)
    if client == "httpx":
        await _with_httpx(base_url, floor)
    else:
        await _with_litellm(base_url, floor, client == "litellm-raw")


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
