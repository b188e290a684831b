"""A prompt that was sent is changed or sent again from a fork before its turn; nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lsp.test_parts import PRICES, SHOT, ended, panel, place
from tests.support.images import data_url, image
from tests.support.raw_lsp import RawClient

pytestmark = pytest.mark.e2e

PASTED = image(size=(4, 3))
GOAL = "/goal Round half up\n- it does `true`\n! no new file\n$ true"


async def turn_ids(client: RawClient, session_id: str) -> list[str]:
    whole = (await client.ask("agent/snapshot", {"sessionId": session_id}))["result"]
    kinds = [one for one in whole["updates"] if one["sessionUpdate"] == "turn_started"]
    return [one["turnId"] for one in kinds]


async def test_a_prompt_goes_back_and_is_sent_again_with_all_that_went_with_it(
    tmp_path: Path,
) -> None:
    async with panel(tmp_path) as (client, model, work):
        prices = place(work, "shop/prices.py")
        problem = {"line": 1, "endLine": 1, "message": "name is wrong", "source": "pyright"}
        parts: list[dict[str, Any]] = [
            {"type": "file", "uri": prices},
            {"type": "range", "uri": prices, "line": 4, "lastLine": 5},
            {"type": "symbol", "uri": prices, "name": "Cart.total", "line": 5},
            {"type": "diagnostics", "uri": prices, "diagnostics": [problem]},
            {"type": "folder", "uri": place(work, "shop")},
            {"type": "terminal", "text": "FAILED", "name": "zsh"},
            {"type": "image", "data": data_url(PASTED), "name": "pasted.png"},
        ]
        anchor = {"uri": prices, "line": 0, "lastLine": 1}
        first = {"text": "Fix @shot.png", "parts": parts, "anchor": anchor}
        old = (await client.ask("agent/prompt", first))["result"]["sessionId"]
        await ended(client, 1)
        await client.ask("agent/prompt", {"text": GOAL, "editorState": False})
        await ended(client, 2)
        [begun, of_goal] = await turn_ids(client, old)

        asked = {"sessionId": old, "turnId": begun}
        sent = (await client.ask("agent/prompt/sent", asked))["result"]
        assert sent["text"] == "Fix @shot.png"
        assert [(one["kind"], one["name"]) for one in sent["parts"]] == [
            ("range", "prices.py:1-2"),
            ("file", "prices.py"),
            ("range", "prices.py:5-6"),
            ("symbol", "Cart.total"),
            ("diagnostics", "prices.py:2, 1 problem"),
            ("folder", "shop/"),
            ("terminal", "zsh"),
            ("image", "pasted.png"),
        ]
        # A goal comes back as it is typed, so that it is one again.
        asked = {"sessionId": old, "turnId": of_goal}
        assert (await client.ask("agent/prompt/sent", asked))["result"]["text"] == GOAL

        # What is in a file is read anew; what a terminal showed is as it was.
        (work / "shop" / "prices.py").write_text(PRICES.replace("exact, 2", "exact, 3"))
        ways = [("turn", begun), ("turn", 1)]
        for count, (key, value) in enumerate(ways, start=3):
            fork = {"sessionId": old, key: value, "isBefore": True}
            new = (await client.ask("agent/sessions/fork", fork))["result"]["session"]
            assert (new["turns"], new["sessionId"] == old) == (0, False)
            again = {
                "text": sent["text"],
                "parts": [one["part"] for one in sent["parts"]],
                "sessionId": new["sessionId"],
                "editorState": False,
            }
            assert "result" in await client.ask("agent/prompt", again)
            await ended(client, count)
            read = model.requests[-1].first_user_text
            for text in (
                "Fix @shot.png [image pasted.png 4x3]",
                "return round(exact, 3)",
                "Cart.total in shop/prices.py, lines 6 to 7:",
                "- line 2: error: name is wrong (pyright)",
                "From the terminal zsh:\nFAILED\n",
            ):
                assert text in read, text
            assert "Round half up" not in read
            assert model.requests[-1].images == [data_url(PASTED), data_url(SHOT)]
        # The conversation that was gone back from is as it was.
        assert len(await turn_ids(client, old)) == 2
        rows = (await client.ask("agent/sessions/list", {}))["result"]["sessions"]
        assert [one["forkedFrom"] for one in rows if one["sessionId"] != old] == [old, old]
        assert await client.leave() == 0


async def test_what_is_not_there_is_refused_in_words(tmp_path: Path) -> None:
    async with panel(tmp_path) as (client, model, _):
        prompt = {"text": "Fix it", "editorState": False}
        old = (await client.ask("agent/prompt", prompt))["result"]["sessionId"]
        await ended(client, 1)
        [begun] = await turn_ids(client, old)
        part = {"type": "sent", "sessionId": old, "turnId": begun, "kind": "image", "index": 0}
        for method, params, why in (
            ("agent/prompt/sent", {"sessionId": old, "turnId": "trn_x"}, "has no turn trn_x"),
            ("agent/prompt/sent", {"sessionId": "ses_x", "turnId": begun}, "no session ses_x"),
            ("agent/sessions/fork", {"sessionId": old, "isBefore": True}, "needs a turn"),
            ("agent/sessions/fork", {"turn": 2, "isBefore": True}, "there is no turn 2"),
            ("agent/prompt", {"text": "Look", "parts": [part]}, "had no image 1"),
            (
                "agent/prompt",
                {"text": "Look", "parts": [{**part, "kind": "attachment"}]},
                "had no attachment 1",
            ),
            ("agent/prompt", {"text": "Look", "parts": [{**part, "index": -1}]}, "index"),
        ):
            answer = await client.answer(client.start(method, params), 30)
            assert why in answer["error"]["message"], (method, answer)
        assert len(model.requests) == 1
        assert await client.leave() == 0
