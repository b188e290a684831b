"""Did the answer announce an action without calling a tool?

Owns the English phrases of announcements and reports; ``loop/evidence/announcements.py`` has those
of other languages. When in doubt, the answer passes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.modes import Mode
from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import GateVerdict, Nudge, Pass
from agent_ls.loop.evidence.announcements import LANGUAGES, UNSPACED_END, Language
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


def announced_action(text: str) -> str | None:
    """Return the last announced action, unless a report or a question follows it."""
    announced: str | None = None
    has_reported = False
    for sentence in _last_sentences(text):
        intent = _last_start(_INTENT, sentence)
        report = _report_start(sentence)
        has_reported = has_reported or report >= 0
        if _HANDS_OVER.search(sentence) or report > intent:
            announced = None
        elif intent >= 0 or (not has_reported and _NEXT_STEP.search(sentence)):
            announced = sentence
    return announced[:_MAX_QUOTED_CHARS] if announced else None


def announced_elsewhere(text: str) -> str | None:
    """Return the action that the end of a text announces in a language other than English."""
    sentences = [part for one in _last_sentences(text) for part in UNSPACED_END.split(one) if part]
    found = (_announced_in(language, sentences) for language in LANGUAGES.values())
    return next((one[:_MAX_QUOTED_CHARS] for one in found if one), None)


def _announced_in(language: Language, sentences: list[str]) -> str | None:
    announced: str | None = None
    for sentence in sentences[-_MAX_SENTENCES:]:
        if language.settles.search(sentence):
            announced = None
        elif language.announces.search(sentence):
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


def _last_start(pattern: re.Pattern[str], sentence: str) -> int:
    return max((match.start() for match in pattern.finditer(sentence)), default=-1)


def _report_start(sentence: str) -> int:
    """Return where a sentence last says that something is done, not will or may be; else -1."""
    starts = [match.start() for match in _REPORT.finditer(sentence)]
    return max((at for at in starts if not _NOT_YET.search(sentence[:at])), default=-1)


_MAX_QUOTED_CHARS = 200
_MAX_SENTENCES = 4
_MAX_CLOSING_CHARS = 800
_MARKS = re.compile(r"[*_`#]+")
_LIST_ITEM = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s")
_SENTENCE_END = re.compile(r"(?<=[^\W\d_][.!?…])\s+|(?<=[)\"'”»][.!?…])\s+")

_ACTIONS = (
    "add adjust analy[sz]e apply begin build change check clean continue convert correct create "
    "debug delete edit examine execute explore extract fetch find finish fix generate get grep "
    "implement insert inspect install investigate list locate look make modify move open patch "
    "proceed put read refactor remove rename replace restore resolve revert review rewrite run "
    "scan search see set split start switch test trace try update use verify view write"
)
_ACTING = "|".join(rf"{one.removesuffix('e')}\w?ing" for one in _ACTIONS.split())
_ACT = "|".join((*_ACTIONS.split(), _ACTING))
_FILLER = (
    "now|next|then|also|first|just|quickly|simply|immediately|actually|carefully|start by|begin by|"
    "start with|go ahead and|proceed to|proceed by|continue to|continue by|try to|need to|have to|"
    "be|do the following|again"
)
_INTENT = re.compile(
    r"\b(?:i'll|i will|we'll|we will|i'm going to|i am going to|i'm about to|i am about to|let me|"
    r"let's|i need to|i still need to|i have to|i still have to|i should now|i can now|"
    r"my next step (?:is|will be) to|i\b[^.;]{0,120}? and will)"
    rf"(?:[:,]? (?:{_FILLER}))*[:,]? (?:\d{{1,3}}[.)] |[-+•] )?(?:{_ACT})\b"
    r"|^(?:ok(?:ay)?,? |now,? |next,? |then,? )*"
    r"(?:(?:continuing|proceeding)(?: now| with| to| on|[.…]|$)|moving on to\b|resuming\b|"
    r"working on (?:it|that|this)\b)"
    rf"|^now,? (?:{_ACTING})\b"
    rf"|^(?:next,? |then,? |first,? )?(?:{_ACTING})\b.*(?:\.\.\.|…|:| now[.!]?)$"
    r"|\bi(?:'ve| have)? (?:ran|run) out of (?:my )?(?:budget|time|steps|tokens|turns)\b",
    re.IGNORECASE,
)
_NEXT_STEP = re.compile(rf"\bnext step (?:is|will be) to (?:{_ACT})\b", re.IGNORECASE)
_DONE_TO_IT = (
    "added|adjusted|applied|changed|cleaned|completed|converted|corrected|created|deleted|edited|"
    "extracted|finished|fixed|implemented|installed|made|modified|moved|patched|refactored|removed|"
    "renamed|replaced|restored|resolved|reverted|rewritten|rewrote|saved|updated|verified|written|"
    "wrote"
)
_REPORT = re.compile(
    r"\b(?:done|completed?|finished|saved|ready|works|successfully|in place|(?:is|are) now|"
    rf"(?:has|have|were|was) (?:now |also |all )?(?:been )?(?:{_DONE_TO_IT})|"
    rf"i(?:'ve| have)? (?:now |also |just |already |successfully )*(?:{_DONE_TO_IT})|"
    r"(?:tests?|checks?|everything) (?:now |all )?pass(?:es|ed)?|"
    r"nothing (?:else |more |left |further )*to (?:do|change|fix)|"
    r"no (?:further |more |other )?(?:changes|work|action) (?:(?:is|are|was|were) )?"
    r"(?:needed|necessary|required))\b",
    re.IGNORECASE,
)
_NOT_YET = re.compile(
    r"(?:\b(?:will|would|should|could|can|cannot|must|to|once|when|after|until|before|if|whether|"
    r"not|never|let)|'ll|n't)(?: [^\s:;,]+){0,5} $",
    re.IGNORECASE,
)
_HANDS_OVER = re.compile(
    r"\?[\"')”]*$|\b(?:please (?:confirm|approve)|(?:you|to) (?:confirm|approve)|"
    r"let me know (?:if you(?:'d| would)? (?:like|want|prefer|agree)|which|whether|how|what|when)|"
    r"tell me (?:if|which|whether|how|what|when)|"
    r"(?:i'll|i will|i'm|i am) (?:now )?(?:wait|hold|stand by|pause|stop|await)|"
    r"(?:await|wait)(?:ing)? (?:for )?(?:you|your|further)\b|"
    r"(?:once|when|after|as soon as|unless|until|whenever) you(?:r|'d|'re)?\b|"
    r"if you(?:r|'d|'re)?\b(?! need any| have any)|"
    r"just say|say the word|with your (?:ok|okay|approval|permission|go-ahead)|"
    r"would you like|do you want|if (?:needed|necessary|desired|wanted))",
    re.IGNORECASE,
)
