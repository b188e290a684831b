"""The text that an edit was to make is known again, whatever line ends the editor gives it."""

from __future__ import annotations

import pytest

from agent_ls.lsp.workspace import shown
from agent_ls.lsp.workspace.shown import Wanted

BEFORE = "a\r\nb\r\nc\r\n"


@pytest.mark.parametrize(
    "before, expected, now, is_there",
    [
        pytest.param("a\n", "b\n", "b\n", True, id="the-very-text"),
        pytest.param("a\n", "b\n", "a\n", False, id="the-old-text"),
        pytest.param("a\n", "b\nc\n", "b\r\nc\r\n", True, id="all-ends-made-others"),
        pytest.param("a\n", "b\nc\n", "b\rc\r", True, id="carriage-returns-alone"),
        pytest.param(BEFORE, "a\r\nx\nb\r\nc\r\n", "a\r\nx\r\nb\r\nc\r\n", True, id="the-new-end"),
        pytest.param(BEFORE, "a\r\nx\nb\r\nc\r\n", "a\nx\nb\nc\n", True, id="every-end"),
        pytest.param(BEFORE, "x\n" + BEFORE, "x\r\n" + BEFORE, True, id="at-the-start"),
        pytest.param(BEFORE, BEFORE + "x\n", BEFORE + "x\r\n", True, id="at-the-end"),
        pytest.param(BEFORE, "a\r\nc\r\n", "a\r\nc\n", True, id="taken-out"),
        pytest.param(BEFORE, "", "", True, id="all-taken-out"),
        pytest.param(BEFORE, "a\r\nx\nb\r\nc\r\n", "a\r\nx\nb\r\nc\r\n.", False, id="typed-below"),
        pytest.param(BEFORE, "a\r\nx\nb\r\nc\r\n", "a\r\n\r\nx\r\nb\r\nc\r\n", False, id="typed"),
        pytest.param(BEFORE, "x\r\nb\r\ny\r\n", "x\r\nb\r\nc\r\n", False, id="one-of-two-places"),
        pytest.param("a\r\nb", "a\rb", "a\r\nb", False, id="line-ends-alone-count"),
        pytest.param("a\r\nb", "a\rb", "a\rb", True, id="line-ends-alone-are-there"),
        pytest.param("a\r\nb", "a\rx\nb", "a\rx\r\nb", True, id="within-a-line-end"),
        pytest.param("a\rb\nc", "a\r\nb\nc", "a\r\nb\r\nc", False, id="a-line-feed-more"),
    ],
)
def test_a_text_is_the_wanted_one_but_for_its_line_ends(
    before: str, expected: str, now: str, is_there: bool
) -> None:
    assert Wanted(before, expected).is_in(now) is is_there
    long = "line\r\n" * 500
    assert Wanted(long + before + long, long + expected + long).is_in(long + now + long) is is_there


@pytest.mark.parametrize("is_from_the_last", [True, False])
def test_the_states_on_the_way_are_looked_at_in_a_few_lines_only(
    is_from_the_last: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["some words in a line\r\n"] * 4000
    places = range(100, 3900, 100)
    whole = "".join(lines)
    expected = "".join("other words" if at in places else one for at, one in enumerate(lines))
    wanted = Wanted(whole, expected)
    assert not wanted.is_in(whole)
    sizes: list[int] = []
    plain = shown._plain  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(shown, "_plain", lambda text: sizes.append(len(text)) or plain(text))  # pyright: ignore
    for at in sorted(places, reverse=is_from_the_last):
        assert sum(sizes) < 200_000
        assert not wanted.is_in("".join(lines))
        lines[at] = "other words"
    assert wanted.is_in("".join(lines).replace("\r\n", "\n"))
