"""Finds the session in which an approval or a question waits."""

from __future__ import annotations

from typing import Literal

from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalRequest, Question
from agent_ls.domain.errors import AgentLsError
from agent_ls.lsp.presenters.presenters import Presenters
from agent_ls.safety.text import visible_line
from agent_ls.session.session import Session

_NAMES = {ApprovalRequest: "permission request", Question: "question"}


async def session_asking(
    presenters: Presenters,
    kind: type[ApprovalRequest] | type[Question],
    subject_id: str | None,
    session_id: str | None = None,
    *,
    without_id: Literal["none", "only", "oldest"] = "only",
) -> Session | None:
    """Return the session in which this approval or question waits.

    ``without_id`` says which is meant where no id is given; ``only``: the one that alone waits.
    None: already settled, or without an id nothing waits.
    Errors: ``AgentLsError`` for a session that is not open, an unknown id, or a missing id. The
    message lists what waits.
    """
    if session_id is not None and session_id not in presenters.sessions:
        raise AgentLsError(
            f"Session {session_id} is not open here; "
            "resume it with the command agent-ls.session.resume."
        )
    found = [
        found_id
        for found_id, subject in presenters.annotations.waiting()
        if isinstance(subject, kind)
        and session_id in (None, found_id)
        and subject_id in (None, subject.id)
    ]
    if subject_id is None and (without_id == "none" or (without_id == "only" and len(found) > 1)):
        raise needs_id(presenters, kind)
    if found:
        return presenters.sessions.get(found[0])
    if subject_id is not None and not await _was_asked(presenters, kind, subject_id, session_id):
        where = "the open sessions" if session_id is None else f"session {session_id}"
        raise AgentLsError(f"There is no {_NAMES[kind]} {subject_id} in {where}.")
    return None


def needs_id(presenters: Presenters, kind: type[ApprovalRequest] | type[Question]) -> AgentLsError:
    """Return the error for an answer without a needed id; it lists what waits."""
    said = [_words(one) for _, one in presenters.annotations.waiting() if isinstance(one, kind)]
    answer = "a choice" if kind is ApprovalRequest else "an answer"
    waiting = f"Waiting: {'; '.join(said)}." if said else f"No {_NAMES[kind]} waits."
    return AgentLsError(f"An answer needs an id and {answer}. {waiting}")


def _words(asked: ApprovalRequest | Question) -> str:
    if isinstance(asked, ApprovalRequest):
        choices = ", ".join(asked.choices)
        return f"{asked.id} ({visible_line(asked.preview.title)}), choices {choices}"
    return f"{asked.id} ({visible_line(asked.text)})"


async def _was_asked(
    presenters: Presenters,
    kind: type[ApprovalRequest] | type[Question],
    subject_id: str,
    session_id: str | None,
) -> bool:
    for session in list(presenters.sessions.values()):
        if session_id in (None, session.id):
            for stored in await session.journal():
                match stored.event:
                    case e.ApprovalRequested(request=asked) | e.QuestionAsked(question=asked):
                        if isinstance(asked, kind) and asked.id == subject_id:
                            return True
                    case _:
                        pass
    return False
