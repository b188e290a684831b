"""Stories through a real ``agent-ls acp``, told by what its client sees."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from acp import (
    RequestError,
    audio_block,
    embedded_blob_resource,
    embedded_text_resource,
    image_block,
    resource_block,
    text_block,
)
from acp import resource_link_block as link
from acp.schema import McpServerStdio

from agent_ls.safety.trust import TrustedFolders, trust_file
from tests.support.acp_editor import AcpEditor, acp_agent
from tests.support.images import data_url, encoded, image
from tests.support.scripted import scripted

pytestmark = pytest.mark.e2e

APP = "def f():\n    return 1\n"
EDIT = """
[[answer]]
text = "I change it."
[[answer.call]]
tool = "edit_file"
arguments = { path = "app.py", edits = [{ old_string = "return 1", new_string = "return 2" }] }
"""
DONE = """
[[answer]]
text = "It is done."
"""
ASKED = (
    "asked Edit app.py: allow_once [allow_once], allow_session [allow_always], "
    "allow_always [allow_always], reject_once [reject_once], reject_always [reject_always]"
)
DIFF = r"  diff app.py: 'def f():\n    return 1\n' -> 'def f():\n    return 2\n'"

LONG = f"{'a=1;' * 100}b=1;{'a=1;' * 100}\n"
LONG_CUT = (
    f"… (322 characters left out) …1;{'a=1;' * 19}b=1;{'a=1;' * 19}a=1"
    "… (321 characters left out) …\n"
)
LONG_DIFF = f"  diff app.py: {LONG_CUT!r} -> {LONG_CUT.replace('b=1', 'b=2')!r}"


@dataclass(frozen=True)
class Story:
    """One prompt: what the model does, what the user chooses, and what has to be seen."""

    name: str
    scenario: str
    seen: tuple[str, ...]
    """Lines that the client sees, in this order; others may stand between them."""
    stop: str = "end_turn"
    """How it ends; … stands for any words."""
    choices: tuple[str, ...] = ()
    prompt: tuple[Any, ...] = ("Do it",)
    files: Mapping[str, str] = field(default_factory=lambda: {"app.py": APP})
    unsaved: Mapping[str, str] = field(default_factory=dict[str, str])
    after: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    """Texts on disk at the end; None: no file."""
    left: Mapping[str, str] = field(default_factory=dict[str, str])
    """Unsaved texts at the end."""
    writes: tuple[str, ...] = ()
    """What was written through the client."""
    fs: bool = True
    saves: bool = True
    settings: tuple[str, ...] = ()


STORIES = (
    Story(
        "an edit is allowed and goes through the editor",
        EDIT + DONE,
        (
            "title: Do it",
            "says: I change it.",
            "call edit_file app.py (edit, pending)",
            ASKED,
            DIFF,
            "call in_progress app.py",
            "call completed",
            DIFF,
            "says: It is done.",
            "ended: end_turn",
        ),
        choices=("allow_once",),
        after={"app.py": APP.replace("1", "2")},
        writes=("app.py",),
    ),
    Story(
        "a change in a long line is shown in its surroundings",
        EDIT.replace("return 1", "b=1").replace("return 2", "b=2") + DONE,
        (ASKED, LONG_DIFF, "call completed", LONG_DIFF),
        choices=("allow_once",),
        files={"app.py": LONG},
        after={"app.py": LONG.replace("b=1", "b=2")},
        writes=("app.py",),
    ),
    Story(
        "an edit is rejected",
        EDIT + '[[answer]]\nexpect = { last_contains = ["reject"] }\ntext = "Then not."',
        (ASKED, "call failed", "says: Then not."),
        choices=("reject_once",),
        after={"app.py": APP},
    ),
    Story(
        "the user dismisses the request",
        EDIT,
        (ASKED, "call failed", "ended: cancelled"),
        stop="cancelled",
        choices=("cancelled",),
        after={"app.py": APP},
    ),
    Story(
        "an answer that was not offered allows nothing",
        EDIT,
        (ASKED, "ended: cancelled"),
        stop="cancelled",
        choices=("allow_everything",),
        after={"app.py": APP},
    ),
    Story(
        "a client without files: the disk is edited",
        EDIT + DONE,
        ("call completed", DIFF),
        choices=("allow_once",),
        after={"app.py": APP.replace("1", "2")},
        fs=False,
    ),
    Story(
        "unsaved text is read and kept",
        '[[answer]]\n[[answer.call]]\ntool = "read_file"\narguments = { path = "app.py" }'
        + EDIT.replace("[[answer]]", '[[answer]]\nexpect = { contains = ["typed by me"] }', 1)
        + DONE,
        ("call completed", "call edit_file app.py (edit, pending)", ASKED, "call completed"),
        choices=("allow_once",),
        unsaved={"app.py": f"# typed by me\n{APP}"},
        after={"app.py": f"# typed by me\n{APP.replace('1', '2')}"},
        writes=("app.py",),
    ),
    Story(
        "a client that does not save keeps the edit in its buffer",
        EDIT
        + '[[answer]]\n[[answer.call]]\ntool = "read_file"\narguments = { path = "app.py" }'
        '[[answer]]\nexpect = { last_contains = ["return 2"] }\ntext = "Yes."'.replace(
            "[[answer]]", "\n[[answer]]"
        ),
        (ASKED, "call completed", DIFF, "says: Yes."),
        choices=("allow_once",),
        after={"app.py": APP},
        left={"app.py": APP.replace("1", "2")},
        writes=("app.py",),
        saves=False,
    ),
    Story(
        "a new file is written through the editor, one in a new folder to the disk",
        """
