"""Before every call: what must not be repeated, and what another agent is working on."""

from __future__ import annotations

import pytest

from agent_ls.domain.verdicts import Allow, Deny
from agent_ls.loop.sockets import Guard, PlannedCall, Tool
from agent_ls.loop.view import TurnView
from agent_ls.policies.guards.file_claim import FileClaim, FileClaimOptions
from agent_ls.tools.edit_file import EditFile
from agent_ls.tools.read_file import ReadFile
from agent_ls.tools.run_command import RunCommand
from agent_ls.tools.write_file import WriteFile
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.file_claims import FileClaims
from agent_ls.workspace.runner import ShellRunner
from tests.policies.views import Expected, call_of, view_of

ALLOWED = Expected(Allow)


async def check(policy: Guard, planned: PlannedCall, view: TurnView, expected: Expected) -> None:
    """Assert what the guard says of the call, and that asking twice changes nothing."""
    verdict = await policy.judge(planned, view)
    expected.hold(verdict)
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
