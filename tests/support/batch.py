"""Asks ``explain --batch`` about calls, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def batch(folder: Path, *lines: str) -> list[dict[str, Any]]:
    """Return the answers to these requests."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "agent_ls", "explain", "--json", "--batch"],
        input="\n".join(lines).encode("utf-8", "surrogateescape"),
        cwd=folder,
        capture_output=True,
        check=True,
        timeout=240,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]
