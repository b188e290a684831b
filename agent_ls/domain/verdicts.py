"""The verdicts of policies: closed unions, one per extension point. The machine acts on them.

A feature that does not fit needs a new verdict here, never a branch in a phase.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from agent_ls.domain.findings import CheckReport
from agent_ls.domain.goals import Proof
from agent_ls.domain.stops import StopReason


@dataclass(frozen=True, slots=True)
class Proceed:
    """Check: no objection."""

    report: CheckReport | None = None
    """Current findings of checkers, displayed as diagnostics; ``paths`` are the checked files."""
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Nudge:
    """Check: tell the model this once, in a slot. Gate: the answer is rejected for this reason."""

    text: str
    priority: int = 1
    """Slot priority, 0 is the highest; gates ignore it."""
    report: CheckReport | None = None
    """Current findings of checkers, displayed as diagnostics; ``paths`` are the checked files."""
    paths: tuple[str, ...] = ()
    proofs: tuple[Proof, ...] = ()
    """Gate: results of checking the turn's goal."""
    instead: str = ""
    """Gate: the turn's output instead of this answer, if the turn ends here."""
    shown: str = ""
    """Gate: the text for the user; empty: ``text`` is used."""


@dataclass(frozen=True, slots=True)
class Compact:
    """Check or recovery: shorten the conversation first."""

    why: str
    carry_on: str = ""
    """Recovery: keep the text so far and add this message for the model."""


@dataclass(frozen=True, slots=True)
class Recover:
    """Check: shorten the conversation as far as possible, then run the checks again."""

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
    """Check or gate: ask the user; *stop* or no answer closes the turn with ``stop``."""

    question: str
    stop: StopReason


@dataclass(frozen=True, slots=True)
class TextOnly:
    """Check: the next request may not call tools."""

    why: str


CheckVerdict = Proceed | Nudge | Compact | Recover | CloseOut | Halt | Escalate | TextOnly


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Compactor: it cannot shrink the conversation further."""


@dataclass(frozen=True, slots=True)
class Shortened:
    """Compactor: replace the messages before ``drop_before`` by ``summary``."""

    drop_before: int
    summary: str
    """Empty: nothing replaces them."""
    max_result_chars: int = 0
    """The length each remaining result is cut to; 0: not cut."""
    short_from: int = 0
    """Results of messages with a smaller index are not cut."""


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
    """Recovery: this recovery sees no problem."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Recovery: send the same request again after a wait."""

    after_s: float
    why: str


@dataclass(frozen=True, slots=True)
class Reask:
    """Recovery: drop the attempt, tell the model why, ask again."""

    text: str


@dataclass(frozen=True, slots=True)
class Continue:
    """Recovery: keep the text so far and let the model continue it."""

    text: str
    """What the model is told."""


@dataclass(frozen=True, slots=True)
class Promote:
    """Recovery: use this text as the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class AcceptAsPartial:
    """Recovery: accept the text and end the turn, because there is no room for more."""

    why: str


@dataclass(frozen=True, slots=True)
class TakeCalls:
    """Recovery: the text contains calls, which become the answer's calls."""

    provider_id: ClassVar[str] = "printed"
    """Prefix of the ids of such calls, which have none from a provider."""
    calls: tuple[tuple[str, str], ...]
    """Tool and JSON arguments of each call, in the order written."""
    text: str
    """The text without them."""
    is_certain: bool = False
    """They are calls even if they do not fit their tools; else they all have to fit."""


@dataclass(frozen=True, slots=True)
class SwitchModel:
    """Recovery: use another model for the rest of the step, and for as long as it answers."""

    model: str
    why: str


@dataclass(frozen=True, slots=True)
class StepFailed:
    """Recovery: give up the step and return to CHECK, which counts failed steps."""

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


Consent = Literal["none", "mode", "user"]
"""Who allowed a call: nobody, as it needs no consent; the chosen mode; a user, now or before."""


@dataclass(frozen=True, slots=True)
class Allow:
    """Guard: no objection."""

    after_s: float = 0.0
    """How long the call waits before it runs."""
    reads_only: bool = False
    """The command plainly only reads, and runs in the environment for such commands."""
    rule: str = ""
    """The user's rules or grant that decided; empty: none."""
    consent: Consent = "none"


@dataclass(frozen=True, slots=True)
class Ask:
    """Guard: a user must approve."""

    reason: str
    broad: bool = True
    """Whether ``allow_session`` may be offered and earlier grants count."""
    reads_only: bool = False
    """As in ``Allow``."""
    rule: str = ""
    """As in ``Allow``."""


@dataclass(frozen=True, slots=True)
class Deny:
    """Guard: never; the model reads the reason."""

    reason: str
    whatever_tool: bool = False
    """No other tool may do it either, so none is suggested."""
    rule: str = ""
    """As in ``Allow``."""


@dataclass(frozen=True, slots=True)
class Defer:
    """Guard: not now; the call becomes part of a proposed plan."""

    reason: str


GuardVerdict = Allow | Ask | Deny | Defer


@dataclass(frozen=True, slots=True)
class Pass:
    """Gate: the answer is acceptable."""

    report: CheckReport | None = None
    """Findings of the check that passed; clears diagnostics."""
    paths: tuple[str, ...] = ()
    proofs: tuple[Proof, ...] = ()
    """Results of checking the turn's goal."""


GateVerdict = Pass | Nudge | Escalate
