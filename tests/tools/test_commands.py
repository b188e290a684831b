"""run_command and read_output: what runs, what comes back, and what a user is shown of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from agent_ls.domain.calls import Effect, ErrorKind, ToolCall, ToolResult
from agent_ls.domain.errors import ToolError, WorkspaceError
from agent_ls.domain.events import Answered, Event, ToolCallFinished, ToolCallStarted
from agent_ls.domain.messages import AssistantMessage
from agent_ls.loop.ports.workspace import Root
from agent_ls.store.sql_store import SqlStore, open_store
from agent_ls.tools.read_output import ReadOutput
from agent_ls.tools.run_command import RunCommand, RunCommandArguments, RunCommandOptions
from agent_ls.workspace.runner import ShellRunner
from tests.tools.conftest import BufferedWorkspace, Place


async def check(place: Place, command: str, expected: str, **call: object) -> None:
    """Run a command and assert what the model reads."""
    tool = RunCommand(place.workspace, ShellRunner())
    output = await place.call(tool, command=command, **call)
    assert output.text == expected


async def test_a_command_gives_its_exit_code_and_output(place: Place) -> None:
    (place.root / "src").mkdir()
    await check(place, "echo one; echo two >&2; exit 3", "Exit code 3.\none\ntwo")
    await check(place, "true", "Exit code 0.")
    await check(place, "basename $PWD", "Exit code 0.\nsrc", cwd="./src/")
    assert "".join(place.said) == "one\ntwo\nsrc\n"


async def test_output_reads_as_a_terminal_would_have_left_it(place: Place) -> None:
    await check(place, r"printf '10%%\r100%%\n\033[31mred\033[0m\033]0;t\007\n'",
                "Exit code 0.\n100%\nred")  # fmt: skip
    assert "\x1b" not in "".join(place.said)


async def test_a_command_that_takes_too_long_is_killed(place: Place) -> None:
    tool = RunCommand(place.workspace, ShellRunner(), options=RunCommandOptions(max_timeout_s=0.3))
    output = await place.call(tool, command="echo begun; sleep 60", timeout_s=50)
    assert output.error is ErrorKind.TIMEOUT
    assert output.text == (
        "Killed after 0.3 s with everything it started. Its output until then:\nbegun"
    )


@pytest.mark.parametrize("cwd, words", [("missing", "is not a folder"), ("a.txt", "not a folder")])
async def test_a_folder_that_is_none_is_said(place: Place, cwd: str, words: str) -> None:
    place.write("a.txt", "")
    output = await place.call(RunCommand(place.workspace, ShellRunner()), command="ls", cwd=cwd)
    assert words in output.text
    assert output.error is ErrorKind.RUNTIME


async def test_the_environment_holds_no_keys_and_a_clean_git_only_for_reading(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary")
    tool = RunCommand(place.workspace, ShellRunner())
    plain = await place.call(tool, command="env")
    assert "canary" not in plain.text
    assert "GIT_CONFIG_GLOBAL" not in plain.text
    place.write(".git/config", "[core]\n\tbare = false\n")
    place.write(".git/HEAD", "ref: refs/heads/main\n")
    (place.root / ".git/objects").mkdir()
    (place.root / ".git/refs").mkdir()
    # The configuration that was set for it is seen by git itself.
    context = replace(place.context(), reads_only=True)
    arguments = RunCommandArguments(command="git config --get core.pager")
    read_only = await tool.run(arguments, context)
    assert read_only.text == "Exit code 0.\ncat"


async def test_a_user_sees_the_very_command_first(place: Place) -> None:
    tool = RunCommand(place.workspace, ShellRunner())
    hidden = "echo ok\u202e\x07" + " " * 100 + "; rm x\necho\ttwo"
    preview = await tool.preview(RunCommandArguments(command=hidden))
    assert preview.title == "Run: echo ok\\u202e\\x07 ⟨100 blanks⟩ ; rm x\\necho\\ttwo"
    assert preview.payload == (
        f"echo ok\\u202e\\x07 ⟨100 blanks⟩ ; rm x\necho\ttwo\n(in {place.root})"
    )
    assert preview.grant == f"run_command:{hidden}"
    assert tool.effect is Effect.EXECUTE


@pytest.mark.parametrize("before", ["", "cd sub && ", "cd 'my folder'\n"])
@pytest.mark.parametrize("call", ["apply_patch <<'EOF'\n", 'applypatch "'])
def test_a_patch_is_given_to_the_tool_and_to_no_program(before: str, call: str) -> None:
    with pytest.raises(ValidationError, match="apply_patch is a tool"):
        RunCommandArguments(command=f"{before}{call}*** Begin Patch\n*** End Patch\n")
    RunCommandArguments(command=f"{before}cat <<'EOF'\n*** Begin Patch\n*** End Patch\nEOF\n")
    RunCommandArguments(command="apply_patch --help")


@pytest.mark.parametrize(
    "command", ["", "a\0b", "half \ud83d", "x" * 100_001, "ä" * 60_000], ids=repr
)
def test_what_no_shell_can_be_given_is_a_structural_error(command: str) -> None:
    with pytest.raises(ValidationError):
        RunCommandArguments(command=command)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    opened = open_store(tmp_path / "store.db")
    yield opened
    await opened.close()


async def _cut_result(store: SqlStore, text: str) -> tuple[str, list[Event]]:
    """Return the handle of a stored output, and the events by which the session knows it."""
    digest = await store.put_blob(text.encode())
    call = ToolCall(id="cal_9", provider_id="p", tool="run_command", arguments_json="{}")
    result = ToolResult(call_id="cal_9", text="…", output_id=digest)
    return digest, [
        Answered(step_id="stp_1", message=AssistantMessage(calls=(call,))),
        ToolCallStarted(call_id="cal_9", tool="run_command", effect=Effect.EXECUTE),
        ToolCallFinished(result=result),
    ]


async def test_the_rest_of_a_cut_result_is_read_by_its_handle(
    place: Place, store: SqlStore
) -> None:
    lines = [f"line {number}" for number in range(1, 501)]
    digest, events = await _cut_result(store, "\n".join(lines))
    tool = ReadOutput(store)
    output = await place.call(tool, *events, handle=digest[:12], start_line=499)
    assert output.text == "line 499\nline 500\n(lines 499-500 of 500)"
    output = await place.call(tool, *events, handle=digest[:12], start_line=10, lines=2)
    assert output.text == "line 10\nline 11\n(lines 10-11 of 500)"
    with pytest.raises(ToolError, match="only 500 lines"):
        await place.call(tool, *events, handle=digest[:12], start_line=501)


async def test_only_outputs_of_this_session_can_be_read(place: Place, store: SqlStore) -> None:
    digest = await store.put_blob(b"of another session")
    with pytest.raises(ToolError, match="no output with this handle"):
        await place.call(ReadOutput(store), handle=digest[:12])


@pytest.mark.parametrize("handle", ["../../etc", "ABCDEF012345", "short", "g" * 12])
def test_a_handle_is_nothing_else(handle: str) -> None:
    with pytest.raises(ValidationError):
        ReadOutput.Arguments.model_validate({"handle": handle})


@pytest.mark.parametrize("names", [("proj",), ("proj", "other")])
async def test_with_several_folders_the_schema_wants_one(
    place: Place, names: tuple[str, ...]
) -> None:
    roots = [Root(name, place.root.parent / name, is_trusted=True) for name in names]
    for root in roots:
        root.path.mkdir(exist_ok=True)
    tool = RunCommand(BufferedWorkspace(roots), ShellRunner())
    parameters = tool.parameters(place.context().view)
    described = json.dumps(parameters["properties"])
    if len(names) == 1:
        assert parameters["required"] == ["command"]
        assert "proj/" not in described
        return
    assert parameters["required"] == ["command", "cwd"]
    assert "Folder to run it in: proj/, other/ or one below." in described
    with pytest.raises(WorkspaceError, match=r"Name one instead of '\.': proj/, other/"):
        await place.call(tool, command="pwd")
    output = await place.call(tool, command="basename $PWD", cwd="other")
    assert output.text == "Exit code 0.\nother"
