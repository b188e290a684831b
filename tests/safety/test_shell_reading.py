"""The strict reader: what it understands, bash understands in the same way."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_ls.safety.flags import MustAskError
from agent_ls.safety.shell_reading import read_shell, runs_only_git
from agent_ls.safety.shell_tree import Command
from agent_ls.safety.shell_words import NUMBER, TEXT

Parts = list[tuple[str, list[str]]]


def read_parts(command: str) -> Parts:
    """Return the plain commands of a text with what joins each to the one before."""
    found: Parts = []
    for pipeline in read_shell(command):
        connector: str = pipeline.connector
        for element in pipeline.elements:
            assert isinstance(element, Command)
            found.append((connector, [word.value for word in element.words]))
            connector = "|"
    return found


def check(command: str, expected: Parts | None) -> None:
    """Assert the parts read, or with None that the text is not understood."""
    if expected is None:
        with pytest.raises(MustAskError):
            read_shell(command)
        return
    assert read_parts(command) == expected


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
        ("a ${b-c}", None), ("a $1", None), ("a $", None), ('a "`b`"', None),
        ('a "$(b)"', [("", ["a", TEXT])]),
        ("a $'b'", None), ('a "$((1+2))"', [("", ["a", NUMBER])]),
        ("a $((1 - -2))x", [("", ["a", f"{NUMBER}x"])]), ("a $((2*(3+4)))", [("", ["a", NUMBER])]),
        ("a $((b[1]))", None), ("a $((b=1))", None), ("a $((b++))", None), ("a $((1--1))", None),
        ("a $((1,2))", None), ("a $(( $(b) ))", None), ("a $((1)", None), ("a $((1) )", None),
        ("a $((b?1:2))", None), ("a $[1]", None), ("let a=1", [("", ["let", "a=1"])]),
        ("time a b", [("", ["a", "b"])]), ("time -p a | b", [("", ["a"]), ("|", ["b"])]),
        ("! time a", [("", ["a"])]), ("time", None), ("time; a", None), ("time\na", None),
        ("time [[ a ]]", None), ("time (a)", None), ("time time a", None), ("time ! a", None),
        ("time a=b", None), ("a | time b", None), ("time { a; }", None), ("\\time a", None),
        ('a "$(b"', None), ('a "$()"', None),
        ('a "$(b "$(c)")"', [("", ["a", TEXT])]), ("a $(b)", None), ('a "$(b # )"', None),
        ("a {b,c}", None), ("a {1..2}", None), ("a (b)", None), ("(a", None), ("a)", None),
        ("(a) b", None), ("((a))", None), ("()", None),
        ("a & b", None), ("a &", None),
        ("a <&3", None), ("a <<<b", None),
        ("a >b", [("", ["a"])]), ("a c 2>>b", [("", ["a", "c"])]), ("a >|b", None),
        ("a >(b)", None), ("a <>b", None), ("a >", None), (">b a", None), ("{ a; } >b", None),
        ("a <<b", None), ("a 12>b", None), ("a 3>/dev/null", None), ("a >&-", None),
        ("a 'b", None), ('a "b', None), ("a \\", None), ("a \\b", None),
        ("a=b c", [("", ["c"])]), ("a=b c=d e f", [("", ["e", "f"])]),
        ("a; ; b", None), ("; a", None), ("a |", None), ("a &&", None),
        ("#", None), ("", None), ("a\rb", None), ("if a; then b", None), ("if a; fi", None),
        ("then a", None), ("{ a }", None),
        ("for a; do b; done", None), ("for a in b do c; done", None), ("while a; do b; done", None),
        ("while read a; b; do c; done", None), ("while read; do a; done", None),
        ("while read a[0]; do b; done", None), ("while read 'a'; do b; done", None),
        ("while read a <b; do c; done", None), ("while IFS=a b=c read d; do e; done", None),
        ("until read a; do b; done", None),
        ("while read a; do b; done >c", None), ("while read a; do b; done <<<c", None),
        ("a ||", None), ("(a &&)", None), ("(a) >b", None), ("a 3<b", None), ('a "b\\\nc"', None),
        ("for 'a' in b; do c; done", None), ("for a in; do b; done", None),
        ("for a in b <c; do d; done", None), ("for a in b >c; do d; done", None),
        ("for a in b && do c; done", None), ("while 'read' a; do b; done", None),
        ("while read a >b; do c; done", None), ("while read a*; do b; done", None),
        ('while IFS="$(a)" read b; do c; done', None), ("while IFS=a read; do b; done", None),
        ("[[ a && b ]]", None), ("[[ a || b ]]", None), ("[[ a =~ b ]]", None),
        ("[[ (a) ]]", None), ("[[ a < b ]]", None), ("[[ a > b ]]", None),
        ("[[ a", None), ("[[ a ]", None), ("[[ a ]] b", None), ("a | ! b", None), ("! ! a", None),
        ("a=b c=d", None), ("a[0]=b", None), ("a <", None), ("<b a", None), ("(a) <b", None),
    ],
)  # fmt: skip
def test_plain_commands_are_read_and_others_are_not(command: str, expected: Parts | None) -> None:
    check(command, expected)


@pytest.mark.parametrize("part", ["a", "a=1", "[[ a ]]", "(a)"])
def test_fifty_parts_are_read_and_no_more(part: str) -> None:
    assert len(read_shell("; ".join([part] * 50))) == 50
    check("; ".join([part] * 51), None)


def test_what_is_nested_seven_times_is_read_and_no_deeper() -> None:
    assert read_shell("{ " * 7 + "a" + "; }" * 7)
    check("{ " * 8 + "a" + "; }" * 8, None)


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash to compare with")
@settings(max_examples=300)
@given(st.text(alphabet="ab1 '\"\\#=-.,:@^{}~!%+/;|&<>\n\t()é", min_size=1, max_size=14))
def test_bash_reads_the_same_words(text: str) -> None:
    try:
        ((_, (_, *words)),) = read_parts(f"show {text}")
        (element,) = read_shell(f"show {text}")[0].elements
        # The file that is read need not be there, and none is written here.
        assert isinstance(element, Command)
        assert element.reads + element.writes == ()
    except (MustAskError, ValueError, AssertionError):
        return
    script = f'show() {{ for word; do printf "%s\\0" "$word"; done; }}\nshow {text}'
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", script],
        capture_output=True,
        env={"LC_ALL": "C.UTF-8"},
        timeout=10,
        stdin=subprocess.DEVNULL,
    )
    shown = done.stdout + done.stderr
    assert done.returncode == 0
    if ">" not in text:
        assert shown.decode() == "".join(f"{word}\0" for word in words)


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash to compare with")
@settings(max_examples=150)
@given(
    st.lists(
        st.sampled_from(
            ["show 1", "show 2", "(", ")", "{", "}", ";", "\n", "&&", "||", "|", "!", "if", "then",
             "else", "elif", "fi", "for x in 1 2", "do", "done", "true", "false", "# x\n", "time",
             "while read x", "while IFS= read -r x", "$((1+x))", "< f"]
        ),
        min_size=1,
        max_size=12,
    )
)  # fmt: skip
def test_what_is_read_is_shell_for_bash_too(pieces: list[str]) -> None:
    text = " ".join(pieces)
    try:
        read_shell(text)
    except MustAskError:
        return
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-n", "-c", text], capture_output=True, timeout=10
    )
    assert done.returncode == 0, (text, done.stderr)


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash to compare with")
@settings(max_examples=150)
@given(st.text(alphabet="x12 +-*/%()<>=!&|~$", min_size=1, max_size=9))
def test_arithmetic_that_is_read_changes_nothing(text: str) -> None:
    try:
        read_shell(f"echo $(({text}))")
    except MustAskError:
        return
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", f"x=5\n: $(({text}))\necho $x $?"],
        capture_output=True,
        timeout=10,
    )
    assert done.stdout in (b"5 0\n", b"5 1\n", b""), (text, done.stdout)


def test_variables_are_filled_in_where_they_stay_one_word() -> None:
    (pipeline,) = read_shell('a $x "$x$y" ${x}.py "$?"')
    (command,) = pipeline.elements
    assert isinstance(command, Command)
    _, *words = command.words
    known = {"x": "src", "y": "a b *", "?": "0"}
    assert [word.filled(known).value for word in words] == ["src", "srca b *", "src.py", "0"]
    for value in ("", "a b", "*", "~ ", "a\nb"):
        with pytest.raises(MustAskError):
            words[0].filled({"x": value})
    with pytest.raises(MustAskError):
        words[0].filled({})


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git status", True),
        ("cd src && git diff | head -50; git log -n 3 | tail -n 2", True),
        ('git commit -m "a; b"', True),
        ("echo 'a git b'; cat .env", False),
        ("git status; cat .env", False),
        ("git status | cat .env", False),
        ("git status | head < .env", False),
        ("head -1 | git status", False),
        ('git log "$(cat .env)"', False),
        ("if true; then git status; fi", False),
        ("git status (", False),
    ],
)
def test_commands_of_git_alone_are_told_from_others(command: str, expected: bool) -> None:
    assert runs_only_git(command) is expected
