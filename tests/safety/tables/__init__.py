"""Tables of commands, one a line, each file named after the verdict that it expects.

Tables of requests to ``explain --batch`` hold the verdict in each row, and the recorded commands
what each of them needs.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def rows(name: str) -> list[str]:
    """Return the commands of a table."""
    return Path(__file__).with_name(f"{name}.txt").read_text("utf-8").splitlines()


def requests(name: str) -> list[dict[str, Any]]:
    """Return the requests of a table, which hold what the verdict is to be.

    A row without a verdict says what the rows below it have in common.
    """
    found: list[dict[str, Any]] = []
    shared: dict[str, Any] = {}
    for line in Path(__file__).with_name(f"{name}.jsonl").read_text("utf-8").splitlines():
        row: dict[str, Any] = json.loads(line)
        if "expect" in row:
            found.append({**shared, **row})
        else:
            shared = row
    return found


def recorded() -> Iterator[tuple[str, str]]:
    """Yield class and command of each row of the commands as coding models write them.

    The table says what the classes mean, and that "/repo" stands for the workspace.
    """
    for line in rows("recorded"):
        if not line.startswith("#"):
            kind, _, text = line.partition("\t")
            yield kind, re.sub(r"\\(.)", lambda mark: "\n" if mark[1] == "n" else mark[1], text)


def advisories() -> Iterator[tuple[str, str]]:
    """Yield class and command of each row of what advisories about coding agents report."""
    text = Path(__file__).with_name("advisories.toml").read_text("utf-8")
    for kind, one in tomllib.loads(text).items():
        for _, command in one["rows"]:
            yield kind, command
