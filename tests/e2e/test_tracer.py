"""Whose doing a traced call is: the proof of what a sandbox holds rests on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tracer import acts

BWRAP = 'execve("/usr/bin/bwrap", ["bwrap"], 0x1 /* 9 vars */) = 0'
CONNECT = "connect(7<socket:[1]>, {sa_family=AF_INET, sin_port=htons(53)}, 16) = 0"
OTHERS = [f'5 openat(AT_FDCWD</w>, "{n}", O_WRONLY) = 3</w/{n}>' for n in range(6_000)]

CASES = {
    "a child of a sandbox": (
        ["1 fork() = 2", f"2 {BWRAP}", "2 clone(x) = 3", f"3 {CONNECT}"], True,
    ),
    "seen before its birth": (
        ["1 fork() = 2", f"2 {BWRAP}", f"3 {CONNECT}", "2 clone(x) = 3"], True,
    ),
    "seen long before its birth": (
        ["1 fork() = 2", f"2 {BWRAP}", f"3 {CONNECT}", *OTHERS, "2 clone(x) = 3"], True,
    ),
    "the server's, seen long before its birth": (
        ["1 fork() = 2", f"2 {BWRAP}", f"3 {CONNECT}", *OTHERS, "1 clone(x) = 3"], False,
    ),
    "a child of the server": (["1 fork() = 3", f"3 {CONNECT}"], False),
    "its number is used again later": (
        ["1 fork() = 2", f"2 {BWRAP}", "2 clone(x) = 3", f"3 {CONNECT}", *OTHERS, "1 fork() = 3"],
        True,
    ),
    "its number was a sandbox's": (
        ["1 fork() = 2", f"2 {BWRAP}", *OTHERS, "1 fork() = 2", f"2 {CONNECT}"], False,
    ),
    "a parent's number is used again": (
        ["1 fork() = 2", f"2 {BWRAP}", "2 clone(x) = 3", *OTHERS, "1 fork() = 2", f"3 {CONNECT}"],
        True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("lines, is_confined", CASES.values(), ids=CASES)
def test_a_call_belongs_to_the_sandbox_that_its_process_descends_from(
    lines: list[str], is_confined: bool
) -> None:
    found = [one for one in acts("\n".join(lines), Path("/w")) if one.port == 53]
    assert [one.is_confined for one in found] == [is_confined]


@pytest.mark.parametrize(
    "call, places",
    [
        ('symlink("/etc/x", "/w/a") = 0', ["/w/a"]),
        ('symlinkat("../x", 5</w/in>, "a") = 0', ["/w/in/a"]),
        ('link("/etc/x", "/w/a") = 0', ["/etc/x", "/w/a"]),
        ('rename("a", "/tmp/b") = 0', ["/w/a", "/tmp/b"]),
        ('symlink("/etc/x", "/w/a") = -1 EPERM', []),
    ],
)
def test_a_link_changes_its_own_place_and_a_hard_link_both(call: str, places: list[str]) -> None:
    found = [place for one in acts(f"1 {call}", Path("/w")) for place in one.places]
    assert found == [Path(one) for one in places]
