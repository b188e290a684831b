"""Says how to add what an optional ability needs to the Python that runs agent-ls.

The advice names the packages themselves: an index may have no agent-ls, or another version of it.
"""

from __future__ import annotations

import re
import shlex
import sys
from importlib import metadata
from pathlib import Path

_CONDITION = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")


def install_command(extra: str) -> str:
    """Return the shell command that installs the packages of an extra, such as ``keyring``."""
    return _command(packages(extra), Path(sys.prefix), sys.executable)


def packages(extra: str) -> list[str]:
    """Return the packages of an extra; its own name where nothing is known of it."""
    try:
        required = metadata.requires("agent-ls") or ()
    except metadata.PackageNotFoundError:
        required = ()
    found: list[str] = []
    for requirement in required:
        package, _, condition = requirement.partition(";")
        named = _CONDITION.search(condition)
        if named is not None and named[1] == extra:
            found.append(package.strip())
    return found or [extra]


def _command(wanted: list[str], prefix: Path, python: str) -> str:
    # The environments of uv have no pip, and pipx forgets what pip adds behind its back.
    if (prefix / "pipx_metadata.json").exists():
        words = ["pipx", "inject", "agent-ls", *wanted]
    elif (prefix / "uv-receipt.toml").exists():
        words = ["uv", "pip", "install", "--python", python, *wanted]
    else:
        words = [python, "-m", "pip", "install", *wanted]
    return shlex.join(words)
