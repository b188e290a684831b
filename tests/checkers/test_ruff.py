"""What ruff finds on texts that are not on the disk, and what it is told of the project."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from agent_ls.checkers.ruff import Ruff, RuffOptions
from agent_ls.domain.findings import CheckReport, Severity
from tests.checkers.projects import Texts, listing, told, workspace, write

ALL_RULES = '[lint]\nselect = ["E", "F"]\n'


async def check(
    folder: Path, texts: Texts, *, trusted: bool = True, options: RuffOptions | None = None
) -> CheckReport:
    """Check texts; assert that nothing on the disk changed, whatever came of it."""
    before = listing(folder)
    checker = Ruff(workspace(folder, trusted=trusted), options or RuffOptions())
    try:
        report = await checker.check({path: texts[path] for path in texts if checker.handles(path)})
    finally:
        await checker.end()
    assert listing(folder) == before
    return report


async def test_a_finding_has_its_place_its_code_and_its_line(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "fine = 1\n"})
    report = await check(tmp_path, {"a.py": 'import os\n\n  \nx = "\U0001d4bb"; y = missing\n'})
    first, second = report.findings
    assert (first.path, first.checker, first.code) == ("a.py", "ruff", "F401")
    assert (first.severity, first.line_text) == (Severity.WARNING, "import os")
    assert (first.start_line, first.start_column, first.end_column) == (0, 7, 9)
    assert (second.code, second.severity) == ("F821", Severity.ERROR)
    assert (second.start_line, second.start_column, second.end_column) == (3, 13, 20)
    assert second.line_text == 'x = "\U0001d4bb"; y = missing'
    assert (report.checkers, report.problems) == (("ruff",), ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(:\n", (0, 6, "invalid-syntax")),
        ("x = 1\r\ny = missing\r\n", (1, 4, "F821")),
        ("x = 1\ry = missing\r", (1, 4, "F821")),
        ('\x0c\nx = "a\u2028b"\ny = missing\n', (2, 4, "F821")),
        ("x = 1\n\ty = 2\n", (1, 0, "invalid-syntax")),
        ("return 1\n", (0, 0, "F706")),
    ],
)
async def test_places_are_counted_as_editors_count_them(
    tmp_path: Path, text: str, expected: tuple[int, int, str]
) -> None:
    assert ("a.py", *expected) in told(await check(tmp_path, {"a.py": text}))


@pytest.mark.parametrize(
    "text",
    [
        "type X = int\n", "try: pass\nexcept* OSError: pass\n", "match 1:\n    case _: pass\n",
        "def f[T](x: T) -> T: return x\n", "", "\n", "# only words\n", 'x = f"{"a"}"\n',
    ],
)  # fmt: skip
async def test_good_python_of_any_version_has_no_findings(tmp_path: Path, text: str) -> None:
    for trusted in (True, False):
        assert told(await check(tmp_path, {"a.py": text}, trusted=trusted)) == []


async def test_style_is_left_to_projects_that_ask_for_it(tmp_path: Path) -> None:
    text = f"x = 1;\ny = '{'long' * 40}'\n"
    assert told(await check(tmp_path, {"a.py": text})) == []
    write(tmp_path, {"ruff.toml": ALL_RULES})
    codes = {code for *_, code in told(await check(tmp_path, {"a.py": text}))}
    assert codes == {"E703", "E501"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ruff.toml", 'lint.select = ["E703"]\n'),
        (".ruff.toml", 'lint.select = ["E703"]\n'),
        ("pyproject.toml", '[tool.ruff.lint]\nselect = ["E703"]\n'),
    ],
)
async def test_the_projects_own_rules_hold_for_files_below_it(
    tmp_path: Path, name: str, content: str
) -> None:
    write(tmp_path, {name: content})
    report = await check(tmp_path, {"deep/er/a.py": "import os;\n"})
    assert told(report) == [("deep/er/a.py", 0, 9, "E703")]


async def test_files_that_the_project_excludes_have_no_findings(tmp_path: Path) -> None:
    write(tmp_path, {"ruff.toml": 'exclude = ["generated"]\n'})
    assert told(await check(tmp_path, {"generated/a.py": "x = missing\n"})) == []


async def test_a_project_that_mends_by_itself_is_only_looked_at(tmp_path: Path) -> None:
    write(tmp_path, {"ruff.toml": "fix = true\nshow-fixes = true\n", "a.py": ""})
    assert told(await check(tmp_path, {"a.py": "import os\n"})) == [("a.py", 0, 7, "F401")]


async def test_before_trust_the_folders_configuration_does_not_count(tmp_path: Path) -> None:
    write(tmp_path, {"ruff.toml": 'lint.select = ["E703"]\nextend = "/etc/passwd"\n'})
    report = await check(tmp_path, {"a.py": "import os;\n"}, trusted=False)
    assert (told(report), report.problems) == ([("a.py", 0, 7, "F401")], ())


async def test_before_trust_a_ruff_of_the_folder_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "repo" / "bin" / "ruff"
    write(tmp_path, {"repo/bin/ruff": f"#!/bin/sh\ntouch {tmp_path}/marker\necho '[]'\n"})
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:/usr/bin:/bin")
    report = await check(tmp_path / "repo", {"a.py": "x = missing\n"}, trusted=False)
    assert told(report) == [("a.py", 0, 4, "F821")]
    assert not (tmp_path / "marker").exists()
    assert told(await check(tmp_path / "repo", {"a.py": "x = missing\n"})) == []
    assert (tmp_path / "marker").exists()


def script(folder: Path, text: str) -> str:
    path = folder / "bin" / "ruff"
    write(folder, {"bin/ruff": f"#!{sys.executable}\n{text}\n"})
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import time; time.sleep(600)", r"longer than 0\.5 s \(checkers\.ruff\.timeout_s\)"),
        ("import sys; sys.exit('no cheese')", "did not check a.py: no cheese"),
        ("import sys; sys.exit(2)", "ended with code 2"),
        ("while True: print('x' * 1_000_000)", "a.py: it printed without end"),
        ("print('Hello!')", "answer on a.py could not be read"),
        ("print('[{}]')", "answer on a.py could not be read"),
    ],
)
async def test_a_ruff_that_does_not_answer_is_a_problem(
    tmp_path: Path, text: str, words: str
) -> None:
    options = RuffOptions(command=script(tmp_path, text), timeout_s=0.5)
    if "sleep" not in text:
        options = options.model_copy(update={"timeout_s": 60})
    report = await check(tmp_path, {"a.py": ""}, options=options)
    assert (report.findings, report.checkers) == ((), ())
    (problem,) = report.problems
    assert re.search(words, problem), problem


async def test_a_broken_configuration_of_the_project_is_told_once_with_what_to_do(
    tmp_path: Path,
) -> None:
    write(tmp_path, {"ruff.toml": "no-such-option = 1\n"})
    report = await check(tmp_path, {"a.py": "", "b.py": ""})
    (problem,) = report.problems
    assert problem.startswith("ruff did not run: Failed to load configuration")
    assert "no-such-option" in problem
    assert problem.endswith("Correct that file, then ruff checks again.")
    assert report.checkers == ()


async def test_a_missing_ruff_is_told_once_with_what_to_do(tmp_path: Path) -> None:
    options = RuffOptions(command=str(tmp_path / "nothing"))
    report = await check(tmp_path, {"a.py": "", "b.py": ""}, options=options)
    assert report.problems == (
        f"ruff did not run: {tmp_path}/nothing is not a program. "
        "Correct checkers.ruff.command in your settings.",
    )


# A child, because agent-ls looks beside its own interpreter too, and ours has a ruff.
ALONE = """
import asyncio, sys
from pathlib import Path
from agent_ls.checkers.ruff import Ruff
from tests.checkers.projects import workspace

report = asyncio.run(Ruff(workspace(Path(sys.argv[1]))).check({"a.py": ""}))
print(*report.problems)
"""


async def test_a_path_that_leaves_the_workspace_is_a_problem(tmp_path: Path) -> None:
    report = await check(tmp_path, {"../a.py": "x = missing\n"})
    assert "../a.py" in report.problems[0]
    assert report.checkers == ()


@pytest.mark.parametrize(
    ("path", "expected"), [("a.py", True), ("a.pyi", True), ("a.pyc", False), ("py", False)]
)
def test_python_files_are_known_by_name(tmp_path: Path, path: str, expected: bool) -> None:
    assert Ruff(workspace(tmp_path)).handles(path) is expected
    assert not Ruff(workspace(tmp_path), RuffOptions(enabled=False)).handles(path)
