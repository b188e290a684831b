"""What ``explain --batch`` says of calls: tables of requests, each with the verdict expected.

Requests name roots that do not exist, so nothing but the text counts.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.safety.tables import requests
from tests.support.batch import batch


@pytest.mark.heavy
@pytest.mark.parametrize("table", ["rules", "classes"])
def test_each_request_is_judged_as_its_class_is(table: str, tmp_path: Path) -> None:
    rows = requests(table)
    answers = batch(tmp_path, *map(json.dumps, rows))
    assert len(answers) == len(rows)
    wrong = [
        (row, answer)
        for row, answer in zip(rows, answers, strict=True)
        if answer["verdict"] not in row["expect"].split("|")
        or answer["view"] != row.get("view", answer["view"])
    ]
    assert wrong == []


def one(folder: Path, **request: Any) -> dict[str, Any]:
    """Return the answer to one request about a folder."""
    (answer,) = batch(folder, json.dumps({"roots": [str(folder)], **request}))
    return answer


@pytest.mark.heavy
def test_the_deciding_rule_is_named(tmp_path: Path) -> None:
    rules = {"allow": ["Bash(make:*)"], "ask": ["Bash(make clean)"], "deny": ["Bash(make x *)"]}
    for command, rule in (
        ("make all", "allow run_command: make *"),
        ("make clean", "ask run_command: make clean"),
        ("make x", "deny run_command: make x *"),
    ):
        answer = one(tmp_path, kind="command", command=command, rules=rules, mode="ask")
        assert answer["rule"] == rule


@pytest.mark.heavy
def test_a_denial_sees_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/a").write_text("x")
    (tmp_path / "plain").symlink_to("secrets/a")
    rules = ["deny read: secrets/**"]
    for request in ({"kind": "path", "path": "plain"}, {"kind": "command", "command": "cat plain"}):
        assert one(tmp_path, **request, rules=rules)["verdict"] == "deny"


@pytest.mark.heavy
def test_a_denial_asks_about_what_git_prints(tmp_path: Path) -> None:
    run = {"cwd": tmp_path, "check": True}
    subprocess.run(["git", "init", "-q"], **run)
    for name in ("a.txt", "secrets/b"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
        subprocess.run(["git", "add", "."], **run)
        commit = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", name]
        subprocess.run(commit, **run)
    rules = ["deny read: secrets/**", "deny edit: a.txt"]
    for command, verdict in (
        ("git show HEAD", "ask"),
        ("git log -p", "ask"),
        ("cd secrets && git show", "deny"),
        ("git diff HEAD~1 | head", "ask"),
        # The view holds these.
        ("git ls-files | xargs cat", "allow"),
        ("find . -type f -exec cat {} +", "allow"),
        ("git show HEAD:secrets/b", "deny"),
        ("git diff -- secrets", "deny"),
        ("git status; find . -type f", "allow"),
    ):
        answer = one(
            tmp_path, kind="command", command=command, rules=rules, mode="ask", sandbox=True
        )
        assert (command, answer["verdict"]) == (command, verdict)


def test_an_allowance_is_not_fooled_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "a.py").write_text("x")
    (tmp_path / "docs/a.md").symlink_to("../a.py")
    answer = one(tmp_path, kind="write", path="docs/a.md", rules=["edit: docs/**"], mode="ask")
    assert answer["verdict"] == "ask"
