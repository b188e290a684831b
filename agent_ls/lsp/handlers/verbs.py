"""The tables of what clients can ask for: standard features and our own verbs.

A verb is a typed function. A client calls it as a command, as an ``agent/*`` request, or both,
with the same parameters.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lsprotocol import types
from pydantic import ValidationError
from pydantic.alias_generators import to_camel
from pygls.exceptions import JsonRpcInvalidParams

from agent_ls.domain.mistakes import mistakes_said
from agent_ls.lsp import wire
from agent_ls.lsp.diagnostics.review_choice import ReviewArgument
from agent_ls.lsp.editor_context import EditorContext
from agent_ls.lsp.handlers import (
    answers,
    code_action,
    code_lens,
    completion,
    conversation,
    diagnostics,
    doctor_and_rules,
    editor_news,
    hover,
    models,
    more,
    review_decisions,
    review_views,
    semantic_tokens,
    sent_prompts,
    session_list,
    sessions,
    taken,
    text_document_content,
    trust,
    turns,
)

Run = Callable[[EditorContext, Any], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Verb:
    """One request of our own."""

    params: type[wire.Wire]
    run: Run
    command: str = ""
    """Command name; empty: no command."""
    words: tuple[str, ...] = ()
    """The parameters filled by the command's plain arguments, in this order."""
    method: str = ""
    """Request name; empty: no request."""
    needs_store: bool = True
    """It waits while changed settings reopen the store; the others run meanwhile."""

    def read(self, arguments: Sequence[Any]) -> wire.Wire:
        """Return the parameters from a command's arguments: one object, or plain values.

        Fewer plain values than ``words`` fill the required parameters.
        Errors: ``JsonRpcInvalidParams`` for invalid or unknown arguments.
        """
        given: Any = arguments[0] if arguments else None
        if len(arguments) > max(1, len(self.words)):
            count = len(self.words) or "no"
            raise JsonRpcInvalidParams(f"{self.command} takes {count} words, not {len(arguments)}.")
        if given is None or len(arguments) > 1 or (self.words and not isinstance(given, Mapping)):
            fields = self.params.model_fields
            needed = [name for name in self.words if fields[name].is_required()]
            names = needed if len(arguments) <= len(needed) else self.words
            given = {to_camel(name): one for name, one in zip(names, arguments, strict=False)}
        try:
            return self.params.model_validate(given, extra="forbid")
        except ValidationError as error:
            why = mistakes_said(error)
        raise JsonRpcInvalidParams(f"{self.command} is not understood: {why}.")


