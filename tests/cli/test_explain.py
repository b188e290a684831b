"""``explain``: the rules' answer about a command or a file, before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

from agent_ls.cli.main import main
from agent_ls.safety.rules import SavedRules, rules_file
from agent_ls.settings import user_file


def check(
    folder: Path, capsys: pytest.CaptureFixture[str], *words: str, mode: str = "ask"
) -> dict[str, object]:
    """Return what is explained, as JSON."""
    arguments = ["explain", *words, "--workspace", str(folder), "--mode", mode, "--json"]
    assert main(arguments) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    ("kind", "subject", "mode", "decision", "every_time"),
    [
        ("command", "ls", "ask", "allow", False),
        ("command", "git push", "ask", "ask", False),
        ("command", "git push", "auto", "allow", False),
        ("command", "git status && rm -rf /", "auto", "deny", True),
        ("command", "curl x | sh", "auto", "ask", True),
        ("command", "rm -rf /home/bob/projects", "auto", "ask", True),
        ("command", "echo hi > /root/made.txt", "accept-edits", "ask", True),
        ("command", "mv app.py /etc/x", "auto", "ask", True),
        ("command", "cp /usr/share/x app.py", "auto", "allow", False),
        ("path", "src/app.py", "ask", "allow", False),
        ("path", "src/app.py", "ask-all", "ask", False),
        ("path", "../outside.txt", "auto", "deny", True),
        ("path", ".env", "auto", "ask", True),
        ("write", "src/app.py", "ask", "ask", False),
        ("write", "src/app.py", "accept-edits", "allow", False),
        ("write", ".git/hooks/pre-commit", "auto", "ask", True),
    ],
)
def test_the_rules_say_what_they_would_decide(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    subject: str,
    mode: str,
    decision: str,
    every_time: bool,
) -> None:
    found = check(tmp_path, capsys, kind, subject, mode=mode)
    assert (found["decision"], found["every_time"]) == (decision, every_time)
    assert found["reason"]
    assert found["what"] == subject


def test_a_user_reads_the_decision_and_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "command", "rm -rf /", "--workspace", str(tmp_path)]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "✗ never runs, in every mode: rm -rf /"
    assert second.startswith("  command_guard: ")


@pytest.mark.parametrize(
    "words, mode, reason",
    [
        pytest.param("command ls", "ask", "It only reads.", id="reads"),
        pytest.param("path a.py", "ask", "It only reads.", id="a-file-is-read"),
        pytest.param("write a.py", "accept-edits", "Mode accept-edits changes files", id="mode"),
        pytest.param("command touch a.py", "auto", "Mode auto runs commands", id="mode-auto"),
        pytest.param("command make all", "ask", "Allowed by run_command: make *.", id="rule"),
    ],
)
def test_also_of_a_yes_the_reason_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str, mode: str, reason: str
) -> None:
    SavedRules(rules_file()).add("rule run_command: make *", [tmp_path], "allow")
    kind, _, subject = words.partition(" ")
    arguments = [kind, subject, "--workspace", str(tmp_path), "--mode", mode]
    assert main(["explain", *arguments]) == 0
    _, second = capsys.readouterr().out.splitlines()
    assert second.startswith(f"  {reason}")
    assert reason in str(check(tmp_path, capsys, kind, subject, mode=mode)["reason"])


def test_what_hides_in_a_command_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "command", "ls \u202e", "--workspace", str(tmp_path)]) == 0
    assert "ls \\u202e" in capsys.readouterr().out


def test_what_is_no_command_is_said_to_be_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "command", "", "--workspace", str(tmp_path)]) == 3
    assert "is no command" in capsys.readouterr().err


@pytest.mark.parametrize("decision", ["allow", "reject"])
def test_what_the_user_decided_for_good_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], decision: Literal["allow", "reject"]
) -> None:
    rules = SavedRules(rules_file())
    rules.add("run_command:make test", [tmp_path], decision)
    found = check(tmp_path, capsys, "command", "make test")
    assert found["decision"] == {"allow": "allow", "reject": "deny"}[decision]


@pytest.mark.parametrize("source", ["none", "user file", "saved"])
def test_a_denial_outranks_what_a_profile_allows(
    source: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    denied, allowed = (
        'rules.deny = ["run_command: make *"]\n',
        'rules.allow = ["run_command: make *"]',
    )
    user_file().parent.mkdir(parents=True)
    user_file().write_text(f"{denied if source == 'user file' else ''}[profiles.free]\n{allowed}")
    if source == "saved":
        SavedRules(rules_file()).add("rule run_command: make *", [], "reject")
    found = check(tmp_path, capsys, "command", "make all", "--profile", "free")
    assert found["decision"] == ("allow" if source == "none" else "deny")


def test_a_folder_that_is_not_there_is_said_to_be_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = str(tmp_path / "missing")
    assert main(["explain", "command", "ls", "--workspace", missing]) == 3
    assert "is not a folder" in capsys.readouterr().err


def test_a_slip_in_the_settings_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explain", "command", "ls", "--workspace", str(tmp_path), "--set", "moed=auto"]
    assert main(words) == 3
    assert "moed: is not a setting" in capsys.readouterr().err
