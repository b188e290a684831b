"""Before every call: what must not be repeated, and what another agent is working on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import JsonValue

from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice, ApprovalRequest, Preview
from agent_ls.domain.calls import Effect, ErrorKind, ToolCall, ToolResult
from agent_ls.domain.events import (
    ApprovalRequested,
    ApprovalResolved,
    EditApplied,
    Event,
    GrantsRevoked,
    PlanProposed,
    PlanResolved,
    PlanUpdated,
    PromptQueued,
    ToolCallFinished,
    ToolCallStarted,
)
from agent_ls.domain.modes import Mode
from agent_ls.domain.plans import PlanItem, PlanStatus, ProposedCall
from agent_ls.domain.verdicts import Allow, Ask, Defer, Deny
from agent_ls.loop.calls.plans import digest
from agent_ls.loop.evidence.retries import met_by
from agent_ls.loop.extension_points import Guard, PlannedCall, Tool
from agent_ls.loop.state.view import TurnView
from agent_ls.policies.guards.approval import Approval
from agent_ls.policies.guards.file_claim import FileClaim, FileClaimOptions
from agent_ls.policies.guards.plan_mode import PlanMode
from agent_ls.policies.guards.replan import Replan, ReplanOptions
from agent_ls.safety.rules import SavedRules
from agent_ls.tools.edit_file import EditFile
from agent_ls.tools.read_file import ReadFile
from agent_ls.tools.run_command import RunCommand
from agent_ls.tools.write_file import WriteFile
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.file_claims import FileClaims
from agent_ls.workspace.runner import ShellRunner
from tests.policies.views import Expected, call_of, result_of, said, view_of

ALLOWED = Expected(Allow)

Said = Callable[[ToolCall], list[Event]]
"""What happened, given the call that it may be about."""


async def check(
    policy: Guard, planned: PlannedCall, view: TurnView, expected: Expected, wait_s: float = 0
) -> None:
    """Assert what the guard says of the call, and that asking twice changes nothing."""
    verdict = await policy.judge(planned, view)
    expected.hold(verdict)
    assert getattr(verdict, "after_s", 0) == wait_s
    assert await policy.judge(planned, view) == verdict


def plan(workspace: DiskWorkspace, tool: str, *, id: str = "cal_9", **arguments: object):
    """Return a valid call of a real tool."""
    tools: dict[str, Tool] = {
        "read_file": ReadFile(workspace),
        "edit_file": EditFile(workspace),
        "write_file": WriteFile(workspace),
        "run_command": RunCommand(workspace, ShellRunner()),
    }
    chosen = tools[tool].Arguments(**arguments)
    return PlannedCall(call_of(tool, chosen.model_dump_json(), id=id), tools[tool], chosen)


class HeldClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def now_ms(self) -> int:
        return int(self.now_s * 1_000)

    def monotonic_s(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.mark.parametrize(
    ("tool", "arguments", "elapsed_s", "expected"),
    [
        ("write_file", {"path": "a.py", "content": ""}, 0, Expected(Deny, says=("ses_other",))),
        ("write_file", {"path": "x/../a.py", "content": ""}, 59, Expected(Deny)),
        ("write_file", {"path": "a.py", "content": ""}, 61, ALLOWED),
        ("write_file", {"path": "b.py", "content": ""}, 0, ALLOWED),
        ("read_file", {"path": "a.py"}, 0, ALLOWED),
        ("run_command", {"command": "cat a.py"}, 0, ALLOWED),
    ],
    ids=[
        "a-file-another-agent-changes-is-left-alone",
        "however-it-is-spelled",
        "until-its-lease-is-over",
        "other-files-are-free",
        "reading-needs-no-claim",
        "commands-claim-nothing",
    ],
)
async def test_agents_side_by_side_do_not_change_one_file(
    workspace, tool, arguments, elapsed_s, expected
) -> None:
    clock = HeldClock()
    claims = FileClaims(clock)
    assert claims.claim("a.py", "ses_other", 60) is None
    clock.now_s += elapsed_s
    await check(
        FileClaim(claims, workspace), plan(workspace, tool, **arguments), view_of(), expected
    )


async def test_a_change_renews_the_claim_of_who_makes_it(workspace) -> None:
    clock = HeldClock()
    claims = FileClaims(clock)
    guard = FileClaim(claims, workspace)
    for _ in range(3):
        await check(
            guard, plan(workspace, "write_file", path="a.py", content=""), view_of(), ALLOWED
        )
        clock.now_s += 50
    assert claims.claim("a.py", "ses_other", 60) == "ses_1"
    claims.release("ses_1")
    assert claims.claim("a.py", "ses_other", 60) is None


async def test_claims_can_be_switched_off(workspace) -> None:
    claims = FileClaims(HeldClock())
    claims.claim("a.py", "ses_other", 60)
    guard = FileClaim(claims, workspace, FileClaimOptions(lease_s=0))
    await check(guard, plan(workspace, "write_file", path="a.py", content=""), view_of(), ALLOWED)


READ = ("read_file", {"path": "a.py"})
EDIT = ("edit_file", {"path": "a.py", "edits": [{"old_string": "1", "new_string": "2"}]})
TEST = ("run_command", {"command": "make test"})
LATE = "Killed after 120 s"


def failed(text: str = "a.py does not exist.", error: ErrorKind = ErrorKind.RUNTIME) -> Said:
    """Return how the call, whatever it is, failed once."""

    def happened(call: ToolCall) -> list[Event]:
        effect = Effect.EXECUTE if call.tool == "run_command" else Effect.READ
        started = ToolCallStarted(
            call_id=call.id, tool=call.tool, effect=effect, arguments_json=call.arguments_json
        )
        result = ToolResult(call_id=call.id, text=text, error=error)
        return [said("", call), started, ToolCallFinished(result=result, effect=effect)]

    return happened


def rejected(by: str = "panel") -> Said:
    """Return how somebody, or nobody, said no to the call."""

    def happened(call: ToolCall) -> list[Event]:
        request = ApprovalRequest(
            id="apr_1",
            call_id=call.id,
            turn_id="trn_1",
            tool=call.tool,
            reason="",
            preview=Preview(title="", payload=""),
            digest="",
            choices=(),
        )
        answer = ApprovalAnswer(choice=ApprovalChoice.REJECT_ONCE, by=by)
        return [
            said("", call),
            ApprovalRequested(request=request),
            ApprovalResolved(approval_id="apr_1", answer=answer),
            result_of(id=call.id, error=ErrorKind.DENIED),
        ]

    return happened


def ran(tool: str, effect: Effect, *, id: str = "cal_x", data: JsonValue = None) -> Said:
    """Return another call that went well."""
    finished = ToolCallFinished(result=ToolResult(call_id=id, text="ok", data=data), effect=effect)
    return lambda _: [said("", call_of(tool, "{}", id=id)), finished]


def event(one: Event) -> Said:
    return lambda _: [one]


EDITED = event(EditApplied(call_id="cal_x", path="b.py", status="applied"))
STEERED = event(PromptQueued(text="It is there now.", kind="steer"))
OLD, NEW = ({"path": "a.py", "version": one} for one in ("1", "2"))
READ_OLD, READ_NEW = (ran("read_file", Effect.READ, data=one) for one in (OLD, NEW))
TIMED_OUT = failed(LATE, ErrorKind.TIMEOUT)
WAITS = {2: (ALLOWED, 2), 4: (ALLOWED, 4)}
REFUSED = Expected(Deny, says=("has just failed", "another way"))


GIVEN_UP = Expected(Deny, says=("Attempt 3", "failed"))


@pytest.mark.parametrize(
    ("call", "happened", "expected"),
    [
        pytest.param(READ, (), ALLOWED, id="a-first-attempt-runs"),
        pytest.param(READ, (failed(),), REFUSED, id="an-identical-retry-is-refused"),
        pytest.param(READ, (failed(), EDITED), ALLOWED, id="after-an-edit-it-may-work"),
        pytest.param(
            READ, (failed(), ran("run_command", Effect.EXECUTE)), ALLOWED, id="after-a-command-too"
        ),
        pytest.param(READ, (failed(), STEERED), ALLOWED, id="after-the-users-words-too"),
        pytest.param(
            READ, (failed(), ran("grep", Effect.READ)), REFUSED, id="a-read-between-changes-nothing"
        ),
        pytest.param(
            EDIT,
            (READ_OLD, failed(), READ_NEW),
            ALLOWED,
            id="a-file-that-changed-meanwhile-is-a-change",
        ),
        pytest.param(
            EDIT,
            (READ_OLD, failed(), READ_OLD),
            REFUSED,
            id="a-file-that-is-the-same-is-none",
        ),
        pytest.param(READ, (failed(error=ErrorKind.STRUCTURAL),), ALLOWED, id="a-slip-never-ran"),
        pytest.param(READ, (failed(error=ErrorKind.DENIED),), ALLOWED, id="a-guards-no-is-its-own"),
        pytest.param(
            EDIT, (rejected(),), Expected(Deny, says=("rejected",)), id="nobody-asks-twice"
        ),
        pytest.param(EDIT, (rejected(), STEERED), ALLOWED, id="unless-the-user-spoke"),
        pytest.param(EDIT, (rejected("nobody"),), ALLOWED, id="nobodys-no-is-no-decision"),
        pytest.param(TEST, (TIMED_OUT,), WAITS[2], id="what-may-pass-by-waits-2-s"),
        pytest.param(TEST, (TIMED_OUT,) * 3, GIVEN_UP, id="after-three-attempts-it-has-failed"),
        pytest.param(TEST, (*(TIMED_OUT,) * 3, EDITED), ALLOWED, id="an-edit-gives-three-more"),
    ],
)  # fmt: skip
async def test_a_failed_call_is_not_repeated_in_vain(workspace, call, happened, expected) -> None:
    tool, arguments = call
    planned = plan(workspace, tool, **arguments)
    events: list[Event] = []
    for number, one in enumerate(happened):
        events += one(planned.call.model_copy(update={"id": f"cal_{number}"}))
    verdict, wait_s = expected if isinstance(expected, tuple) else (expected, 0)
    await check(Replan(workspace), planned, view_of(*events), verdict, wait_s)


GONE = None
SEVEN = ("edit_file", {"path": "a.py", "edits": [{"old_string": "7", "new_string": "8"}]})
SAME = ("write_file", {"path": "a.py", "content": "x = 1"})
THERE = ("run_command", {"command": "make", "cwd": "a.py"})


@pytest.mark.parametrize(
    ("call", "met", "now", "failures", "expected"),
    [
        pytest.param(SEVEN, "x = 1", "x = 7", 1, ALLOWED, id="what-was-missing-is-there"),
        pytest.param(SEVEN, "x = 1", "y = 1", 1, ALLOWED, id="any-other-text-is-another"),
        pytest.param(READ, GONE, "x = 1", 1, ALLOWED, id="the-file-has-been-made"),
        pytest.param(SAME, "x = 1", "x = 2", 1, ALLOWED, id="it-is-no-longer-exactly-so"),
        pytest.param(SAME, "x = 1", GONE, 1, ALLOWED, id="the-file-is-gone"),
        pytest.param(THERE, GONE, "x = 1", 3, ALLOWED, id="after-three-attempts-too"),
    ],
)
async def test_a_failed_call_may_come_again_when_others_changed_its_file(
    root: Path, workspace, call, met, now, failures, expected
) -> None:
    tool, arguments = call
    planned = plan(workspace, tool, **arguments)
    put(root, met)
    found = await met_by(planned, workspace)
    (root / "a.py").unlink(missing_ok=True)
    put(root, now)
    events: list[Event] = []
    for number in range(failures):
        *before, ended = failed()(planned.call.model_copy(update={"id": f"cal_{number}"}))
        events += [*before, ended.model_copy(update={"met": found})]
    await check(Replan(workspace), planned, view_of(*events), expected)


def put(root: Path, text: str | None) -> None:
    if text is not None:
        (root / "a.py").write_text(text)


async def test_a_file_that_is_spelled_another_way_is_no_other(workspace) -> None:
    planned = plan(workspace, "read_file", path="a.py")
    again = plan(workspace, "read_file", path="./sub/../a.py")
    *before, ended = failed()(planned.call.model_copy(update={"id": "cal_0"}))
    ended = ended.model_copy(update={"met": await met_by(planned, workspace)})
    await check(Replan(workspace), again, view_of(*before, ended), REFUSED)


async def test_what_the_user_rejected_is_not_asked_again_for_another_text(
    root: Path, workspace
) -> None:
    planned = plan(workspace, "edit_file", **SEVEN[1])
    *before, ended = rejected()(planned.call.model_copy(update={"id": "cal_0"}))
    ended = ended.model_copy(update={"met": await met_by(planned, workspace)})
    put(root, "x = 7")
    said_no = Expected(Deny, says=("rejected",))
    await check(Replan(workspace), planned, view_of(*before, ended), said_no)


async def test_how_the_arguments_are_written_does_not_matter(workspace) -> None:
    call = call_of("read_file", '{"path":"a.py","output_path":"†state.x"}', id="cal_1")
    planned = plan(workspace, "read_file", path="a.py")
    again = PlannedCall(call_of("read_file", '{"path": "a.py"}'), planned.tool, planned.arguments)
    await check(Replan(workspace), again, view_of(*failed()(call)), REFUSED)


async def test_the_failed_plan_item_is_named(workspace) -> None:
    item = PlanItem(text="Run the tests", status=PlanStatus.IN_PROGRESS)
    planned = plan(workspace, "run_command", command="make test")
    events: list[Event] = [PlanUpdated(items=(item,))]
    for number in range(3):
        events += TIMED_OUT(planned.call.model_copy(update={"id": f"cal_{number}"}))
    named = Expected(Deny, says=("“Run the tests” has failed", "blocked"))
    await check(Replan(workspace), planned, view_of(*events), named)


async def test_repeating_can_be_allowed(workspace) -> None:
    planned = plan(workspace, "read_file", path="a.py")
    view = view_of(*failed()(planned.call.model_copy(update={"id": "cal_0"})))
    await check(Replan(workspace, ReplanOptions(enabled=False)), planned, view, ALLOWED)


def decided(planned: PlannedCall, **decision: tuple[str, ...]) -> list[Event]:
    """Return how the call was proposed and decided on, and made the one that runs."""
    step = ProposedCall(call=planned.call, title="")
    return [
        PlanProposed(plan_id="trn_1", origin="plan_mode", calls=(step,)),
        PlanResolved.model_validate({"plan_id": "trn_1", **decision}),
        said("", planned.call),
    ]


DEFERRED = Expected(Defer, says=("The user then decides",))
IDS = ("cal_9",)


@pytest.mark.parametrize(
    ("mode", "call", "decision", "expected"),
    [
        pytest.param(Mode.PLAN, READ, {}, ALLOWED, id="plan-mode-reads"),
        pytest.param(Mode.PLAN, EDIT, {}, DEFERRED, id="plan-mode-edits-later"),
        pytest.param(
            Mode.PLAN, ("run_command", {"command": "ls"}), {}, ALLOWED, id="commands-that-look"
        ),
        pytest.param(
            Mode.PLAN, ("run_command", {"command": "make"}), {}, DEFERRED, id="other-commands-later"
        ),
        pytest.param(
            Mode.PLAN,
            EDIT,
            {"approved": IDS, "digests": ("",)},
            ALLOWED,
            id="what-was-allowed-runs",
        ),
        pytest.param(Mode.PLAN, EDIT, {"unasked": IDS}, DEFERRED, id="an-eager-plan-has-no-rights"),
        pytest.param(Mode.ASK, EDIT, {}, ALLOWED, id="other-modes-defer-nothing"),
    ],
)
async def test_plan_mode_queues_what_changes_something(
    workspace, mode, call, decision, expected
) -> None:
    planned = plan(workspace, call[0], **call[1])
    view = view_of(*decided(planned, **decision), mode=mode)
    await check(PlanMode(workspace), planned, view, expected)


async def test_a_sub_agent_in_plan_mode_describes_instead(workspace) -> None:
    planned = plan(workspace, EDIT[0], **EDIT[1])
    state = view_of(mode=Mode.PLAN)
    child = replace(state, session=replace(state.session, is_child=True))
    await check(PlanMode(workspace), planned, child, Expected(Deny, says=("describe",)))


@pytest.mark.parametrize("mode", [Mode.PLAN, Mode.ASK])
async def test_what_was_allowed_of_a_plan_runs_unasked_while_it_is_the_same(
    root, workspace, mode
) -> None:
    (root / "a.py").write_text("x = 1\n")
    planned = plan(workspace, EDIT[0], **EDIT[1])
    seen = digest(planned, await planned.tool.preview(planned.arguments))
    view = view_of(*decided(planned, approved=IDS, digests=(seen,)), mode=mode)
    guard = Approval(workspace)
    await check(guard, planned, view, ALLOWED)
    other = plan(workspace, "write_file", path="a.py", content="x = 3")
    await check(guard, other, view, Expected(Ask))
    (root / "a.py").write_text("x = 1  # and more\n")
    await check(guard, planned, view, Expected(Ask))


@pytest.mark.parametrize(
    ("decision", "mode", "happened", "expected"),
    [
        pytest.param(None, Mode.ASK, [], Expected(Ask), id="no-rule-asks"),
        pytest.param("allow", Mode.ASK, [], ALLOWED, id="a-rule-allows"),
        pytest.param("allow", Mode.ASK_ALL, [], Expected(Ask), id="but-not-where-all-asks"),
        pytest.param(
            "allow",
            Mode.ASK,
            [GrantsRevoked(grants=("run_command:make test",), why="")],
            Expected(Ask),
            id="nor-once-it-was-revoked",
        ),
        pytest.param(
            "reject", Mode.ASK, [], Expected(Deny, says=("rule of the user",)), id="a-rule-rejects"
        ),
        pytest.param("reject", Mode.AUTO, [], Expected(Deny), id="in-every-mode"),
    ],
)
async def test_what_the_user_said_for_good_holds(
    tmp_path, root, workspace, decision, mode, happened, expected
) -> None:
    rules = SavedRules(tmp_path / "rules.json")
    if decision:
        rules.add("run_command:make test", [root], decision)
    planned = plan(workspace, "run_command", command="make test")
    await check(Approval(workspace, rules), planned, view_of(*happened, mode=mode), expected)