[[answer]]
[[answer.call]]
tool = "write_file"
arguments = { path = "new.py", content = "x = 1\\n" }
[[answer]]
[[answer.call]]
tool = "write_file"
arguments = { path = "deep/er.py", content = "y = 1\\n" }
"""
        + DONE,
        (r"  diff new.py: None -> 'x = 1\n'", r"  diff deep/er.py: None -> 'y = 1\n'"),
        settings=("mode=accept-edits",),
        after={"new.py": "x = 1\n", "deep/er.py": "y = 1\n"},
        writes=("new.py",),
    ),
    Story(
        "a file with unsaved text is not deleted",
        '[[answer]]\n[[answer.call]]\ntool = "delete_file"\narguments = { path = "app.py" }\n'
        '[[answer]]\nexpect = { last_contains = ["save it first"] }\ntext = "It stays."',
        ("call failed", "says: It stays."),
        settings=("mode=auto",),
        unsaved={"app.py": "typed"},
        after={"app.py": APP},
        left={"app.py": "typed"},
    ),
    Story(
        "a command's output streams, and what it changed is shown",
        '[[answer]]\n[[answer.call]]\ntool = "run_command"\n'
        'arguments = { command = "echo out; echo new > made.txt" }\n' + DONE,
        (
            "call run_command echo out; echo new > made.txt (execute, pending)",
            "call in_progress",
            "call completed",
            "  | out",
            r"  diff made.txt: None -> 'new\n'",
        ),
        choices=("allow_once",),
        after={"made.txt": "new\n"},
    ),
    Story(
        "a plan is shown as a whole",
        """
