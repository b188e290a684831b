"""``trust``: folders are trusted, listed and forgotten without an editor."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from agent_ls.cli.main import main
from agent_ls.safety.trust import TrustedFolders, trust_file


@pytest.fixture(autouse=True)
def _own_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def test_a_folder_is_trusted_listed_and_forgotten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    assert main(["trust"]) == 0
    assert capsys.readouterr().out == "No folder is trusted.\n"
    assert main(["trust", str(tmp_path), "--yes"]) == 0
    assert capsys.readouterr().out == f"{tmp_path.resolve()}\n"
    assert TrustedFolders(trust_file()).is_trusted(inner)
    assert main(["trust", "--forget", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert not TrustedFolders(trust_file()).is_trusted(inner)


@pytest.mark.parametrize(
    "words, why",
    [
        pytest.param(["missing"], "there is no folder", id="not-there"),
        pytest.param(["file"], "there is no folder", id="no-folder"),
        pytest.param(["--forget", "."], "is not trusted; see agent-ls trust", id="not-trusted"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    why: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert main(["trust", *words]) == 3
    assert why in capsys.readouterr().err
    assert TrustedFolders(trust_file()).all() == ()


def test_what_counts_by_the_folder_above_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    assert main(["trust", str(tmp_path), "--yes"]) == 0
    assert main(["trust", "--forget", str(inner)]) == 3
    assert f"because {tmp_path.resolve()} is; forget that one" in capsys.readouterr().err


def test_a_folder_that_became_a_link_is_forgotten_by_its_name(tmp_path: Path) -> None:
    folder = tmp_path.resolve() / "folder"
    folder.mkdir()
    assert main(["trust", str(folder), "--yes"]) == 0
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert main(["trust", "--forget", str(folder)]) == 0
    assert TrustedFolders(trust_file()).all() == ()


@pytest.mark.parametrize("damaged", ['["/a"', "{}", "\xff"])
def test_a_damaged_list_trusts_nothing_and_is_not_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damaged: str
) -> None:
    assert main(["trust", str(tmp_path), "--yes"]) == 0
    trust_file().write_text(damaged, "latin-1")
    for words in ([], [str(tmp_path), "--yes"], ["--forget", str(tmp_path)]):
        assert main(["trust", *words]) == 3
        assert "repair or delete that file" in capsys.readouterr().err
    assert trust_file().read_text("latin-1") == damaged
    assert not TrustedFolders(trust_file()).is_trusted(tmp_path)


def test_without_a_terminal_only_the_option_trusts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert main(["trust", str(tmp_path)]) == 3
    assert "nobody is there to be asked; add --yes" in capsys.readouterr().err
    assert TrustedFolders(trust_file()).all() == ()


def test_what_trust_would_switch_on_is_said_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = tmp_path / "project" / ".agent-ls" / "commands" / "fix.md"
    command.parent.mkdir(parents=True)
    command.write_text("Fix.")
    folder = tmp_path / "project"
    assert main(["trust", "--show", str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder}\nIt would switch on:\n  command /fix\n"
    assert main(["trust", "--show", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"on": ["command /fix"], "off": []}
    assert TrustedFolders(trust_file()).all() == ()


@pytest.mark.parametrize(
    "answer, code",
    [("y\n", 0), ("YES\n", 0), ("\n", 1), ("no\n", 1), ("", 1), (None, 0)],
    ids=["y", "yes", "enter", "no", "end", "option"],
)
def test_on_a_terminal_only_a_yes_trusts(
    answer: str | None, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer or ""))
    said = Terminal()
    monkeypatch.setattr("sys.stderr", said)
    option = ["--yes"] if answer is None else []
    assert main(["trust", str(tmp_path), *option]) == code
    assert said.getvalue().endswith("Not trusted.\n") is (code == 1)
    assert TrustedFolders(trust_file()).is_trusted(tmp_path) is (code == 0)


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True
