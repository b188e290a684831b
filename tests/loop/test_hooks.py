"""Hooks: what their answers mean, which calls they are asked about, and that the docs are true."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.events import HookRan
from agent_ls.domain.hooks import Hook, HookAnswer, HookOptions, HookOutcome, HookPoint
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.loop.hooks import HookResult, Hooks
from agent_ls.loop.ports.commands import HookRun
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.sandbox.builder import open_builder
from agent_ls.safety.sandbox.probe import SandboxOptions
from agent_ls.settings import load_settings, user_file
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.hook_commands import HookCommands
from agent_ls.workspace.runner import ShellRunner
from tests.loop.conftest import Stage
from tests.support.sandboxes import installed_bubblewrap
from tests.support.scripted import scripted
from tests.support.turns import open_test_sessions, run_turn_of

DOCS = Path(__file__).parents[2] / "docs"


def _hooks(folder: Path, options: HookOptions | None = None) -> Hooks:
    workspace = DiskWorkspace((Root("project", folder, True),))
    return Hooks(HookCommands(ShellRunner()), workspace, options or HookOptions())


async def check(folder: Path, command: str, expected: HookResult, **told: str) -> None:
    """Ask one hook before a tool and compare what it said."""
    hook = Hook(name="h", command=command, timeout_s=30)
    said = await _hooks(folder).ask(HookPoint.BEFORE_TOOL, hook, told, path="a.txt")
    assert said.duration_ms >= 0
    assert (said.outcome, said.text, said.answer) == (
        expected.outcome, expected.text, expected.answer,
    )  # fmt: skip


_PASSED = HookResult(HookOutcome.PASSED)


@pytest.mark.parametrize(
    "command, expected",
    [
        ("true", _PASSED),
        ("echo reformatted 3 files", _PASSED),
        ("echo '{}'", _PASSED),
        ("exit 2", HookResult(HookOutcome.BLOCKED, "it gave no reason")),
        ("echo no >&2; exit 2", HookResult(HookOutcome.BLOCKED, "no")),
        ("echo on stdout; exit 2", HookResult(HookOutcome.BLOCKED, "on stdout")),
        ("echo oh >&2; exit 7", HookResult(HookOutcome.FAILED, "exit code 7: oh")),
        ("exit 1 # a comment", HookResult(HookOutcome.FAILED, "exit code 1")),
        (
            """echo '{"decision": "deny", "reason": "no"}'""",
            HookResult(HookOutcome.BLOCKED, "no", HookAnswer(decision="deny", reason="no")),
        ),
        (
            """echo '{"decision": "allow"}'""",
            HookResult(HookOutcome.PASSED, "", HookAnswer(decision="allow")),
        ),
        (
            """echo '{"verdict": "allow"}'""",
            HookResult(
                HookOutcome.FAILED,
                "its answer is not understood: verdict: is not known",
            ),
        ),
        (
            'test "$AGENT_LS_HOOK $AGENT_LS_FILE" = "before_tool a.txt" || exit 2',
            _PASSED,
        ),
        ('grep -q \'"tool": "edit_file"\' || exit 2', _PASSED),
        ('test -f a.txt || { echo "elsewhere: $PWD" >&2; exit 2; }', _PASSED),
        (
            "echo sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789 >&2; exit 2",
            HookResult(HookOutcome.BLOCKED, "[masked anthropic key]"),
        ),
    ],
)
async def test_exit_code_and_output_say_what_a_hook_means(
    command: str, expected: HookResult, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("one")
    await check(tmp_path, command, expected, tool="edit_file")


async def test_nothing_of_a_hook_stays_behind(tmp_path: Path) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    hook = Hook(name="h", command='echo "$AGENT_LS_HOOK_INPUT" >&2; exit 2', timeout_s=30)
    said = await _hooks(tmp_path).ask(HookPoint.BEFORE_TOOL, hook, {})
    assert said.text.endswith("input.json")
    assert not Path(said.text).parent.exists()


class Unstartable:
    """A runner of hooks that cannot start any."""

    shows_texts = False

    async def run(
        self,
        command: str,
        stdin: str,
        *,
        cwd: Path,
        timeout_s: float,
        env: Mapping[str, str],
        is_confined: bool,
        texts: Mapping[Path, bytes],
    ) -> HookRun:
        raise WorkspaceError("no more processes")


async def test_a_hook_that_cannot_be_started_is_a_failed_one(tmp_path: Path) -> None:
    workspace = DiskWorkspace((Root("project", tmp_path, True),))
    said = await Hooks(Unstartable(), workspace).ask(
        HookPoint.AFTER_LLM_CALL, Hook(name="h", command="true"), {}
    )
    assert (said.outcome, said.text) == (
        HookOutcome.FAILED, "it could not be run: no more processes",
    )  # fmt: skip


_ALL = Hook(name="all", command="true")
_EDITS = Hook(name="edits", command="true", tools=("edit_*", "write_file"))
_PYTHON = Hook(name="python", command="true", paths=("*.py", "src/*"))
_OPTIONS = HookOptions(before_tool=(_ALL, _EDITS, _PYTHON), before_llm_call=(_EDITS,))


@pytest.mark.parametrize(
    "point, tool, paths, names",
    [
        (HookPoint.BEFORE_TOOL, "edit_file", ("src/a.ts",), ["all", "edits", "python"]),
        (HookPoint.BEFORE_TOOL, "read_file", ("lib/deep/a.py",), ["all", "python"]),
        (HookPoint.BEFORE_TOOL, "run_command", (), ["all"]),
        (HookPoint.BEFORE_LLM_CALL, "", (), ["edits"]),
        (HookPoint.AFTER_TOOL, "edit_file", ("a.py",), []),
    ],
)
def test_a_hook_is_asked_about_the_calls_it_names(
    point: HookPoint, tool: str, paths: tuple[str, ...], names: list[str], tmp_path: Path
) -> None:
    found = _hooks(tmp_path, _OPTIONS).of(point, tool, paths)
    assert [one.name for one in found] == names


def test_a_hook_that_watches_a_file_is_asked_however_its_path_is_spelled(tmp_path: Path) -> None:
    watching = Hook(name="x", command="true", paths=("a.md",))
    hooks = _hooks(tmp_path, HookOptions(before_tool=(watching,)))
    for spelled in ("a.md", "./a.md", "b/../a.md", str(tmp_path / "a.md")):
        assert hooks.of(HookPoint.BEFORE_TOOL, "edit_file", (spelled,)), spelled
    assert not hooks.of(HookPoint.BEFORE_TOOL, "edit_file", ("b/a.md",))


@pytest.mark.parametrize("name", ["-x.py", "a b.py", "$(touch ran).py", "'; touch ran; '.py"])
async def test_a_file_name_is_no_code_and_no_option_of_a_check(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    hook = Hook(name="x", command="printf %s {file}; exit 1")
    assert (await _hooks(tmp_path).check_file(hook, name, {})).text == f"./{name}"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("command", ["cat '{file}'", 'cat "{file}"', "sh -c 'cat {file}'"])
def test_quotes_around_the_name_of_the_file_are_refused(command: str) -> None:
    with pytest.raises(ValueError, match="quoted already"):
        Hook(name="x", command=command)


@pytest.mark.parametrize("is_trusted", [True, False], ids=["trusted", "not-trusted"])
def test_hooks_never_come_from_a_folder_or_an_editor(
    is_trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    if is_trusted:
        trusted = tmp_path / "data" / "agent-ls" / "trusted.json"
        trusted.parent.mkdir(parents=True)
        trusted.write_text(json.dumps([str(tmp_path)]))
    config = tmp_path / ".agent-ls" / "config.toml"
    config.parent.mkdir()
    config.write_text('[[hooks.before_tool]]\nname = "evil"\ncommand = "true"\n')
    evil = {"hooks": {"after_tool": [{"name": "evil", "command": "true"}]}}
    loaded = load_settings(folders=[tmp_path], editor=evil, environment={})
    assert loaded.settings.hooks == HookOptions()
    assert len([one for one in loaded.problems if "hooks." in one]) == 2


def _blocks(page: str, language: str) -> list[str]:
    """Return a page's code blocks in one language."""
    text = (DOCS / page).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.asyncio(loop_scope="session")
