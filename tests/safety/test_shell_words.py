"""The strict reader: what it understands, bash understands in the same way."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_ls.safety.shell_words import NotUnderstoodError, read_parts

Parts = list[tuple[str, list[str]]]


def check(command: str, expected: Parts | None) -> None:
    """Assert the parts read, or with None that the text is not understood."""
    if expected is None:
        with pytest.raises(NotUnderstoodError):
            read_parts(command)
        return
    found = [(part.connector, [word.value for word in part.words]) for part in read_parts(command)]
    assert found == expected


@pytest.mark.parametrize(
    "command, expected",
    [
        ("a b", [("", ["a", "b"])]),
        ("a 'b c' \"d e\" f\\ g", [("", ["a", "b c", "d e", "f g"])]),
        ("a --x=\"y z\" -n5", [("", ["a", "--x=y z", "-n5"])]),
        ('a "b\\.c" "d\\"e" "f\\\\g"', [("", ["a", "b\\.c", 'd"e', "f\\g"])]),
        ("a | b |& c && d || e; f\ng", [
            ("", ["a"]), ("|", ["b"]), ("|", ["c"]), ("&&", ["d"]), ("||", ["e"]), (";", ["f"]),
            (";", ["g"]),
        ]),
        ("a 2>/dev/null >&2 2>&1 </dev/null | b", [("", ["a"]), ("|", ["b"])]),
        ("a>/dev/null", [("", ["a"])]),
        ("a ''", [("", ["a", ""])]),
        ("a # b; c\nd", [("", ["a"]), (";", ["d"])]),
        ("a b#c", [("", ["a", "b#c"])]),
        ("a \\\n b", [("", ["a", "b"])]),
        ("a HEAD@{1} x^{tree} {}", [("", ["a", "HEAD@{1}", "x^{tree}", "{}"])]),
        ("a HEAD~2 b~", [("", ["a", "HEAD~2", "b~"])]),
        ("a é 'ü'", [("", ["a", "é", "ü"])]),
        ("a ~", None), ("a b=~/c", None), ("a b:~", None),
        ("a $b", None), ('a "$b"', None), ('a "`b`"', None), ("a $'b'", None),
        ("a {b,c}", None), ("a {1..2}", None), ("a (b)", None), ("a & b", None), ("a &", None),
        ("a <b", None), ("a >b", None), ("a <<b", None), ("a 3>/dev/null", None), ("a >&-", None),
        ("a 'b", None), ('a "b', None), ("a \\", None), ("a \\b", None),
        ("a=b c", None), ("a; ; b", None), ("; a", None), ("a |", None), ("a &&", None),
        ("#", None), ("", None), ("a\rb", None), ("if a; then b; fi", None), ("[[ a ]]", None),
    ],
)  # fmt: skip
def test_plain_commands_are_read_and_others_are_not(command: str, expected: Parts | None) -> None:
    check(command, expected)


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash to compare with")
@settings(max_examples=300)
@given(st.text(alphabet="ab1 '\"\\#=-.,:@^{}~!%+/;|&<>\n\t()é", min_size=1, max_size=14))
def test_bash_reads_the_same_words(text: str) -> None:
    try:
        (part,) = read_parts(f"show {text}")
    except (NotUnderstoodError, ValueError):
        return
    script = f'show() {{ for word; do printf "%s\\0" "$word"; done; }}\nshow {text}'
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", script],
        capture_output=True,
        env={"LC_ALL": "C.UTF-8"},
        timeout=10,
        stdin=subprocess.DEVNULL,
    )
    words = [word.value for word in part.words[1:]]
    shown = done.stdout + done.stderr
    assert done.returncode == 0
    if ">" not in text:
        assert shown.decode() == "".join(f"{word}\0" for word in words)
