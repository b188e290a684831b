"""How long the edit engine takes for one edit, on small, large and repetitive files.

    python -m benchmarks.edit_speed [--repetitions 9] [--json]

Everything runs in this process; of some repetitions the fastest counts, so that other work on the
machine shows as little as can be. Counted is CPU time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent_ls.domain.calls import ToolKind
from agent_ls.domain.edits import ChangeText, Replacement, apply_replacements
from agent_ls.edits.rebase import place_as_read
from agent_ls.edits.requests import EditRequest
from agent_ls.edits.search_replace import place
from agent_ls.edits.unified import place_unified
from agent_ls.tools.changing import places_of, preview_of
from benchmarks.figures import Figure, finish

_SMALL, _LARGE, _HUGE = 200, 20_000, 100_000
_EXACT_SMALL_MS, _EXACT_LARGE_MS, _OTHER_MS = 0.5, 15.0, 100.0
_HUGE_MS = 150.0
_MANY_MS = 1_000.0
"""Of 400 places: each old text is looked for to the end, as there must be one of it only."""


@dataclass(frozen=True)
class _Case:
    name: str
    run: Callable[[], object]
    goal_ms: float


def _lines(count: int) -> list[str]:
    """Return lines as code has them: functions, repeated bodies, a few blank ones."""
    lines: list[str] = []
    while len(lines) < count:
        number = len(lines)
        lines += [
            f"def function_{number}(first, second):",
            f"    value = first + second * {number}",
            "    if value is None:",
            "        return None",
            "    return value",
            "",
        ]
    return lines[:count]


def _window(lines: list[str]) -> tuple[list[str], list[str]]:
    """Return old and new lines of a function in the middle."""
    at = len(lines) // 2 // 6 * 6
    old = lines[at : at + 5]
    return old, [*old[:1], old[1] + " + 1", *old[2:]]


def _request(old: list[str], new: list[str]) -> EditRequest:
    return EditRequest("\n".join(old), "\n".join(new))


def _many_places(end: str) -> Callable[[], object]:
    """Return an edit of 400 lines in 2 MB, with the words in which it is told."""
    lines = [f"value_{number} = first + second * {number}  # a remark" for number in range(43_000)]
    text = end.join(lines) + end
    requests = [
        _request([f"value_{number} ="], [f"value_{number} :="]) for number in range(0, 42_800, 107)
    ]

    def run() -> None:
        placed = place(text, requests)
        assert isinstance(placed, tuple)
        places_of(apply_replacements(text, placed), placed)

    return run


def _one_long_line() -> Callable[[], object]:
    """Return an edit at both ends and in the middle of a line, with what a user is shown."""
    parts = [f"var v{number}=f({number});" for number in range(74_000)]
    text = "".join(parts) + "\n"
    requests = [EditRequest(parts[at], f"var changed={at};") for at in (0, len(parts) // 2, -1)]

    def run() -> None:
        placed = place(text, requests)
        assert isinstance(placed, tuple)
        preview_of("Edit", ToolKind.EDIT, _change(placed), text, None)

    return run


def _change(placed: tuple[Replacement, ...]) -> ChangeText:
    return ChangeText(path="a.js", base_version="", replacements=placed)


def _huge_cases() -> Iterator[_Case]:
    """Yield edits of a document so long that an edit step must not look at each of its lines."""
    lines = _lines(_HUGE)
    old, new = _window(lines)
    text, exact = "\n".join(lines) + "\n", [_request(old, new)]
    bare = [_request([line.strip() for line in old], [line.strip() for line in new])]
    changed = text.replace("function_6(", "function_six(", 1)
    for name, requests in (("exact", exact), ("no indentation", bare)):
        yield _Case(
            f"{name}, 100,000 lines", lambda requests=requests: place(text, requests), _HUGE_MS
        )
        yield _Case(
            f"{name}, 100,000 lines, changed since it was read",
            lambda requests=requests: place_as_read(
                text, changed, lambda one: place(one, requests)
            ),
            _HUGE_MS,
        )


def _cases() -> Iterator[_Case]:
    small, large = _lines(_SMALL), _lines(_LARGE)
    text, small_text = "\n".join(large) + "\n", "\n".join(small) + "\n"
    crlf = text.replace("\n", "\r\n")
    exact, small_exact = _request(*_window(large)), _request(*_window(small))
    old, new = _window(large)
    bare = _request([line.strip() for line in old], [line.strip() for line in new])
    curly = EditRequest(exact.old.replace("is", "“is”"), exact.new)
    stale = _request([*old[:2], "    if value is not None:", *old[3:]], new)
    gone = _request([f"{line}_gone" for line in old], ["x"])
    same = "    value = value + 1\n" * _LARGE
    diff = "@@ -1,5 +1,5 @@\n" + "".join(
        f"{sign}{line}\n"
        for sign, line in [(" ", old[0]), ("-", old[1]), ("+", new[1]), (" ", old[2])]
    )
    yield _Case("exact, 200 lines", lambda: place(small_text, [small_exact]), _EXACT_SMALL_MS)
    yield _Case("exact, 20,000 lines", lambda: place(text, [exact]), _EXACT_LARGE_MS)
    yield _Case("exact, 20,000 lines, CRLF", lambda: place(crlf, [exact]), _EXACT_LARGE_MS)
    for end, name in (("\n", "400 places, 2 MB"), ("\r\n", "400 places, 2 MB, CRLF")):
        yield _Case(name, _many_places(end), _MANY_MS)
    yield _Case("diff, 20,000 lines", lambda: place_unified(text, diff), _OTHER_MS)
    yield _Case("no indentation", lambda: place(text, [bare]), _OTHER_MS)
    yield _Case("context changed", lambda: place(text, [stale]), _OTHER_MS)
    yield _Case("not there, candidates", lambda: place(text, [gone]), _OTHER_MS)
    yield _Case("other characters, not there", lambda: place(text, [curly]), _OTHER_MS)
    short = EditRequest("value = value", "x")
    yield _Case("one line 20,000 times", lambda: place(same, [short]), _OTHER_MS)
    many = _request(["value = value + 1"] * 200, ["x"])
    yield _Case("200 of one line 20,000 times", lambda: place(same, [many]), _OTHER_MS)
    other = _request(["    value = value + 1"] * 199 + ["    value = value - 1"], ["x"])
    yield _Case("nearly 200 such lines", lambda: place(same, [other]), _OTHER_MS)
    wide = "    größe = “größe” + 1\n    }\n" * (_LARGE // 2)
    blurred = EditRequest('größe = "größe" - 1\n}\nreturn größe', "x")
    yield _Case("20,000 lines beyond ASCII", lambda: place(wide, [blurred]), _OTHER_MS)
    yield _Case("one line of 1.6 MB, with its diff", _one_long_line(), _OTHER_MS)
    yield from _huge_cases()


def measure(repetitions: int) -> list[Figure]:
    """Return the fastest of some repetitions of each edit."""
    found: list[Figure] = []
    for case in _cases():
        best = float("inf")
        for _ in range(repetitions):
            began = time.process_time()
            case.run()
            best = min(best, (time.process_time() - began) * 1e3)
        found.append(Figure(case.name, best, "ms", case.goal_ms))
    return found


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    return finish("edit_speed", measure(given.repetitions), as_json=given.json)


if __name__ == "__main__":
    raise SystemExit(main())
