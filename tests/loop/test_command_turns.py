"""What a custom command or a skill sets ends with its turn, and what it needs comes first."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from agent_ls import wiring
from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.commands import TurnLimits
from agent_ls.domain.events import (
    Answered,
    ApprovalRequested,
    CallDecided,
    Event,
    GrantsRevoked,
    SessionCreated,
    StoredEvent,
    ToolCallFinished,
    TurnStarted,
)
from agent_ls.domain.modes import Mode
from agent_ls.extension.skills import FileSkills, file_skills
from agent_ls.loop.machine.results import result_of
from agent_ls.loop.state.folding import fold_all
from agent_ls.safety.trust import TrustedFolders, trust_file
from tests.loop.conftest import Stage
from tests.support.turns import User, run_turn_of

pytestmark = pytest.mark.heavy

_ADDS = """
[[answer]]
[[answer.call]]
tool = "run_command"
arguments = { command = "git add a.txt" }

[[answer]]
text = "Done."
"""


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.asyncio(loop_scope="session")
async def test_what_a_command_grants_ends_with_its_turn(tmp_path: Path, stage: Stage) -> None:
    command = "---\nallowed-tools: Bash(git add:*)\n---\nStage."
    _write(tmp_path, {".claude/commands/stage.md": command, "a.txt": "a"})
    TrustedFolders(trust_file()).trust(tmp_path)
    async with stage.opened(tmp_path, _ADDS * 2) as sessions:
        session = await sessions.create()
        user = User(session, ["reject_once"])
        session.follow(user)
        for prompt in ("/stage", "Stage a.txt."):
            await session.submit(prompt)
            await session.wait_idle()
            assert session.state.grants == {}
    decided = [one.decision for one in user.events if isinstance(one, CallDecided)]
    assert decided == ["allow", "ask"]


@pytest.mark.asyncio(loop_scope="session")
async def test_a_skill_is_called_by_its_name(
    tmp_path: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    skills = tmp_path / "claude/skills"
    front = "disable-model-invocation: yes\narguments: [article, price]\nallowed-tools: Bash(sh *)"
    body = "Price $0 at $price with ${CLAUDE_SKILL_DIR}/set.sh for ${CLAUDE_PROJECT_DIR}, $2."
    _write(
        skills,
        {
            "price/SKILL.md": f"---\ndescription: prices\n{front}\n---\n{body}",
            "price/set.sh": "echo set",
            "other/SKILL.md": "---\ndescription: o\nuser-invocable: false\n---\nOther $ARGUMENTS.",
        },
    )
    folder = tmp_path / "project"
    folder.mkdir()
    model = f"""
        [[answer]]
        expect.contains = ["Price green tea at 280 with {skills}/price/set.sh for {folder}, $2."]
        [[answer.call]]
        tool = "run_command"
        arguments = {{ command = "sh {skills}/price/set.sh" }}
        [[answer.call]]
        tool = "skill"
        arguments = {{ name = "price" }}
        [[answer.call]]
        tool = "skill"
        arguments = {{ skill = "other", args = "now" }}
        [[answer.call]]
        tool = "skill"
        arguments = {{ name = "price", file = "set.sh" }}

        [[answer]]
        expect.contains = ["Only the user calls the skill 'price'", "Other now.", "echo set"]
        text = "Done."
    """
    async with stage.opened(folder, model, settings_toml='claude_home = "always"') as sessions:
        session = await sessions.create()
        _, events = await run_turn_of(session, '/price "green tea" 280', ["reject_once"])
        with pytest.raises(Exception, match="The skill other is for the agent alone"):
            await session.submit("/other now")
    failed = [one for one in events if isinstance(one, ToolCallFinished) and one.result.error]
    assert [one.result.error for one in failed] == [ErrorKind.DENIED, ErrorKind.RUNTIME]


@pytest.mark.asyncio(loop_scope="session")
async def test_what_a_text_needs_is_called_first_and_once(tmp_path: Path, stage: Stage) -> None:
    commands = "\n".join(f"!`cat {name}.txt`" for name in ("one", "$1"))
    text = f"Look:\n{commands}\nx!`cat no`\n```\n@Decorator\n```\n@docs/a.md, @docs @gone.md a@b.c"
    _write(
        tmp_path,
        {
            ".claude/commands/look.md": text,
            "one.txt": "first",
            "two.txt": "second",
            "docs/a.md": "third",
        },
    )
    TrustedFolders(trust_file()).trust(tmp_path)
    model = """
        [[answer]]
        expect.contains = ["first", "second", "third", "`cat two.txt` (called first; its result"]
        text = "Seen."
    """
    async with stage.opened(tmp_path, model) as sessions:
        session = await sessions.create()
        _, events = await run_turn_of(session, "/look two")
        # The model has answered once.
        assert result_of(session.state).steps == 1
    [first] = [one for one in events if isinstance(one, Answered) and one.origin == "command"]
    made = [(one.tool, json.loads(one.arguments_json)) for one in first.message.calls]
    assert made == [
        ("run_command", {"command": "cat one.txt"}),
        ("run_command", {"command": "cat two.txt"}),
        ("read_file", {"path": "docs/a.md"}),
        ("list_dir", {"path": "docs"}),
    ]


@pytest.mark.asyncio(loop_scope="session")
async def test_what_comes_first_has_the_tools_of_its_own_command(
    tmp_path: Path, stage: Stage
) -> None:
    _write(
        tmp_path,
        {
            ".claude/commands/review.md": "---\nallowed-tools: Read, Grep\n---\nReview.",
            ".claude/commands/state.md": "---\nallowed-tools: Bash(ls:*)\n---\n!`ls`",
            ".agent-ls/commands/narrow.md": "---\ntools: Read\n---\n!`ls`",
            "seen.txt": "",
        },
    )
    TrustedFolders(trust_file()).trust(tmp_path)
    model = """
        [[answer]]
        text = "Reviewed."
        [[answer]]
        expect.contains = ["seen.txt"]
        text = "Seen."
        [[answer]]
        expect.contains = ["list of tools leaves run_command out"]
        text = "Not seen."
    """
    async with stage.opened(tmp_path, model) as sessions:
        session = await sessions.create()
        for prompt in ("/review", "/state", "/narrow"):
            await session.submit(prompt)
            await session.wait_idle()


@pytest.mark.asyncio(loop_scope="session")
async def test_a_sub_agent_has_what_both_lists_leave(tmp_path: Path, stage: Stage) -> None:
    command = "tools: Task, Bash(git add:*), Bash(touch:*)"
    kind = "name: adder\ndescription: adds\ntools: Bash(git add:*), Bash(rm:*)"
    _write(
        tmp_path,
        {
            ".agent-ls/commands/ship.md": f"---\n{command}\n---\nShip it.",
            ".claude/agents/adder.md": f"---\n{kind}\n---\nAdd.",
            "a.txt": "a",
        },
    )
    TrustedFolders(trust_file()).trust(tmp_path)
    model = """
        [[answer]]
        when.first = "Ship it."
        [[answer.call]]
        tool = "delegate"
        arguments = { kind = "adder", task = "Look at the files." }

        [[answer]]
        when.first = "Look at the files."
        [[answer.call]]
        tool = "run_command"
        arguments = { command = "git add a.txt" }
        [[answer.call]]
        tool = "run_command"
        arguments = { command = "touch b.txt" }
        [[answer.call]]
        tool = "run_command"
        arguments = { command = "rm a.txt" }

        [[answer]]
        when.first = "Look at the files."
        text = "Looked."

        [[answer]]
        when.first = "Ship it."
        text = "Done."
    """
    async with stage.opened(tmp_path, model, settings_toml='mode = "auto"') as sessions:
        session = await sessions.create()
        _, events = await run_turn_of(session, "/ship", ["reject_once", "reject_once"])
    asked = {
        one.request.preview.title: one.request.reason
        for one in events
        if isinstance(one, ApprovalRequested)
    }
    assert asked == {
        "Run: touch b.txt": "Sub-agent adder: The sub-agent's kind allows only git add *, rm *.",
        "Run: rm a.txt": "Sub-agent adder: The turn's command allows only git add *, touch *.",
    }
    assert (tmp_path / "a.txt").exists()


def test_a_command_does_not_bring_back_what_was_revoked() -> None:
    created = SessionCreated(session_id="ses_1", roots=(), mode=Mode.ASK, model="m")
    unasked = ("run_command: make *", "run_command: git add *")
    started = TurnStarted(turn_id="trn_1", prompt="Go.", limits=TurnLimits(unasked=unasked))
    revoked = GrantsRevoked(grants=("rule run_command: make *",), why="Makefile has changed")
    events: list[Event] = [created, revoked, started]
    state = fold_all(
        StoredEvent(session_id="ses_1", seq=seq, at_ms=0, event=one)
        for seq, one in enumerate(events, 1)
    )
    assert [*state.grants] == ["rule run_command: git add *"]


@pytest.mark.asyncio(loop_scope="session")
async def test_skills_are_read_once_a_session_and_beside_the_event_loop(
    tmp_path: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, {".claude/skills/one/SKILL.md": "---\ndescription: one\n---\nOne."})
    TrustedFolders(trust_file()).trust(tmp_path)
    read = list[bool]()

    def reads(*given: Any) -> FileSkills:
        read.append(threading.current_thread() is threading.main_thread())
        return file_skills(*given)

    monkeypatch.setattr(wiring, "file_skills", reads)
    model = """
        [[answer]]
        when.first = "Begin."
        [[answer.call]]
        tool = "delegate"
        arguments = { kind = "explore", task = "Look." }
        [[answer]]
        when.first = "Look."
        expect.tools = ["skill"]
        text = "Looked."
        [[answer]]
        when.first = "Begin."
        text = "Done."
    """
    async with stage.opened(tmp_path, model) as sessions:
        await run_turn_of(await sessions.create(), "Begin.")
    assert read == [False]
