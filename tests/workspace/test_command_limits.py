"""What a command in the sandbox may use, as the settings say."""

from __future__ import annotations

from pathlib import Path

from agent_ls.loop.ports.commands import Bounds, CommandOutcome
from agent_ls.safety.sandbox.confining import open_confiner
from agent_ls.safety.sandbox.probe import SandboxOptions
from agent_ls.workspace.runner import ShellRunner
from tests.support.sandboxes import installed_bubblewrap


async def run(folder: Path, options: SandboxOptions, command: str) -> CommandOutcome:
    confiner = open_confiner(installed_bubblewrap(), options, lambda: [folder])
    try:
        runner = ShellRunner(confiner)
        return await runner.run(command, cwd=folder, timeout_s=20, bounds=Bounds("work"))
    finally:
        confiner.end()


async def test_a_command_with_more_processes_than_it_may_have_is_killed(tmp_path: Path) -> None:
    command = "for i in 1 2 3 4 5 6 7 8; do sleep 9 & done; wait; echo end"
    outcome = await run(tmp_path.resolve(), SandboxOptions(max_processes=5), command)
    assert outcome.exit_code is None
    why = "[killed: it had more than 5 processes at once, sandbox.max_processes]\n"
    assert outcome.output == why


async def test_a_command_writes_no_larger_file_than_it_may(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    command = "head -c 3000 /dev/zero > big; head -c 1000 /dev/zero > small; wc -c < small"
    outcome = await run(folder, SandboxOptions(max_file_bytes=2_000), command)
    assert (folder / "big").stat().st_size == 2_000
    assert outcome.output.splitlines()[-1] == "1000"
