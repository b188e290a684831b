"""The program behind a name: what the workspace holds or selects is not taken for the system's."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.domain.verdicts import Allow, Ask
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.commands import decide
from agent_ls.safety.programs import child_path


@pytest.mark.parametrize(
    ("program", "leads_to", "command", "verdict"),
    [
        ("away/bin/rg", "", "rg x", Allow),
        ("work/bin/rg", "", "rg x", Ask),
        ("work/bin/rg", "away/rg", "rg x", Ask),
        ("away/bin/rg", "work/rg", "rg x", Ask),
        ("work/bin/basename", "", "ls | xargs -n1 basename", Ask),
        # What xargs runs is no builtin of the shell.
        ("work/bin/echo", "", "ls | xargs echo", Ask),
        ("work/bin/echo", "", "echo x", Allow),
        ("away/shims/rg", "", "rg x", Ask),
        ("away/bin/rg", "away/shims/rg", "rg x", Ask),
        ("away/bin/rg", "away/volta-shim", "rg x", Ask),
        ("away/.pyenv/shims/rg", "", "rg x", Allow),
        ("away/bin/node", "", "node --version", Ask),
        ("away/bin/node", "/usr/bin/env", "node --version", Allow),
        ("away/.pyenv/shims/python3", "", "python3 --version", Allow),
        ("away/bin/else", "", "python3 --version", Allow),
    ],
)
def test_a_program_is_the_systems_unless_the_workspace_has_a_say(
    program: str,
    leads_to: str,
    command: str,
    verdict: type,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base = tmp_path.resolve()
    (base / "work").mkdir()
    place, target = base / program, base / (leads_to or program)
    for one in (place, target):
        one.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        target.touch(0o755)
    if leads_to:
        place.symlink_to(target)
    monkeypatch.setenv("PATH", str(place.parent))
    roots = (Root("work", base / "work", is_trusted=True),)
    assert type(decide(command, roots[0].path, roots)) is verdict


@pytest.mark.parametrize("place", [".", "work"])
def test_a_file_around_the_folder_that_selects_a_python_asks(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path.resolve()
    shims, work = base / ".pyenv" / "shims", base / "work"
    shims.mkdir(parents=True)
    work.mkdir()
    (shims / "python3").touch(0o755)
    (base / place / ".python-version").touch()
    monkeypatch.setenv("PATH", str(shims))
    assert isinstance(decide("python3 --version", work, (Root("work", work, True),)), Ask)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (":.:bin:/usr/local/bin:~/bin:/bin", "/usr/local/bin:/bin"),
        (".:bin", "/usr/bin:/bin"),
        (None, "/bin:/usr/bin"),
    ],
)
def test_children_get_absolute_folders_on_their_path_only(
    path: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if path is None:
        monkeypatch.delenv("PATH")
    else:
        monkeypatch.setenv("PATH", path)
    assert child_path() == expected
