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
from agent_ls.edits.elisions import restored, unclear_marker
from agent_ls.edits.frames import old_as_spoken
from agent_ls.edits.lines import BOM, FlatText, flattened
from agent_ls.edits.locate import MAX_ALL, MAX_ALL_DRIFTED, MAX_PLACES, Ground, Place, places
from agent_ls.edits.marks import added_markers, is_stub, stands_for_others
from agent_ls.edits.placing import find, missing, nearest_to, nowhere, put
from agent_ls.edits.readings import plainly_indented, readings
from agent_ls.edits.refusing import ambiguous, applied, too_many
from agent_ls.edits.requests import Hunk, Placed, Refused, Wish
from agent_ls.edits.sequences import BUILT, IN_SEQUENCE, Added
from agent_ls.edits.spans import Span, joined, of_blocks
from agent_ls.edits.texts import Texts, hunk_of, lines_of
from agent_ls.edits.torn import begins_torn, is_torn, parted_remark, remark_at
from agent_ls.edits.weave import Block
from agent_ls.edits.whole_lines import (
    has_trailing_blanks,
    is_glued,
    is_glued_above,
    of_whole_lines,
    past_whole_lines,
    restyle,
)

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


def place(text: str, wishes: Sequence[Wish], *, is_read: bool = False) -> Placed:
    """Return the sorted replacements that carry out all wishes, or why none is carried out.

    Only what differs is replaced, so that lines which stay keep their bytes. ``is_read`` says that
    the text is the one that the author of the wishes read.
    """
    flat = FlatText(text)
    ground = Ground(flat.text)
    spans: list[Span] = []
    # An edit that is given twice is one.
    firsts = {wish: number for number, wish in reversed([*enumerate(wishes, 1)])}
    read = {number: _read(wish, is_read=is_read) for wish, number in firsts.items()}
    added = Added(ground.file.flat, read)
    for number, wish in sorted(read.items()):
        found = _spans(ground, wish, number)
        is_built = added.is_in(number, wish.old)
        if is_built and not isinstance(found, Refused):
            found = BUILT
        if isinstance(found, Refused):
            which = f"Edit {number} of {len(wishes)}: " if len(wishes) > 1 else ""
            more = IN_SEQUENCE if is_built else ""
            return replace(found, reason=which + found.reason + more)
        spans += found
    return joined(flat, spans)


def _read(wish: Wish, *, is_read: bool) -> Texts:
    old = flattened(wish.old).removeprefix(BOM)
    new = flattened(wish.new, alone="\r" in wish.old).removeprefix(BOM)
    return Texts(old, new, wish.line, wish.replace_all, is_read)


def _spans(ground: Ground, wish: Texts, number: int) -> list[Span] | Refused:
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
    found = _exactly(ground, whole, number)
    if found is not None:
        return found
    found = _by_lines(ground, whole, number)
    if found is not None:
        return found
    found = _otherwise_read(ground, whole, number)
    if found is not None:
        return found
    flat = ground.file.flat
    if any(stands_for_others(line, flat) for line in whole.old.split("\n")):
        return around_marks(ground, whole, number)
    return _in_changed_context(ground, whole, number)


def _with_middle(ground: Ground, wish: Texts) -> Texts | Refused:
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


def _exactly(ground: Ground, wish: Texts, number: int) -> list[Span] | Refused | None:
    """Return where the old text stands character by character; None when it does not."""
    flat, old = ground.file.flat, wish.old
    found = _offsets(flat, old, apart=wish.replace_all)
    is_last = old.endswith("\n") and not flat.endswith("\n") and flat.endswith(old[:-1])
    if not found and is_last and old.count("\n") > 1:
        # The file's last line has no end, and keeps having none.
        wish = replace(wish, old=old[:-1], new=wish.new.removesuffix("\n"))
        return _exactly(ground, wish, number)
    if not found:
        return None
    if len(found) > MAX_ALL:
        return too_many(MAX_ALL)
    is_word = old.replace("_", "").isalnum()
    whole = [at for at in found if is_word or not is_torn(flat, wish, at, at + len(old))]
    if wish.replace_all and whole:
        return [
            Span(at, past_whole_lines(flat, wish, at, at + len(old)), new, number)
            for at in whole
            if (new := _with_ends(flat, wish, at, at + len(old))) != old
        ]
    at = found[0] if wish.replace_all else _one_of(ground, wish, found, whole)
    return at if isinstance(at, Refused) else _at(ground, wish, at, number)


def _one_of(ground: Ground, wish: Texts, found: list[int], whole: list[int]) -> int | Refused:
    """Return the one exact place that is meant; a torn one is only where the line says so."""
    told = [at for at in found if ground.file.number_at(at) + 1 == wish.line]
    is_all = len(found) < MAX_PLACES
    rivals = found
    if is_all:
        rivals = told if len(told) == 1 else of_whole_lines(ground.file.flat, wish, whole or found)
    if len(rivals) == 1:
        return rivals[0]
    lines = [ground.file.number_at(at) for at in rivals]
    chosen = nearest_to([line + 1 for line in lines], wish.line) if is_all else None
    if chosen is None:
        return ambiguous(ground, lines, wish.line)
    return rivals[chosen]


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


