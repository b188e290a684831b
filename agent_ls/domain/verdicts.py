"""What policies may say: closed unions, one per socket. The machine acts on them.

A feature that does not fit needs a new verdict here, never a branch in a phase.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.findings import CheckReport
from agent_ls.domain.goals import Proof
from agent_ls.domain.stops import StopReason


@dataclass(frozen=True, slots=True)
class Proceed:
    """Check: nothing to say to the model."""

    report: CheckReport | None = None
    """What checkers find now, shown as diagnostics; the paths are those they looked at."""
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Nudge:
    """Check: tell the model this once, in a slot. Gate: not accepted, because of this."""

    text: str
    priority: int = 1
    """Of the slot, 0 is the highest; gates ignore it."""
    report: CheckReport | None = None
    """What checkers find now, shown as diagnostics; the paths are those they looked at."""
    paths: tuple[str, ...] = ()
    proofs: tuple[Proof, ...] = ()
    """Gate: what was found of the turn's goal."""
    instead: str = ""
    """Gate: what the turn gives in place of this answer if it ends here."""
    shown: str = ""
    """Gate: the same in words for the person; empty: ``text`` serves both."""


@dataclass(frozen=True, slots=True)
class Compact:
    """Check or recovery: shorten the conversation first."""

    why: str
    carry_on: str = ""
    """Recovery: keep the text so far, and tell the model this after it."""


@dataclass(frozen=True, slots=True)
class Recover:
    """Check: shorten the conversation as far as it goes, then ask again whether it helped."""

    why: str


@dataclass(frozen=True, slots=True)
class CloseOut:
    """Check: one last text-only answer, then stop."""

    stop: StopReason
    why: str


@dataclass(frozen=True, slots=True)
class Halt:
    """Check: stop now, without another model request."""

    stop: StopReason
    why: str


@dataclass(frozen=True, slots=True)
class Escalate:
    """Check or gate: ask the person; *stop* ends the turn with ``stop``."""

    question: str
    stop: StopReason


@dataclass(frozen=True, slots=True)
class TextOnly:
    """Check: the next request may not call tools."""

    why: str


CheckVerdict = Proceed | Nudge | Compact | Recover | CloseOut | Halt | Escalate | TextOnly


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Compactor: cannot shrink it further."""


@dataclass(frozen=True, slots=True)
class Shortened:
    """Compactor: replace the messages before ``drop_before`` by ``summary``."""

    drop_before: int
    summary: str
    """Empty: nothing takes their place."""
    max_result_chars: int = 0
    """What stays of each result that is kept; 0: all of it."""
    short_from: int = 0
    """Results of messages with a smaller index stay whole."""


CompactorVerdict = Unchanged | Shortened


@dataclass(frozen=True, slots=True)
class Slot:
    """Injection: text for the next request only."""

    name: str
    priority: int
    max_tokens: int
    text: str


@dataclass(frozen=True, slots=True)
class Accept:
    """Recovery: nothing wrong that I know of."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Recovery: the same request again after a wait."""

    after_s: float
    why: str


@dataclass(frozen=True, slots=True)
class Reask:
    """Recovery: drop the attempt, tell the model why, ask again."""

    text: str


@dataclass(frozen=True, slots=True)
class Continue:
    """Recovery: keep the text so far and let the model go on from there."""

    text: str
    """What the model is told."""


@dataclass(frozen=True, slots=True)
class Promote:
    """Recovery: take this as the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class AcceptAsPartial:
    """Recovery: take the text as the answer, and end the turn: there is no room for more."""

    why: str


@dataclass(frozen=True, slots=True)
class TakeCalls:
    """Recovery: the text holds calls; if they all fit their tools, they are the answer's calls."""

    provider_id: ClassVar[str] = "printed"
    """What the ids of such calls begin with, for no provider has given them one."""
    calls: tuple[tuple[str, str], ...]
    """Tool and arguments as JSON, in the order they were written."""
    text: str
    """The text without them."""


@dataclass(frozen=True, slots=True)
class SwitchModel:
    """Recovery: ask another model for the rest of the step, and as long as it answers."""

    model: str
    why: str


@dataclass(frozen=True, slots=True)
class StepFailed:
    """Recovery: give this step up and go back to CHECK, which counts it."""

    why: str


@dataclass(frozen=True, slots=True)
class Fail:
    """Recovery: the turn cannot go on."""

    stop: StopReason
    why: str


RecoveryVerdict = (
    Accept
    | Retry
    | Reask
    | Continue
    | Promote
    | AcceptAsPartial
    | TakeCalls
    | SwitchModel
    | Compact
    | StepFailed
    | Fail
)


@dataclass(frozen=True, slots=True)
class Allow:
    """Guard: no objection."""

    after_s: float = 0.0
    """How long the call waits before it runs."""
    reads_only: bool = False
    """The command plainly only reads, with the environment for such commands."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Guard: a person must say yes."""

    reason: str
    broad: bool = True
    """Whether ``allow_session`` may be offered and earlier grants count."""
    reads_only: bool = False
    """As of ``Allow``."""


@dataclass(frozen=True, slots=True)
class Deny:
    """Guard: no, in any case; the model reads the reason."""

    reason: str
    whatever_tool: bool = False
    """No other tool may do it either, so none is named in its stead."""


@dataclass(frozen=True, slots=True)
class Defer:
    """Guard: not now; it becomes part of a proposed plan."""

    reason: str


GuardVerdict = Allow | Ask | Deny | Defer


@dataclass(frozen=True, slots=True)
class Pass:
    """Gate: the answer is fine by me."""

    report: CheckReport | None = None
    """What was looked at and found clean or not counted; clears diagnostics."""
    paths: tuple[str, ...] = ()
    proofs: tuple[Proof, ...] = ()
    """What was found of the turn's goal."""


GateVerdict = Pass | Nudge | Escalate
