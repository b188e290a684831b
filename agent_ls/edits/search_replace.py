"""Search and replace: each old text is placed with certainty, or the whole call is refused.

Pure: text and wishes in, replacements or a refusal out. Several edits of one call are all or
nothing, each found in the text as it was, so their order does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from unicodedata import combining

from agent_ls.edits.around_marks import around_marks
from agent_ls.edits.carried_out import is_added_around
from agent_ls.edits.indents import indent_of
from agent_ls.edits.keys import stripped
from agent_ls.edits.lines import BOM, FlatText, flattened
from agent_ls.edits.locate import MAX_ALL, MAX_ALL_DRIFTED, MAX_PLACES, Ground, Place, places
from agent_ls.edits.marks import added_markers, is_stub, restored, stands_for_others, unclear_marker
from agent_ls.edits.placing import find, missing, nearest_to, nowhere, put
from agent_ls.edits.readings import plainly_indented, readings
from agent_ls.edits.refusing import ambiguous, applied, too_many
from agent_ls.edits.requests import Placed, Refused, Wish
from agent_ls.edits.spans import Span, joined, of_blocks
from agent_ls.edits.texts import hunk_of, lines_of
from agent_ls.edits.torn import begins_line, is_torn, rest_of_line
from agent_ls.edits.ways import old_as_spoken

_EQUAL = Refused("old_string and new_string are equal, so there is nothing to change.", "equal")
_EQUAL_BUT_FOR_THE_END = Refused(
    "old_string and new_string differ only in the last line end, which a line keeps. Give "
    "both with the line below to join it to that one.",
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
    "\nAnother edit of the call adds a line of this old text. Each edit of a call is looked for in "
    "the text as it was before the call, so none may build on another: give its old_string as that "
    "text has it."
)


def place(text: str, wishes: Sequence[Wish], *, is_read: bool = False) -> Placed:
    """Return the sorted replacements that carry out all wishes, or why none is carried out.

    Only what differs is replaced, so that lines which stay keep their bytes. ``is_read`` says that
    the text is the one that the author of the wishes read.
    """
    flat = FlatText(text)
    ground = Ground(flat.text, is_read=is_read)
    spans: list[Span] = []
    # An edit that is given twice is one.
    firsts = {wish: number for number, wish in reversed([*enumerate(wishes, 1)])}
    read = {number: _read(wish) for wish, number in firsts.items()}
    for number, wish in sorted(read.items()):
        found = _spans(ground, wish, number)
        if isinstance(found, Refused):
            which = f"Edit {number} of {len(wishes)}: " if len(wishes) > 1 else ""
            others = [one for one in read.values() if one is not wish]
            more = _IN_SEQUENCE if _builds_on(ground, wish, others) else ""
            return replace(found, reason=which + found.reason + more)
        spans += found
    return joined(flat, spans)


def _read(wish: Wish) -> Wish:
    """Return the wish with LF alone."""
    old = flattened(wish.old).removeprefix(BOM)
    new = flattened(wish.new, alone="\r" in wish.old).removeprefix(BOM)
    return Wish(old, new, wish.line, wish.replace_all)


def _builds_on(ground: Ground, wish: Wish, others: Sequence[Wish]) -> bool:
    """Tell whether an old text has a line that only another edit of the call adds, or is one."""
    strange = {
        line
        for line in map(stripped, wish.old.split("\n"))
        if line and line not in ground.file.flat
    }
    return any(
        wish.old == other.new or not strange.isdisjoint(map(stripped, other.new.split("\n")))
        for other in others
    )


def _spans(ground: Ground, wish: Wish, number: int) -> list[Span] | Refused:
    if wish.old == wish.new:
        return _EQUAL
    if not wish.old.strip():
        if ground.file.flat.strip(BOM + " \t\n\x0c"):
            return _BLANK
        return [Span(ground.file.first, len(ground.file.flat), wish.new, number)]
    if wish.old == wish.new + "\n" and wish.new.strip():
        return _EQUAL_BUT_FOR_THE_END
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
    """Return the wish with marks that only the new text has replaced by what they stand for."""
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
    """Return the wish carried out where its old text stands, in whatever dress; or None."""
    found = _exactly(ground, wish, number)
    return _by_lines(ground, wish, number) if found is None else found


def _exactly(ground: Ground, wish: Wish, number: int) -> list[Span] | Refused | None:
    """Return the wish where the old text stands character by character; None when it does not.

    A place that cuts a word or a line is none, but for whoever read just this text.
    """
    flat, size = ground.file.flat, len(wish.old)
    found = _offsets(flat, wish.old, apart=wish.replace_all)
    if len(found) > MAX_ALL:
        return too_many(MAX_ALL)
    untorn = [at for at in found if not is_torn(flat, wish, at, at + size)]
    if wish.replace_all:
        wish = _with_end(wish)
        return [Span(at, _past(flat, wish, at), wish.new, number) for at in untorn] or None
    if len(found) < MAX_PLACES and (untorn or not ground.is_read):
        found = untorn
    at = _one_of(ground, wish, found) if found else None
    if at is None or isinstance(at, Refused):
        return at
    if not is_whole(flat, at, at + size):
        if is_added_around(flat, wish, at):
            return applied(ground.file.number_at(at))
        return [Span(at, at + size, _parted(flat, wish, at), number)]
    first = ground.file.number_at(at)
    if flat[at - 1 : at] not in ("", "\n", BOM):
        # It begins inside the indentation, so new lines may have lost theirs as well.
        return _by_lines(ground, replace(wish, line=first + 1), number)
    old, new = lines_of(wish)
    spot = Place(tuple(range(first, first + len(old))), first, first + len(old))
    return _put(ground, wish, spot, number, old, new)


def _one_of(ground: Ground, wish: Wish, found: list[int]) -> int | Refused:
    """Return the one exact place that is meant; whole lines where the wish speaks of a line."""
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
    """Return where ``old`` begins: all places, or from the start those that do not overlap."""
    step = len(old) if apart else 1
    found: list[int] = []
    at = text.find(old)
    while at >= 0 and len(found) < (MAX_ALL + 1 if apart else MAX_PLACES):
        # A letter whose accent follows it is another letter.
        ends = (old[0] if at > 0 else " ", text[at + len(old) : at + len(old) + 1] or " ")
        if not any(combining(one) for one in ends):
            found.append(at)
        at = text.find(old, at + step)
    return found


def is_whole(flat: str, at: int, end: int) -> bool:
    """Tell whether a place is whole lines, but for blanks at the ends of the first and last."""
    is_ended = flat[end - 1] == "\n" or not rest_of_line(flat, end).strip(" \t")
    return is_ended and begins_line(flat, at)


def _parted(flat: str, wish: Wish, at: int) -> str:
    """Return the new text behind the end of the line above, if it only lost that.

    A first line in another indentation is meant to go on from that line.
    """
    is_lost = wish.old.startswith("\n") and not wish.new.startswith("\n") and wish.new.strip()
    is_same = indent_of(wish.old.lstrip("\n")) == indent_of(wish.new)
    return "\n" + wish.new if is_lost and is_same and at and flat[at - 1] != "\n" else wish.new


def _with_end(wish: Wish) -> Wish:
    """Return the wish with the line end that only its old text has in the new one, too."""
    is_lost = wish.old.endswith("\n") and not wish.new.endswith("\n") and wish.new.strip()
    return replace(wish, new=wish.new + "\n") if is_lost else wish


def _past(flat: str, wish: Wish, at: int) -> int:
    """Return where the replaced text ends: a line that is deleted takes its end along."""
    end = at + len(wish.old)
    is_line = not wish.new and flat[end : end + 1] == "\n" and (at == 0 or flat[at - 1] == "\n")
    return end + 1 if is_line and not wish.old.endswith("\n") else end


def _by_lines(ground: Ground, wish: Wish, number: int) -> list[Span] | Refused | None:
    """Return the wish carried out where its lines stand in another dress; None when nowhere."""
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
    """Return the new lines put to their place, in whose indentation they speak."""
    hunk = hunk_of(old_as_spoken(ground, spot, old, new), new, wish.line)
    if all(line.sign == " " for line in hunk.lines):
        return _EQUAL
    found = put(ground, hunk, spot)
    return found if isinstance(found, Refused) else of_blocks(ground, found, number, spot)


def _otherwise_read(ground: Ground, wish: Wish, number: int) -> list[Span] | Refused | None:
    """Return the wish read without what does not belong into it; None when no reading fits."""
    for reading in readings(ground.file.flat, wish.old, wish.new):
        line = wish.line if wish.line is not None else reading.line
        meant = Wish(reading.old, reading.new, line, wish.replace_all)
        if meant.old != meant.new and meant.old.strip():
            found = _as_read(ground, meant, number)
            if found is not None:
                return _TWO_WAYS if reading.is_doubtful else found
    return None


def _as_read(ground: Ground, wish: Wish, number: int) -> list[Span] | Refused | None:
    """Return a reading carried out where its old text stands; None when it does not."""
    found = _as_written(ground, wish, number)
    if found is None or isinstance(found, Refused):
        return found
    # What surrounded the texts may have kept a mark from being known as one.
    whole = _with_middle(ground, wish)
    if isinstance(whole, Refused):
        return whole
    return found if whole == wish else _as_read(ground, whole, number)


def _in_changed_context(ground: Ground, wish: Wish, number: int) -> list[Span] | Refused:
    """Return the wish where only lines that stay differ from the file, or why not."""
    old, new = lines_of(wish)
    hunk = hunk_of(old, new, wish.line)
    spot = nowhere(ground, hunk) if wish.replace_all else missing(ground, hunk)
    return spot if isinstance(spot, Refused) else _put(ground, wish, spot, number, old, new)
