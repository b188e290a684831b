"""Rank definitions by PageRank: files are pages, and uses of names are links.

Pure; reads only tags. Equal tags give equal ranks. A graph built from the one before it reads only
what has changed.
"""

from __future__ import annotations

import builtins
import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

from agent_ls.codeintel.tags import Tag, Tags

_MAX_DEFINERS = 12
"""A name defined in more files than this does not say which of them is meant."""
_MIN_NAME_CHARS = 3
_ROUNDS = 8
_DAMPING = 0.85
_NEAR_SHARE = 0.8
"""Share of random jumps that go to the files near the question."""
_MAX_OUT = 24
"""Only this many of a file's strongest links count."""
_UNLINKED = frozenset({"field", "member", "key", "variable", "constant"})
_LONG_NAME_CHARS = 8
_MAX_DEPTH = 2
_EVERYWHERE = frozenset(dir(builtins))
_ROOTS = [sqrt(count) for count in range(256)]

Sort = Literal["type", "function", "method"]

# Weight of a use by form: plain, call, member, member call. Types count in every form, functions
# when called, methods when called on something. Other uses may as well be a variable.
_USE_WEIGHT: Mapping[Sort, tuple[float, float, float, float]] = {
    "type": (1.0, 1.0, 0.7, 0.7),
    "function": (0.1, 1.0, 0.3, 0.7),
    "method": (0.0, 0.1, 0.1, 0.3),
}
_PLAIN, _CALL, _MEMBER, _MEMBER_CALL = range(4)


@dataclass(frozen=True, slots=True)
class Ranked:
    """One definition with its rank."""

    score: float
    path: str
    tag: Tag


@dataclass(frozen=True, slots=True)
class _Target:
    """A name that links can lead to."""

    sort: Sort
    weight: float
    holders: tuple[int, ...]
    """Indices of the files that define it."""


@dataclass(frozen=True, slots=True)
class _File:
    """The links of one file."""

    tags: Tags
    links: list[tuple[str, float]]
    """The names it uses, with shares of one."""
    out: list[tuple[int, float]]
    """Indices of the files its rank flows to, with shares of one."""


_Exports = list[tuple[str, Sort, float]]
"""The names that a file defines for others, and the weight of a call of each."""


class Graph:
    """The links between files, for one state of the tags."""

    def __init__(self, tags: Mapping[str, Tags], before: Graph | None = None) -> None:
        """Read the tags; objects that ``before`` has read already are not read again."""
        self._paths = sorted(tags)
        self._tags = tags
        made: dict[int, tuple[Tags, _Exports]] = {} if before is None else before._exports
        # Keep a reference to the tags, so that no other object gets their id.
        self._exports: dict[int, tuple[Tags, _Exports]] = {
            id(one): made.get(id(one)) or (one, _exports(one)) for one in tags.values()
        }
        self._targets = _targets([self._exports[id(tags[path])][1] for path in self._paths])
        is_alike = before is not None and before._paths == self._paths
        old = before._files if before is not None and is_alike else []
        changed = _changed(before._targets, self._targets) if before and is_alike else set[str]()
        self._files: list[_File] = []
        for at, path in enumerate(self._paths):
            file = old[at] if old else None
            if file is None or file.tags is not tags[path] or _uses_any(file.tags, changed):
                file = self._read(at, tags[path])
            self._files.append(file)

    def _read(self, at: int, tags: Tags) -> _File:
        links: list[tuple[str, float]] = []
        shares: defaultdict[int, float] = defaultdict(float)
        for use, count in zip(tags.uses.split(" "), tags.counts, strict=False):
            name = use.strip(".(")
            target = self._targets.get(name)
            if target is None or target.holders == (at,):
                continue
            form = (_MEMBER if use[0] == "." else 0) + (use[-1] == "(")
            weight = target.weight * _USE_WEIGHT[target.sort][form] * _ROOTS[count]
            if weight:
                links.append((name, weight))
                for holder in target.holders:
                    if holder != at:
                        shares[holder] += weight
        strongest = heapq.nlargest(_MAX_OUT, shares.items(), key=lambda one: (one[1], -one[0]))
        flow = sum(share for _, share in strongest)
        total = sum(weight for _, weight in links)
        return _File(
            tags,
            [(name, weight / total) for name, weight in links],
            [(to, share / flow) for to, share in strongest],
        )

    def ranked(self, near: Sequence[str], most: int) -> list[Ranked]:
        """Return the highest-ranked definitions as seen from these files, best first."""
        ranks = self._file_ranks(near)
        scores: defaultdict[str, float] = defaultdict(float)
        for rank, file in zip(ranks, self._files, strict=True):
            for name, share in file.links:
                scores[name] += rank * share
        best = heapq.nlargest(most, scores.items(), key=lambda one: (one[1], one[0]))
        found = [
            one
            for name, score in best
            for at in self._targets[name].holders
            for one in self._named(at, name, score)
        ]
        if len(found) < most:
            found += self._unused(ranks, {(one.path, one.tag.line) for one in found})
        return found[:most]

    def _named(self, at: int, name: str, score: float) -> list[Ranked]:
        path = self._paths[at]
        return [Ranked(score, path, tag) for tag in self._tags[path].defined if tag.name == name]

    def _unused(self, ranks: Sequence[float], known: set[tuple[str, int]]) -> list[Ranked]:
        """Return unused definitions, outermost first, then by the rank of their file."""
        found = [
            Ranked(0.0, path, tag)
            for _, path in sorted((-ranks[at], path) for at, path in enumerate(self._paths))
            for tag in self._tags[path].defined
            if (path, tag.line) not in known
        ]
        found.sort(key=lambda one: one.tag.depth + 2 * (one.tag.kind in _UNLINKED))
        return found

    def _file_ranks(self, near: Sequence[str]) -> list[float]:
        count = len(self._paths)
        close = [at for at, path in enumerate(self._paths) if _is_near(path, near)]
        jumps = [(1.0 - _NEAR_SHARE if close else 1.0) / max(count, 1)] * count
        for at in close:
            jumps[at] += _NEAR_SHARE / len(close)
        ranks = list(jumps)
        for _ in range(_ROUNDS):
            flowing = [0.0] * count
            kept = 0.0
            for rank, file in zip(ranks, self._files, strict=True):
                if not file.out:
                    kept += rank
                for to, share in file.out:
                    flowing[to] += rank * share
            ranks = [
                _DAMPING * (into + kept * jump) + (1 - _DAMPING) * jump
                for into, jump in zip(flowing, jumps, strict=True)
            ]
        return ranks


