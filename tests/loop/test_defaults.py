"""The numbers that hold when nobody sets any: what they do, and that the docs name them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from agent_ls.cli.parser import build_parser
from agent_ls.cli.run import run
from agent_ls.domain.agents import AgentLimits
from agent_ls.domain.stops import EXIT_TIMEOUT
from agent_ls.domain.verdicts import Slot
from agent_ls.loop.machine.prepare import fit
from agent_ls.loop.options import LoopOptions
from agent_ls.loop.state.view import text_tokens

DOCS = Path(__file__).parents[2] / "docs"


def test_slots_take_1500_tokens_together() -> None:
    slots = [Slot(f"{one}", one, 400, "x" * 1_500) for one in range(9)]
    taken = fit(slots, LoopOptions().injection_budget_tokens)
    assert 1_400 < sum(map(text_tokens, taken)) <= 1_500


@pytest.mark.parametrize(
    ("found", "default", "page", "sentence"),
    [
        (LoopOptions().max_calls_per_answer, 25, "models.md", "at most 25 calls run"),
        (LoopOptions().max_parallel_calls, 4, "models.md", "4 of them at once"),
        (LoopOptions().injection_budget_tokens, 1_500, "models.md", "at most 1,500 tokens"),
        (LoopOptions().step_timeout_s, 600, "models.md", "may wait 600 s for the model"),
        (LoopOptions().close_timeout_s, 60, "models.md", "closing words of a turn 60 s"),
        (AgentLimits().max_steps, 20, "sub-agents.md", "It has 20 steps and 600 s"),
        (AgentLimits().timeout_s, 600, "sub-agents.md", "It has 20 steps and 600 s"),
        (AgentLimits().grace_s, 60, "sub-agents.md", "it has 60 s for its report"),
    ],
)
def test_the_docs_name_the_defaults(found: float, default: float, page: str, sentence: str) -> None:
    assert found == default
    assert sentence in (DOCS / page).read_text()


@pytest.mark.parametrize(("ran_s", "is_over"), [(1_799.6, True), (1_700.0, False)])
def test_a_headless_turn_may_take_1800_seconds(ran_s: float, is_over: bool, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    # Nobody listens there: a turn that still has time ends with that.
    settings = ("provider.api_base=http://127.0.0.1:9/v1", f"store_url={tmp_path / 'store.db'}")
    words = ["--workspace", str(folder), "--model", "openai/scripted", "--json"]
    words += [word for one in settings for word in ("--set", one)]
    arguments = build_parser().parse_args(["run", *words, "Do it."])
    arguments.started_s = time.monotonic() - ran_s
    assert (run(arguments) == EXIT_TIMEOUT) is is_over
