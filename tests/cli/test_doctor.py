"""``doctor`` names what the person has added, and says what of it cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.cli.main import main
from agent_ls.safety.trust import TrustedFolders, trust_file
from agent_ls.settings import user_file

_KEEPER = "---\ndescription: keeps the docs\ntools: read_file\n---\nYou keep the docs.\n"


def check(
    folder: Path, capsys: pytest.CaptureFixture[str], expected: list[tuple[str, str, str]]
) -> None:
    """Run it and compare what it says of the person's own parts."""
    main(["doctor", "--json", "--workspace", str(folder)])
    found = json.loads(capsys.readouterr().out)
    own = [one for one in found if one["what"] in ("hooks", "sub-agents", "mypy", "own")]
    assert [(one["state"], one["what"], one["words"]) for one in own] == expected


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("PATH", "")
    place = tmp_path / "project"
    place.mkdir()
    return place


def test_nothing_is_said_of_what_nobody_added(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(folder, capsys, [])


def test_hooks_and_kinds_of_sub_agents_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agents = user_file().parent / "agents"
    agents.mkdir(parents=True)
    (agents / "keeper.md").write_text(_KEEPER)
    (agents / "broken.md").write_text("You are broken.")
    user_file().write_text('[[hooks.post_edit]]\nname = "mypy"\ncommand = "mypy {file}"\n')
    check(
        folder,
        capsys,
        [
            ("ok", "hooks", "mypy (post_edit)"),
            ("ok", "sub-agents", "keeper"),
            (
                "wrong",
                "sub-agents",
                f"The sub-agent in {agents / 'broken.md'} cannot be used: it does not begin with "
                "front matter between two lines of ---.",
            ),
        ],
    )


def test_commands_that_check_are_named_and_why_one_cannot_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text(
        '[checkers]\ncommands = ["mypy", {name = "own", command = "/bin/true x", files = ["*"]}]\n'
    )
    TrustedFolders(trust_file()).trust(folder)
    missing = (
        "mypy did not run: there is no program mypy. "
        "Install it, or correct checkers.commands in your settings."
    )
    check(folder, capsys, [("note", "mypy", missing), ("ok", "own", "/bin/true x")])