def _exports(tags: Tags) -> _Exports:
    """Return the names that a file defines for others, without duplicates."""
    found: dict[str, tuple[Sort, float]] = {}
    for tag in tags.defined:
        name = tag.name
        if tag.depth > _MAX_DEPTH or tag.kind in _UNLINKED or len(name) < _MIN_NAME_CHARS:
            continue
        sort = _sort(tag)
        weight = _USE_WEIGHT[sort][_CALL] * _telling(name)
        if name not in found or weight > found[name][1]:
            found[name] = (sort, weight)
    return [(name, *facts) for name, facts in found.items()]


def _targets(files: Sequence[_Exports]) -> dict[str, _Target]:
    holders: dict[str, list[int]] = {}
    best: dict[str, tuple[float, Sort]] = {}
    for at, exports in enumerate(files):
        for name, sort, weight in exports:
            if name in holders:
                holders[name].append(at)
                best[name] = max(best[name], (weight, sort))
            else:
                holders[name] = [at]
                best[name] = (weight, sort)
    return {
        name: _Target(best[name][1], _telling(name) / len(where), tuple(where))
        for name, where in holders.items()
        if len(where) <= _MAX_DEFINERS
    }


def _sort(tag: Tag) -> Sort:
    if tag.kind in ("function", "macro", "default"):
        return "function" if tag.depth == 0 else "method"
    return "method" if tag.kind in ("method", "constructor") else "type"


def _telling(name: str) -> float:
    """Return how specific a name is: short and common words weigh less."""
    weight = 2.0 if len(name) >= _LONG_NAME_CHARS else 1.0
    if name.islower() and "_" not in name:
        weight *= 0.5
    if name in _EVERYWHERE:
        weight *= 0.05
    return weight * 0.2 if name.startswith("_") else weight


def _changed(before: Mapping[str, _Target], now: Mapping[str, _Target]) -> set[str]:
    every: Iterable[str] = before.keys() | now.keys()
    return {name for name in every if before.get(name) != now.get(name)}


def _uses_any(tags: Tags, names: set[str]) -> bool:
    return bool(names) and any(name in tags.uses for name in names)


def _is_near(path: str, near: Sequence[str]) -> bool:
    return any(path == one or path.startswith(one.rstrip("/") + "/") for one in near)


_MAX_MISSES = 20


def rendered(ranked: Sequence[Ranked], tags: Mapping[str, Tags], max_chars: int) -> str:
    """Render the best definitions by file, with their enclosing definitions, up to a size."""
    chosen: dict[str, dict[int, str]] = {}
    room, misses = max_chars, 0
    for one in ranked:
        lines = chosen.get(one.path, {})
        new = {
            tag.line: f"{tag.line:>5}  {'  ' * tag.depth}{tag.signature}"
            for tag in _with_holders(one.tag, tags[one.path].defined)
            if tag.line not in lines
        }
        cost = sum(len(line) + 1 for line in new.values())
        cost += 0 if lines else len(one.path) + 2
        if cost > room:
            misses += 1
            if misses > _MAX_MISSES:
                break
            continue
        room -= cost
        chosen.setdefault(one.path, {}).update(new)
    return "\n".join(
        "\n".join([f"{path}:", *(lines[number] for number in sorted(lines))])
        for path, lines in chosen.items()
    )


def _with_holders(tag: Tag, defined: Sequence[Tag]) -> list[Tag]:
    """Return the enclosing definitions, outermost first, then the definition."""
    found, depth = [tag], tag.depth
    for one in reversed(defined[: defined.index(tag)] if depth else ()):
        if one.depth < depth:
            found.append(one)
            depth = one.depth
        if depth == 0:
            break
    return found[::-1]
