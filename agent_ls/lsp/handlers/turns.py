"""Starts, steers and stops turns; every handler answers at once."""

from __future__ import annotations

from typing import Literal

from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.goals import goal_from, split_goal
from agent_ls.loop.evidence.output_schema import check_schema
from agent_ls.lsp import wire
from agent_ls.lsp.conversation_page import is_conversation
from agent_ls.lsp.diagnostics.prompts import comment_note
from agent_ls.lsp.editor_context import EditorContext
from agent_ls.lsp.handlers.parts import read_parts
from agent_ls.session.session import Session

_AROUND_LINES = 3
"""Lines of context around an instruction comment."""


class PromptWords(wire.PromptParams):
    """Say something to the agent by a command."""

    when_busy: Literal["steer", "follow_up"] = "follow_up"


async def prompt(context: EditorContext, asked: wire.PromptParams) -> wire.PromptResult:
    """Start a turn, or queue the prompt while one runs."""
    said, images, attachments = await read_parts(context, asked)
    schema = asked.output_schema
    output_schema = None if schema is None else check_schema(schema, "outputSchema")
    if asked.goal is None:
        text, goal = split_goal(said)
    else:
        text, goal = said, goal_from(asked.goal, name="goal")
    anchor, focus, note = None, None, ""
    if asked.editor_state:
        anchor, focus = context.lookup.here(), context.focus()
    place = asked.anchor
    # From a conversation the prompt is about the file that was used last.
    if place is not None and not is_conversation(place.uri):
        context.lookup.touch(place.uri, place.line)
        lines, around = (place.line, place.last_line), 0
        if place.is_comment:
            text, note, lines = await _comment(context, place)
            around = _AROUND_LINES
        anchor = context.lookup.anchor(place.uri, lines[0])
        focus = context.focus(place.uri, lines, around=around, problems=place.problems)
    if asked.session_id is None:
        # An unknown command must leave no empty session behind.
        await context.sessions.check_command(text)
    session = await context.sessions.session(asked.session_id)
    turn_id = await session.submit(
        text,
        anchor=anchor,
        goal=goal,
        focus=focus,
        output_schema=output_schema,
        note=note,
        when_busy=asked.when_busy,
        images=images,
        attachments=attachments,
    )
    return wire.PromptResult(session_id=session.id, turn_id=turn_id)


async def change_prompt(
    context: EditorContext, asked: wire.ChangePromptParams
) -> wire.ChangePromptResult:
    """Change, move, send now or drop a prompt that waits."""
    session = await context.sessions.session(asked.session_id)
    changed = await session.change_queued(
        asked.prompt_id,
        text=asked.text,
        when_busy=asked.when_busy,
        before=asked.before,
        is_dropped=asked.is_dropped,
    )
    return wire.ChangePromptResult(changed=changed)


async def steer(context: EditorContext, asked: wire.SteerParams) -> wire.PromptResult:
    """Steer the running turn, or start one."""
    text, goal = split_goal(asked.text)
    session = await context.sessions.session(asked.session_id)
    turn_id = await session.submit(text, goal=goal, focus=context.focus(), when_busy="steer")
    return wire.PromptResult(session_id=session.id, turn_id=turn_id)


async def stop(context: EditorContext, asked: wire.CancelParams) -> wire.CancelResult:
    """Cancel the turn of a session, or all running turns."""
    stopped = [await one.cancel("user") for one in await _meant(context, asked.session_id)]
    if not any(stopped):
        context.editor.confirm("Nothing is running.")
    return wire.CancelResult(cancelled=any(stopped))


async def finish(context: EditorContext, asked: wire.CancelParams) -> wire.CancelResult:
    """Let the turn of a session, or all running turns, finish in good order.

    Calls that have started complete, and the model reports what is done and what is not.
    """
    ending = [await one.wrap_up("user") for one in await _meant(context, asked.session_id)]
    if not any(ending):
        context.editor.confirm("Nothing is running.")
    return wire.CancelResult(cancelled=any(ending))


async def compact(context: EditorContext, asked: wire.CompactParams) -> wire.CompactResult:
    """Shorten the conversation of a session; a running turn goes on afterwards."""
    session = await context.sessions.session(asked.session_id)
    await session.compact("user")
    return wire.CompactResult(session_id=session.id)


async def list_commands(
    context: EditorContext, asked: wire.CommandsListParams
) -> wire.CommandsListResult:
    """Return the custom commands of the user and of the trusted folders."""
    found = await context.sessions.commands()
    rows = [
        wire.CommandRow(name=one.name, description=one.description, argument_hint=one.argument_hint)
        for one in found.commands.values()
    ]
    return wire.CommandsListResult(commands=rows, problems=list(found.problems.values()))


async def _meant(context: EditorContext, session_id: str | None) -> list[Session]:
    """Return the named session, or all without an interrupted turn, which waits for a resume."""
    if session_id is not None:
        return [await context.sessions.session(session_id)]
    return [one for one in context.presenters.sessions.values() if not one.is_cut_off]


async def _comment(
    context: EditorContext, place: wire.AnchorParams
) -> tuple[str, str, tuple[int, int]]:
    """Return the prompt of the instruction comment nearest to a place, a note, and its lines."""
    path, text = context.lookup.path(place.uri), context.lookup.text(place.uri)
    if path is None:
        raise AgentLsError(
            "This document is not a file of the workspace. Save it there first, or give "
            "agent-ls.prompt a text and a range of lines."
        )
    comments = await context.instructions.of(place.uri)
    found = min(comments, key=lambda one: abs(one.line - place.line), default=None)
    if found is None or text is None:
        raise AgentLsError(
            f"There is no instruction comment in {path} any more. Write one, and try again."
        )
    last = found.line + text.count("\n", found.start, found.end)
    return found.prompt, comment_note(path, found, last), (found.line, last)
