"""Commands of the user's own: what they see, where they run, and what is made of their words."""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from agent_ls.checkers.command_options import PRESETS, CheckCommand, CommandOptions
from agent_ls.checkers.commands import CommandChecker
from agent_ls.checkers.introduced import IntroducedChecks
from agent_ls.domain.findings import CheckReport, Finding, Severity
from agent_ls.loop.ports.workspace import Root
from tests.checkers.conftest import INSTALLED
from tests.checkers.projects import BufferWorkspace, Texts, listing, told, workspace, write

TODO = """\
import os, sys
from pathlib import Path
names = sys.argv[1:] or sorted(str(path) for path in Path(".").rglob("*.txt"))
found = 0
for name in names:
    for number, line in enumerate(Path(name).read_text().split("\\n"), 1):
        if "TODO" in line:
            found = 1
            print(f"{name}:{number}:{line.index('TODO') + 1}: warning: to do [todo]")
sys.exit(found)
"""
"""A program that finds TODO in the files it is given, or in all."""

NEVER_ENDING = r"^(?P<path>(\w|\w\w)+)(?P<line>!)(?P<message>!)$"
"""A pattern that tries all ways to part a line of letters, which does not end so."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "ws", {"todo.py": TODO, "a.txt": "one\n", "deep/b.txt": "two\n"})
    return (tmp_path / "ws").resolve()


def todo(folder: Path, arguments: str = "", **values: Any) -> CheckCommand:
    command = f"{sys.executable} {folder / 'todo.py'} {arguments}"
    return CheckCommand.model_validate(
        {"name": "todo", "command": command, "files": ["*.txt"], **values}
    )


async def check(
    folder: Path,
    texts: Texts,
    options: CheckCommand | None = None,
    *,
    trusted: bool = True,
    unsaved: Mapping[str, str] | None = None,
) -> CheckReport:
    """Check texts; assert that nothing on the disk changed, whatever came of it."""
    before = listing(folder)
    space = workspace(folder, trusted=trusted, unsaved=unsaved)
    checker = CommandChecker(space, options or todo(folder))
    report = await checker.check({path: texts[path] for path in texts if checker.handles(path)})
    assert listing(folder) == before
    return report


async def test_it_reads_the_texts_that_are_shown_and_not_the_disk(folder: Path) -> None:
    report = await check(
        folder,
        {"a.txt": "x\n\U0001d4bb TODO it\n", "new/n.txt": "TODO"},
        unsaved={"deep/b.txt": "TODO unsaved"},
    )
    assert told(report) == [
        ("a.txt", 1, 2, "todo"), ("deep/b.txt", 0, 0, "todo"), ("new/n.txt", 0, 0, "todo"),
    ]  # fmt: skip
    assert report.findings[0] == Finding(
        path="a.txt", checker="todo", code="todo", message="to do", severity=Severity.WARNING,
        start_line=1, start_column=2, end_line=1, end_column=6, line_text="\U0001d4bb TODO it",
    )  # fmt: skip
    assert (report.checkers, report.problems) == (("todo",), ())


async def test_what_is_mended_or_deleted_in_the_editor_is_not_found(folder: Path) -> None:
    write(folder, {"a.txt": "TODO\n", "deep/b.txt": "TODO\n"})
    report = await check(folder, {"a.txt": "done\n", "deep/b.txt": None})
    assert (told(report), report.checkers, report.problems) == ([], ("todo",), ())


async def test_the_changed_files_can_be_its_arguments(folder: Path) -> None:
    write(folder, {"deep/b.txt": "TODO\n"})
    options = todo(folder, "{files}")
    report = await check(folder, {"a.txt": "TODO", "a b'$x.txt": "TODO"}, options)
    assert [path for path, *_ in told(report)] == ["a b'$x.txt", "a.txt"]
    only_deleted = await check(folder, {"a.txt": None}, options)
    assert (told(only_deleted), only_deleted.checkers) == ([], ("todo",))


async def test_it_runs_beside_what_its_project_is_known_by(folder: Path) -> None:
    write(folder, {"deep/project": "", "deep/er/c.txt": "\n", "a.txt": "TODO\n"})
    options = todo(folder, beside=["project"])
    report = await check(folder, {"a.txt": "TODO", "deep/er/c.txt": "TODO"}, options)
    assert told(report) == [("deep/er/c.txt", 0, 0, "todo")]
    elsewhere = await check(folder, {"a.txt": "TODO"}, options)
    assert (told(elsewhere), elsewhere.checkers, elsewhere.problems) == ([], (), ())


async def test_only_what_a_change_brought_in_is_new_and_a_second_run_sees_the_next_text(
    folder: Path,
) -> None:
    write(folder, {"deep/b.txt": "TODO old\n"})
    space = workspace(folder)
    checks = IntroducedChecks((CommandChecker(space, todo(folder)),), space)
    before = {"a.txt": "TODO old\n"}
    for text, expected in (
        ("line\nTODO old\n", []), ("TODO old\nTODO new\n", [1]), ("done\n", []),
        ("TODO old\nTODO new\n", [1]),
    ):  # fmt: skip
        report = await checks.introduced(before, {"a.txt": text}, anew=True, asker="t")
        assert [one.start_line for one in report.findings] == expected


async def test_what_it_writes_stays_in_the_copy(folder: Path) -> None:
    program = "import pathlib; pathlib.Path('a.txt').write_text('mended'); print('a.txt:1: odd')"
    options = todo(folder, command=f'{sys.executable} -c "{program}"')
    assert told(await check(folder, {"deep/b.txt": "x"}, options)) == [("a.txt", 0, 0, "")]


async def test_nothing_runs_for_a_folder_that_is_not_trusted(folder: Path) -> None:
    marker = folder.parent / "ran"
    options = todo(folder, command=f"touch {marker}")
    report = await check(folder, {"a.txt": "TODO"}, options, trusted=False)
    assert not marker.exists()
    assert (report.findings, report.checkers) == ((), ())
    assert report.problems == (
        "todo waits for “Agent: Trust ws” (a code action, or "
        f"agent-ls trust {folder}): it runs code that the folder brings.",
    )
    assert report.untrusted == (str(folder),)


async def test_of_two_folders_only_the_trusted_one_is_checked(folder: Path) -> None:
    other = folder.parent / "other"
    write(other, {"a.txt": "TODO\n"})
    space = BufferWorkspace((Root("ws", folder, True), Root("other", other.resolve(), False)), {})
    checker = CommandChecker(space, todo(folder))
    report = await checker.check({"ws/a.txt": "TODO", "other/a.txt": "TODO"})
    assert told(report) == [("ws/a.txt", 0, 0, "todo")]
    assert [str(other) in one for one in report.problems] == [True]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("values", "words"),
    [
        pytest.param(
            {"command": "no-such-program --x"},
            "todo did not run: there is no program no-such-program. Install it, or correct "
            "checkers.commands in your settings.", id="it-is-missing",
        ),
        pytest.param(
            {"command": "./no/such.sh"}, "todo did not run: there is no program ./no/such.sh.",
            id="its-file-is-missing",
        ),
        pytest.param(
            {"command": f"{sys.executable} -c 'import time; time.sleep(60)'", "timeout_s": 0.3},
            "todo gave no answer: it took longer than 0.3 s (timeout_s in checkers.commands).",
            id="it-takes-too-long",
        ),
        pytest.param(
            {"command": f"{sys.executable} -c \"raise SystemExit('out of cheese')\""},
            "todo gave no answer: it ended with code 1. out of cheese", id="it-breaks",
        ),
        pytest.param(
            {"command": f"{sys.executable} -c 'print(1)'", "output": "eslint"},
            "todo gave no answer: it is no output of that kind", id="it-talks-nonsense",
        ),
        pytest.param(
            {"command": f"{sys.executable} -c \"print('[' * 200_000)\"", "output": "eslint"},
            "todo gave no answer: it is no output of that kind", id="its-words-have-no-end",
        ),
        pytest.param(
            {"command": f"echo {'a' * 53}!", "pattern": NEVER_ENDING, "timeout_s": 2},
            f"todo gave no answer: its pattern {NEVER_ENDING} took longer than 2 s",
            id="its-pattern-never-ends",
        ),
        pytest.param(
            {"command": f"{sys.executable} -c \"print('a.txt:1: x\\n' * 20_000)\""},
            "todo gave no answer: it found 20,000 problems, too many", id="it-finds-too-much",
        ),
        pytest.param(
            {"command": f"{sys.executable} -c \"raise SystemExit('\\x1b[2J\\x00')\""},
            r"todo gave no answer: it ended with code 1. \x1b[2J\x00", id="it-breaks-oddly",
        ),
    ],
)  # fmt: skip
async def test_why_it_cannot_run_is_said_once(
    folder: Path, values: dict[str, Any], words: str
) -> None:
    space = workspace(folder)
    checks = IntroducedChecks((CommandChecker(space, todo(folder, **values)),), space)
    report = await checks.introduced({"a.txt": ""}, {"a.txt": "TODO"}, asker="t")
    assert (report.findings, report.checkers) == ((), ())
    assert len(report.problems) == 1
    assert report.problems[0].startswith(words)


def printed(*, columns: tuple[int, int], lines: tuple[int, int]) -> str:
    """Return what eslint prints of one problem at these places, as a shell word."""
    place = dict(zip(("line", "endLine", "column", "endColumn"), (*lines, *columns), strict=True))
    told = {"severity": 2, "message": "odd", "ruleId": "", **place}
    return shlex.quote(json.dumps([{"filePath": "a.txt", "messages": [told]}]))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(
            {"command": r"printf 'a\0b.txt:1:1: error: odd\na.txt:2:2: error: real\n'"},
            [(1, 1, 1, 4)], id="a NUL in a name beside it",
        ),
        pytest.param(
            {"command": f"echo {'x' * 2_000}.txt:1:1: odd", "per_file": True}, [],
            id="a name that is too long",
        ),
        pytest.param(
            {"command": "echo a.txt:abc:-3: odd",
             "pattern": r"(?P<path>[^:]+):(?P<line>\w+):(?P<column>[^:]+): (?P<message>.*)"},
            [(0, 0, 0, 3)], id="words for numbers",
        ),
        pytest.param(
            {"command": "echo " + printed(lines=(-5, -1), columns=(-3, -7)), "output": "eslint"},
            [(0, 0, 0, 3)], id="places before the first",
        ),
        pytest.param(
            {"command": "echo " + printed(lines=(2, 1), columns=(3, 1)), "output": "eslint"},
            [(1, 2, 1, 2)], id="an end before the start",
        ),
        pytest.param(
            {"command": "echo " + printed(lines=(99, 10**30), columns=(99, 10**30)),
             "output": "eslint"}, [(1, 4, 1, 4)], id="places behind the last",
        ),
    ],
)  # fmt: skip
async def test_odd_places_lose_nothing_that_was_said(
    folder: Path, values: dict[str, Any], expected: list[tuple[int, int, int, int]]
) -> None:
    report = await check(folder, {"a.txt": "one\ntwos"}, todo(folder, **values))
    assert report.problems == ()
    assert [
        (one.start_line, one.start_column, one.end_line, one.end_column) for one in report.findings
    ] == expected


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "with-a-byte-order-mark"])
async def test_what_it_says_hides_nothing(folder: Path, mark: str) -> None:
    told = {"severity": 2, "message": "\x1b[31mred\0\u202edna\nmore", "ruleId": "a\nb", "line": 1}
    said = mark + json.dumps([{"filePath": "a.txt", "messages": [told]}])
    options = todo(folder, command=f"printf %s {shlex.quote(said)}", output="eslint")
    report = await check(folder, {"a.txt": "one\n"}, options)
    assert report.problems == ()
    assert [(one.code, one.message) for one in report.findings] == [("a\\nb", "reddna\nmore")]


async def test_a_program_of_a_trusted_folders_own_comes_first(folder: Path) -> None:
    program = folder / "node_modules" / ".bin" / "todo"
    write(folder, {"node_modules/.bin/todo": f"#!{sys.executable}\nprint('a.txt:1: its own')\n"})
    program.chmod(0o755)
    report = await check(folder, {"a.txt": ""}, todo(folder, command="todo"))
    assert [one.message for one in report.findings] == ["its own"]


async def test_it_gets_no_more_of_the_environment_than_it_is_given(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WANTED_HOME", "SECRET_KEY"):
        monkeypatch.setenv(name, name.lower())
    program = "import os; print('a.txt:1:', *(v for k, v in os.environ.items() if '_' in k))"
    options = todo(folder, command=f'{sys.executable} -c "{program}"', variables=["WANTED_HOME"])
    (finding,) = (await check(folder, {"a.txt": ""}, options)).findings
    assert "wanted_home" in finding.message
    assert "secret_key" not in finding.message


async def test_two_that_ask_at_once_do_not_mix_their_texts_and_a_cancelled_one_leaves_nothing(
    folder: Path,
) -> None:
    checker = CommandChecker(workspace(folder), todo(folder))
    asked = [
        asyncio.ensure_future(checker.check({"a.txt": "\n" * number + "TODO"}))
        for number in range(4)
    ]
    await asyncio.sleep(0)
    asked[1].cancel()
    reports = await asyncio.gather(asked[0], asked[2], asked[3])
    assert [one.findings[0].start_line for one in reports] == [0, 2, 3]


async def test_findings_that_name_lines_are_told_from_new_ones(folder: Path) -> None:
    program = (
        "t = open('a.txt').read().split(chr(10)); n = t.index('twice') + 1; "
        "print(f'a.txt:{len(t)}: {t[-1]} again, see line {n}')"
    )
    space = workspace(folder)
    options = todo(folder, command=f'{sys.executable} -c "{program}"')
    checks = IntroducedChecks((CommandChecker(space, options),), space)
    before = {"a.txt": "twice\ntwice"}
    report = await checks.introduced(before, {"a.txt": "above\ntwice\ntwice"}, asker="t")
    assert (report.findings, report.problems) == ((), ())


async def test_of_a_command_that_looks_at_single_files_only_those_count(folder: Path) -> None:
    report = await check(
        folder, {"a.txt": "TODO"}, todo(folder, per_file=True), unsaved={"deep/b.txt": "TODO"}
    )
    assert told(report) == [("a.txt", 0, 0, "todo")]


@pytest.mark.parametrize(
    ("path", "expected"),
    [("a.rs", True), ("x/y.rs", True), ("x/Cargo.toml", True), ("a.rs.bak", False), ("", False)],
)
def test_files_are_known_by_path_or_name(tmp_path: Path, path: str, expected: bool) -> None:
    options = CheckCommand.model_validate("cargo check")
    assert CommandChecker(workspace(tmp_path), options).handles(path) is expected


@pytest.mark.parametrize("name", list(PRESETS))
def test_known_commands_take_one_word_and_anything_else_replaces_theirs(name: str) -> None:
    (one,) = CommandOptions.model_validate({"commands": [name]}).commands
    assert one.command.startswith(name)
    (slow,) = CommandOptions.model_validate({"commands": [{"name": name, "timeout_s": 7}]}).commands
    assert slow == one.model_copy(update={"timeout_s": 7.0})
    again = CommandOptions.model_validate(json.loads(slow_options(slow)))
    assert again.commands == (slow,)


def slow_options(one: CheckCommand) -> str:
    return CommandOptions(commands=(one,)).model_dump_json()


def test_the_environment_can_name_some() -> None:
    both = CommandOptions.model_validate({"commands": "mypy, go vet"})
    assert [one.name for one in both.commands] == ["mypy", "go vet"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param(["mipy"], "'mipy' is none of the known commands (mypy, ", id="unknown"),
        pytest.param(["mypy", {"name": "mypy"}], "the name mypy is taken", id="twice"),
        pytest.param([{"name": "ruff", "command": "x", "files": ["*"]}], "ruff is taken", id="own"),
        pytest.param([{"name": "x", "command": "y"}], "Field required", id="no files"),
        pytest.param([{"name": "mypy", "command": " "}], "it names no program", id="no program"),
        pytest.param([{"name": "mypy", "command": "a 'b"}], "No closing quotation", id="quotes"),
        pytest.param([{"name": "mypy", "pattern": "("}], "no regular expression", id="pattern"),
        pytest.param(
            [{"name": "mypy", "pattern": "(?P<line>x)"}], "no group named path or message",
            id="groups",
        ),
        pytest.param([3], "Input should be a valid dictionary", id="a number"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_a_reason(given: list[Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        CommandOptions.model_validate({"commands": given})
    assert words in str(caught.value)


@pytest.mark.heavy
async def test_with_pyright_an_error_across_unsaved_files_is_found(tmp_path: Path) -> None:
    pyright = INSTALLED / ".bin" / "pyright"
    if not pyright.exists():
        pytest.skip("pyright is not here; run `make node-tools`")
    assert shutil.which("node")
    write(tmp_path, {"pkg/a.py": "def one() -> int: ...\n", "b.py": "import pkg.a\n"})
    options = CheckCommand.model_validate({"name": "pyright", "command": f"{pyright} --outputjson"})
    space = workspace(tmp_path.resolve(), unsaved={"pkg/a.py": "def one() -> str: ...\n"})
    checks = IntroducedChecks((CommandChecker(space, options),), space)
    before = {"b.py": "import pkg.a\nx: int = missing\n"}
    now = {"b.py": "import pkg.a\nx: int = missing\né = '\U0001f600'; y: int = pkg.a.one()\n"}
    report = await checks.introduced(before, now, asker="t")
    assert told(report) == [("b.py", 2, 18, "reportAssignmentType")]
    assert report.findings[0].line_text == "é = '\U0001f600'; y: int = pkg.a.one()"
