"""How the words behind a command are split."""

from __future__ import annotations

import subprocess

import pytest

from agent_ls.domain.placeholders import Given, filled, words_and_rest


@pytest.mark.parametrize(
    "arguments, most, words",
    [
        ("", 2, []),
        ("  a.py  ", 2, ["a.py"]),
        ("'a b.py' long 'x y'", 3, ["a b.py", "long", "x y"]),
        ("'a b.py' long 'x y'", 2, ["a b.py", "long 'x y'"]),
        ('"a b".py "for my"  peace', 2, ["a b.py", '"for my"  peace']),
        ('a.py ""', 2, ["a.py", ""]),
        ("a.py don't break it", 2, ["a.py", "don't break it"]),
        ("don't break it", 2, ["don't", "break it"]),
        ("one two", 1, ["one two"]),
        ("'one two'", 1, ["one two"]),
        ("a#b #c", 2, ["a#b", "#c"]),
        (r"a\ b c", 2, ["a b", "c"]),
    ],
)
def test_quotes_hold_words_together(arguments: str, most: int, words: list[str]) -> None:
    assert words_and_rest(arguments, most) == words


_ODD = '/tmp/it\'s $(touch x) "a" `b` \\c; d'


@pytest.mark.parametrize(
    "command, words",
    [
        ("printf '%s\\n' ${CLAUDE_SKILL_DIR}/set.sh 1", [f"{_ODD}/set.sh", "1"]),
        ("printf '%s\\n' \"${CLAUDE_SKILL_DIR}/set.sh\"", [f"{_ODD}/set.sh"]),
        ("printf '%s\\n' '${CLAUDE_SKILL_DIR}'/set.sh", [f"{_ODD}/set.sh"]),
        ("printf '%s\\n' '1'${CLAUDE_SKILL_DIR}", [f"1{_ODD}"]),
    ],
)
def test_a_folders_name_is_one_word_of_a_command(command: str, words: list[str]) -> None:
    given = Given("", 0, variables={"CLAUDE_SKILL_DIR": _ODD})
    text, (line,) = filled(f"See ${{CLAUDE_SKILL_DIR}}.\n```!\n{command}\n```", given)
    assert text.startswith(f"See {_ODD}.\n")
    ran = subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=True, text=True)
    assert ran.stdout.splitlines() == words
    plain = Given("", 0, variables={"CLAUDE_SKILL_DIR": "/skills/one"})
    assert filled(f"!`{command}`", plain)[1] == (
        command.replace("${CLAUDE_SKILL_DIR}", "/skills/one"),
    )
