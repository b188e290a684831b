"""What a user and a client are shown of every kind of event.

``UPDATE_GOLDEN=1`` writes the file anew; read what has changed.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from agent_ls.domain import events as ev
from agent_ls.domain.calls import ToolKind
from agent_ls.lsp.updates import Translation
from agent_ls.observers.human_log import HumanLog
from agent_ls.observers.notes import note_of
from tests.support.gallery import EVENTS

_GOLDEN = Path(__file__).with_name("gallery.txt")
_UPDATES = os.environ.get("UPDATE_GOLDEN") == "1"


def shown(event: ev.Event) -> Iterator[str]:
    """Yield what is shown of an event that comes alone."""
    facts = event.model_dump(mode="json", exclude_defaults=True)
    yield f"## {event.type} {json.dumps(facts, ensure_ascii=False)}"
    for line in HumanLog(io.StringIO()).lines_of(event):
        yield f"log    | {line}".rstrip()
    if (note := note_of(event, 5)) is not None:
        words = f"{note.kind} | {note.origin} | {note.text!r} {len(note.findings) or ''}"
        yield f"note   | {words}".rstrip()
    translation = Translation({"edit_file": ToolKind.EDIT}, lambda path: f"file:///w/{path}")
    for update in translation.feed(event):
        told = update.model_dump(mode="json", by_alias=True)
        yield f"update | {json.dumps(told, ensure_ascii=False)}"


def test_every_kind_of_event_is_shown_as_it_was() -> None:
    lines = [line for event in EVENTS for line in (*shown(event), "")]
    text = "\n".join(lines)
    if _UPDATES:
        _GOLDEN.write_text(text, encoding="utf-8")
    assert text == _GOLDEN.read_text(encoding="utf-8")


def test_every_kind_of_event_is_in_the_gallery() -> None:
    union = get_args(get_args(ev.Event)[0])
    assert {type(event) for event in EVENTS} == set(union)
    names = [kind.model_fields["type"].default for kind in union]
    assert len(names) == len(set(names))
    assert all(name.replace("_", "").isalpha() for name in names)
