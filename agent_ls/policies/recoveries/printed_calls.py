"""What to do when a model writes its tool calls into the text: take them, or ask again.

The formats and their reader are in ``loop/printed``. Calls with marks of their own count wherever
they end an answer, also after real calls. JSON or Python without such marks may be an example, so
it counts only if nothing suggests that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.events import ToolCallFinished
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import Accept, Fail, Promote, Reask, RecoveryVerdict, TakeCalls
from agent_ls.loop.evidence.user_intent import asks_about_calls, wants_no_action
from agent_ls.loop.extension_points import Attempt
from agent_ls.loop.printed.reading import Marked, read_marked, read_unmarked
from agent_ls.loop.state.view import TurnView

_MAX_UNMARKED_CALLS = 25
_EXAMPLE = re.compile(
    r"\b(?:e\.g|examples?|for instance|looks? like|would (?:be|look)|such as|format|syntax|schema|"
    r"you (?:can|could|would|should)|responses?|returns?)\b",
    re.IGNORECASE,
)
_QUOTED = "It stands in what a tool returned, so it may be a quotation."
_LEAST_QUOTED_CHARS = 12
_NO_WORDS = "(The model only wrote tool calls, which do not run in this step.)"


class PrintedCallsOptions(Record):
    """Whether text is looked through for calls."""

    enabled: bool = True
    """Read calls that a model printed instead of making them."""
    max_reasks: int = Field(default=2, ge=0)
    """How often, in one step, a call that cannot be read is asked for again.

    Then the turn ends as ``incomplete_action``.
    """


@dataclass(frozen=True, slots=True)
class PrintedCalls:
    """Takes calls from the text of an answer; an answer that holds marks of calls never counts.

    Source: local models without call support, and servers that do not parse all calls.
    """

    name: ClassVar[str] = "printed_calls"
    options: PrintedCallsOptions = PrintedCallsOptions()

    async def judge(self, attempt: Attempt, view: TurnView) -> RecoveryVerdict:
        has_calls = not view.turn.text_only and (attempt.calls or attempt.cut_calls)
        if not self.options.enabled or attempt.error is not None or has_calls:
            return Accept()
        marked = read_marked(attempt.text)
        is_cut = attempt.finish is FinishReason.LENGTH
        if marked is None:
            return Accept() if is_cut or view.turn.text_only else _unmarked(attempt.text, view)
        if view.turn.text_only:
            return self._words_alone(marked, view)
        if marked.calls and _is_quoted(attempt.text, marked.text, view):
            return self._again(_QUOTED, view)
        if marked.calls and not is_cut:
            return TakeCalls(calls=marked.calls, text=marked.text, is_certain=True)
        return self._again(_why_not(marked, is_cut=is_cut), view)

    def _words_alone(self, marked: Marked, view: TurnView) -> RecoveryVerdict:
        """Return the verdict in a step whose calls do not run."""
        if marked.text or view.recoveries(self.name) >= self.options.max_reasks:
            return Promote(marked.text or _NO_WORDS)
        return Reask(
            "Your answer was a tool call, and calls do not run in this step. "
            "Say in words what is done and what is not."
        )

    def _again(self, why: str, view: TurnView) -> RecoveryVerdict:
        if view.recoveries(self.name) >= self.options.max_reasks:
            return Fail(
                StopReason.INCOMPLETE_ACTION,
                "The model writes its tool calls into the text of its answer, in a form that "
                f"cannot be carried out: {why} Prompt again, use another model, or switch on the "
                "server's parser for this model's calls.",
            )
        return Reask(
            f"Your answer has a tool call in its text. {why} Nothing of it was run. Make the call "
            "as a tool call, alone at the end of your answer. To only show one, put it into a "
            "code block."
        )


def _is_quoted(text: str, words: str, view: TurnView) -> bool:
    """Say whether calls stand, line by line, in what a tool returned in this turn.

    Such calls may be another's, such as those of a file that the model was asked about.
    """
    calls = text.strip().removeprefix(words.strip())
    lines = ["".join(line.split()) for line in calls.splitlines()]
    lines = [line for line in lines if len(line) >= _LEAST_QUOTED_CHARS]
    results = (one.result.text for one in view.each(ToolCallFinished))
    returned = "".join("".join(results).split()) if lines else ""
    return bool(lines) and all(line in returned for line in lines)


def _why_not(marked: Marked, *, is_cut: bool) -> str:
    if is_cut:
        return "The output limit cut the answer off: use smaller arguments."
    if marked.is_broken:
        return "The call is not whole, or its arguments cannot be read."
    return "The text goes on after it, or only a part of it is there."


def _unmarked(text: str, view: TurnView) -> RecoveryVerdict:
    """Take JSON or Python that ends an answer, unless it may be meant as an example."""
    found = read_unmarked(text)
    if found is None or len(found[1]) > _MAX_UNMARKED_CALLS:
        return Accept()
    before, calls = found
    lead = before.rstrip().rpartition("\n")[2]
    if asks_about_calls(view.user_words) or wants_no_action(view.user_words):
        return Accept()
    return Accept() if _EXAMPLE.search(lead) else TakeCalls(calls=calls, text=before)
