"""After every call: what the model reads of a result, and what is kept elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.domain.calls import ToolResult
from agent_ls.domain.events import GoalChecked
from agent_ls.domain.goals import Goal
from agent_ls.loop.extension_points import FollowUp, FollowUpOutcome, PlannedCall
from agent_ls.loop.ports.workspace import Root
from agent_ls.loop.state.view import text_tokens
from agent_ls.policies.followups.goal_proof import GoalProof
from agent_ls.policies.followups.mask_secrets import MaskSecrets, MaskSecretsOptions
from agent_ls.policies.followups.truncate_result import TruncateResult, TruncateResultOptions
from agent_ls.tools.read_file import ReadFile, ReadFileArguments
from agent_ls.tools.run_command import RunCommand, RunCommandArguments
from agent_ls.tools.update_plan import UpdatePlan, UpdatePlanArguments
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.runner import ShellRunner
from tests.policies.views import call_of, view_of

PLANNED = PlannedCall(call_of("update_plan"), UpdatePlan(), UpdatePlanArguments(items=()))
FAKE_KEY = "AKIA" + "QWERTYUIOPASDFGH"


async def check(
    policy: FollowUp, result: ToolResult, planned: PlannedCall = PLANNED
) -> FollowUpOutcome:
    """Return what the policy makes of the result; doing it twice must change nothing more."""
    outcome = await policy.follow(planned, result, view_of())
    again = await policy.follow(planned, outcome.result, view_of())
    assert again.result == outcome.result
    assert (outcome.result.call_id, outcome.result.error) == (result.call_id, result.error)
    return outcome


def result_with(text: str, **facts: object) -> ToolResult:
    return ToolResult.model_validate({"call_id": "cal_1", "text": text, **facts})


def numbered(lines: int, width: int = 60) -> str:
    return "\n".join(f"{number:>5} ".ljust(width, "x") for number in range(1, lines + 1))


def of_tokens(tokens: int) -> str:
    """Return a text of exactly so many estimated tokens."""
    text = "a" * (tokens * 4 - 16)
    assert text_tokens(text) == tokens
    return text


CUT = {
    "one-token-above-the-limit": (of_tokens(2_001), {}),
    "many-lines": (numbered(1_000), {}),
    "many-long-lines": (numbered(1_000, width=900), {}),
    "one-endless-line": ("x" * 1_000_000, {}),
    "an-endless-line-after-a-short-one": ("short\n" + "x" * 1_000_000, {}),
    "half-characters": ("a\udc80b" * 20_000, {}),
    "a-small-limit": (numbered(1_000), {"max_tokens": 100}),
    "no-last-lines": (numbered(1_000), {"tail_lines": 0}),
}


@pytest.mark.parametrize("text, options", CUT.values(), ids=CUT)
async def test_what_is_too_long_is_cut_and_kept_whole_in_the_store(store, text, options) -> None:
    options = TruncateResultOptions(**options)
    outcome = await check(TruncateResult(store, options), result_with(text))
    cut = outcome.result
    assert cut.output_id is not None
    assert f'read_output(handle="{cut.output_id[:12]}"' in cut.text
    assert text_tokens(cut.text) <= max(options.max_tokens, 100)
    kept = await store.get_blob(cut.output_id)
    assert kept == text.encode(errors="replace")


@pytest.mark.parametrize(
    "lines, is_whole",
    [
        pytest.param(600, True, id="a-file-of-600-lines-is-read-whole"),
        pytest.param(3_000, False, id="a-file-of-3000-lines-is-cut"),
    ],
)
async def test_a_file_that_is_read_may_be_longer(store, tmp_path, lines, is_whole) -> None:
    tool = ReadFile(DiskWorkspace([Root("project", tmp_path, False)]))
    planned = PlannedCall(call_of("read_file"), tool, ReadFileArguments(path="a.py"))
    outcome = await check(TruncateResult(store), result_with(numbered(lines)), planned)
    assert (outcome.result.output_id is None) is is_whole


async def test_the_first_forty_and_the_last_twenty_lines_stay(store) -> None:
    text = numbered(1_000, width=20)
    cut = (await check(TruncateResult(store), result_with(text))).result.text.splitlines()
    lines = text.splitlines()
    assert cut[:40] == lines[:40]
    assert cut[41:] == lines[-20:]
    assert "940 of 1,000 lines" in cut[40]
    assert "start_line=41" in cut[40]


async def test_the_marker_names_the_first_line_that_is_not_there_in_full(store) -> None:
    text = numbered(1_000, width=900)
    cut = (await check(TruncateResult(store), result_with(text))).result.text
    marker = next(line for line in cut.splitlines() if "read_output" in line)
    named = int(marker.partition("start_line=")[2].partition(")")[0])
    lines = text.splitlines()
    assert cut.startswith("\n".join(lines[: named - 1]))
    assert not cut.startswith("\n".join(lines[:named]))


async def test_a_short_end_leaves_its_room_to_the_beginning(store) -> None:
    text = numbered(100, width=900) + "\nend" * 20
    cut = (await check(TruncateResult(store), result_with(text))).result.text
    assert cut.endswith("\nend" * 20)
    assert cut.startswith(text[:7_500])


async def test_a_few_long_lines_keep_two_thirds_from_the_beginning_and_one_from_the_end(
    store,
) -> None:
    text = "b" * 50_000 + "\n" + "e" * 50_000
    cut = (await check(TruncateResult(store), result_with(text))).result.text
    assert 5_000 < cut.count("b") < 5_400
    assert 2_500 < cut.count("e") < 2_700


async def test_a_result_that_has_a_handle_keeps_it(store) -> None:
    digest = await store.put_blob(b"all of it")
    result = result_with(numbered(1_000), output_id=digest)
    cut = (await check(TruncateResult(store), result)).result
    assert cut.output_id == digest


MASKED = {
    "a-harmless-text-stays": ("nothing here", "nothing here"),
    "a-key-is-masked": (f"id = {FAKE_KEY}\n", "id = [masked aws key id]\n"),
    "a-private-key-without-an-end-is-masked": (
        "-----BEGIN PRIVATE KEY-----\nabc\n",
        "-----BEGIN PRIVATE KEY-----[masked private key]",
    ),
}


@pytest.mark.parametrize("text, expected", MASKED.values(), ids=MASKED)
async def test_secrets_never_reach_the_record(text, expected) -> None:
    assert (await check(MaskSecrets(), result_with(text))).result.text == expected


async def test_secrets_in_structured_facts_are_masked_too() -> None:
    facts = {"lines": [f"a {FAKE_KEY}", 3, None, True], "deep": {"path": FAKE_KEY}}
    masked = (await check(MaskSecrets(), result_with("", data=facts))).result.data
    assert masked == {
        "lines": ["a [masked aws key id]", 3, None, True],
        "deep": {"path": "[masked aws key id]"},
    }


async def test_masking_can_be_switched_off() -> None:
    policy = MaskSecrets(MaskSecretsOptions(enabled=False))
    assert (await check(policy, result_with(FAKE_KEY))).result.text == FAKE_KEY


async def test_what_is_masked_first_is_masked_in_the_store_too(store) -> None:
    text = f"{numbered(500)}\n{FAKE_KEY}\n{numbered(500)}"
    masked = (await check(MaskSecrets(), result_with(text))).result
    cut = (await check(TruncateResult(store), masked)).result
    kept = await store.get_blob(cut.output_id or "")
    assert kept is not None
    assert FAKE_KEY.encode() not in kept
    assert b"[masked aws key id]" in kept


_GOAL = Goal(text="x", tests=("pytest -q", "grep -q 'a  b' a.txt"))
_RAN = {
    "as-the-goal-says-it": ("pytest -q", ".", "pytest -q"),
    "spaces-do-not-count": ("  pytest   -q ", "", "pytest -q"),
    "but-in-quotes-they-do": ("grep -q 'a b' a.txt", ".", None),
    "its-errors-beside-its-output": ("pytest -q 2>&1", ".", "pytest -q"),
    "first-to-the-folder": ("cd {root} && pytest -q", ".", "pytest -q"),
    "first-to-the-folder-in-quotes": ("cd '{root}' && pytest -q 2>&1", ".", "pytest -q"),
    "from-a-folder-below": ("cd .. && pytest -q", "sub", "pytest -q"),
    "the-folder-by-its-path": ("pytest -q", "{root}", "pytest -q"),
    "in-a-folder-below": ("pytest -q", "sub", None),
    "first-to-a-folder-below": ("cd sub && pytest -q", ".", None),
    "first-to-who-knows": ("cd $HOME && pytest -q", ".", None),
    "outside": ("pytest -q", "..", None),
    "through-a-pipe-that-has-its-own-exit-code": ("pytest -q | tail -5", ".", None),
    "with-more-behind-it": ("pytest -q; true", ".", None),
    "with-more-behind-the-folder": ("cd . && pytest -q || true", ".", None),
    "on-two-lines": ("pytest\n-q", ".", None),
    "not-all-of-it": ("pytest", ".", None),
    "with-an-open-quote": ("pytest -q '", ".", None),
}


@pytest.mark.parametrize("command, cwd, proves", _RAN.values(), ids=_RAN)
async def test_a_command_of_the_goal_that_the_model_ran_is_a_proof(
    command: str, cwd: str, proves: str | None, root: Path, workspace: DiskWorkspace
) -> None:
    (root / "sub").mkdir()
    tool = RunCommand(workspace, ShellRunner())
    arguments = RunCommandArguments(command=command.format(root=root), cwd=cwd.format(root=root))
    planned = PlannedCall(call_of("run_command"), tool, arguments)
    for code in (0, 1):
        result = result_with("Exit code.", data={"exit_code": code})
        outcome = await GoalProof(workspace).follow(planned, result, view_of(goal=_GOAL))
        assert outcome.result == result
        proofs = [one for event in outcome.events if isinstance(event, GoalChecked)
                  for one in event.proofs]  # fmt: skip
        expected = [(proves, code == 0, code)] if proves else []
        assert [(one.of, one.is_met, one.exit_code) for one in proofs] == expected
    for nothing in (result_with("Killed.", data={"exit_code": None}), result_with("x")):
        killed = await GoalProof(workspace).follow(planned, nothing, view_of(goal=_GOAL))
        ordinary = await GoalProof(workspace).follow(planned, nothing, view_of())
        assert killed.events == ordinary.events == ()
