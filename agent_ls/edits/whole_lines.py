"""What an exact place says about whole lines: lost line ends, new indentation."""

from __future__ import annotations

from agent_ls.edits.indents import indent_of
from agent_ls.edits.keys import stripped
from agent_ls.edits.lines import BOM
from agent_ls.edits.locate import Ground
from agent_ls.edits.requests import Refused
from agent_ls.edits.restyling import styled
from agent_ls.edits.texts import Texts


def of_whole_lines(flat: str, wish: Texts, found: list[int]) -> list[int]:
    """Return the places that are no part of a line, if there are such and whole lines are meant."""
    old = wish.old.removesuffix("\n")
    is_indented = old[0] in " \t"
    if not is_indented and "\n" not in old and wish.line is None:
        return found

    def is_whole(at: int) -> bool:
        lead = flat[flat.rfind("\n", 0, at) + 1 : at].removeprefix(BOM)
        end = at + len(old)
        tail = flat[end : (flat + "\n").find("\n", end)]
        return not tail.strip() and not (lead if is_indented else lead.strip(" \t"))

    return [at for at in found if is_whole(at)] or found


def past_whole_lines(flat: str, wish: Texts, at: int, end: int) -> int:
    """Return where the replaced text ends, with what belongs to its last line.

    A deleted line takes its end along, and a changed one the blanks that trail it.
    """
    if (at > 0 and flat[at - 1] not in ("\n", BOM)) or wish.old.endswith("\n"):
        return end
    past = end
    while past < len(flat) and flat[past] in " \t":
        past += 1
    if past < len(flat) and flat[past] != "\n":
        return end
    if not wish.new:
        return min(past + 1, len(flat))
    is_changed = wish.old.rpartition("\n")[2] != wish.new.rpartition("\n")[2]
    return past if is_changed and wish.new.strip() else end


def has_trailing_blanks(flat: str, wish: Texts, end: int) -> bool:
    """Tell whether the last line of the old text goes on with blanks alone."""
    if wish.old.endswith("\n") or end >= len(flat) or flat[end] not in " \t":
        return False
    stop = flat.find("\n", end)
    return not flat[end : stop if stop >= 0 else len(flat)].strip(" \t")


def restyle(ground: Ground, wish: Texts, at: int) -> str | Refused:
    """Return the new text in the file's indentation, where the old one at ``at`` has no other."""
    lines = wish.new.split("\n")
    into = styled(ground, wish.old.split("\n"), lines, at)
    if into is None or isinstance(into, Refused):
        return into or wish.new
    return "\n".join((into(indent_of(line)) or "") + line[len(indent_of(line)) :] for line in lines)


def is_glued(flat: str, wish: Texts, end: int) -> bool:
    """Tell whether the new text lacks only the line end that the old one has."""
    if not wish.old.endswith("\n") or wish.new.endswith("\n") or not wish.new.strip():
        return False
    # Before a blank line the old text may as well name that one, without its end; not where it
    # has changed something else above a line that stays.
    old, new = wish.old[:-1].split("\n"), wish.new.split("\n")
    is_kept = old != new and bool(stripped(old[-1])) and old[-1] == new[-1]
    return end >= len(flat) or flat[end] != "\n" or is_kept


def is_glued_above(flat: str, wish: Texts, at: int) -> bool:
    """Tell whether the new text lacks only the end of the line above that the old one begins with.

    A first line in another indentation is meant to go on from that line.
    """
    if not wish.old.startswith("\n") or wish.new.startswith("\n") or not wish.new.strip():
        return False
    old = wish.old.lstrip("\n")
    is_below = at > 0 and flat[at - 1] not in ("\n", BOM)
    return is_below and bool(old) and indent_of(old) == indent_of(wish.new)
