"""Rules about our own modules that linters do not know: names, docstrings, doors to the disk."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

Modules = dict[str, ast.Module]
Rule = Callable[[str, ast.Module], Iterator[str]]

_EMPTY_WORDS = re.compile(r"(?:Manager|Helper|Utils?|Base)(?=[A-Z]|$)")
_EMPTY_FILES = {"base", "common", "helpers", "manager", "misc", "util", "utils"}


def check(modules: Modules, rule: Rule) -> None:
    """Assert that the rule finds nothing to complain about in any module."""
    found = [
        f"{path}: {complaint}" for path, tree in modules.items() for complaint in rule(path, tree)
    ]
    assert not found, "\n".join(found)


def test_every_module_says_what_it_owns(modules: Modules) -> None:
    def rule(path: str, tree: ast.Module) -> Iterator[str]:
        if not ast.get_docstring(tree):
            yield "has no docstring"

    check(modules, rule)


def test_no_name_hides_behind_an_empty_word(modules: Modules) -> None:
    def rule(path: str, tree: ast.Module) -> Iterator[str]:
        if path.rsplit("/", 1)[-1].removesuffix(".py") in _EMPTY_FILES:
            yield "is named after nothing it does"
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                if _EMPTY_WORDS.search(node.name):
                    yield f"class {node.name} says nothing about what it is"
                if node.name.endswith("Handler") and "/lsp/" not in path:
                    yield f"class {node.name}: handlers belong to the protocol edge"

    check(modules, rule)


def test_what_only_posix_has_is_imported_in_one_module_each(modules: Modules) -> None:
    homes = {
        "fcntl": "agent_ls/processes/file_locks.py",
        "resource": "agent_ls/workspace/supervisor.py",
    }

    def rule(path: str, tree: ast.Module) -> Iterator[str]:
        for node in ast.walk(tree):
            match node:
                case ast.Import(names=names):
                    found = {name.name for name in names}
                case ast.ImportFrom(module=module):
                    found = {module}
                case _:
                    continue
            yield from (f"imports {one}" for one in homes if one in found and path != homes[one])

    check(modules, rule)


def test_no_text_names_an_extra_of_a_package_that_an_index_may_not_have(
    repository: Path, tracked: list[Path]
) -> None:
    told = {"agent_ls", "deploy", "docs", "README.md", "CHANGELOG.md"}
    paths = {path.relative_to(repository): path for path in tracked}
    found = [
        str(name)
        for name, path in paths.items()
        if name.parts[0] in told and b"agent-ls[" in path.read_bytes()
    ]
    assert not found, "name the packages, with `extras.install_command`"


def test_the_domain_holds_no_door_to_the_disk(modules: Modules) -> None:
    def rule(path: str, tree: ast.Module) -> Iterator[str]:
        if not path.startswith("agent_ls/domain/"):
            return
        for node in ast.walk(tree):
            match node:
                case ast.ImportFrom(module="pathlib", names=names):
                    yield from (f"imports pathlib.{n.name}" for n in names if n.name == "Path")
                case ast.Call(func=ast.Name(id="open")):
                    yield f"opens a file in line {node.lineno}"
                case _:
                    pass

    check(modules, rule)


def test_no_package_hides_its_parts_behind_a_re_export(modules: Modules) -> None:
    def rule(path: str, tree: ast.Module) -> Iterator[str]:
        if not path.endswith("__init__.py"):
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("agent_ls"):
                yield f"imports {node.module}, so importing one part loads its neighbours"

    check(modules, rule)


def test_importing_the_package_loads_nothing_else() -> None:
    program = (
        "import sys; before = set(sys.modules); import agent_ls; "
        "print(*sorted(set(sys.modules) - before))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout.split()
    assert set(loaded) <= {"__future__", "agent_ls"}
