"""Did the answer announce an action without calling a tool?

The phrases are in ``announcements.toml``. When in doubt, the answer passes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.modes import Mode
from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import GateVerdict, Nudge, Pass
from agent_ls.loop.evidence.wishes import wants_no_action
from agent_ls.loop.state.view import TurnView


class IncompleteActionOptions(Record):
    """How often an announced action is asked for."""

    max_nudges: int = Field(default=2, ge=0)
    """In one turn, before it ends as ``incomplete_action``."""


@dataclass(frozen=True, slots=True)
class IncompleteAction:
    """Asks for the tool calls that an answer announced and did not make.

    Passes if the person asked the model to wait or only to answer, silenced this gate, or if the
    step had no tools. Source: seed 000, incomplete action check.
    """

    name: ClassVar[str] = "incomplete_action"
    stop: ClassVar[StopReason] = StopReason.INCOMPLETE_ACTION
    options: IncompleteActionOptions = IncompleteActionOptions()

    @property
    def cap(self) -> int:
        return self.options.max_nudges

    async def judge(self, answer: AssistantMessage, view: TurnView) -> GateVerdict:
        # In plan mode, announcing actions is the task.
        if view.is_silenced(self.name) or view.mode is Mode.PLAN or view.turn.text_only:
            return Pass()
        announced = announced_action(answer.text) or announced_elsewhere(answer.text)
        if announced is None or wants_no_action(view.user_words):
            return Pass()
        return Nudge(
            f"You wrote “{announced}” but called no tool, so nothing happened. "
            "Do it now, with tool calls. If everything the user asked for is already done, "
            "or you have to wait for the user, say that plainly instead.",
            shown=f"The agent wrote “{announced}” and did nothing.",
        )


Phrases = Mapping[str, re.Pattern[str]]
"""A language's patterns, by name."""


def _phrases() -> Mapping[str, Phrases]:
    data = tomllib.loads(Path(__file__).with_name("announcements.toml").read_text("utf-8"))
    verbs: list[str] = data["en"].pop("verbs").split()
    acting = "|".join(rf"{verb.removesuffix('e')}\w?ing" for verb in verbs)
    data["en"] |= {"acting": acting, "act": "|".join((*verbs, acting))}
    return {name: _compiled(parts) for name, parts in data.items()}


def _compiled(parts: Mapping[str, str]) -> Phrases:
    def whole(text: str) -> str:
        return re.sub(r"\{([a-z]+)\}", lambda match: parts[match[1]], text)

    flags = re.IGNORECASE | re.VERBOSE
    return {name: re.compile(whole(text), flags) for name, text in parts.items()}


PHRASES = _phrases()
"""By language. Read on import: it takes 25 ms, for which a turn would hold the event loop."""


def announced_action(text: str) -> str | None:
    """Return the last announced action, unless a report or a question follows it."""
    english = PHRASES["en"]
    announced: str | None = None
    has_reported = False
    for sentence in _last_sentences(text):
        intent = max((match.start() for match in english["intent"].finditer(sentence)), default=-1)
        report = _report_start(sentence)
        has_reported = has_reported or report >= 0
        if english["hands_over"].search(sentence) or report > intent:
            announced = None
        elif intent >= 0 or (not has_reported and english["next_step"].search(sentence)):
            announced = sentence
    return announced[:_MAX_QUOTED_CHARS] if announced else None


def announced_elsewhere(text: str) -> str | None:
    """Return the action that the end of a text announces in a language other than English."""
    sentences = [part for one in _last_sentences(text) for part in _UNSPACED_END.split(one) if part]
    found = (
        _announced_in(language, sentences) for name, language in PHRASES.items() if name != "en"
    )
    return next((one[:_MAX_QUOTED_CHARS] for one in found if one), None)


def _announced_in(language: Phrases, sentences: list[str]) -> str | None:
    announced: str | None = None
    for sentence in sentences[-_MAX_SENTENCES:]:
        if language["settles"].search(sentence):
            announced = None
        elif language["announces"].search(sentence):
            announced = sentence.strip()
    return announced


def _last_sentences(text: str) -> list[str]:
    """Return the last sentences, without code and quotes; list items are joined to their lead."""
    prose: list[list[str]] = []
    is_code = False
    for line in text.replace("’", "'").splitlines():
        line = line.strip()
        if line.startswith(("```", "~~~")):
            is_code = not is_code
        if is_code or line.startswith(("```", "~~~", ">")):
            continue
        plain = " ".join(_MARKS.sub("", line).split())
        if prose and _LIST_ITEM.match(line):
            prose[-1].append(plain)
        elif plain:
            prose.append([plain])
    sentences = [one for lines in prose for one in _SENTENCE_END.split(" ".join(lines)) if one]
    closing = [one[-_MAX_CLOSING_CHARS:] for one in sentences[-_MAX_SENTENCES:]]
    while len(closing) > 1 and sum(map(len, closing)) > _MAX_CLOSING_CHARS:
        closing.pop(0)
    return closing


def _report_start(sentence: str) -> int:
    """Return where a sentence last says that something is done, not will or may be; else -1."""
    english = PHRASES["en"]
    starts = [match.start() for match in english["report"].finditer(sentence)]
    return max((at for at in starts if not english["not_yet"].search(sentence[:at])), default=-1)


_MAX_QUOTED_CHARS = 200
_MAX_SENTENCES = 4
_MAX_CLOSING_CHARS = 800
_MARKS = re.compile(r"[*_`#]+")
_LIST_ITEM = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s")
_SENTENCE_END = re.compile(r"(?<=[^\W\d_][.!?…])\s+|(?<=[)\"'”»][.!?…])\s+")
_UNSPACED_END = re.compile(r"(?<=[\u3002\uff01\uff1f])")
"""After a Chinese or Japanese full stop, exclamation or question mark: no space follows."""
