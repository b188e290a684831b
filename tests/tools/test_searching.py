"""``grep`` shows the match, whatever the line is like that holds it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.errors import ToolError
from agent_ls.edits.shown_marks import cut_around, leaked_mark
from agent_ls.safety.ripgrep import find_ripgrep
from agent_ls.tools.grep import Grep, GrepOptions
from agent_ls.tools.search_messages import MAX_MESSAGE_BYTES
from agent_ls.tools.searching import Query, search_below
from tests.tools.conftest import Place

_LONG = MAX_MESSAGE_BYTES + 100_000


@pytest.fixture
def grep(place: Place) -> Grep:
    return Grep(place.workspace)


@pytest.mark.parametrize("before", [0, 1, 150, 299, 300, 4_000, 250_000])
@pytest.mark.parametrize("after", [0, 200, 4_000])
@pytest.mark.parametrize("filler", ["a", "é", "🙂", "\t"], ids=["plain", "two", "four", "tab"])
async def test_a_match_is_in_what_is_shown_of_its_line(
    place: Place, grep: Grep, before: int, after: int, filler: str
) -> None:
    place.write("a.js", f"one\n{filler * before}API_URL{filler * after}\nthree\n")
    for pattern in ("API_URL", ".{0,20}API_URL.{0,30}", "(?i)api_[a-z]+"):
        (line,) = (await place.call(grep, pattern=pattern)).text.split("\n")
        assert line.startswith("a.js:2:")
        assert "API_URL" in line
        assert len(line) < 450


async def test_what_is_left_out_is_counted_and_read_file_shows_it(place: Place, grep: Grep) -> None:
    place.write("a.js", "x" * 4_000 + "API_URL" + "y" * 1_000)
    (line,) = (await place.call(grep, pattern="API_URL")).text.split("\n")
    _, skipped, rest = line.split("… (")[0], line.split("… (")[1], line.split("… (+")[1]
    left = int(skipped.split(" ")[0])
    shown = line.split("left out) ")[1].split("…")[0]
    assert ("x" * 4_000 + "API_URL" + "y" * 1_000)[left:].startswith(shown)
    assert left + len(shown) + int(rest.split(" ")[0]) == 5_007
    assert leaked_mark(line, None) is not None


async def test_several_matches_of_a_long_line_are_shown_and_others_counted(
    place: Place, grep: Grep
) -> None:
    place.write("a.js", "".join(f"key_{n}" + "x" * 1_000 for n in range(10)))
    (line,) = (await place.call(grep, pattern=r"key_\d")).text.split("\n")
    assert all(f"key_{n}" in line for n in range(3))
    assert line.endswith("(7 more matches in this line)")


async def test_a_match_longer_than_what_is_shown_is_shown_from_its_beginning(place: Place) -> None:
    place.write("a.txt", "needle" + "x" * 500)
    tool = Grep(place.workspace, GrepOptions(max_line_chars=10))
    output = await place.call(tool, pattern="x{9}x+")
    assert output.text.startswith("a.txt:1: … (6 characters left out) xxxxxxxxxx… (+490")


@pytest.mark.parametrize(
    "filler", ["a", "é", '\\"', "\x01"], ids=["plain", "two", "quotes", "control"]
)
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["bare", "marked"])
async def test_a_giant_line_costs_that_line_and_not_the_search(
    place: Place, grep: Grep, filler: str, mark: str
) -> None:
    giant = filler * (_LONG // len(filler)) + "API_URL=1" + filler * 2_000
    place.write("a.js", f"{mark}API_URL first\n{giant}\nAPI_URL last\n")
    place.write("b.js", "API_URL\n")
    lines = (await place.call(grep, pattern="API_URL")).text.split("\n")
    assert [one.split(": ")[0] for one in lines] == ["a.js:1", "a.js:2", "a.js:3", "b.js:1"]
    assert "API_URL=1" in lines[1]
    assert "the line is very long" in lines[1]
    assert len(lines[1]) < 600
    assert leaked_mark(lines[1], None) is not None
    skipped, rest = (int(one) for one in re.findall(r"\((?:\+)?(\d+) bytes", lines[1]))
    # The two counts are of bytes, but a character that is shown near the match counts as one.
    assert 0 <= len(giant.encode()) - skipped - rest <= 2_000


async def test_a_giant_line_of_matches_is_one_line_of_the_answer(place: Place, grep: Grep) -> None:
    place.write("a.js", "API_URL," * (_LONG // 8) + "\nlast API_URL\n")
    lines = (await place.call(grep, pattern="API_URL")).text.split("\n")
    assert [one.split(": ")[0] for one in lines] == ["a.js:1", "a.js:2"]
    assert "API_URL" in lines[0]


async def test_a_giant_line_of_an_unsaved_text_is_shown_too(place: Place, grep: Grep) -> None:
    place.workspace.buffers = {"a.js": "é" * _LONG + "API_URL" + "é" * 100}
    (line,) = (await place.call(grep, pattern="API_URL")).text.split("\n")
    assert "API_URL" in line


async def test_a_large_file_is_searched_when_it_is_named(place: Place, grep: Grep) -> None:
    file = place.write("a.log", "")
    with file.open("wb") as opened:
        opened.write(b"start\n" + b"x" * 70 * 2**20 + b"\nneedle\n")
    assert (await place.call(grep, pattern="needle", path="a.log")).text == "a.log:3: needle"
    assert (await place.call(grep, pattern="needle")).text == "Nothing matches."


async def test_a_file_that_goes_while_it_is_searched_still_names_its_line(
    place: Place, grep: Grep, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write("a.js", "x" * _LONG + "API_URL")
    opened = os.open

    def gone(path: str | Path, *rest: int, **options: int) -> int:
        if str(path).endswith("a.js"):
            raise FileNotFoundError(path)
        return opened(path, *rest, **options)

    monkeypatch.setattr(os, "open", gone)
    assert (await place.call(grep, pattern="API_URL")).text.startswith("a.js:1: …")


@pytest.mark.parametrize("when", ["before", "during"])
async def test_nothing_behind_a_link_is_found_that_a_command_makes_during_the_search(
    place: Place, tmp_path: Path, when: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "id").write_text("a secret key\n")
    for name in ("sub/id", "sub/keys", "other"):
        place.write(name, "plain\n")
    place.write("marked", "\ufeffa secret wish\n")
    sub, swapped = place.root / "sub", place.root / "swapped"
    swap = f"/bin/mv {sub} {swapped}; /bin/ln -s {outside} {sub}"
    back = f"/bin/rm {sub}; /bin/mv {swapped} {sub}" if when == "during" else ":"
    program = tmp_path / "rg"
    program.write_text(f'#!/bin/sh\n{swap}\n{find_ripgrep(())} "$@"\n{back}\n')
    program.chmod(0o755)
    query = Query("secret", None, ignore_case=False, max_hits=100, limit_s=10)
    found = await search_below(query, str(program), place.root, "sub", more=("sub/id", "marked"))
    assert [(hit.path, hit.data) for hit in found.hits] == [("marked", b"a secret wish\n")]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'rg: unrecognized flag --json' >&2; exit 2", "cannot search: unrecognized flag --"),
        ("kill -9 $$", "cannot search: it ended with -9"),
        ("exit 101", "cannot search: it ended with 101. Tell the user, who sees with agent-ls doc"),
    ],
)
async def test_a_failure_of_ripgrep_is_not_called_one_of_the_pattern(
    place: Place, grep: Grep, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    program = place.root.parent / "rg"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr("agent_ls.tools.grep.find_ripgrep", lambda roots: str(program))
    place.write("a.py", "x")
    with pytest.raises(ToolError, match=said) as caught:
        await place.call(grep, pattern="x")
    assert caught.value.kind is ErrorKind.RUNTIME


@pytest.mark.parametrize("pattern", ["foo(", "(?=x)", r"a\nb", "(?:x{999}){999}{999}"])
async def test_a_pattern_that_cannot_be_read_is_told_with_the_way_out(
    place: Place, grep: Grep, pattern: str
) -> None:
    place.write("a.py", "x")
    with pytest.raises(ToolError, match=r"(?s)cannot be read: .*\nPut a backslash") as caught:
        await place.call(grep, pattern=pattern)
    assert caught.value.kind is ErrorKind.STRUCTURAL


@pytest.mark.parametrize(
    ("line", "spans", "limit", "expected"),
    [
        ("short", [(0, 5)], 10, "short"),
        ("0123456789abc", [(0, 1)], 4, "0123… (+9 characters)"),
        ("0123456789abc", [(12, 13)], 4, "… (9 characters left out) 9abc"),
        ("0123456789abc", [(6, 7)], 4, "… (5 characters left out) 5678… (+4 characters)"),
        ("0123456789abc", [], 4, "0123… (+9 characters)"),
        ("01234", [(1, 1)], 4, "0123… (+1 character)"),
    ],
)
def test_a_line_is_cut_around_its_match(
    line: str, spans: list[tuple[int, int]], limit: int, expected: str
) -> None:
    assert cut_around(line, spans, limit) == expected


_WORDS = "// função de configuração\nvar não = 'coração';\n"


@pytest.mark.parametrize("name", ["cp1252", "utf-16", "shift_jis", "utf-8"])
async def test_texts_in_other_encodings_are_searched_and_shown(
    place: Place, grep: Grep, name: str
) -> None:
    text = "// これは設定ファイルです。\nint x;\n" if name == "shift_jis" else _WORDS
    (place.root / "src").mkdir()
    (place.root / "src/a.c").write_bytes(text.encode(name))
    place.write("b.c", "plain\n")
    first = text.split("\n")[0]
    for pattern in (first[3:9], first[-9:], f"(?i){first[-9:].upper()}"):
        for path in (".", "src", "src/a.c"):
            output = await place.call(grep, pattern=pattern, path=path)
            assert output.text == f"src/a.c:1: {first}"
    assert (await place.call(grep, pattern="//")).text == f"src/a.c:1: {first}"
    assert (await place.call(grep, pattern="ção", glob="*.h")).text.startswith("Nothing matches.")


async def test_secrets_in_other_encodings_stay_unread(place: Place, grep: Grep) -> None:
    (place.root / ".env").write_bytes("clé=à la carte, où\n".encode("cp1252"))
    assert (await place.call(grep, pattern="à la")).text == "Nothing matches."


async def test_a_text_of_unknown_encoding_is_shown_as_far_as_it_is_plain(
    place: Place, grep: Grep
) -> None:
    (place.root / "a.c").write_bytes("// Größe prüfen\n".encode("cp850"))
    assert (await place.call(grep, pattern="Gr")).text == "a.c:1: // Gr��e pr�fen"
    assert (await place.call(grep, pattern="ß")).text == "Nothing matches."


async def test_a_pipe_is_refused_at_once(place: Place) -> None:
    os.mkfifo(place.root / "pipe")
    with pytest.raises(ToolError, match="pipe is no ordinary file"):
        await place.call(Grep(place.workspace), pattern="x", path="pipe")
