"""What a client attaches to a prompt by the wire, and what completes a prompt while it is typed."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from agent_ls.lsp import wire
from agent_ls.lsp.conversation.mentions import folders_of, likeliest
from agent_ls.providers.scripted import ScriptedModel
from tests.support.images import data_url, image
from tests.support.raw_lsp import RawClient, raw_client
from tests.support.sandboxes import installed_bubblewrap
from tests.support.scripted import scripted

SHOT = image(size=(8, 6))
PRICES = """\
def round_price(exact):
    return round(exact, 2)


class Cart:
    def total(self):
        return 1
"""
SCENARIO = '[[answer]]\ntext = "Done."\nrepeat = 0\n'
GIT = """
git init -q
git add -Af .
git -c user.name=a -c user.email=a@b commit -qm First
"""


@asynccontextmanager
async def panel(
    tmp_path: Path, sandbox: str = "off"
) -> AsyncIterator[tuple[RawClient, ScriptedModel, Path]]:
    work = tmp_path.resolve() / "work"
    (work / "shop").mkdir(parents=True)
    (work / "shop" / "prices.py").write_text(PRICES)
    (work / "shop" / "my notes.txt").write_text("Notes.\n")
    (work / "shot.png").write_bytes(SHOT)
    (work / "data.bin").write_bytes(b"\0\1\2")
    (work / ".env").write_text("TOKEN=hunter2\n")
    (work / ".gitignore").write_text("build/\n")
    (work / "build").mkdir()
    (work / "build" / "out.js").write_text("x")
    (work / ".agent-ls" / "commands").mkdir(parents=True)
    env = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")}
    env |= {"AGENT_LS_MODEL": "openai/scripted", "AGENT_LS_API_KEY": "x"}
    env["AGENT_LS_SANDBOX"] = sandbox
    agent = {"agent": {"version": 1}}
    async with scripted(SCENARIO, is_strict=False) as model:
        env["AGENT_LS_API_BASE"] = model.base_url
        async with raw_client("-m", "agent_ls", "serve", env=env) as client:
            await client.initialize(
                {"experimental": agent}, rootUri=work.as_uri(), initializationOptions=agent
            )
            yield client, model, work


async def ended(client: RawClient, count: int) -> None:
    await client.wait_for(lambda _: str(client.of("agent/update")).count("turn_ended") >= count)


def place(work: Path, name: str) -> str:
    return (work / name).as_uri()


@pytest.mark.e2e
async def test_parts_reach_the_model_and_are_shown_again(tmp_path: Path) -> None:
    async with panel(tmp_path) as (client, model, work):
        prices = place(work, "shop/prices.py")
        buffer = PRICES.replace("round(exact, 2)", "exact  # unsaved")
        document = {"uri": prices, "languageId": "python", "version": 1, "text": buffer}
        client.notify("textDocument/didOpen", {"textDocument": document})
        problem = {"line": 1, "endLine": 1, "message": "name is wrong", "source": "pyright"}
        parts: list[dict[str, Any]] = [
            {"type": "file", "uri": prices},
            {"type": "range", "uri": prices, "line": 4, "lastLine": 5},
            {"type": "symbol", "uri": prices, "name": "Cart.total", "line": 5},
            {"type": "diagnostics", "uri": prices, "diagnostics": [problem]},
            {"type": "folder", "uri": place(work, "shop")},
            {"type": "terminal", "text": "\x1b[31mFAILED\x1b[0m", "name": "zsh"},
            {"type": "file", "uri": place(work, "shot.png")},
        ]
        anchor = {"uri": prices, "line": 0, "lastLine": 1}
        await client.ask("agent/prompt", {"text": "Fix it", "parts": parts, "anchor": anchor})
        await ended(client, 1)
        request = model.requests[0]
        read = request.first_user_text
        assert request.images == [data_url(SHOT)]
        for text in (
            "Fix it [image shot.png 8x6]\n",
            "shop/prices.py:\n    1  def round_price(exact):\n    2      return exact  # unsaved\n",
            "shop/prices.py, lines 5 to 6:\n    5  class Cart:\n    6      def total(self):\n",
            "Cart.total in shop/prices.py, lines 6 to 7:\n    6      def total(self):\n",
            "Problems that the editor shows in shop/prices.py:\n"
            "- line 2: error: name is wrong (pyright)\n",
            "Files in shop:\nshop/my notes.txt\nshop/prices.py\n",
            "From the terminal zsh:\nFAILED\n",
            "Active file: shop/prices.py, selected: lines 1 to 2\n",
        ):
            assert text in read, text
        snapshot = (await client.ask("agent/snapshot", {}))["result"]
        [said] = [one for one in snapshot["updates"] if one.get("attachments")]
        assert said["content"]["text"] == "Fix it [image shot.png 8x6]"
        assert [(one["kind"], one["name"]) for one in said["attachments"]] == [
            ("selection", "prices.py:1-2"),
            ("file", "prices.py"),
            ("range", "prices.py:5-6"),
            ("symbol", "Cart.total"),
            ("diagnostics", "prices.py:2, 1 problem"),
            ("folder", "shop/"),
            ("terminal", "zsh"),
        ]
        assert said["attachments"][2]["location"] == {
            "path": "shop/prices.py",
            "uri": prices,
            "line": 4,
        }
        assert said["attachments"][2]["lastLine"] == 5
        # Nothing of what the editor shows, if the user says so.
        await client.ask("agent/prompt", {"text": "Again", "editorState": False})
        await ended(client, 2)
        assert "Active file" not in model.requests[1].conversation.partition("Again")[2]
        assert await client.leave() == 0


@pytest.mark.e2e
async def test_what_cannot_be_attached_is_said_at_once_and_begins_nothing(tmp_path: Path) -> None:
    async with panel(tmp_path) as (client, model, work):
        (tmp_path / "out.txt").write_text("out")
        prices = place(work, "shop/prices.py")
        for part, why in (
            ({"type": "file", "uri": place(work, ".env")}, "does not go with a prompt"),
            ({"type": "file", "uri": place(work, "data.bin")}, "binary file"),
            ({"type": "range", "uri": place(work, "data.bin"), "line": 0, "lastLine": 1}, "binary"),
            ({"type": "file", "uri": (tmp_path / "out.txt").as_uri()}, "no file of the workspace"),
            ({"type": "file", "uri": "untitled:Untitled-1"}, "no file of the workspace"),
            ({"type": "file", "uri": place(work, "gone.py")}, "gone.py does not exist"),
            ({"type": "file", "uri": place(work, "shop")}, "shop is a folder"),
            ({"type": "folder", "uri": prices}, "prices.py"),
            ({"type": "symbol", "uri": prices, "name": "gone", "line": 0}, "There is no gone in"),
            ({"type": "range", "uri": prices, "line": 99, "lastLine": 99}, "has only 7 lines"),
            ({"type": "range", "uri": prices, "line": 2, "lastLine": 1}, "lastLine is before line"),
            ({"type": "diagnostics", "uri": prices}, "shows no problems"),
            ({"type": "terminal", "text": " "}, "must not be empty"),
            ({"type": "changes"}, "is in no git repository"),
            ({"type": "video", "uri": prices}, "video"),
        ):
            params = {"text": "Fix it", "parts": [part]}
            answer = await client.answer(client.start("agent/prompt", params), 30)
            assert why in answer["error"]["message"], (part, answer)
        listed = (await client.ask("agent/sessions/list", {}))["result"]
        assert (listed["sessions"], model.requests) == ([], [])
        assert await client.leave() == 0


@pytest.mark.e2e
async def test_the_uncommitted_changes_come_without_secrets(tmp_path: Path) -> None:
    # git looks at changed files only in a sandbox.
    installed_bubblewrap()
    async with panel(tmp_path, "on") as (client, model, work):
        await asyncio.to_thread(subprocess.run, ["sh", "-ec", GIT], cwd=work, check=True)
        (work / "shop" / "prices.py").write_text(PRICES.replace("2)", "3)"))
        (work / ".env").write_text("TOKEN=hunter3\n")
        (work / "new.py").write_text("x = 1\n")
        (work / "id_rsa").write_text("hunter4\n")
        review = {"text": "Review", "parts": [{"type": "changes"}]}
        refused = (await client.ask("agent/prompt", review))["error"]["message"]
        assert "Trust the folder first" in refused
        trust = {"folder": work.as_uri(), "isAgreed": True}
        await client.ask("agent/trust", trust)
        await client.ask("agent/prompt", review)
        await ended(client, 1)
        read = model.requests[0].first_user_text
        assert "Uncommitted changes in work, as git shows them (without 2 files" in read
        assert "-    return round(exact, 2)\n+    return round(exact, 3)\n" in read
        assert "New files:\nnew.py" in read
        assert "hunter" not in read
        assert "id_rsa" not in read
        assert await client.leave() == 0


@pytest.mark.e2e
async def test_a_prompt_is_completed_while_it_is_typed(tmp_path: Path) -> None:
    async with panel(tmp_path) as (client, _, work):

        async def complete(text: str, **more: Any) -> dict[str, Any]:
            return (await client.ask("agent/complete", {"text": text, **more}))["result"]

        prices = place(work, "shop/prices.py")
        found = await complete("Look at @pri")
        assert found["word"] == "@pri"
        assert found["rows"][0] == {
            "kind": "file",
            "label": "shop/prices.py",
            "detail": "",
            "insert": "@shop/prices.py",
            "part": {"type": "file", "uri": prices},
        }
        [folder] = [one for one in (await complete("@shop"))["rows"] if one["kind"] == "folder"]
        assert (folder["label"], folder["part"]["type"]) == ("shop/", "folder")
        names = [one["label"] for one in (await complete("@"))["rows"]]
        assert "shop/prices.py" in names
        assert not [one for one in names if "build" in one]
        [notes] = (await complete("see @notes"))["rows"]
        assert notes["insert"] == '@"shop/my notes.txt"'
        document = {"uri": place(work, "shop/my notes.txt"), "languageId": "text", "version": 1}
        client.notify("textDocument/didOpen", {"textDocument": {**document, "text": "Notes.\n"}})
        assert (await complete("@"))["rows"][0]["label"] == "shop/my notes.txt"
        for _ in range(20):
            symbols = await complete("What does #total")
            if not symbols["isIncomplete"]:
                break
        assert symbols["rows"][0] == {
            "kind": "symbol",
            "label": "Cart.total",
            "detail": "shop/prices.py:6",
            "insert": "#Cart.total",
            "part": {"type": "symbol", "uri": prices, "name": "Cart.total", "line": 5},
        }
        commands = await complete("/go")
        assert [one["insert"] for one in commands["rows"]] == ["/goal"]
        assert len((await complete("@", limit=1))["rows"]) == 1
        for text in ("", "plain words", "a@b", "1/2", "say /goal", "# Heading", "@done "):
            assert (await complete(text))["word"] == "", text
        assert await client.leave() == 0


def test_the_likeliest_paths_come_first() -> None:
    files = ["shop/prices.py", "tests/test_prices.py", "prices/readme.md", "docs/x.md"]
    names = [*files, *folders_of(files)]
    assert folders_of(["a/b/c.py", "a/d.py", "e.py"]) == ["a/", "a/b/"]
    assert likeliest(names, "prices") == [
        *("prices/", "shop/prices.py", "tests/test_prices.py", "prices/readme.md"),
    ]


def test_a_part_says_what_it_needs_and_nothing_else() -> None:
    for wrong in (
        {"type": "file"},
        {"type": "file", "uri": ""},
        {"type": "file", "uri": "file:///a", "text": "x"},
        {"type": "range", "uri": "file:///a", "line": 1},
        {"type": "range", "uri": "file:///a", "line": "1", "lastLine": 2},
        {"type": "symbol", "uri": "file:///a", "name": "x"},
    ):
        with pytest.raises(ValidationError):
            wire.PromptParams.model_validate({"parts": [wrong]})
    anchored = {"text": "x", "anchor": {"uri": "file:///a"}, "editorState": False}
    with pytest.raises(ValidationError, match="leave one of them out"):
        wire.PromptParams.model_validate(anchored)
