"""Builds the code actions and lenses that keep and undo the agent's changes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lsprotocol import types

from agent_ls.lsp.diagnostics.offers import OF_THE_WHOLE, action
from agent_ls.lsp.diagnostics.reviews import Change

_MOST_LENSES = 60
"""With more changes than this, only the document as a whole gets lenses."""


def review_offers(
    uri: str, changes: Sequence[Change], hints: Sequence[types.Diagnostic]
) -> Iterator[types.CodeAction]:
    """Yield the actions on these changes, keep and undo first, then on their file and their turn.

    The actions carry ``hints``, the diagnostics that they settle.
    """
    if not changes:
        return
    changes = _of_one_session(changes)
    for offer in _decisions(uri, changes):
        offer.diagnostics = list(hints) or None
        yield offer
    # A fork has the same turn ids, so name the session.
    turn = {"sessionId": changes[-1].session.id, "turnId": changes[-1].turn.turn_id}
    yield action(
        "Agent: show the changes of the turn", "agent-ls.review.diff", turn, kind=OF_THE_WHOLE
    )
    if len(changes) == 1:
        asked = _meaning(changes)
        yield action("Agent: restore files to before this change", "agent-ls.restore", asked)
    yield from _deleted_offers(changes[-1])


def _decisions(uri: str, changes: Sequence[Change]) -> Iterator[types.CodeAction]:
    these = "this change" if len(changes) == 1 else f"these {len(changes)} changes"
    asked = _meaning(changes)
    name = uri.rpartition("/")[2]
    turn = {"turnId": changes[-1].turn.turn_id}
    yield action(f"Agent: keep {these}", "agent-ls.review.keep", asked)
    yield action(f"Agent: undo {these}", "agent-ls.review.undo", asked)
    for where, asked in ((f"in {name}", {"uri": uri}), ("of the turn", turn)):
        for verb in ("keep", "undo"):
            title = f"Agent: {verb} all changes {where}"
            yield action(title, f"agent-ls.review.{verb}", asked, kind=OF_THE_WHOLE)


def redo_offers(changes: Sequence[Change]) -> Iterator[types.CodeAction]:
    """Yield the redo action for the undone changes of the last turn among these."""
    if last := _of_one_session([one for one in changes if one.is_of_last_turn]):
        these = "this change" if len(last) == 1 else f"these {len(last)} changes"
        yield action(f"Agent: redo {these}", "agent-ls.review.redo", _meaning(last))


def _deleted_offers(change: Change) -> Iterator[types.CodeAction]:
    """Yield undo actions for the turn's deleted and binary files, which have no lines."""
    for file in change.turn.files.values():
        for one in file.open():
            if one.kind == "opaque" and file is not change.file:
                asked = {"sessionId": change.session.id, "hunkIds": [one.id]}
                title = f"Agent: undo the change of {file.path} ({one.title})"
                yield action(title, "agent-ls.review.undo", asked)
        ids = [one.id for one in file.open() if one.kind == "deleted"]
        if ids:
            asked = {"sessionId": change.session.id, "hunkIds": ids}
            yield action(f"Agent: bring {file.path} back", "agent-ls.review.undo", asked)


def review_lenses(uri: str, changes: Sequence[Change]) -> Iterator[types.CodeLens]:
    """Yield Keep and Undo lenses for each change, or one pair for all when there are many."""
    if len(changes) > _MOST_LENSES:
        many = f"{len(changes)} changes of the agent's"
        yield _lens(0, f"Keep {many}", "agent-ls.review.keep", {"uri": uri})
        yield _lens(0, f"Undo {many}", "agent-ls.review.undo", {"uri": uri})
        return
    for one in changes:
        hunk = one.placed.hunk
        size = "+{} -{}".format(*hunk.size) if hunk.kind == "text" else hunk.kind
        size = hunk.title if hunk.kind == "opaque" else size
        asked = _meaning([one])
        yield _lens(one.first_line, f"Keep {size}", "agent-ls.review.keep", asked)
        yield _lens(one.first_line, "Undo", "agent-ls.review.undo", asked)


def _of_one_session(changes: Sequence[Change]) -> list[Change]:
    """Return those of the last one's session: an action is about one session."""
    return [one for one in changes if one.session is changes[-1].session]


def _meaning(changes: Sequence[Change]) -> dict[str, Any]:
    """Return the command argument for these changes of one session."""
    ids = [one.placed.hunk.id for one in changes]
    return {"sessionId": changes[-1].session.id, "hunkIds": ids}


def _lens(line: int, title: str, command: str, argument: dict[str, Any]) -> types.CodeLens:
    place = types.Position(line, 0)
    shown = types.Command(title, command, arguments=[argument])
    return types.CodeLens(types.Range(place, place), shown)
