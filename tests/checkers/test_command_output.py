"""What is read from what commands print: recorded output of real programs, each of its kind."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from agent_ls.checkers.command_output import read_by_pattern, read_json, read_lines
from agent_ls.checkers.raw_finding import RawFinding, column_of, word_end
from agent_ls.domain.findings import Severity

Row = tuple[str, int, int, str, Severity | None, str]
E, W, N = Severity.ERROR, Severity.WARNING, Severity.INFORMATION


def check(output: str, expected: list[Row], *, kind: str = "lines") -> None:
    assert rows(read_lines(output) if kind == "lines" else read_json(kind, output)) == expected


def rows(said: Iterable[RawFinding]) -> list[Row]:
    return [(one.path, one.line, one.column, one.code, one.severity, one.message) for one in said]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        pytest.param(
            "a.py:2:10:2:11: error: Incompatible types (a, b)  [assignment]\n"
            "a.py:3: note: Revealed type is \"int\"\n"
            "Found 1 error in 1 file (checked 1 source file)\n",
            [("a.py", 2, 10, "assignment", E, "Incompatible types (a, b)"),
             ("a.py", 3, 0, "", N, 'Revealed type is "int"')],
            id="mypy",
        ),
        pytest.param(
            "    Checking a v0.1.0 (/home/me/rs)\n"
            "src/main.rs:1:26: error[E0308]: mismatched types: expected `i32`, found `&str`\n"
            "src/main.rs:2:4: warning: function `g` is never used\n"
            'error: could not compile `a` (bin "a") due to 1 previous error\n'
            "warning: build failed, waiting for other jobs to finish...\n",
            [("src/main.rs", 1, 26, "E0308", E, "mismatched types: expected `i32`, found `&str`"),
             ("src/main.rs", 2, 4, "", W, "function `g` is never used")],
            id="cargo check",
        ),
        pytest.param(
            "# example.com/app\n"
            "# [example.com/app]\n"
            "./main.go:6:2: fmt.Printf format %d has arg \"x\" of wrong type string\n",
            [("./main.go", 6, 2, "", None,
              'fmt.Printf format %d has arg "x" of wrong type string')],
            id="go vet",
        ),
        pytest.param(
            "# example.com/app\nvet: ./main.go:7:9: undefined: y\n",
            [("./main.go", 7, 9, "", None, "undefined: y")],
            id="go vet, which cannot go on",
        ),
        pytest.param(
            "a.c: In function 'main':\n"
            "a.c:3:5: warning: unused variable 'x' [-Wunused-variable]\n"
            "    3 | int x;\n      |     ^\n"
            "a.c:4:1: fatal error: no.h: No such file or directory\ncompilation terminated.\n",
            [("a.c", 3, 5, "-Wunused-variable", W, "unused variable 'x'"),
             ("a.c", 4, 1, "", E, "no.h: No such file or directory")],
            id="gcc",
        ),
        pytest.param(
            "a/b c.py:12:1: E302 expected 2 blank lines, found 1\n",
            [("a/b c.py", 12, 1, "", None, "E302 expected 2 blank lines, found 1")],
            id="flake8, and a blank in a name",
        ),
        pytest.param(
            "\x1b[1mrun.sh\x1b[0m:2:5: note: Double quote to prevent globbing [SC2086]\n",
            [("run.sh", 2, 5, "SC2086", N, "Double quote to prevent globbing")],
            id="shellcheck, in colours",
        ),
        pytest.param(
            "all is well\nsee https://host:8080/x: it says\nno place: at all\n\n", [],
            id="lines that tell of no place",
        ),
    ],
)  # fmt: skip
def test_lines_of_most_compilers_are_read(output: str, expected: list[Row]) -> None:
    check(output, expected)


def test_lines_are_read_by_a_pattern_of_the_users_own() -> None:
    said = read_by_pattern(
        "\x1b[1mWARN\x1b[0m 17 in deep/ä\U0001f600.txt -- too\u2028long\nnothing\n",
        r"^\w+ (?P<line>\d+) in (?P<path>\S+) -- (?P<message>.*)$",
        60.0,
    )
    assert rows(said) == [("deep/ä\U0001f600.txt", 17, 0, "", None, "too")]


def test_of_long_lines_the_beginning_is_read() -> None:
    """With quoted text that holds many blanks it took seconds, in which nothing else went on."""
    line = "a.min.js:1:7: error: x" + " " * 1_000_000 + "y"
    check(line, [("a.min.js", 1, 7, "", E, "x")])


ESLINT = [
    {
        "filePath": "/ws/a.js",
        "messages": [
            {"ruleId": None, "fatal": True, "severity": 2, "line": 3, "column": 1,
             "message": "Parsing error: Unexpected token"},
        ],
    },
    {
        "filePath": "/ws/b.js",
        "messages": [
            {"ruleId": "no-unused-vars", "severity": 1, "line": 1, "column": 5, "endLine": 1,
             "endColumn": 6, "message": "'é' is assigned a value but never used."},
        ],
    },
]  # fmt: skip
PYRIGHT = {
    "version": "1.1.414",
    "generalDiagnostics": [
        {
            "file": "/ws/a.py", "severity": "error", "message": 'Type "x" is not assignable',
            "range": {"start": {"line": 1, "character": 9}, "end": {"line": 1, "character": 12}},
            "rule": "reportAssignmentType",
        },
        {"file": "/ws/b.py", "severity": "information", "message": "no place"},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "output", "expected"),
    [
        ("eslint", ESLINT, [
            ("/ws/a.js", 3, 1, "invalid-syntax", E, "Parsing error: Unexpected token"),
            ("/ws/b.js", 1, 5, "no-unused-vars", W, "'é' is assigned a value but never used."),
        ]),
        ("pyright", PYRIGHT, [
            ("/ws/a.py", 2, 10, "reportAssignmentType", E, 'Type "x" is not assignable'),
        ]),
    ],
)  # fmt: skip
def test_both_kinds_of_json_are_read(kind: str, output: object, expected: list[Row]) -> None:
    check(json.dumps(output), expected, kind=kind)


def one(**values: object) -> list[dict[str, object]]:
    """Return what eslint prints of one problem, with these values."""
    known = {"ruleId": "r", "severity": 2, "line": 2, "column": 3, "message": "bad"}
    return [{"filePath": "a.js", "messages": [known | values]}]


FOUND: Row = ("a.js", 2, 3, "r", E, "bad")


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        pytest.param(one(line=2.0, column=3.0), FOUND, id="with a point"),
        pytest.param(one(line="2", severity="2"), FOUND, id="as strings"),
        pytest.param(one(ruleId=5), ("a.js", 2, 3, "5", E, "bad"), id="a number's code"),
        pytest.param(
            one(line=None, column=None, ruleId=None, fatal=None),
            ("a.js", 0, 0, "", E, "bad"), id="null",
        ),
    ],
)  # fmt: skip
def test_json_may_be_odd_where_it_can_be_understood(output: object, expected: Row) -> None:
    check(json.dumps(output), [expected], kind="eslint")


@pytest.mark.parametrize(
    "output",
    ["", "Oops", '{"x": 1}', '[{"x": 1}]', "[1]", "null",
     pytest.param("[" * 200_000, id="nested without end"),
     pytest.param(json.dumps(one(message=None)), id="no message"),
     pytest.param(json.dumps(one(line=[2])), id="a list for a line")],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["eslint", "pyright"])
def test_what_is_no_such_json_is_refused(kind: str, output: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_json(kind, output)


@pytest.mark.parametrize(
    ("unit", "column", "expected"),
    [
        ("characters", 4, 3), ("utf-16", 5, 3), ("bytes", 8, 3),
        ("characters", 99, 7), ("utf-16", 99, 7), ("bytes", 99, 7),
        ("characters", 1, 0), ("utf-16", 1, 0), ("bytes", 1, 0),
    ],
)  # fmt: skip
def test_columns_are_turned_into_code_points(unit: str, column: int, expected: int) -> None:
    assert column_of("é\U0001f600 x = 1"[:7], column, unit) == expected


@pytest.mark.parametrize(("column", "expected"), [(0, 3), (3, 4), (4, 5), (9, 10)])
def test_without_an_end_a_finding_is_about_the_word(column: int, expected: int) -> None:
    assert word_end("größe x"[2:], column) == expected
