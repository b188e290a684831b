"""The side model: which one is asked for what, and that what it costs is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.assembly import SystemClock
from agent_ls.domain import events as e
from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.domain.modes import Mode
from agent_ls.loop.options import ModelOptions
from agent_ls.loop.ports.models import Provider
from agent_ls.loop.state.recorder import Recorder
from agent_ls.session.adviser import SideModel
from agent_ls.store.sql_store import open_store
from tests.support.scripted import scripted

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def check(
    folder: Path, host: Provider, port: int, answer: str, options: ModelOptions
) -> tuple[str | ProviderFailure, e.AdviceGiven, Recorder]:
    """Ask once; return what came back, what was recorded, and the session it counts for."""
    store = open_store(folder / "store.db")
    recorder = Recorder("ses_1", store, SystemClock())
    try:
        await recorder.emit(
            e.SessionCreated(
                session_id="ses_1", roots=(), mode=Mode.ASK, model="openai/scripted-main"
            )
        )
        await recorder.emit(e.TurnStarted(turn_id="trn_1", prompt="Do it."))
        adviser = SideModel(recorder, host, SystemClock(), options)
        said: str | ProviderFailure
        async with scripted(f"[[answer]]\n{answer}", port=port):
            try:
                said = await adviser.ask("Be brief.", "What?", origin="summarize")
            except ProviderError as error:
                said = error.failure
        assert recorder.state.turn is not None
        [given] = [
            one.event for one in recorder.state.turn.events if isinstance(one.event, e.AdviceGiven)
        ]
        return said, given, recorder
    finally:
        await store.close()


MODELS = [
    pytest.param({}, "openai/scripted-main", id="the-main-model-when-none-is-set"),
    pytest.param({"cheap": "openai/scripted-small"}, "openai/scripted-small", id="cheap"),
]


@pytest.mark.parametrize("options, model", MODELS)
async def test_the_cheap_model_is_asked(
    options, model, tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    answer = (
        'text = " Short. "\nusage = { input = 70, output = 5 }\nwhen.side = true\n'
        'expect.contains = ["Be brief.", "What?"]'
    )
    said, given, recorder = await check(
        tmp_path, model_host, model_port, answer, ModelOptions(**options)
    )
    assert (said, given.text, given.model) == ("Short.", "Short.", model)
    assert recorder.state.usage.total_tokens == 75
    assert recorder.state.turn is not None
    assert recorder.state.turn.usage.total_tokens == 75


FAILURES = [
    pytest.param(
        'error = { status = 503, message = "busy" }', 60.0, ProviderFailure.OVERLOADED, id="503"
    ),
    pytest.param('text = ""', 60.0, ProviderFailure.BROKEN_STREAM, id="no-text"),
    pytest.param('hang = "before"', 0.2, ProviderFailure.TIMEOUT, id="no-answer-in-time"),
]


@pytest.mark.parametrize("answer, timeout_s, failure", FAILURES)
async def test_no_answer_is_an_error_and_is_recorded(
    answer, timeout_s, failure, tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    options = ModelOptions(advice_timeout_s=timeout_s)
    said, given, _ = await check(tmp_path, model_host, model_port, answer, options)
    assert (said, given.failure, given.text) == (failure, failure, "")
