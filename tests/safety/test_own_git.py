"""git for agent-ls itself: no program of the workspace, and nothing that a repository names."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent_ls.domain.verdicts import Ask
from agent_ls.loop.ports.commands import Bounds
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.commands import decide_command
from agent_ls.safety.programs import find_outside
from agent_ls.safety.ripgrep import find_ripgrep
from agent_ls.safety.sandbox import own_git
from agent_ls.safety.sandbox.builder import SandboxBuilder, open_builder
from agent_ls.safety.sandbox.probe import SandboxOptions, probe
from agent_ls.workspace.environment import MachineEnvironment

_AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@b.c")


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *_AUTHOR, *words], cwd=folder, check=True, capture_output=True)


def _program(place: Path, script: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "work"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    (folder / ".gitattributes").write_text("*.py filter=x\n")
    _git(folder, "init", "-q", "-b", "topic")
    _git(folder, "add", ".")
    _git(folder, "commit", "-qm", "x")
    (folder / "a.py").write_text("y = 1\n")
    (folder / "new.py").write_text("z = 1\n")
    return folder


@pytest.fixture
def mark(repository: Path) -> Path:
    """What appears if the repository's filter runs with the user's rights."""
    place = repository.parent / "mark"
    _git(repository, "config", "filter.x.clean", f"touch {place}; cat")
    return place


@contextmanager
def _view(folder: Path, use: str, *write: Path) -> Generator[SandboxBuilder]:
    options = SandboxOptions.model_validate({"use": use, "write": [str(one) for one in write]})
    sandbox = probe(options, [folder]).sandbox
    if sandbox is None:
        pytest.skip(f"{use} does not work on this machine")
    builder = open_builder(sandbox, options, lambda: [folder])
    try:
        yield builder
    finally:
        builder.end()


both = pytest.mark.parametrize("use", ["bubblewrap", "landlock"])


@both
def test_a_filter_that_appears_after_the_check_changes_nothing_in_the_view(
    use: str, repository: Path, mark: Path
) -> None:
    with _view(repository, use):
        done = own_git.run(repository, [repository], "diff", "--name-status")
        assert done.stdout == b"M\ta.py\n"
        assert not mark.exists()
    # What is seen if it happens: after the end of the view git runs outside again.
    own_git.run(repository, [repository], "diff", "--name-status")
    assert mark.exists()


class _NoChecks:
    async def here(self) -> tuple[str, ...]:
        return ()


class _Folders:
    def __init__(self, root: Path) -> None:
        self.roots = (Root("work", root, is_trusted=True),)


async def _environment(root: Path) -> str:
    """Return the prompt's line about git."""
    port = MachineEnvironment(_Folders(root), _NoChecks(), root.parent)  # pyright: ignore
    (line,) = (one for one in await port.facts() if one.startswith("Git: "))
    return line


@both
async def test_the_prompts_line_about_git_runs_filters_only_in_the_view(
    use: str, repository: Path, mark: Path
) -> None:
    assert await _environment(repository) == "Git: work/: branch topic."
    with _view(repository, use):
        line = await _environment(repository)
    assert line == "Git: work/: branch topic, 1 changed and 1 new files uncommitted."
    assert not mark.exists()


@pytest.mark.parametrize("setting", ["core.fsmonitor", "filter.x.process", "core.sshCommand"])
def test_to_list_what_git_tracks_starts_no_program_without_a_sandbox(
    repository: Path, mark: Path, setting: str
) -> None:
    _git(repository, "config", setting, f"touch {mark}")
    found = own_git.index_files(repository, [repository], repository)
    assert found.regular == {".gitattributes", "a.py"}
    assert not mark.exists()


@both
async def test_the_line_counts_the_whole_repository_around_the_folder(
    use: str, repository: Path
) -> None:
    inner = repository / "inner"
    inner.mkdir()
    with _view(inner, use):
        assert "1 changed and 1 new" in await _environment(inner)


async def test_no_git_of_the_workspace_is_run_without_a_sandbox(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = repository.parent / "mark"
    _program(repository / ".venv/bin/git", f"/usr/bin/touch {mark}")
    _program(repository.parent / "linked/git", "")
    (repository.parent / "linked/git").unlink()
    (repository.parent / "linked/git").symlink_to(repository / ".venv/bin/git")
    entries = (".venv/bin", repository / ".venv/bin", repository.parent / "linked")
    path = os.pathsep.join((*map(str, entries), os.environ["PATH"]))
    monkeypatch.setenv("PATH", path)
    monkeypatch.chdir(repository)
    roots = (Root("work", repository, is_trusted=True),)
    for command in ("git status", "git diff", "git ls-files | xargs cat"):
        # The command itself would find the workspace's.
        assert isinstance(decide_command(command, repository, roots), Ask), command
    assert "branch topic" in await _environment(repository)
    assert not mark.exists()
    found = find_outside("git", [repository])
    assert found is not None
    assert not found.resolve().is_relative_to(repository.parent)
    assert find_outside("git", [Path("/")]) is None


@both
def test_no_ripgrep_that_commands_can_change_is_run(
    use: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = str(Path(sys.executable).with_name("rg"))
    inside, cache, last = (repository / ".venv/bin", *map(repository.parent.joinpath, "cl"))
    for folder in (inside, cache, last):
        _program(folder / "rg", "")
    with _view(repository, use, cache):
        monkeypatch.setenv("PATH", os.pathsep.join(map(str, (inside, cache, last))))
        assert find_ripgrep([repository]) == own
        # Where agent-ls itself runs from what commands can change.
        for folder in (inside, cache):
            monkeypatch.setattr(sys, "executable", str(folder / "python"))
            assert find_ripgrep([repository]) == str(last / "rg")
        monkeypatch.setenv("PATH", str(inside))
        assert find_ripgrep([repository]) == str(cache / "rg")


@both
def test_no_sandbox_of_the_workspace_is_tried(
    use: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = repository.parent / "mark"
    _program(repository / "bin/bwrap", f"/usr/bin/touch {mark}")
    monkeypatch.setenv("PATH", f"{repository / 'bin'}{os.pathsep}{os.environ['PATH']}")
    with _view(repository, use):
        assert not mark.exists()
    # Nor one in a folder that commands may change beside the workspace.
    options = SandboxOptions(write=(str(repository),))
    probe(options, [])
    assert not mark.exists()


@both
def test_an_unasked_command_does_not_change_the_agent_ls_that_is_installed_in_the_workspace(
    use: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = repository / ".venv/bin"
    inside.mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(repository / ".venv"))
    env = {"PATH": os.environ["PATH"], "HOME": str(Path.home())}
    with _view(repository, use) as builder:
        for bounds, works in ((Bounds(), False), (Bounds(consent="user"), True)):
            command = ("/bin/sh", "-c", f"echo > {inside}/python")
            wrapped = builder.wrapped(command, bounds, cwd=repository, env=env)
            subprocess.run(wrapped.argv, env=dict(wrapped.env), check=False, capture_output=True)
            wrapped.end()
            assert (inside / "python").exists() is works
