"""How long a yes to commands holds: until a call changes what commands run."""

from __future__ import annotations

from typing import Literal

import pytest

from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice
from agent_ls.domain.calls import Effect, ToolResult
from agent_ls.domain.edits import MoveFile
from agent_ls.domain.events import (
    ApprovalResolved,
    ChildEnded,
    ChildFile,
    CommandChanged,
    EditApplied,
    EditIntended,
    Event,
    GrantsRevoked,
    ToolCallStarted,
)
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import Allow, Ask
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.workspace import Root
from agent_ls.loop.state.view import TurnView
from agent_ls.policies.followups.revoke_grants import RevokeGrants
from agent_ls.policies.guards.approval import Approval
from agent_ls.safety.rules import SavedRules
from agent_ls.safety.stale_grants import stale_grants
from agent_ls.tools.run_command import RunCommand
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.runner import ShellRunner
from tests.policies.views import call_of, granted, view_of

TOLD = GrantsRevoked(
    grants=("run_command:a", "run_command:b"), why="Makefile was changed, and commands may run it."
)


def applied(
    path: str, status: Literal["applied", "refused", "unconfirmed"] = "applied"
) -> EditApplied:
    return EditApplied(call_id="cal_1", path=path, status=status)


def moved(path: str, new_path: str) -> list[Event]:
    edit = MoveFile(path=path, base_version="v", new_path=new_path)
    return [EditIntended(call_id="cal_1", edit=edit, before_blob="b"), applied(path)]


def child_ended(stop: StopReason) -> ChildEnded:
    file = ChildFile(path="Makefile", before_blob=None, after_blob=None)
    return ChildEnded(call_id="cal_1", child_id="ses_2", kind="implement", stop=stop, files=(file,))


@pytest.fixture
def rules(tmp_path, root) -> SavedRules:
    """The user allowed one command for good."""
    saved = SavedRules(tmp_path / "rules.json")
    saved.add("run_command:b", [root], "allow")
    return saved


async def check(
    workspace: DiskWorkspace,
    rules: SavedRules,
    view: TurnView,
    holds: dict[str, bool],
    told: GrantsRevoked | None,
) -> None:
    """Assert which commands run unasked, and what the next call's end tells the user."""
    tool = RunCommand(workspace, ShellRunner())
    for command, is_allowed in holds.items():
        planned = PlannedCall(call_of("run_command"), tool, tool.Arguments(command=command))
        verdict = await Approval(workspace, rules).judge(planned, view)
        assert type(verdict) is (Allow if is_allowed else Ask), (command, verdict)
        result = ToolResult(call_id=planned.call.id, text="")
        outcome = await RevokeGrants(workspace, rules).follow(planned, result, view)
        assert outcome.events == ((told,) if told else ())


@pytest.mark.parametrize(
    ("happened", "is_stale"),
    [
        pytest.param([applied("Makefile")], True, id="an-edit-that-was-applied"),
        pytest.param([applied("Makefile", "unconfirmed")], True, id="one-that-may-have-been"),
        pytest.param([applied("Makefile", "refused")], False, id="but-none-that-was-not"),
        pytest.param([applied("notes.txt")], False, id="nor-one-of-another-file"),
        pytest.param([applied("../Makefile")], False, id="nor-one-outside"),
        pytest.param(moved("draft.txt", "Makefile"), True, id="what-a-move-makes"),
        pytest.param(moved("Makefile", "draft.txt"), True, id="what-a-move-takes-away"),
        pytest.param([CommandChanged(call_id="cal_1", path="Makefile")], True, id="a-command"),
        pytest.param([child_ended(StopReason.CANCELLED)], True, id="a-sub-agent-cut-off"),
        pytest.param([child_ended(StopReason.COMPLETED)], False, id="others-told-it-themselves"),
        pytest.param([], False, id="no-change"),
    ],
)
async def test_a_change_to_what_commands_run_ends_the_yes_to_them(
    workspace, rules, happened, is_stale
) -> None:
    # Nothing but the change is told, as after a crash or a stop right behind it.
    view = view_of(granted("run_command:a"), granted("edit"), *happened)
    holds = {"a": not is_stale, "b": not is_stale}
    await check(workspace, rules, view, holds, TOLD if is_stale else None)


