"""What helps at a shell: help, completion, man page."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from agent_ls.cli.main import _COMMANDS, main
from agent_ls.cli.parser import build_parser
from agent_ls.cli.which import meant

COMMANDS = build_parser().commands
ACTIONS = {one.prog.removeprefix("agent-ls "): one for one in build_parser().below()}
"""The commands, and what stands below them, such as ``sessions delete``."""


@pytest.mark.parametrize("name", ACTIONS)
def test_the_help_of_each_command_has_examples_and_exit_codes(name: str) -> None:
    text = ACTIONS[name].format_help()
    _, examples, after = text.partition("\nexamples:\n  agent-ls")
    assert examples
    assert "\nexit codes:\n  0 " in after


@pytest.mark.parametrize("name", ACTIONS)
def test_the_examples_are_command_lines_that_are_understood(name: str) -> None:
    lines = (ACTIONS[name].epilog or "").splitlines()
    examples = [line.split("   ")[0] for line in lines if line.startswith("  agent-ls ")]
    for one in examples:
        words = shlex.split(re.split(r" [|<>] ", one)[0])[1:]
        build_parser().parse_args(meant(words, COMMANDS, ()))


def test_every_command_is_carried_out() -> None:
    assert set(COMMANDS) == {*_COMMANDS, "serve"}


@pytest.mark.parametrize(
    "words, completed",
    [
        (("re",), {"resume", "rename", "redo", "review", "restore", "report"}),
        (("run", "--js"), {"--json", "--json-stream"}),
        (("run", "--mode", "a"), {"ask-all", "ask", "accept-edits", "auto"}),
        (("run", "--goal", "{folder}/go"), {"{folder}/goal.toml"}),
    ],
)
def test_bash_completes_commands_options_values_and_files(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    completed: set[str],
) -> None:
    (tmp_path / "goal.toml").touch()
    assert main(["completion", "bash"]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    shown = [one.format(folder=tmp_path) for one in words]
    code = (
        f"source {tmp_path}/script; COMP_WORDS=(agent-ls {' '.join(shown)}); "
        'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _shtab_agent_ls; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {one.format(folder=tmp_path) for one in completed}


def test_each_shell_that_is_here_can_read_its_script(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for shell in filter(shutil.which, ("bash", "zsh", "fish")):
        assert main(["completion", shell]) == 0
        script = tmp_path / shell
        script.write_text(capsys.readouterr().out)
        done = subprocess.run([shell, "-n", str(script)], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