[[answer]]
[[answer.call]]
tool = "update_plan"
arguments.items = [{ text = "Look", status = "completed" }, { text = "Change", status = "blocked" }]
"""
        + DONE,
        ("plan: Look completed, Change (blocked) pending",),
    ),
    Story(
        "a question with options",
        '[[answer]]\n[[answer.call]]\ntool = "ask_user"\n'
        'arguments = { question = "Which?", options = ["red", "blue"] }\n'
        '[[answer]]\nexpect = { last_contains = ["blue"] }\ntext = "Blue it is."',
        (
            "asked : 0 [allow_once], 1 [allow_once], in-words [reject_once]",
            "call completed",
            "  | blue",
            "says: Blue it is.",
        ),
        choices=("1",),
    ),
    Story(
        "a question that the user answers in words with the next prompt",
        '[[answer]]\n[[answer.call]]\ntool = "ask_user"\narguments = { question = "What name?" }\n',
        ("asked : no-answer [allow_once], in-words [reject_once]", "ended: cancelled"),
        stop="cancelled",
        choices=("in-words",),
    ),
    Story(
        "steps used up",
        '[[answer]]\n[[answer.call]]\ntool = "read_file"\narguments = { path = "app.py" }\n'
        '[[answer]]\ntext = "I read it, and no more."',
        ("says: I read it, and no more.", "ended: max_turn_requests"),
        stop="max_turn_requests",
        settings=("policies.step_limit.max_steps=1",),
    ),
    Story(
        "a model that refuses the key",
        '[[answer]]\nerror = { status = 401, message = "bad key" }\nrepeat = 0',
        (),
        stop="error: …does not accept the key for openai/scripted. It said: bad key.…",
    ),
    Story(
        "thoughts stream beside the answer",
        '[[answer]]\nreasoning = "Hm."\ntext = "Yes."',
        ("thinks: Hm.", "says: Yes."),
    ),
    Story(
        "files that the editor sends along",
        '[[answer]]\nexpect = { contains = ["Look at `app.py` and `app.py#L2:2`", "    return 7", '
        '"not the user\'s words", "`.env`", "not shown"], absent = ["hunter2"] }\ntext = "Seen."',
        ("says: Seen.",),
        prompt=(
            "Look at ",
            "LINK app.py",
            " and ",
            "TEXT app.py#L2:2\n    return 7",
            "TEXT .env\nX=hunter2",
        ),
        files={"app.py": APP, ".env": "X=hunter2\n"},
    ),
)


def blocks(story: Story, root: Path) -> list[Any]:
    """Return a story's prompt; LINK and TEXT stand for resources."""
    made: list[Any] = []
    for one in story.prompt:
        kind, _, rest = one.partition(" ")
        name, _, text = rest.partition("\n")
        uri = f"file://{root}/{name}"
        if kind == "LINK":
            made.append(link(name, uri))
        elif kind == "TEXT":
            made.append(resource_block(embedded_text_resource(uri, text)))
        else:
            made.append(one)
    return made


