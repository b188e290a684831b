"""Lists and shows the agent's changes, by command or by ``agent/review/list`` and ``diff``."""

from __future__ import annotations

import asyncio
from typing import Any

from lsprotocol import types

from agent_ls.domain.errors import AgentLsError
from agent_ls.edits.notebooks import lines_to_read
from agent_ls.lsp import wire
from agent_ls.lsp.diagnostics.review_choice import ReviewArgument
from agent_ls.lsp.diagnostics.review_documents import file_diff
from agent_ls.lsp.diagnostics.reviews import place_beside
from agent_ls.lsp.editor_context import EditorContext
from agent_ls.review.file_changes import FileLedger
from agent_ls.review.places import HunkPlace
from agent_ls.review.restore import calls_that_changed
from agent_ls.safety.text import visible_line

_TITLE_CHARACTERS = 120


async def list_open(context: EditorContext, asked: wire.Deciding) -> list[dict[str, Any]]:
    """Return the turns with open changes, newest first: files, lines, sizes.

    A file is left out when none of its changes remain in the text.
    """
    await context.sessions.review(is_listed=True)
    found: list[dict[str, Any]] = []
    async for session, turn in context.reviews.turns():
        listed = [await _listed(context, one) for one in turn.files.values() if one.open()]
        if files := [one for one in listed if one["changes"]]:
            found.append(
                {
                    "sessionId": session.id,
                    "turnId": turn.turn_id,
                    "prompt": turn.prompt,
                    "files": files,
                    "leftFiles": turn.left_files,
                }
            )
    return found


async def _listed(context: EditorContext, file: FileLedger) -> dict[str, Any]:
    return {
        "path": file.path,
        "uri": context.lookup.uri(file.path),
        "changes": [
            {
                "hunkId": one.hunk.id,
                "kind": one.hunk.kind,
                "line": one.first,
                "lastLine": max(one.first, one.past - 1),
            }
            for one in await context.reviews.places(file)
            if one.hunk.state == "open"
        ],
    }


async def list_by_request(
    context: EditorContext, params: wire.ReviewListParams
) -> wire.ReviewListResult:
    """Return turns with changes, oldest first; files whose changes are all gone are left out.

    A fork has the turns of its source: each is listed once, of the session used last.
    """
    await context.sessions.review(is_listed=True)
    found: list[wire.ReviewTurn] = []
    seen: set[str] = set()
    for session, turn in await context.chooser.turns(params.session_id, None):
        if not turn.files or turn.turn_id in seen:
            continue
        seen.add(turn.turn_id)
        changed = sorted((one for one in turn.files.values() if one.hunks), key=_path)
        files = [await _file(context, turn.turn_id, one, params.with_text) for one in changed]
        files = [one for one in files if one.hunks]
        if not (files or turn.left_files):
            continue
        found.append(
            wire.ReviewTurn(
                session_id=session.id,
                turn_id=turn.turn_id,
                prompt=turn.prompt,
                files=files,
                tool_call_ids=calls_that_changed(await session.review.ledger(), turn.turn_id),
                left_files=turn.left_files,
            )
        )
    return wire.ReviewListResult(turns=found[::-1])


def _path(file: FileLedger) -> str:
    return file.path


async def _file(
    context: EditorContext, turn_id: str, file: FileLedger, with_text: bool
) -> wire.ReviewFile:
    return wire.ReviewFile(
        location=wire.Location(path=file.path, uri=context.lookup.uri(file.path), line=None),
        turn_id=turn_id,
        moved_from=file.moved_from,
        hunks=[_hunk(file.path, one, with_text) for one in await context.reviews.places(file)],
    )


def _hunk(path: str, place: HunkPlace, with_text: bool) -> wire.ReviewHunk:
    hunk = place.hunk
    title = lines_to_read(path, [hunk.title])[0]
    return wire.ReviewHunk(
        hunk_id=hunk.id,
        kind=hunk.kind,
        state=hunk.state,
        line=place.first,
        end_line=place.past,
        added_lines=hunk.size[0],
        removed_lines=hunk.size[1],
        is_changed_since=place.is_changed,
        continues=place.continues,
        title=visible_line(title[:_TITLE_CHARACTERS]),
        old="\n".join(lines_to_read(path, hunk.old)) if with_text else None,
        new="\n".join(lines_to_read(path, hunk.new)) if with_text else None,
    )


async def diff(context: EditorContext, asked: ReviewArgument) -> str:
    """Show a turn's changes, all files or one, as a document, and return the diff.

    The default is the newest turn with open changes. For a named turn or file, kept changes count
    too. Errors: ``AgentLsError`` when there is nothing to show.
    """
    turn_id, text = await diff_of(context, asked)
    context.spawn(context.review_documents.show(f"{turn_id}.diff", text))
    return text


