"""The parts, in order. Order is written down here and nowhere else.

A part's settings key, event origin and module have the same name; its options are in its file.
"""

from __future__ import annotations

from typing import Any

from agent_ls.checkers.command_options import CommandOptions
from agent_ls.checkers.commands import CommandChecker
from agent_ls.checkers.introduced import IntroducedChecks
from agent_ls.checkers.ruff import Ruff
from agent_ls.checkers.tsc import Tsc
from agent_ls.loop.extension_points import (
    Check,
    Compactor,
    FollowUp,
    Gate,
    Guard,
    Injection,
    Part,
    Recovery,
    Tool,
)
from agent_ls.observers.external_monitor import ExternalMonitor, MonitorOptions
from agent_ls.policies.checks.asked_compaction import AskedCompaction
from agent_ls.policies.checks.budget import Budget
from agent_ls.policies.checks.call_limit import CallLimit
from agent_ls.policies.checks.cancelled import Cancelled
from agent_ls.policies.checks.confidence import Confidence
from agent_ls.policies.checks.context_full import ContextFull
from agent_ls.policies.checks.context_pressure import ContextPressure
from agent_ls.policies.checks.criteria import Criteria
from agent_ls.policies.checks.exploration import Exploration
from agent_ls.policies.checks.failure_circuit import FailureCircuit
from agent_ls.policies.checks.failure_limit import FailureLimit
from agent_ls.policies.checks.late_findings import LateFindings
from agent_ls.policies.checks.monitor_alert import MonitorAlert
from agent_ls.policies.checks.repetition import Repetition
from agent_ls.policies.checks.resources import Resources
from agent_ls.policies.checks.same_error import SameError
from agent_ls.policies.checks.step_limit import StepLimit
from agent_ls.policies.checks.wall_clock import WallClock
from agent_ls.policies.checks.wrap_up import WrapUp
from agent_ls.policies.compactors.newest_results import NewestResults
from agent_ls.policies.compactors.summarize import Summarize
from agent_ls.policies.compactors.window import Window
from agent_ls.policies.compactors.work_log import WorkLog
from agent_ls.policies.followups.after_tool_hooks import AfterToolHooks
from agent_ls.policies.followups.dry_run import DryRun
from agent_ls.policies.followups.goal_proof import GoalProof
from agent_ls.policies.followups.mask_secrets import MaskSecrets
from agent_ls.policies.followups.post_edit import PostEdit
from agent_ls.policies.followups.post_edit_hooks import PostEditHooks
from agent_ls.policies.followups.revoke_grants import RevokeGrants
from agent_ls.policies.followups.syntax_check import SyntaxCheck
from agent_ls.policies.followups.truncate_result import TruncateResult
from agent_ls.policies.gates.compile import Compile
from agent_ls.policies.gates.incomplete_action import IncompleteAction
from agent_ls.policies.gates.open_tasks import OpenTasks
from agent_ls.policies.gates.output_schema import OutputSchema
from agent_ls.policies.gates.self_evaluation import SelfEvaluation
from agent_ls.policies.gates.text_only import TextOnlyAnswer
from agent_ls.policies.gates.verification import Verification
from agent_ls.policies.guards.approval import Approval
from agent_ls.policies.guards.command_guard import CommandGuard
from agent_ls.policies.guards.command_rules import CommandRules
from agent_ls.policies.guards.file_claim import FileClaim
from agent_ls.policies.guards.offered_tools import OfferedTools
from agent_ls.policies.guards.path_guard import PathGuard
from agent_ls.policies.guards.plan_mode import PlanMode
from agent_ls.policies.guards.repeated_call import RepeatedCall
from agent_ls.policies.guards.replan import Replan
from agent_ls.policies.guards.standing_rules import StandingRules
from agent_ls.policies.guards.tool_servers import ToolServers
from agent_ls.policies.injections.background_programs import BackgroundNews
from agent_ls.policies.injections.files_changed import FilesChanged
from agent_ls.policies.injections.reminder import Reminder
from agent_ls.policies.recoveries.context_overflow import ContextOverflow
from agent_ls.policies.recoveries.continuation import Continuation
from agent_ls.policies.recoveries.empty import Empty
from agent_ls.policies.recoveries.fatal_error import FatalError
from agent_ls.policies.recoveries.printed_calls import PrintedCalls
from agent_ls.policies.recoveries.printed_edits import PrintedEdits
from agent_ls.policies.recoveries.refusal import Refusal
from agent_ls.policies.recoveries.refused_images import RefusedImages
from agent_ls.policies.recoveries.thinking_only import ThinkingOnly
from agent_ls.policies.recoveries.transport import Transport
from agent_ls.policies.recoveries.truncated_call import TruncatedCall
from agent_ls.providers.credentials import StoredCredentials
from agent_ls.providers.key_variables import key_place as _key_place
from agent_ls.providers.model_host import ModelHost, ModelHostOptions
from agent_ls.providers.prices import PriceTable
from agent_ls.providers.sign_ins import SIGN_INS as _SIGN_INS
from agent_ls.providers.sign_ins import SignIn
from agent_ls.tools.apply_patch import ApplyPatch
from agent_ls.tools.ask_user import AskUser
from agent_ls.tools.background import BackgroundPrograms
from agent_ls.tools.delegate import Delegate
from agent_ls.tools.delete_file import DeleteFile
from agent_ls.tools.diagnostics import Diagnostics
from agent_ls.tools.edit_file import EditFile
from agent_ls.tools.final_output import FinalOutput
from agent_ls.tools.find_symbol import FindSymbol
from agent_ls.tools.glob import Glob
from agent_ls.tools.grep import Grep
from agent_ls.tools.list_dir import ListDir
from agent_ls.tools.move_file import MoveFile
from agent_ls.tools.outline import Outline
from agent_ls.tools.read_file import ReadFile
from agent_ls.tools.read_output import ReadOutput
from agent_ls.tools.references import References
from agent_ls.tools.repository_map import RepositoryMap
from agent_ls.tools.run_command import RunCommand
from agent_ls.tools.skill import LoadSkill
from agent_ls.tools.spec import parameters_of, spec_of
from agent_ls.tools.update_plan import UpdatePlan
from agent_ls.tools.web_fetch import WebFetch
from agent_ls.tools.write_file import WriteFile

