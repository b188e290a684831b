"""The loop's own numbers; everything that belongs to a policy stands in the policy's file."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent_ls.domain.record import Record


class ModelOptions(Record):
    """Which models are asked besides the main one."""

    cheap: str = ""
    """For summaries, confidence and evaluation, a litellm model name; empty: the main model."""
    fallback: str = ""
    """Asked when the main model's retries are used up; empty: off."""
    named: dict[str, str] = Field(default_factory=dict[str, str])
    """What commands and sub-agents mean by a name such as ``haiku``, as litellm model names."""
    advice_timeout_s: float = Field(default=60.0, gt=0)
    """How long a summary, a confidence or an evaluation may take."""


class LoopOptions(Record):
    """How the machine itself runs. Source: S0 and S1."""

    parallel: bool = True
    """Run independent calls at the same time."""
    max_parallel_calls: int = 4
    """At most so many calls at once."""
    early_reads: bool = True
    """Start reads that need no asking while the model still streams."""
    max_calls_per_answer: int = 25
    """Calls beyond this get a structural error result."""
    references: bool = False
    """Tell the model that calls of one answer can use each other's results."""
    edit_format: Literal["auto", "edit_file", "apply_patch", "both"] = "auto"
    """The edit tool that the model is offered; auto: apply_patch for OpenAI's models."""
    injection_budget_tokens: int = 1_500
    """What all slots of one request may take together."""
    max_output_tokens: int | None = None
    """Limit of one answer; None: the model's own. With ``reasoning_effort``, thinking has room on
    top of it, within what the model can give."""
    temperature: float | None = None
    """None: the model's own."""
    reasoning_effort: str | None = None
    """``low``, ``medium`` or ``high`` for models that think; None: the model's own."""
    step_timeout_s: float = 600.0
    """One step's model requests, retries and pauses included."""
    close_timeout_s: float = 60.0
    """The last words of a turn that a limit ended; then they are made from the journal."""
    tool_timeout_s: float = 900.0
    """One call, whatever its own limit says."""
    max_replans: int = Field(default=7, ge=0)
    """How often an edit is planned again because the file changed meanwhile, as while you type; the
    pauses between the tries grow to 0.8 s."""
    runs_plans: bool = True
    """Ask, when a turn in plan mode ends, which steps of its plan run; false: only show them."""
    max_output_bytes: int = 262_144
    """A longer result is not kept at its output path: no call can refer to its text."""
    watch_commands: bool = True
    """Look at the project's files around each command, so that what it changes can be undone."""
    max_command_changes: int = Field(default=200, ge=0)
    """At most so many of the files that one command changed are recorded, new ones last."""
    approval_timeout_s: float = Field(default=0.0, ge=0)
    """After so long without an answer a permission counts as refused; 0: it waits for ever."""
    max_wrong_outputs: int = 3
    """Final outputs that do not fit the user's schema, before the turn ends as unverified."""
    max_denials: int = 3
    """Answers in a row with a call that the user refused without a word, also by a rule or a hook,
    before they are asked how to go on; 0: never. What agent-ls refuses by itself does not count."""
    compact_to_share: float = Field(default=0.5, gt=0, le=1)
    """Part of the window that a compaction aims at; of the present size where none is known."""
    compact_hard_share: float = Field(default=0.95, gt=0, le=1)
    """Part of the window into which the conversation must fit, even if messages are dropped."""
    max_compactions: int = Field(default=2, ge=1)
    """Compactions in a row, without an answer in between, that the provider may force."""
    cancel_grace_s: float = 2.0
    """How long cancelled calls may take to end."""
    edit_grace_s: float = 10.0
    """How much longer when an edit has begun, so that its outcome is known."""