async def test_the_example_in_the_docs_does_what_the_page_says(
    tmp_path: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    [*_, config], [program] = _blocks("hooks.md", "toml"), _blocks("hooks.md", "python")
    place = tmp_path / "customers.py"
    place.write_text(program)
    config = config.replace("~/.config/agent-ls/hooks/customers.py", str(place))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "orders.txt").write_text("1 customer=lovelace\n")
    (folder / "CHANGELOG.md").write_text("# Changelog\n")
    model = """
        [[answer]]
        [[answer.call]]
        tool = "write_file"
        arguments = { path = "CHANGELOG.md", content = "" }
        [[answer.call]]
        tool = "read_file"
        arguments = { path = "orders.txt" }

        [[answer]]
        expect.contains = ["CHANGELOG.md is written by hand", "customer=***"]
        expect.absent = ["lovelace"]
        text = "Done."
    """
    async with stage.opened(folder, model, settings_toml=config) as sessions:
        await run_turn_of(await sessions.create(), "Tidy up.")
    assert (folder / "CHANGELOG.md").read_text() == "# Changelog\n"


@pytest.mark.asyncio(loop_scope="session")
async def test_a_blocked_prompt_stays_out_of_later_requests(tmp_path: Path, stage: Stage) -> None:
    settings = """
        [[hooks.session_start]]
        name = "branch"
        command = "echo On branch spring."

        [[hooks.prompt]]
        name = "names"
        command = "if grep -q Lovelace; then echo no names >&2; exit 2; fi; echo Be brief."
    """
    model = """
        [[answer]]
        expect.contains = ["On branch spring.", "Be brief.", "Who is it?"]
        expect.absent = ["Lovelace"]
        text = "I do not know."
    """
    async with stage.opened(tmp_path, model, settings_toml=settings) as sessions:
        session = await sessions.create()
        blocked, _ = await run_turn_of(session, "Is it Lovelace?")
        answered, _ = await run_turn_of(session, "Who is it?")
    assert (blocked.stop, blocked.status) == (StopReason.BLOCKED, TurnStatus.FAILED)
    assert blocked.failure_reason == "The hook names blocked this prompt: no names"
    assert answered.stop is StopReason.COMPLETED


