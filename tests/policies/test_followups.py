"""After every call: what the model reads of a result, and what is kept elsewhere."""

from __future__ import annotations

import pytest

from agent_ls.domain.calls import ToolResult
from agent_ls.loop.ports.workspace import Root
from agent_ls.loop.sockets import FollowUp, FollowUpOutcome, PlannedCall
from agent_ls.loop.state.view import text_tokens
from agent_ls.policies.followups.mask_secrets import MaskSecrets, MaskSecretsOptions
from agent_ls.policies.followups.truncate_result import TruncateResult, TruncateResultOptions
from agent_ls.tools.read_file import ReadFile, ReadFileArguments
from agent_ls.tools.update_plan import UpdatePlan, UpdatePlanArguments
from agent_ls.workspace.disk import DiskWorkspace
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
