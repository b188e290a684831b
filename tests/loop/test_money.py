"""A turn's money: closing words are paid from it, and it is not exceeded but by one answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.domain.stops import StopReason
from agent_ls.loop.machine.results import result_of
from tests.loop.conftest import Stage
from tests.support.scripted import scripted
from tests.support.turns import open_test_sessions, run_turn_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

CLOSING = "What I found."


def step(input: int, output: int, path: str = "a.txt") -> str:
    """Return a read that costs 10 USD per million tokens of input and 100 of output."""
    return (
        f"[[answer]]\nusage = {{ input = {input}, output = {output} }}\n"
        f'[[answer.call]]\ntool = "read_file"\narguments = {{ path = "{path}" }}\n'
    )


def closing(input: int, output: int) -> str:
    return (
        f"[[answer]]\nusage = {{ input = {input}, output = {output} }}\n"
        f'text = "{CLOSING}"\nwhen.contains = "The budget of this turn is used up"\n'
    )


async def check(
    folder: Path, stage: Stage, scenario: str, budget_usd: float
) -> tuple[float, StopReason, str, int]:
    """Run a turn with so much money; return what it cost, why it ended, its output, its steps."""
    project = folder / "project"
    project.mkdir()
    for name in "abcdefgh":
        (project / f"{name}.txt").write_text(f"{name}\n" * 100)
        (project / f"{name}{name}.txt").write_text(f"{name * 79}\n" * 400)
    settings = f'model = "openai/priced"\npolicies.budget.max_cost_usd = {budget_usd}\n'
    # The figures of this one would not fall when the conversation is shortened.
    settings += f"policies.budget.recover = {str(GROWING not in scenario).lower()}"
    async with (
        scripted(scenario, port=stage.port, is_strict=False) as model,
        open_test_sessions(project, stage.host, settings_toml=settings) as sessions,
    ):
        session = await sessions.create()
        ended, _ = await run_turn_of(session, "Read them.")
        cost_usd = result_of(session.state).cost_usd
        assert cost_usd is not None
        return cost_usd, ended.stop, ended.output, len(model.requests)


STEADY = "".join(step(40_000, 900, f"{one}.txt") for one in "abcdefgh")
"""Steps at 0.49 USD each."""
GROWING = "".join(
    step(10_000 + 8_000 * number, 500, f"{one}{one}.txt") for number, one in enumerate("abcdefgh")
)
"""Each reads 8,000 tokens more."""


@pytest.mark.parametrize(
    ("scenario", "budget_usd", "requests"),
    [
        pytest.param(STEADY, 1.6, 3, id="two-steps-and-the-closing-words"),
        pytest.param(GROWING, 1.2, 4, id="a-growing-conversation"),
    ],
)
async def test_the_closing_words_are_paid_from_the_budget(
    scenario: str, budget_usd: float, requests: int, tmp_path: Path, stage: Stage
) -> None:
    scenario = closing(40_000, 900) + scenario
    cost, stop, output, made = await check(tmp_path, stage, scenario, budget_usd)
    assert (stop, output) == (StopReason.BUDGET_LIMIT, CLOSING)
    assert made == requests
    assert cost <= budget_usd


async def test_without_money_for_closing_words_none_are_asked_for(
    tmp_path: Path, stage: Stage
) -> None:
    cost, stop, _, made = await check(tmp_path, stage, STEADY, 0.9)
    assert (stop, made) == (StopReason.BUDGET_LIMIT, 1)
    assert cost == pytest.approx(0.49)


async def test_one_answer_that_costs_more_than_all_is_the_last(
    tmp_path: Path, stage: Stage
) -> None:
    scenario = step(10_000, 100) + step(10_000, 20_000, "b.txt") + STEADY
    cost, stop, _, made = await check(tmp_path, stage, scenario, 1.0)
    assert (stop, made) == (StopReason.BUDGET_LIMIT, 2)
    assert cost == pytest.approx(0.11 + 2.1)
