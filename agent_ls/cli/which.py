"""Tells a command from words for the model, and a misspelt one from both.

``agent-ls "fix the tests"`` is a prompt and ``agent-ls sesions`` is a mistake: a mistake must not
be sent to a model, which costs money and may change files.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

_NEAR = 0.7
"""How alike a word and a command are for one to be meant as the other."""
_FIRST_WORD_NEAR = 0.8
"""The same where more words follow, which a prompt has and a command seldom."""


class UnknownCommand(Exception):
    """A word that is no command and no prompt; its text says what to do."""


class Words(NamedTuple):
    """What stands on the command line beside options."""

    first: int
    """Where in the list the first word is; -1: there is none."""
    words: tuple[str, ...]


def words_in(arguments: Sequence[str], valued: Collection[str]) -> Words:
    """Return the words of a command line; ``valued`` are the options that take a value."""
    found: list[str] = []
    first, skip = -1, False
    for index, one in enumerate(arguments):
        if skip:
            skip = False
        elif one.startswith("-") and one != "-":
            skip = one in valued
        else:
            first = index if first < 0 else first
            found.append(one)
    return Words(first, tuple(found))


def meant(
    arguments: Sequence[str], commands: Collection[str], valued: Collection[str]
) -> list[str]:
    """Return the command line with the command that it leaves out: ``run`` or ``chat``.

    Errors: ``UnknownCommand`` for a word that is neither a command nor a prompt.
    """
    given = words_in(arguments, valued)
    if arguments and arguments[0] in commands:
        return list(arguments)
    if given.first < 0:
        if any(one in ("-h", "--help", "--version") for one in arguments):
            return list(arguments)
        return ["chat", *arguments]
    first = given.words[0]
    if first == "help":
        return [*[one for one in given.words[1:] if one in commands][:1], "--help"]
    if first in commands:
        after = " ".join([first, *arguments[: given.first], *arguments[given.first + 1 :]])
        raise UnknownCommand(f"options stand behind the command: agent-ls {after}")
    if _is_prompt(given.words, commands):
        return ["run", *arguments]
    near = nearest(first, commands)
    did = f"Did you mean `agent-ls {near}`? " if near else "`agent-ls --help` lists the commands. "
    quoted = " ".join(given.words)
    raise UnknownCommand(
        f"there is no command {first!r}. {did}To say it to the model: agent-ls run {quoted!r}"
    )


def _is_prompt(words: Sequence[str], commands: Collection[str]) -> bool:
    """Say whether words without a command are a prompt.

    One with a blank was quoted, and one that begins with ``/`` calls a custom command. A single
    bare word is a mistake far more often, save in scripts that are written without blanks.
    """
    first = words[0]
    if any(one.isspace() for one in first.strip()) or first == "-":
        return True
    if first.startswith(("/", "@")) or not first.isascii():
        return True
    if len(words) == 1:
        return False
    # Here and below, because most command lines are right and load none of it.
    from difflib import SequenceMatcher

    best = max(SequenceMatcher(None, first.lower(), one).ratio() for one in commands)
    return best < _FIRST_WORD_NEAR


def nearest(word: str, known: Collection[str]) -> str:
    """Return the known word that is most like a misspelt one; empty if none is like it."""
    typed = word.lower()
    from difflib import get_close_matches

    # Two letters in the wrong order are the most frequent slip.
    swapped = next((one for one in known if sorted(one) == sorted(typed)), "")
    return swapped or next(iter(get_close_matches(typed, known, 1, _NEAR)), "")