def in_order(lines: list[str], seen: tuple[str, ...]) -> list[str]:
    """Return the expected lines that do not come in this order."""
    rest = iter(lines)
    return [one for one in seen if not any(line == one for line in rest)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "project"
    place.mkdir()
    (place / "app.py").write_text(APP)
    return place


@pytest.mark.parametrize(
    "story",
    [
        pytest.param(one, id=one.name, marks=pytest.mark.story("acp") if one is STORIES[0] else ())
        for one in STORIES
    ],
)
async def test_a_story(story: Story, root: Path, warm_host: Mapping[str, str]) -> None:
    for name, text in story.files.items():
        (root / name).write_text(text)
    editor = AcpEditor(root, list(story.choices), dict(story.unsaved), story.saves)
    words = [word for one in story.settings for word in ("--set", one)]
    async with (
        scripted(story.scenario) as model,
        acp_agent(editor, variables(model, warm_host), fs=story.fs, words=words) as wire,
    ):
        stop = await wire.prompt(await wire.session(), *blocks(story, root))
    shown = "\n".join(editor.lines)
    begin, *middle = story.stop.split("…")
    assert stop.startswith(begin), shown
    assert [one for one in middle if one not in stop] == [], stop
    assert in_order(editor.lines, story.seen) == [], shown
    found = {
        name: path.read_text() if path.exists() else None
        for name in story.after
        for path in [root / name]
    }
    assert found == story.after
    assert editor.unsaved == story.left
    assert tuple(editor.writes) == story.writes


def text_of(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def variables(model: Any, warm_host: Mapping[str, str]) -> dict[str, str]:
    return {**warm_host, "AGENT_LS_API_BASE": model.base_url}


async def test_cancel_in_mid_stream_is_quick_and_the_next_prompt_works(
    root: Path, warm_host: Mapping[str, str]
) -> None:
    scenario = '[[answer]]\ntext = "One two three four"\nhang = "middle"\n' + DONE
    editor = AcpEditor(root)
    async with scripted(scenario) as model, acp_agent(editor, variables(model, warm_host)) as wire:
        session = await wire.session()
        turn = asyncio.create_task(wire.prompt(session, "Count"))
        await editor.until(lambda: "One" in editor.said)
        began = time.monotonic()
        await wire.agent.cancel(session_id=session)
        assert await turn == "cancelled"
        assert time.monotonic() - began < 0.5
        assert await wire.prompt(session, "Go on") == "end_turn"
    assert "It is done." in editor.said


async def test_a_prompt_right_behind_a_cancel_is_a_turn_of_its_own(
    root: Path, warm_host: Mapping[str, str]
) -> None:
    scenario = '[[answer]]\ntext = "One two three four"\nhang = "middle"\n' + DONE
    editor = AcpEditor(root)
    async with scripted(scenario) as model, acp_agent(editor, variables(model, warm_host)) as wire:
        session = await wire.session()
        turn = asyncio.create_task(wire.prompt(session, "Count"))
        await editor.until(lambda: "One" in editor.said)
        _, second = await asyncio.gather(
            wire.agent.cancel(session_id=session), wire.prompt(session, "Rather this")
        )
        assert (await turn, second) == ("cancelled", "end_turn")


async def test_words_that_a_cancel_overtook_are_said_again(
    root: Path, warm_host: Mapping[str, str]
) -> None:
    editor = AcpEditor(root, ["wait"])
    async with scripted(EDIT) as model, acp_agent(editor, variables(model, warm_host)) as wire:
        session = await wire.session()
        turn = asyncio.create_task(wire.prompt(session, "Do it"))
        await editor.until(lambda: editor.questions)
        # In order: the queue has the words before the cancel comes.
        steer = asyncio.create_task(wire.prompt(session, "In German"))
        await asyncio.sleep(0.3)
        await wire.agent.cancel(session_id=session)
        assert await asyncio.gather(turn, steer) == ["cancelled", "cancelled"]
    assert "> In German\n" in editor.said


async def test_a_prompt_during_a_turn_joins_it(root: Path, warm_host: Mapping[str, str]) -> None:
    scenario = EDIT + '[[answer]]\nexpect = { contains = ["In German"] }\ntext = "Fertig."'
    editor = AcpEditor(root, ["wait"])
    async with scripted(scenario) as model, acp_agent(editor, variables(model, warm_host)) as wire:
        session = await wire.session()
        turn = asyncio.create_task(wire.prompt(session, "Do it"))
        await editor.until(lambda: editor.questions)
        steer = asyncio.create_task(wire.prompt(session, "In German"))
        await asyncio.sleep(0.3)
        editor.answer.set()
        assert await asyncio.gather(turn, steer) == ["end_turn", "end_turn"]
    assert "Fertig." in editor.said


async def test_cancel_while_the_user_is_asked(root: Path, warm_host: Mapping[str, str]) -> None:
    editor = AcpEditor(root, ["wait"])
    async with scripted(EDIT) as model, acp_agent(editor, variables(model, warm_host)) as wire:
        session = await wire.session()
        turn = asyncio.create_task(wire.prompt(session, "Do it"))
        await editor.until(lambda: editor.questions)
        await wire.agent.cancel(session_id=session)
        assert await turn == "cancelled"
    assert (root / "app.py").read_text() == APP


async def test_a_session_is_listed_loaded_and_goes_on(
    root: Path, warm_host: Mapping[str, str]
) -> None:
    further = '[[answer]]\nexpect = { contains = ["Do it", "It is done."] }\ntext = "And more."'
    first, second = AcpEditor(root, ["allow_once"]), AcpEditor(root)
    async with scripted(EDIT + DONE + further) as model:
        async with acp_agent(first, variables(model, warm_host)) as wire:
            session = await wire.session()
            await wire.agent.set_session_mode(session_id=session, mode_id="ask")
            await wire.prompt(session, "Do it")
        async with acp_agent(second, variables(model, warm_host)) as wire:
            listed = await wire.agent.list_sessions(cwd=str(root))
            assert [(one.session_id, one.title) for one in listed.sessions] == [(session, "Do it")]
            everywhere = (await wire.agent.list_sessions()).sessions
            assert (session, str(root)) in [(one.session_id, one.cwd) for one in everywhere]
            loaded = await wire.agent.load_session(
                cwd=str(root), session_id=session, mcp_servers=[]
            )
            assert loaded.modes.current_mode_id == "ask"
            replayed = list(second.lines)
            assert await wire.prompt(session, "Go on") == "end_turn"
    told = ("user: Do it", "says: I change it.", "call completed", DIFF, "says: It is done.")
    assert in_order(replayed, told) == [], replayed
    assert second.lines[-2:] == ["says: And more.", "ended: end_turn"]


async def test_a_client_that_dies_leaves_no_process_and_the_turn_can_go_on(
    root: Path, warm_host: Mapping[str, str]
) -> None:
    scenario = '[[answer]]\n[[answer.call]]\ntool = "run_command"\n' + (
        'arguments = { command = "sleep 311" }\n'
        '[[answer]]\nexpect = { contains = ["Wait a while"] }\ntext = "Here I am."'
    )
    first, second = AcpEditor(root, ["allow_once"]), AcpEditor(root)
    async with scripted(scenario) as model:
        async with acp_agent(first, variables(model, warm_host)) as wire:
            session = await wire.session()
            turn = asyncio.create_task(wire.prompt(session, "Wait a while"))
            await first.until(lambda: "call in_progress" in first.lines)
            family = psutil.Process(wire.process.pid).children(recursive=True)
            assert wire.process.stdin is not None
            wire.process.stdin.close()
            async with asyncio.timeout(15):
                assert await wire.process.wait() == 0
            turn.cancel()
        _, alive = await asyncio.to_thread(psutil.wait_procs, family, 5)
        assert alive == []
        async with acp_agent(second, variables(model, warm_host)) as wire:
            await wire.agent.load_session(cwd=str(root), session_id=session, mcp_servers=[])
            assert await wire.prompt(session, "Go on") == "end_turn"
    assert "Here I am." in second.said


async def test_what_waited_when_the_client_died_is_asked_again(
    root: Path, warm_host: Mapping[str, str]
) -> None:
    first, second = AcpEditor(root, ["wait"]), AcpEditor(root, ["allow_once"])
    async with scripted(EDIT + DONE) as model:
        async with acp_agent(first, variables(model, warm_host)) as wire:
            session = await wire.session()
            turn = asyncio.create_task(wire.prompt(session, "Do it"))
            await first.until(lambda: first.questions)
            # What is asked may be a moment ahead of what is stored.
            await asyncio.sleep(1)
            wire.process.kill()
            await wire.process.wait()
            turn.cancel()
        async with acp_agent(second, variables(model, warm_host)) as wire:
            await wire.agent.load_session(cwd=str(root), session_id=session, mcp_servers=[])
            assert second.questions == []
            assert "next message goes on" in second.lines[-1]
            assert await wire.prompt(session, "Go on") == "end_turn"
    assert len(second.questions) == 1, second.lines
    assert (root / "app.py").read_text() == APP.replace("1", "2")


def edits(name: str) -> str:
    arguments = f'{{ path = "{name}.txt", content = "{name}" }}'
    return f"""
[[answer]]
when = {{ first = "Write {name}" }}
delay_ms = 100
[[answer.call]]
tool = "write_file"
arguments = {arguments}
[[answer]]
when = {{ first = "Write {name}" }}
text = "This is {name}."
"""


async def test_two_sessions_at_once_do_not_mix(root: Path, warm_host: Mapping[str, str]) -> None:
    editor = AcpEditor(root)
    words = ("--set", "mode=accept-edits")
    async with (
        scripted(edits("left") + edits("right")) as model,
        acp_agent(editor, variables(model, warm_host), words=words) as wire,
    ):
        left, right = await wire.session(), await wire.session()
        assert left != right
        stops = await asyncio.gather(
            wire.prompt(left, "Write left"), wire.prompt(right, "Write right")
        )
    assert stops == ["end_turn", "end_turn"]
    assert editor.written_for == {"left.txt": left, "right.txt": right}
    said = {
        session: "".join(
            update.content.text
            for of, update in editor.updates
            if of == session and update.session_update == "agent_message_chunk"
        )
        for session in (left, right)
    }
    assert said == {left: "This is left.", right: "This is right."}


async def test_the_mode_can_be_switched(root: Path, warm_host: Mapping[str, str]) -> None:
    editor = AcpEditor(root)
    async with (
        scripted(EDIT + DONE) as model,
        acp_agent(editor, variables(model, warm_host)) as wire,
    ):
        made = await wire.agent.new_session(cwd=str(root), mcp_servers=[])
        offered = [one.id for one in made.modes.available_modes]
        assert offered == ["plan", "ask-all", "ask", "accept-edits", "auto"]
        await wire.agent.set_session_mode(session_id=made.session_id, mode_id="accept-edits")
        assert await wire.prompt(made.session_id, "Do it") == "end_turn"
    assert "mode: accept-edits" in editor.lines
    assert editor.questions == []


SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    open("started", "a").write(asked["method"])
    known = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                            "serverInfo": {"name": "s", "version": "1"}},
             "tools/list": {"tools": [{"name": "greet", "inputSchema": {"type": "object"}}]}}
    if "id" in asked:
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": known.get(asked["method"], {})}
        print(json.dumps(answer), flush=True)
