"""Removes hidden characters for the model, and makes them visible for the user.

Legitimate scripts survive: joiners inside words and emoji, direction marks beside right-to-left
letters, flags made of tags. Owns the rules; code that shows or sends text calls them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

_TERMINAL = re.compile(
    # Operating system commands, with their terminator or cut at the line's end.
    r"\x1b[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)?"
    # Control sequences, in their 7-bit and 8-bit form.
    r"|(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,16}[@-~]?"
    # Two-character escapes and whatever is left.
    r"|\x1b[ -/]{0,4}[0-~]?"
)

_HIDDEN_RANGES = (
    (0x00, 0x08),
    (0x0B, 0x0C),
    (0x0E, 0x1F),
    (0x7F, 0x9F),
    (0xAD, 0xAD),  # soft hyphen
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x061C, 0x061C),  # Arabic letter mark
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),  # zero width and direction marks
    (0x202A, 0x202E),  # embeddings and overrides
    (0x2060, 0x206F),  # invisible operators, isolates
    (0x3164, 0x3164),
    (0xD800, 0xDFFF),  # lone surrogates
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),  # tags, more variation selectors
)
_HIDDEN = re.compile("[" + "".join(f"{chr(a)}-{chr(b)}" for a, b in _HIDDEN_RANGES) + "]")
_ALSO_FOR_PEOPLE = re.compile("[\u2028\u2029\r]")

_JOINED_SCRIPTS = (
    (0x0600, 0x109F),  # Arabic, the Indic scripts, Thai to Myanmar
    (0x1780, 0x18AF),  # Khmer, Mongolian
    (0xA840, 0xABFF),
    (0xFB50, 0xFDFF),
    (0xFE70, 0xFEFC),
    (0x11000, 0x11FFF),
)
_FLAG = "\U0001f3f4"
_FLAG_TAGS = re.compile(
    "\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067"
    "|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
_LONG_BLANKS = re.compile(r"[ \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]{80,}")
_MANY_LINES = re.compile(r"\n(?:[ \t]*\n){8,}")
_PART_CHARS = 16 * 2**10
"""Processed in about a millisecond."""


def words(text: str) -> frozenset[str]:
    """Return the blank-separated words of a text; tables of names are written this way."""
    return frozenset(text.split())


def cleaned(text: str) -> str:
    """Return the text for the model: terminal control and hidden characters taken out.

    Shape: line ends, tabs and all visible characters stay as they are. A lone surrogate becomes
    U+FFFD.
    """
    if text.isascii() and text.isprintable():
        return text
    return _without_hidden(_TERMINAL.sub("", text), _removed)


def visible(text: str) -> str:
    """Return the text for a user who has to judge it, with hidden characters as escapes.

    Shape: keeps its lines. Long runs of blanks or empty lines, which push text out of sight, are
    replaced by their count.
    """
    shown = _without_hidden(text, _escaped)
    shown = _ALSO_FOR_PEOPLE.sub(lambda match: _escaped(match.group()), shown)
    shown = _LONG_BLANKS.sub(lambda match: f" ⟨{len(match.group())} blanks⟩ ", shown)
    return _MANY_LINES.sub(
        lambda match: f"\n⟨{match.group().count(chr(10)) - 1} empty lines⟩\n", shown
    )


def escaped_in_json(text: str) -> str:
    """Return JSON with hidden characters as escapes: the same value, which no terminal obeys."""
    return _HIDDEN.sub(_as_json, text)


def visible_line(text: str) -> str:
    """Return the text on one line, for titles and names."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def label(text: str, characters: int) -> str:
    """Return one line for a title or a button: the whole text, or its head, ``…`` and its tail.

    Both ends are kept, because either may matter; the number of further lines is added.
    """
    text = text.strip()
    is_long = len(text) > 8 * characters
    # The middle of a long text is not shown, so it is not processed.
    begin = visible_line(text[: 4 * characters] if is_long else text)
    if len(begin) <= characters and not is_long:
        return begin
    end = visible_line(text[-4 * characters :]) if is_long else begin
    lines = text.count("\n")
    more = f" (+{lines} line{'' if lines == 1 else 's'})" if lines else ""
    room = max(2, characters - len(more) - 3)
    return f"{_head(begin, room - room // 2)} … {_head(end[::-1], room // 2)[::-1]}{more}"


def _head(line: str, characters: int) -> str:
    """Return the beginning of a line, up to a space if one is near, as half a word misleads."""
    head = line[:characters]
    if line[characters:] and not line[characters].isspace():
        words, _, part = head.rpartition(" ")
        head = words if len(part) <= characters // 3 else head
    return head.rstrip()


