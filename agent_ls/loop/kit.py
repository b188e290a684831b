"""Everything a turn works with, in one frozen value built by ``assembly``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_ls.domain.ids import Ids
from agent_ls.domain.model_io import ToolSpec
from agent_ls.loop.edit_order import EditOrder
from agent_ls.loop.hooks import Hooks
from agent_ls.loop.options import LoopOptions
from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.ports.clock import Clock
from agent_ls.loop.ports.models import Provider
from agent_ls.loop.ports.people import Approver, Rules
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.surroundings import Surroundings
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.sockets import (
    Check,
    CommandWatch,
    Compactor,
    FollowUp,
    Gate,
    Guard,
    Injection,
    Recovery,
    Tool,
)


@dataclass(frozen=True)
class Kit:
    """The parts of one session's turns, in the catalogue's order."""

    options: LoopOptions
    clock: Clock
    ids: Ids
    provider: Provider
    workspace: Workspace
    surroundings: Surroundings
    blobs: Blobs
    compile_checks: CompileChecks
    approver: Approver
    rules: Rules
    hooks: Hooks
    watch: CommandWatch | None
    """None: what commands change is not looked at."""
    role: str
    """What the system prompt begins with; environment, project and rules are added."""
    tools: Mapping[str, Tool[Any]]
    specs: tuple[ToolSpec, ...]
    """The tools as the model sees them, in order."""
    checks: tuple[Check, ...]
    compactors: tuple[Compactor, ...]
    budget_compactors: tuple[Compactor, ...]
    """Asked to save the rest of a budget, without a model."""
    injections: tuple[Injection, ...]
    recoveries: tuple[Recovery, ...]
    guards: tuple[Guard, ...]
    follow_ups: tuple[FollowUp, ...]
    gates: tuple[Gate, ...]
    is_attended: bool = True
    """Whether a person can be asked."""
    turn_limit_s: float = 0.0
    """How long a turn may run; 0: no limit. A check ends it in order, this ends what still runs."""
    begun_s: float | None = None
    """When the clock began for a turn that is all that its process does; None: with the turn."""
    closing: str = ""
    """How a turn that must end asks for its last words; empty: for a person."""
    order: EditOrder = field(default_factory=EditOrder)
    """Shared by all who edit the same files."""
