"""``commands``: lists the commands of the user and of a trusted folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from agent_ls.cli.main import main
from tests.mcp.conftest import PROGRAM


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


def test_commands_are_listed_with_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, folder = tmp_path / "config/agent-ls/commands", tmp_path / "project"
    shared = folder / ".agent-ls/commands"
    for place in (own, shared):
        place.mkdir(parents=True)
    (own / "bad.md").write_text("---\n")
    (shared / "fix.md").write_text("---\ndescription: mends\nargument-hint: FILE\n---\nMend.")
    words = ["commands", "--workspace", str(folder)]
    assert main(words) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "bad.md cannot be used: its front matter has no end" in said.err
    assert "There are none yet. Write one as" in said.err
    assert main(["trust", str(folder), "--yes"]) == 0
    capsys.readouterr()
    assert main(words) == 0
    assert capsys.readouterr().out == f"/fix FILE  mends\n    {shared / 'fix.md'}\n"
    assert main([*words, "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert (row["name"], row["description"], row["body"]) == ("fix", "mends", "Mend.")


@pytest.mark.parametrize(
    "mode, out, err",
    [
        ("prompts", "/desk:review file [why]  Reviews.\n    the tool server desk\n", ""),
        (
            "slow at start prompts",
            "",
            "agent-ls: These tool servers are still starting, and their prompts are not known yet: "
            "desk.\n",
        ),
    ],
    ids=["started", "starting"],
)
def test_prompts_of_servers_are_listed_too(
    mode: str,
    out: str,
    err: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agent_ls.mcp.servers._LISTING_S", 0.1 if err else 60)
    own = tmp_path / "config/agent-ls/config.toml"
    own.parent.mkdir(parents=True)
    command = f"command = {json.dumps(sys.executable)}\nargs = {json.dumps([str(PROGRAM), mode])}"
    own.write_text(f"[mcp.servers.desk]\n{command}\n")
    assert main(["commands", "--workspace", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == (out, err)


def test_an_unknown_command_is_refused_and_leaves_no_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--model", "openai/scripted", "--workspace", str(tmp_path)]
    assert main(["run", "/reviw a.py", *words]) != 0
    assert (
        "There is no command /reviw. The commands are: /commit, /goal, /learn, /review."
        in capsys.readouterr().err
    )
    assert main(["sessions", "list", "--json", "--workspace", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out) == []
