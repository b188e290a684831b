"""All parts that a turn works with, in one frozen value built by ``wiring``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_ls.domain.ids import Ids
from agent_ls.domain.model_io import ToolSpec
from agent_ls.loop.edit_order import EditOrder
from agent_ls.loop.extension_points import (
    Check,
    CommandWatch,
    Compactor,
    EditPlanner,
    FollowUp,
    Gate,
    Guard,
    Injection,
    Recovery,
    Tool,
)
from agent_ls.loop.hooks import Hooks
from agent_ls.loop.options import LoopOptions
from agent_ls.loop.ports.approval import Approver, MadeFiles, Rules
from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.ports.clock import Clock
from agent_ls.loop.ports.commands import Background
from agent_ls.loop.ports.environment import Environment
from agent_ls.loop.ports.extension import Commands
from agent_ls.loop.ports.models import Provider
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.tools import ToolSource
from agent_ls.loop.ports.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """Edits that are made in memory only, to plan later edits on top of them."""

    tools: Mapping[str, EditPlanner]
    """The tools that change files, at work in ``workspace``."""
    workspace: Workspace


@dataclass(frozen=True)
class Services:
    """The parts of one session's turns; policies are in the catalogue's order."""

    options: LoopOptions
    clock: Clock
    ids: Ids
    provider: Provider
    workspace: Workspace
    environment: Environment
    blobs: Blobs
    compile_checks: CompileChecks
    approver: Approver
    rules: Rules
    hooks: Hooks
    custom_commands: Commands
    """The user's own prompts, called by name."""
    watch: CommandWatch | None
    """Finds the files a command changed; None: this is switched off."""
    role: str
    """The beginning of the system prompt; environment, project and rules are appended."""
    tools: Mapping[str, Tool[Any]]
    specs: tuple[ToolSpec, ...]
    """The tools as the model sees them, in order."""
    checks: tuple[Check, ...]
    compactors: tuple[Compactor, ...]
    budget_compactors: tuple[Compactor, ...]
    """Compactors that save budget without asking a model."""
    injections: tuple[Injection, ...]
    recoveries: tuple[Recovery, ...]
    guards: tuple[Guard, ...]
    follow_ups: tuple[FollowUp, ...]
    gates: tuple[Gate, ...]
    rehearse: Callable[[], Rehearsal]
    source: ToolSource | None = None
    """Tools of servers, offered after ``specs``; ``tools`` has them too. None: there are none."""
    made: MadeFiles | None = None
    """What commands made that steers other programs; None: nothing is looked for."""
    background: Background | None = None
    """Programs that go on when their calls have ended; None: a sub-agent has none."""
    is_attended: bool = True
    """Whether a user can answer questions."""
    turn_limit_s: float = 0.0
    """Turn time limit; 0: none. A check closes the turn in order; this stops what still runs."""
    begun_s: float | None = None
    """Monotonic time from which the turn's clock counts, for a process that runs a single turn.
    None: the turn's own start."""
    named_models: Mapping[str, str] = field(default_factory=dict[str, str])
    """What files mean by the name of a model."""
    closing: str = ""
    """Instruction for the closing answer of a turn that must end; empty: one meant for a user."""
    order: EditOrder = field(default_factory=EditOrder)
    """Shared by everything that edits the same files."""
