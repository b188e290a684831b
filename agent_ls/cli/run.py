"""``run`` and ``resume``: one turn on the files of a folder, without an editor."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from agent_ls.assembly import open_disk_workspace, open_sessions
from agent_ls.cli.options import command_line_settings, folder_of, tell_problems
from agent_ls.cli.terminal import StreamedText, TerminalAnswers
from agent_ls.domain.errors import AgentLsError, SettingsError, StoreError
from agent_ls.domain.events import ApprovalResolved
from agent_ls.domain.goals import Goal, parse_goal, typed
from agent_ls.domain.results import TurnResult
from agent_ls.domain.stops import EXIT_CONFIGURATION, exit_code
from agent_ls.loop.output_schema import Schema, check_schema
from agent_ls.loop.results import result_of
from agent_ls.loop.state import SessionState
from agent_ls.observers.console import TechnicalConsole, technical_handler
from agent_ls.observers.human_log import HumanLog
from agent_ls.observers.json_log import JsonLog
from agent_ls.safety.text import visible_line
from agent_ls.session.session import Session
from agent_ls.session.sessions import Sessions
from agent_ls.settings import LoadedSettings, load_settings

_HEADLESS_TIMEOUT_S = 1_800.0

Begin = Callable[[Sessions], Awaitable[Session]]


def run(arguments: argparse.Namespace) -> int:
    """Carry out one prompt; prints its result and returns the exit code."""
    prompt = sys.stdin.read() if arguments.prompt == "-" else arguments.prompt or ""
    try:
        goal, schema = _goal(arguments.goal), _schema(arguments.output_schema)
    except SettingsError as error:
        return _refuse(str(error))
    if goal is None:
        prompt, goal = typed(prompt)
    if goal is None and not prompt.strip():
        return _refuse("The prompt is empty: say what to do, or give --goal a file.")

    async def begin(sessions: Sessions) -> Session:
        session = await sessions.create()
        _follow(session, arguments)
        await session.submit(prompt, goal=goal, output_schema=schema)
        return session

    return _main(arguments, begin)


def _schema(name: str | None) -> Schema | None:
    """Return the JSON schema that a file holds; None when no file is named."""
    if name is None:
        return None
    try:
        return check_schema(json.loads(Path(name).read_text("utf-8")), name)
    except (OSError, ValueError) as error:
        raise SettingsError(f"--output-schema {name} cannot be read as JSON: {error}") from None


def _goal(name: str | None) -> Goal | None:
    """Return the goal that a file holds; None when no file is named."""
    if name is None:
        return None
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"The goal {name} could not be read: {error}.") from None
    return parse_goal(text, name=name)


def resume(arguments: argparse.Namespace) -> int:
    """Go on with a session that was cut off; prints the result and returns the exit code."""

    async def begin(sessions: Sessions) -> Session:
        session_id = arguments.session
        if session_id is None:
            cut_off = await sessions.interrupted()
            if not cut_off:
                raise StoreError(
                    "no session of this folder was cut off, so there is none to resume"
                )
            session_id = cut_off[0].session_id
        else:
            ends = [one.session_id for one in await sessions.list()]
            meant = [one for one in ends if one.endswith(session_id)]
            session_id = meant[0] if len(meant) == 1 else session_id
        session = await sessions.open(session_id)
        _follow(session, arguments)
        if not session.resume():
            raise StoreError(f"session {session_id} has no turn that was cut off")
        return session

    return _main(arguments, begin)


def _main(arguments: argparse.Namespace, begin: Begin) -> int:
    try:
        folder = folder_of(arguments)
        loaded = _settings(arguments, folder)
        return asyncio.run(_turn(arguments, folder, loaded, begin))
    except AgentLsError as error:
        return _refuse(str(error))


def _settings(arguments: argparse.Namespace, folder: Path) -> LoadedSettings:
    """Return the settings; without an editor a turn has a time limit unless one was set."""
    loaded = load_settings(
        folders=[folder],
        command_line=command_line_settings(arguments),
        defaults={"policies": {"wall_clock": {"limit_s": _HEADLESS_TIMEOUT_S}}},
    )
    tell_problems(loaded)
    if not loaded.settings.model:
        raise SettingsError(
            'No model is set. Give --model, set AGENT_LS_MODEL, or write `model = "…"` into the '
            "configuration; `agent-ls doctor` says where that is. `agent-ls demo` needs none."
        )
    return loaded


async def _turn(
    arguments: argparse.Namespace, folder: Path, loaded: LoadedSettings, begin: Begin
) -> int:
    is_attended = _is_terminal(arguments)
    sessions = await open_sessions(
        loaded.settings, open_disk_workspace([folder]), is_attended=is_attended
    )
    try:
        session = await begin(sessions)
        _cancel_on_signals(session)
        ended = await session.wait_idle()
    finally:
        await sessions.close()
    if ended is None:
        raise StoreError("the turn ended without a result; see the log")
    result = result_of(session.state)
    _print(session.state, result, arguments)
    return exit_code(
        result.stop_reason,
        is_authentication=ended.is_authentication,
        count_partial=_counts_partial(arguments),
    )


def _follow(session: Session, arguments: argparse.Namespace) -> None:
    """Attach what shows the turn, and what asks the person."""
    if not (arguments.quiet or arguments.json):
        if not arguments.no_stream:
            session.follow(StreamedText(sys.stderr))
        session.follow(HumanLog(sys.stderr, with_answers=arguments.no_stream))
    if arguments.verbose:
        session.follow(TechnicalConsole(sys.stderr))
        _log(technical_handler(sys.stderr, arguments.verbose))
    if arguments.log_file:
        json_log = JsonLog(Path(arguments.log_file))
        session.follow(json_log)
        _log(json_log.handler())
    if _is_terminal(arguments):
        session.follow(TerminalAnswers(session))


def _log(handler: logging.Handler) -> None:
    """Let a handler have the program's own records, from the level that it wants."""
    logger = logging.getLogger("agent_ls")
    logger.addHandler(handler)
    logger.setLevel(min(logger.level or logging.WARNING, handler.level or logging.INFO))


