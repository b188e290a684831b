"""``~/.claude`` is read after the user has agreed, and only then."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.cli.main import main
from agent_ls.extension.claude_home import agreed_home, unread_home
from agent_ls.settings import load_settings

_FILES = {
    "commands/git/Big Commit.md": "---\nallowed-tools: Bash(git add:*)\n---\nCommit $1.",
    "skills/pdf/SKILL.md": "---\nname: pdf\ndescription: reads PDFs\n---\nRead $0.",
    "agents/reviewer.md": "---\nname: reviewer\ndescription: reviews\n---\nReview.",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    home = tmp_path / "home/.claude"
    for name, text in _FILES.items():
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text(text)
    (tmp_path / "project").mkdir()
    return home


def _listed(home: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    capsys.readouterr()
    assert main(["commands", "--workspace", str(home.parents[1] / "project")]) == 0
    said = capsys.readouterr()
    return said.out, said.err


def test_it_counts_once_it_is_trusted(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = _listed(home, capsys)
    assert out == ""
    assert f"in {home} are not read: agent-ls trust {home} lists them and asks" in err
    (home / "CLAUDE.md").write_text("Be kind.")
    assert main(["trust", "--show", "~/.claude"]) == 0
    assert capsys.readouterr().out == (
        f"{home}\nIt would switch on:\n"
        "  command /git:Big-Commit, in every folder\n"
        "  command /git:Big-Commit runs unasked when you call it: git add *, in every folder\n"
        "  skill pdf, in every folder\n"
        "  sub-agent reviewer, in every folder\n"
        "  instructions in CLAUDE.md, as if they were yours, when you work in this very folder\n"
    )
    # A folder above it was trusted for other reasons.
    assert main(["trust", "--yes", str(home.parent)]) == 0
    assert _listed(home, capsys)[0] == ""
    # Nobody can be asked here, so a word is needed.
    assert main(["trust", "~/.claude"]) == 3
    assert _listed(home, capsys)[0] == ""
    assert main(["trust", "--yes", "~/.claude"]) == 0
    out, err = _listed(home, capsys)
    assert [line.split()[0] for line in out.splitlines()[::2]] == ["/git:Big-Commit", "/pdf"]
    assert err == ""
    assert main(["doctor", "--workspace", str(home.parents[1] / "project")]) in (0, 1)
    assert "reviewer" in capsys.readouterr().out
    assert main(["trust", "--forget", "~/.claude"]) == 0
    assert _listed(home, capsys)[0] == ""


@pytest.mark.parametrize("consent, is_read", [("always", True), ("never", False)])
def test_the_setting_decides_without_a_question(
    consent: str, is_read: bool, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home.parents[1] / "config/agent-ls/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'claude_home = "{consent}"\n')
    out, err = _listed(home, capsys)
    assert ("/pdf" in out, err.startswith("agent-ls")) == (is_read, False)


def test_a_folder_cannot_decide(home: Path) -> None:
    project = home.parents[1] / "project"
    (project / ".agent-ls").mkdir()
    (project / ".agent-ls/config.toml").write_text('claude_home = "always"\n')
    main(["trust", "--yes", str(project)])
    loaded = load_settings(folders=[project])
    assert loaded.settings.claude_home == "ask"
    assert "claude_home was ignored" in loaded.problems[0]


def test_another_place_and_an_empty_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (agreed_home("ask"), unread_home("ask")) == (None, home)
    assert (agreed_home("always"), unread_home("always")) == (home, None)
    assert (agreed_home("never"), unread_home("never")) == (None, None)
    other = home.parents[1] / "other"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(other))
    assert unread_home("ask") is None
    assert agreed_home("always") == other
