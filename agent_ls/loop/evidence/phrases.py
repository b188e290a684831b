"""Reads tables of phrases in several languages, and the prose of an answer to look for them in.

A table is a toml file with one part a language. Each entry is a regular expression over lower
case: line breaks and indentation are dropped, and a name in braces stands for the entry of that
name. What tells the languages apart is in ``languages.toml``.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Language:
    """The phrases of one language."""

    signs: frozenset[str]
    parts: Mapping[str, str]

    def pattern(self, name: str) -> re.Pattern[str]:
        """Return the pattern of that name; one that matches nothing if the table has none."""
        return _compiled(self.parts.get(name, _NOTHING))

    def has(self, name: str, words: str) -> bool:
        """Say whether the pattern of that name matches somewhere."""
        return self.pattern(name).search(words) is not None

    def marked(self, name: str, mark: str, words: str) -> str:
        """Return the words with a mark for each letter of what the pattern of that name matches."""
        return self.pattern(name).sub(lambda match: mark * len(match[0]), words)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as a reader sees it, and as patterns do."""

    text: str
    words: str
    """In lower case. An x stands for code and for what is quoted, a • for each list marker."""


def read_phrases(table: Path) -> Mapping[str, Language]:
    """Return the languages of a table, by their codes."""
    return {
        code: _language(code, parts)
        for code, parts in tomllib.loads(table.read_text("utf-8")).items()
    }


def spoken(languages: Mapping[str, Language], words: str) -> list[Language]:
    """Return the languages that most signs speak for; all of them where there is no sign.

    A sign of one language alone weighs as much as three that languages share.
    """
    tokens = {*_WORD.findall(words), *_LETTER.findall(words)}
    found = [one.signs & tokens for one in languages.values()]
    shared = Counter(sign for signs in found for sign in signs)
    weights = [sum(3 if shared[sign] == 1 else 1 for sign in signs) for signs in found]
    pairs = zip(languages.values(), weights, strict=True)
    return [one for one, weight in pairs if 2 * weight >= max(weights)]


def sentences_of(text: str) -> list[Sentence]:
    """Return the sentences without code blocks and block quotes; list items follow their lead."""
    return [sentence for lines in _paragraphs(text) for sentence in _split(_joined(lines))]


def closing_sentences(text: str) -> list[Sentence]:
    """Return the last sentences, at most four of them, and of long ones the ends."""
    paragraphs = [_joined(lines[-_MAX_LINES:]) for lines in _paragraphs(text)[-_MAX_SENTENCES:]]
    sentences = [one for text in paragraphs for one in _split(text[-_MAX_READ_CHARS:])]
    closing = [
        Sentence(one.text[-_MAX_CLOSING_CHARS:].strip(), one.words[-_MAX_CLOSING_CHARS:])
        for one in sentences[-_MAX_SENTENCES:]
    ]
    while len(closing) > 1 and sum(len(one.words) for one in closing) > _MAX_CLOSING_CHARS:
        closing.pop(0)
    return closing


def _language(code: str, parts: Mapping[str, str]) -> Language:
    def whole(text: str) -> str:
        plain = _LINE_BREAK.sub("", text)
        return _NAME.sub(lambda match: f"(?:{whole(parts[match[1]])})", plain)

    whole_parts = {name: whole(text) for name, text in parts.items()}
    return Language(_SIGNS[code], whole_parts)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return the pattern, compiled when first needed: a whole table takes a third of a second."""
    return re.compile(pattern)


def _paragraphs(text: str) -> list[list[str]]:
    """Return the lines of prose, each with the items of the list that follows it."""
    prose: list[list[str]] = []
    is_code = False
    for line in text.splitlines():
        line = line.strip()
        if line.startswith(("```", "~~~")):
            is_code = not is_code
        if is_code or line.startswith(("```", "~~~", ">")):
            continue
        if prose and _LIST_ITEM.match(line):
            prose[-1].append(line)
        elif line:
            prose.append([line])
    return prose


def _joined(lines: list[str]) -> str:
    items = (_LIST_ITEM.sub("• ", " ".join(line.split())) for line in lines)
    return " ".join(items).translate(_APOSTROPHES)


def _split(paragraph: str) -> Iterator[Sentence]:
    """Yield the sentences of a paragraph. A full stop in code or in a quote ends none."""
    masked = _SPAN.sub(_mask, paragraph)
    start = 0
    for end in (*(match.end() for match in _SENTENCE_END.finditer(masked)), len(masked)):
        words = _EDGE.sub("", _MARKS.sub("", _MASK.sub("x", masked[start:end].lower())))
        words = _HAN_OR_KANA_SPACE.sub("", words)
        if words:
            yield Sentence(_MARKS.sub("", paragraph[start:end]).strip(), words)
        start = end


def _mask(span: re.Match[str]) -> str:
    """Return as many letters x as the span is long; quotation marks stay."""
    text = span[0]
    if text.startswith("`"):
        return "x" * len(text)
    return f"{text[0]}{'x' * (len(text) - 2)}{text[-1]}"


_MAX_SENTENCES = 4
_MAX_LINES = 100
_MAX_READ_CHARS = 2_400
_MAX_CLOSING_CHARS = 600
_SIGNS = {
    code: frozenset(signs.split())
    for code, signs in tomllib.loads(
        Path(__file__).with_name("languages.toml").read_text("utf-8")
    ).items()
}
_NOTHING = r"(?!)"
_LINE_BREAK = re.compile(r"\n\s*")
_NAME = re.compile(r"\{([a-z_]+)\}")
_WORD = re.compile(r"[^\W\d_]+'?")
_LETTER = re.compile(r"[^\x00-\x7f]")
_MASK = re.compile(r"x{2,}")
_APOSTROPHES = str.maketrans("\u2018\u2019", "''")
_MARKS = re.compile(
    r"[*_`#]+|[\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200d\U0001f000-\U0001faff]+"
)
"""Of Markdown, and arrows, symbols and emojis."""
_HAN_OR_KANA_SPACE = re.compile(
    r"(?<=[\u3040-\u30ff\u4e00-\u9fff\uff0c\u3001]) +| +(?=[\u3040-\u30ff\u4e00-\u9fff])"
)
"""Chinese and Japanese may put a space beside Latin words; it says nothing."""
_EDGE = re.compile(r"^[^\w•]+|\s+$")
_LIST_ITEM = re.compile(r"^(?:[-*+•]|\d{1,3}[.)])\s")
_SPAN = re.compile(
    r"`[^`]{1,200}`|\"[^\"]{1,200}\"|“[^”]{1,200}”|„[^“”]{1,200}[“”]|«[^»]{1,200}»|»[^«]{1,200}«"
    r"|「[^」]{1,200}」|『[^』]{1,200}』|(?<!\w)'(?:[^']|(?<=\w)'(?=\w)){1,200}'(?!\w)"
)
_SENTENCE_END = re.compile(
    r"(?:(?<=[^\W\d_]|[)\"'”»`*_])|(?<=[^\W_]\d))[.!?…]+[)\"'”»`*_]*\s+"
    r"|(?<=\S) [!?]+\s+"
    r"|[\u3002\uff01\uff1f]+[」』\uff09)*_]*\s*"
)
"""French puts a space before its marks; Chinese and Japanese put none after theirs."""
