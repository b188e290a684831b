"""Images in a conversation: what the model gets, what stays of them, and what a refusal does."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.events import Compacted, Event, RecoveryChosen, TurnEnded
from agent_ls.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from agent_ls.domain.pictures import Picture
from agent_ls.domain.stops import StopReason
from agent_ls.loop.state.compaction import compacted
from agent_ls.loop.state.view import message_tokens
from agent_ls.pictures.reading import read_image
from agent_ls.providers.scripted import ScriptedModel
from agent_ls.session.session import Session
from tests.loop.conftest import Stage
from tests.support.images import data_url, encoded, image
from tests.support.scripted import scripted
from tests.support.turns import open_test_sessions, run_turn_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

RED, BLUE = image(size=(800, 600)), image(size=(40, 30), color="blue")
SHOT = "[image shot.png 800x600]"
DONE = '[[answer]]\ntext = "Done."\n'
READ = """
[[answer]]
[[answer.call]]
tool = "read_file"
arguments = { path = "chart.png" }
"""
BLIND = """
[[answer]]
error = { status = 400, message = "unknown variant `image_url`, expected `text`" }
"""
BROKEN = """
[[answer]]
error = { status = 400, message = "Could not process image" }
"""


def project(folder: Path) -> Path:
    made = folder / "project"
    made.mkdir()
    (made / "shot.png").write_bytes(RED)
    (made / "chart.png").write_bytes(BLUE)
    (made / "notes.png").write_text("no image")
    return made


async def check(
    folder: Path,
    stage: Stage,
    scenario: str,
    *,
    model: str = "openai/scripted",
    prompt: str = "What is wrong?",
    images: Sequence[tuple[bytes, str]] = ((RED, "shot.png"),),
) -> tuple[TurnEnded, list[Event], ScriptedModel]:
    """Run a turn that begins with an image."""
    async with (
        scripted(scenario, port=stage.port) as played,
        open_test_sessions(
            project(folder), stage.host, settings_toml=f'model = "{model}"\nmode = "auto"'
        ) as sessions,
    ):
        session = await sessions.create()
        await begin(session, prompt, images)
        ended = await session.wait_idle()
        assert ended is not None
        events = [one.event for one in await session.journal()]
    return ended, events, played


async def begin(session: Session, prompt: str, images: Sequence[tuple[bytes, str]]) -> None:
    given = [await read_image(data, name) for data, name in images]
    await session.submit(prompt, images=given)


def texts(model: ScriptedModel, request: int) -> str:
    return model.requests[request].conversation


async def test_images_of_prompts_and_files_reach_the_model(tmp_path: Path, stage: Stage) -> None:
    ended, events, model = await check(tmp_path, stage, READ + DONE)
    assert ended.output == "Done."
    assert model.requests[0].images == [data_url(RED)]
    assert f"What is wrong?\n{SHOT}" in texts(model, 0)
    assert model.requests[1].images == [data_url(RED), data_url(BLUE)]
    assert "[image chart.png 40x30] (image/png, " in texts(model, 1)
    journal = json.dumps([one.model_dump(mode="json") for one in events])
    assert encoded(RED)[:60] not in journal


async def test_a_model_that_takes_none_is_told_of_them(tmp_path: Path, stage: Stage) -> None:
    _, _, model = await check(tmp_path, stage, READ + DONE, model="openai/blind")
    assert [one.images for one in model.requests] == [[], []]
    assert "[image shot.png 800x600, which openai/blind does not take]" in texts(model, 0)
    assert "[image chart.png 40x30, which openai/blind does not take]" in texts(model, 1)


async def test_a_model_that_refuses_them_is_told_of_them_from_then_on(
    tmp_path: Path, stage: Stage
) -> None:
    ended, events, model = await check(
        tmp_path, stage, BLIND + READ + DONE, model="openai/unheard-of"
    )
    assert ended.stop is StopReason.COMPLETED
    assert [len(one.images) for one in model.requests] == [1, 0, 0]
    why = "which openai/unheard-of does not take"
    assert f"[image shot.png 800x600, {why}]" in texts(model, 1)
    assert f"[image chart.png 40x30, {why}]" in texts(model, 2)
    (told,) = [one for one in events if isinstance(one, RecoveryChosen)]
    assert (told.origin, told.action) == ("refused_images", "reask")
    assert "openai/unheard-of takes no images. It said: unknown variant" in told.text


async def test_an_image_that_cannot_be_used_does_not_end_the_session(
    tmp_path: Path, stage: Stage
) -> None:
    ended, _, model = await check(tmp_path, stage, BROKEN + READ + DONE)
    assert ended.stop is StopReason.COMPLETED
    assert "[image shot.png 800x600, which the provider refused]" in texts(model, 1)
    # A later one is tried again.
    assert [one.images for one in model.requests] == [
        [data_url(RED)],
        [],
        [data_url(BLUE)],
    ]


async def test_a_refusal_that_never_ends_ends_the_turn(tmp_path: Path, stage: Stage) -> None:
    ended, _, model = await check(tmp_path, stage, BROKEN + BROKEN)
    # Without images the same words are no refusal of images.
    assert ended.stop is StopReason.ERROR
    assert len(model.requests) == 2


async def test_a_session_with_images_goes_on_after_a_restart(tmp_path: Path, stage: Stage) -> None:
    place = project(tmp_path)
    async with scripted(DONE * 3, port=stage.port) as model:
        async with open_test_sessions(place, stage.host) as sessions:
            session = await sessions.create()
            await begin(session, "Look.", [(RED, "shot.png"), (BLUE, "chart.png")])
            await session.wait_idle()
            name = session.id
        async with open_test_sessions(place, stage.host) as sessions:
            await run_turn_of(await sessions.open(name), "And now?")
        with closing(sqlite3.connect(tmp_path / "project-store.db")) as store:
            store.execute("DELETE FROM blobs WHERE length(data) = ?", (len(BLUE),))
            store.commit()
        async with open_test_sessions(place, stage.host) as sessions:
            await run_turn_of(await sessions.open(name), "And then?")
    assert model.requests[1].images == [data_url(RED), data_url(BLUE)]
    assert model.requests[2].images == [data_url(RED)]
    assert "[image chart.png 40x30, no longer kept]" in texts(model, 2)


async def test_a_request_that_is_too_large_with_its_images_goes_without_the_old_ones(
    tmp_path: Path, stage: Stage
) -> None:
    too_large = """
