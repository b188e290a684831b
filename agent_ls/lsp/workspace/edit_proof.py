"""What a document's text proves about an edit that was sent for it, whatever the editor said.

Pure: texts and replacements in, a verdict out. The person may type while an edit is under way, so
the text that comes back is seldom just the old or the expected one. It is taken for one of them if
all that differs lies apart from the edit, and if it cannot be taken for the other one as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from agent_ls.domain.edits import Replacement

Verdict = Literal["applied", "untouched", "nothing"]
"""``untouched``: the old text, with typing apart from the edit; ``nothing``: no proof."""

Span = tuple[int, int]


class _Core(NamedTuple):
    """What a change really changes: its span in the old text and in the new one."""

    old: Span
    new: Span


def proven(before: str, expected: str, replacements: tuple[Replacement, ...], now: str) -> Verdict:
    """Say what the text ``now`` proves of the replacements that make ``expected`` of ``before``.

    A text that is one of the two exactly is the caller's to recognise.
    """
    cores = _cores(before, expected, replacements)
    as_new = _fit(expected, now, [core.new for core in cores])
    as_old = _fit(before, now, [core.old for core in cores])
    if as_new == "surely" and as_old == "not":
        return "applied"
    if as_old == "surely" and as_new == "not":
        return "untouched"
    return "nothing"


def shared_ends(one: str, other: str) -> tuple[int, int]:
    """Return how many characters two texts share at the start and, beyond those, at the end."""
    limit = min(len(one), len(other))
    head = _longest(limit, lambda size: one[:size] == other[:size])
    tail = _longest(limit - head, lambda size: one[len(one) - size :] == other[len(other) - size :])
    return head, tail


def _cores(before: str, expected: str, replacements: tuple[Replacement, ...]) -> list[_Core]:
    """Return what the replacements change, sorted, apart, without those that change nothing.

    Text that is put in or taken out has more than one place where it is repeated beside it: a line
    doubled is the first of the two as well as the second. The spans cover all of these places, as
    an edit that did not happen looks like one that happened and typing at another of them.
    """
    texts = before, expected
    cores: list[_Core] = []
    shift = 0
    for one in replacements:
        grows = len(one.text) - (one.end - one.start)
        core = _tight(
            texts, _Core((one.start, one.end), (one.start + shift, one.end + shift + grows))
        )
        shift += grows
        while cores and _is_changing(core):
            last = cores[-1]
            room = core.old[0] - last.old[1]
            if _slide_on(texts, last, room) + _slide_back(texts, core, room) < room:
                break
            # They are one change, that can be cut in two in several ways.
            cores.pop()
            core = _tight(texts, _Core((last.old[0], core.old[1]), (last.new[0], core.new[1])))
        if _is_changing(core):
            cores.append(core)
    ends = [0, *(core.old[1] for core in cores)]
    starts = [*(core.old[0] for core in cores[1:]), len(before)]
    return [
        _widened(
            core,
            _slide_back(texts, core, core.old[0] - end),
            _slide_on(texts, core, start - core.old[1]),
        )
        for core, end, start in zip(cores, ends, starts, strict=False)
    ]


def _is_changing(core: _Core) -> bool:
    return any(start != end for start, end in core)


def _tight(texts: tuple[str, str], core: _Core) -> _Core:
    """Return the core without what its two texts share at their ends."""
    (start, end), (new_start, new_end) = core
    head, tail = shared_ends(texts[0][start:end], texts[1][new_start:new_end])
    return _Core((start + head, end - tail), (new_start + head, new_end - tail))


def _widened(core: _Core, back: int, on: int) -> _Core:
    (start, end), (new_start, new_end) = core
    return _Core((start - back, end + on), (new_start - back, new_end + on))


def _slide_back(texts: tuple[str, str], core: _Core, room: int) -> int:
    """Return by how many characters, up to ``room``, the change could as well stand earlier."""
    if not _is_one_sided(core):
        return 0
    text, (start, end) = max(zip(texts, core, strict=True), key=_length)
    return _longest(room, lambda size: text[start - size : start] == text[end - size : end])


def _slide_on(texts: tuple[str, str], core: _Core, room: int) -> int:
    """Return by how many characters, up to ``room``, the change could as well stand later."""
    if not _is_one_sided(core):
        return 0
    text, (start, end) = max(zip(texts, core, strict=True), key=_length)
    return _longest(room, lambda size: text[start : start + size] == text[end : end + size])


def _is_one_sided(core: _Core) -> bool:
    """Say whether text is only put in or only taken out; what is replaced has one place only."""
    return any(start == end for start, end in core)


def _length(side: tuple[str, Span]) -> int:
    return side[1][1] - side[1][0]


def _fit(text: str, now: str, spans: Sequence[Span]) -> Literal["surely", "perhaps", "not"]:
    """Say whether one change of ``text``, apart from these sorted spans of it, makes ``now``.

    ``perhaps``: it depends on which of several equal stretches the change is taken to have hit.
    """
    length = len(text)
    limit = min(length, len(now))
    head = _longest(limit, lambda size: text[:size] == now[:size])
    tail = _longest(limit, lambda size: text[length - size :] == now[len(now) - size :])
    # Where the two overlap, the change may have begun anywhere from the first place to the last.
    first, last = head - max(0, head + tail - limit), head
    size = length - tail - first
    if all(end < first or last + size < start for start, end in spans):
        return "surely"
    # The earliest place of all, or else the first one behind a span.
    begins = [first, *(end + 1 for _, end in spans if first <= end < last)]
    is_possible = any(
        all(end < begin or begin + size < start for start, end in spans) for begin in begins
    )
    return "perhaps" if is_possible else "not"


def _longest(limit: int, is_shared: Callable[[int], bool]) -> int:
    """Return the greatest size up to ``limit`` that is shared; every smaller one is, too."""
    low, high = 0, 1
    while high <= limit and is_shared(high):
        low, high = high, 2 * high
    high = min(high - 1, limit)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_shared(middle) else (low, middle - 1)
    return low
