"""Frames that nobody should send, to a whole server: each is answered, none breaks anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.fuzz import MOST_BYTES, Tally, fuzz
from tests.support.raw_lsp import raw_client

pytestmark = pytest.mark.e2e

FRAMES = 5_000


async def check(seed: int, frames: int) -> Tally:
    tally = await fuzz(frames, seed)
    assert tally.frames >= frames
    assert not tally.deaths, tally.deaths[0]
    assert not tally.mistakes, tally.mistakes[0]
    assert tally.changes > 0
    assert tally.peak_bytes < MOST_BYTES
    return tally


async def test_no_odd_frame_is_a_mistake_of_the_server() -> None:
    await check(1, FRAMES)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 7))
async def test_no_odd_frame_of_many_is_a_mistake_of_the_server(seed: int) -> None:
    await check(seed, 12 * FRAMES)


_PLACE: dict[str, Any] = {"line": 0, "character": 0}
_OF_A_DOCUMENT: dict[str, dict[str, Any]] = {
    "textDocument/codeAction": {
        "range": {"start": _PLACE, "end": _PLACE},
        "context": {"diagnostics": []},
    },
    "textDocument/codeLens": {},
    "textDocument/hover": {"position": _PLACE},
    "textDocument/completion": {"position": _PLACE},
    "textDocument/semanticTokens/full": {},
    "textDocument/diagnostic": {},
    "textDocument/foldingRange": {},
    "textDocument/documentSymbol": {},
    "textDocument/documentLink": {},
}
_COMMANDS = ("keep", "undo", "redo", "next", "previous", "diff")


async def test_a_uri_that_is_none_is_refused_as_invalid_by_every_request(tmp_path: Path) -> None:
    env = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")}
    agent = {"agent": {"version": 1}}
    (tmp_path / "a.py").write_text("# agent: do it\n")
    codes: dict[tuple[str, str], Any] = {}
    async with raw_client("-m", "agent_ls", "serve", env=env) as client:
        await client.initialize(
            {"experimental": agent}, rootUri=tmp_path.as_uri(), initializationOptions=agent
        )
        for uri in ("", " ", "a.py", "file\ud800:///a.py", "file:///\udfff"):
            document = {"textDocument": {"uri": uri}}
            asked = {name: {**document, **more} for name, more in _OF_A_DOCUMENT.items()}
            asked["workspace/textDocumentContent"] = {"uri": uri}
            for name, params in asked.items():
                codes[name, uri] = (await client.ask(name, params)).get("error", {}).get("code")
        for uri in ("", "file:///\udfff"):
            asked = {
                f"agent-ls.review.{name}": {
                    "command": f"agent-ls.review.{name}",
                    "arguments": [{"uri": uri}],
                }
                for name in _COMMANDS
            }
            for name, params in asked.items():
                answer = await client.ask("workspace/executeCommand", params)
                codes[name, uri] = answer.get("error", {}).get("code")
            prompt = {"text": "Do it", "anchor": {"uri": uri}}
            answer = await client.ask("agent/prompt", prompt)
            codes["agent/prompt", uri] = answer.get("error", {}).get("code")
        # An odd document that has a URI is a document without anything.
        params = {"textDocument": {"uri": "untitled:Untitled-1"}}
        assert (await client.ask("textDocument/codeLens", params))["result"] == []
        assert await client.leave() == 0
        assert b"Traceback" not in client.stderr
    assert {key: code for key, code in codes.items() if code != -32602} == {}
