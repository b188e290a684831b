"""Runs the user's hooks, each with its own timeout; a failing hook never raises.

``tool_hooks``, ``llm_hooks`` and ``turn_hooks`` act on the answers. Source: S2
hooks, S3 hooks with its wishes for isolation and time limits.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pydantic import JsonValue, TypeAdapter, ValidationError

from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.events import HookRan
from agent_ls.domain.hooks import FILE, Hook, HookAnswer, HookOptions, HookOutcome, HookPoint
from agent_ls.domain.mistakes import mistakes_said
from agent_ls.loop.hook_words import our_answer, told_words, tool_words
from agent_ls.loop.ports.commands import HookRun, HookRunner
from agent_ls.loop.ports.workspace import Unsaved, Workspace
from agent_ls.loop.state.spelling import canonical

_log = logging.getLogger(__name__)

_EDITED = "AGENT_LS_EDITED_FILE"
_PROJECT = "CLAUDE_PROJECT_DIR"
"""Programs for Claude Code's hooks find the project by it."""
_BLOCKS = 2
"""Exit code with which a hook blocks the call."""
_OBJECT = TypeAdapter(dict[str, Any])
_MAX_CHARS = 2_000
_NOT_FOUND = (126, 127)
"""The shell's exit codes for a program that is missing or not executable."""
_TOOL_POINTS = (HookPoint.BEFORE_TOOL, HookPoint.POST_EDIT, HookPoint.AFTER_TOOL)
_LLM_POINTS = (HookPoint.BEFORE_LLM_CALL, HookPoint.AFTER_LLM_CALL)
_ADDING_POINTS = (HookPoint.SESSION_START, HookPoint.PROMPT, HookPoint.COMPACTION)
"""Points whose hooks add text for the model; plain output counts as such text."""
FAILURES = (HookOutcome.FAILED, HookOutcome.TIMED_OUT)
"""Outcomes without a usable answer."""


@dataclass(frozen=True, slots=True)
class HookResult:
    """One hook's outcome and its parsed answer."""

    outcome: HookOutcome
    text: str = ""
    answer: HookAnswer = field(default_factory=HookAnswer)
    duration_ms: int = 0

    def ran(
        self, point: HookPoint, hook: Hook, call_id: str = "", outcome: HookOutcome | None = None
    ) -> HookRan:
        """Return the ``HookRan`` event for this outcome; ``outcome`` overrides it."""
        return HookRan(
            point=point,
            name=hook.name,
            outcome=outcome or self.outcome,
            duration_ms=self.duration_ms,
            text=self.text[:_MAX_CHARS],
            call_id=call_id,
        )

    def failed(self, why: str) -> HookResult:
        """Return a FAILED outcome with this reason and the same duration."""
        return HookResult(HookOutcome.FAILED, why, duration_ms=self.duration_ms)


