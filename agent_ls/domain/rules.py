"""Rules by pattern: what a user always allows, wants to be asked for, or denies.

Owns the notation: ``run_command: pytest *``, ``edit: docs/**``, ``read: secrets/**``,
``tool: linear/*``, ``host: pypi.org``.
"""

from __future__ import annotations

import re
import shlex
from functools import cached_property, lru_cache
from typing import Annotated, Literal, cast, get_args

from pydantic import AfterValidator

from agent_ls.domain.record import Record, Trust

Decision = Literal["allow", "ask", "deny"]
Subject = Literal["run_command", "edit", "read", "tool", "host"]

GRANT = "rule "
"""What the name of a grant begins with when it is a rule by pattern."""
_SUBJECTS = get_args(Subject)
_DECISIONS = get_args(Decision)
_OTHER_NAMES: dict[str, Subject] = {
    **dict.fromkeys(("bash", "shell", "command"), "run_command"),
    **dict.fromkeys(("write", "multiedit", "notebookedit"), "edit"),
    **dict.fromkeys(("glob", "grep", "ls", "path"), "read"),
    **dict.fromkeys(("webfetch", "domain"), "host"),
    "mcp": "tool",
}
"""The well-known names of what a rule is about, in lower case."""
_CALLED = re.compile(r"(\w+)\s*\((.*)\)", re.DOTALL)
_NAMED = re.compile(r"(\w+)\s*:\s*(.+)", re.DOTALL)
_SERVER_TOOL = re.compile(r"mcp__(.+?)(?:__(.+))?")


class PatternRule(Record):
    """One decision on all calls that fit a pattern."""

    decision: Decision
    subject: Subject
    pattern: str
    """Of commands: words, a last ``*`` for any that follow. Of files: as in ``.gitignore``."""
    source: str = ""
    """Where it is written down, for a user."""

    @property
    def notation(self) -> str:
        """Return how a user writes it."""
        return f"{self.subject}: {self.pattern}"

    @property
    def grant(self) -> str:
        """Return its name as a grant."""
        return f"{GRANT}{self.notation}"

    @property
    def words(self) -> tuple[str, ...]:
        """Return the words of a command's pattern, without a last ``*``."""
        return _words(self.pattern)[0]

    @property
    def is_prefix(self) -> bool:
        """Say whether any words may follow."""
        return _words(self.pattern)[1]


@lru_cache(maxsize=1_000)
def _words(pattern: str) -> tuple[tuple[str, ...], bool]:
    try:
        found = shlex.split(pattern)
    except ValueError:
        found = pattern.split()
    is_prefix = found[-1:] == ["*"]
    return tuple(found[:-1] if is_prefix else found), is_prefix


@lru_cache(maxsize=1_000)
def parse_pattern(text: str) -> tuple[Subject, str]:
    """Return what a rule is about, and its pattern.

    Also reads the spelling of other agents, such as ``Bash(cargo test:*)``.
    Errors: ``ValueError`` for a text that is no rule.
    """
    text = text.strip()
    if server := _SERVER_TOOL.fullmatch(text):
        return "tool", f"{server[1]}/{server[2] or '*'}"
    found = _CALLED.fullmatch(text) or _NAMED.fullmatch(text)
    name, pattern = (found[1], found[2].strip()) if found else (text, "")
    subject = _OTHER_NAMES.get(name.lower(), name.lower())
    if subject not in _SUBJECTS:
        raise ValueError(
            f"{text[:100]!r} is no rule: write one as run_command: WORDS *, edit: PATH, "
            "read: PATH, tool: NAME or host: NAME"
        )
    return cast("Subject", subject), _plain(cast("Subject", subject), pattern)


def _plain(subject: Subject, pattern: str) -> str:
    match subject:
        case "run_command":
            pattern = re.sub(r"\s*:\*$", " *", pattern) or "*"
        case "edit" | "read":
            pattern = re.sub(r"^(?:\./)+", "/", pattern) or "**"
        case "host":
            pattern = pattern.removeprefix("domain:").strip().lower() or "*"
        case "tool":
            pattern = pattern or "*"
    if not pattern.isprintable() or pattern.startswith(("!", "#")):
        raise ValueError(f"{pattern[:100]!r} is no pattern")
    return pattern.strip()


def parse_rule(text: str) -> PatternRule:
    """Return a rule such as ``deny read: secrets/**``; without a decision it allows.

    Errors: ``ValueError`` for a text that is no rule.
    """
    first, _, rest = text.strip().partition(" ")
    decision = first.rstrip(":").lower()
    if decision not in _DECISIONS:
        decision, rest = "allow", text
    subject, pattern = parse_pattern(rest)
    return PatternRule(decision=cast("Decision", decision), subject=subject, pattern=pattern)


def granted_rule(grant: str) -> PatternRule | None:
    """Return the rule that a grant's name stands for; None for a grant of another kind."""
    if not grant.startswith(GRANT):
        return None
    try:
        return parse_rule(f"allow {grant.removeprefix(GRANT)}")
    except ValueError:
        return None


def _is_rule(text: str) -> str:
    parse_pattern(text)
    return text


class WrittenRule(Record):
    """A rule in a settings file."""

    text: Annotated[str, AfterValidator(_is_rule)]
    source: str = ""
    """The file, or whatever else it comes from."""


class RuleOptions(Record):
    """Rules by pattern; a denial wins over a question, and that over an allowance."""

    allow: Annotated[tuple[WrittenRule, ...], Trust.NEVER] = ()
    """What runs unasked, such as ``"run_command: pytest *"``."""
    ask: tuple[WrittenRule, ...] = ()
    """What asks in every mode."""
    deny: tuple[WrittenRule, ...] = ()
    """What never runs."""

    @cached_property
    def patterns(self) -> tuple[PatternRule, ...]:
        """Return all of them."""
        found: list[PatternRule] = []
        for decision, written in (("deny", self.deny), ("ask", self.ask), ("allow", self.allow)):
            for one in written:
                subject, pattern = parse_pattern(one.text)
                rule = PatternRule(
                    decision=cast("Decision", decision),
                    subject=subject,
                    pattern=pattern,
                    source=one.source,
                )
                found.append(rule)
        return tuple(found)