def _at(ground: Ground, wish: Texts, at: int, number: int) -> list[Span] | Refused | None:
    """Return the wish carried out at one exact place."""
    flat, end = ground.file.flat, at + len(wish.old)
    if is_added_around(flat, wish, at):
        return applied(ground.file.number_at(at))
    if (wish.replace_all or not wish.is_read) and is_torn(flat, wish, at, end):
        return _torn(ground, wish, at, number)
    if (rest := remark_at(flat, wish, at, end)) is not None:
        return parted_remark(ground, at + len(wish.old), rest)
    line_start = flat.rfind("\n", 0, at) + 1
    lead = flat[max(line_start, ground.file.first) : at]
    if lead and not lead.strip(" \t") and (end == len(flat) or flat[end] == "\n" or
                                            flat[end - 1] == "\n"):  # fmt: skip
        # It begins inside the indentation, so new lines may have lost theirs as well.
        return _by_lines(ground, replace(wish, line=ground.file.number_at(at) + 1), number)
    if not lead and wish.new.strip() and has_trailing_blanks(flat, wish, end):
        # Lines that stay keep the blanks that trail them; a changed one is the model's.
        found = _by_lines(ground, replace(wish, line=ground.file.number_at(at) + 1), number)
        if found is not None:
            return found
    new = _with_ends(flat, wish, at, end)
    if new == wish.old:
        return _EQUAL_BUT_FOR_THE_END
    if not lead:
        styled = restyle(ground, replace(wish, new=new), at)
        if isinstance(styled, Refused):
            return styled
        new = styled
    return [Span(at, past_whole_lines(flat, wish, at, end), new, number)]


def _with_ends(flat: str, wish: Texts, at: int, end: int) -> str:
    """Return the new text with the line ends that the old one has around its lines."""
    above = "\n" if is_glued_above(flat, wish, at) else ""
    below = "\n" if is_glued(flat, wish, end) else ""
    return above + wish.new + below


def _torn(ground: Ground, wish: Texts, at: int, number: int) -> list[Span] | Refused:
    """Return the wish whose first or last line goes on in the file: it stays, or nothing does."""
    old, new = lines_of(wish)
    if len(old) > 1 and len(new) > 1 and old != new:
        found = _in_changed_context(ground, wish, number)
        if not isinstance(found, Refused) or found.why == "applied":
            return found
    where = at if begins_torn(ground.file.flat, wish, at) else at + len(wish.old)
    return Refused(
        f"The old text ends or begins inside a longer word or expression in line "
        f"{ground.file.number_at(where) + 1}: the line differs from it. Someone changed it, or "
        "it is another one. Give the whole line as it is in the file.",
        "conflict",
    )


def _by_lines(ground: Ground, wish: Texts, number: int) -> list[Span] | Refused | None:
    """Return the wish carried out where its lines stand in another dress; None when nowhere."""
    old, new = lines_of(wish)
    known = places(ground, old, are_apart=wish.replace_all)
    if not known:
        return None
    if wish.replace_all and len(known) > MAX_ALL_DRIFTED:
        return too_many(MAX_ALL_DRIFTED)
    hunk = hunk_of(old, new, wish.line)
    if all(line.sign == " " for line in hunk.lines):
        return _EQUAL
    if wish.replace_all:
        spans: list[Span] = []
        past = 0
        for one in known:
            if one.first >= past:
                past = one.past
                found = _put(ground, hunk, one, new)
                if isinstance(found, Refused):
                    return found
                spans += of_blocks(ground, found, number)
        return spans
    one = find(ground, hunk, known)
    if isinstance(one, Refused):
        return one
    found = _put(ground, hunk, one, new)
    return found if isinstance(found, Refused) else of_blocks(ground, found, number)


def _put(ground: Ground, hunk: Hunk, spot: Place, new: list[str]) -> list[Block] | Refused:
    """Return the blocks that put the new lines to their place, in whose indentation they speak."""
    spoken = old_as_spoken(ground, spot, hunk.old, new)
    return put(ground, hunk if spoken == hunk.old else hunk_of(spoken, new, hunk.line), spot)


def _otherwise_read(ground: Ground, wish: Texts, number: int) -> list[Span] | Refused | None:
    """Return the wish read without what does not belong into it; None when no reading fits."""
    results: list[list[Span] | Refused] = []
    group = -1
    for reading in readings(ground.file.flat, wish.old, wish.new):
        if results and reading.group != group:
            break
        group = reading.group
        line = wish.line if wish.line is not None else reading.line
        meant = Texts(reading.old, reading.new, line, wish.replace_all)
        if meant.old == meant.new or not meant.old.strip():
            continue
        found = _as_read(ground, meant, number)
        if found is not None and found not in results:
            results.append(found)
    if len(results) > 1:
        return Refused(
            "The old text is in the file only without some of its backslashes, and the new text "
            "can be read in two ways. Write both as they are in the file, without escaping.",
            "not-found",
        )
    return results[0] if results else None


def _as_read(ground: Ground, wish: Texts, number: int) -> list[Span] | Refused | None:
    """Return a reading carried out where its old text stands; None when it does not."""
    found = _exactly(ground, wish, number)
    if found is None:
        found = _by_lines(ground, wish, number)
    if found is None or isinstance(found, Refused):
        return found
    # What surrounded the texts may have kept a mark from being known as one.
    whole = _with_middle(ground, wish)
    if isinstance(whole, Refused):
        return whole
    return found if whole == wish else _as_read(ground, whole, number)


def _in_changed_context(ground: Ground, wish: Texts, number: int) -> list[Span] | Refused:
    """Return the wish where only lines that stay differ from the file, or why not."""
    old, new = lines_of(wish)
    hunk = hunk_of(old, new, wish.line)
    spot = nowhere(ground, hunk) if wish.replace_all else missing(ground, hunk)
    if isinstance(spot, Refused):
        return spot
    found = _put(ground, hunk, spot, new)
    return found if isinstance(found, Refused) else of_blocks(ground, found, number)
