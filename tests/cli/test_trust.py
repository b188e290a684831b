"""``trust``: folders are trusted, listed and forgotten without an editor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.cli.main import main
from agent_ls.safety.trust import TrustedFolders, trust_file


def test_a_folder_is_trusted_listed_and_forgotten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    assert main(["trust"]) == 0
    assert capsys.readouterr().out == "No folder is trusted.\n"
    assert main(["trust", str(tmp_path)]) == 0
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