[[answer]]
error = { status = 413, message = "Request exceeds the maximum size" }
"""
    async with (
        scripted(DONE + too_large + DONE, port=stage.port) as model,
        open_test_sessions(project(tmp_path), stage.host) as sessions,
    ):
        session = await sessions.create()
        await begin(session, "Look.", [(RED, "shot.png")])
        await session.wait_idle()
        ended, _ = await run_turn_of(session, "And this: @chart.png")
    assert ended.stop is StopReason.COMPLETED
    assert model.requests[1].images == [data_url(RED), data_url(BLUE)]
    assert model.requests[2].images == [data_url(BLUE)]
    assert SHOT in texts(model, 2)


async def test_an_image_steers_a_running_turn(tmp_path: Path, stage: Stage) -> None:
    scenario = READ.replace("[[answer]]", "[[answer]]\ndelay_ms = 400") + DONE
    async with (
        scripted(scenario, port=stage.port) as model,
        open_test_sessions(project(tmp_path), stage.host) as sessions,
    ):
        session = await sessions.create()
        await session.submit("Begin.")
        await model.wait_for_requests(1)
        await begin(session, "Like this:", [(RED, "shot.png")])
        await session.wait_idle()
    assert model.requests[0].images == []
    assert sorted(model.requests[1].images) == sorted([data_url(RED), data_url(BLUE)])
    assert f"Like this:\n{SHOT}" in texts(model, 1)


@pytest.mark.parametrize(
    "prompt, names",
    [
        ("What is wrong @shot.png", ["shot.png"]),
        ("@shot.png, and @./chart.png?", ["shot.png", "chart.png"]),
        ('As in (@chart.png) and @"with blank.png".', ["chart.png", "with blank.png"]),
        (r"@with\ blank.png @SHOT.PNG", ["with blank.png"]),
        ("@shot.png @shot.png", ["shot.png"]),
        ("icon@shot.png @missing.png @notes.png @shot.svg @linked.png", []),
        ("@/etc/shot.png @../shot.png @decorator", []),
    ],
)
async def test_an_image_that_a_prompt_names_goes_with_it(
    tmp_path: Path, stage: Stage, prompt: str, names: list[str]
) -> None:
    place = project(tmp_path)
    (place / "with blank.png").write_bytes(image(size=(5, 5)))
    (tmp_path / "shot.png").write_bytes(RED)
    # Its content may belong elsewhere, so reading it asks.
    os.link(tmp_path / "shot.png", place / "linked.png")
    sizes = {"shot.png": "800x600", "chart.png": "40x30", "with blank.png": "5x5"}
    async with (
        scripted(DONE, port=stage.port) as model,
        open_test_sessions(place, stage.host) as sessions,
    ):
        await run_turn_of(await sessions.create(), prompt)
    assert len(model.requests[0].images) == len(names)
    for name in names:
        assert f"{name} {sizes[name]}]" in texts(model, 0)


async def test_what_cannot_go_with_a_prompt_is_said(tmp_path: Path, stage: Stage) -> None:
    place = project(tmp_path)
    (place / "cut.png").write_bytes(RED[:40])
    given = [await read_image(BLUE, str(number)) for number in range(21)]
    async with open_test_sessions(place, stage.host) as sessions:
        session = await sessions.create()
        for prompt, words in (
            ("See @cut.png", "The image cut.png is broken"),
            ("", "The prompt is empty"),
        ):
            with pytest.raises(AgentLsError, match=words):
                await session.submit(prompt)
        with pytest.raises(AgentLsError, match="at most 20 images, not 21"):
            await session.submit("See.", images=given)
        assert session.state.turns == 0


SEEN = Picture(
    digest="a" * 64, media_type="image/png", width=750, height=100, size_bytes=9, name="a.png"
)


async def test_a_compaction_keeps_only_images_that_the_model_has_not_answered_to() -> None:
    old = UserMessage(text="See [image a.png 750x100].", images=(SEEN,))
    result = ToolMessage(call_id="c", provider_id="c", tool="t", text="It is", images=(SEEN,))
    messages: tuple[Message, ...] = (old, AssistantMessage(text="I do."), result)
    shortened = Compacted(
        origin="x", why="", drop_before=0, summary="", before_tokens=0, after_tokens=0
    )
    first, _, last = compacted(messages, shortened)
    assert first == UserMessage(text="See [image a.png 750x100, left out to save room].")
    assert last == result
    assert message_tokens(old) - message_tokens(first) > 90
