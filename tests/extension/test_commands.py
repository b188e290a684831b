"""Custom commands: which prompts call one, what it becomes, and which files count."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.domain.commands import CustomCommand, TurnLimits, call_of, called_in
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.modes import Mode
from agent_ls.extension.commands import FileCommands
from agent_ls.loop.ports.workspace import Root
from agent_ls.session.custom_commands import expanded
from agent_ls.workspace.disk import DiskWorkspace

TOOLS = ("read_file", "grep", "edit_file", "apply_patch", "run_command", "final_output")


@pytest.mark.parametrize(
    "prompt, called",
    [
        ("/review", ("review", "")),
        ("  /review  src/a.py now\n", ("review", "src/a.py now")),
        ("/docs:api", ("docs:api", "")),
        ("/review a\nb", ("review", "a\nb")),
        ("/etc/hosts is wrong", None),
        ("/conf.d", None),
        ("/", None),
        ("/ review", None),
        ("//review", None),
        ("review /this", None),
        ("`/review`", None),
    ],
)
def test_only_a_first_word_with_a_slash_in_front_calls(
    prompt: str, called: tuple[str, str] | None
) -> None:
    assert called_in(prompt) == called


@pytest.mark.parametrize(
    "body, arguments, prompt",
    [
        ("Look at $ARGUMENTS.", "a.py b.py", "Look at a.py b.py."),
        ("From $1 to $2.", '"one file" two three', "From one file to two."),
        ("From $1 to $2.", "", "From $1 to $2."),
        ("It costs $5.", "", "It costs $5."),
        ("From $1 to $2, ${PORT}.", "one", "From one to $2, ${PORT}."),
        ("From $ARGUMENTS[0] to $ARGUMENTS[9].", "one", "From one to $ARGUMENTS[9]."),
        ("Do it.", "for a.py", "Do it.\n\nARGUMENTS: for a.py"),
        ("Do it.", "", "Do it."),
        ("Say $1.", "$2 $ARGUMENTS", "Say $2."),
        ("Say $ARGUMENTS.", "$1 `!x`", "Say $1 `!x`."),
        ("It costs $10.", "x", "It costs $10.\n\nARGUMENTS: x"),
        ("From $0 to $1.", "one two", "From one to two."),
        ("$ARGUMENTS[1] before $ARGUMENTS[0], $1.", "one two", "two before one, two."),
        ("From $0 to $1.", "one", "From one to $1."),
        (r"It costs \$1.00 and \\$1, $HOME.", "one", r"It costs $1.00 and \\one, $HOME."),
        ("Run ${CLAUDE_SKILL_DIR}/x.", "", "Run ${CLAUDE_SKILL_DIR}/x."),
        ("Say $1.", "it's", "Say it's."),
        ("Read @docs/style.md first.", "", "Read @docs/style.md first."),
    ],
)
def test_arguments_fill_the_body_once(body: str, arguments: str, prompt: str) -> None:
    command = CustomCommand(name="c", body=body, source="c.md")
    head = f"Command: /c {arguments}".rstrip()
    assert command.expanded(arguments) == f"{head}\n\n{prompt}"


@pytest.mark.parametrize("typed", ["one\n\ntwo", "one\n \n\n\ttwo", "\n\none\ntwo"])
def test_no_words_of_a_call_are_lost_when_it_comes_back(typed: str) -> None:
    expanded = CustomCommand(name="c", body="Do it.", source="c.md").expanded(typed)
    assert expanded.endswith(f"ARGUMENTS: {typed}")
    assert call_of(expanded).split() == ["/c", "one", "two"]


@pytest.mark.parametrize(
    "body, arguments, prompt",
    [
        ("From $1 to $2.", "", "From  to ."),
        ("From $1 to $2.", "one", "From one to ."),
        ("From $0 to $1.", "one", "From one to ."),
        ("From $ARGUMENTS[0] to $ARGUMENTS[9].", "one", "From one to ."),
        (r"It costs \$5 or $10.", "one", "It costs $5 or $10.\n\nARGUMENTS: one"),
    ],
)
def test_what_a_hint_promises_is_empty_where_it_is_missing(
    body: str, arguments: str, prompt: str
) -> None:
    command = CustomCommand(name="c", body=body, source="c.md", argument_hint="A [B]")
    assert command.expanded(arguments).partition("\n\n")[2] == prompt


def _files(folder: Path, **files: str) -> FileCommands:
    """Write files below the user's ``config`` and the folder ``project``; trust the latter."""
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return _commands(folder, is_trusted=True)


