"""Walks a tree of commands like a shell, with every folder and variable value it may have.

A command may fail, so what follows it is judged for both. Owns the order and the state; ``judge``
decides what a command may do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import assert_never

from agent_ls.safety.flags import MustAskError, words
from agent_ls.safety.operands import Reach
from agent_ls.safety.shell_tree import (
    Assignment,
    Command,
    Element,
    For,
    Group,
    If,
    Pipeline,
    Sequence,
    WhileRead,
)
from agent_ls.safety.shell_words import NUMBER, TEXT, Word

_MAX_STEPS = 2_000
_MAX_STATES = 16
_NAME = re.compile(r"[a-z][a-z0-9_]*|[A-Z]")
_NAMES = words("DIR FILE FILES NAME SRC ROOT BASE OUT COUNT MSG PATTERN TARGET VERSION")
_SPECIAL = frozenset({"auto_resume", "histchars"})
_TAKES_TEXT = frozenset({"test", "[", "[[", "echo", "printf"})
_TAKES_NUMBERS = frozenset({"exit", "test", "[", "[[", "echo", "printf"})


@dataclass(frozen=True, slots=True)
class State:
    """The shell's working directory and variables."""

    reach: Reach
    variables: tuple[tuple[str, str], ...] = ()

    def filled(self, word: Word) -> Word:
        """Return a word with the values of its variables.

        Errors: ``MustAskError`` for one that is not known.
        """
        special = {"?": NUMBER, "$": NUMBER, "#": "0", "PWD": str(self.reach.folder)}
        return word.filled({**special, **dict(self.variables)})

    def assigned(self, name: str, value: str) -> State:
        """Return the state after an assignment."""
        kept = {**dict(self.variables), name: value}
        return replace(self, variables=tuple(sorted(kept.items())))


@dataclass(frozen=True, slots=True)
class Step:
    """One simple command with expanded words."""

    name: str
    arguments: tuple[Word, ...]
    reads: tuple[Word, ...] = ()
    writes: tuple[Word, ...] = ()
    sets: tuple[str, ...] = ()
    feed: tuple[Step, ...] | None = None
    """The commands whose output is its input; None when that is not a pipe of plain commands."""

    @property
    def values(self) -> list[str]:
        """Return the arguments' values."""
        return [word.value for word in self.arguments]


States = tuple[State, ...]
_Outcome = tuple[States, States]
"""The states after success and after failure."""


@dataclass(slots=True)
class Walk:
    """One walk through a tree, with a limit on its steps."""

    judge: Callable[[Step, Reach], None]
    """Raises ``MustAskError`` for a step that must not run unasked."""
    _steps: int = 0

    def sequence(self, tree: Sequence, states: States) -> _Outcome:
        """Judge all commands of a sequence.

        Errors: ``MustAskError``, and what the judge raises.
        """
        good, bad = states, states
        for pipeline in tree:
            match pipeline.connector:
                case "&&":
                    good, failed = self._pipeline(pipeline, good)
                    bad = _joined(bad, failed)
                case "||":
                    done, bad = self._pipeline(pipeline, bad)
                    good = _joined(good, done)
                case "" | ";":
                    good, bad = self._pipeline(pipeline, _joined(good, bad))
                case _:
                    assert_never(pipeline.connector)
        return good, bad

    def _pipeline(self, pipeline: Pipeline, states: States) -> _Outcome:
        if len(pipeline.elements) == 1:
            good, bad = self._element(pipeline.elements[0], states, ())
            return (bad, good) if pipeline.is_negated else (good, bad)
        for place, element in enumerate(pipeline.elements):
            if isinstance(element, Command) and element.words[0].value == "cd":
                raise MustAskError("cd stands in a pipe")
            self._element(element, states, pipeline.elements[:place])
        return states, states

    def _element(self, element: Element, states: States, feed: tuple[Element, ...]) -> _Outcome:
        match element:
            case Command():
                return self._command(element, states, feed)
            case Assignment():
                return self._assignment(element, states)
            case Group():
                good, bad = self.sequence(element.body, states)
                return (states, states) if element.is_subshell else (good, bad)
            case For():
                after = _joined(*(self._for(element, state) for state in states))
                return after, after
            case If():
                return self._if(element, states)
            case WhileRead():
                after = self._while_read(element, states)
                return after, after
            case _:
                assert_never(element)

    def _command(self, command: Command, states: States, feed: tuple[Element, ...]) -> _Outcome:
        moved: list[State] = []
        for state in states:
            self._steps += 1
            if self._steps > _MAX_STEPS:
                raise MustAskError("it does more than can be checked")
            self._judge_printed(command, (state,))
            step = _step(command, state, feed)
            if step.name == "cd":
                moved.append(replace(state, reach=_changed(step, state.reach)))
            else:
                self.judge(step, state.reach)
        return (_joined(moved), states) if moved else (states, states)

    def _judge_printed(self, element: Command | Assignment, states: States) -> None:
        """Judge what runs first, in subshells, to print parts of the words."""
        for body in element.printed:
            self.sequence(body, states)

    def _assignment(self, assignment: Assignment, states: States) -> _Outcome:
        self._judge_printed(assignment, states)
        name = assignment.name
        _check_name(name)
        done = _joined(
            state.assigned(name, state.filled(assignment.value).value) for state in states
        )
        return done, done

    def _for(self, loop: For, state: State) -> States:
        _check_name(loop.name)
        values = expanded(map(state.filled, loop.words), state.reach)
        now: States = (state,)
        for value in values:
            now = _joined(one.assigned(loop.name, value) for one in now)
            now = _joined(*self.sequence(loop.body, now))
        return now

    def _while_read(self, loop: WhileRead, states: States) -> States:
        for name in loop.names:
            _check_name(name)
        # A command that only opens the file stands for its reading.
        self._command(Command((Word(":", 0, 0),), loop.reads), states, ())
        now: States = ()
        after = _read(loop.names, states)
        while now != after:
            now = after
            after = _joined(now, _read(loop.names, _joined(*self.sequence(loop.body, now))))
        return now

    def _if(self, branch: If, states: States) -> _Outcome:
        ended: list[States] = []
        for condition, body in branch.branches:
            good, states = self.sequence(condition, states)
            ended += self.sequence(body, good)
        ended += self.sequence(branch.otherwise, states) if branch.otherwise else [states]
        after = _joined(*ended)
        return after, after


