"""Does the result hold secrets? Then mask them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import JsonValue

from agent_ls.domain.calls import ToolResult
from agent_ls.domain.record import Record, Trust
from agent_ls.loop.extension_points import FollowUpOutcome, PlannedCall
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.secrets import mask_slowly


class MaskSecretsOptions(Record):
    """Whether results are looked through for secrets."""

    enabled: Annotated[bool, Trust.NEVER] = True
    """Off only for work on test data that looks like secrets."""


@dataclass(frozen=True, slots=True)
class MaskSecrets:
    """Masks keys, tokens and passwords once, before the result is recorded.

    So the model, the store and the views get the same text. Invariant: runs before every follow-up
    that stores the result's text.
    """

    name: ClassVar[str] = "mask_secrets"
    options: MaskSecretsOptions = MaskSecretsOptions()

    async def follow(
        self, planned: PlannedCall, result: ToolResult, view: TurnView
    ) -> FollowUpOutcome:
        if not self.options.enabled:
            return FollowUpOutcome(result)
        masked = {"text": await mask_slowly(result.text), "data": await _masked(result.data)}
        return FollowUpOutcome(result.model_copy(update=masked))


async def _masked(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return await mask_slowly(value)
    if isinstance(value, list):
        return [await _masked(one) for one in value]
    if isinstance(value, dict):
        return {key: await _masked(one) for key, one in value.items()}
    return value