async def diff_of(context: EditorContext, asked: ReviewArgument) -> tuple[str, str]:
    """Return a turn's id and its changes as a diff; errors as of ``diff``."""
    await context.sessions.review()
    unsupported = "everything", "line", "last_line", "call_id", "hunk_ids"
    asked.refuse(*unsupported, because="a diff is of whole files")
    path = None if asked.uri is None else await context.chooser.path(asked.uri)
    if asked.turn_id is None:
        among = await context.chooser.turns(asked.session_id, None)
    else:
        among = [await context.chooser.turn(asked.session_id, asked.turn_id)]
    turns = [
        (turn, files)
        for _, turn in among
        if (files := [one for one in turn.files.values() if path in (None, one.path) and one.hunks])
    ]
    meant = [one for one in turns if any(file.open() for file in one[1])]
    if path is not None or asked.turn_id is not None:
        meant += [one for one in turns if one not in meant]
    for turn, files in meant:
        diffs = [
            await asyncio.to_thread(file_diff, one, await context.reviews.text_with(one))
            for one in sorted(files, key=_path)
        ]
        if text := "".join(diffs):
            return turn.turn_id, text
    if not turns:
        raise AgentLsError("The agent changed no file there.")
    raise AgentLsError("Nothing is left to be shown there: all was kept or taken back.")


async def diff_by_request(
    context: EditorContext, params: wire.ReviewDiffParams
) -> wire.ReviewDiffResult:
    """Return the text before the turn's first edit and after its last.

    For a binary file: its kind and size.
    """
    _, turn = await context.chooser.turn(params.session_id, params.turn_id)
    file = next(iter(turn.at(params.path)), None)
    if file is None:
        raise AgentLsError(f"The agent changed no {params.path} in turn {params.turn_id}.")
    if file.images is not None:
        before, after = (one and f"{one.words}\n" for one in file.images)
        return wire.ReviewDiffResult(before=before, after=after, uri=None)
    uri = context.lookup.uri(file.path)
    return wire.ReviewDiffResult(before=file.base, after=file.text, uri=uri)


async def next_change(context: EditorContext, asked: ReviewArgument) -> dict[str, Any] | None:
    """Go to the next open change after a place; wraps around over all files."""
    return await _go(context, asked, 1)


async def previous_change(context: EditorContext, asked: ReviewArgument) -> dict[str, Any] | None:
    """Go to the previous open change before a place; wraps around over all files."""
    return await _go(context, asked, -1)


async def _go(context: EditorContext, asked: ReviewArgument, step: int) -> dict[str, Any] | None:
    await context.sessions.review()
    unsupported = "everything", "last_line", "turn_id", "call_id", "hunk_ids", "session_id"
    asked.refuse(*unsupported, because="it goes on from one place, over all changes")
    # Spelled as the places are; the argument may also be a path.
    here = asked.uri or context.lookup.active() or ""
    anchor = context.lookup.anchor(here, 0)
    here = context.lookup.uri(here if anchor is None else anchor.path) or here
    files = [
        file
        async for _, turn in context.reviews.turns()
        for file in turn.files.values()
        if file.open()
    ]
    places = await _places(context, files)
    if not places:
        context.editor.say("info", _why_nowhere(files))
        return None
    uri, line = place_beside(places, (here, -1 if asked.line is None else asked.line), step)
    at = types.Position(line, 0)
    context.spawn(context.review_documents.go_to(uri, types.Range(at, at)))
    return {"uri": uri, "line": line}


def _why_nowhere(files: list[FileLedger]) -> str:
    """Return why there is no change to go to: deleted files have no place."""
    if gone := [one.path for one in files if not one.has_place]:
        return f"The agent deleted {', '.join(gone)}; agent-ls.review.undo brings it back."
    if files:
        names = ", ".join(dict.fromkeys(one.path for one in files))
        return f"The files with open changes are no longer there: {names}."
    return "The agent has no open changes."


async def _places(context: EditorContext, files: list[FileLedger]) -> list[tuple[str, int]]:
    """Return the places of all open changes, sorted by file and line."""
    found: set[tuple[str, int]] = set()
    for file in files:
        uri = context.lookup.uri(file.path)
        if uri is None or not file.has_place or not await context.workspace.exists(file.path):
            continue
        places = await context.reviews.places(file)
        found |= {(uri, one.first) for one in places if one.hunk.state == "open"}
    return sorted(found)