def _commands(folder: Path, *, is_trusted: bool) -> FileCommands:
    project = folder / "project"
    project.mkdir(exist_ok=True)
    return FileCommands(folder / "config", DiskWorkspace((Root("project", project, is_trusted),)))


_OWN, _FOLDER, _CLAUDE = (
    "config/commands",
    "project/.agent-ls/commands",
    "project/.claude/commands",
)


async def test_a_trusted_folder_adds_commands_and_overrides_the_users_own(tmp_path: Path) -> None:
    files = {
        f"{_OWN}/review.md": "own",
        f"{_OWN}/mine.md": "mine",
        f"{_CLAUDE}/review.md": "theirs",
        f"{_CLAUDE}/front/page.md": "page",
        f"{_FOLDER}/review.md": "the folder's",
    }
    found = await _files(tmp_path, **files).listed()
    bodies = {name: one.body for name, one in found.commands.items()}
    assert bodies == {"front:page": "page", "mine": "mine", "review": "the folder's"}
    assert not found.problems
    untrusted = await _commands(tmp_path, is_trusted=False).listed()
    assert {name: one.body for name, one in untrusted.commands.items()} == {
        "mine": "mine",
        "review": "own",
    }


_FRONT = """\
---
description: "looks for defects"
argument-hint: [file] [focus]
{keys}
---
Review $ARGUMENTS.
"""


@pytest.mark.parametrize(
    "keys, limits",
    [
        ("", TurnLimits()),
        ("model: ollama_chat/qwen3", TurnLimits(model="ollama_chat/qwen3")),
        ("mode: plan", TurnLimits(mode=Mode.PLAN)),
        ("tools: read_file, grep", TurnLimits(tools=("read_file", "grep"))),
        (
            "allowed-tools: Bash(git add:*), Bash(git push *), Read, edit_*",
            TurnLimits(unasked=("run_command: git add *", "run_command: git push *")),
        ),
        ("allowed-tools: Bash, Bash(git:*)", TurnLimits(unasked=("run_command: git *",))),
        ("allowed-tools: Bash(*) Edit(docs/**) Write", TurnLimits(unasked=("edit: docs/**",))),
        ("allowed-tools: Bash(gh pr view :* Bash(!x)", TurnLimits()),
        ("allowed-tools: [Read, mcp__linear__list]", TurnLimits(unasked=("tool: linear/list",))),
        (
            "tools: Bash(git add:*), Bash(git push *), Read, edit_*",
            TurnLimits(
                tools=("run_command", "read_file", "edit_*"),
                rules=("run_command: git add *", "run_command: git push *"),
            ),
        ),
        ("tools: Bash, Bash(git:*)", TurnLimits(tools=("run_command",))),
        (
            "tools: Bash(git add:*), Edit\nallowed-tools: Bash(git add:*)",
            TurnLimits(
                tools=("run_command", "edit_file"),
                rules=("run_command: git add *",),
                unasked=("run_command: git add *",),
            ),
        ),
        ("tools: [Read, mcp__linear__list]", TurnLimits(tools=("read_file", "linear/list"))),
        ("tools:\n  - Read\n  - Grep", TurnLimits(tools=("read_file", "grep"))),
        ("# a comment\nmode: ask-all", TurnLimits(mode=Mode.ASK_ALL)),
    ],
)
async def test_front_matter_describes_and_limits(
    keys: str, limits: TurnLimits, tmp_path: Path
) -> None:
    files = _files(tmp_path, **{f"{_OWN}/review.md": _FRONT.format(keys=keys)})
    command = (await files.listed()).commands["review"]
    assert (command.description, command.argument_hint) == ("looks for defects", "[file] [focus]")
    assert command.limits == limits


async def test_another_agents_unknown_keys_mean_nothing_here(tmp_path: Path) -> None:
    text = _FRONT.format(keys="model: sonnet\nmode: auto\ncolor: red\ntools: Read")
    files = _files(tmp_path, **{f"{_CLAUDE}/review.md": text})
    command = (await files.listed()).commands["review"]
    assert command.limits == TurnLimits(model="sonnet")


