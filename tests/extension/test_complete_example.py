"""The complete example of docs/extending.md is true: its files, followed to the letter, work."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent_ls.processes.reading import read_file
from tests.support.scripted import scripted

pytestmark = pytest.mark.heavy

_BLOCK = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STEPS = re.compile(r"^agent-ls (.*)$", re.MULTILINE)
_LIMIT_S = 120.0

_MODEL = """
[[answer]]
expect.contains = [
  "# Rules from AGENTS.md\\nPrices are whole cents.",
  "Command: /price tea",
  "Bring the price of tea up to date.",
]
[[answer.call]]
tool = "skill"
arguments = { name = "pricing" }

[[answer]]
expect.last_contains = ["Ask the tool `stock/price` for the new price"]
expect.tools = ["stock__price"]
[[answer.call]]
tool = "stock__price"
arguments = { article = "tea" }

[[answer]]
expect.last_contains = ["280"]
[[answer.call]]
tool = "edit_file"
arguments = { path = "prices.txt", edits = [{ old_string = "tea 250", new_string = "tea 2.80" }] }

[[answer]]
text = "The price is up to date."

[[answer]]
expect.last_contains = ["The user's hook prices objects to the end of this turn: 1:tea 2.80"]
[[answer.call]]
tool = "edit_file"
arguments = { path = "prices.txt", edits = [{ old_string = "tea 2.80", new_string = "tea 280" }] }

[[answer]]
[[answer.call]]
tool = "delegate"
arguments = { kind = "counter", task = "Count them." }

[[answer]]
when.first = "Count them."
expect.contains = ["You count the lines of prices.txt and change nothing."]
text = '''{"findings": ["one article"], "next": ["nothing"]}'''

[[answer]]
expect.last_contains = ["findings: one article"]
text = "Tea costs 280 cents, and there is one article."
"""


async def _agent_ls(folder: Path, words: str, environment: Mapping[str, str]) -> str:
    """Run ``agent-ls`` as the page says, with the yes that a terminal would give."""
    given = re.findall(r'"[^"]*"|\S+', words)
    more = {"mcp": ["--yes"], "run": ["--model", "openai/scripted"]}.get(given[0], [])
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agent_ls", *(one.strip('"') for one in given), *more),
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(_LIMIT_S):
        out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()
    return out.decode()


async def test_the_example_does_what_the_page_says(
    repository: Path, tmp_path: Path, warm_host: Mapping[str, str]
) -> None:
    page = (repository / "docs" / "extending.md").read_text("utf-8")
    page = page.split("## A complete example\n")[1]
    folder, config = tmp_path / "shop", tmp_path / "home" / ".config" / "agent-ls"
    for name, text in _BLOCK.findall(page):
        own = name.startswith("~/")
        place = config / name.removeprefix("~/") if own else folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        host = f"provider.python = {warm_host['AGENT_LS_PROVIDER__PYTHON']!r}\n" if own else ""
        place.write_text(host + text)
    steps = _STEPS.findall(page)
    assert [one.split()[0] for one in steps] == ["trust", "mcp", "run"]
    async with scripted(_MODEL) as model:
        environment = {
            # Where ``python3`` has the package mcp.
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path / "home"),
            "AGENT_LS_SANDBOX": "off",
            "AGENT_LS_API_BASE": model.base_url,
        }
        said = [await _agent_ls(folder, one, environment) for one in steps]
    for word in ("command /price", "skill pricing", "sub-agent counter", "MCP server stock"):
        assert word in said[0]
    assert "stock is approved, with 1 tool" in said[1]
    assert "Tea costs 280 cents" in said[2]
    assert read_file(folder / "prices.txt") == b"tea 280\n"
