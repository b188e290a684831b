"""Migrates events of older versions to their current shape; no SQL.

To change an event's shape, raise its ``v`` in ``domain/events.py`` and add a function here that
converts the previous version. Journals of any age then load.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, get_args

from pydantic import ValidationError

from agent_ls.domain.errors import StoreError
from agent_ls.domain.events import EVENT, Event
from agent_ls.domain.plain_json import soft_json

Body = dict[str, Any]
"""An event as a JSON object."""

UPCASTS: dict[tuple[str, int], Callable[[Body], Body]] = {}
"""(type, version) → function that converts to the next version; it may change the type too."""


def current_versions() -> dict[str, int]:
    """Return the current version of every event type."""
    kinds = get_args(get_args(Event)[0])
    return {kind.model_fields["type"].default: kind.model_fields["v"].default for kind in kinds}


_CURRENT = current_versions()


def read_event(body: str, kind: str, version: int) -> Event:
    """Return the event in a stored body, migrated to its current version.

    Errors: ``StoreError`` if a newer agent-ls wrote it; ``ValueError``, ``KeyError`` or
    ``TypeError`` if it is damaged.
    """
    if _CURRENT.get(kind) != version:
        body = json.dumps(_upcast(json.loads(body)))
    try:
        return EVENT.validate_json(body)
    except ValidationError as error:
        # Older versions stored values that strict parsing rejects; read them softened.
        with suppress(ValueError, RecursionError):
            return EVENT.validate_python(soft_json(body))
        # Only the message: the whole error would repeat the user's text.
        raise ValueError(error.errors()[0]["msg"]) from error


def _upcast(body: Body) -> Body:
    """Apply every migration that the body needs. Errors: ``StoreError`` if it is too new."""
    while _CURRENT.get(body["type"]) != body["v"]:
        step = UPCASTS.get((body["type"], body["v"]))
        if step is None:
            raise StoreError(
                f"a newer agent-ls wrote it ({body['type']!r}, version {body['v']}); "
                "upgrade agent-ls to open this session"
            )
        body = step(body)
    return body
