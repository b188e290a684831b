"""One prompt for another program: ``agent_ls.run``, and what it shares with ``agent-ls run``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from agent_ls.assembly import open_disk_workspace, open_sessions
from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice, QuestionAnswer
from agent_ls.domain.errors import SettingsError, StoreError
from agent_ls.domain.modes import Mode
from agent_ls.domain.run_events import (
    ApprovalRequested,
    Notice,
    QuestionAsked,
    Result,
    RunEvent,
    SessionOpened,
)
from agent_ls.domain.stops import HEADLESS_TIMEOUT_S
from agent_ls.loop.evidence.output_schema import check_schema
from agent_ls.loop.machine.results import exit_code_of, result_of
from agent_ls.observers.run_stream import RunStream
from agent_ls.session.session import Session
from agent_ls.session.sessions import Sessions
from agent_ls.settings import Settings, load_settings

_NOBODY = QuestionAnswer(text="", by="nobody")

ModeName = Literal["plan", "ask-all", "ask", "accept-edits", "auto"]
Approve = Callable[[ApprovalRequested], Awaitable[bool]]


async def run(
    prompt: str,
    *,
    folder: str | os.PathLike[str] = ".",
    model: str | None = None,
    mode: ModeName | None = None,
    session: str | None = None,
    output_schema: Mapping[str, Any] | None = None,
    evaluate: Literal["off", "basic", "full"] | None = None,
    dry_run: bool | None = None,
    max_steps: int | None = None,
    budget_usd: float | None = None,
    timeout_s: float | None = None,
    settings: Mapping[str, Any] | None = None,
    approve: Approve | None = None,
) -> AsyncGenerator[RunEvent]:
    """Carry out one prompt on the files of a folder; yield its events, a ``Result`` last.

    ``session`` is the whole id of one that goes on; with an empty prompt its cut-off turn does.
    ``settings`` is a tree as in the configuration file; the other options win over it, and those
    left out are as the user's configuration says. ``approve`` says whether a call may run; without
    it, what needs a yes is refused. Questions of the agent's are answered by nobody.

    A caller that breaks the loop or is cancelled cancels the turn. To be certain that it has ended,
    close the generator, as ``contextlib.aclosing`` does.

    Errors: ``AgentLsError`` if nothing can begin or be stored, and what ``approve`` raises.
    """
    place = _folder(folder)
    schema = None if output_schema is None else check_schema(dict(output_schema), "output_schema")
    options = {
        "model": model,
        "mode": mode,
        "dry_run": dry_run,
        "policies": {
            "step_limit": {"max_steps": max_steps},
            "budget": {"max_cost_usd": budget_usd},
            "wall_clock": {"limit_s": timeout_s},
            "self_evaluation": {"level": evaluate},
        },
    }
    loaded, problems = _settings(place, _merged(settings or {}, options))
    notices = list(problems)
    sessions = await open_sessions(
        loaded, open_disk_workspace([place]), is_attended=approve is not None, tell=notices.append
    )
    opened: Session | None = None
    try:
        opened = await (sessions.open(session) if session else sessions.create())
        events: asyncio.Queue[RunEvent | None] = asyncio.Queue()
        opened.follow(stream_of(opened, events.put_nowait, place))
        for one in notices:
            events.put_nowait(Notice(origin="settings", text=one))
        if mode is not None:
            await opened.set_mode(Mode(mode))
        if model is not None:
            await opened.set_model(model)
        if prompt.strip() or not opened.resume():
            await opened.submit(prompt, output_schema=schema)
        ending = asyncio.ensure_future(opened.wait_idle())
        ending.add_done_callback(lambda _ended: events.put_nowait(None))
        while (event := await events.get()) is not None:
            yield event
            await _answer(opened, event, approve)
        ended, turn = ending.result(), opened.state.turn
        if ended is None or turn is None:
            raise StoreError("the turn ended without a result; see the log")
        result = result_of(opened.state)
        code = exit_code_of(turn, result, ended, count_partial=True)
        yield Result(**dict(result), exit_code=code)
    finally:
        await _close(sessions, opened)


def stream_of(session: Session, hand_on: Callable[[RunEvent], None], folder: Path) -> RunStream:
    """Hand on the first events, and return the reader for what follows."""
    state = session.state
    hand_on(
        SessionOpened(
            session_id=session.id,
            folder=str(folder),
            model=state.model,
            mode=state.mode,
            is_new=state.turn is None,
        )
    )
    stream = RunStream(hand_on)
    if session.is_cut_off and state.turn is not None:
        stream.go_on(state.turn)
    return stream


def _folder(named: str | os.PathLike[str]) -> Path:
    folder = Path(named).resolve()
    if not folder.is_dir():
        raise SettingsError(f"{folder} is not a folder: give an existing one.")
    return folder


def _settings(folder: Path, tree: dict[str, Any]) -> tuple[Settings, tuple[str, ...]]:
    """Return the settings, and what the user should know about them."""
    defaults = {"policies": {"wall_clock": {"limit_s": HEADLESS_TIMEOUT_S}}}
    loaded = load_settings(folders=[folder], command_line=tree, defaults=defaults)
    if loaded.own_problems:
        raise SettingsError("\n".join(loaded.own_problems))
    if not loaded.settings.model:
        raise SettingsError(
            'No model is set: give model="…", set AGENT_LS_MODEL, or run `agent-ls setup`.'
        )
    return loaded.settings, tuple(loaded.problems)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return both trees as one, in which ``above`` wins where it is not None."""
    merged = dict(below)
    for key, value in above.items():
        if isinstance(value, Mapping):
            inner: object = merged.get(key)
            known = cast("Mapping[str, Any]", inner if isinstance(inner, Mapping) else {})
            if found := _merged(known, cast("Mapping[str, Any]", value)):
                merged[key] = found
        elif value is not None:
            merged[key] = value
    return merged


async def _answer(session: Session, event: RunEvent, approve: Approve | None) -> None:
    match event:
        case ApprovalRequested() if approve is not None:
            allows = await approve(event)
            choice = ApprovalChoice.ALLOW_ONCE if allows else ApprovalChoice.REJECT_ONCE
            answer = ApprovalAnswer(choice=choice, by="program")
            await session.resolve_approval(event.approval_id, answer)
        case QuestionAsked() if approve is not None:
            await session.resolve_question(event.question_id, _NOBODY)
        case _:
            pass


async def _close(sessions: Sessions, session: Session | None) -> None:
    """Cancel a turn that still runs, and close everything, although the caller is cancelled."""

    async def close() -> None:
        try:
            if session is not None:
                await session.close("program")
        finally:
            await sessions.close()

    await asyncio.shield(asyncio.ensure_future(close()))
