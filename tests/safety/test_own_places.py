"""What agent-ls keeps for itself: no tool changes it, by any path, link or name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ls.domain.verdicts import Allow, Ask, Deny
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.control_files import judge_read, judge_write
from agent_ls.safety.own_places import claim_store


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the settings, at a place that no name tells."""
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "odd" / name.lower()))
    folder = tmp_path / "odd" / "config" / "agent-ls"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("mode = 'ask'")
    return folder


def check(path: str, root: Path, write: type, read: type) -> None:
    """Assert the verdicts on writing and on reading with this one folder open."""
    roots = (Root("proj", root.resolve(), is_trusted=True),)
    for verdict, expected in ((judge_write(path, roots), write), (judge_read(path, roots), read)):
        assert type(verdict) is expected
        # No earlier yes answers for such a place, and no other tool is suggested.
        assert not (isinstance(verdict, Ask) and verdict.broad)
        assert not isinstance(verdict, Deny) or verdict.whatever_tool


@pytest.mark.parametrize("path", ["config.toml", "agents/x.md", "new.toml", "CONFIG.TOML"])
def test_a_workspace_that_is_the_settings_folder_changes_nothing_in_it(settings, path) -> None:
    check(path, settings, Deny, Ask)


@pytest.mark.parametrize("kind", ["data", "state", "cache"])
def test_the_other_folders_are_protected_before_they_exist(settings, tmp_path, kind) -> None:
    check(f"{kind}/agent-ls/rules.json", tmp_path / "odd", Deny, Ask)
    check(f"{kind}/other/rules.json", tmp_path / "odd", Allow, Allow)


def test_a_folder_that_holds_one_is_neither_moved_nor_deleted(settings, tmp_path) -> None:
    check("odd/config", tmp_path, Deny, Allow)
    check("odd", tmp_path, Deny, Allow)


def test_a_workspace_that_is_a_link_to_it_changes_nothing_in_it(settings, tmp_path) -> None:
    (tmp_path / "proj").symlink_to(settings)
    check("config.toml", tmp_path / "proj", Deny, Ask)


def test_a_settings_folder_that_is_a_link_into_the_workspace_is_protected(
    settings, tmp_path, monkeypatch
) -> None:
    (tmp_path / "proj" / "dotfiles").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "agent-ls").symlink_to(tmp_path / "proj" / "dotfiles")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "elsewhere"))
    check("dotfiles/config.toml", tmp_path / "proj", Deny, Ask)
    check("dotfiles2/config.toml", tmp_path / "proj", Allow, Allow)


def test_another_name_of_such_a_file_asks(settings, tmp_path) -> None:
    (tmp_path / "proj").mkdir()
    os.link(settings / "config.toml", tmp_path / "proj" / "notes.txt")
    check("notes.txt", tmp_path / "proj", Ask, Ask)


def test_a_store_that_was_put_into_the_workspace_is_protected(settings, tmp_path) -> None:
    (tmp_path / "proj").mkdir()
    claim_store(tmp_path / "proj" / "history.db")
    check("history.db", tmp_path / "proj", Deny, Ask)
    check("history.db-wal", tmp_path / "proj", Deny, Ask)
    check("history.db-shm", tmp_path / "proj", Deny, Ask)
    check("other.db", tmp_path / "proj", Allow, Allow)