def _is_terminal(arguments: argparse.Namespace) -> bool:
    """Say whether a person can be asked."""
    return not arguments.json and sys.stdin.isatty() and sys.stderr.isatty()


def _cancel_on_signals(session: Session) -> None:
    """The first Ctrl-C or SIGTERM stops the turn in order; the second ends the process at once."""
    loop = asyncio.get_running_loop()
    cancelling: list[asyncio.Task[bool]] = []

    def on_signal(name: str) -> None:
        if cancelling:
            os._exit(130)
        sys.stderr.write("agent-ls: stopping; once more ends it at once\n")
        cancelling.append(loop.create_task(session.cancel(name)))

    for one in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(one, on_signal, one.name)


def _counts_partial(arguments: argparse.Namespace) -> bool:
    if arguments.exit_code_on_partial is not None:
        return bool(arguments.exit_code_on_partial)
    return os.environ.get("CI", "").lower() in ("1", "true")


def _print(state: SessionState, result: TurnResult, arguments: argparse.Namespace) -> None:
    """Print the result; a reader that has gone away has seen enough."""
    try:
        _write(state, result, arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter would try once more at exit, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write(state: SessionState, result: TurnResult, arguments: argparse.Namespace) -> None:
    if arguments.json:
        sys.stdout.write(result.model_dump_json(indent=2) + "\n")
        return
    if result.output:
        sys.stdout.write(result.output.rstrip() + "\n")
    if not result.success:
        sys.stderr.write(f"\n{result.status}: {result.stop_reason}. {result.failure_reason}\n")
    if result.simulated:
        lines = "".join(f"  {visible_line(one)}\n" for one in result.simulated)
        sys.stderr.write(f"Dry run; nothing of this was done:\n{lines}")
    if refused := _refused_by_nobody(state):
        calls = "call was" if refused == 1 else "calls were"
        sys.stderr.write(
            f"{refused} {calls} refused, because nobody was there to be asked; "
            "--mode accept-edits lets edits run, --mode auto everything.\n"
        )


def _refused_by_nobody(state: SessionState) -> int:
    events = state.turn.events if state.turn else ()
    return sum(
        isinstance(stored.event, ApprovalResolved) and stored.event.answer.by == "nobody"
        for stored in events
    )


def _refuse(why: str) -> int:
    sys.stderr.write(f"agent-ls: {why}\n")
    return EXIT_CONFIGURATION
