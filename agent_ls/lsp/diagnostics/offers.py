"""Builds code actions for annotations, comments, problems, selections and turns.

Pure: ``handlers/code_action.py`` decides which are offered where.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lsprotocol import types

from agent_ls.domain.approvals import ApprovalChoice, ApprovalRequest, Question
from agent_ls.domain.code_review import REVIEWER
from agent_ls.domain.edits import Replacement
from agent_ls.domain.findings import Finding
from agent_ls.domain.focus import MAX_PROBLEMS
from agent_ls.lsp.connection.convert import text_edits
from agent_ls.lsp.connection.positions import TextPositions
from agent_ls.lsp.diagnostics.annotation import Annotation, ChangeHint, Nudge, PendingEdit
from agent_ls.lsp.diagnostics.prompts import finding_prompt, problem_prompt
from agent_ls.lsp.wire import AnchorParams, EditorDiagnostic
from agent_ls.safety.text import has_hidden, label, visible, visible_line
from agent_ls.session.titles import choice_name
from agent_ls.syntax.comments import InstructionComment

OF_THE_WHOLE = "source.agent-ls"
"""Kind of actions about a whole file or turn; with it editors show no light bulb on every line."""

_TITLE_CHARACTERS = 80
_BY_HAND = (
    ApprovalChoice.ALLOW_ONCE,
    ApprovalChoice.ALLOW_SESSION,
    ApprovalChoice.ALLOW_PREFIX,
    ApprovalChoice.REJECT_ONCE,
)
"""Approval choices that need no text from the user, so a code action can give them."""
_RARE = (ApprovalChoice.ALLOW_ALWAYS, ApprovalChoice.REJECT_ALWAYS)
"""More such choices, behind *More…*."""
_OF_SELECTION = (
    ("Ask the agent to explain this", "Explain this code. Change nothing."),
    ("Ask the agent to write tests for this", "Write tests for this code, and run them."),
    ("Ask the agent to improve this", "Improve this code without changing what it does."),
)


def action(
    title: str,
    command: str,
    *arguments: Any,
    kind: types.CodeActionKind | str = types.CodeActionKind.QuickFix,
    diagnostic: types.Diagnostic | None = None,
) -> types.CodeAction:
    """Return a code action for our command; never preferred, as editors may run that unasked."""
    return types.CodeAction(
        title=title,
        kind=kind,
        diagnostics=[diagnostic] if diagnostic else None,
        # Vim's ALE reads the arguments of every command, so none is sent without.
        command=types.Command(title=title, command=command, arguments=list(arguments)),
    )


def waiting_offers(
    session_id: str,
    asked: ApprovalRequest | Question,
    diagnostic: types.Diagnostic | None = None,
) -> Iterator[types.CodeAction]:
    """Yield the usual answers to an approval or a question."""
    if isinstance(asked, ApprovalRequest):
        yield from _choices(session_id, asked, _BY_HAND, diagnostic)
        title = f"Agent: Show — {short(asked.preview.title)}"
        yield action(title, "agent-ls.approval.show", asked.id, diagnostic=diagnostic)
        return
    for option in asked.options:
        yield action(
            f"Agent: answer “{short(option)}” — {short(asked.text)}",
            "agent-ls.question.resolve",
            {"questionId": asked.id, "sessionId": session_id, "text": option},
            diagnostic=diagnostic,
        )
    title = f"Agent: answer in your own words — {short(asked.text)}"
    yield action(title, "agent-ls.conversation", session_id, diagnostic=diagnostic)


def seldom_offers(session_id: str, asked: ApprovalRequest | Question) -> Iterator[types.CodeAction]:
    """Yield the rarely wanted answers, which hold for ever."""
    if isinstance(asked, ApprovalRequest):
        yield from _choices(session_id, asked, _RARE, None)


def _choices(
    session_id: str,
    asked: ApprovalRequest,
    wanted: Sequence[ApprovalChoice],
    diagnostic: types.Diagnostic | None,
) -> Iterator[types.CodeAction]:
    for choice in (one for one in asked.choices if one in wanted):
        yield action(
            f"Agent: {choice_name(choice, asked.preview)} — {short(asked.preview.title)}",
            "agent-ls.approval.resolve",
            {"approvalId": asked.id, "sessionId": session_id, "choice": choice.value},
            diagnostic=diagnostic,
        )


def mark_offers(annotation: Annotation, diagnostic: types.Diagnostic) -> Iterator[types.CodeAction]:
    """Yield the actions on a mark."""
    match annotation.subject:
        case ApprovalRequest() | Question():
            yield from waiting_offers(annotation.session_id, annotation.subject, diagnostic)
        case Nudge():
            yield from _nudge_offers(annotation, annotation.subject, diagnostic)
        case PendingEdit():
            yield from _pending_offers(annotation.subject, diagnostic)
        case Finding():
            wish = finding_prompt(annotation.subject, annotation.span.line)
            title = f"Ask the agent to fix: {_first_line(annotation.subject.message)}"
            place = AnchorParams(uri=annotation.uri, line=annotation.span.line)
            yield _asking(title, wish, place, diagnostic=diagnostic)
            if annotation.subject.checker == REVIEWER:
                # A checker would find its own again.
                given = {
                    "sessionId": annotation.session_id,
                    "uri": annotation.uri,
                    "line": annotation.span.line,
                    "message": annotation.subject.message,
                }
                title = f"Agent: Hide this finding: {_first_line(annotation.subject.message)}"
                yield action(title, "agent-ls.finding.hide", given, diagnostic=diagnostic)
        case ChangeHint():
            # Offered by ``review_offers``, for all changes of the lines at once.
            return


def fix_offer(
    annotation: Annotation,
    finding: Finding,
    positions: TextPositions,
    diagnostic: types.Diagnostic,
) -> types.CodeAction | None:
    """Return the action that puts in a finding's own fix.

    None where the text is another now, is not at the finding, or would get characters that nobody
    can see.
    """
    text, fix = positions.text, finding.fix
    if fix is None:
        return None
    old, new = fix.old_text, fix.new_text
    if "\r\n" in text:
        old, new = ("\r\n".join(one.replace("\r\n", "\n").split("\n")) for one in (old, new))
    if not old or text.count(old) != 1 or has_hidden(new):
        return None
    start = text.index(old)
    lines = positions.position(start)[0], positions.position(start + len(old))[0]
    if not annotation.span.touches(*lines):
        return None
    change = Replacement(start=start, end=start + len(old), text=new)
    title = f"Agent: Fix: {_first_line(finding.message)}"
    edit = types.WorkspaceEdit(changes={annotation.uri: text_edits(positions, [change])})
    return types.CodeAction(
        title=title, kind=types.CodeActionKind.QuickFix, diagnostics=[diagnostic], edit=edit
    )


def trust_offer(folder: str, uri: str, *, is_agreed: bool) -> types.CodeAction:
    """Return the action that trusts a folder, or that first asks or shows what it switches on."""
    what = "what was listed" if is_agreed else "its own settings, commands and tools…"
    given = {"folder": uri, "isAgreed": is_agreed}
    title = f"Agent: Trust {label(folder, _TITLE_CHARACTERS)} — {what}"
    return action(title, "agent-ls.trust", given, kind=OF_THE_WHOLE)


def trust_home_offer(uri: str, *, is_agreed: bool) -> types.CodeAction:
    """Return the action that has ``~/.claude`` read, or that first lists what is there."""
    what = "what was listed" if is_agreed else "its commands, skills and sub-agents…"
    given = {"folder": uri, "isAgreed": is_agreed}
    return action(f"Agent: Trust ~/.claude — {what}", "agent-ls.trust", given, kind=OF_THE_WHOLE)


def comment_offer(
    uri: str, comment: InstructionComment, problems: Sequence[types.Diagnostic] = ()
) -> types.CodeAction:
    """Return the action that runs an instruction comment."""
    reported = prompt_problems(problems)
    place = AnchorParams(uri=uri, line=comment.line, is_comment=True, problems=reported)
    return _asking(f"Run agent: {short(comment.prompt)}", "", place)


def words_offer(
    words: str, session_id: str, waiting: ApprovalRequest | Question | None
) -> types.CodeAction:
    """Return the action that answers with a comment's words, or tells them to the running turn."""
    shown = short(words)
    match waiting:
        case ApprovalRequest():
            return action(
                f"Agent: reject with these words: “{shown}” — {short(waiting.preview.title)}",
                "agent-ls.approval.resolve",
                {
                    "approvalId": waiting.id,
                    "sessionId": session_id,
                    "choice": ApprovalChoice.REJECT_ONCE.value,
                    "note": words,
                },
            )
        case Question():
            return action(
                f"Agent: answer with these words: “{shown}” — {short(waiting.text)}",
                "agent-ls.question.resolve",
                {"questionId": waiting.id, "sessionId": session_id, "text": words},
            )
        case None:
            argument = {"text": words, "sessionId": session_id}
            return action(f"Agent: say this now: “{shown}”", "agent-ls.steer", argument)