def has_hidden(text: str) -> bool:
    """Say whether the text holds anything that ``cleaned`` would take out."""
    return cleaned(text) != text


def plain_output(text: str) -> str:
    """Return a command's output as a terminal shows it at the end, without overwritten parts."""
    lines = cleaned(_overstruck(text).replace("\r\n", "\n")).split("\n")
    return "\n".join(_last_part(line) for line in lines)


async def plain_output_slowly(text: str) -> str:
    """Return ``plain_output(text)``, yielding to the event loop between parts."""
    # The first line of a conversation needs this module, and waits for nothing heavy.
    import asyncio

    parts: list[str] = []
    at = 0
    while at < len(text):
        end = text.find("\n", at + _PART_CHARS) + 1 or len(text)
        parts.append(plain_output(text[at:end]))
        at = end
        await asyncio.sleep(0)
    return "".join(parts)


def _last_part(line: str) -> str:
    """Return what a line shows after its carriage returns: its last part that has text."""
    if "\r" not in line:
        return line
    return next((part for part in reversed(line.split("\r")) if part.strip()), "")


def _overstruck(text: str) -> str:
    """Apply backspaces within each line, as ``man`` writes bold text."""
    if "\b" not in text:
        return text
    kept: list[str] = []
    for character in text:
        if character != "\b":
            kept.append(character)
        elif kept and kept[-1] != "\n":
            kept.pop()
    return "".join(kept)


def _removed(character: str) -> str:
    return "\ufffd" if unicodedata.category(character) == "Cs" else ""


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _as_json(found: re.Match[str]) -> str:
    units = found.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _without_hidden(text: str, replace: Callable[[str], str]) -> str:
    """Replace hidden characters that are not legitimate at their position.

    None is so directly after a replaced one, so that a second pass finds nothing more.
    """
    parts: list[str] = []
    at, replaced = 0, -1
    while match := _HIDDEN.search(text, at):
        here = match.start()
        before = text[here - 1 : here] if here else ""
        parts.append(text[at:here])
        at = here + 1
        if flag := _FLAG_TAGS.match(text, here) if before == _FLAG else None:
            parts.append(flag.group())
            at = flag.end()
        elif here != replaced and _belongs(text[here], before, text[at : at + 1]):
            parts.append(text[here])
        else:
            parts.append(replace(text[here]))
            replaced = at
    return "".join((*parts, text[at:]))


def _belongs(character: str, before: str, after: str) -> bool:
    """Say whether a hidden character is legitimate between these two, either of which may be ""."""
    number = ord(character)
    if number == 0x200D and _is_emoji(after) and (before == "\ufe0f" or _is_emoji(before)):
        return True
    if _HIDDEN.match(before):
        # A row of selectors or marks could spell a text.
        return False
    if number in (0x200C, 0x200D):
        # Also at the end of a word, and between a number and its ending.
        return _is_joined(before) or _is_joined(after)
    if number == 0x200B:
        return _is_unspaced(before) and _is_unspaced(after)
    if number in (0x200E, 0x200F, 0x061C):
        return _is_rtl(before) or _is_rtl(after)
    if number in (0xFE0E, 0xFE0F):
        return _is_emoji(before) or before in tuple("0123456789#*")
    if 0xFE00 <= number <= 0xFE0D or 0xE0100 <= number <= 0xE01EF or 0x180B <= number <= 0x180F:
        return _has_variants(before)
    return False


def _is_joined(character: str) -> bool:
    if unicodedata.category(character or " ")[0] not in "LM" or _HIDDEN.match(character):
        return False
    return any(low <= ord(character) <= high for low, high in _JOINED_SCRIPTS)


def _is_unspaced(character: str) -> bool:
    """Say whether a letter is of a script without spaces, such as Thai, Khmer and Burmese."""
    return (
        "\u0e01" <= character <= "\u0eff"
        or "\u1000" <= character <= "\u109f"
        or ("\u1780" <= character <= "\u17ff")
    )


def _is_emoji(character: str) -> bool:
    """Say whether a character may be one; the signs of ASCII and Latin 1 below © are not."""
    is_sign = character >= "©" and unicodedata.category(character) in ("So", "Sm", "Sk", "Po")
    return is_sign or character in ("ℹ", "〰")


def _is_rtl(character: str) -> bool:
    is_hidden = _HIDDEN.match(character)
    return not is_hidden and unicodedata.bidirectional(character or " ") in ("R", "AL")


def _has_variants(character: str) -> bool:
    name = unicodedata.name(character or " ", "")
    return name.startswith(("CJK UNIFIED IDEOGRAPH", "MONGOLIAN LETTER"))