@pytest.mark.parametrize(
    "also, outcome",
    [
        ("true", HookOutcome.PASSED),
        ("echo no >&2; exit 2", HookOutcome.FAILED),
        ("sleep 60", HookOutcome.TIMED_OUT),
    ],
)
@pytest.mark.asyncio(loop_scope="session")
async def test_hooks_run_when_a_session_ends_in_which_a_turn_ran(
    also: str, outcome: HookOutcome, tmp_path: Path, stage: Stage
) -> None:
    settings = f"""
        [[hooks.session_end]]
        name = "also"
        command = "{also}"
        timeout_s = {1 if outcome is HookOutcome.TIMED_OUT else 30}

        [[hooks.session_end]]
        name = "farewell"
        command = "cat > told.json"
        timeout_s = 30
    """
    told = tmp_path / "told.json"
    async with stage.opened(tmp_path, "[[answer]]\ntext = 'Hi.'", settings_toml=settings) as at:
        await at.create()
        session = await at.create()
        await run_turn_of(session, "Say hello.")
        assert not told.exists()
    given = json.loads(told.read_text())
    assert (given["hook"], given["session_id"], given["turns"]) == ("session_end", session.id, 1)
    assert session.state.turn is not None
    ran = {one.name: one.outcome for one in session.state.turn.events.of(HookRan)}
    assert ran == {"also": outcome, "farewell": HookOutcome.PASSED}


def test_the_examples_settings_are_read_from_the_users_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    config = "\n".join(_blocks("hooks.md", "toml"))
    user_file().parent.mkdir(parents=True)
    user_file().write_text(config)
    loaded = load_settings(environment={})
    expected: dict[str, Any] = tomllib.loads(config)["hooks"]
    assert loaded.problems == ()
    assert [one.name for one in loaded.settings.hooks.after_tool] == ["customers"]
    assert [one.name for one in loaded.settings.hooks.post_edit] == ["mypy"]
    assert len(loaded.settings.hooks.before_tool) == len(expected["before_tool"])


@pytest.mark.asyncio(loop_scope="session")
async def test_the_kind_of_sub_agent_in_the_docs_can_be_used(
    tmp_path: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    [kind] = _blocks("sub-agents.md", "markdown")
    place = user_file().parent / "agents" / "docs-keeper.md"
    place.parent.mkdir(parents=True)
    place.write_text(kind)
    folder = tmp_path / "project"
    folder.mkdir()
    model = """
        [[answer]]
        [[answer.call]]
        tool = "delegate"
        arguments = { kind = "docs-keeper", task = "Check docs/hooks.md." }

        [[answer]]
        when.first = "Check docs"
        expect.contains = ["keeps docs/ true"]
        expect.tools = ["read_file", "grep", "glob", "edit_file"]
        text = '{"findings": ["docs/hooks.md is true"]}'

        [[answer]]
        expect.last_contains = ["docs-keeper: success", "docs/hooks.md is true"]
        text = "It is true."
    """
    async with (
        scripted(model, port=stage.port) as played,
        open_test_sessions(folder, stage.host) as sessions,
    ):
        await run_turn_of(await sessions.create(), "Are the docs true?")
    assert len(played.requests[1].tools) == 4


@pytest.mark.parametrize("is_confined", [True, False])
async def test_a_hook_gets_its_input_in_the_sandbox_too(tmp_path: Path, is_confined: bool) -> None:
    folder = tmp_path.resolve() / "work"
    folder.mkdir()
    outside = tmp_path / "outside"
    builder = open_builder(installed_bubblewrap(), SandboxOptions(), lambda: [folder])
    workspace = DiskWorkspace((Root("project", folder, True),))
    hooks = Hooks(HookCommands(ShellRunner(builder)), workspace)
    command = f"cat >&2; echo done > inside; echo done 2>/dev/null > {outside}; exit 2"
    hook = Hook(name="h", command=command, timeout_s=30, sandbox=is_confined)
    said = await hooks.ask(HookPoint.BEFORE_TOOL, hook, {"call": "told"})
    builder.end()
    assert '"call": "told"' in said.text
    assert (folder / "inside").exists()
    assert outside.exists() != is_confined
