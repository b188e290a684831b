"""The stored sessions: lists and searches them, names, hides, deletes and exports one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.events import (
    ChildStarted,
    SessionArchived,
    SessionRenamed,
    StoredEvent,
    TurnStarted,
)
from agent_ls.loop.ports.store import SessionSummary
from agent_ls.lsp import wire
from agent_ls.lsp.editor_context import EditorContext
from agent_ls.safety.text import label

_OFFERED = 5
_MOST_ROWS: Final = 500
_TITLE_CHARACTERS: Final = 80


async def list_sessions(
    context: EditorContext, asked: wire.SessionsListParams
) -> wire.SessionsListResult:
    """Return stored sessions, newest first; sub-agents in the order in which they started."""
    return await _listed(context, asked, *await _matching(context, asked))


async def _matching(
    context: EditorContext, asked: wire.SessionsListParams
) -> tuple[list[SessionSummary], dict[str, str]]:
    """Return the sessions that are asked for, and by id why words find them."""
    stored = context.sessions.stored
    found = await stored.list(everywhere=asked.everywhere, parent_id=asked.parent_id)
    if not asked.with_archived:
        found = [one for one in found if not one.is_archived]
    excerpts: dict[str, str] = {}
    if asked.query.strip():
        excerpts = await stored.search(asked.query, everywhere=asked.everywhere)
        words = asked.query.casefold().split()
        titled = {one.session_id for one in found if _has(one.title, words)}
        found = [one for one in found if one.session_id in titled | excerpts.keys()]
        excerpts = {key: text for key, text in excerpts.items() if key not in titled}
    return found, excerpts


async def _listed(
    context: EditorContext,
    asked: wire.SessionsListParams,
    found: Sequence[SessionSummary],
    excerpts: Mapping[str, str],
) -> wire.SessionsListResult:
    stored = context.sessions.stored
    cut_off = {one.session_id for one in await stored.interrupted()}
    turns: dict[str, TurnStarted] = {}
    if asked.parent_id and found:
        turns = _turns_of_agents(await stored.journal(asked.parent_id))
    rows = [
        _row(
            context,
            one,
            excerpts.get(one.session_id, ""),
            turns.get(one.session_id),
            is_cut_off=one.session_id in cut_off,
        )
        for one in found[:_MOST_ROWS]
    ]
    return wire.SessionsListResult(sessions=rows)


def _turns_of_agents(journal: Sequence[StoredEvent]) -> dict[str, TurnStarted]:
    """Return the turn that started each sub-agent, by the sub-agent's session."""
    turn: TurnStarted | None = None
    found: dict[str, TurnStarted] = {}
    for stored in journal:
        match stored.event:
            case TurnStarted() as begun:
                turn = begun
            case ChildStarted(child_id=child_id) if turn is not None:
                found[child_id] = turn
            case _:
                pass
    return found


def _has(title: str, words: list[str]) -> bool:
    folded = title.casefold()
    return all(word in folded for word in words)


def _row(
    context: EditorContext,
    one: SessionSummary,
    found: str,
    turn: TurnStarted | None,
    *,
    is_cut_off: bool,
) -> wire.SessionRow:
    return wire.SessionRow(
        session_id=one.session_id,
        title=one.title,
        agent=one.agent,
        roots=list(one.roots),
        is_here=one.roots == context.sessions.stored.root_uris,
        updated_ms=one.updated_ms,
        turns=one.turns,
        status=one.status,
        is_interrupted=is_cut_off,
        is_open=one.session_id in context.presenters.sessions,
        forked_from=one.forked_from,
        is_dry_run=one.is_dry_run,
        is_archived=one.is_archived,
        sub_agents=one.sub_agents,
        turn_id=turn.turn_id if turn else "",
        turn_prompt=label(turn.prompt.strip().partition("\n")[0], _TITLE_CHARACTERS)
        if turn
        else "",
        found=found,
        cost=wire.Cost(amount=one.cost_usd),
    )


async def offer_sessions(
    context: EditorContext, asked: wire.SessionsListParams
) -> wire.SessionsListResult:
    """Return the sessions, and offer the newest in a message box."""
    found, excerpts = await _matching(context, asked)
    if found:
        context.spawn_told(_offer(context, found[:_OFFERED]), "Open a session")
    return await _listed(context, asked, found, excerpts)


async def _offer(context: EditorContext, shown: Sequence[SessionSummary]) -> None:
    titles: dict[str, str] = {}
    for number, one in enumerate(shown, 1):
        kind = f" ({one.kind})" if one.kind else ""
        titles[f"{number}. {one.title or 'untitled'}{kind}"] = one.session_id
    chosen = await context.editor.choose("Open a session:", list(titles))
    if chosen is not None:
        async with context.settings_lock.work():
            await context.sessions.resume(titles[chosen])


async def rename(context: EditorContext, asked: wire.SessionsRenameParams) -> wire.SessionChanged:
    """Give a session another title."""
    title = label(asked.title, _TITLE_CHARACTERS)
    await context.sessions.stored.note(asked.session_id, SessionRenamed(title=title))
    return wire.SessionChanged(session_id=asked.session_id)


async def archive(context: EditorContext, asked: wire.SessionsArchiveParams) -> wire.SessionChanged:
    """Hide a session from lists, or show it again."""
    event = SessionArchived(is_archived=asked.is_archived)
    await context.sessions.stored.note(asked.session_id, event)
    return wire.SessionChanged(session_id=asked.session_id)


async def delete(context: EditorContext, asked: wire.SessionsDeleteParams) -> wire.SessionChanged:
    """Delete a session for good."""
    await context.sessions.delete(asked.session_id)
    return wire.SessionChanged(session_id=asked.session_id)


async def export(
    context: EditorContext, asked: wire.SessionsExportParams
) -> wire.SessionsExportResult:
    """Return a session as Markdown. Errors: ``AgentLsError`` when nobody has said anything."""
    journal = await context.sessions.stored.journal(asked.session_id)
    text = context.presenters.conversations.markdown(asked.session_id, journal)
    if not text:
        raise AgentLsError("Nobody has said anything in this session yet.")
    return wire.SessionsExportResult(markdown=text)
