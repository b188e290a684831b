"""A user sees each change of a long line in its surroundings, and how much is left out."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.edits.diff import diff_to_read, patch_to_apply
from agent_ls.edits.long_lines import MAX_CHANGED, MAX_WHOLE, cut_hunk, cut_pair

MOST_SHOWN = 12_000
"""Characters of one line that a user can be asked to read."""

_MARK = re.compile(r"… \((\d+) (?:changed )?characters(?: with [^)]*)? left out\) …")

JS = "".join(f"var v{n}=f({n},'k{n % 7}');" for n in range(300))
JSON = json.dumps({f"key {n}": [n, {"deep": "x" * (n % 9)}] for n in range(200)})
CSS = "".join(f".c{n}{{margin:{n}px;color:#{n * 7:06x}}}" for n in range(250))
SQL = "INSERT INTO t VALUES " + ",".join(f"({n},'name {n}',NULL)" for n in range(300)) + ";"
BASE64 = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyzABCDEF0123456789+/", k=6_000))
PERIODIC = "var a=1;" * 1_000
JAPANESE = "変数は値を持つ。" * 900
EMOJI = "👩‍👩‍👧e\u0301🇩🇪👍🏽क्षि" * 600
TABS = "a\tb\t\tc\t" * 800
LINES = {
    "js": JS,
    "json": JSON,
    "css": CSS,
    "sql": SQL,
    "base64": BASE64,
    "periodic": PERIODIC,
    "japanese": JAPANESE,
    "emoji": EMOJI,
    "tabs": TABS,
}

_NEVER_FIRST = "\u0301\u200d\u094d\U0001f3fd\U0001f1ea\ude00"
"""Characters that a user sees as a part of the one before."""

PLACES = {
    "start": (0,),
    "middle": (0.5,),
    "end": (1,),
    "both-ends": (0, 1),
    "several": (0.1, 0.11, 0.4, 0.400_5, 0.9),
    "ten": [one / 10 for one in range(10)],
}
NEW_TEXTS = {"replaced": (3, "§§§"), "inserted": (0, "§new§"), "removed": (7, "")}


def changed(line: str, places: Iterable[float], old: int, new: str) -> str:
    """Return the line with a change at each place, given as a part of its length."""
    for place in sorted(places, reverse=True):
        at = min(round(place * len(line)), len(line) - old)
        line = line[:at] + new + line[at + old :]
    return line


def pieces(shown: str, line: str) -> list[tuple[int, int]]:
    """Return the parts of a line that are shown; fails if the marks count wrongly."""
    found: list[tuple[int, int]] = []
    at = 0
    for number, part in enumerate(_MARK.split(shown)):
        if number % 2:
            at += int(part)
        else:
            assert line[at : at + len(part)] == part
            found.append((at, at + len(part)))
            at += len(part)
    assert at == len(line)
    return found


def check(old: str, new: str, *texts: str) -> tuple[str, str]:
    """Return both lines as they are shown, after the rules that hold for every line."""
    shown = cut_pair(old, new)
    for cut, line in zip(shown, (old, new), strict=True):
        parts = pieces(cut, line)
        assert len(cut) <= MOST_SHOWN
        # A character is never divided.
        assert not any(line[start] in _NEVER_FIRST for start, past in parts if 0 < start < past)
    # Both lines are cut in the same places.
    assert _MARK.findall(shown[0]) == _MARK.findall(shown[1])
    for text in texts:
        assert text in shown[1]
    return shown


@pytest.mark.parametrize("new", NEW_TEXTS.values(), ids=NEW_TEXTS)
@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_each_change_is_seen(line: str, places: Sequence[float], new: tuple[int, str]) -> None:
    after = changed(line, places, *new)
    before, now = check(line, after, new[1])
    assert now.count("§") == after.count("§")
    assert before != now
    assert len(before) < len(line)


def test_a_change_stands_in_its_surroundings() -> None:
    part = "var a=1;" * 20_000
    old, new = check(f"{part}var needle=1;{part}", f"{part}var needle=2;{part}")
    assert old == (
        f"… ({len(part) - 69} characters left out) …{part[-69:]}var needle=1;{part[:79]}"
        f"… ({len(part) - 79} characters left out) …"
    )
    assert new == old.replace("needle=1", "needle=2")


@pytest.mark.parametrize("size", [320_000, 1_600_000])
def test_a_line_of_any_length_is_cut(size: int) -> None:
    line = "".join(random.Random(2).choices("abcdef(){};= ", k=size))
    after = f"X{line[1 : size // 2]}Y{line[size // 2 :]}Z"
    _, new = check(line, after, "X", "Y", "Z")
    assert len(new) < 1_000


def test_a_long_change_and_those_around_it_are_seen_each() -> None:
    line = "".join(random.Random(3).choices("abcdef(){};= ", k=600_000))
    after = f"§1{line[2:200_000]}{'new' * 30_000}{line[300_000:500_000]}§2{line[500_002:-2]}§3"
    old, new = cut_pair(line, after)
    for text in ("§1", "newnewnew", "§2", "§3"):
        assert text in new
    assert len(pieces(new, after)) == len(pieces(old, line)) == 5
    assert old.count("changed characters left out") == new.count("changed characters left out") == 1


def test_of_many_changes_the_first_are_shown_and_the_others_counted() -> None:
    line = BASE64 * 20
    old, new = cut_pair(line, changed(line, [one / 60 for one in range(60)], 1, "§"))
    count = new.count("§")
    assert 20 < count < 60
    for shown in old, new:
        assert shown.endswith(f" characters with {60 - count} more changes left out) …")


def test_more_changes_than_are_counted_are_at_least_so_many() -> None:
    line = BASE64 * 50
    _, new = cut_pair(line, changed(line, [one / 2_000 for one in range(2_000)], 1, "§"))
    count = new.count("§")
    assert 20 < count < 700
    assert f"with at least {700 - count} more changes left out" in new


def test_a_line_that_has_nothing_in_common_shows_its_ends() -> None:
    old, new = cut_pair(BASE64, JAPANESE)
    for shown, line in (old, BASE64), (new, JAPANESE):
        start, end = pieces(shown, line)
        assert (start[0], end[1]) == (0, len(line))
        assert len(shown) < MAX_CHANGED + 100
        assert "changed characters left out" in shown


def test_a_short_line_is_whole() -> None:
    line = "x" * MAX_WHOLE
    assert cut_pair(line, f"y{line[1:]}") == (line, f"y{line[1:]}")


def test_half_a_surrogate_pair_is_not_torn_off() -> None:
    check("\ud83d\ude00" * 2_000, changed("\ud83d\ude00" * 2_000, [0.5], 0, "§"), "§")


ALPHABET = st.sampled_from("ab{};\t é日👍\u0301")


@given(
    st.text(ALPHABET, min_size=1, max_size=30),
    st.integers(50, 400),
    st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 60), st.text(ALPHABET, max_size=80)), max_size=15
    ),
)
def test_whatever_changes_is_shown_or_counted(
    unit: str, times: int, edits: list[tuple[float, int, str]]
) -> None:
    old = unit * times
    new = old
    for place, size, text in edits:
        at = round(place * len(new))
        new = new[:at] + text + new[at + size :]
    olds, news = cut_pair(old, new)
    parts, others = pieces(olds, old), pieces(news, new)
    # What both leave out is the same text.
    gaps = [old[one[1] : other[0]] for one, other in pairwise(parts)]
    new_gaps = [new[one[1] : other[0]] for one, other in pairwise(others)]
    if "changed characters" not in olds + news and "more change" not in olds:
        assert gaps == new_gaps


@pytest.mark.parametrize(
    "removed, added",
    [
        ([JS], [JS[:400] + "§" + JS[400:], "short"]),
        ([JS], ["short", JS[:400] + "§" + JS[400:]]),
        (["short", JS], [JS[:400] + "§" + JS[400:]]),
        (["a", "b", "c", JS, "d"], ["a2", JS[:400] + "§" + JS[400:], "d2"]),
        ([JS, CSS], [JS + "§", "between", "§" + CSS]),
        ([JS, CSS], ["§" + CSS]),
    ],
)
def test_a_line_is_compared_with_the_one_that_it_became(
    removed: list[str], added: list[str]
) -> None:
    olds, news = cut_hunk(removed, added)
    assert all(len(one) < 1_000 for one in news)
    assert sum("§" in one for one in news) == sum("§" in one for one in added)
    assert [one for one in olds if len(one) < 100] == [one for one in removed if len(one) < 100]


def diff(before: str | None, after: str | None) -> list[str]:
    return diff_to_read(before, after, "f").splitlines()[2:]


def test_a_new_file_of_one_line_shows_its_ends_and_how_much_is_between() -> None:
    header, line = diff(None, f"{JSON * 9}\n")
    assert header == "@@ -0,0 +1 @@"
    start, end = pieces(line[1:], JSON * 9)
    assert line[0] == "+"
    assert (start[1], len(JSON * 9) - end[0]) == (MAX_CHANGED // 2, MAX_CHANGED // 2)
    assert "changed characters left out" in line


@pytest.mark.parametrize(
    "before, after, signs",
    [
        (f"a\n{JS}\nb\n", "a\nb\n", " - "),
        ("a\nb\n", f"a\n{JS}\nb\n", " + "),
        (f"{JS}\na\n", f"{JS}\nb\n", " -+"),
        (f"{JS}\r\n", f"{changed(JS, [0.5], 1, '§')}\r\n", "-+"),
        (JS, changed(JS, [0.5], 1, "§"), "-\\+\\"),
        (JS, f"{JS}\n", "-\\+"),
        (
            f"{JS}\n{CSS}\n",
            f"{changed(JS, [0.5], 1, '§')}\n{changed(CSS, [0.2], 1, '§')}\n",
            "--++",
        ),
        (f"{JS}\n", None, "-"),
    ],
)
def test_every_line_of_a_diff_is_cut(before: str, after: str | None, signs: str) -> None:
    _, *lines = diff(before, after)
    assert "".join(line[0] for line in lines) == signs
    assert all(len(line) <= MAX_CHANGED + 100 for line in lines)
    long = [line for line in lines if len(line) > 30]
    assert long
    assert all("left out" in line for line in long)
    assert "§" not in (after or "") or any("§" in line for line in lines)


def test_a_change_in_a_large_file_is_seen() -> None:
    lines = [f"{number}\n" for number in range(30_000)]
    before = "".join(lines)
    lines[20_000] = "changed\n"
    found = diff(before, "".join(lines))
    assert found[0] == "@@ -19998,7 +19998,7 @@"
    assert found[4:6] == ["-20000", "+changed"]


def test_a_patch_to_apply_has_whole_lines() -> None:
    after = changed(JS, [0.5], 1, "§")
    assert patch_to_apply(f"{JS}\n", f"{after}\n", "f").splitlines()[3:] == [f"-{JS}", f"+{after}"]


def test_each_of_several_long_changes_is_seen() -> None:
    line = "".join(random.Random(4).choices("abcdef(){};= ", k=60_000))
    after = "".join(
        f"§{number}{'new' * 300}{line[at + 500 : at + 6_000]}"
        for number, at in enumerate(range(0, 60_000, 6_000))
    )
    _, new = cut_pair(line, after)
    assert new.count("§") == 10
    assert len(new) < MOST_SHOWN
