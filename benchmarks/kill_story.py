"""The turn that `kills` cuts off: what its model says, the marks it leaves, what must hold after.

Every edit and every command leaves a mark of its own, which the model asks for exactly once. So a
mark that is there twice was made unasked, and one that was there and is gone was lost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_ls.domain import events as e
from agent_ls.domain.calls import Effect
from agent_ls.loop.state.folding import fold_all
from agent_ls.providers.scenario import Answer, Scenario, ScriptedCall
from agent_ls.providers.scripted import ScriptedModel
from agent_ls.providers.scripted_requests import RecordedRequest

RAN = "marks.ran"
"""Where the commands leave their marks."""
_MARK = re.compile(r"mark_\d+_\d+")
_ROUND = re.compile(r"round (\d+)")


@dataclass(frozen=True)
class Round:
    """One turn's files and marks; no other round touches them."""

    number: int

    @property
    def prompt(self) -> str:
        return f"Carry out round {self.number} to its end."

    @property
    def ending(self) -> str:
        """The checkers look at Python, in every fourth round."""
        return "py" if self.number % 4 == 0 else "md"

    @property
    def open_file(self) -> str:
        return f"open_{self.number}.{self.ending}"

    @property
    def closed_file(self) -> str:
        return f"closed_{self.number}.{self.ending}"

    @property
    def deleted_file(self) -> str:
        return f"deleted_{self.number}.txt"

    @property
    def moved_file(self) -> str:
        return f"moved_{self.number}.txt"

    @property
    def new_name(self) -> str:
        return f"renamed_{self.number}.txt"

    def mark(self, place: int) -> str:
        return f"mark_{self.number}_{place}"

    def write_files(self, root: Path) -> None:
        slots = "".join(f"# slot {place}\n" for place in (1, 2, 5, 7))
        (root / self.open_file).write_text(slots)
        (root / self.deleted_file).write_text("to be deleted\n")
        (root / self.moved_file).write_text("to be moved\n")

    def answers(self) -> tuple[Answer, ...]:
        """Return what the model says, one answer a step."""
        return (
            _calls(_read(self.open_file), _read(self.deleted_file), _read(self.moved_file)),
            _calls(self._edit(self.open_file, 1), self._edit(self.open_file, 2)),
            _calls(
                _call(
                    "write_file",
                    path=self.closed_file,
                    content=f"# slot 4\n{self.mark(3)} = 3\n",
                ),
                self._command(10),
            ),
            _calls(self._edit(self.closed_file, 4), self._edit(self.open_file, 5)),
            _calls(
                _call("delete_file", path=self.deleted_file),
                _call("move_file", path=self.moved_file, new_path=self.new_name),
            ),
            _calls(self._command(11), _read(self.closed_file)),
            _calls(self._edit(self.open_file, 7)),
            Answer(text=f"Round {self.number} is over: every mark is set."),
        )

    def _edit(self, path: str, place: int) -> ScriptedCall:
        old = f"# slot {place}\n"
        # What it replaces stays, so that a second time would work and show.
        edit = {"old_string": old, "new_string": f"{old}{self.mark(place)} = {place}\n"}
        return _call("edit_file", path=path, edits=[edit])

    def _command(self, place: int) -> ScriptedCall:
        mark = self.mark(place)
        return _call("run_command", command=f"sleep 0.02; echo {mark} >> {RAN}; sleep 0.02")


def _call(tool: str, **arguments: object) -> ScriptedCall:
    return ScriptedCall.model_validate({"tool": tool, "arguments": arguments})


def _read(path: str) -> ScriptedCall:
    return _call("read_file", path=path)


def _calls(*calls: ScriptedCall) -> Answer:
    return Answer(call=calls)


