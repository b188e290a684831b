"""``agent-ls rules``: what it lists, adds and removes, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def rules(folder: Path, *arguments: str) -> tuple[int, str]:
    """Return the exit code and all output."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "agent_ls", "rules", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.heavy
def test_rules_are_listed_with_their_source_added_and_removed(tmp_path: Path) -> None:
    (tmp_path / ".agent-ls").mkdir()
    (tmp_path / ".agent-ls/config.toml").write_text('[rules]\ndeny = ["read: secrets/**"]\n')
    code, said = rules(tmp_path, "--add", "allow pytest *")
    assert code == 0, said
    assert f"allow   run_command: pytest *  in {tmp_path} (saved)" in said
    assert "deny    read: secrets/**  from " in said
    assert "config.toml" in said
    assert "deny" in rules(tmp_path, "--add", "deny edit: docs/**")[1]
    code, said = rules(tmp_path, "--remove", "allow run_command: pytest *")
    assert code == 0
    assert "pytest *" not in said
    assert "edit: docs/**" in said
    for text in ("deny read: secrets/**", "ask git push *", "allow pytest -q", "deny ./a.sh"):
        code, said = rules(tmp_path, "--add", text)
        assert f"  {text.partition(' ')[0]:<6}  " in said
        code, said = rules(tmp_path, "--remove", text)
        assert code == 0, said
        assert "(saved)" not in said.replace("edit: docs/**", "").partition("deny    edit")[2]
    code, said = rules(tmp_path, "--add", "alow pytest")
    assert (code, "begin with allow, ask or deny" in said) == (3, True)
    for wrong in (("--add", "nothing: x"), ("--add", ""), ("--remove", "9"), ("--remove", "x")):
        code, said = rules(tmp_path, *wrong)
        assert code != 0, wrong
        assert "Traceback" not in said
