"""The zoo: streams as servers send them, played over real HTTP through both routes.

Each row of ``zoo.toml`` is one recorded form and what must come of it.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
from pydantic import Field

from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.domain.messages import ProviderData
from agent_ls.domain.model_io import (
    CallClosed,
    CallCut,
    FinishReason,
    ModelEvent,
    ReasoningDelta,
    StreamFinished,
    TextDelta,
    TextWasReasoning,
    ToolSpec,
)
from agent_ls.domain.record import Record
from agent_ls.loop.printed.reading import read_marked
from tests.providers.conftest import READ_FILE, Asking, request
from tests.support.faulty import FaultyEndpoint, Play, data, faulty, head, sends, whole

MODELS: Final = {"plain": "lm_studio/m", "litellm": "fireworks_ai/m"}
"""A model for each route."""
ENVELOPE: Final = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1764000000,
    "model": "m",
}
LIST_DIR: Final = ToolSpec(
    name="list_dir", description="List a folder.", parameters={"type": "object"}
)

Call = tuple[str, str, str]
"""Id, tool, arguments."""


class Outcome(Record):
    """What must come of a stream; the text and the thinking are whole."""

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    cut: tuple[Call, ...] = ()
    finish: FinishReason | None = None
    usage: dict[str, int] = Field(default_factory=dict)
    """Empty: the server told none, so it is estimated."""
    kept: frozenset[str] = frozenset()
    """Fields of the message, or of its calls, that go back to the provider, among others."""
    failure: ProviderFailure | None = None
    words: str = ""
    """Part of what the user reads."""


class Difference(Outcome):
    """Where litellm gives another result: only the fields that differ."""

    because: str


class Row(Outcome):
    """One form of one server."""

    name: str
    source: str
    stream: tuple[str, ...] = ()
    body: str = ""
    status: int = 200
    printed: tuple[tuple[str, str], ...] = ()
    """Tool and arguments of the calls that the loop reads from the text."""
    litellm: Difference | None = None

    def outcome(self, route: str) -> Outcome:
        """Return what must come of the stream on a route."""
        fields = {name: getattr(self, name) for name in Outcome.model_fields}
        if route == "litellm" and self.litellm:
            named = self.litellm.model_fields_set - {"because"}
            if self.failure or self.litellm.failure:
                # An answer instead of a failure, or the other way round.
                fields = {}
            fields |= {name: getattr(self.litellm, name) for name in named}
        return Outcome.model_validate(fields)

    def play(self) -> Play:
        """Return what the server does."""
        if self.body:
            return sends(whole(self.status, self.body))
        return sends(head(), b"".join(map(wire, self.stream)))


def wire(line: str) -> bytes:
    """Return the bytes of a line of the table: an event's data, or a line as it is."""
    if line.startswith("{"):
        return data({**ENVELOPE, **json.loads(line)})
    return data(line) if line == "[DONE]" else f"{line}\n".encode()


def read_rows() -> list[Row]:
    text = Path(__file__).with_name("zoo.toml").read_text("utf-8")
    return [Row.model_validate(row) for row in tomllib.loads(text)["row"]]


ROWS: Final = read_rows()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def endpoint(asking: Asking) -> AsyncIterator[FaultyEndpoint]:
    """One address for all rows, because litellm takes long to make a client for another."""
    async with faulty(0, []) as endpoint:
        asking.use(f"{endpoint.url}/v1")
        yield endpoint


async def played(asking: Asking, endpoint: FaultyEndpoint, row: Row, route: str) -> Outcome:
    """Return what came of a row's stream, after one request."""
    endpoint.plays.append(row.play())
    endpoint.requests.clear()
    try:
        events = await asking.ask(request(model=MODELS[route], tools=(READ_FILE, LIST_DIR)))
        return outcome_of(events)
    except ProviderError as error:
        return Outcome(failure=error.failure, words=error.message)
    finally:
        assert len(endpoint.requests) == 1


def outcome_of(events: list[ModelEvent]) -> Outcome:
    text = thinking = ""
    calls: list[Call] = []
    cut: list[Call] = []
    for event in events:
        match event:
            case TextDelta(more):
                text += more
            case ReasoningDelta(more):
                thinking += more
            case TextWasReasoning():
                text, thinking = "", thinking + text
            case CallClosed(call_id, tool, arguments):
                calls.append((call_id, tool, arguments))
            case CallCut(call_id, tool, arguments):
                cut.append((call_id, tool, arguments))
            case StreamFinished():
                pass
    last = events[-1]
    assert isinstance(last, StreamFinished)
    return Outcome(
        text=text,
        thinking=thinking,
        calls=tuple(calls),
        cut=tuple(cut),
        finish=last.finish,
        usage={name: count for name, count in last.usage.model_dump().items() if count},
        kept=_kept(last.provider_data) if last.provider_data else frozenset(),
    )


def _kept(fields: ProviderData) -> frozenset[str]:
    return frozenset(fields.message).union(*fields.calls.values())


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("route", MODELS)
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
async def test_a_stream_gives_what_its_server_meant(
    asking: Asking, endpoint: FaultyEndpoint, row: Row, route: str
) -> None:
    expected, found = row.outcome(route), await played(asking, endpoint, row, route)
    assert expected.words in found.words
    assert expected.kept <= found.kept
    assert bool(found.usage) == (found.failure is None)
    changes = {"words": expected.words, "kept": expected.kept}
    if not expected.usage:
        changes["usage"] = {}
    assert found.model_copy(update=changes) == expected


PRINTED: Final = [row for row in ROWS if row.printed]


@pytest.mark.parametrize("row", PRINTED, ids=[row.name for row in PRINTED])
def test_calls_that_a_server_left_in_the_text_are_read_from_it(row: Row) -> None:
    found = read_marked(row.text)
    assert found
    assert found.calls == row.printed


def test_a_row_has_a_name_of_its_own_and_says_where_its_form_was_seen() -> None:
    assert [name for name, count in Counter(row.name for row in ROWS).items() if count > 1] == []
    assert [row.name for row in ROWS if not row.source or row.name.count("-") < 2] == []
    assert len({row.name.partition("-")[0] for row in ROWS}) >= 25


def test_the_routes_differ_only_where_the_row_says_why() -> None:
    differing = [row for row in ROWS if row.litellm]
    assert [row.name for row in differing if row.outcome("plain") == row.outcome("litellm")] == []
    assert len(differing) <= len(ROWS) // 5
