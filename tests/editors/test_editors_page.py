"""The documentation's matrix is that of the tests, and its configurations fit the server."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_ls.lsp.handlers.verbs import VERBS
from tests.editors.abilities import EDITORS, LIMITS, STORIES
from tests.editors.terminal import DOCS
from tools.generate_editors_page import PAGE, page

_STARTS: Mapping[str, Callable[[Any], list[str]]] = {
    "helix-languages.toml": lambda file: _words(file["language-server"]["agent-ls"]),
    "jetbrains-acp.json": lambda file: _words(file["agent_servers"]["agent-ls"]),
    "kate.json": lambda file: file["servers"]["python"]["command"],
    "lsp4ij/template.json": lambda file: shlex.split(
        shlex.split(file["programArgs"]["default"])[2]
    ),
    "sublime.json": lambda file: file["agent-ls"]["command"],
    "zed.json": lambda file: _words(file["agent_servers"]["agent-ls"]),
}
"""How each file of an editor that reads JSON or TOML starts agent-ls."""
_KEYS = ("helix-config.toml", "sublime-keymap.json", "zed-keymap.json")


def _words(server: Mapping[str, Any]) -> list[str]:
    return [server["command"], *server["args"]]


def _parsed(name: str) -> Any:
    text = (DOCS / name).read_text("utf-8")
    return tomllib.loads(text) if name.endswith(".toml") else json.loads(text)


def test_the_matrix_is_the_table_of_the_stories() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `make generate`"


def test_limits_are_of_editors_and_abilities_that_there_are() -> None:
    assert not [cell for cell in LIMITS if cell[0] not in EDITORS or cell[1] not in STORIES]


@pytest.mark.parametrize("name", _STARTS)
def test_a_configuration_starts_agent_ls(name: str) -> None:
    program, *arguments = _STARTS[name](_parsed(name))
    assert Path(program).name == "agent-ls"
    command = [sys.executable, "-P", "-m", "agent_ls", *arguments, "--help"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("name", _KEYS)
def test_keys_are_bound_to_commands_that_there_are(name: str) -> None:
    known = {verb.command for verb in VERBS}
    named = set(re.findall(r"agent-ls(?:\.[a-z_]+)+", json.dumps(_parsed(name))))
    assert not named - known


def test_every_file_is_on_a_page_and_every_page_on_the_list() -> None:
    pages = {one.name: one.read_text("utf-8") for one in DOCS.glob("*.md")}
    listed = PAGE.read_text("utf-8")
    linked = "".join(pages.values())
    files = {str(one.relative_to(DOCS)) for one in DOCS.rglob("*") if one.is_file()} - set(pages)
    assert [one for one in pages if f"(editors/{one})" not in listed] == []
    assert sorted(one for one in files if f"({one})" not in linked) == []
    assert {one for one in files if one.endswith((".json", ".toml"))} == {*_STARTS, *_KEYS}


def test_the_keys_of_the_extension_are_on_its_page() -> None:
    manifest = json.loads((DOCS.parents[1] / "vscode-client/package.json").read_text("utf-8"))
    bound = [one["key"].removeprefix("ctrl+k ") for one in manifest["contributes"]["keybindings"]]
    told = (DOCS / "vscode.md").read_text("utf-8")
    assert [key for key in bound if f"`Ctrl+K {key.capitalize()}`" not in told] == []
