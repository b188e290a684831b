"""What a command in the sandbox may use, as the settings say."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from agent_ls.loop.ports.commands import Bounds, CommandOutcome
from agent_ls.safety.sandbox.builder import open_builder
from agent_ls.safety.sandbox.confinement import Sandbox, View
from agent_ls.safety.sandbox.probe import SandboxOptions, default_memory_bytes, probe
from agent_ls.workspace.runner import ShellRunner
from tests.support.sandboxes import installed_bubblewrap

pytestmark = pytest.mark.heavy

_MIB = 2**20
_PYTHON = str(Path(sys.executable).resolve())
_KILLED = "[killed: too much memory, more than 0.2 GiB, sandbox.max_memory_bytes]\n"


@pytest.fixture(params=["bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each sandbox; where it does not work the test is skipped."""
    found = probe(SandboxOptions(use=request.param))
    if found.sandbox is None:
        pytest.skip(found.why)
    return found.sandbox


async def run(
    folder: Path,
    options: SandboxOptions,
    command: str,
    *others: str,
    sandbox: Sandbox | None = None,
    view: View = "workspace-write",
) -> list[CommandOutcome]:
    """Run commands at the same time."""
    builder = open_builder(sandbox or installed_bubblewrap(), options, lambda: [folder])
    runner, bounds = ShellRunner(builder), Bounds(view)
    try:
        return await asyncio.gather(
            *(
                runner.run(text, cwd=folder, timeout_s=60, bounds=bounds)
                for text in (command, *others)
            )
        )
    finally:
        builder.end()


def python(*lines: str) -> str:
    """Return the command that runs these lines."""
    return f"{_PYTHON} -c '{chr(10).join(lines)}'"


async def test_a_command_with_more_processes_than_it_may_have_is_killed(tmp_path: Path) -> None:
    command = "for i in 1 2 3 4 5 6 7 8; do sleep 9 & done; wait; echo end"
    (outcome,) = await run(tmp_path.resolve(), SandboxOptions(max_processes=5), command)
    assert outcome.exit_code is None
    why = "[killed: it had more than 5 processes at once, sandbox.max_processes]\n"
    assert outcome.output == why


async def test_a_command_writes_no_larger_file_than_it_may(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    command = "head -c 3000 /dev/zero > big; head -c 1000 /dev/zero > small; wc -c < small"
    (outcome,) = await run(folder, SandboxOptions(max_file_bytes=2_000), command)
    assert (folder / "big").stat().st_size == 2_000
    assert outcome.output.splitlines()[-1] == "1000"


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(python("x = bytearray(300 << 20)", "import time", "time.sleep(50)"),
                     id="one-process"),
        pytest.param("for i in 1 2 3; do "
                     + python("x = bytearray(90 << 20)", "import time", "time.sleep(50)")
                     + " & done; wait", id="three-together"),
    ],
)  # fmt: skip
async def test_a_command_with_more_memory_than_it_may_have_is_killed(
    tmp_path: Path, sandbox: Sandbox, command: str
) -> None:
    options = SandboxOptions(max_memory_bytes=200 * _MIB)
    other = "sleep 2; echo end"
    hog, harmless = await run(tmp_path.resolve(), options, command, other, sandbox=sandbox)
    assert hog.exit_code is None
    assert hog.output == _KILLED
    assert hog.duration_ms < 40_000
    assert (harmless.exit_code, harmless.output) == (0, "end\n")


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(
            (
                "import os, time",
                "x = bytearray(120 << 20)",
                "children = [os.fork() for _ in range(2)]",
                "time.sleep(1)",
                "[os.wait() for child in children if all(children)]",
            ),
            id="shared-pages-count-once",
        ),
        pytest.param(
            (
                "import mmap, time",
                'file = open("large", "rb")',
                "seen = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)",
                "sum(seen[at] for at in range(0, len(seen), 4096))",
                "time.sleep(1)",
            ),
            id="pages-of-files-do-not-count",
        ),
    ],
)
async def test_memory_that_other_programs_can_have_does_not_count(
    tmp_path: Path, sandbox: Sandbox, lines: tuple[str, ...]
) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(300 * _MIB)
    options = SandboxOptions(max_memory_bytes=200 * _MIB)
    command = f"{python(*lines)} && echo end"
    (outcome,) = await run(tmp_path.resolve(), options, command, sandbox=sandbox)
    assert outcome.output == "end\n"


async def test_files_that_a_sandbox_holds_in_memory_count(tmp_path: Path) -> None:
    options = SandboxOptions(max_memory_bytes=200 * _MIB)
    command = "head -c 250M /dev/zero > /tmp/x; sleep 50"
    (outcome,) = await run(tmp_path.resolve(), options, command, view="read-only")
    assert outcome.output == _KILLED


async def test_without_a_limit_a_command_has_the_memory_it_wants(tmp_path: Path) -> None:
    options = SandboxOptions(max_memory_bytes=0)
    command = python("x = bytearray(300 << 20)", "import time", "time.sleep(1)")
    (outcome,) = await run(tmp_path.resolve(), options, command)
    assert (outcome.exit_code, outcome.output) == (0, "")


def test_by_default_a_part_of_the_machines_memory_is_the_limit() -> None:
    assert SandboxOptions().limits().memory_bytes == default_memory_bytes() >= 4 * 2**30
