"""Brings events that older versions wrote into today's shape; knows no SQL.

An event whose shape changes gets a higher ``v`` in ``domain/events.py`` and here one function
from the version before, so that a journal of any age loads.
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
"""An event as JSON has it."""

UPCASTS: dict[tuple[str, int], Callable[[Body], Body]] = {}
"""(type, version) → the function that makes the next version of it; may change the type too."""


def current_versions() -> dict[str, int]:
    """Return today's version of every type of event."""
    kinds = get_args(get_args(Event)[0])
    return {kind.model_fields["type"].default: kind.model_fields["v"].default for kind in kinds}


_CURRENT = current_versions()


def read_event(body: str, kind: str, version: int) -> Event:
    """Return the event in a stored body, migrated to today's version.

    Errors: ``StoreError`` when a newer version wrote it; ``ValueError``, ``KeyError`` or
    ``TypeError`` when it is damaged.
    """
    if _CURRENT.get(kind) != version:
        body = json.dumps(_upcast(json.loads(body)))
    try:
        return EVENT.validate_json(body)
    except ValidationError as error:
        # An older version let values in that are not read again as they were written.
        with suppress(ValueError, RecursionError):
            return EVENT.validate_python(soft_json(body))
        # Not the whole of it, which repeats the user's words.
        raise ValueError(error.errors()[0]["msg"]) from error


def _upcast(body: Body) -> Body:
    """Return a body after every migration that applies to it."""
    while _CURRENT.get(body["type"]) != body["v"]:
        step = UPCASTS.get((body["type"], body["v"]))
        if step is None:
            raise StoreError(
                f"a newer agent-ls wrote it ({body['type']!r}, version {body['v']}); "
                "upgrade agent-ls to open this session"
            )
        body = step(body)
    return body
