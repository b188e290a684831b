"""ARCHITECTURE.md is a map of what is there: each folder and top module of the package is on it."""

from __future__ import annotations

import re
from pathlib import Path


def check(text: str, names: set[str]) -> None:
    """Assert that each name stands in the text as code."""
    spoken = set(re.findall(r"`(?:agent_ls/)?([\w./-]+?)/?`", text))
    assert not names - spoken, f"agent_ls/ARCHITECTURE.md does not mention {sorted(names - spoken)}"


def test_the_code_map_names_every_part_of_the_package(repository: Path) -> None:
    package = repository / "agent_ls"
    parts = {
        path.name
        for path in package.iterdir()
        if path.suffix == ".py" or (path.is_dir() and (path / "__init__.py").exists())
    }
    check((package / "ARCHITECTURE.md").read_text("utf-8"), parts - {"__init__.py"})


def test_the_code_map_names_every_folder_of_the_repository(
    repository: Path, tracked: list[Path]
) -> None:
    folders = {
        path.relative_to(repository).parts[0] for path in tracked if path.parent != repository
    }
    visible = {folder for folder in folders if not folder.startswith(".")} - {"agent_ls"}
    check((repository / "agent_ls" / "ARCHITECTURE.md").read_text("utf-8"), visible)
