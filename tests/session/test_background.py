"""Programs that go on when their call has ended: read by parts, and gone with their session."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import ValidationError

from agent_ls.assembly import SystemClock
from agent_ls.domain import events as e
from agent_ls.domain.calls import ToolCall
from agent_ls.domain.errors import ToolError
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.modes import Mode
from agent_ls.loop.calls.other_agents import in_our_words
from agent_ls.loop.extension_points import Tool, ToolContext, ToolOutput
from agent_ls.loop.ports.commands import BackgroundOutput, Bounds
from agent_ls.loop.ports.models import ModelFacts
from agent_ls.loop.ports.workspace import Root
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.state.view import TurnView
from agent_ls.policies.injections.background_programs import BackgroundNews
from agent_ls.review.ledger import Ledger
from agent_ls.session.background import RecordedBackground, settle_background
from agent_ls.store.sql_store import SqlStore, open_store
from agent_ls.tools.background import BackgroundArguments, BackgroundPrograms
from agent_ls.tools.run_command import RunCommand, RunCommandArguments
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.dry_run import DryRunner
from agent_ls.workspace.runner import ShellRunner

_WAIT_S = 120.0


@dataclass
class Place:
    """A session with its background programs, in a folder."""

    folder: Path
    store: SqlStore
    recorder: Recorder
    background: RecordedBackground
    events: list[e.Event] = field(default_factory=list[e.Event])

    @property
    def view(self) -> TurnView:
        assert self.recorder.state.turn is not None
        return TurnView(self.recorder.state, self.recorder.state.turn, ModelFacts(0, 0), 0.0)

    async def start(
        self, command: str, name: str = "dev", *, limit_s: float = 600.0
    ) -> BackgroundOutput:
        started = e.BackgroundStarted(call_id="cal_1", name=name, command=command, limit_s=limit_s)
        bounds = Bounds(goes_on=True)
        return await self.background.start(started, cwd=self.folder, env=None, bounds=bounds)

    async def until(self, words: str, name: str = "dev") -> str:
        """Return all output once it holds these words, or once the program has ended."""
        async with asyncio.timeout(_WAIT_S):
            while True:
                found = await self.background.output(name, after_bytes=0, wait_s=0)
                if words in found.text or found.ended is not None:
                    return found.text
                await asyncio.sleep(0.01)

    async def call(self, tool: Tool[Any], **arguments: object) -> ToolOutput:
        """Run a tool and record its events, as the loop does."""
        context = ToolContext("cal_1", "trn_1", self.view, lambda _text: None)
        output = await tool.run(tool.Arguments.model_validate(arguments), context)
        for event in output.events:
            await self.recorder.emit(event)
        return output

    @property
    def ends(self) -> list[tuple[str, str, int | None]]:
        found = self.view.each(e.BackgroundEnded)
        return [(one.name, one.end, one.exit_code) for one in found]


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    folder = tmp_path.resolve() / "proj"
    folder.mkdir()
    store = open_store(tmp_path / "store.db")
    recorder = Recorder("ses_1", store, SystemClock())
    for event in (
        e.SessionCreated(session_id="ses_1", roots=(), mode=Mode.ASK, model="x/y"),
        e.TurnStarted(turn_id="trn_1", prompt="Do it."),
    ):
        await recorder.emit(event)
    background = RecordedBackground(recorder, ShellRunner(), start_s=0)
    made = Place(folder, store, recorder, background)
    yield made
    await made.background.close()
    await store.close()


def patient(place: Place) -> RecordedBackground:
    """Return one that waits for the end of what it starts."""
    return RecordedBackground(place.recorder, ShellRunner(), start_s=_WAIT_S)


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(_WAIT_S):
        while not holds():  # noqa: ASYNC110 - nothing tells of another process
            await asyncio.sleep(0.01)


def tools(place: Place) -> tuple[Tool[Any], Tool[Any]]:
    workspace = DiskWorkspace([Root("proj", place.folder, is_trusted=True)])
    run = RunCommand(workspace, ShellRunner(), background=place.background)
    return run, BackgroundPrograms(place.background)


async def test_a_program_goes_on_and_each_look_reads_what_is_new(place: Place) -> None:
    run, background = tools(place)
    command = "echo one; until [ -e go ]; do sleep 0.05; done; echo two; exit 3"
    first = await place.call(run, command=command, background="dev")
    assert first.text.startswith("dev runs in the background. What it changes in files")
    assert first.data == {"background": "dev", "is_running": True}
    await place.until("one")
    await place.call(background, name="dev")
    nothing = await place.call(background, name="dev")
    assert nothing.text == "dev runs. No new output."
    (place.folder / "go").touch()
    assert "two" in await place.until("two")
    await eventually(lambda: bool(place.ends))
    last = await place.call(background, name="dev", wait_s=60)
    assert last.text == "dev ended with exit code 3. New output:\ntwo"
    assert place.ends == [("dev", "exited", 3)]
    listed = await place.call(background, action="list")
    assert listed.text == f"dev ended with exit code 3: {command}"


async def test_one_that_ends_at_once_is_its_own_result(place: Place) -> None:
    run, _ = tools(place)
    assert isinstance(run, RunCommand)
    run = replace(run, background=patient(place))
    output = await place.call(run, command="echo no such script >&2; exit 1", background="dev")
    assert output.text == "dev ended with exit code 1.\nno such script"
    assert output.data == {"background": "dev", "is_running": False}


async def test_a_name_is_one_program_until_that_has_ended(place: Place) -> None:
    await place.start("sleep 600")
    with pytest.raises(ToolError, match=r"dev runs already: sleep 600\. Stop it first"):
        await place.start("echo other")
    await place.background.stop("dev")
    place.background = patient(place)
    assert (await place.start("echo other")).text == "other\n"
    place.background = patient(place)
    with pytest.raises(ToolError, match="There is no background program x here; there is: none"):
        await place.background.stop("x")


async def test_no_more_than_eight_run(place: Place) -> None:
    await asyncio.gather(*(place.start("sleep 600", f"p{number}") for number in range(8)))
    with pytest.raises(ToolError, match="8 background programs run: p0, p1"):
        await place.start("true", "p8")


@pytest.mark.heavy
async def test_a_stop_ends_everything_also_what_ignores_signals_and_forks(place: Place) -> None:
    stubborn = (
        "trap '' TERM INT HUP; echo $$ >> pids; "
        "(trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ >> pids; sleep 600; sleep 600') & "
        "until [ $(wc -l < pids) -ge 2 ]; do sleep 0.05; done; echo ready; "
        "while true; do sleep 600; done"
    )
    await place.start(stubborn)
    assert "ready" in await place.until("ready")
    pids = [int(one) for one in (place.folder / "pids").read_text().split()]
    assert len(pids) == 2
    await place.background.stop("dev")
    assert not any(map(_is_alive, pids))
    assert place.ends == [("dev", "stopped", None)]
    # Another stop changes nothing.
    await place.background.stop("dev")
    assert place.ends == [("dev", "stopped", None)]


def _is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def test_the_session_ends_what_runs_and_starts_nothing_any_more(place: Place) -> None:
    await place.start("echo $$ > pid; echo ready; sleep 600")
    await place.until("ready")
    await place.background.close()
    assert not _is_alive(int((place.folder / "pid").read_text()))
    assert place.ends == [("dev", "closed", None)]
    with pytest.raises(ToolError, match="is being closed"):
        await place.start("true", "other")


async def test_a_time_limit_ends_it(place: Place) -> None:
    await place.start("echo ready; sleep 600", limit_s=0.5)
    await eventually(lambda: bool(place.ends))
    assert place.ends == [("dev", "timed_out", None)]


@pytest.mark.heavy
async def test_of_endless_output_the_newest_is_kept_and_the_rest_is_counted(place: Place) -> None:
    await place.start("seq 1 3000000; echo END; sleep 600")
    assert "END" in await place.until("END\n")
    found = await place.background.output("dev", after_bytes=0, wait_s=0)
    assert len(found.text) <= 512 * 2**10
    assert found.text.endswith("\n3000000\nEND\n")
    total = (await asyncio.to_thread(_seq_bytes, 3_000_000)) + len("END\n")
    assert found.left_out_bytes + len(found.text) == found.until_bytes == total
    assert found.text.split("\n", 1)[0].isdigit()


def _seq_bytes(last: int) -> int:
    return sum(len(str(one)) + 1 for one in range(1, last + 1))


async def test_no_look_parts_a_line_or_a_secret(place: Place) -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n"
    script = place.folder / "key.sh"
    script.write_text(
        f"printf '%s' 'ready half a line'; until [ -e go ]; do sleep 0.05; done\n"
        f"printf '%s' ' whole\n{key}'; until [ -e on ]; do sleep 0.05; done\n"
        "echo MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSk; echo -----END PRIVATE KEY-----; echo END\n"
    )
    await place.start("sh key.sh")
    (place.folder / "go").touch()
    text = await place.until("whole")
    assert text.startswith("ready half a line whole\n")
    assert "MIIEvQ" not in text
    middle = await place.background.output("dev", after_bytes=0, wait_s=0)
    (place.folder / "on").touch()
    await place.until("END\n")
    rest = await place.background.output("dev", after_bytes=middle.until_bytes, wait_s=0)
    assert "MIIEvg" not in rest.text
    assert rest.text.endswith("END\n")


async def test_a_start_that_is_given_up_leaves_nothing(place: Place) -> None:
    place.background = RecordedBackground(place.recorder, ShellRunner(), start_s=_WAIT_S)
    starting = asyncio.create_task(place.start("echo $$ > pid; sleep 600"))
    await eventually((place.folder / "pid").exists)
    starting.cancel()
    await asyncio.wait([starting])
    assert place.ends == [("dev", "stopped", None)]


async def test_a_folder_that_is_gone_is_a_failure_and_no_program(place: Place) -> None:
    place.folder.rmdir()
    place.background = patient(place)
    output = await place.start("true")
    assert output.failure
    assert place.ends == [("dev", "failed", None)]


async def test_a_dry_run_runs_nothing(place: Place) -> None:
    dry = RecordedBackground(place.recorder, DryRunner(), start_s=_WAIT_S)
    started = e.BackgroundStarted(call_id="c", name="dev", command="touch made", limit_s=9)
    found = await dry.start(started, cwd=place.folder, env=None, bounds=Bounds())
    assert found.ended is not None
    assert found.ended.words == "was not run, because this is a dry run"


async def test_after_a_kill_a_program_is_said_to_be_gone(place: Place) -> None:
    await place.start("sleep 600")
    await place.store.append((), durable=True)
    # What another process finds in the store once this one was killed.
    journal = await place.store.load("ses_1")
    again = Recorder("ses_1", place.store, SystemClock(), journal)
    told = list[e.Event]()
    other = replace(place, recorder=again, events=told)
    fresh = RecordedBackground(again, ShellRunner())
    program = again.state.background["dev"]
    assert program.ended is None

    class Seen:
        def on_event(self, stored: e.StoredEvent) -> None:
            told.append(stored.event)

        def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
            pass

    again.follow(Seen())
    await settle_background(again)
    assert told == [e.BackgroundEnded(name="dev", end="lost")]
    slot = await BackgroundNews().propose(other.view)
    assert slot is not None
    gone = "dev is gone: the process of agent-ls that ran it died"
    assert slot.text == f"In the background:\n{gone}, and its output with it: sleep 600"
    with pytest.raises(ToolError, match=gone):
        await other.call(BackgroundPrograms(fresh), name="dev")
    # It is told once.
    prepared = e.RequestPrepared(step_id="stp_1", number=1, estimated_tokens=1)
    await again.emit(prepared)
    assert await BackgroundNews().propose(other.view) is None


async def test_each_request_names_what_runs(place: Place) -> None:
    await place.start("sleep 600")
    slot = await BackgroundNews().propose(place.view)
    assert slot is not None
    assert slot.text == "In the background:\ndev runs: sleep 600"


async def test_an_undo_says_what_it_cannot_see(place: Place) -> None:
    ledger = Ledger(place.store.get_blob)
    answer = e.Answered(step_id="stp_1", message=AssistantMessage())
    started = e.BackgroundStarted(call_id="cal_1", name="dev", command="x", limit_s=9)
    looks = e.BackgroundStarted(
        call_id="cal_1", name="log", command="tail -f x", limit_s=9, reads_only=True
    )
    first = e.TurnStarted(turn_id="trn_1", prompt="Do it.")
    for seq, event in enumerate((first, answer, started, looks), 1):
        await ledger.feed(e.StoredEvent(session_id="ses_1", seq=seq, at_ms=0, event=event))
    assert [one.name for one in ledger.turns["trn_1"].background] == ["dev"]
    assert "undo left it as it is" in started.after_undo


def test_sub_agents_are_offered_none(place: Place) -> None:
    run, _ = tools(place)
    assert isinstance(run, RunCommand)
    own = run.parameters(place.view)["properties"]
    theirs = replace(run, background=None).parameters(place.view)["properties"]
    assert isinstance(own, dict)
    assert isinstance(theirs, dict)
    assert own.keys() - theirs.keys() == {"background"}


async def test_the_preview_says_that_it_goes_on_and_the_grant_is_that_of_the_command(
    place: Place,
) -> None:
    run, _ = tools(place)
    plain = RunCommandArguments.model_validate({"command": "npm run dev"})
    lasting = RunCommandArguments.model_validate(
        {"command": "npm run dev", "background": "dev", "timeout_s": 60}
    )
    shown = await run.preview(lasting)
    assert shown.title == "Run in the background: npm run dev"
    assert "(in the background as dev, for at most 60 s)" in shown.payload
    assert run.grant(lasting) == run.grant(plain)


@pytest.mark.parametrize("name", ["", "a b", "../x", "a\nb", "-x", "x" * 41])
def test_a_name_is_one_plain_word(name: str) -> None:
    with pytest.raises(ValidationError):
        RunCommandArguments.model_validate({"command": "true", "background": name or " "})


@pytest.mark.parametrize(
    "given, name",
    [
        ({"command": "npm run dev", "run_in_background": True}, "npm-run-dev"),
        ({"command": "npm run dev", "run_in_background": False}, None),
        ({"command": "npm run dev", "is_background": "true"}, "npm-run-dev"),
        ({"command": "…", "background": True}, "program"),
    ],
)
def test_the_flag_of_other_agents_makes_a_name(given: dict[str, object], name: str | None) -> None:
    assert RunCommandArguments.model_validate(given).background == name


def test_a_look_needs_a_name() -> None:
    with pytest.raises(ValidationError, match="name is needed"):
        BackgroundArguments.model_validate({"action": "stop"})
    assert BackgroundArguments.model_validate({"bash_id": "dev"}).name == "dev"


@pytest.mark.parametrize(
    "tool, given, action",
    [
        ("BashOutput", {"bash_id": "dev"}, "output"),
        ("KillShell", {"shell_id": "dev"}, "stop"),
        ("TaskStop", {"task_id": "dev"}, "stop"),
    ],
)
def test_tools_of_other_agents_read_and_stop(
    tool: str, given: dict[str, object], action: str
) -> None:
    call = ToolCall(id="cal_1", provider_id="p1", tool=tool, arguments_json=json.dumps(given))
    ours = in_our_words(call, ("background",))
    assert ours.tool == "background"
    read = BackgroundArguments.model_validate_json(ours.arguments_json)
    assert (read.name, read.action) == ("dev", action)
