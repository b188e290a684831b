"""Images in a conversation: what the model gets, what stays of them, and what a refusal does."""

from __future__ import annotations

import asyncio
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
from agent_ls.loop.state.pictures import MAX_SENT, MAX_SENT_BYTES, within_limits
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


async def test_a_request_that_is_too_large_with_its_images_goes_without_them(
    tmp_path: Path, stage: Stage
) -> None:
    """Nothing else of the conversation is lost."""
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
        ended, events = await run_turn_of(session, "And this: @chart.png")
    assert ended.stop is StopReason.COMPLETED
    assert model.requests[1].images == [data_url(RED), data_url(BLUE)]
    assert model.requests[2].images == []
    assert "[image shot.png 800x600, which the provider refused]" in texts(model, 2)
    assert not [one for one in events if isinstance(one, Compacted)]
    (told,) = [one for one in events if isinstance(one, RecoveryChosen)]
    assert "The images of the conversation make the request too large for" in told.text


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


async def test_prompts_stay_in_their_order_while_images_are_read(
    tmp_path: Path, stage: Stage
) -> None:
    scenario = READ.replace("[[answer]]", "[[answer]]\ndelay_ms = 400") + DONE
    async with (
        scripted(scenario, port=stage.port) as model,
        open_test_sessions(project(tmp_path), stage.host) as sessions,
    ):
        session = await sessions.create()
        await session.submit("Begin.")
        await model.wait_for_requests(1)
        await asyncio.gather(session.submit("First: @shot.png"), session.submit("Then this."))
        queued = [one.text for one in session.state.queue]
        await session.wait_idle()
    assert queued == [f"First: @shot.png\n{SHOT}", "Then this."]


@pytest.mark.parametrize(
    "prompt, names",
    [
        ("What is wrong @shot.png", ["shot.png"]),
        ("@shot.png, and @./chart.png?", ["shot.png", "chart.png"]),
        ('As in (@chart.png) and @"with blank.png".', ["chart.png", "with blank.png"]),
        (r"@with\ blank.png @SHOT.PNG", ["with blank.png"]),
        ("@shot.png @shot.png", ["shot.png"]),
        ("icon@shot.png @shot.svg 看@shot.png怎么样 @desk:docs://a.png a @ b", []),
        ("@plain, @.env and @decorator or @docs/", ["plain"]),
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
    (place / "plain").write_bytes(image(size=(6, 5)))
    (place / ".env").write_bytes(image(size=(6, 5)))
    sizes = {"shot.png": "800x600", "chart.png": "40x30", "with blank.png": "5x5", "plain": "6x5"}
    async with (
        scripted(DONE, port=stage.port) as model,
        open_test_sessions(place, stage.host) as sessions,
    ):
        await run_turn_of(await sessions.create(), prompt)
    assert len(model.requests[0].images) == len(names)
    for name in names:
        assert f"{name} {sizes[name]}]" in texts(model, 0)
    assert "not sent along" not in texts(model, 0).replace("@SHOT.PNG is not sent along", "")


async def test_a_named_image_that_does_not_go_is_said_to_the_user_and_the_model(
    tmp_path: Path, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    place = project(tmp_path)
    (place / "empty.png").touch()
    (place / "old.bmp").write_bytes(image("BMP"))
    os.link(place / "shot.png", place / "linked.png")
    reasons = {
        "missing.png": "does not exist",
        "empty.png": "it is empty",
        "notes.png": "it is no image that models take (PNG, JPEG, GIF or WebP)",
        "old.bmp": "it is no image that models take",
        "gone.tiff": "does not exist",
        "gone.HEIC": "does not exist",
        "linked.png": "hard link",
        "../shot.png": "outside",
        "/etc/shot.png": "outside",
    }
    async with (
        scripted(DONE, port=stage.port) as model,
        open_test_sessions(place, stage.host) as sessions,
    ):
        prompt = f"See {', '.join(f'@{name}' for name in reasons)}."
        await run_turn_of(await sessions.create(), prompt)
    assert model.requests[0].images == []
    for name, why in reasons.items():
        (line,) = [
            one for one in texts(model, 0).splitlines() if f"@{name} is not sent along: " in one
        ]
        assert why in line
        assert line.strip("()") in caplog.messages


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


def shots(*sizes: int) -> tuple[Picture, ...]:
    return tuple(
        Picture(
            digest=f"d{number}-{size}",
            media_type="image/png",
            width=9,
            height=9,
            size_bytes=size,
            name=f"{number}.png",
        )
        for number, size in enumerate(sizes)
    )


FULL, MANY = MAX_SENT_BYTES, MAX_SENT
SUMS: dict[str, tuple[list[tuple[Picture, ...]], list[int]]] = {
    "none": ([(), ()], [0, 0]),
    "as many bytes as there may be": ([shots(FULL // 2), shots(FULL // 2)], [1, 1]),
    "one more": ([shots(FULL // 2), shots(FULL // 2 + 1)], [0, 1]),
    "of the older ones half stay": (
        [shots(FULL // 2), shots(FULL // 4), shots(FULL // 4), shots(1)],
        [0, 0, 1, 1],
    ),
    "of small ones more": ([shots(FULL - 9), shots(3, 3), shots(3), shots(3)], [0, 2, 1, 1]),
    "the newest message alone": ([shots(9), shots(FULL // 2, FULL // 2, FULL // 2)], [0, 2]),
    "as many as there may be": ([shots(*[1] * (MANY - 1)), shots(1)], [MANY - 1, 1]),
    "one more of them": ([shots(*[1] * MANY), shots(1)], [MANY // 2 - 1, 1]),
}


@pytest.mark.parametrize("case", SUMS)
async def test_a_request_has_no_more_images_than_providers_take(case: str) -> None:
    given, kept = SUMS[case]
    talk: list[Message] = []
    for images in given:
        text = "\n".join(["Look:", *(one.words() for one in images)])
        talk += [UserMessage(text=text, images=images), AssistantMessage(text="Seen.")]
    found = within_limits(talk)
    assert [len(one.images) for one in found if isinstance(one, UserMessage)] == kept
    for before, after in zip(talk, found, strict=True):
        if isinstance(before, UserMessage) and isinstance(after, UserMessage):
            assert after.images == before.images[len(before.images) - len(after.images) :]
            left_out = after.text.count("left out: a request takes no more images]")
            assert left_out == len(before.images) - len(after.images)
    assert within_limits(found) == found


async def test_the_oldest_images_of_a_session_become_words(tmp_path: Path, stage: Stage) -> None:
    place = project(tmp_path)
    names = [f"big{number}.png" for number in range(5)]
    for number, name in enumerate(names):
        # Bytes behind an image's end are its own.
        (place / name).write_bytes(image(size=(9, number + 9)) + b"\0" * 3_000_000)
    async with (
        scripted(DONE * 2, port=stage.port) as model,
        open_test_sessions(place, stage.host) as sessions,
    ):
        session = await sessions.create()
        await run_turn_of(session, " ".join(f"@{name}" for name in names[:3]))
        await run_turn_of(session, " ".join(f"@{name}" for name in names[3:]))
    assert [len(one.images) for one in model.requests] == [3, 2]
    for number in range(3):
        size = f"9x{number + 9}"
        assert f"[image big{number}.png {size}, left out: a request takes" in texts(model, 1)
