"""Encode a text that replaces a file's content. Pure."""

from __future__ import annotations

from collections.abc import Collection

from agent_ls.domain.edits import apply_replacements
from agent_ls.edits.encodings import Encoding, ended, held_as, written_in
from agent_ls.edits.minimal import replacements_between
from agent_ls.edits.requests import Refused

_UNKNOWN = "it is in an encoding that is not known here"
_LACKING = "its encoding ({}) lacks characters of the new text"
_UNCLEAR = "it may be in {}, which write the new text differently"


def in_place_of(text: str, sample: bytes, encodings: Collection[Encoding]) -> bytes | Refused:
    """Return the bytes of a text that replaces ``sample``; kept lines keep their line ends.

    Shape: ``encodings`` are the possible encodings of ``sample``.
    Errors: ``Refused`` if the bytes are not certain; its reason is to follow the file's name.
    """
    made = {one: _in_place_of(text, sample, one) for one in encodings}
    found = {data for data in made.values() if data is not None}
    if len(found) == 1:
        return found.pop()
    if not made:
        return Refused(_UNKNOWN)
    kept = [one.name for one, data in made.items() if data is not None]
    if not kept:
        return Refused(_LACKING.format(", ".join(one.name for one in made)))
    return Refused(_UNCLEAR.format(f"{', '.join(kept[:-1])} or {kept[-1]}"))


def in_place_of_shown(text: str, shown: str, sample: bytes) -> bytes | Refused:
    """Return the bytes of a text that replaces ``sample``, which an editor shows as ``shown``.

    If the text did not change the final line end, the file keeps its own.
    Errors: as ``in_place_of``.
    """
    held, encodings = held_as(shown, sample)
    if encodings and text.endswith("\n") is shown.endswith("\n"):
        text = ended(text, is_ended=held.endswith("\n"))
    return in_place_of(text, sample, encodings)


def _in_place_of(text: str, sample: bytes, encoding: Encoding) -> bytes | None:
    if b"\r" in sample and "\r" not in text:
        before = sample[len(encoding.mark) :].decode(encoding.name, "surrogateescape")
        text = apply_replacements(before, replacements_between(before, text))
    return written_in(encoding, text, sample)
