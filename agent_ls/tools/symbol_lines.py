"""Lines around symbols, and the indentation that new text takes there. Pure.

New text takes the indentation of its place; lines inside strings over several lines keep theirs.
"""

from __future__ import annotations

from itertools import pairwise

from agent_ls.edits.indents import block_unit, in_steps, indent_of, style_of, width
from agent_ls.edits.lines import flattened
from agent_ls.edits.readings import unwrapped
from agent_ls.syntax.languages import Language
from agent_ls.syntax.strings import rows_in_strings

_HEADS = ("@", "#[", "[[", "#", "//", "/*", "<!--", "--")
"""Starts of lines that the next line is level with: decorators, attributes, comments."""
_CLOSERS = ("}", ")", "]")


def bare(new_text: str) -> str:
    """Return new text with LF ends, without a fence, line numbers and outer blank lines."""
    given = flattened(new_text).lstrip("\ufeff").strip("\n")
    # A number alone is a value, not the number of an empty line.
    text = unwrapped(given) if unwrapped(given).strip() else given
    lines = text.split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    return "\n".join(lines).rstrip()


def placed_at(block: str, place: str, text: str, language: Language, old: str = "") -> str:
    """Return the block indented for its place, in the steps of the old text or else the file's.

    ``old`` is the text that the block replaces or stands beside, with its first indentation.
    """
    lines = block.split("\n")
    kept, docstrings = rows_in_strings(block, language)
    if language.id in ("c", "cpp"):
        # Directives stay at the margin.
        kept |= {row for row, line in enumerate(lines) if row and line.startswith("#")}
    around = flattened(text).split("\n")
    style = style_of(around)
    code = [line for row, line in enumerate(lines) if row not in kept and row not in docstrings]
    first = indent_of(lines[0])
    leads = [indent_of(line) for line in code[1:] if line.strip()]
    if not first and place and leads and _is_absolute(code, place, style.unit, language):
        return "\n".join([place + lines[0], *lines[1:]])
    restyle = in_steps(code, old.split("\n"), block_unit(around, style))
    # If most other lines are less deep than the first, its indentation means nothing.
    is_first_right = 2 * sum(lead.startswith(first) for lead in leads) >= len(leads)
    common = first if is_first_right else min([first, *leads], key=len)
    least = min(map(width, leads), default=0)
    found: list[str] = []
    for row, line in enumerate(lines):
        lead = indent_of(line)
        is_last_closer = row == len(lines) - 1 and line.startswith(_CLOSERS)
        # A docstring may have been written at the margin on purpose.
        if row in kept or (row in docstrings and width(lead) < least):
            found.append(line)
        elif not line.strip():
            # Blanks are content in a docstring, as in any string.
            is_content = lead and row in docstrings
            found.append(place + lead.removeprefix(common) if is_content else "")
        elif not lead.startswith(common):
            # Code that was made a comment stays at the margin, but the last brace does not.
            less = place.removesuffix(common.removeprefix(lead)) + line[len(lead) :]
            found.append(less if lead else place + line if is_last_closer else line)
        else:
            deeper = lead.removeprefix(common)
            found.append(place + ((restyle and restyle(deeper)) or deeper) + line[len(lead) :])
    return "\n".join(found)


def _is_absolute(code: list[str], place: str, unit: str, language: Language) -> bool:
    """Say whether all lines but the first already have the indentation of the place."""
    goal = width(place)
    rest = [line for before, line in pairwise(code) if line.strip() and _counts(line, before)]
    if not rest:
        return False
    level = [line for line in rest if width(indent_of(line)) == goal]
    # Python's last line belongs to a body; with braces it is the one that closes the definition.
    ends = level if language.id == "python" else rest[-1:]
    is_closed = bool(ends) and all(one.lstrip().startswith(_CLOSERS) for one in ends)
    is_level = is_closed or code[0].startswith(_HEADS)
    least = min(width(indent_of(line)) for line in rest)
    return least >= goal + (0 if is_level else width(unit) or 1)


def _counts(line: str, before: str) -> bool:
    """Say whether a line's indentation means anything; comments may stand at the margin."""
    return bool(indent_of(line)) or not (before.endswith("\\") or line.startswith(_HEADS))


def indent_at(text: str, at: int) -> str:
    """Return the indentation of the line, up to the position ``at``."""
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip("\ufeff")
    return indent_of(line)


def is_first_on_line(text: str, at: int) -> bool:
    """Say whether nothing but blanks stands before the place on its line."""
    return not text[text.rfind("\n", 0, at) + 1 : at].strip("\ufeff \t")


def line_end(text: str, at: int, language: Language, *, across: bool = False) -> int | None:
    """Return where the line ends when only comments or separators follow on it; else None.

    ``across``: comments may go over several lines; the end of the last one is returned.
    """
    while text[at : at + 1] not in ("", "\r", "\n"):
        if text[at] in " \t,;":
            at += 1
        elif (past := _comment_end(text, at, language)) and (across or "\n" not in text[at:past]):
            at = past
        else:
            return None
    return at


def _comment_end(text: str, at: int, language: Language) -> int:
    """Return the end of the comment that begins here, without its line end; 0 for none."""
    for opener, closer, *_ in language.block:
        if text.startswith(opener, at):
            past = text.find(closer, at + len(opener))
            return len(text) if past < 0 else past + len(closer)
    if not language.line or not text.startswith(language.line, at):
        return 0
    past = text.find("\n", at)
    past = len(text) if past < 0 else past
    return past - 1 if text[past - 1] == "\r" else past


def next_code(text: str, at: int, language: Language) -> int:
    """Return where the next code begins, after blanks, line ends and comments."""
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif past := _comment_end(text, at, language):
            at = past
        else:
            break
    return at


def unit_of(text: str, language: Language) -> str:
    """Return one step of the file's indentation."""
    lines = flattened(text).split("\n")
    return block_unit(lines, style_of(lines)) or ("\t" if language.id == "go" else "    ")
