"""The goal of a turn, and how to tell that it was reached. Source: S4."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field, ValidationError

from agent_ls.domain.errors import SettingsError
from agent_ls.domain.mistakes import mistakes
from agent_ls.domain.record import Record


def _from_text(value: object) -> object:
    return {"text": value} if isinstance(value, str) else value


class Criterion(Record):
    """One thing that must be true in the end."""

    text: str = Field(min_length=1)
    command: str = ""
    """Proves it by exiting with 0; empty: it is judged, not run."""


class Goal(Record):
    """A goal with its acceptance criteria, constraints and required tests."""

    text: str = Field(min_length=1)
    acceptance: tuple[Annotated[Criterion, BeforeValidator(_from_text)], ...] = ()
    """A plain text stands for a criterion without a command."""
    constraints: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    """Commands that must exit with 0."""

    @property
    def commands(self) -> tuple[str, ...]:
        """Return every command that must succeed: the criteria's, then the tests, each once."""
        of_criteria = (one.command for one in self.acceptance if one.command)
        return tuple(dict.fromkeys((*of_criteria, *self.tests)))

    @property
    def judged(self) -> tuple[str, ...]:
        """Return the criteria that no command can prove."""
        return tuple(one.text for one in self.acceptance if not one.command)

    def as_prompt(self, words: str = "") -> str:
        """Return the prompt for the model: the goal, its criteria, then further text."""
        parts = [self.text.strip()]
        if self.acceptance:
            parts.append("Acceptance criteria:\n" + "\n".join(map(_line, self.acceptance)))
        if self.constraints:
            parts.append("Constraints:\n" + "\n".join(f"- {one}" for one in self.constraints))
        if self.tests:
            tests = "\n".join(f"- `{one}`" for one in self.tests)
            parts.append(f"Required tests, each has to exit with 0:\n{tests}")
        if words.strip():
            parts.append(words.strip())
        return "\n\n".join(parts)

    def as_typed(self) -> str:
        """Return the goal as a user types it; one with odd lines reads back as another goal."""
        lines = [f"/goal {self.text.strip()}"]
        for one in self.acceptance:
            lines.append(f"- {one.text} `{one.command}`" if one.command else f"- {one.text}")
        lines += [f"! {one}" for one in self.constraints]
        lines += [f"$ {one}" for one in self.tests]
        return "\n".join(lines)


def _line(criterion: Criterion) -> str:
    proof = f" (proven by `{criterion.command}`)" if criterion.command else ""
    return f"- {criterion.text}{proof}"


class Proof(Record):
    """Whether one command or criterion of the goal holds, and how that is known."""

    of: str
    """The command, or the criterion's text."""
    is_met: bool
    by: Literal["command", "model"]
    exit_code: int | None = None
    """Of a command; None for a judgement, and for a command that did not run to its end."""
    evidence: str = ""
    """The end of the output, or the model's reason."""


def parse_goal(text: str, *, name: str) -> Goal:
    """Parse a goal file: JSON when it begins with ``{``, else TOML.

    The keys are those of ``Goal``; ``goal`` is accepted for ``text``.
    Errors: ``SettingsError`` that names the file, the key and what is wrong.
    """
    try:
        data: Any = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except ValueError as error:
        raise SettingsError(f"{name} is neither TOML nor JSON: {error}.") from None
    return goal_from(cast("Mapping[str, Any]", data), name=name)


def goal_from(data: Mapping[str, Any], *, name: str) -> Goal:
    """Build a goal from these values; errors as for ``parse_goal``."""
    values = dict(data)
    called = "text" if "text" in values else "goal"
    if "goal" in values and called == "goal":
        values["text"] = values.pop("goal")
    try:
        return Goal.model_validate(values)
    except ValidationError as error:
        wrong = "; ".join(
            f"{called if where in ('', 'text') else where}: {why}" for where, why in mistakes(error)
        )
        raise SettingsError(
            f"{name}: {wrong}. A goal has `goal`, and may have `acceptance`, "
            "`constraints` and `tests`."
        ) from None


def split_goal(prompt: str) -> tuple[str, Goal | None]:
    """Split a prompt that a user typed into its text and its goal; one of them is empty.

    Only for text the user typed. A goal's commands run because the user wrote them, so text
    from files, comments and other programs must never become a goal.
    """
    goal = goal_in(prompt)
    return (prompt, None) if goal is None else ("", goal)


def goal_in(prompt: str) -> Goal | None:
    """Parse a prompt that begins with ``/goal``; None for any other prompt.

    A line ``- …`` is a criterion, with its command in backquotes at the end if it has one. ``! …``
    is a constraint, ``$ …`` a required test; other lines belong to the goal.
    """
    begun = _COMMAND.match(prompt.strip())
    if begun is None:
        return None
    said: list[str] = []
    criteria: list[Criterion] = []
    marked: dict[str, list[str]] = {"!": [], "$": []}
    for line in map(str.strip, begun[1].splitlines()):
        mark, _, text = line.partition(" ")
        if mark in ("-", "*") and text.strip():
            found = _WITH_COMMAND.fullmatch(text.strip())
            criteria.append(
                Criterion(text=found[1], command=found[2]) if found else Criterion(text=text)
            )
        elif mark in marked and text.strip():
            marked[mark].append(text.strip())
        else:
            said.append(line)
    text = "\n".join(said).strip()
    if not text:
        return None
    return Goal(
        text=text,
        acceptance=tuple(criteria),
        constraints=tuple(marked["!"]),
        tests=tuple(marked["$"]),
    )


_COMMAND = re.compile(r"/goal\s+(.+)", re.DOTALL)
_WITH_COMMAND = re.compile(r"(.+?)[\s:(]*`([^`]+)`[).]*")
