"""Every policy and tool that exists is in the catalogue: a part nobody chose is dead code."""

from __future__ import annotations

import ast
from pathlib import Path

_PARTS = ("policies", "tools")


def _part_modules(repository: Path) -> set[str]:
    found = set[str]()
    for part in _PARTS:
        for path in (repository / "agent_ls" / part).rglob("*.py"):
            # A program that is run by its path is no part.
            if not path.name.startswith("_") and "__main__" not in path.read_text("utf-8"):
                found.add(".".join(path.relative_to(repository).with_suffix("").parts))
    return found


def _imports(source: Path) -> set[str]:
    found = set[str]()
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                found |= {module, *(f"{module}.{name.name}" for name in names)}
            case ast.Import(names=names):
                found |= {name.name for name in names}
            case _:
                pass
    return found


def _shared_by_parts(repository: Path, missing: set[str]) -> set[str]:
    """Modules that other parts of the same folder import: what tools share is not a tool."""
    imported = set[str]()
    for path in (repository / "agent_ls" / "tools").rglob("*.py"):
        imported |= _imports(path)
    return {
        module for module in missing if module.startswith("agent_ls.tools") and module in imported
    }


def check(repository: Path) -> None:
    """Assert that the catalogue imports every policy and tool module."""
    missing = _part_modules(repository) - _imports(repository / "agent_ls" / "catalogue.py")
    missing -= _shared_by_parts(repository, missing)
    assert not missing, f"not in agent_ls/catalogue.py: {sorted(missing)}"


def test_every_policy_and_tool_is_in_the_catalogue(repository: Path) -> None:
    check(repository)
