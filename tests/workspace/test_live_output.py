"""What is shown of a running command: masked whatever the pieces, and never too much."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from agent_ls.safety.secrets import mask
from agent_ls.workspace.live_output import LiveOutput

# Put together at run time, so that no scanner takes this file for a leak.
_BODY = "".join(f"{number:064d}\n" for number in range(8)).replace("0", "a")
_SECRETS = {
    "token": ("it is ghp_" + "aB3dE6gH9j" * 4 + " there\n", "gH9j"),
    "assigned": ("one\nDB_PASSWORD=" + "hunter2hunter2" + "\ntwo\n", "hunter2"),
    "header": ("Authorization: Bearer\n  " + "abcdefgh12345678" + "\nx\n", "12345678"),
    "key": (f"a\n-----BEGIN PRIVATE KEY-----\n{_BODY}-----END PRIVATE KEY-----\nb\n", "aa"),
    "end-of-a-key": (f"a\n{_BODY}-----END RSA PRIVATE KEY-----\nb\n", "aa"),
    "coloured": ("ghp_aB3dE6\x1b[0mgH9j" + "aB3dE6gH9j" * 4 + "\n", "gH9j"),
    "without-a-line-end": ("TOKEN=" + "plainplainword", "plainword"),
}


def check(pieces: Iterable[str], now_s: Iterable[float] = ()) -> str:
    """Return what is shown of these pieces."""
    shown: list[str] = []
    times = iter(now_s)
    live = LiveOutput(shown.append, 0.0)
    for piece in pieces:
        live.take(piece, next(times, 0.0))
    live.end()
    return "".join(shown)


@pytest.mark.parametrize("name", _SECRETS)
def test_a_secret_is_masked_wherever_the_output_is_parted(name: str) -> None:
    text, part = _SECRETS[name]
    whole = check([text])
    assert part not in whole
    assert "[masked" in whole
    for at in range(1, len(text)):
        assert check([text[:at], text[at:]]) == whole
    assert check(text) == whole


@pytest.mark.parametrize("name", [name for name in _SECRETS if name != "coloured"])
def test_live_output_is_masked_as_the_result_is(name: str) -> None:
    text, _ = _SECRETS[name]
    assert check([text]) == mask(text)


def test_lines_come_as_they_end_and_the_last_one_at_the_end() -> None:
    shown: list[str] = []
    live = LiveOutput(shown.append, 0.0)
    for piece in ("one\ntw", "o\r", "three"):
        live.take(piece, 0.0)
    assert shown == ["one\n", "two\r"]
    live.end()
    assert shown == ["one\n", "two\r", "three"]


def test_a_flood_is_shown_in_part_and_says_so() -> None:
    lines = "".join(f"{number}\n" for number in range(10_000))
    shown = check([lines] * 200)
    assert len(shown) < 40_000
    assert shown.startswith("0\n1\n2\n")
    # Time brings room again, and what was left out is said first.
    shown = check([lines, lines, "the end\n"], [0.0, 0.1, 60.0])
    assert "characters are not shown here) …\nthe end\n" in shown


def test_no_command_shows_more_than_a_bounded_sum() -> None:
    line = "x" * 99 + "\n"
    shown = check([line * 100] * 1_000, range(1_000))
    assert len(shown) < 1_200_000
    assert shown.endswith("wait for the result) …\n")


def test_a_line_without_an_end_is_left_out_and_holds_nothing() -> None:
    shown = check(["begin\n", *["x" * 1_000] * 10_000, "\nend\n"])
    assert shown.startswith("begin\n… (")
    assert shown.endswith(") …\nend\n")
    assert "xx" not in shown


def test_a_key_that_begins_where_output_is_left_out_is_masked_all_the_same() -> None:
    flood = "".join(f"{number}\n" for number in range(10_000))
    key = f"-----BEGIN PRIVATE KEY-----\n{_BODY}"
    shown = check([flood, flood + key, _BODY, "-----END PRIVATE KEY-----\nb\n"], [0, 0, 60, 61])
    assert "aa" not in shown
    assert shown.endswith("-----END PRIVATE KEY-----\nb\n")
