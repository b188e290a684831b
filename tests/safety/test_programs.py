"""The program behind a name: what the workspace holds is not taken for the system's."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.domain.verdicts import Allow, Ask
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.commands import decide_command
from agent_ls.safety.programs import child_path


@pytest.mark.parametrize(
    ("program", "leads_to", "verdict"),
    [
        ("away/bin/wc", "", Allow),
        ("work/bin/wc", "", Ask),
        ("work/bin/wc", "away/wc", Ask),
        ("away/bin/wc", "work/wc", Ask),
        ("away/shims/wc", "", Ask),
    ],
)
def test_without_a_sandbox_a_program_of_the_workspace_asks(
    program: str,
    leads_to: str,
    verdict: type,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base = tmp_path.resolve()
    (base / "work").mkdir()
    place, target = base / program, base / (leads_to or program)
    for one in (place, target):
        one.parent.mkdir(parents=True, exist_ok=True)
    target.touch(0o755)
    if leads_to:
        place.symlink_to(target)
    monkeypatch.setenv("PATH", str(place.parent))
    roots = (Root("work", base / "work", is_trusted=True),)
    assert type(decide_command("wc x", roots[0].path, roots)) is verdict


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