def problem_offers(
    uri: str, path: str | None, problems: Sequence[types.Diagnostic]
) -> Iterator[types.CodeAction]:
    """Yield the actions that ask the agent to fix other servers' diagnostics."""
    for one in problems if path is not None else ():
        line = one.range.start.line
        wish = problem_prompt(path or uri, line, one.message, one.source or "")
        title = f"Ask the agent to fix: {short(one.message)}"
        yield _asking(title, wish, AnchorParams(uri=uri, line=line), diagnostic=one)


def selection_offers(
    uri: str,
    where: types.Range,
    problems: Sequence[types.Diagnostic] = (),
    *,
    can_change: bool = True,
) -> Iterator[types.CodeAction]:
    """Yield the prompts about a selection; nothing for a bare cursor.

    What the agent cannot change it can only explain.
    """
    first, last = where.start.line, where.end.line
    if where.start == where.end:
        return
    if where.end.character == 0 and last > first:
        last -= 1
    place = AnchorParams(uri=uri, line=first, last_line=last, problems=prompt_problems(problems))
    for title, wish in _OF_SELECTION if can_change else _OF_SELECTION[:1]:
        yield _asking(title, wish, place, kind=types.CodeActionKind.RefactorRewrite)


def turn_offer(session_id: str, prompt: str, *, is_cut_off: bool) -> types.CodeAction:
    """Return the action that stops a turn, or resumes an interrupted one."""
    verb, command = ("Resume", "session.resume") if is_cut_off else ("Stop", "stop")
    return action(f"{verb} the agent: {_first_line(prompt)}", f"agent-ls.{command}", session_id)


