"""Search and replace: place each old text with certainty, or refuse the whole call.

Pure. All edits of a call are placed in the original text, so their order does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from unicodedata import combining

from agent_ls.edits.around_marks import around_marks
from agent_ls.edits.carried_out import is_added_around
from agent_ls.edits.lines import BOM, FlatText, flattened
from agent_ls.edits.locate import MAX_ALL, MAX_ALL_DRIFTED, MAX_PLACES, Ground, Place, places
from agent_ls.edits.marks import added_markers, is_stub, restored, stands_for_others, unclear_marker
from agent_ls.edits.placing import find, missing, nearest_to, nowhere, put
from agent_ls.edits.readings import plainly_indented, readings
from agent_ls.edits.refusing import ambiguous, applied, too_many
from agent_ls.edits.requests import Placed, Refused, Wish
from agent_ls.edits.spans import Span, joined, of_blocks
from agent_ls.edits.texts import hunk_of, lines_of
from agent_ls.edits.torn import begins_line, ends_line, is_torn
from agent_ls.edits.ways import old_as_spoken

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


def place(text: str, wishes: Sequence[Wish], *, is_read: bool = False) -> Placed:
    """Return the sorted replacements of all wishes, or why the call is refused.

    Only differences are replaced, so unchanged lines keep their bytes. ``is_read`` says that the
    author of the wishes read exactly this text.
    """
    flat = FlatText(text)
    ground = Ground(flat.text, is_read=is_read)
    spans: list[Span] = []
    # Identical edits count once.
    firsts = {wish: number for number, wish in reversed([*enumerate(wishes, 1)])}
    read = {number: _read(wish) for wish, number in firsts.items()}
    for number, wish in sorted(read.items()):
        found = _spans(ground, wish, number)
        if isinstance(found, Refused):
            which = f"Edit {number} of {len(wishes)}: " if len(wishes) > 1 else ""
            more = _IN_SEQUENCE if which and found.why == "not-found" else ""
            return replace(found, reason=which + found.reason + more)
        spans += found
    return joined(flat, spans)


def _read(wish: Wish) -> Wish:
    """Return the wish with LF line ends."""
    old = flattened(wish.old).removeprefix(BOM)
    new = flattened(wish.new, alone="\r" in wish.old).removeprefix(BOM)
    return Wish(old, new, wish.line, wish.replace_all)


def _spans(ground: Ground, wish: Wish, number: int) -> list[Span] | Refused:
    if wish.old == wish.new:
        return _EQUAL
    if not wish.old.strip():
        if ground.file.flat.strip(BOM + " \t\n\x0c"):
            return _BLANK
        return [Span(ground.file.first, len(ground.file.flat), wish.new, number)]
    old, new = plainly_indented(ground.file.flat, wish.old, wish.new)
    whole = _with_middle(ground, replace(wish, old=old, new=new))
    if isinstance(whole, Refused):
        return whole
    if whole.old == whole.new:
        return _EQUAL
    found = _as_written(ground, whole, number)
    if found is None:
        found = _otherwise_read(ground, whole, number)
    if found is not None:
        return found
    flat = ground.file.flat
    if any(stands_for_others(line, flat) for line in whole.old.split("\n")):
        return around_marks(ground, whole, number)
    return _in_changed_context(ground, whole, number)


def _with_middle(ground: Ground, wish: Wish) -> Wish | Refused:
    """Replace marks that only the new text has by the old lines they stand for."""
    old, new = wish.old.split("\n"), wish.new.split("\n")
    marks = added_markers(old, new, ground.file.flat)
    if not marks:
        return wish
    is_quoted = any(stands_for_others(line, ground.file.flat) for line in old)
    if is_quoted or any(is_stub(new, mark) for mark in marks):
        return unclear_marker()
    whole = restored(old, new, marks)
    return whole if isinstance(whole, Refused) else replace(wish, new="\n".join(whole))


def _as_written(ground: Ground, wish: Wish, number: int) -> list[Span] | Refused | None:
    """Place the wish by its exact text, else by lines; None if the old text is not found."""
    found = _exactly(ground, wish, number)
    return _by_lines(ground, wish, number) if found is None else found


def _exactly(ground: Ground, wish: Wish, number: int) -> list[Span] | Refused | None:
    """Place the wish where the old text matches exactly; None if it does not.

    A match that cuts a word or a line does not count, unless the author read exactly this text.
    """
    flat, size = ground.file.flat, len(wish.old)
    found = _offsets(flat, wish.old, apart=wish.replace_all)
    if len(found) > MAX_ALL:
        return too_many(MAX_ALL)
    untorn = [at for at in found if not is_torn(flat, wish, at, at + size)]
    if wish.replace_all:
        return [Span(at, _past(flat, wish, at), wish.new, number) for at in untorn] or None
    if len(found) < MAX_PLACES and (untorn or not ground.is_read):
        found = untorn
    at = _one_of(ground, wish, found) if found else None
    if at is None or isinstance(at, Refused):
        return at
    if not is_whole(flat, at, at + size) or _joins_lines(wish):
        if is_added_around(flat, wish, at):
            return applied(ground.file.number_at(at))
        return [Span(at, at + size, wish.new, number)]
    first = ground.file.number_at(at)
    if flat[at - 1 : at] not in ("", "\n", BOM):
        # It begins inside the indentation, so the new lines may have lost theirs too.
        return _by_lines(ground, replace(wish, line=first + 1), number)
    old, new = wish.old.split("\n"), wish.new.split("\n") if wish.new else []
    if wish.old.endswith("\n"):
        old, new = old[:-1], new[:-1]
    spot = Place(tuple(range(first, first + len(old))), first, first + len(old))
    return _put(ground, wish, spot, number, old, new)


def _one_of(ground: Ground, wish: Wish, found: list[int]) -> int | Refused:
    """Choose one exact place; prefer whole lines if there is a line hint or a leading blank."""
    if len(found) >= MAX_PLACES:
        return ambiguous(ground, [ground.file.number_at(at) for at in found], wish.line)
    if wish.line is not None or wish.old[0] in " \t":
        size, flat = len(wish.old), ground.file.flat
        is_flush = wish.old[0] in " \t"
        whole = [at for at in found if is_whole(flat, at, at + size)]
        found = [at for at in whole if not is_flush or flat[at - 1 : at] in ("", "\n")] or found
    lines = [ground.file.number_at(at) + 1 for at in found]
    if len(found) == 1:
        return found[0]
    chosen = nearest_to(lines, wish.line)
    if chosen is None:
        return ambiguous(ground, [line - 1 for line in lines], wish.line)
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


def _joins_lines(wish: Wish) -> bool:
    """Tell whether the new text lacks the final line end, so that the line below joins it."""
    return wish.old.endswith("\n") and wish.new != "" and not wish.new.endswith("\n")


def _past(flat: str, wish: Wish, at: int) -> int:
    """Return the end of the replaced text; a deleted line includes its line end."""
    end = at + len(wish.old)
    is_line = not wish.new and flat[end : end + 1] == "\n" and (at == 0 or flat[at - 1] == "\n")
    return end + 1 if is_line and not wish.old.endswith("\n") else end


def _by_lines(ground: Ground, wish: Wish, number: int) -> list[Span] | Refused | None:
    """Place the wish by lines, ignoring indentation and typography; None if not found."""
    if wish.old == wish.new + "\n":
        return _EQUAL_BUT_FOR_THE_END
    old, new = lines_of(wish)
    known = places(ground, old, are_apart=wish.replace_all)
    if not known:
        return None
    if not wish.replace_all:
        one = find(ground, hunk_of(old, new, wish.line), known)
        return one if isinstance(one, Refused) else _put(ground, wish, one, number, old, new)
    if len(known) > MAX_ALL_DRIFTED:
        return too_many(MAX_ALL_DRIFTED)
    spans: list[Span] = []
    past = 0
    for one in known:
        if one.first >= past:
            past = one.past
            found = _put(ground, wish, one, number, old, new)
            if isinstance(found, Refused):
                return found
            spans += found
    return spans


def _put(
    ground: Ground, wish: Wish, spot: Place, number: int, old: list[str], new: list[str]
) -> list[Span] | Refused:
    """Return the spans that put the new lines at the place, in the right indentation."""
    hunk = hunk_of(old_as_spoken(ground, spot, old, new), new, wish.line)
    if all(line.sign == " " for line in hunk.lines):
        return _EQUAL
    found = put(ground, hunk, spot)
    return found if isinstance(found, Refused) else of_blocks(ground, found, number, spot)


def _otherwise_read(ground: Ground, wish: Wish, number: int) -> list[Span] | Refused | None:
    """Place the first reading without artefacts (such as line numbers) that fits; else None."""
    for reading in readings(ground.file.flat, wish.old, wish.new):
        line = wish.line if wish.line is not None else reading.line
        meant = Wish(reading.old, reading.new, line, wish.replace_all)
        if meant.old != meant.new and meant.old.strip():
            found = _as_read(ground, meant, number)
            if found is not None:
                return _TWO_WAYS if reading.is_doubtful else found
    return None


def _as_read(ground: Ground, wish: Wish, number: int) -> list[Span] | Refused | None:
    """Place a reading; None if its old text is not found."""
    found = _as_written(ground, wish, number)
    if found is None or isinstance(found, Refused):
        return found
    # A mark may only be recognisable now that the artefacts are removed.
    whole = _with_middle(ground, wish)
    if isinstance(whole, Refused):
        return whole
    return found if whole == wish else _as_read(ground, whole, number)


def _in_changed_context(ground: Ground, wish: Wish, number: int) -> list[Span] | Refused:
    """Place the wish although unchanged lines of its old text differ from the file, or refuse."""
    old, new = lines_of(wish)
    hunk = hunk_of(old, new, wish.line)
    spot = nowhere(ground, hunk) if wish.replace_all else missing(ground, hunk)
    return spot if isinstance(spot, Refused) else _put(ground, wish, spot, number, old, new)
