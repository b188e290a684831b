"""Resolve a name to a symbol: ``method``, ``Class.method``, ``Class::method``, ``Class.method[2]``.

If a name is ambiguous the caller gets the candidates; nothing is chosen.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.domain.symbols import Symbol

_NUMBER = re.compile(r"(.+?)\s*\[(\d+)\]")
_MAX_NEAR = 5


@dataclass(frozen=True, slots=True)
class NotOne:
    """Result for a name that matches no symbol or several."""

    wanted: str
    candidates: tuple[Symbol, ...]
    near: tuple[Symbol, ...] = ()
    """Symbols with similar names, if none matches."""

    @property
    def reason(self) -> str:
        """Return a message with the candidates or the similar names."""
        if self.candidates:
            listed = "\n".join(
                f"{called(one, number)}  line {one.line}: {one.signature}"
                for number, one in enumerate(self.candidates, 1)
            )
            return f"{self.wanted!r} is the name of {len(self.candidates)} symbols:\n{listed}"
        near = ", ".join(f"{one.qualified} (line {one.line})" for one in self.near)
        alike = f" Its symbols with names like that: {near}." if near else ""
        return f"There is no symbol {self.wanted!r}.{alike}"


def called(symbol: Symbol, number: int) -> str:
    """Return the numbered name that selects one of several symbols."""
    return f"{symbol.qualified}[{number}]"


def is_numbered(wanted: str) -> bool:
    """Tell whether a name ends with a number, as in ``Class.method[2]``."""
    return _NUMBER.fullmatch(wanted.strip()) is not None


def resolve(symbols: Sequence[Symbol], wanted: str) -> Symbol | NotOne:
    """Return the symbol with this name, or the candidates.

    A full qualified name wins over the end of one, and an enclosing symbol over one inside it.
    """
    matching, number = _matching(symbols, wanted)
    if number is None:
        if len(matching) == 1:
            return matching[0]
    elif 0 < number <= len(matching):
        return matching[number - 1]
    if matching:
        return NotOne(wanted, tuple(matching))
    last = re.split(r"\.|::|#", _bare(wanted))[-1]
    names = difflib.get_close_matches(last, {one.name for one in symbols}, _MAX_NEAR, 0.6)
    near = [one for name in names for one in symbols if one.name == name]
    return NotOne(wanted, (), tuple(near[:_MAX_NEAR]))


def _matching(symbols: Sequence[Symbol], wanted: str) -> tuple[list[Symbol], int | None]:
    bare = _bare(wanted)
    if found := _named(symbols, bare):
        return found, None
    if match := _NUMBER.fullmatch(bare):
        return _named(symbols, _bare(match.group(1))), int(match.group(2))
    return [], None


def _bare(wanted: str) -> str:
    return wanted.strip().strip("`").removesuffix("()").strip()


def _named(symbols: Sequence[Symbol], name: str) -> list[Symbol]:
    """Return the symbols of that name, under the strictest match that finds any."""
    dotted = re.sub(r"::|#|->", ".", name)
    for one in dict.fromkeys((name, dotted)):
        if exact := [symbol for symbol in symbols if symbol.qualified == one]:
            return _outermost(exact)
        if ending := [symbol for symbol in symbols if symbol.qualified.endswith(f".{one}")]:
            return _outermost(ending)
    # As in outlines: `class Foo`, `impl Display for Foo`.
    return _outermost([one for one in symbols if name in (f"{one.kind} {one.name}", one.name)])


def _outermost(found: list[Symbol]) -> list[Symbol]:
    """Drop symbols inside others, and ``impl`` blocks if there is exactly one type."""
    outer = [
        one
        for one in found
        if not any(
            up is not one and up.start <= one.start and one.end <= up.end and up.depth < one.depth
            for up in found
        )
    ]
    types = [one for one in outer if one.kind != "impl"]
    return types if len(types) == 1 else outer
