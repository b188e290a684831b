"""What the agent changed in one file, as hunks that are made, joined, kept and undone."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.domain.edits import apply_replacements
from agent_ls.edits.merge import merge
from agent_ls.review.file_changes import FileLedger
from agent_ls.review.places import placed

_TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"


@dataclass
class Row:
    steps: list[tuple[str, str, str]]
    """Who (``agent``, ``user``, ``keep``, ``undo``, ``redo``), what is replaced, by what."""
    hunks: list[tuple[str, int, int, bool]]
    """Old lines joined, first line, line behind, whether it was changed: the open ones in the end.
    """
    text: str = ""
    """In the end, when every open hunk is undone; empty: there is a conflict."""
    start: str = field(default=_TEXT)


def check(row: Row) -> None:
    ledger = FileLedger("a.py", row.start, row.start)
    now = row.start
    for number, (who, old, new) in enumerate(row.steps):
        match who:
            case "agent":
                assert old in now
                after = now.replace(old, new, 1)
                ledger = ledger.edited(now, after, str(number))
                now = after
            case "user":
                assert old in now
                now = now.replace(old, new, 1)
            case _:
                state = {"keep": "kept", "undo": "undone", "redo": "open"}[who]
                ids = [one.id for one in ledger.hunks if old in "\n".join((*one.old, *one.new))]
                assert ids, f"no hunk has {old!r}"
                after = ledger.decided(ids, state)  # pyright: ignore[reportArgumentType]
                merged = merge(ledger.text or "", now, after.text or "", beside=True)
                assert not merged.conflicts
                now, ledger = apply_replacements(now, merged.replacements), after
    found = [
        ("|".join(one.hunk.old), one.first, one.past, one.is_changed)
        for one in placed(ledger, now)
        if one.hunk.state == "open"
    ]
    assert found == row.hunks
    undone = ledger.decided([one.id for one in ledger.open()], "undone").text or ""
    merged = merge(ledger.text or "", now, undone, beside=True)
    is_clash = bool(merged.conflicts) or any(one.is_mixed for one in ledger.open())
    result = apply_replacements(now, merged.replacements)
    assert ("" if is_clash else result) == row.text


_TABLE = {
    "an edit is a hunk": Row([("agent", "two", "2")], [("two", 1, 2, False)], _TEXT),
    "new lines are a hunk without old ones": Row(
        [("agent", "two\n", "two\nmore\n")], [("", 2, 3, False)], _TEXT
    ),
    "removed lines are a hunk without new ones": Row(
        [("agent", "two\nthree\n", "")], [("two|three", 1, 1, False)], _TEXT
    ),
    "edits far apart are hunks of their own": Row(
        [("agent", "two", "2"), ("agent", "eight", "8")],
        [("two", 1, 2, False), ("eight", 7, 8, False)],
        _TEXT,
    ),
    "an edit of an edited line joins it": Row(
        [("agent", "two", "2"), ("agent", "2\n", "II\n")], [("two", 1, 2, False)], _TEXT
    ),
    "an edit beside an edit joins it": Row(
        [("agent", "two", "2"), ("agent", "three", "3")], [("two|three", 1, 3, False)], _TEXT
    ),
    "an edit across two edits joins all": Row(
        [("agent", "two", "2"), ("agent", "five", "5"), ("agent", "2\nthree\nfour\n5", "all")],
        [("two|three|four|five", 1, 2, False)],
        _TEXT,
    ),
    "an edit that takes an edit back leaves nothing": Row(
        [("agent", "two", "2"), ("agent", "2\n", "two\n")], [], _TEXT
    ),
    "typing above moves a hunk": Row(
        [("agent", "two", "2"), ("user", "one\n", "zero\none\n")],
        [("two", 2, 3, False)],
        "zero\n" + _TEXT,
    ),
    "typing below leaves a hunk": Row(
        [("agent", "two", "2"), ("user", "nine\n", "nine\nten\n")],
        [("two", 1, 2, False)],
        _TEXT + "ten\n",
    ),
    "a line typed right below a hunk stays when it is undone": Row(
        [("agent", "two", "2"), ("user", "2\n", "2\nmine\n")],
        [("two", 1, 2, False)],
        _TEXT.replace("two\n", "two\nmine\n"),
    ),
    "a line typed right above a hunk stays when it is undone": Row(
        [("agent", "two", "2"), ("user", "2\n", "mine\n2\n")],
        [("two", 2, 3, False)],
        _TEXT.replace("two\n", "mine\ntwo\n"),
    ),
    "typing in a hunk is a conflict": Row(
        [("agent", "two", "2"), ("user", "2\n", "2 mine\n")], [("two", 1, 2, True)]
    ),
    "a line typed inside a hunk is a conflict": Row(
        [("agent", "two\n", "2\nII\n"), ("user", "2\n", "2\nmine\n")], [("two", 1, 4, True)]
    ),
    "removing a hunk's lines is a conflict": Row(
        [("agent", "two", "2"), ("user", "one\n2\nthree\n", "")], [("two", 0, 0, True)]
    ),
    "typing where lines were removed is a conflict": Row(
        [("agent", "two\n", ""), ("user", "one\n", "one\nmine\n")], [("two", 1, 2, True)]
    ),
    "a change that somebody took back by hand is gone": Row(
        [("agent", "two", "2"), ("user", "2\n", "two\n")], [], _TEXT
    ),
    "typing between two edits stays": Row(
        [("agent", "two", "2"), ("user", "five", "5 mine"), ("agent", "eight", "8")],
        [("two", 1, 2, False), ("eight", 7, 8, False)],
        _TEXT.replace("five", "5 mine"),
    ),
    "lines typed above between two edits move the first": Row(
        [("agent", "two", "2"), ("user", "one\n", "zero\none\n"), ("agent", "eight", "8")],
        [("two", 2, 3, False), ("eight", 8, 9, False)],
        "zero\n" + _TEXT,
    ),
    "typing in a hunk between two edits is a conflict": Row(
        [("agent", "two", "2"), ("user", "2\n", "2 mine\n"), ("agent", "eight", "8")],
        [("two", 1, 2, True), ("eight", 7, 8, False)],
    ),
    "an edit of lines that the user typed in a hunk is a conflict": Row(
        [("agent", "two", "2"), ("user", "2\n", "2 mine\n"), ("agent", "2 mine", "3")],
        [("two", 1, 2, True)],
    ),
    "an edit of a line that the user typed is undone to what was typed": Row(
        [("user", "five", "5 mine"), ("agent", "5 mine", "V")],
        [("5 mine", 4, 5, False)],
        _TEXT.replace("five", "5 mine"),
    ),
    "a kept hunk is not open": Row(
        [("agent", "two", "2"), ("agent", "eight", "8"), ("keep", "two", "")],
        [("eight", 7, 8, False)],
        _TEXT.replace("two", "2"),
    ),
    "an undone hunk is not open": Row(
        [("agent", "two", "2"), ("agent", "eight", "8"), ("undo", "two", "")],
        [("eight", 7, 8, False)],
        _TEXT,
    ),
    "an undo of an undo is open again": Row(
        [("agent", "two", "2"), ("undo", "two", ""), ("redo", "two", "")],
        [("two", 1, 2, False)],
        _TEXT,
    ),
    "typing before an undo is taken along": Row(
        [
            ("agent", "two", "2"),
            ("agent", "eight\n", ""),
            ("user", "five\n", "five\nmine\n"),
            ("undo", "two", ""),
            ("user", "one", "1"),
        ],
        [("eight", 8, 8, False)],
        _TEXT.replace("five\n", "five\nmine\n").replace("one", "1"),
    ),
    "an edit of a kept line is a hunk against what was kept": Row(
        [("agent", "two", "2"), ("keep", "two", ""), ("agent", "2\n", "II\n")],
        [("2", 1, 2, False)],
        _TEXT.replace("two", "2"),
    ),
    "the last line end is a change": Row([("agent", "nine\n", "nine")], [("", 9, 9, False)], _TEXT),
    "CRLF stays": Row(
        [("agent", "two", "2\r\nII"), ("user", "one", "1")],
        [("two", 1, 3, False)],
        _TEXT.replace("\n", "\r\n").replace("one", "1"),
        _TEXT.replace("\n", "\r\n"),
    ),
    "other characters stay": Row(
        [("agent", "é😀", "x"), ("user", "a", "ä\u2028")],
        [("é😀", 1, 2, False)],
        "ä\u2028\né😀\nb\n",
        "a\né😀\nb\n",
    ),
}


@pytest.mark.parametrize("name", _TABLE)
def test_hunks(name: str) -> None:
    check(_TABLE[name])


_LINE = st.sampled_from(["a", "b", "", "}", "é", "😀\u2028", "\tx"])
_LINES = st.lists(_LINE, max_size=12)
_END = st.sampled_from(["\n", "\r\n"])


@given(
    base=_LINES,
    edits=st.lists(_LINES, min_size=1, max_size=4),
    head=st.lists(st.sampled_from(["mine", "mein"]), max_size=3),
    tail=st.lists(st.sampled_from(["mine", "mein"]), max_size=3),
    end=_END,
    order=st.randoms(use_true_random=False),
)
def test_undoing_every_hunk_in_any_order_gives_the_text_before_and_what_was_typed(
    base: list[str],
    edits: list[list[str]],
    head: list[str],
    tail: list[str],
    end: str,
    order: random.Random,
) -> None:
    # Two lines at each end, which nobody else has, keep the typing apart from the edits.
    around = ["top", "TOP"], ["END", "end"]

    def text(lines: list[str], *, typed: bool = False) -> str:
        above, below = (head, tail) if typed else ([], [])
        whole = [*above, *around[0], *lines, *around[1], *below]
        return "".join(line + end for line in whole)

    now = text(base)
    ledger = FileLedger("a.py", now, now)
    for number, lines in enumerate(edits):
        after = text(lines)
        ledger, now = ledger.edited(now, after, str(number)), after
    now = text(edits[-1], typed=True)
    hunks = list(ledger.open())
    order.shuffle(hunks)
    for one in hunks:
        after = ledger.decided([one.id], "undone")
        merged = merge(ledger.text or "", now, after.text or "", beside=True)
        assert not merged.conflicts
        now, ledger = apply_replacements(now, merged.replacements), after
    assert now == text(base, typed=True)
    for one in hunks:
        after = ledger.decided([one.id], "open")
        merged = merge(ledger.text or "", now, after.text or "", beside=True)
        now, ledger = apply_replacements(now, merged.replacements), after
    assert now == text(edits[-1], typed=True)


_ANY_TEXT = st.builds(
    lambda lines, end: "\n".join(lines) + end,
    st.lists(st.sampled_from(["a", "b", "", "}"]), max_size=6),
    st.sampled_from(["", "\n"]),
)


@given(_ANY_TEXT, st.lists(_ANY_TEXT, min_size=1, max_size=3))
def test_undoing_everything_gives_the_final_line_end_back(base: str, edits: list[str]) -> None:
    ledger, now = FileLedger("a.py", base, base), base
    for number, after in enumerate(edits):
        ledger, now = ledger.edited(now, after, str(number)), after
    undone = ledger.decided([one.id for one in ledger.hunks], "undone")
    merged = merge(ledger.text or "", now, undone.text or "", beside=True)
    assert not merged.conflicts
    assert apply_replacements(now, merged.replacements) == base


def test_a_change_in_a_long_line_is_listed_by_what_changed() -> None:
    part = "var a=1;" * 200
    before, after = f"{part}x=1;{part}\n", f"{part}x=2;{part}\n"
    [hunk] = FileLedger("a.js", before, before).edited(before, after, "1").hunks
    assert hunk.title.startswith("… (1582 characters left out) …1;var a=1;var a=1;x=2;var a=1;")
    assert hunk.new == (after[:-1],)


@pytest.mark.parametrize(
    "before, after, kept, typed, expected",
    [
        # One blank line that nobody changed.
        ("a\n\nb\n", "A\n\nB\n", "", "", [False, True]),
        ("a\n  \nb\n\nc\n", "A\n  \nB\n\nC\n", "", "", [False, True, True]),
        # Two blank lines, or one that says something, part them.
        ("a\n\n\nb\n", "A\n\n\nB\n", "", "", [False, False]),
        ("a\nx\nb\n", "A\nx\nB\n", "", "", [False, False]),
        # What was decided about is not joined to what was not.
        ("a\n\nb\n", "A\n\nB\n", "A", "", [False, False]),
        # Somebody wrote between them since.
        ("a\n\nb\n", "A\n\nB\n", "", "A\n\nwords\nB\n", [False, False]),
    ],
)
def test_what_only_a_blank_line_parts_continues_the_change_before(
    before: str, after: str, kept: str, typed: str, expected: list[bool]
) -> None:
    ledger = FileLedger("a.py", before, before).edited(before, after, "1")
    ids = [one.id for one in ledger.hunks if kept and kept in one.new]
    places = placed(ledger.marked(ids, "kept"), typed or after)
    assert [one.continues for one in places] == expected