class RoundModel(ScriptedModel):
    """Plays every round by what the conversation says, so that it goes on where that stands."""

    def __init__(self) -> None:
        super().__init__(Scenario(between_ms=2, delay_ms=5, chunk=32))

    async def take(self, request: RecordedRequest) -> Answer | None:
        """Return the answer of the step that the conversation has come to."""
        found = _ROUND.search(request.first_user_text)
        if not request.tools or found is None:
            return self.scenario.settled(Answer(text="Nothing to add."))
        steps = sum(1 for one in request.messages if one.get("tool_calls"))
        answers = Round(int(found[1])).answers()
        return self.scenario.settled(answers[min(steps, len(answers) - 1)])


def marks_in(root: Path, buffers: Sequence[str]) -> Counter[str]:
    """Return how often each mark is there: in the buffers, and in the files that are not open."""
    texts = list(buffers)
    open_marks = {mark for text in texts for mark in _MARK.findall(text)}
    # A server that was killed leaves the empty folders that keep names absent for a command.
    for place in filter(Path.is_file, root.iterdir()):
        if place.suffix in (".py", ".md", ".ran"):
            found = _MARK.findall(place.read_text())
            texts.append("\n".join(mark for mark in found if mark not in open_marks))
    return Counter(mark for text in texts for mark in _MARK.findall(text))


@dataclass(frozen=True)
class Before:
    """What was certain when the server died."""

    journal: Sequence[e.StoredEvent]
    marks: Counter[str]
    was_answered: bool
    """The client knew that its prompt had been taken."""

    @property
    def is_open(self) -> bool:
        return fold_all(self.journal).is_running

    def lost(self, round_: Round, root: Path, marks: Counter[str]) -> Iterator[str]:
        """Yield each acknowledged edit that is not there any more."""
        yield from (f"{mark} is gone" for mark in self.marks if not marks[mark])
        for edit in _applied(self.journal):
            path = edit.edit.path
            for mark in _MARK.findall(edit.edit.model_dump_json()):
                if not marks[mark]:
                    yield f"{mark}, which the journal has as applied, is gone"
            if edit.edit.kind == "delete" and (root / path).exists():
                yield f"{path} is there again"
            if edit.edit.kind == "move" and not (root / round_.new_name).exists():
                yield f"{path} has gone on its way"


def _applied(journal: Sequence[e.StoredEvent]) -> Iterator[e.EditIntended]:
    intents: dict[tuple[str, str], e.EditIntended] = {}
    for stored in journal:
        match stored.event:
            case e.EditIntended() as intent:
                intents[intent.call_id, intent.edit.path] = intent
            case e.EditApplied(call_id=call_id, path=path, status="applied"):
                yield intents[call_id, path]
            case _:
                pass


def rerun(journal: Sequence[e.StoredEvent], marks: Counter[str]) -> Iterator[str]:
    """Yield each write or command that happened more often than it was asked for."""
    yield from (f"{mark} is there {count} times" for mark, count in marks.items() if count > 1)
    starts = Counter(
        one.event.call_id
        for one in journal
        if isinstance(one.event, e.ToolCallStarted) and one.event.effect is not Effect.READ
    )
    yield from (f"{call} was started {count} times" for call, count in starts.items() if count > 1)


def broken(before: Sequence[e.StoredEvent], journal: Sequence[e.StoredEvent]) -> Iterator[str]:
    """Yield what is wrong with the journal of a session that was resumed to its end."""
    if list(journal[: len(before)]) != list(before):
        yield "what was stored has changed"
    ends = [one.event for one in journal if isinstance(one.event, e.TurnEnded)]
    if len(ends) != 1 or ends[0].stop != "completed":
        yield f"it ended {[f'{one.stop} {one.failure_reason}' for one in ends]}"
    results = Counter(
        one.event.result.call_id for one in journal if isinstance(one.event, e.ToolCallFinished)
    )
    for stored in journal:
        if isinstance(stored.event, e.Answered):
            for call in stored.event.message.calls:
                if results[call.id] != 1:
                    yield f"{call.tool} {call.id} has {results[call.id]} results"
