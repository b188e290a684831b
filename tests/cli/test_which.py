"""Which words on the command line are a command, a prompt or a mistake."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agent_ls.cli.main import main
from agent_ls.cli.parser import build_parser
from agent_ls.cli.which import UnknownCommand, meant

_COMMANDS = tuple(build_parser().commands)
_VALUED = ("--model", "--mode", "--workspace", "--set", "--session", "-i")

MEANT = [
    ([], "chat"),
    (["-c"], "chat -c"),
    (["--model", "x/y"], "chat --model x/y"),
    (["--help"], "--help"),
    (["--version"], "--version"),
    (["help"], "--help"),
    (["help", "undo"], "undo --help"),
    (["sessions", "list"], "sessions list"),
    (["run", "sesions"], "run sesions"),
    (["fix the tests"], "run fix the tests"),
    (["  fix\nit "], "run   fix\nit "),
    (["fix", "the", "tests"], "run fix the tests"),
    (["--model", "x/y", "fix it", "--json"], "run --model x/y fix it --json"),
    (["-c", "and the docs"], "run -c and the docs"),
    (["/review", "main"], "run /review main"),
    (["@app.py"], "run @app.py"),
    (["修复测试"], "run 修复测试"),
    (["sessions are slow, find out why"], "run sessions are slow, find out why"),
    (["-"], "run -"),
    (["explain", "command", "git push"], "explain command git push"),
]
MISTAKES = [
    (["sesions"], "`agent-ls sessions`"),
    (["sesions", "list"], "`agent-ls sessions`"),
    (["UNDO"], "`agent-ls undo`"),
    (["serv", "--stdio"], "`agent-ls serve`"),
    (["mdels", "gpt"], "`agent-ls models`"),
    (["resme", "1A2B"], "`agent-ls resume`"),
    (["xyzzy"], "`agent-ls --help`"),
    (["--model", "x", "sessions"], "agent-ls sessions --model x"),
]


@pytest.mark.parametrize("given, expected", MEANT, ids=[" ".join(one) for one, _ in MEANT])
def test_words_are_a_command_or_a_prompt(given: list[str], expected: str) -> None:
    assert " ".join(meant(given, _COMMANDS, _VALUED)) == expected


@pytest.mark.parametrize("given, hint", MISTAKES, ids=[" ".join(one) for one, _ in MISTAKES])
def test_a_misspelt_command_is_never_sent_to_a_model(given: list[str], hint: str) -> None:
    with pytest.raises(UnknownCommand) as caught:
        meant(given, _COMMANDS, _VALUED)
    assert hint in str(caught.value)


USE = [
    (["sesions"], "Did you mean `agent-ls sessions`?"),
    (["run", "x", "--modle", "a"], "did you mean --model?"),
    (["run", "x", "--mode", "atuo"], "did you mean auto?"),
    (["sessions", "serach", "x"], "did you mean search?"),
    (["sessions", "delete", "x", "--ys"], "did you mean --yes?"),
    (["batch", "run", "x", "--quite"], "did you mean --quiet?"),
    # Only the command `run` has --worktree.
    (["batch", "run", "x", "--wroktree"], "unrecognized arguments: --wroktree\n"),
    (["restore"], "required: turn"),
    ([], "a conversation needs a terminal"),
]


@pytest.mark.parametrize("given, hint", USE, ids=[" ".join(one) for one, _ in USE])
def test_an_error_of_use_says_what_may_be_meant(
    given: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code: object = main(given)
    except SystemExit as stopped:
        code = stopped.code
    said = capsys.readouterr()
    assert (code, said.out) == (64, "")
    assert hint in said.err


@pytest.mark.parametrize("command", ["", "run", "diff", "undo", "review"])
def test_help_has_examples_and_exit_codes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([*filter(None, [command]), "--help"])
    assert stopped.value.code == 0
    said = capsys.readouterr().out
    assert "examples:" in said
    assert "exit codes:" in said
    assert max(map(len, said.splitlines())) <= 100


def test_the_first_frame_waits_for_nothing_heavy() -> None:
    program = """
import sys
import agent_ls.cli.main, agent_ls.cli.chat.begin
import agent_ls.cli.chat.completing, agent_ls.cli.chat.screen
heavy = {"pydantic", "rich", "pygments", "sqlalchemy", "httpx", "pygls", "litellm"}
print(sorted(heavy & set(sys.modules)))
"""
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "[]\n"