def decline_offer(session_id: str, prompt: str) -> types.CodeAction:
    """Return the action that stops the messages about an interrupted turn."""
    return action(f"Not now: {_first_line(prompt)}", "agent-ls.session.decline", session_id)


def finish_offer(session_id: str, prompt: str) -> types.CodeAction:
    """Return the action that lets the agent end a turn with a last answer."""
    return action(f"Let the agent finish up: {_first_line(prompt)}", "agent-ls.finish", session_id)


def _first_line(text: str) -> str:
    return short(text.strip().partition("\n")[0])


def conversation_offers(*, has_panel: bool) -> Iterator[types.CodeAction]:
    """Yield the action that opens the conversation document; the panel has it already."""
    if not has_panel:
        title = "Open the conversation with the agent"
        yield action(title, "agent-ls.conversation", kind=OF_THE_WHOLE)


def is_wanted(action: types.CodeAction, only: Sequence[types.CodeActionKind | str]) -> bool:
    """Say whether the action's kind is one of ``only`` or a sub-kind."""
    kind = str(getattr(action.kind, "value", action.kind))
    wanted = (str(getattr(one, "value", one)) for one in only)
    return any(not one or kind == one or kind.startswith(f"{one}.") for one in wanted)


def prompt_problems(problems: Sequence[types.Diagnostic]) -> list[EditorDiagnostic]:
    """Return the editor's diagnostics in the form a prompt carries them."""
    return [
        EditorDiagnostic(
            line=one.range.start.line,
            end_line=one.range.end.line,
            message=visible(one.message),
            source=visible_line(one.source or ""),
            code="" if one.code is None else visible_line(str(one.code)),
        )
        for one in problems[:MAX_PROBLEMS]
    ]


def _asking(
    title: str,
    wish: str,
    place: AnchorParams,
    *,
    kind: types.CodeActionKind = types.CodeActionKind.QuickFix,
    diagnostic: types.Diagnostic | None = None,
) -> types.CodeAction:
    anchor = place.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    argument = {"text": wish, "anchor": anchor}
    return action(title, "agent-ls.prompt", argument, kind=kind, diagnostic=diagnostic)


def _nudge_offers(
    annotation: Annotation, nudge: Nudge, diagnostic: types.Diagnostic
) -> Iterator[types.CodeAction]:
    names = [
        ("Agent: Leave it", "agent-ls.nudge.leave"),
        ("Agent: Never for this session", "agent-ls.nudge.silence"),
    ]
    if not nudge.is_running:
        names.insert(0, ("Agent: Continue", "agent-ls.nudge.continue"))
    for title, command in names:
        yield action(title, command, annotation.session_id, diagnostic=diagnostic)


def apply_offer(pending: Sequence[PendingEdit]) -> types.CodeAction:
    """Return the action that applies all pending edits."""
    count = len(pending)
    title = f"Apply — {pending[0].label}" if count == 1 else f"Apply all {count} edits that wait"
    return action(title, "agent-ls.edit.apply")


def _pending_offers(
    pending: PendingEdit, diagnostic: types.Diagnostic
) -> Iterator[types.CodeAction]:
    title = f"Discard — {pending.label}"
    yield action(title, "agent-ls.edit.discard", pending.id, diagnostic=diagnostic)


def short(text: str) -> str:
    """Return a text shortened for an action's title."""
    return label(text, _TITLE_CHARACTERS)
