"""A user's decisions: approvals of single calls, and answers to questions."""

from __future__ import annotations

from enum import StrEnum

from agent_ls.domain.calls import ToolKind
from agent_ls.domain.plans import ProposedCall
from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason

STOP = "stop"
"""The answer to an escalation that ends the turn."""


class ApprovalChoice(StrEnum):
    """The answers a user can give; ACP's words and ours."""

    ALLOW_ONCE = "allow_once"
    ALLOW_SESSION = "allow_session"
    ALLOW_PREFIX = "allow_prefix"
    """Commands that begin like this one, in this workspace from now on."""
    ALLOW_ALWAYS = "allow_always"
    REJECT_ONCE = "reject_once"
    REJECT_ALWAYS = "reject_always"
    AMEND = "amend"
    CANCELLED = "cancelled"
    """Nobody can answer any more: the turn ended, or no user is there."""

    @property
    def allows(self) -> bool:
        """Say whether the call may run as it was shown."""
        return self.value.startswith("allow_")


class Preview(Record):
    """What a call would do, built from its parsed arguments."""

    title: str
    """One line: ``Edit app.py``, ``Run: make test``."""
    payload: str
    """The command, or the diff with long lines cut around their changes.

    Shown first; control and invisible characters are escaped."""
    kind: ToolKind = ToolKind.OTHER
    path: str | None = None
    line: int | None = None
    """0-based line in ``path``."""
    grant: str | None = None
    """The rule that ``allow_session`` adds; None when only this call can be approved."""
    prefix: str | None = None
    """The rule by pattern that ``allow_prefix`` saves, named as a grant; None for none."""
    bound: str = ""
    """Hash of the lines that an edit removes and adds, whole and wherever they are: what the
    approval covers. Empty: it covers the payload."""

    def scope(self, choice: ApprovalChoice) -> str | None:
        """Return the rule that a choice about more than this call is about."""
        return self.prefix if choice is ApprovalChoice.ALLOW_PREFIX else self.grant


class CoveredEdit(Record):
    """One of several edits that a request asks about together."""

    call_id: str
    tool: str
    path: str | None
    digest: str
    """As in ``ApprovalRequest``, of this edit alone."""


class ApprovalRequest(Record):
    """A pending request to approve one call, or the ordinary edits of one answer."""

    id: str
    call_id: str
    """The first one's, if it asks about several."""
    turn_id: str
    tool: str
    reason: str
    preview: Preview
    digest: str
    """Hash of tool, exact arguments and preview: what was approved is what runs."""
    choices: tuple[ApprovalChoice, ...]
    timeout_s: float = 0.0
    """Without an answer after this time the call counts as rejected; 0: wait without limit."""
    covers: tuple[CoveredEdit, ...] = ()
    """All edits of a request about several, in the order of the calls; empty: it is about one."""

    def granted(self, choice: ApprovalChoice) -> str | None:
        """Return the rule that a choice adds for more than this call; None for none."""
        if choice not in self.choices or not choice.allows or choice is ApprovalChoice.ALLOW_ONCE:
            return None
        return self.preview.scope(choice)


class ApprovalAnswer(Record):
    """A user's answer to an approval request."""

    choice: ApprovalChoice
    note: str = ""
    """Text for the model, with a rejection."""
    arguments_json: str | None = None
    """The changed arguments, for ``amend``; they are validated and guarded again."""
    tool: str | None = None
    """For ``amend``: the tool to call instead; None: the same tool."""
    by: str = "user"
    """``user`` in an editor, ``terminal``, ``rule`` or ``nobody``; others in older journals."""

    @property
    def is_rejection(self) -> bool:
        """Say whether the user refused; false where nobody was there or answered in time."""
        return self.choice.value.startswith("reject_") and self.by != "nobody"


class Question(Record):
    """A question for the user: an escalation, a plan, or the model's own question."""

    id: str
    turn_id: str
    origin: str
    """The policy that escalated, or ``ask_user``."""
    text: str
    options: tuple[str, ...] = ()
    """Offered answers; free text is always possible."""
    default: str = ""
    """What Enter alone answers at a terminal; empty: it answers nothing."""
    stop: StopReason | None = None
    """For an escalation: the stop reason if the answer is *stop* or nobody answers."""
    steps: tuple[ProposedCall, ...] = ()
    """For a plan: the calls to decide on, as the user sees them."""


class QuestionAnswer(Record):
    """The answer to a question."""

    text: str
    """The chosen option or free text; empty when nobody can answer."""
    by: str = "user"

    @property
    def is_answered(self) -> bool:
        """Say whether a user answered."""
        return self.by != "nobody"

    @property
    def is_stop(self) -> bool:
        """Say whether the user wants the turn to end; *Stop!* is *stop*, a longer text is not."""
        return self.is_answered and self.text.strip(" \t\n.!").lower() == STOP
