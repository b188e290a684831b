"""What a server can do to us: nothing but an error result, or a tool that is left out."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.errors import ToolError
from agent_ls.mcp.arguments import SchemaArguments
from agent_ls.mcp.server_tool import spec_of
from agent_ls.mcp.servers import Servers
from tests.mcp.conftest import opened, output_of, run, server
from tests.mcp.server import TOOLS

pytestmark = [pytest.mark.heavy, pytest.mark.asyncio(loop_scope="module")]

LISTINGS = (*TOOLS, "endless")
STARTS = ("hangs at start", "ends at start", "noise at start", "vast at start")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Servers]:
    modes = {f"s-{mode.replace('_', '-').replace(' ', '-')}": mode for mode in (*LISTINGS, *STARTS)}
    several = {name: server(mode, timeout_s=4) for name, mode in modes.items()}
    several["good"] = server("good", env={"OWN": "1"})
    several["hurried"] = server("good", timeout_s=3)
    place = tmp_path_factory.mktemp("servers")
    async with opened(place, several, max_offered=10_000) as found:
        await found.settle()
        yield found


def names(servers: Servers, mode: str) -> list[str]:
    top = f"s-{mode.replace('_', '-')}/"
    return [name.removeprefix(top) for name in servers.tools if name.startswith(top)]


async def test_names_are_plain_and_shadow_nothing(servers: Servers) -> None:
    found = names(servers, "names")
    assert found[:3] == ["edit_file", "run_command_x", "read"]
    assert len(found) == 4
    assert found[3].startswith("x" * 33)
    assert len(found[3]) == 40
    # The names of all tools of servers have a slash, ours have none.
    assert all("/" in name for name in servers.tools)
    problems = servers.servers["s-names"].problems
    assert any("looks like that of" in problem for problem in problems)
    assert any("no plain letters" in problem for problem in problems)
    assert not any("\u200b" in problem or "\u202e" in problem for problem in problems)


async def test_descriptions_lose_what_is_hidden_and_say_whose_they_are(servers: Servers) -> None:
    description = servers.tools["s-hidden/look"].description
    assert description == "Looks. around\n(Words of the tool server s-hidden.)"


@pytest.mark.parametrize(
    "mode, why",
    [
        ("hidden_argument", "the name of an argument has hidden characters"),
        ("remote_reference", "refers to another document"),
        ("doubling", "too large"),
        ("large", "too large"),
        ("no_object", "its arguments are no object"),
    ],
)
async def test_what_cannot_be_made_plain_is_left_out(servers: Servers, mode: str, why: str) -> None:
    assert names(servers, mode) == []
    (problem,) = servers.servers[f"s-{mode.replace('_', '-')}"].problems
    assert why in problem


async def test_a_bad_schema_costs_its_tool_alone(servers: Servers) -> None:
    kept = ["good", "no_schema", "no_type", "either", "both", "deep", "nullable", "true", "nothing"]
    assert names(servers, "misfits") == kept
    (problem,) = servers.servers["s-misfits"].problems
    assert "list is left out: its arguments are no object" in problem
    for name in kept:
        # Providers refuse a request with any other.
        schema = spec_of(servers.tools[f"s-misfits/{name}"]).parameters
        assert schema["type"] == "object"
        assert not {"oneOf", "anyOf", "allOf"} & {*schema}
    deep = spec_of(servers.tools["s-misfits/deep"]).parameters
    assert {*deep["properties"]} == {"a"}
    either = spec_of(servers.tools["s-misfits/either"]).parameters
    assert {*either["properties"]} == {"a", "b"}
    assert spec_of(servers.tools["s-misfits/both"]).parameters["required"] == ["a"]


async def test_a_schema_is_what_providers_take(servers: Servers) -> None:
    # OpenAI refuses a whole request for an array without items.
    kept = {name: servers.tools[f"s-arrays/{name}"] for name in names(servers, "arrays")}
    assert kept.keys() == {"x", "y", "z"}
    assert kept["x"].definition.parameters["properties"]["a"]["items"] == {}
    assert kept["y"].definition.parameters["properties"]["a"] == {}
    # What it says of its results is no reason to lose them.
    assert "done again" in await run(servers, "s-arrays/z", do="again")


async def test_a_tool_that_needs_a_task_is_left_out_with_a_word(servers: Servers) -> None:
    assert names(servers, "tasks") == ["now"]
    (problem,) = servers.servers["s-tasks"].problems
    assert (
        problem == "tool later is left out: it runs only as a task, which agent-ls does not start"
    )


async def test_every_parameter_of_a_server_is_its_own(servers: Servers) -> None:
    given = {"output_path": "a.png", "output_method": "fast", "reason": "none", "arguments": "x"}
    found = await run(servers, "s-own-parameters/draw", **given)
    assert json.loads(found.split("\n")[1]) == given
    # Hooks are shown them as they are, too.
    tool = servers.tools["s-own-parameters/draw"]
    seen = tool.Arguments.model_validate(given).model_dump(mode="json", exclude_unset=True)
    assert seen == given


async def test_a_server_without_tools_is_no_failure(tmp_path: Path) -> None:
    async with opened(tmp_path, {"desk": server("prompts only")}) as servers:
        await servers.settle()
        desk = servers.servers["desk"]
        assert (desk.is_open, desk.state) == (True, "0 tools, running")


@pytest.mark.parametrize("mode, count", [("pages", 6), ("pages repeat", 2)])
async def test_a_cursor_that_repeats_itself_is_the_end(
    mode: str, count: int, tmp_path: Path
) -> None:
    async with opened(tmp_path, {"desk": server(f"{mode} prompts resources")}) as servers:
        await servers.settle()
        assert [tool.raw for tool in servers.servers["desk"].tools] == [
            f"t{number}" for number in range(count)
        ]
        assert len(servers.servers["desk"].prompts) == count
        # Named when another one is asked for.
        with pytest.raises(ToolError, match=rf"docs://r{count - 1}\)$"):
            await servers.resource("desk", "docs://none")


async def test_a_slow_start_is_waited_for_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_ls.mcp.servers._QUIET_S", 0.2)
    told: list[str] = []
    several = {"slow": server("slow at start")}
    async with opened(tmp_path, several, tell=told.append) as servers:
        await servers.settle()
        assert "slow/do" in servers.tools
    (words,) = told
    assert words.startswith("The tool server slow is still starting. The turn waits for it, 60 s")


async def test_a_schema_that_holds_itself_ends(servers: Servers) -> None:
    tool = servers.tools["s-own-parts/x"]
    once = {"type": "object", "properties": {"deep": {}}}
    assert tool.definition.parameters["properties"] == {"deep": once}


async def test_a_pattern_is_left_to_the_server(servers: Servers) -> None:
    started_s = time.monotonic()
    servers.tools["s-pattern/x"].Arguments.model_validate({"a": "a" * 60 + "!"})
    assert time.monotonic() - started_s < 1


@pytest.mark.parametrize("mode, count", [("many", 200), ("endless", 50)])
async def test_tools_are_counted(servers: Servers, mode: str, count: int) -> None:
    assert len(names(servers, mode)) == count


@pytest.mark.parametrize(
    "mode, state",
    [
        ("hangs at start", "it did not answer within 4 s"),
        ("ends at start", "no licence found"),
        ("noise at start", "1 tool, running"),
        ("vast at start", "it lists more than 4,194,304 characters"),
    ],
)
async def test_a_bad_start_is_told(servers: Servers, mode: str, state: str) -> None:
    name = mode.replace(" ", "-").replace("_", "-")
    assert state in servers.servers[f"s-{name}"].state


async def test_a_list_without_end_ends_no_other_session(tmp_path: Path) -> None:
    several = {"vast": server("vast"), "good": server("good")}
    async with opened(tmp_path, several) as servers:
        await servers.settle()
        assert "done x" in await run(servers, "good/do", do="x")
        pid = servers._link.pid
        for _ in range(2):
            with pytest.raises(ToolError, match=r"vast does not run: it lists more than 4,194,304"):
                await servers.start("vast")
            assert "done x" in await run(servers, "good/do", do="x")
        assert servers._link.pid == pid


@pytest.mark.parametrize(
    "what, kind, words",
    [
        ("hang", ErrorKind.TIMEOUT, "it did not answer within 3 s"),
        ("crash", ErrorKind.RUNTIME, "out of cheese"),
        ("flood", ErrorKind.RUNTIME, "floods us with messages"),
        ("noise", ErrorKind.RUNTIME, "what is no message"),
        ("giant", ErrorKind.RUNTIME, "a message of over 16,777,216 bytes"),
        ("unknown", ErrorKind.RUNTIME, "refused the call: ValidationError"),
        ("locked", ErrorKind.RUNTIME, "has to open https://desk.example/login first"),
        ("no result", ErrorKind.RUNTIME, "refused the call: ValidationError"),
    ],
)
async def test_a_bad_answer_is_an_error_and_the_next_call_works(
    servers: Servers, what: str, kind: ErrorKind, words: str
) -> None:
    tool = "hurried/do" if what == "hang" else "good/do"
    with pytest.raises(ToolError) as error:
        await run(servers, tool, do=what)
    assert error.value.kind is kind
    assert words in error.value.text
    assert len(error.value.text) < 2_000
    assert "done again" in await run(servers, tool, do="again")


@pytest.mark.parametrize(
    "what, words",
    [
        ("some noise", "done some noise"),
        ("hidden", "ab red"),
        ("image", "[image image/png, 6 bytes]"),
        ("sampling", "Sampling not supported"),
        ("elicitation", '{"action": "decline"}'),
    ],
)
async def test_an_answer_is_foreign_text(servers: Servers, what: str, words: str) -> None:
    found = await run(servers, "good/do", do=what)
    assert found.startswith("The tool server good answers:\n")
    assert words in found
    assert found.isascii()


async def test_a_reference_is_the_content_alone_and_images_are_kept(servers: Servers) -> None:
    found = await output_of(servers, "good/do", do="parts")
    assert found.text.startswith(
        "The tool server good answers:\nOne.\n\n[resource docs://two]\nTwo.\n"
        "[image image/png, 6 bytes]\n[resource docs://cat, which is no text]\n"
        "[resource docs://three: three]"
    )
    assert (found.value, found.value_is_cut) == ("One.\n\nTwo.\ndocs://three", False)
    reply = await servers.call(
        "good",
        servers.tools["good/do"].definition,
        SchemaArguments({}).model_validate({"do": "parts"}),
        is_approved=False,
    )
    assert reply.images == ("aGVsbG8=", "aGk=")
    assert (await output_of(servers, "good/do", do="long")).value_is_cut


async def test_a_tool_that_says_that_it_failed_has_failed(servers: Servers) -> None:
    found = await output_of(servers, "good/do", do="error")
    assert (found.error, "the disk is full" in found.text) == (ErrorKind.RUNTIME, True)


async def test_a_long_answer_is_cut_at_the_limit(servers: Servers) -> None:
    found = await run(servers, "good/do", do="long")
    assert len(found.encode()) < 200_200
    assert "(400,000 bytes left out)" in found


async def test_a_server_gets_few_variables_and_the_folders(servers: Servers) -> None:
    os.environ["SOME_API_KEY"] = "x"
    given = await run(servers, "good/do", do="environment")
    assert "OWN" in given
    assert "API_KEY" not in given
    del os.environ["SOME_API_KEY"]
    assert json.dumps(servers._workspace.roots[0].path.as_uri()) in await run(  # pyright: ignore[reportPrivateUsage]
        servers, "good/do", do="roots"
    )
    assert (await run(servers, "good/do", do="folder")).endswith(str(Path.home()))


async def test_what_fails_three_times_is_not_started_again(tmp_path: Path) -> None:
    async with opened(tmp_path, {"bad": server("good")}) as servers:
        await servers.settle()
        for _ in range(3):
            with pytest.raises(ToolError, match="does not run"):
                await run(servers, "bad/do", do="crash")
        with pytest.raises(ToolError, match="failed 3 times"):
            await run(servers, "bad/do", do="again")


@pytest.mark.parametrize("is_late", [False, True])
async def test_the_server_is_told_when_a_call_ends_early(is_late: bool, tmp_path: Path) -> None:
    async with opened(tmp_path, {"good": server("good", timeout_s=2)}) as servers:
        await servers.settle()
        assert "done a" in await run(servers, "good/do", do="a")
        if is_late:
            with pytest.raises(ToolError, match="still runs, but it did not answer within 2 s"):
                await run(servers, "good/do", do="silence")
        else:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await run(servers, "good/do", do="silence")
        said = json.loads((await run(servers, "good/do", do="notified")).split("\n")[1])
        assert [one["method"] for one in said] == ["notifications/cancelled"]
        # Its state is not lost with the call.
        assert servers.servers["good"].failures == 0


async def test_a_call_that_is_cancelled_leaves_the_server_running(tmp_path: Path) -> None:
    async with opened(tmp_path, {"good": server("good")}) as servers:
        await servers.settle()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await run(servers, "good/do", do="hang")
        assert servers.servers["good"].failures == 0


async def test_nothing_of_a_server_is_left_when_agent_ls_closes(tmp_path: Path) -> None:
    async with opened(tmp_path, {"good": server("good")}) as servers:
        await servers.settle()
        pids = [int(one) for one in (await run(servers, "good/do", do="child")).split()[-2:]]
    await _all_gone(pids)


async def test_nothing_of_a_server_is_left_when_it_is_stopped(tmp_path: Path) -> None:
    async with opened(tmp_path, {"good": server("good", timeout_s=2)}) as servers:
        await servers.settle()
        pids = [int(one) for one in (await run(servers, "good/do", do="child")).split()[-2:]]
        with pytest.raises(ToolError):
            await run(servers, "good/do", do="hang")
        await _all_gone(pids)


async def test_a_server_ends_with_an_agent_ls_that_is_killed(tmp_path: Path) -> None:
    program = (
        "import asyncio, pathlib, sys\n"
        "from tests.mcp.conftest import opened, run, server\n"
        "async def main():\n"
        f"    async with opened(pathlib.Path({str(tmp_path)!r}), {{'a': server('good')}}) as s:\n"
        "        await s.settle()\n"
        "        print(await run(s, 'a/do', do='child'), flush=True)\n"
        "        await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen(  # noqa: ASYNC220 - the test waits for its two lines
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        owner.stdout.readline()
        pids = [int(one) for one in owner.stdout.readline().split()]
        owner.kill()
    await _all_gone(pids)


async def _all_gone(pids: list[int]) -> None:
    until_s = time.monotonic() + 4
    while any(map(_is_running, pids)):
        assert time.monotonic() < until_s, f"still there: {pids}"
        await asyncio.sleep(0.05)


def _is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def test_a_server_that_ended_between_two_calls_is_started_again(tmp_path: Path) -> None:
    async with opened(tmp_path, {"good": server("good")}) as servers:
        await servers.settle()
        pid = int((await run(servers, "good/do", do="child")).split()[-2])
        os.kill(pid, signal.SIGKILL)
        # Once nothing is left to wait for, whoever started it knows that it has ended.
        until_s = time.monotonic() + 4
        while psutil.pid_exists(pid):
            assert time.monotonic() < until_s, f"never reaped: {pid}"
            await asyncio.sleep(0.05)
        assert "done again" in await run(servers, "good/do", do="again")
        assert servers.servers["good"].failures == 0
