"""Before every call: what may run, what a user must allow, and what never runs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import Effect, ToolKind
from agent_ls.domain.commands import TurnLimits
from agent_ls.domain.modes import Mode
from agent_ls.domain.rules import RuleOptions, WrittenRule
from agent_ls.domain.verdicts import Allow, Ask, Deny
from agent_ls.loop.extension_points import Guard, PlannedCall, Tool, ToolContext, ToolOutput
from agent_ls.loop.ports.workspace import Root
from agent_ls.loop.state.view import TurnView
from agent_ls.policies.guards.approval import Approval
from agent_ls.policies.guards.command_guard import CommandGuard
from agent_ls.policies.guards.command_rules import CommandRules
from agent_ls.policies.guards.path_guard import PathGuard
from agent_ls.policies.guards.standing_rules import StandingRules
from agent_ls.safety.rules import SavedRules
from agent_ls.tools.arguments import Arguments
from agent_ls.tools.delete_file import DeleteFile
from agent_ls.tools.edit_file import EditFile
from agent_ls.tools.list_dir import ListDir
from agent_ls.tools.move_file import MoveFile
from agent_ls.tools.read_file import ReadFile
from agent_ls.tools.run_command import RunCommand
from agent_ls.tools.update_plan import UpdatePlan
from agent_ls.tools.write_file import WriteFile
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.runner import ShellRunner
from tests.policies.views import Expected, call_of, granted, view_of

ALLOWED = Expected(Allow)
ASKED = Expected(Ask)
DENIED = Expected(Deny)
TEXT = {"old_string": "1", "new_string": "2"}


async def check(policy: Guard, planned: PlannedCall, view: TurnView, expected: Expected) -> None:
    """Assert what the guard says of the call, and that asking twice changes nothing."""
    verdict = await policy.judge(planned, view)
    expected.hold(verdict)
    assert await policy.judge(planned, view) == verdict


def plan(workspace: DiskWorkspace, tool: str, **arguments: object) -> PlannedCall:
    """Return a valid call of a real tool."""
    tools: dict[str, Tool] = {
        "read_file": ReadFile(workspace),
        "list_dir": ListDir(workspace),
        "edit_file": EditFile(workspace),
        "write_file": WriteFile(workspace),
        "delete_file": DeleteFile(workspace),
        "move_file": MoveFile(workspace),
        "run_command": RunCommand(workspace, ShellRunner()),
        "update_plan": UpdatePlan(),
    }
    chosen = tools[tool]
    return PlannedCall(call_of(tool), chosen, chosen.Arguments(**arguments))


class ForeignArguments(Arguments):
    """None."""


@dataclass(frozen=True)
class Foreign:
    """A tool from elsewhere, of which nothing is known but what it can do."""

    effect: Effect
    name: ClassVar[str] = "server/tool"
    description: ClassVar[str] = ""
    kind: ClassVar[ToolKind] = ToolKind.OTHER
    Arguments: ClassVar[type[Arguments]] = ForeignArguments

    def paths(self, arguments: ForeignArguments) -> tuple[str, ...]:
        return ()

    def grant(self, _: object) -> str | None:
        return None

    async def preview(self, arguments: ForeignArguments) -> Preview:
        return Preview(title="", payload="")

    async def run(self, arguments: ForeignArguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("")


def foreign(effect: Effect) -> PlannedCall:
    """Return a call of the tool from elsewhere."""
    return PlannedCall(call_of("server/tool"), Foreign(effect), ForeignArguments())


PATHS = {
    "a-file-inside-may-be-read": ("read_file", {"path": "a.py"}, ALLOWED),
    "the-root-may-be-listed": ("list_dir", {"path": "."}, ALLOWED),
    "an-edit-inside": ("edit_file", {"path": "a.py", "edits": [TEXT]}, ALLOWED),
    "a-read-above-the-root-never-runs": ("read_file", {"path": "../x"}, DENIED),
    "dots-that-lead-out": ("read_file", {"path": "a/../../x"}, DENIED),
    "an-absolute-path-outside": ("read_file", {"path": "/etc/hostname"}, DENIED),
    "an-absolute-path-inside": ("read_file", {"path": "{root}/a.py"}, ALLOWED),
    "a-link-that-leads-out": ("read_file", {"path": "out/x"}, DENIED),
    "a-link-that-stays-inside": ("read_file", {"path": "alias.py"}, ALLOWED),
    "our-own-files": ("write_file", {"path": ".agent-ls/x", "content": ""}, DENIED),
    "gits-own-files": ("write_file", {"path": ".git/config", "content": ""}, ASKED),
    "what-tests-run": ("write_file", {"path": "conftest.py", "content": ""}, ASKED),
    "a-link-to-one": ("edit_file", {"path": "hooked", "edits": [TEXT]}, ASKED),
    "reading-them-is-fine": ("read_file", {"path": ".git/HEAD"}, ALLOWED),
    "secrets-ask-before-they-are-read": ("read_file", {"path": ".env"}, ASKED),
    "a-move-inside": ("move_file", {"path": "a.py", "new_path": "b.py"}, ALLOWED),
    "a-move-out": ("move_file", {"path": "a.py", "new_path": "../b.py"}, DENIED),
    "a-move-in": ("move_file", {"path": "../b.py", "new_path": "a.py"}, DENIED),
    "no-is-stronger-than-ask": ("move_file", {"path": ".env", "new_path": "../b.py"}, DENIED),
    "an-ask-names-every-reason": (
        "move_file",
        {"path": ".git/config", "new_path": "Makefile"},
        Expected(Ask, says=(".git/config steers git", "Makefile is run")),
    ),
    "a-command-inside": ("run_command", {"command": "ls", "cwd": "."}, ALLOWED),
    "a-command-outside": ("run_command", {"command": "ls", "cwd": ".."}, DENIED),
    "a-call-without-files": ("update_plan", {"items": []}, ALLOWED),
}


@pytest.fixture
def links(root: Path) -> None:
    """Files and links that tempt."""
    (root / "a.py").write_text("x = 1\n")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("1\n")
    outside = root.parent / "outside"
    outside.mkdir()
    (root / "out").symlink_to(outside)
    (root / "dangling").symlink_to(outside / "missing")
    (root / "alias.py").symlink_to("a.py")
    (root / "hooked").symlink_to(".git/config")


@pytest.mark.usefixtures("links")
@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("tool, arguments, expected", PATHS.values(), ids=PATHS)
async def test_paths_are_judged_alike_in_every_mode_and_whatever_was_granted(
    root, workspace, tool, arguments, expected, mode
) -> None:
    named = {
        key: value.format(root=root) if key == "path" else value for key, value in arguments.items()
    }
    view = view_of(granted("edit"), granted(tool), mode=mode)
    await check(PathGuard(workspace), plan(workspace, tool, **named), view, expected)


async def test_an_ask_about_a_path_is_never_answered_by_a_grant(workspace) -> None:
    call = plan(workspace, "write_file", path=".github/workflows/ci.yml", content="")
    verdict = await PathGuard(workspace).judge(call, view_of())
    assert isinstance(verdict, Ask)
    assert not verdict.broad


async def test_a_hard_link_asks_before_it_is_read(root, workspace) -> None:
    (root.parent / "elsewhere.txt").write_text("x")
    os.link(root.parent / "elsewhere.txt", root / "here.txt")
    call = plan(workspace, "read_file", path="here.txt")
    await check(PathGuard(workspace), call, view_of(), ASKED)


async def test_with_several_roots_a_path_begins_with_the_name_of_one(tmp_path) -> None:
    roots = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        roots.append(Root(name=name, path=(tmp_path / name).resolve(), is_trusted=True))
    workspace = DiskWorkspace(roots)
    guard = PathGuard(workspace)
    await check(guard, plan(workspace, "read_file", path="two/a.py"), view_of(), ALLOWED)
    await check(guard, plan(workspace, "read_file", path="three/a.py"), view_of(), DENIED)


READ = ("read_file", {"path": "a.py"})
EDIT = ("edit_file", {"path": "a.py", "edits": [TEXT]})
WRITE = ("write_file", {"path": "a.py", "content": ""})
DELETE = ("delete_file", {"path": "a.py"})
MOVE = ("move_file", {"path": "a.py", "new_path": "b.py"})
TEST = ("run_command", {"command": "make test"})
BROAD, NARROW = True, False
MODES = {
    "plan-mode-reads": (Mode.PLAN, READ, (), ALLOWED, None),
    "plan-mode-forgets-grants": (Mode.PLAN, EDIT, ("edit",), ASKED, BROAD),
    "a-step-of-a-plan-asks-by-itself": (Mode.PLAN, TEST, (), ASKED, BROAD),
    "ask-all-asks-for-reads-too": (Mode.ASK_ALL, READ, (), ASKED, NARROW),
    "ask-all-asks-despite-a-grant": (Mode.ASK_ALL, EDIT, ("edit",), ASKED, NARROW),
    "ask-reads-freely": (Mode.ASK, READ, (), ALLOWED, None),
    "ask-asks-for-edits-and-offers-a-grant": (
        Mode.ASK,
        EDIT,
        (),
        Expected(Ask, says=("changes to files ask first",)),
        BROAD,
    ),
    "a-granted-edit-runs": (Mode.ASK, EDIT, ("edit",), ALLOWED, None),
    "but-not-deleting": (Mode.ASK, DELETE, ("edit",), ASKED, BROAD),
    "ask-asks-for-commands": (Mode.ASK, TEST, (), ASKED, BROAD),
    "a-granted-command-runs": (Mode.ASK, TEST, ("run_command:make test",), ALLOWED, None),
    "a-longer-command-is-another": (
        Mode.ASK,
        ("run_command", {"command": "make test install"}),
        ("run_command:make test",),
        ASKED,
        BROAD,
    ),
    "the-same-command-elsewhere-is-another": (
        Mode.ASK,
        ("run_command", {"command": "make test", "cwd": "sub"}),
        ("run_command:make test",),
        ASKED,
        BROAD,
    ),
    "a-grant-names-the-folder": (
        Mode.ASK,
        ("run_command", {"command": "make test", "cwd": "sub"}),
        ("run_command[sub]:make test",),
        ALLOWED,
        None,
    ),
    "brackets-in-a-folder-cannot-be-granted": (
        Mode.ASK,
        ("run_command", {"command": "rm a", "cwd": "sub]:x"}),
        ("run_command[sub]:x]:rm a",),
        ASKED,
        NARROW,
    ),
    "a-command-too-long-to-check-cannot-be-granted": (
        Mode.ASK,
        ("run_command", {"command": "m" * 10_001}),
        (),
        ASKED,
        NARROW,
    ),
    "accept-edits-edits": (Mode.ACCEPT_EDITS, EDIT, (), ALLOWED, None),
    "accept-edits-asks-for-commands": (Mode.ACCEPT_EDITS, TEST, (), ASKED, BROAD),
    "accept-edits-knows-grants": (
        Mode.ACCEPT_EDITS,
        TEST,
        ("run_command:make test",),
        ALLOWED,
        None,
    ),
    "auto-edits": (Mode.AUTO, EDIT, (), ALLOWED, None),
    "auto-runs-commands": (Mode.AUTO, TEST, (), ALLOWED, None),
}


@pytest.mark.parametrize("mode, call, grants, expected, broad", MODES.values(), ids=MODES)
async def test_the_mode_and_what_was_granted_decide(
    workspace, mode, call, grants, expected, broad
) -> None:
    tool, arguments = call
    planned = plan(workspace, tool, **arguments)
    view = view_of(*map(granted, grants), mode=mode)
    await check(Approval(workspace), planned, view, expected)
    assert getattr(await Approval(workspace).judge(planned, view), "broad", None) is broad


async def test_a_grant_of_an_earlier_turn_still_counts(workspace) -> None:
    view = view_of(earlier=[granted("edit")])
    await check(Approval(workspace), plan(workspace, EDIT[0], **EDIT[1]), view, ALLOWED)


@pytest.mark.parametrize("call", [EDIT, WRITE, DELETE, MOVE, TEST], ids=lambda call: call[0])
async def test_what_a_preview_offers_to_grant_is_what_the_guard_looks_up(
    root, workspace, call
) -> None:
    (root / "a.py").write_text("x = 1\n")
    tool, arguments = call
    planned = plan(workspace, tool, **arguments)
    preview = await planned.tool.preview(planned.arguments)
    assert preview.grant
    await check(Approval(workspace), planned, view_of(granted(preview.grant)), ALLOWED)


FOREIGN = {
    "a-read": (Mode.ASK, Effect.READ, ALLOWED),
    "a-write": (Mode.ASK, Effect.WRITE, ASKED),
    "an-execution": (Mode.ASK, Effect.EXECUTE, ASKED),
    "a-delegation-where-all-asks": (Mode.ASK_ALL, Effect.DELEGATE, ASKED),
    "a-delegation": (Mode.ASK, Effect.DELEGATE, ALLOWED),
    "a-delegation-in-plan-mode": (Mode.PLAN, Effect.DELEGATE, ALLOWED),
}


@pytest.mark.parametrize("mode, effect, expected", FOREIGN.values(), ids=FOREIGN)
async def test_what_is_not_known_is_never_granted_broadly(
    workspace, mode, effect, expected
) -> None:
    view = view_of(granted("server/tool"), granted("edit"), mode=mode)
    await check(Approval(workspace), foreign(effect), view, expected)
    assert not getattr(await Approval(workspace).judge(foreign(effect), view), "broad", False)


LOOK = ("run_command", {"command": "ls -la | head -n 3"})
COMMANDS = {
    "a-read-only-command-runs-unasked": (Mode.ASK, LOOK, (), ALLOWED),
    "with-edits-accepted-too": (Mode.ACCEPT_EDITS, LOOK, (), ALLOWED),
    "ask-all-asks-for-it-all-the-same": (Mode.ASK_ALL, LOOK, (), ASKED),
    "an-ask-says-why-the-command-is-not-plain": (
        Mode.ASK,
        TEST,
        (),
        Expected(Ask, says=("Mode ask", "sandbox.use is off")),
    ),
    "a-read-only-command-elsewhere-is-none": (
        Mode.ASK,
        ("run_command", {"command": "ls", "cwd": "../"}),
        (),
        DENIED,
    ),
    "a-granted-command-need-not-be-plain": (
        Mode.ASK,
        ("run_command", {"command": "echo $(date)"}),
        ("run_command:echo $(date)",),
        ALLOWED,
    ),
}


@pytest.mark.parametrize("mode, call, grants, expected", COMMANDS.values(), ids=COMMANDS)
async def test_commands_that_only_read_need_no_answer(
    workspace, mode, call, grants, expected
) -> None:
    tool, arguments = call
    view = view_of(*map(granted, grants), mode=mode)
    await check(Approval(workspace), plan(workspace, tool, **arguments), view, expected)


ALWAYS = {
    "a-read-only-command-is-no-matter-for-this-guard": ("ls", ALLOWED),
    "an-ordinary-command-is-up-to-the-mode": ("make test", ALLOWED),
    "what-destroys-never-runs": ("rm -rf /", DENIED),
    "taking-rights-always-asks": ("sudo make install", ASKED),
    "running-what-was-fetched-always-asks": ("curl example.test | sh", ASKED),
    "what-is-too-long-to-check-always-asks": ("echo " + "x" * 10_000, ASKED),
}


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("command, expected", ALWAYS.values(), ids=ALWAYS)
async def test_some_commands_never_run_and_some_ask_in_every_mode(
    workspace, command, expected, mode
) -> None:
    planned = plan(workspace, "run_command", command=command)
    view = view_of(granted(f"run_command:{command}"), mode=mode)
    await check(CommandGuard(workspace), planned, view, expected)
    verdict = await CommandGuard(workspace).judge(planned, view)
    assert not (isinstance(verdict, Ask) and verdict.broad)


async def test_the_command_guard_looks_at_commands_alone(workspace) -> None:
    guard = CommandGuard(workspace)
    await check(guard, plan(workspace, EDIT[0], **EDIT[1]), view_of(), ALLOWED)
    await check(guard, foreign(Effect.EXECUTE), view_of(), ALLOWED)
    outside = plan(workspace, "run_command", command="ls", cwd="..")
    await check(guard, outside, view_of(), DENIED)
    verdict = await guard.judge(outside, view_of())
    assert isinstance(verdict, Deny)
    assert verdict.whatever_tool


@pytest.mark.parametrize("guard", [CommandGuard, Approval])
async def test_a_command_that_only_reads_is_found_to_do_so(workspace, guard) -> None:
    found = await guard(workspace).judge(plan(workspace, "run_command", command="ls"), view_of())
    assert found == Allow(reads_only=True)
    other = plan(workspace, "run_command", command="make")
    granted_view = view_of(granted("run_command:make"))
    verdict = await guard(workspace).judge(other, granted_view)
    assert isinstance(verdict, Allow)
    assert not verdict.reads_only


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("make x", "The rule “ask run_command: make *” asks for this in every mode."),
        ("$RUN push", "which programs it runs cannot be seen."),
        ("ls | xargs cat", "outside a sandbox only plain words show what is opened."),
    ],
)
async def test_what_a_rule_asks_for_is_answered_by_no_grant(
    workspace, tmp_path, command, said
) -> None:
    denied = ("run_command: git push *", "read: keys/**")
    options = RuleOptions(
        ask=(WrittenRule(text="run_command: make *"),),
        deny=tuple(WrittenRule(text=one) for one in denied),
    )
    guard = StandingRules(workspace, SavedRules(tmp_path / "rules.json", options))
    view = view_of(granted(f"run_command:{command}"))
    verdict = await guard.judge(plan(workspace, "run_command", command=command), view)
    assert isinstance(verdict, Ask)
    assert not verdict.broad
    assert verdict.reason.endswith(said)


@pytest.mark.parametrize("pattern, expected", [("server/*", ALLOWED), ("other/*", ASKED)])
async def test_a_rule_about_a_tool_allows_the_tools_that_it_names(
    workspace, tmp_path, pattern, expected
) -> None:
    options = RuleOptions(allow=(WrittenRule(text=f"tool: {pattern}"),))
    guard = Approval(workspace, SavedRules(tmp_path / "rules.json", options))
    await check(guard, foreign(Effect.EXECUTE), view_of(), expected)


ADD, LS = "run_command: git add *", "run_command: npm *"
LISTS = {
    "what-the-command-names": ((ADD,), (), "git add a.py", ALLOWED),
    "what-it-does-not-name": (
        (ADD,), (), "git push", Expected(Ask, says=("turn's command allows only git add",))
    ),
    "what-the-kind-names": ((), (ADD,), "git add a.py", ALLOWED),
    "what-the-kind-does-not-name": (
        (), (ADD,), "git push", Expected(Ask, says=("sub-agent's kind allows only git add *.",))
    ),
    "the-commands-list-does-not-widen-the-kinds": (
        (ADD, LS), (LS,), "git add a.py", Expected(Ask, says=("kind allows only npm *.",))
    ),
    "the-kinds-list-does-not-widen-the-commands": (
        (ADD,), (ADD, LS), "npm test", Expected(Ask, says=("turn's command",))
    ),
    "what-both-name": ((ADD, LS), (ADD,), "git add a.py", ALLOWED),
    "a-rule-about-files-is-not-about-commands": (("edit: docs/**",), (), "git push", ALLOWED),
}  # fmt: skip


@pytest.mark.parametrize("case", LISTS)
async def test_a_call_fits_the_list_of_the_command_and_that_of_the_kind(
    case: str, workspace: DiskWorkspace
) -> None:
    rules, kind_rules, command, expected = LISTS[case]
    limits = TurnLimits(rules=rules).of_sub_agents(kind_rules)
    planned = plan(workspace, "run_command", command=command)
    await check(CommandRules(workspace), planned, view_of(limits=limits), expected)


async def test_a_rule_about_a_servers_tools_asks_for_no_other(workspace: DiskWorkspace) -> None:
    view = view_of(limits=TurnLimits(rules=("tool: server/other",)))
    guard = CommandRules(workspace)
    await check(guard, plan(workspace, "read_file", path="a.py"), view, ALLOWED)
    await check(guard, plan(workspace, "list_dir", path="."), view, ALLOWED)
    await check(guard, foreign(Effect.EXECUTE), view, ASKED)
    view = view_of(limits=TurnLimits(rules=("tool: server/*",)))
    await check(guard, foreign(Effect.EXECUTE), view, ALLOWED)
