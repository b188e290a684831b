"""Whether a stored session has changes that nobody has decided about, told without opening it."""

from __future__ import annotations

from agent_ls.loop.ports.store import Store
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.session.review_ledger import Ledger, one_spelling


async def has_open_changes(session_id: str, store: Store, workspace: Workspace) -> bool:
    """Say whether there are some. Errors: ``StoreError`` when the journal cannot be read."""
    ledger = Ledger(store.load, store.get_blob, one_spelling(workspace))
    for one in await store.load(session_id):
        await ledger.feed(one)
    return any(file.open() for turn in ledger.turns.values() for file in turn.files.values())