"""


@pytest.mark.parametrize("is_trusted", [False, True])
async def test_commands_and_tool_servers_of_a_folder_count_once_it_is_trusted(
    root: Path, warm_host: Mapping[str, str], is_trusted: bool
) -> None:
    (root / ".agent-ls" / "commands").mkdir(parents=True)
    (root / ".agent-ls/commands/tidy.md").write_text(
        "---\nargument-hint: FILE\n---\nTidy up $1 please."
    )
    marker = root.parent / "started"
    server = McpServerStdio(
        name="my server!",
        command=sys.executable,
        args=["-c", SERVER.replace("started", str(marker))],
        env=[],
    )
    if is_trusted:
        TrustedFolders(trust_file()).trust(root)
    expected = 'tools = ["my-server__greet"], contains = ["Tidy up app.py please."]'
    scenario = f"[[answer]]\nexpect = {{ {expected} }}\n" if is_trusted else "[[answer]]\n"
    words = "/tidy app.py" if is_trusted else "Hello"
    editor = AcpEditor(root)
    async with (
        scripted(f'{scenario}text = "Yes."') as model,
        acp_agent(editor, variables(model, warm_host)) as wire,
    ):
        made = await wire.agent.new_session(cwd=str(root), mcp_servers=[server])
        assert await wire.prompt(made.session_id, words) == "end_turn"
    assert ("commands: tidy" in editor.lines, marker.exists()) == (is_trusted, is_trusted)


@dataclass(frozen=True)
class Wrong:
    """A request that is refused, and words of the refusal."""

    method: str
    params: Mapping[str, Any]
    words: str
    code: int = -32602


WRONG = (
    Wrong("session/prompt", {"sessionId": "ses_no", "prompt": []}, "load it first"),
    Wrong("session/prompt", {"sessionId": 5}, "Invalid params"),
    Wrong("session/prompt", {"sessionId": "OPEN", "prompt": []}, "The prompt is empty"),
    Wrong(
        "session/prompt",
        {"sessionId": "OPEN", "prompt": [image_block("aGk=", "image/png").model_dump()]},
        "1 is no image that models take",
    ),
    Wrong(
        "session/prompt",
        {"sessionId": "OPEN", "prompt": [audio_block("aGk=", "audio/wav").model_dump()]},
        "does not listen to sound",
    ),
    Wrong("session/set_mode", {"sessionId": "OPEN", "modeId": "yolo"}, "There is no mode yolo"),
    Wrong("session/new", {"cwd": "nowhere", "mcpServers": []}, "absolute path"),
    Wrong("session/new", {"mcpServers": []}, "Invalid params"),
    Wrong(
        "session/load", {"sessionId": "ses_no", "cwd": "ROOT", "mcpServers": []}, "has no session"
    ),
    Wrong("session/nonsense", {}, "Method not found", -32601),
    Wrong("_ours/nonsense", {}, "Method not found", -32601),
)


async def test_images_come_with_a_prompt_and_are_shown_again(
    root: Path, warm_host: Mapping[str, str]
) -> None:
    shot, chart, file = image(size=(80, 60)), image("JPEG"), image(size=(5, 5))
    (root / "file.png").write_bytes(file)
    read = """
