"""``explain --batch``: one answer a line, whatever the line is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.batch import batch

_ROOT = ["/proj"]
_COMMANDS = {"kind": "command", "roots": _ROOT}
_WRITES = {"kind": "write", "roots": _ROOT, "content": "x"}
_CASES: list[tuple[str | dict[str, Any], str]] = [
    ({"kind": "command", "input": {"command": "ls -la", "roots": _ROOT, "cwd": "/proj"}}, "allow"),
    ({**_COMMANDS, "command": "git log --oneline", "sandbox": True}, "allow"),
    ({**_COMMANDS, "command": "git show HEAD:.env"}, "ask"),
    ({**_COMMANDS, "command": "cat a.txt /proj/b.txt", "cwd": "/proj/src"}, "allow"),
    ({**_COMMANDS, "command": "cat ../b.txt", "cwd": "/proj/src"}, "allow"),
    ({**_COMMANDS, "command": "cat ../b.txt", "cwd": "/proj"}, "ask"),
    ({**_COMMANDS, "command": "cat /proj-old/x"}, "ask"),
    ({**_COMMANDS, "command": "make"}, "ask"),
    ({**_COMMANDS, "command": "make", "mode": "auto"}, "allow"),
    ({**_COMMANDS, "command": "make", "mode": "bypassPermissions"}, "allow"),
    ({**_COMMANDS, "command": "make", "grants": ["run_command:make"]}, "allow"),
    ({**_COMMANDS, "command": "make x", "grants": ["run_command:make"]}, "ask"),
    ({**_COMMANDS, "command": "make", "mode": "plan"}, "ask"),
    ({**_COMMANDS, "command": "ls", "mode": "ask-all"}, "ask"),
    ({**_COMMANDS, "command": "rm -rf /", "mode": "auto"}, "deny"),
    ({**_COMMANDS, "command": "ls", "shell": "/bin/bash"}, "allow"),
    ({**_COMMANDS, "command": "dir", "shell": "powershell", "mode": "auto"}, "ask"),
    ({**_COMMANDS, "command": ""}, "error"),
    ({**_COMMANDS, "command": "ls", "cwd": "/other"}, "deny"),
    ({"kind": "command", "roots": ["/proj", "/lib"], "command": "cat /lib/a x"}, "allow"),
    ({"kind": "path", "input": "src/a.py", "roots": _ROOT}, "allow"),
    ({"kind": "path", "path": "a.py", "cwd": "/proj/src", "roots": _ROOT}, "allow"),
    ({"kind": "path", "path": "../a.py", "cwd": "/proj", "roots": _ROOT}, "deny"),
    ({"kind": "path", "path": "a/../../x", "roots": _ROOT}, "deny"),
    ({"kind": "path", "path": "a\0b", "roots": _ROOT}, "error"),
    ({"kind": "path", "path": "x" * 400, "roots": _ROOT}, "error"),
    ({"kind": "path", "path": ".env", "roots": "/proj"}, "ask"),
    ({**_WRITES, "path": "src/a.py"}, "ask"),
    ({**_WRITES, "path": "src/a.py", "mode": "acceptEdits"}, "allow"),
    ({**_WRITES, "path": "src/a.py", "mode": "plan"}, "ask"),
    ({**_WRITES, "path": ".git/hooks/pre-commit", "mode": "auto"}, "ask"),
    ({**_WRITES, "path": ".agent-ls/config.toml", "mode": "auto"}, "deny"),
    ({"kind": "config", "text": "mode = 'plan'"}, "allow"),
    ({"kind": "config", "text": "mode = 'accept-edits'"}, "ask"),
    ({"kind": "config", "text": "mode = 'accept-edits'", "trusted": True}, "allow"),
    ({"kind": "config", "text": "mode = 'auto'", "trusted": True}, "deny"),
    ({"kind": "config", "settings": {"provider": {"api_base": "http://x"}}}, "deny"),
    ({"kind": "config", "text": "mode ="}, "error"),
    ({"kind": "config"}, "error"),
    ({"kind": "dance", "command": "ls"}, "error"),
    ({**_COMMANDS, "command": "ls", "mode": "brave"}, "error"),
    ({**_COMMANDS}, "error"),
    ("nonsense", "error"),
    ("[1]", "error"),
    ("{" * 100_000, "error"),
    ('{"kind": "command", "command": "ls \\ud800"}', "error"),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The answers to all cases, by one process that also gets lines that are no text."""
    lines = [case if isinstance(case, str) else json.dumps(case) for case, _ in _CASES]
    return batch(tmp_path_factory.mktemp("here"), *lines, "\udcff")


@pytest.mark.parametrize("number", range(len(_CASES)))
def test_each_request_is_answered(answers: list[dict[str, Any]], number: int) -> None:
    case, verdict = _CASES[number]
    assert (case, answers[number]["verdict"]) == (case, verdict)
    assert answers[number]["reason"]
    assert answers[number]["rule"]


def test_a_line_that_is_no_text_is_answered(answers: list[dict[str, Any]]) -> None:
    assert len(answers) == len(_CASES) + 1
    assert answers[-1]["verdict"] == "error"


def test_an_answer_carries_the_id_of_its_request(tmp_path: Path) -> None:
    found = batch(tmp_path, '{"id": [7], "kind": "command", "command": "ls"}', '{"id": "b"}', "")
    assert [(one["id"], one["verdict"]) for one in found] == [([7], "allow"), ("b", "error")]


def test_an_answer_comes_before_the_next_request(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "agent_ls", "explain", "--batch"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        for name, verdict in (("src/a.py", "allow"), (".env", "ask")):
            process.stdin.write(json.dumps({"kind": "path", "path": name}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["verdict"] == verdict
        process.stdin.close()


def test_what_exists_is_judged_by_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "proj").mkdir()
    (tmp_path / "secret").write_text("x")
    (tmp_path / "proj/link").symlink_to(tmp_path / "secret")
    roots = [str(tmp_path / "proj")]
    found = batch(
        tmp_path,
        json.dumps({"kind": "path", "path": "link", "roots": roots}),
        json.dumps({"kind": "command", "command": "cat link", "roots": roots}),
        json.dumps({"kind": "command", "command": "cat x; cd y && ls", "roots": roots}),
    )
    assert [one["verdict"] for one in found] == ["deny", "ask", "allow"]