@pytest.mark.parametrize(
    ("command", "is_stale"),
    [
        pytest.param("run_command{outside the sandbox}:./deploy.sh now", True, id="a-script"),
        pytest.param("run_command{outside the sandbox}[lib]:sh run.sh", True, id="in-a-folder"),
        pytest.param("run_command{outside the sandbox}:cd x; npm test", True, id="a-runner"),
        pytest.param(
            "run_command{outside the sandbox}:git push", True, id="git-whose-hooks-run-it"
        ),
        pytest.param("run_command:./deploy.sh now", False, id="inside-the-sandbox"),
    ],
)
def test_any_change_ends_a_yes_to_run_the_project_outside_the_sandbox(
    root, command, is_stale
) -> None:
    (root / "lib").mkdir()
    for name in ("deploy.sh", "lib/run.sh"):
        (root / name).write_text("echo\n")
    view = view_of(granted(command), applied("lib/part.py"))
    found = stale_grants(view.session, [Root("", root, is_trusted=True)], None)
    assert (found is not None) == is_stale
    if found is not None:
        assert (found.grants, found.why) == (
            (command,),
            "lib/part.py was changed, and commands may run it.",
        )


def test_of_many_changes_the_first_are_named(root) -> None:
    happened = [applied(f"{number}/Makefile") for number in range(7)]
    view = view_of(granted("run_command:a"), *happened, applied("notes.txt"))
    found = stale_grants(view.session, [Root("", root, is_trusted=True)], None)
    assert found is not None
    named = ", ".join(f"{number}/Makefile" for number in range(5))
    assert found.why == f"{named} and 2 more was changed, and commands may run it."


async def test_it_ended_in_later_turns_as_well(workspace, rules) -> None:
    view = view_of(earlier=[granted("run_command:a"), applied("Makefile")])
    await check(workspace, rules, view, {"a": False, "b": False}, TOLD)


async def test_a_yes_after_the_change_holds_and_nothing_is_taken_back_twice(
    workspace, rules
) -> None:
    happened = [granted("run_command:a"), applied("Makefile"), TOLD, granted("run_command:a")]
    view = view_of(*happened)
    await check(workspace, rules, view, {"a": True, "b": False}, None)


async def test_a_yes_for_good_holds_only_for_as_long_as_it_is_written_down(
    workspace, rules, root
) -> None:
    answer = ApprovalAnswer(choice=ApprovalChoice.ALLOW_ALWAYS, by="test")
    given = ApprovalResolved(approval_id="apr_1", answer=answer, grant="run_command:b")
    view = view_of(given, granted("run_command:a"))
    await check(workspace, rules, view, {"a": True, "b": True}, None)
    SavedRules(rules.file).forget(rules.all()[0])
    await check(workspace, rules, view, {"a": True, "b": False}, None)


@pytest.mark.parametrize("is_own", [True, False])
async def test_the_call_that_makes_the_change_ends_it_for_later_sessions(
    workspace, rules, root, is_own
) -> None:
    tool = RunCommand(workspace, ShellRunner())
    planned = PlannedCall(call_of("run_command"), tool, tool.Arguments(command="x"))
    started = ToolCallStarted(call_id=planned.call.id, tool="run_command", effect=Effect.EXECUTE)
    changed = CommandChanged(call_id=planned.call.id, path="Makefile")
    view = view_of(*((started, changed) if is_own else (changed, started)))
    result = ToolResult(call_id=planned.call.id, text="")
    outcome = await RevokeGrants(workspace, rules).follow(planned, result, view)
    (event,) = outcome.events
    assert isinstance(event, GrantsRevoked)
    assert event.for_good is is_own


def test_what_is_revoked_is_gone_for_the_next_session_and_rejections_stay(rules, root) -> None:
    rules.add("run_command:c", [root], "allow")
    rules.add("edit", [root], "reject")
    SavedRules(rules.file).revoke(("run_command:b", "edit", "unknown"), [root])
    assert rules.granted([root]) == ("run_command:c",)
    assert rules.decision("edit", [root]) == "reject"
