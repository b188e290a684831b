"""A human's decisions: approvals of one call, and answers to questions."""

from __future__ import annotations

from enum import StrEnum

from agent_ls.domain.calls import ToolKind
from agent_ls.domain.plans import ProposedCall
from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason


class ApprovalChoice(StrEnum):
    """The answers a person can give; ACP's words and ours."""

    ALLOW_ONCE = "allow_once"
    ALLOW_SESSION = "allow_session"
    ALLOW_ALWAYS = "allow_always"
    REJECT_ONCE = "reject_once"
    REJECT_ALWAYS = "reject_always"
    AMEND = "amend"
    CANCELLED = "cancelled"
    """Nobody can answer any more: the turn ended, or no person is there."""


class Preview(Record):
    """What exactly a call would do, built by us from the parsed arguments."""

    title: str
    """One line: ``Edit app.py``, ``Run: make test``."""
    payload: str
    """The command, or the diff: shown first, control and invisible characters escaped."""
    kind: ToolKind = ToolKind.OTHER
    path: str | None = None
    line: int | None = None
    """0-based, where in ``path`` it would happen."""
    grant: str | None = None
    """The rule that ``allow_session`` would add, or None when it cannot be granted broadly."""
    bound: str = ""
    """Hash of the lines that an edit takes and brings, wherever they stand: what a yes covers.
    Empty: it covers the payload."""


class ApprovalRequest(Record):
    """One pending question whether one call may run."""

    id: str
    call_id: str
    turn_id: str
    tool: str
    reason: str
    preview: Preview
    digest: str
    """Hash of tool and exact arguments: what was approved is what runs."""
    choices: tuple[ApprovalChoice, ...]
    timeout_s: float = 0.0
    """After so long without an answer it is taken for a no; 0: it waits."""


class ApprovalAnswer(Record):
    """A person's answer."""

    choice: ApprovalChoice
    note: str = ""
    """Words for the model, for a rejection."""
    arguments_json: str | None = None
    """The changed arguments, for ``amend``; validated and guarded again."""
    tool: str | None = None
    """For ``amend``: the tool to call instead, with these arguments; None: the same one."""
    by: str = "user"
    """``user`` in an editor, ``terminal``, ``rule`` or ``nobody``; older journals name the face."""


class Question(Record):
    """Something only a person can answer: an escalation, or the model's own question."""

    id: str
    turn_id: str
    origin: str
    """The policy that escalated, or ``ask_user``."""
    text: str
    options: tuple[str, ...] = ()
    """Offered answers; free words are always possible."""
    stop: StopReason | None = None
    """Of an escalation: why the turn ends when the answer is *stop*, or nobody answers."""
    steps: tuple[ProposedCall, ...] = ()
    """Of a plan: the calls that are asked about, as the person sees them."""


class QuestionAnswer(Record):
    """The answer to a question."""

    text: str
    """The chosen option or free words; empty when nobody can answer."""
    by: str = "user"

    @property
    def is_answered(self) -> bool:
        """Say whether a person answered."""
        return self.by != "nobody"
