"""What a command in the sandbox gets to see of texts that are not saved."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_ls.loop.ports.commands import Bounds, CommandOutcome
from agent_ls.safety.sandbox.builder import SandboxBuilder, open_builder
from agent_ls.safety.sandbox.probe import SandboxOptions
from agent_ls.workspace.runner import ShellRunner
from tests.support.sandboxes import installed_bubblewrap

pytestmark = pytest.mark.heavy


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with texts as they are on disk."""
    place = tmp_path.resolve() / "work"
    (place / "lib").mkdir(parents=True)
    (place / "a.py").write_text("x = 1\n")
    (place / "lib" / "run.sh").write_text("echo old\n")
    (place / "lib" / "run.sh").chmod(0o755)
    (place / ".env").write_text("KEY=old\n")
    os.utime(place / "a.py", (1, 1))
    return place


@pytest.fixture
def builder(folder: Path) -> Iterator[SandboxBuilder]:
    """What confines commands of this folder."""
    found = open_builder(installed_bubblewrap(), SandboxOptions(), lambda: [folder])
    yield found
    found.end()


async def run(
    builder: SandboxBuilder, folder: Path, command: str, view: str = "workspace-write"
) -> CommandOutcome:
    texts = {
        folder / "a.py": b"x = 2\n",
        folder / "lib" / "run.sh": b"echo new\n",
        folder / ".env": b"KEY=new\n",
        folder / "gone.py": b"y = 1\n",
    }
    bounds = Bounds("read-only" if view == "read-only" else "workspace-write", texts=texts)
    return await ShellRunner(builder).run(command, cwd=folder, timeout_s=20, bounds=bounds)


@pytest.mark.parametrize("view", ["read-only", "workspace-write"])
@pytest.mark.parametrize(
    ("command", "output"),
    [
        pytest.param("cat a.py", "x = 2\n", id="the-text"),
        pytest.param("./lib/run.sh", "echo new\n".removeprefix("echo "), id="it-can-be-run"),
        pytest.param("cat .env 2>&1 | tail -c 18", "Permission denied\n", id="no-secret"),
        pytest.param("ls gone.py 2>&1 | tail -c 27", " No such file or directory\n", id="gone"),
        pytest.param("test a.py -nt lib && echo newer", "newer\n", id="it-is-the-newest"),
    ],
)
async def test_a_command_sees_the_text(
    builder: SandboxBuilder, folder: Path, view: str, command: str, output: str
) -> None:
    outcome = await run(builder, folder, command, view)
    assert outcome.output == output
    assert not (folder / "gone.py").exists()


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("echo x > a.py", id="write"),
        pytest.param("sed -i s/2/3/ a.py", id="replace"),
        pytest.param("rm a.py", id="delete"),
        pytest.param("mv a.py b.py", id="move"),
        pytest.param("chmod 777 a.py", id="permissions"),
    ],
)
async def test_what_is_shown_cannot_be_changed(
    builder: SandboxBuilder, folder: Path, command: str
) -> None:
    outcome = await run(builder, folder, command)
    assert outcome.exit_code not in (0, None), outcome.output
    assert (folder / "a.py").read_text() == "x = 1\n"
    assert (folder / "lib" / "run.sh").read_text() == "echo old\n"
    assert (folder / "a.py").stat().st_mtime == 1


async def test_nothing_of_it_is_left(builder: SandboxBuilder, folder: Path) -> None:
    await run(builder, folder, "echo new > lib/b.py; true")
    assert (folder / "lib" / "b.py").read_text() == "new\n"
    assert [one.name for one in builder.place.glob("unsaved-*")] == []
