"""The scripted model for tests: started on a free port, and checked for what was left over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent_ls.providers.scenario import Scenario
from agent_ls.providers.scripted import ScriptedModel


@asynccontextmanager
async def scripted(
    scenario: str | Scenario, *, is_strict: bool = True, port: int = 0
) -> AsyncIterator[ScriptedModel]:
    """Play a scenario, given as TOML, for the length of a block.

    With ``is_strict`` the block fails when a request went against the scenario or an answer was
    never asked for: a scenario that does not describe what happened proves nothing.
    """
    async with ScriptedModel(scenario, port=port) as model:
        yield model
        if is_strict:
            assert model.problems == [], f"{model.problems}"
            assert model.unused == [], f"answers never asked for: {model.unused}"