VERBS: Final = (
    Verb(turns.PromptWords, turns.prompt, "agent-ls.prompt", ("text",)),
    Verb(wire.PromptParams, turns.prompt, method="agent/prompt"),
    Verb(wire.SentPromptParams, sent_prompts.sent, method="agent/prompt/sent"),
    Verb(wire.ChangePromptParams, turns.change_prompt, method="agent/prompt/change"),
    Verb(wire.SteerParams, turns.steer, "agent-ls.steer", ("text",), "agent/steer"),
    Verb(wire.CancelParams, turns.stop, "agent-ls.stop", ("session_id",), "agent/cancel"),
    Verb(wire.CancelParams, turns.finish, "agent-ls.finish", ("session_id",)),
    Verb(wire.CompactParams, turns.compact, "agent-ls.compact", ("session_id",), "agent/compact"),
    Verb(conversation.OpenParams, conversation.show, "agent-ls.conversation", ("session_id",)),
    Verb(conversation.SendParams, conversation.send, "agent-ls.conversation.send", ("uri",)),
    Verb(more.MoreParams, more.more, "agent-ls.more", needs_store=False),
    Verb(wire.SnapshotParams, sessions.snapshot, method="agent/snapshot"),
    Verb(wire.ContextParams, taken.window, method="agent/context"),
    Verb(wire.TurnsParams, taken.list_turns, method="agent/turns"),
    Verb(wire.SessionsListParams, session_list.list_sessions, method="agent/sessions/list"),
    Verb(wire.SessionsListParams, session_list.offer_sessions, "agent-ls.session.list"),
    Verb(wire.SessionsNewParams, sessions.new, "agent-ls.session.new", method="agent/sessions/new"),
    Verb(
        wire.SessionsResumeParams,
        sessions.resume,
        "agent-ls.session.resume",
        ("session_id",),
        "agent/sessions/resume",
    ),
    Verb(sessions.DeclineParams, sessions.decline, "agent-ls.session.decline", ("session_id",)),
    Verb(
        wire.SessionsForkParams,
        sessions.fork,
        "agent-ls.session.fork",
        ("session_id", "turn"),
        "agent/sessions/fork",
    ),
    Verb(wire.SessionsRenameParams, session_list.rename, method="agent/sessions/rename"),
    Verb(wire.SessionsArchiveParams, session_list.archive, method="agent/sessions/archive"),
    Verb(wire.SessionsDeleteParams, session_list.delete, method="agent/sessions/delete"),
    Verb(wire.SessionsExportParams, session_list.export, method="agent/sessions/export"),
    Verb(
        wire.ApprovalResolveParams,
        answers.resolve_approval,
        "agent-ls.approval.resolve",
        ("approval_id", "choice"),
        "agent/approval/resolve",
    ),
    Verb(wire.ApprovalTextParams, answers.text_of_approval, method="agent/approval/text"),
    Verb(answers.ShowParams, answers.show_approval, "agent-ls.approval.show", ("approval_id",)),
    Verb(
        wire.QuestionResolveParams,
        answers.resolve_question,
        "agent-ls.question.resolve",
        ("question_id", "text"),
        "agent/question/resolve",
    ),
    Verb(wire.Deciding, answers.apply_edits, "agent-ls.edit.apply"),
    Verb(answers.EditParams, answers.discard_edit, "agent-ls.edit.discard", ("edit",)),
    Verb(answers.SessionParams, answers.continue_turn, "agent-ls.nudge.continue", ("session_id",)),
    Verb(answers.SessionParams, answers.leave_turn, "agent-ls.nudge.leave", ("session_id",)),
    Verb(answers.SessionParams, answers.silence_nudges, "agent-ls.nudge.silence", ("session_id",)),
    Verb(answers.FindingParams, answers.hide_finding, "agent-ls.finding.hide"),
    Verb(ReviewArgument, review_decisions.keep, "agent-ls.review.keep"),
    Verb(ReviewArgument, review_decisions.undo, "agent-ls.review.undo"),
    Verb(ReviewArgument, review_decisions.redo, "agent-ls.review.redo"),
    Verb(wire.Deciding, review_views.list_open, "agent-ls.review.list"),
    Verb(ReviewArgument, review_views.next_change, "agent-ls.review.next"),
    Verb(ReviewArgument, review_views.previous_change, "agent-ls.review.previous"),
    Verb(ReviewArgument, review_views.diff, "agent-ls.review.diff"),
    Verb(ReviewArgument, review_decisions.restore, "agent-ls.restore"),
    Verb(wire.ReviewListParams, review_views.list_by_request, method="agent/review/list"),
    Verb(wire.ReviewDecideParams, review_decisions.decide_by_request, method="agent/review/decide"),
    Verb(wire.ReviewDiffParams, review_views.diff_by_request, method="agent/review/diff"),
    Verb(wire.ConfigParams, sessions.configure, method="agent/config"),
    Verb(wire.ConfigParams, sessions.choose, "agent-ls.mode", ("mode",)),
    Verb(wire.ConfigParams, sessions.choose, "agent-ls.model", ("model",)),
    Verb(wire.ConfigParams, sessions.choose, "agent-ls.effort", ("effort",)),
    Verb(
        wire.CommandsListParams, turns.list_commands, "agent-ls.commands", (), "agent/commands/list"
    ),
    Verb(wire.CompleteParams, completion.complete, method="agent/complete"),
    Verb(wire.ModelsParams, models.list_models, method="agent/models"),
    Verb(wire.AccessParams, models.access, method="agent/access", needs_store=False),
    Verb(wire.Deciding, doctor_and_rules.doctor, "agent-ls.doctor", needs_store=False),
    Verb(
        doctor_and_rules.RulesParams,
        doctor_and_rules.rules,
        "agent-ls.rules",
        ("change", "rule"),
        needs_store=False,
    ),
    Verb(wire.TrustParams, trust.ask, "agent-ls.trust", ("folder",), needs_store=False),
    Verb(wire.TrustParams, trust.answer, method="agent/trust", needs_store=False),
    Verb(
        wire.EditorDiagnosticsParams,
        editor_news.problems_found,
        method="agent/editorDiagnostics",
        needs_store=False,
    ),
)

FEATURES: Final[Mapping[str, Run]] = {
    types.TEXT_DOCUMENT_CODE_ACTION: code_action.handle,
    types.TEXT_DOCUMENT_CODE_LENS: code_lens.handle,
    types.TEXT_DOCUMENT_HOVER: hover.handle,
    types.TEXT_DOCUMENT_COMPLETION: completion.handle,
    types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: semantic_tokens.handle,
    types.TEXT_DOCUMENT_DIAGNOSTIC: diagnostics.of_document,
    types.WORKSPACE_DIAGNOSTIC: diagnostics.of_workspace,
    types.TEXT_DOCUMENT_FOLDING_RANGE: conversation.folds,
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: conversation.symbols,
    types.TEXT_DOCUMENT_DOCUMENT_LINK: conversation.links,
    types.DOCUMENT_LINK_RESOLVE: conversation.resolve_link,
    types.WORKSPACE_TEXT_DOCUMENT_CONTENT: text_document_content.handle,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: editor_news.settings_changed,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: editor_news.folders_changed,
    types.WORKSPACE_DID_CREATE_FILES: editor_news.files_changed,
    types.WORKSPACE_DID_RENAME_FILES: editor_news.files_renamed,
    types.WORKSPACE_DID_DELETE_FILES: editor_news.files_changed,
    types.WINDOW_WORK_DONE_PROGRESS_CANCEL: editor_news.progress_cancelled,
}
"""The standard methods that are served."""

NEED_NO_STORE: Final = frozenset(FEATURES) - {types.DOCUMENT_LINK_RESOLVE}
"""The standard methods that run also while changed settings reopen the store."""