def expanded(arguments: Iterable[Word], reach: Reach) -> list[str]:
    """Return the words with patterns replaced by the files they match, as the shell would.

    Errors: ``MustAskError`` for a pattern that could match what must not be read.
    """
    values: list[str] = []
    for word in arguments:
        values += reach.fitting(word.value) if word.is_pattern else [word.value]
    return values


def _read(names: Iterable[str], states: States) -> States:
    """Return the states after ``read``: its variables hold any text."""
    for name in names:
        states = _joined(one.assigned(name, TEXT) for one in states)
    return states


def _joined(*some: Iterable[State]) -> States:
    found = tuple(dict.fromkeys(state for states in some for state in states))
    if len(found) > _MAX_STATES:
        raise MustAskError("where it would stand cannot be said")
    return found


def _check_name(name: str) -> None:
    """Refuse to assign variables that a shell or a program may interpret."""
    if name in _SPECIAL or not (_NAME.fullmatch(name) or name in _NAMES):
        raise MustAskError(f"it assigns {name}")


def _step(command: Command, state: State, feed: tuple[Element, ...] = ()) -> Step:
    first, *rest = command.words
    if not first.is_plain or (first.is_pattern and first.value not in ("[", "[[")):
        raise MustAskError("the program's name is written in a roundabout way")
    arguments = tuple(map(state.filled, rest))
    reads, writes = (tuple(map(state.filled, files)) for files in (command.reads, command.writes))
    step = Step(first.value, arguments, reads, writes, command.sets, _fed(feed, state))
    _check_unknown(step)
    return step


def _check_unknown(step: Step) -> None:
    """Refuse what is known only at run time, except where any number or text is harmless."""
    if step.name not in _TAKES_TEXT and any(TEXT in value for value in step.values):
        raise MustAskError("it uses a text that only the running shell knows")
    if step.name not in _TAKES_NUMBERS and any(NUMBER in value for value in step.values):
        raise MustAskError(f"{step.name} gets a number that is not known")
    if any({NUMBER, TEXT} & set(word.value) for word in (*step.reads, *step.writes)):
        raise MustAskError("it reads or writes a file whose name is not known")


def _fed(feed: tuple[Element, ...], state: State) -> tuple[Step, ...] | None:
    commands = [one for one in feed if isinstance(one, Command)]
    if len(commands) < len(feed):
        return None
    return tuple(_step(one, state) for one in commands)


def _changed(step: Step, reach: Reach) -> Reach:
    others = (*step.reads, *step.writes, *step.sets)
    if len(step.arguments) != 1 or step.arguments[0].is_pattern or others:
        raise MustAskError("cd goes to a folder that is not plain")
    return reach.moved(step.arguments[0].value)