async def test_a_workspaces_file_lets_run_unasked_only_what_an_approval_would_offer(
    tmp_path: Path,
) -> None:
    tools = "Bash(git add:*), Bash(git push:*), Bash(pytest -x *), Bash(python:*), Bash(*), Write"
    files = _files(tmp_path, **{f"{_CLAUDE}/c.md": f"---\nallowed-tools: {tools}\n---\nDo."})
    limits = (await files.listed()).commands["c"].limits
    assert limits == TurnLimits(unasked=("run_command: git add *", "run_command: pytest -x *"))


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "body: must not be empty"),
        ("---\nmode: ask\n", "its front matter has no end"),
        ("---\nmode ask\n---\nx", "is no “key: value”"),
        ("---\nmode: free\n---\nx", "mode: free is no mode; they are plan, ask-all"),
        ("---\nallowed_tools: grep\n---\nx", "allowed_tools: is not known"),
    ],
    ids=["empty", "open", "no-colon", "mode", "key"],
)
async def test_a_file_that_cannot_be_used_is_said_when_it_is_called(
    text: str, why: str, tmp_path: Path
) -> None:
    files = _files(tmp_path, **{f"{_OWN}/bad.md": text, f"{_OWN}/good.md": "Good."})
    assert [*(await files.listed()).commands] == ["good"]
    with pytest.raises(AgentLsError) as refused:
        await expanded("/bad", files, TOOLS)
    assert why in str(refused.value)
    assert str(tmp_path / _OWN / "bad.md") in str(refused.value)


async def test_a_folders_link_out_of_it_is_no_command(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("the key is 42")
    files = _files(tmp_path, **{f"{_CLAUDE}/good.md": "Good."})
    (tmp_path / _CLAUDE / "bad.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / _FOLDER).parent.mkdir()
    (tmp_path / _FOLDER).symlink_to(tmp_path)
    found = await files.listed()
    assert [*found.commands] == ["good"]
    assert "leads out of the folder" in found.problems["bad"]


async def test_what_is_called_and_is_not_there_says_what_is(tmp_path: Path) -> None:
    files = _files(tmp_path, **{f"{_OWN}/review.md": "Review.", f"{_OWN}/goal.md": "Mine."})
    with pytest.raises(AgentLsError, match=r"no command /reviw.*: /commit, /goal, /learn, /review"):
        await expanded("/reviw a.py", files, TOOLS)
    for prompt in ("/goal it is tidy", "/etc/hosts is wrong", "review it"):
        assert await expanded(prompt, files, TOOLS) == (prompt, None)


async def test_a_command_that_leaves_no_tool_is_refused(tmp_path: Path) -> None:
    text = "---\ntools: WebFetch\n---\nFetch."
    files = _files(tmp_path, **{f"{_OWN}/fetch.md": text})
    with pytest.raises(AgentLsError, match=r"its tools in .*fetch\.md are none"):
        await expanded("/fetch", files, TOOLS)


async def test_the_example_in_the_docs_can_be_called(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "extending.md").read_text("utf-8")
    text = page.split("```markdown\n")[1].split("```")[0]
    files = _files(tmp_path, **{f"{_OWN}/review.md": text})
    prompt, limits = await expanded("/review src/cart.py rounding", files, TOOLS)
    assert "Review src/cart.py with regard to rounding." in prompt
    assert limits == TurnLimits(mode=Mode.PLAN, tools=("read_file", "grep", "outline"))


async def test_too_many_commands_before_the_first_answer_are_refused(tmp_path: Path) -> None:
    def lines(count: int) -> str:
        return "\n".join([*(f"!`echo {n}`" for n in range(count)), "@seen.md"])

    many, most = f"{_OWN}/many.md", f"{_OWN}/most.md"
    files = _files(tmp_path, **{many: lines(26), most: lines(25), f"{_OWN}/few.md": lines(24)})
    (tmp_path / "project/seen.md").write_text("seen")
    with pytest.raises(AgentLsError, match=r"many\.md begins with 26 commands, and at most 25"):
        await expanded("/many", files, TOOLS)
    for name, last in (("most", "run_command"), ("few", "read_file")):
        _, limits = await expanded(f"/{name}", files, TOOLS)
        assert limits is not None
        assert (len(limits.opening), limits.opening[-1].tool) == (25, last)
