"""Clients: what is known of each, from what real ones sent and what they were seen to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import client_capabilities

from agent_ls.lsp.connection.clients import ClientProfile
from agent_ls.lsp.connection.structuring import Structure

CAPTURED = Path(__file__).parent.parent / "clients"


def check(params: dict[str, Any]) -> ClientProfile:
    """The profile of a client that sent these parameters."""
    return ClientProfile.of(Structure(default_converter()).params("initialize", params))


def captured(name: str) -> dict[str, Any]:
    return json.loads((CAPTURED / f"{name}.json").read_text())


ALL_OPERATIONS = frozenset({"create", "rename", "delete"})

REAL: dict[str, tuple[str, dict[str, Any]]] = {
    "vscode_1.139": (
        "vscode",
        {
            "edits": "anytime",
            "stale_edit": "refused",
            "file_operations": ALL_OPERATIONS,
            "message_requests": True,
            "show_document": True,
            "progress": True,
            "draws_lenses": True,
            "configuration": True,
            "text_document_content": True,
            "agent_version": 1,
            "opted_in": True,
        },
    ),
    "neovim_0.7": (
        "neovim",
        {
            "document_changes": True,
            "stale_edit": "skipped",
            "file_operations": ALL_OPERATIONS,
            "message_requests": True,
            "show_document": False,
            "progress": True,
            "configuration": False,
            "opted_in": False,
        },
    ),
    "neovim_0.11": (
        "neovim",
        {
            "document_changes": True,
            "stale_edit": "skipped",
            "file_operations": ALL_OPERATIONS,
            "show_document": True,
            "draws_lenses": False,
            "configuration": True,
        },
    ),
    "helix_25.01": (
        "helix",
        {
            "message_requests": False,
            "mixes_changes": True,
            "file_operations": ALL_OPERATIONS,
            "progress": True,
        },
    ),
    "eglot_1.9": (
        "eglot",
        {
            "edits": "asks_user",
            "file_operations": frozenset(),
            "message_requests": True,
            "show_document": False,
        },
    ),
    "eglot_1.17": (
        "eglot",
        {"edits": "asks_user", "show_document": True, "progress": True},
    ),
    "lsp_mode_8.0": (
        "lsp-mode",
        {
            "edits": "anytime",
            "message_requests": True,
            "show_document": False,
            "progress": True,
        },
    ),
    "kate_22.12": (
        "kate",
        {
            "document_changes": True,
            "edits": "after_command",
            "reloads_files": True,
            "file_operations": frozenset(),
            "message_requests": False,
            "stale_edit": "applied",
            "progress": True,
        },
    ),
    "ale_3.3": (
        "ale",
        {
            "reloads_files": True,
            "document_changes": True,
            "edits": "anytime",
            "message_requests": False,
            "progress": False,
            "file_operations": frozenset(),
        },
    ),
}


@pytest.mark.parametrize("name", REAL)
def test_a_real_client_is_recognised_with_what_it_can_do(name: str) -> None:
    row, facts = REAL[name]
    profile = check(captured(name))
    assert profile.row == row
    assert {fact: getattr(profile, fact) for fact in facts} == facts


def test_every_captured_client_is_in_the_table() -> None:
    assert {path.stem for path in CAPTURED.glob("*.json")} == REAL.keys()


NAMES = {
    "Visual Studio Code": "vscode",
    "Visual Studio Code - Insiders": "vscode",
    "VSCodium": "vscode",
    "Cursor": "vscode",
    "Neovim": "neovim",
    "helix": "helix",
    "Eglot": "eglot",
    "emacs": "lsp-mode",
    "Kate": "kate",
    "Sublime Text LSP": "sublime",
    "Zed": "zed",
    "Zed Preview": "zed",
    "IntelliJ IDEA": "jetbrains",
    "PyCharm Community Edition": "jetbrains",
    "Neovim Qt": "unknown",
    "my own client": "unknown",
    "": "unknown",
}


@pytest.mark.parametrize("name, row", NAMES.items())
def test_a_client_is_found_by_its_name(name: str, row: str) -> None:
    assert check({"capabilities": {}, "clientInfo": {"name": name}}).row == row


VERSIONS = [
    ("helix", "25.07.1", "message_requests", False),
    ("helix", "26.1", "message_requests", True),
    ("helix", "", "message_requests", False),
    ("Neovim", "0.11.4+v0.11.4", "line_ends", "lf"),
    ("helix", "25.07.1", "line_ends", "any"),
    ("helix", "25.01.1", "mixes_changes", True),
    ("helix", "25.07.1", "mixes_changes", False),
]


@pytest.mark.parametrize("name, version, fact, value", VERSIONS)
def test_a_quirk_holds_for_the_versions_that_have_it(
    name: str, version: str, fact: str, value: bool | str
) -> None:
    info = {"name": name, "version": version}
    assert getattr(check({"capabilities": {}, "clientInfo": info}), fact) == value


def test_a_product_built_on_vscode_is_known_whatever_it_is_called() -> None:
    params = captured("vscode_1.139") | {"clientInfo": {"name": "Some Editor"}}
    assert check(params).row == "vscode"
    assert check({**params, "clientInfo": {"name": "coc.nvim"}}).row == "unknown"


def test_a_client_nothing_is_known_of_gets_what_every_client_can_do() -> None:
    profile = check({"capabilities": {}})
    assert profile == ClientProfile()
    assert profile.edits == "anytime"
    assert profile.message_requests


OPT_INS = {
    "both": ({"agent": {"version": 1}}, {"agent": {"version": 1}}, 1),
    "newer": ({"agent": {"version": 2}}, {"agent": True}, 2),
    "only-options": ({"agent": {"version": 1}}, None, None),
    "only-capability": (None, {"agent": {"version": 1}}, None),
    "capability-denied": ({"agent": {"version": 1}}, {"agent": False}, None),
    "version-is-no-number": ({"agent": {"version": "1"}}, {"agent": True}, None),
    "version-is-zero": ({"agent": {"version": 0}}, {"agent": True}, None),
    "options-are-a-list": (["agent"], {"agent": True}, None),
    "agent-is-a-word": ({"agent": "yes"}, {"agent": True}, None),
}


@pytest.mark.parametrize("options, experimental, version", OPT_INS.values(), ids=OPT_INS.keys())
def test_our_own_messages_need_a_clear_yes_in_both_places(
    options: Any, experimental: Any, version: int | None
) -> None:
    params = {
        "capabilities": {"experimental": experimental},
        "initializationOptions": options,
    }
    assert check(params).agent_version == version


@pytest.mark.parametrize(
    "name, row",
    [
        ("visual-studio-code", "vscode"),
        ("neovim", "neovim"),
        ("neovim@v0.7.0", "neovim"),
        ("neovim@v0.10.0", "neovim"),
        ("emacs", "eglot"),
    ],
)
def test_capabilities_that_others_captured_are_recognised_too(name: str, row: str) -> None:
    capabilities = client_capabilities(name)
    named = {"vscode": "Visual Studio Code", "neovim": "Neovim", "eglot": "Eglot"}[row]
    params = types.InitializeParams(capabilities, client_info=types.ClientInfo(named))
    profile = ClientProfile.of(params)
    assert profile.row == row