@dataclass(frozen=True, slots=True)
class Hooks:
    """The configured hooks and the ports that run them."""

    runner: HookRunner
    workspace: Workspace
    options: HookOptions = HookOptions()

    def of(self, point: HookPoint, tool: str = "", paths: tuple[str, ...] = ()) -> tuple[Hook, ...]:
        """Return a point's enabled hooks that match the tool and paths, in configured order."""
        hooks: tuple[Hook, ...] = getattr(self.options, point.value)
        enabled = tuple(one for one in hooks if one.enabled)
        if point not in _TOOL_POINTS:
            return enabled
        # A path pattern matches the model's spelling or the workspace's own name.
        names = (*paths, *(canonical(path, self.workspace) for path in paths))
        return tuple(one for one in enabled if _wants(one, tool, names))

    async def saved(self, hooks: Iterable[Hook]) -> Unsaved:
        """Save for these hooks, which read the disk; return what is not saved."""
        are_confined = all(one.sandbox for one in hooks)
        return await self.workspace.save_dirty(can_show=are_confined and self.runner.shows_texts)

    async def ask(
        self,
        point: HookPoint,
        hook: Hook,
        told: Mapping[str, JsonValue],
        path: str = "",
        texts: Mapping[Path, bytes] | None = None,
    ) -> HookResult:
        """Run one hook with ``told`` as JSON on stdin; every failure becomes an outcome.

        ``texts`` is as in ``Bounds``.
        """
        limit_s = hook.timeout_s or self._usual_s(point)
        root = self.workspace.roots[0].path
        own = {"hook": point.value, "name": hook.name, "workspace": str(root), **told}
        given = told_words(point, told, str(root), self._absolute) | own
        env = {"AGENT_LS_HOOK": point.value, "AGENT_LS_FILE": path, _PROJECT: str(root)}
        run = await self._run(
            hook, hook.command, json.dumps(given), root, limit_s, env, texts or {}
        )
        return _understood(run, limit_s, point) if isinstance(run, HookRun) else run

    def _absolute(self, path: str) -> str:
        try:
            return str(self.workspace.locate(path)[1])
        except WorkspaceError:
            # The guards refuse such a call, and the hook sees what it asks for.
            return str(self.workspace.roots[0].path / path)

    def _usual_s(self, point: HookPoint) -> float:
        options = self.options
        if point in _TOOL_POINTS:
            return options.tool_timeout_s
        if point in _LLM_POINTS:
            return options.llm_timeout_s
        return options.end_timeout_s if point is HookPoint.SESSION_END else options.turn_timeout_s

    async def check_file(self, hook: Hook, path: str, texts: Mapping[Path, bytes]) -> HookResult:
        """Run a check on a file (``{file}`` in its command); BLOCKED means it found something."""
        limit_s = hook.timeout_s or self.options.tool_timeout_s
        root, absolute = self.workspace.locate(path)
        name = absolute.relative_to(root.path).as_posix()
        env = {"AGENT_LS_HOOK": HookPoint.POST_EDIT.value, "AGENT_LS_FILE": name, _EDITED: name}
        env[_PROJECT] = str(root.path)
        # The path travels in a variable, so the shell does not run it as code. The "./" keeps it
        # from being parsed as an option.
        command = hook.command.replace(FILE, f'"./${_EDITED}"')
        run = await self._run(hook, command, "", root.path, limit_s, env, texts)
        return _checked(run, limit_s) if isinstance(run, HookRun) else run

    async def _run(
        self,
        hook: Hook,
        command: str,
        stdin: str,
        cwd: Path,
        limit_s: float,
        env: dict[str, str],
        texts: Mapping[Path, bytes],
    ) -> HookRun | HookResult:
        try:
            return await self.runner.run(
                command,
                stdin,
                cwd=cwd,
                timeout_s=limit_s,
                env=env,
                is_confined=hook.sandbox,
                texts=texts,
            )
        except Exception as error:
            _log.warning("hook %s could not be run: %s", hook.name, error)
            return HookResult(HookOutcome.FAILED, f"it could not be run: {error}")


def _checked(run: HookRun, limit_s: float) -> HookResult:
    """Turn a check's run into an outcome: any exit code but 0 blocks, unless it could not run."""
    if run.exit_code == 0:
        return HookResult(HookOutcome.PASSED, duration_ms=run.duration_ms)
    if run.has_timed_out or run.exit_code in (None, *_NOT_FOUND):
        return _understood(run, limit_s, HookPoint.POST_EDIT)
    text = "\n".join(one for one in (run.output.strip(), run.errors) if one)
    why = text or f"exit code {run.exit_code}"
    return HookResult(HookOutcome.BLOCKED, why, duration_ms=run.duration_ms)


def _wants(hook: Hook, tool: str, paths: tuple[str, ...]) -> bool:
    names = (tool, tool_words(tool))
    is_tool = not hook.tools or any(fnmatchcase(name, one) for name in names for one in hook.tools)
    return is_tool and (
        not hook.paths or any(fnmatchcase(path, one) for path in paths for one in hook.paths)
    )


def _understood(run: HookRun, limit_s: float, point: HookPoint) -> HookResult:
    if run.has_timed_out:
        why = f"it did not end within {limit_s:g} s"
        return HookResult(HookOutcome.TIMED_OUT, why, duration_ms=run.duration_ms)
    output = run.output.strip()
    if run.exit_code == _BLOCKS:
        why = run.errors or output or "it gave no reason"
        return HookResult(HookOutcome.BLOCKED, why, duration_ms=run.duration_ms)
    if run.exit_code != 0:
        why = f"exit code {run.exit_code}" + (f": {run.errors}" if run.errors else "")
        return HookResult(HookOutcome.FAILED, why, duration_ms=run.duration_ms)
    if not output.startswith("{"):
        # Around calls and requests, plain output comes from formatters and linters.
        adds = HookAnswer(context=output if point in _ADDING_POINTS else None)
        return HookResult(HookOutcome.PASSED, answer=adds, duration_ms=run.duration_ms)
    try:
        answer = HookAnswer.model_validate(our_answer(_OBJECT.validate_json(output), point))
    except ValidationError as error:
        why = f"its answer is not understood: {mistakes_said(error)}"
        return HookResult(HookOutcome.FAILED, why, duration_ms=run.duration_ms)
    outcome = HookOutcome.BLOCKED if answer.decision == "deny" else HookOutcome.PASSED
    why = answer.reason or ("it gave no reason" if outcome is HookOutcome.BLOCKED else "")
    return HookResult(outcome, why, answer, run.duration_ms)
