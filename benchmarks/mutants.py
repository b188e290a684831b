"""Changes ``agent_ls/safety`` by one small mistake at a time, and counts how many its tests notice.

    python -m benchmarks.mutants [COUNT] [--seed N] [--workers N] [--of NAME ...] [--json]

COUNT mistakes are drawn at random from all that can be made: a comparison, ``and``, ``not``, a
condition or a number is turned round, a word or a result is lost, a call or a limit is left out.
Each is made in a copy of the repository, where the tests of its module run until one fails. Heavy
tests do not run, such as the table of escapes from the sandbox.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal, cast

from benchmarks.figures import Figure, finish
from benchmarks.places import REPOSITORY

_SAFETY = Path("agent_ls/safety")
_COMMANDS = (
    "test_attack_commands",
    "test_commands",
    "test_ordinary_commands",
    "test_programs",
    "test_shell_reading",
)
_PLACES = ("test_control_files", "test_own_places", "test_command_places")
_RULES = ("test_rules", "test_prefixes", "../policies/test_grants")
_TESTS: dict[str, tuple[str, ...]] = {
    "beneath paths": ("test_paths", "test_beneath"),
    "control_files name_patterns own_places user_files": (*_PLACES, "test_secrets"),
    "command_places named_programs": ("test_command_places", "test_named_programs"),
    "git_config": ("test_git_config",),
    "views view_table git_views": ("test_views",),
    "git_places": ("test_git_places",),
    "programs": ("test_programs",),
    "rules rule_list rule_matching prefixes": _RULES,
    "stale_grants": ("../policies/test_grants", "../policies/test_guards_act"),
    "secrets": ("test_secrets",),
    "text disguises": ("test_text", "test_control_files"),
    "trust": ("test_trust", "../cli/test_trust"),
}
"""The tests, below ``tests/safety``, that are run first for a module."""
_ALL = (
    *(*_COMMANDS, *_PLACES, *_RULES, "test_work", "test_secrets", "test_paths", "test_text"),
    *("test_trust", "../policies/test_guards", "test_git_repositories"),
    *("test_explained", "test_tasks"),
)
"""The tests of everything but the sandbox, slow ones last."""
_SANDBOX = (
    *("test_sandbox_hosts", "test_seatbelt", "test_sandbox_advice", "test_confining"),
    *("test_survey", "test_surroundings", "../workspace/test_command_limits"),
    *("test_newcomers", "test_sandbox", "test_sandbox_kernel", "test_landlock"),
    *("../workspace/test_host_proxy", "../cli/test_doctor"),
)
_LIMIT_S = 600.0
_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}

Apply = Callable[[], None]


@dataclass(frozen=True)
class Mutant:
    """One mistake: which of those that can be made in a module."""

    module: Path
    number: int
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.what}"


def _set(holder: object, name: str, value: object) -> Apply:
    return lambda: setattr(holder, name, value)


def _put(holder: list[Any], index: int, value: object) -> Apply:
    return lambda: holder.__setitem__(index, value)


def _not(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _of_constant(node: ast.Constant) -> Iterator[tuple[str, Apply]]:
    value = node.value
    if isinstance(value, bool):
        yield f"{value} turned round", _set(node, "value", not value)
    elif isinstance(value, int):
        yield f"{value} is one more", _set(node, "value", value + 1)
    elif isinstance(value, str) and value and not set(value) & set(" \n"):
        yield f"{value!r} is lost", _set(node, "value", "\ue000")


def _of_operator(node: ast.AST) -> Iterator[tuple[str, Apply]]:
    match node:
        case ast.Compare(ops=ops):
            for index, one in enumerate(ops):
                swapped = _SWAPS[type(one)]
                yield (
                    f"{type(one).__name__} becomes {swapped.__name__}",
                    _put(ops, index, swapped()),
                )
        case ast.BoolOp(op=op) | ast.BinOp(op=op) if type(op) in _SWAPS:
            swapped = _SWAPS[type(op)]
            yield f"{type(op).__name__} becomes {swapped.__name__}", _set(node, "op", swapped())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not is lost", _set(node, "operand", _not(operand))
        case _:
            pass


def _mistakes(node: ast.AST) -> Iterator[tuple[str, Apply]]:
    """Yield what can be done wrong at a node, and how to do it."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield "condition turned round", _set(node, "test", _not(test))
        case ast.comprehension(ifs=[first, *rest]):
            yield "filter turned round", _set(node, "ifs", [_not(first), *rest])
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "result is lost", _set(node, "value", ast.Constant(None))
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield "call is left out", _set(node, "value", ast.Constant(None))
        case ast.Assign(value=ast.Constant(value=int(limit)) as value) if _is_limit(node):
            yield f"{limit} is no limit", _set(value, "value", limit * 1000)
        case ast.Constant():
            yield from _of_constant(node)
        case _:
            yield from _of_operator(node)


