"""A conversation document's text: its place on disk, its heading for the user's words, merging.

Pure but for ``place_of`` and ``rewrite``. The text above the heading is the server's, the text
below it the user's.
"""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import platformdirs

from agent_ls.domain.edits import Replacement
from agent_ls.safety.text import visible

ENDING = ".agent-ls.md"
HEADING = "# Write here, then take the code action Send"
"""The last heading. ``plain_lines`` keeps it out of everything above."""

_HEADING_LINE = re.compile(rf"^{re.escape(HEADING)}[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---\r?\nsession: (ses_\w+)\r?\n---\r?$", re.MULTILINE)
_NAME_CHARACTERS = 6
"""How many final characters of a session's id name its document, as in lists of sessions."""


@dataclass(frozen=True, slots=True)
class Region:
    """Lines of a page, 0-based and inclusive."""

    first: int
    last: int
    name: str = ""
    """A turn's title, a waiting subject's id, or for a link a file's URI or a turn's id."""
    start: int = 0
    end: int = 0
    """A link's words in its line, in code points."""

    def moved(self, lines: int) -> Region:
        """Return the region so many lines further down."""
        return replace(self, first=self.first + lines, last=self.last + lines)


@dataclass(slots=True)
class Page:
    """The rendered text of a session, and what stands where in it."""

    lines: list[str] = field(default_factory=list[str])
    turns: list[Region] = field(default_factory=list[Region])
    steps: list[Region] = field(default_factory=list[Region])
    waiting: list[Region] = field(default_factory=list[Region])
    links: list[Region] = field(default_factory=list[Region])

    @property
    def text(self) -> str:
        """Return the whole text up to and with the last heading."""
        return "".join(f"{line}\n" for line in self.lines)

    @property
    def is_list_item(self) -> bool:
        """Say whether it is one line of a list."""
        return len(self.lines) == 1 and self.lines[0].startswith("- ")

    def add(self, other: Page) -> None:
        """Append another page."""
        at = len(self.lines)
        self.lines += other.lines
        self.turns += [one.moved(at) for one in other.turns]
        self.steps += [one.moved(at) for one in other.steps]
        self.waiting += [one.moved(at) for one in other.waiting]
        self.links += [one.moved(at) for one in other.links]


def fenced(text: str, language: str) -> list[str]:
    """Return a text as lines of a Markdown code block that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return [f"{fence}{language}", *visible(text).strip("\n").split("\n"), fence]


def plain_lines(text: str) -> list[str]:
    """Return a text's lines with hidden characters shown, and none that is the last heading."""
    lines = visible(text.replace("\r\n", "\n")).strip("\n").split("\n")
    return [f"\\{one}" if one.startswith(HEADING) else one for one in lines]


def is_conversation(uri: str) -> bool:
    """Say whether a document is a conversation, by its name."""
    return uri.endswith(ENDING)


def place_of(session_id: str) -> Path:
    """Return where a session's document lies: its name is made of the id alone."""
    name = session_id[-_NAME_CHARACTERS:].lower() + ENDING
    return platformdirs.user_state_path("agent-ls") / name


def shown_place(session_id: str) -> str:
    """Return the same as a user writes it, with ``~`` for their home."""
    place = place_of(session_id)
    home = Path.home()
    return f"~/{place.relative_to(home)}" if place.is_relative_to(home) else str(place)


def front_matter(session_id: str) -> list[str]:
    """Return the first lines of a session's document."""
    return ["---", f"session: {session_id}", "---", ""]


def session_named(text: str) -> str | None:
    """Return the session id in a document's front matter; it counts only at its own place."""
    found = _FRONT_MATTER.search(text)
    return found[1] if found else None


def words_below(text: str) -> str:
    """Return what the user wrote below the last heading, without blank ends."""
    start = start_below(text)
    return "" if start is None else text[start:].strip()


def start_below(text: str) -> int | None:
    """Return the offset where the user's words may begin; None without the last heading."""
    found = _HEADING_LINE.search(text)
    return found.end() if found else None


def merged(text: str, page: str, sent: str) -> str:
    """Return the page with the words that the user has below the heading of ``text``.

    ``sent`` are words that were sent and go, if they still begin what stands there. Without the
    heading everything that differs from the page is the user's.
    """
    found = _HEADING_LINE.search(text)
    at = found.end() if found else _equal_ends(text, page)[0]
    below = text[at:]
    words = below.lstrip()
    if sent and words.startswith(sent):
        below = below[: len(below) - len(words)] + words.removeprefix(sent)
    return page + (below if below.strip() else "\n")


def changes_of(text: str, wanted: str) -> tuple[Replacement, ...]:
    """Return the changes that make ``text`` the wanted text, sorted: above the heading and below.

    The heading's line itself stays, so that an editor's cursor below it moves along with it.
    """
    old, new = _HEADING_LINE.search(text), _HEADING_LINE.search(wanted)
    if old is None or new is None or old.group() != new.group():
        return _change_of(text, wanted, 0)
    return (
        *_change_of(text[: old.start()], wanted[: new.start()], 0),
        *_change_of(text[old.end() :], wanted[new.end() :], old.end()),
    )


def _change_of(text: str, wanted: str, offset: int) -> tuple[Replacement, ...]:
    if text == wanted:
        return ()
    head, tail = _equal_ends(text, wanted)
    # Whole lines, so that it begins and ends in none where the cursor may be.
    start = text.rfind("\n", 0, head) + 1
    tail = min(tail, len(text) - start, len(wanted) - start)
    end = len(text) - tail
    if end > 0 and text[end - 1] != "\n":
        end = text.find("\n", end) + 1 or len(text)
    new_text = wanted[start : len(wanted) - (len(text) - end)]
    return (Replacement(start=start + offset, end=end + offset, text=new_text),)


def _equal_ends(one: str, other: str) -> tuple[int, int]:
    """Return how many characters two texts share at their beginning and at their end."""
    from rapidfuzz.distance import Postfix, Prefix

    return Prefix.similarity(one, other), Postfix.similarity(one, other)


def rewrite(place: Path, page: str, sent: str) -> None:
    """Write the page to its file, readable by this user only; what the user wrote there stays.

    Errors: ``OSError``, and ``UnicodeDecodeError`` for a file that is no text.
    """
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    before = place.read_text(encoding="utf-8") if place.exists() else ""
    wanted = merged(before, page, sent)
    if wanted == before:
        return
    # In one go: a crash must not take the user's words.
    number, name = tempfile.mkstemp(dir=place.parent, prefix=".", suffix=ENDING)
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(wanted)
        Path(name).replace(place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
