"""Whether a stored session has changes that nobody has decided about, told without opening it."""

from __future__ import annotations

from agent_ls.loop.ports.store import Store
from agent_ls.review.fold import LedgerFold


async def has_open_changes(session_id: str, store: Store) -> bool:
    """Say whether there are some. Errors: ``StoreError`` when the journal cannot be read."""
    fold = LedgerFold(store.load, store.get_blob)
    for one in await store.load(session_id):
        await fold.feed(one)
    return any(file.open() for turn in fold.ledger.turns.values() for file in turn.files.values())
