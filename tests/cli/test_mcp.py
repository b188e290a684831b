"""``mcp``: tool servers are listed, approved, forgotten and logged in at without an editor."""

from __future__ import annotations

import json
import sys
import threading
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from agent_ls.cli import mcp as command
from agent_ls.cli.main import main
from agent_ls.mcp.pins import SavedPins, pins_file
from tests.mcp.conftest import PROGRAM
from tests.mcp.http_server import http_server
from tests.mcp.server import tool

pytestmark = pytest.mark.heavy


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A trusted folder that names one server, whose tools stand in a file."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "project"
    folder.mkdir()
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([tool("look", "Looks\u200b around.")]))
    named = {"command": sys.executable, "args": [str(PROGRAM), f"file:{tools}"]}
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"eyes": named}}))
    main(["trust", str(folder), "--yes"])
    return folder


def listed(project: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["mcp", "--workspace", str(project), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_server_is_listed_approved_and_forgotten(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert listed(project, capsys)[0] == {
        "server": "eyes",
        "place": str(project),
        "state": "not approved",
        "approved": False,
        "tools": [],
    }
    words = ["mcp", "--workspace", str(project)]
    assert main([*words, "approve", "eyes", "--yes"]) == 0
    assert "eyes is approved, with 1 tool:\n  look: Looks around." in capsys.readouterr().out
    assert listed(project, capsys)[0]["tools"] == ["look"]
    # What changed since is shown before it counts.
    (tmp_path / "tools.json").write_text(json.dumps([tool("look"), tool("leak")]))
    assert main([*words, "approve", "eyes"]) == 3
    assert "There is no terminal to ask at" in capsys.readouterr().err
    assert listed(project, capsys)[0]["tools"] == ["look"]
    assert main([*words, "approve", "eyes", "--yes"]) == 0
    assert listed(project, capsys)[0]["tools"] == ["look", "leak"]
    assert main([*words, "list"]) == 0
    assert capsys.readouterr().out.startswith("eyes: 2 tools\n")
    assert main([*words, "forget", "eyes"]) == 0
    assert SavedPins(pins_file()).all() == ()
    assert listed(project, capsys)[0]["state"] == "not approved"


def test_doctor_names_the_servers_and_starts_none(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["doctor", "--workspace", str(project), "--json"])
    found = json.loads(capsys.readouterr().out)
    (said,) = (one for one in found if one["what"] == "tool server eyes")
    assert (said["state"], said["words"]) == ("note", "not approved")


def test_an_unknown_server_is_said(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--workspace", str(project), "approve", "ears"]) == 3
    assert "there is no tool server ears here; those are: eyes" in capsys.readouterr().err


def test_a_login_shows_the_page_to_open(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_show_page", _browse)
    with http_server(wants_login=True) as far:
        words = ["--set", f"mcp.servers.far.url={far.base}/mcp"]
        assert main(["mcp", "--workspace", str(project), *words, "login", "far"]) == 0
        assert capsys.readouterr().out == "You are logged in at far.\n"
        assert main(["mcp", "--workspace", str(project), *words, "approve", "far", "--yes"]) == 0


def _browse(name: str, page: str) -> None:
    threading.Thread(target=lambda: urllib.request.urlopen(page).read(), daemon=True).start()
