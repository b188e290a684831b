"""Search and replace: place each old text with certainty, or refuse the whole call.

Pure. All edits of a call are placed in the original text, so their order does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from unicodedata import combining

from agent_ls.edits.already_applied import is_added_around
from agent_ls.edits.around_marks import around_marks
from agent_ls.edits.cuts_word import begins_line, ends_line, is_torn
from agent_ls.edits.elision import (
    added_markers,
    is_stub,
    restored,
    stands_for_others,
    unclear_marker,
)
from agent_ls.edits.indentation_maps import old_as_spoken
from agent_ls.edits.input_cleanup import plainly_indented, readings
from agent_ls.edits.lines import BOM, FlatText, flattened
from agent_ls.edits.locate import MAX_ALL, MAX_ALL_DRIFTED, MAX_PLACES, IndexedText, Place, places
from agent_ls.edits.placing import find, missing, nearest_to, nowhere, put
from agent_ls.edits.refusing import ambiguous, applied, too_many
from agent_ls.edits.requests import EditRequest, Placed, Refused
from agent_ls.edits.spans import Span, joined, of_blocks
from agent_ls.edits.texts import hunk_of, lines_of

_EQUAL = Refused("old_string and new_string are equal, so there is nothing to change.", "equal")
_EQUAL_BUT_FOR_THE_END = Refused(
    "old_string and new_string differ only in the last line end, and the file does not have "
    "old_string exactly. To join two lines, copy both from the file into old_string.",
    "equal",
)
_BLANK = Refused(
    "old_string is empty or blank. Give the text to replace, or write_file to replace the whole "
    "file.",
    "blank",
)
_TWO_WAYS = Refused(
    "The old text is in the file only without some of its backslashes or entities, and the new "
    "text can be read in two ways. Write both as they are in the file, without escaping.",
    "not-found",
)
_IN_SEQUENCE = (
    "\nEach edit of a call is looked for in the text as it was before the call: none may build on "
    "another."
)


def place(text: str, requests: Sequence[EditRequest], *, is_read: bool = False) -> Placed:
    """Return the sorted replacements of all wishes, or why the call is refused.

    Only differences are replaced, so unchanged lines keep their bytes. ``is_read`` says that the
    author of the wishes read exactly this text.
    """
    flat = FlatText(text)
    indexed = IndexedText(flat.text, is_read=is_read)
    spans: list[Span] = []
    # Identical edits count once.
    firsts = {request: number for number, request in reversed([*enumerate(requests, 1)])}
    read = {number: _read(request) for request, number in firsts.items()}
    for number, request in sorted(read.items()):
        found = _spans(indexed, request, number)
        if isinstance(found, Refused):
            which = f"Edit {number} of {len(requests)}: " if len(requests) > 1 else ""
            more = _IN_SEQUENCE if which and found.why == "not-found" else ""
            return replace(found, reason=which + found.reason + more)
        spans += found
    return joined(flat, spans)


def _read(request: EditRequest) -> EditRequest:
    """Return the wish with LF line ends."""
    old = flattened(request.old).removeprefix(BOM)
    new = flattened(request.new, alone="\r" in request.old).removeprefix(BOM)
    return EditRequest(old, new, request.line, request.replace_all)


def _spans(indexed: IndexedText, request: EditRequest, number: int) -> list[Span] | Refused:
    if request.old == request.new:
        return _EQUAL
    if not request.old.strip():
        if indexed.file.flat.strip(BOM + " \t\n\x0c"):
            return _BLANK
        return [Span(indexed.file.first, len(indexed.file.flat), request.new, number)]
    old, new = plainly_indented(indexed.file.flat, request.old, request.new)
    whole = _with_middle(indexed, replace(request, old=old, new=new))
    if isinstance(whole, Refused):
        return whole
    if whole.old == whole.new:
        return _EQUAL
    found = _as_written(indexed, whole, number)
    if found is None:
        found = _otherwise_read(indexed, whole, number)
    if found is not None:
        return found
    flat = indexed.file.flat
    if any(stands_for_others(line, flat) for line in whole.old.split("\n")):
        return around_marks(indexed, whole, number)
    return _in_changed_context(indexed, whole, number)


def _with_middle(indexed: IndexedText, request: EditRequest) -> EditRequest | Refused:
    """Replace marks that only the new text has by the old lines they stand for."""
    old, new = request.old.split("\n"), request.new.split("\n")
    marks = added_markers(old, new, indexed.file.flat)
    if not marks:
        return request
    is_quoted = any(stands_for_others(line, indexed.file.flat) for line in old)
    if is_quoted or any(is_stub(new, mark) for mark in marks):
        return unclear_marker()
    whole = restored(old, new, marks)
    return whole if isinstance(whole, Refused) else replace(request, new="\n".join(whole))


def _as_written(
    indexed: IndexedText, request: EditRequest, number: int
) -> list[Span] | Refused | None:
    """Place the wish by its exact text, else by lines; None if the old text is not found."""
    found = _exactly(indexed, request, number)
    return _by_lines(indexed, request, number) if found is None else found


def _exactly(
    indexed: IndexedText, request: EditRequest, number: int
) -> list[Span] | Refused | None:
    """Place the wish where the old text matches exactly; None if it does not.

    A match that cuts a word or a line does not count, unless the author read exactly this text.
    """
    flat, size = indexed.file.flat, len(request.old)
    found = _offsets(flat, request.old, apart=request.replace_all)
    if len(found) > MAX_ALL:
        return too_many(MAX_ALL)
    untorn = [at for at in found if not is_torn(flat, request, at, at + size)]
    if request.replace_all:
        return [Span(at, _past(flat, request, at), request.new, number) for at in untorn] or None
    if len(found) < MAX_PLACES and (untorn or not indexed.is_read):
        found = untorn
    at = _one_of(indexed, request, found) if found else None
    if at is None or isinstance(at, Refused):
        return at
    if not is_whole(flat, at, at + size) or _joins_lines(request):
        if is_added_around(flat, request, at):
            return applied(indexed.file.number_at(at))
        return [Span(at, at + size, request.new, number)]
    first = indexed.file.number_at(at)
    if flat[at - 1 : at] not in ("", "\n", BOM):
        # It begins inside the indentation, so the new lines may have lost theirs too.
        return _by_lines(indexed, replace(request, line=first + 1), number)
    old, new = request.old.split("\n"), request.new.split("\n") if request.new else []
    if request.old.endswith("\n"):
        old, new = old[:-1], new[:-1]
    spot = Place(tuple(range(first, first + len(old))), first, first + len(old))
    return _put(indexed, request, spot, number, old, new)


def _one_of(indexed: IndexedText, request: EditRequest, found: list[int]) -> int | Refused:
    """Choose one exact place; prefer whole lines if there is a line hint or a leading blank."""
    if len(found) >= MAX_PLACES:
        return ambiguous(indexed, [indexed.file.number_at(at) for at in found], request.line)
    if request.line is not None or request.old[0] in " \t":
        size, flat = len(request.old), indexed.file.flat
        is_flush = request.old[0] in " \t"
        whole = [at for at in found if is_whole(flat, at, at + size)]
        found = [at for at in whole if not is_flush or flat[at - 1 : at] in ("", "\n")] or found
    lines = [indexed.file.number_at(at) + 1 for at in found]
    if len(found) == 1:
        return found[0]
    chosen = nearest_to(lines, request.line)
    if chosen is None:
        return ambiguous(indexed, [line - 1 for line in lines], request.line)
    return found[chosen]


def _offsets(text: str, old: str, *, apart: bool) -> list[int]:
    """Return the offsets of ``old``; with ``apart`` only those that do not overlap."""
    step = len(old) if apart else 1
    found: list[int] = []
    at = text.find(old)
    while at >= 0 and len(found) < (MAX_ALL + 1 if apart else MAX_PLACES):
        # A letter followed by a combining accent is a different letter.
        ends = (old[0] if at > 0 else " ", text[at + len(old) : at + len(old) + 1] or " ")
        if not any(combining(one) for one in ends):
            found.append(at)
        at = text.find(old, at + step)
    return found


def is_whole(flat: str, at: int, end: int) -> bool:
    """Tell whether a place covers whole lines, ignoring blanks at both ends."""
    return (flat[end - 1] == "\n" or ends_line(flat, end)) and begins_line(flat, at)


def _joins_lines(request: EditRequest) -> bool:
    """Tell whether the new text lacks the final line end, so that the line below joins it."""
    return request.old.endswith("\n") and request.new != "" and not request.new.endswith("\n")


def _past(flat: str, request: EditRequest, at: int) -> int:
    """Return the end of the replaced text; a deleted line includes its line end."""
    end = at + len(request.old)
    is_line = not request.new and flat[end : end + 1] == "\n" and (at == 0 or flat[at - 1] == "\n")
    return end + 1 if is_line and not request.old.endswith("\n") else end


def _by_lines(
    indexed: IndexedText, request: EditRequest, number: int
) -> list[Span] | Refused | None:
    """Place the wish by lines, ignoring indentation and typography; None if not found."""
    if request.old == request.new + "\n":
        return _EQUAL_BUT_FOR_THE_END
    old, new = lines_of(request)
    known = places(indexed, old, are_apart=request.replace_all)
    if not known:
        return None
    if not request.replace_all:
        one = find(indexed, hunk_of(old, new, request.line), known)
        return one if isinstance(one, Refused) else _put(indexed, request, one, number, old, new)
    if len(known) > MAX_ALL_DRIFTED:
        return too_many(MAX_ALL_DRIFTED)
    spans: list[Span] = []
    past = 0
    for one in known:
        if one.first >= past:
            past = one.past
            found = _put(indexed, request, one, number, old, new)
            if isinstance(found, Refused):
                return found
            spans += found
    return spans


def _put(
    indexed: IndexedText,
    request: EditRequest,
    spot: Place,
    number: int,
    old: list[str],
    new: list[str],
) -> list[Span] | Refused:
    """Return the spans that put the new lines at the place, in the right indentation."""
    hunk = hunk_of(old_as_spoken(indexed, spot, old, new), new, request.line)
    if all(line.sign == " " for line in hunk.lines):
        return _EQUAL
    found = put(indexed, hunk, spot)
    return found if isinstance(found, Refused) else of_blocks(indexed, found, number, spot)


def _otherwise_read(
    indexed: IndexedText, request: EditRequest, number: int
) -> list[Span] | Refused | None:
    """Place the first reading without artefacts (such as line numbers) that fits; else None."""
    for reading in readings(indexed.file.flat, request.old, request.new):
        line = request.line if request.line is not None else reading.line
        meant = EditRequest(reading.old, reading.new, line, request.replace_all)
        if meant.old != meant.new and meant.old.strip():
            found = _as_read(indexed, meant, number)
            if found is not None:
                return _TWO_WAYS if reading.is_doubtful else found
    return None


def _as_read(
    indexed: IndexedText, request: EditRequest, number: int
) -> list[Span] | Refused | None:
    """Place a reading; None if its old text is not found."""
    found = _as_written(indexed, request, number)
    if found is None or isinstance(found, Refused):
        return found
    # A mark may only be recognisable now that the artefacts are removed.
    whole = _with_middle(indexed, request)
    if isinstance(whole, Refused):
        return whole
    return found if whole == request else _as_read(indexed, whole, number)


def _in_changed_context(
    indexed: IndexedText, request: EditRequest, number: int
) -> list[Span] | Refused:
    """Place the wish although unchanged lines of its old text differ from the file, or refuse."""
    old, new = lines_of(request)
    hunk = hunk_of(old, new, request.line)
    spot = nowhere(indexed, hunk) if request.replace_all else missing(indexed, hunk)
    return spot if isinstance(spot, Refused) else _put(indexed, request, spot, number, old, new)
