"""Resolve a name to a symbol: ``method``, ``Class.method``, ``Class::method``.

If a name is ambiguous the caller gets the candidates; nothing is chosen.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.domain.symbols import Symbol

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
                f"{one.qualified}  line {one.line}: {one.signature}" for one in self.candidates
            )
            return f"{self.wanted!r} is the name of {len(self.candidates)} symbols:\n{listed}"
        near = ", ".join(f"{one.qualified} (line {one.line})" for one in self.near)
        alike = f" Its symbols with names like that: {near}." if near else ""
        return f"There is no symbol {self.wanted!r}.{alike}"


def resolve(symbols: Sequence[Symbol], wanted: str) -> Symbol | NotOne:
    """Return the symbol with this name, or the candidates.

    A full qualified name wins over the end of one, and an enclosing symbol over one inside it.
    """
    bare = wanted.strip().strip("`").removesuffix("()").strip()
    if matching := _named(symbols, bare):
        return matching[0] if len(matching) == 1 else NotOne(wanted, tuple(matching))
    last = re.split(r"\.|::|#", bare)[-1]
    names = difflib.get_close_matches(last, {one.name for one in symbols}, _MAX_NEAR, 0.6)
    near = [one for name in names for one in symbols if one.name == name]
    return NotOne(wanted, (), tuple(near[:_MAX_NEAR]))


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
