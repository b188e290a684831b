"""Which folders count as trusted."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agent_ls.domain.errors import SettingsError
from agent_ls.safety.trust import TrustedFolders


def check(tmp_path: Path, trusted: list[str], asked: str, content: str | None = None) -> bool:
    folders = TrustedFolders(tmp_path / "data/trusted.json")
    for name in trusted:
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        folders.trust(tmp_path / name)
    if content is not None:
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data/trusted.json").write_text(content)
    return folders.is_trusted(tmp_path / asked)


@pytest.mark.parametrize(
    "trusted, asked, content, expected",
    [
        pytest.param([], "a", None, False, id="nothing-is-trusted-at-first"),
        pytest.param(["a"], "a", None, True, id="a-trusted-folder-is"),
        pytest.param(["a"], "a/b/c", None, True, id="folders-below-it-are"),
        pytest.param(["a/b"], "a", None, False, id="the-folder-above-is-not"),
        pytest.param(["a"], "ab", None, False, id="a-longer-name-is-another-folder"),
        pytest.param(["a"], "a", "{ broken", False, id="a-broken-file-trusts-nothing"),
        pytest.param(["a"], "a", '{"a": 1}', False, id="a-file-of-another-shape-trusts-nothing"),
    ],
)
def test_trust(
    tmp_path: Path, trusted: list[str], asked: str, content: str | None, expected: bool
) -> None:
    assert check(tmp_path, trusted, asked, content) is expected


def test_a_link_into_a_trusted_folder_counts_as_its_target(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert check(tmp_path, ["real"], "link")


def test_only_the_user_can_read_the_file_and_trust_can_be_taken_back(tmp_path: Path) -> None:
    assert check(tmp_path, ["a", "b"], "a")
    file = tmp_path / "data/trusted.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    folders = TrustedFolders(file)
    folders.forget(tmp_path / "a")
    assert folders.all() == (tmp_path / "b",)


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    with pytest.raises(SettingsError, match="could not be written"):
        TrustedFolders(tmp_path / "data/trusted.json").trust(tmp_path)