[[answer]]
[[answer.call]]
tool = "read_file"
arguments = { path = "file.png" }
"""
    editor = AcpEditor(root)
    async with (
        scripted(read + DONE) as model,
        acp_agent(editor, variables(model, warm_host)) as wire,
    ):
        session = await wire.session()
        blob = embedded_blob_resource(
            "file:///tmp/chart.jpg", encoded(chart), mime_type="image/jpeg"
        )
        blocks = [
            text_block("Like this"),
            image_block(encoded(shot), "image/png"),
            resource_block(blob),
            text_block(" look"),
            link("file.png", (root / "file.png").as_uri(), mime_type="image/png"),
            text_block("at"),
            link("a.txt", (root / "a b.txt").as_uri()),
            text_block(", or ("),
            link("gone.png", (root / "gone.png").as_uri()),
        ]
        answer = await wire.agent.prompt(session_id=session, prompt=blocks)
        assert answer.stop_reason == "end_turn"
        await wire.agent.load_session(cwd=str(root), session_id=session, mcp_servers=[])
    first, second = model.requests
    assert first.images == [data_url(shot), data_url(chart, "image/jpeg"), data_url(file)]
    assert (
        "Like this [image 1 80x60] [image chart.jpg 8x6] look [image file.png 5x5] at `a b.txt`, "
        "or (`gone.png`"
    ) in first.first_user_text
    assert second.images[:3] == first.images
    shown = [
        block.data
        for _, update in editor.updates
        for block in _blocks(update)
        if block.type == "image"
    ]
    # Live the file alone, which the agent looked at; then all of the session.
    assert shown == [encoded(one) for one in (file, shot, chart, file, file)]


def _blocks(update: Any) -> list[Any]:
    """Return what an update shows: words, images, diffs."""
    content = getattr(update, "content", None) or []
    if not isinstance(content, list):
        return [content]
    return [one.content for one in content if one.type == "content"]


async def test_wrong_requests_are_refused_in_words(
    root: Path, warm_host: Mapping[str, str]
) -> None:
    editor = AcpEditor(root)
    async with scripted(DONE) as model, acp_agent(editor, variables(model, warm_host)) as wire:
        session = await wire.session()
        names = {"OPEN": session, "ROOT": str(root)}
        for one in WRONG:
            params = {key: names.get(str(value), value) for key, value in one.params.items()}
            with pytest.raises(RequestError) as refused:
                await wire.agent._conn.send_request(one.method, params)
            assert (one.words in str(refused.value), refused.value.code) == (True, one.code), one
        assert await wire.prompt(session, "Still there?") == "end_turn"


async def test_lines_that_are_no_messages_do_not_end_it(
    root: Path, warm_host: Mapping[str, str]
) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "agent_ls", "acp"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdin is not None
    hello = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'
    odd = [b"nonsense", b"[" * 9999, b"[]", b"7", b'{"id":9}', b'{"method":["x"],"id":2}']
    process.stdin.write(b"\n".join([*odd, hello, b""]))
    assert process.stdout is not None
    async with asyncio.timeout(60):
        answers = [json.loads(await process.stdout.readline()) for _ in range(6)]
    codes = [one["error"]["code"] for one in answers if "error" in one]
    assert sorted(codes) == [-32700, -32700, -32603, -32600, -32600]
    assert [one["result"]["protocolVersion"] for one in answers if one.get("id") == 1] == [1]
    process.stdin.close()
    async with asyncio.timeout(20):
        assert await process.stdout.read() == b""
        await process.wait()
    assert process.returncode == 0


async def test_without_a_model_a_session_says_what_to_do(
    root: Path, warm_host: Mapping[str, str]
) -> None:
    editor = AcpEditor(root)
    async with acp_agent(editor, {**warm_host, "AGENT_LS_MODEL": ""}) as wire:
        with pytest.raises(RequestError, match="AGENT_LS_MODEL"):
            await wire.session()


async def test_nothing_of_a_folder_runs_before_it_is_trusted(
    root: Path, warm_host: Mapping[str, str]
) -> None:
    (root / ".agent-ls").mkdir()
    hook = '[[hooks.before_model]]\nname = "x"\ncommand = "touch hooked"\n'
    (root / ".agent-ls" / "config.toml").write_text(f'mode = "auto"\n{hook}')
    editor = AcpEditor(root, ["reject_once"])
    async with (
        scripted(EDIT + DONE) as model,
        acp_agent(editor, variables(model, warm_host)) as wire,
    ):
        await wire.prompt(await wire.session(), "Do it")
    assert editor.questions, "the folder has allowed itself an edit"
    assert not (root / "hooked").exists()


def test_the_extra_is_named_when_it_is_missing() -> None:
    code = (
        "import sys; sys.modules['acp'] = None; from agent_ls.cli.main import main; "
        "sys.exit(main(['acp']))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.returncode == 3
    assert "agent-client-protocol" in done.stderr
    assert done.stdout == ""