__all__ = ["parameters_of", "spec_of"]

CHECKS: tuple[type[Check], ...] = (
    Cancelled,
    LateFindings,
    Resources,
    StepLimit,
    CallLimit,
    Budget,
    WallClock,
    ContextFull,
    ContextPressure,
    AskedCompaction,
    FailureLimit,
    FailureCircuit,
    Repetition,
    SameError,
    Exploration,
    Criteria,
    Confidence,
    MonitorAlert,
    WrapUp,
)
"""Before every step; the first that decides wins."""

COMPACTORS: tuple[type[Compactor], ...] = (Summarize, Window, NewestResults)
"""The older part goes first: summarised by a model, then without one. New results are cut last."""

BUDGET_COMPACTORS: tuple[type[Compactor], ...] = (WorkLog,)
"""Asked once per turn, when its tokens or money run out."""

INJECTIONS: tuple[type[Injection], ...] = (
    Reminder,
    FilesChanged,
    BackgroundNews,
)
"""What the next request may carry; ranked by priority, then by this order."""

RECOVERIES: tuple[type[Recovery], ...] = (
    RefusedImages,
    FatalError,
    ContextOverflow,
    Transport,
    Refusal,
    TruncatedCall,
    PrintedCalls,
    PrintedEdits,
    Continuation,
    ThinkingOnly,
    Empty,
)
"""What to do with a bad attempt; errors first, the first that acts wins."""

GUARDS: tuple[type[Guard], ...] = (
    OfferedTools,
    PathGuard,
    CommandGuard,
    ToolServers,
    StandingRules,
    CommandRules,
    Replan,
    RepeatedCall,
    PlanMode,
    Approval,
    FileClaim,
)
"""Before every call; deny before ask before allow."""

FOLLOW_UPS: tuple[type[FollowUp], ...] = (
    RevokeGrants,
    PostEdit,
    SyntaxCheck,
    DryRun,
    PostEditHooks,
    AfterToolHooks,
    MaskSecrets,
    GoalProof,
    TruncateResult,
)
"""After every call; each gets the result as the one before left it."""

GATES: tuple[type[Gate], ...] = (
    TextOnlyAnswer,
    IncompleteAction,
    OutputSchema,
    OpenTasks,
    Compile,
    Verification,
    SelfEvaluation,
)
"""Before an answer is accepted; cheapest first, the first that fails wins."""

POLICIES: tuple[type[Part], ...] = (
    *CHECKS,
    *COMPACTORS,
    *BUDGET_COMPACTORS,
    *INJECTIONS,
    *RECOVERIES,
    *GUARDS,
    *FOLLOW_UPS,
    *GATES,
)
"""All of them, for settings and docs."""

TOOLS: tuple[type[Tool[Any]], ...] = (
    ReadFile,
    ListDir,
    Glob,
    Grep,
    Outline,
    FindSymbol,
    References,
    RepositoryMap,
    EditFile,
    ApplyPatch,
    WriteFile,
    DeleteFile,
    MoveFile,
    RunCommand,
    BackgroundPrograms,
    WebFetch,
    ReadOutput,
    Diagnostics,
    LoadSkill,
    UpdatePlan,
    FinalOutput,
    AskUser,
    Delegate,
)
"""What the model can call, in the order it reads about them."""

USERS_ONLY: tuple[type[Tool[Any]], ...] = (Delegate, BackgroundPrograms)
"""Only in a user's session: sub-agents start no sub-agents, and nothing that goes on."""

CHECKERS: tuple[type[Any], ...] = (
    Ruff,
    Tsc,
)
"""The compile gate and the diagnostics tool run the checkers that handle a file.

``Any``, because ``Checker.name`` is a class variable of these, and a property of a command.
"""

COMMAND_CHECKER = CommandChecker
"""One for each checker command in the settings, after the checkers above."""
COMMAND_CHECKER_OPTIONS = CommandOptions

MONITOR = ExternalMonitor
MONITOR_OPTIONS = MonitorOptions
PROVIDER = ModelHost
KEYS = StoredCredentials
KEY_PLACE = _key_place
MODEL_TABLE = PriceTable
SIGN_IN = SignIn
SIGN_INS = _SIGN_INS
PROVIDER_OPTIONS = ModelHostOptions
COMPILE_CHECKS = IntroducedChecks
