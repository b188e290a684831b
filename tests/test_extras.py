"""The advice to install what an extra brings works in the environment that gives it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from agent_ls.extras import _command, install_command, packages


@pytest.mark.parametrize(
    "receipt, words",
    [
        ("", ["/venv/bin/python", "-m", "pip", "install", "keyring>=25"]),
        (
            "uv-receipt.toml",
            ["uv", "pip", "install", "--python", "/venv/bin/python", "keyring>=25"],
        ),
        ("pipx_metadata.json", ["pipx", "inject", "agent-ls", "keyring>=25"]),
    ],
)
def test_the_command_is_of_the_tool_that_made_the_environment(
    receipt: str, words: list[str], tmp_path: Path
) -> None:
    if receipt:
        (tmp_path / receipt).touch()
    command = _command(["keyring>=25"], tmp_path, "/venv/bin/python")
    assert shlex.split(command) == words


def test_a_shell_keeps_the_versions() -> None:
    # Unquoted, `>=25` would be a redirection into a file.
    command = install_command("postgres")
    printed = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {command}"], capture_output=True, text=True
    )
    assert printed.stdout.splitlines() == [
        sys.executable,
        "-m",
        "pip",
        "install",
        *packages("postgres"),
    ]


def test_every_extra_of_the_project_is_known(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    for extra, wanted in project["optional-dependencies"].items():
        names = [re.split(r"[<>=\[]", package)[0] for package in packages(extra)]
        assert sorted(names) == sorted(re.split(r"[<>=\[]", package)[0] for package in wanted)


def test_an_unknown_extra_is_its_own_name() -> None:
    assert packages("nothing-of-ours") == ["nothing-of-ours"]