def _is_limit(node: ast.AST) -> bool:
    """Say whether it sets a limit, of which one more would be no mistake."""
    return isinstance(node, ast.Assign) and "MAX_" in ast.unparse(node.targets[0])


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs: no annotations, decorators, texts put together, and words of errors."""
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) in ("Literal", "Callable"):
        return
    yield node
    if _is_limit(node):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list") or isinstance(
            node, ast.JoinedStr | ast.Raise | ast.ImportFrom
        ):
            continue
        for one in cast("list[object]", value) if isinstance(value, list) else [value]:
            if isinstance(one, ast.AST):
                yield from _nodes(one)


def mutants_of(module: Path, source: str) -> list[Mutant]:
    """Return all mistakes that can be made in a module."""
    found: list[Mutant] = []
    for node in _nodes(ast.parse(source)):
        for what, _ in _mistakes(node):
            line: int = getattr(node, "lineno", 0)
            found.append(Mutant(module, len(found), line, what))
    return found


def mutated(mutant: Mutant, source: str) -> str:
    """Return the module's text with the mistake in it."""
    tree = ast.parse(source)
    every = (apply for node in _nodes(tree) for _, apply in _mistakes(node))
    for number, apply in enumerate(every):
        if number == mutant.number:
            apply()
            break
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _tests(module: Path) -> list[str]:
    """Return the tests of a module, those that probably notice a mistake first."""
    if module.parent.name == "sandbox":
        names = _SANDBOX
    else:
        first = next((tests for keys, tests in _TESTS.items() if module.stem in keys.split()), ())
        names = tuple(dict.fromkeys((*first, *_ALL)))
    return [os.path.normpath(f"tests/safety/{name}.py") for name in names]


Outcome = Literal["noticed", "missed", "hung"]


class Copy:
    """A copy of the repository, in which mistakes are made one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        names = subprocess.run(
            ["git", "ls-files", "-z", "agent_ls", "tests", "grammars", "pyproject.toml"],
            cwd=REPOSITORY,
            capture_output=True,
            check=True,
            text=True,
        ).stdout.split("\0")
        for name in filter(None, names):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, folder / name)
        # A module that is changed is newer than what is compiled here.
        subprocess.run([sys.executable, "-m", "compileall", "-q", folder], check=True)

    def attempt(self, mutant: Mutant) -> Outcome:
        """Make a mistake, run its tests, and take it back."""
        place = self.folder / mutant.module
        source = place.read_text()
        place.write_text(mutated(mutant, source))
        try:
            return self.outcome(_tests(mutant.module))
        finally:
            place.write_text(source)

    def outcome(self, tests: Sequence[str], limit_s: float = _LIMIT_S) -> Outcome:
        """Run tests until one fails."""
        words = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", "-o", "timeout=60")
        marks = ("-m", "not long and not heavy and not e2e and not editor and not smoke")
        process = subprocess.Popen(
            [sys.executable, "-B", "-m", "pytest", *words, *marks, *tests],
            cwd=self.folder,
            # In CI a test that skips itself fails, such as where a sandbox works no longer.
            env={
                **os.environ,
                "CI": "true",
                "PYTHONPATH": str(self.folder),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return "noticed" if process.wait(limit_s) else "missed"
        except subprocess.TimeoutExpired:
            return "hung"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def measure(count: int, seed: int, workers: int, of: Sequence[str]) -> list[Figure]:
    """Try so many mistakes, and print those that nobody noticed."""
    modules = sorted((REPOSITORY / _SAFETY).rglob("*.py"))
    every = [
        mutant
        for module in modules
        if not of or module.stem in of
        for mutant in mutants_of(module.relative_to(REPOSITORY), module.read_text())
    ]
    chosen = random.Random(seed).sample(every, min(count, len(every)))
    started = time.monotonic()
    found: dict[Outcome, list[Mutant]] = {"noticed": [], "missed": [], "hung": []}
    with tempfile.TemporaryDirectory(prefix="agent-ls-mutants-") as name:
        free: SimpleQueue[Copy] = SimpleQueue()
        copies = [Copy(Path(name) / str(number)) for number in range(workers)]
        for copy in copies:
            free.put(copy)
        tests = sorted({one for mutant in chosen for one in _tests(mutant.module)})
        if copies[0].outcome(tests, limit_s=5 * _LIMIT_S) != "missed":
            raise SystemExit("the tests fail without any mistake")

        def attempt(mutant: Mutant) -> None:
            copy = free.get()
            try:
                outcome = copy.attempt(mutant)
                found[outcome].append(mutant)
                if outcome != "noticed":
                    print(f"{outcome}: {mutant}", flush=True)
            finally:
                free.put(copy)

        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(attempt, chosen))
    return [
        Figure("mistakes that can be made", len(every)),
        Figure("mistakes made", len(chosen)),
        Figure("not noticed", len(found["missed"])),
        Figure(f"not ended after {_LIMIT_S:.0f} s", len(found["hung"])),
        Figure("noticed", 100 * len(found["noticed"]) / len(chosen), "%", goal=85, at_least=True),
        Figure("duration", time.monotonic() - started, "s"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--of", nargs="+", default=[], help="modules by name")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.count, options.seed, options.workers, options.of)
    return finish("mutants", found, as_json=options.json)


if __name__ == "__main__":
    raise SystemExit(main())
