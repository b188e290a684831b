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
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_ls.assembly import open_disk_workspace, open_sessions
from agent_ls.cli.chat.begin import chat
from agent_ls.cli.chat.folder_name import short_folder
from agent_ls.cli.event_lines import failure_as_event, print_result, stream_events
from agent_ls.cli.named_sessions import cut_off_session, first_session, open_named
from agent_ls.cli.options import conversation_settings
from agent_ls.cli.output import can_draw, while_read
from agent_ls.cli.piped import with_piped
from agent_ls.cli.result import going_on, resuming, write_made, write_result
from agent_ls.cli.terminal import StreamedText, TerminalAnswers
from agent_ls.cli.worktree_folder import working_folder
from agent_ls.domain.errors import SettingsError, StoreError, UsageError
from agent_ls.domain.goals import Goal, parse_goal, split_goal
from agent_ls.domain.modes import Mode
from agent_ls.domain.pictures import PictureData
from agent_ls.domain.stops import EXIT_CANCELLED, HEADLESS_TIMEOUT_S
from agent_ls.loop.evidence.output_schema import Schema, check_schema
from agent_ls.loop.machine.results import exit_code_of, result_of
from agent_ls.observers.console import TechnicalConsole, technical_handler
from agent_ls.observers.human_log import HumanLog
from agent_ls.observers.json_log import JsonLog
from agent_ls.observers.unpriced import UnpricedBudget
from agent_ls.pictures.reading import MAX_FILE_BYTES, read_image
from agent_ls.safety.made_files import made_files
from agent_ls.session.custom_commands import command_in
from agent_ls.session.session import Session
from agent_ls.session.sessions import Sessions
from agent_ls.settings import LoadedSettings, chosen_budget_usd

_ENTRY_AND_EXIT_S = 0.5
"""Start-up and exit time of the interpreter, which counts towards the user's time limit."""


@dataclass(frozen=True, slots=True)
class _Task:
    """How to find the session, and how to begin the turn in it."""

    find: Callable[[Sessions], Awaitable[Session]]
    begin: Callable[[Session], Awaitable[None]]


def run(arguments: argparse.Namespace) -> int:
    """Run one prompt, print its result and return the exit code."""
    with failure_as_event(arguments):
        return _main(arguments, _task(arguments))


def _task(arguments: argparse.Namespace) -> _Task:
    said = " ".join(arguments.prompt)
    prompt = sys.stdin.read() if said == "-" else said
    goal, schema = _goal(arguments.goal), _schema(arguments.output_schema)
    if goal is None:
        prompt, goal = split_goal(prompt)
    images = _images(arguments.image)
    goes_on = arguments.session is not None or arguments.goes_on
    if goal is None and not images and not prompt.strip() and not goes_on:
        raise UsageError("The prompt is empty: say what to do, or give --goal a file.")
    if said != "-":
        # After the goal was read: what other programs print must never become a goal.
        prompt = with_piped(prompt, _warn)

    async def find(sessions: Sessions) -> Session:
        if goes_on:
            return await first_session(sessions, arguments)
        # An unknown command must leave no empty session behind.
        await command_in(prompt, sessions.custom_commands)
        return await sessions.create()

    async def begin(session: Session) -> None:
        if goal is None and not images and not prompt.strip():
            _go_on(session)
        else:
            await session.submit(prompt, goal=goal, output_schema=schema, images=images)

    return _Task(find, begin)


def _images(names: Sequence[str]) -> list[PictureData]:
    found: list[PictureData] = []
    for name in names:
        try:
            with Path(name).open("rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise SettingsError(f"--image {name} could not be read: {error.strerror}.") from None
        found.append(asyncio.run(read_image(data, Path(name).name)))
    return found


def _schema(name: str | None) -> Schema | None:
    if name is None:
        return None
    try:
        return check_schema(json.loads(Path(name).read_text("utf-8")), name)
    except (OSError, ValueError) as error:
        raise SettingsError(f"--output-schema {name} cannot be read as JSON: {error}") from None


def _goal(name: str | None) -> Goal | None:
    if name is None:
        return None
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"The goal {name} could not be read: {error}.") from None
    return parse_goal(text, name=name)


def resume(arguments: argparse.Namespace) -> int:
    """Resume a session that was cut off, print its result and return the exit code.

    At a terminal it goes on in a conversation.
    """
    if _is_drawn(arguments) and not arguments.log_file:
        return chat(arguments)

    async def find(sessions: Sessions) -> Session:
        if arguments.session is not None:
            return await open_named(sessions, arguments.session)
        return await cut_off_session(sessions)

    async def begin(session: Session) -> None:
        _go_on(session)

    with failure_as_event(arguments):
        return _main(arguments, _Task(find, begin))


def _go_on(session: Session) -> None:
    if not session.resume():
        raise StoreError(
            f"session {session.id} has no turn that was cut off; "
            f'`agent-ls run --session {session.id} "…"` says more to it'
        )


def _main(arguments: argparse.Namespace, task: _Task) -> int:
    with working_folder(arguments, _warn) as folder:
        loaded = _settings(arguments, folder)
        return asyncio.run(_turn(arguments, folder, loaded, task))


def _settings(arguments: argparse.Namespace, folder: Path) -> LoadedSettings:
    """Return the settings; a headless turn has a time limit unless the user set another."""
    return conversation_settings(
        arguments,
        folder,
        {"policies": {"wall_clock": {"limit_s": HEADLESS_TIMEOUT_S}}},
    )


async def _turn(
    arguments: argparse.Namespace, folder: Path, loaded: LoadedSettings, task: _Task
) -> int:
    is_attended = _is_terminal(arguments)
    sessions = await open_sessions(
        loaded.settings,
        open_disk_workspace([folder]),
        is_attended=is_attended,
        begun_s=arguments.started_s - _ENTRY_AND_EXIT_S,
        tell=_warn,
    )
    try:
        session = await task.find(sessions)
        if arguments.mode is not None:
            await session.set_mode(Mode(arguments.mode))
        if arguments.model is not None:
            await session.set_model(arguments.model)
        limit_usd: float = arguments.budget_usd or chosen_budget_usd(loaded.settings)
        session.follow(UnpricedBudget(_warn, limit_usd))
        _follow_quietly(session, arguments)
        if _is_drawn(arguments):
            from agent_ls.cli.chat.one_turn import drawn

            last_words = resuming(session.state, arguments)
            async with drawn(session, short_folder(folder), last_words) as view:
                await task.begin(session)
                ended = await session.wait_idle()
                await view.settled()
            said = ended.output.strip() if ended else ""
        else:
            streamed = StreamedText(sys.stderr)
            _follow(session, arguments, streamed)
            if arguments.json_stream:
                stream_events(session, folder)
            await task.begin(session)
            _cancel_on_signals(session, resuming(session.state, arguments))
            ended = await session.wait_idle()
            said = streamed.said if is_attended else ""
        turn = session.state.turn
        if ended is None or turn is None:
            raise StoreError("the turn ended without a result; see the log")
        result = result_of(session.state)
        code = exit_code_of(turn, result, ended, count_partial=arguments.exit_code_on_partial)
        made = await asyncio.to_thread(made_files().undecided, [folder])
        # Print before the store is closed, because closing may fail.
        with while_read():
            if arguments.json_stream:
                print_result(result, code)
            write_result(turn, result, arguments, streamed=said)
            write_made(made)
        if not result.success:
            with while_read():
                sys.stderr.write(f"{going_on(session.state, arguments)}\n")
    finally:
        await sessions.close()
    return code


def _follow(session: Session, arguments: argparse.Namespace, streamed: StreamedText) -> None:
    if not (arguments.quiet or arguments.json or arguments.json_stream):
        if not arguments.no_stream:
            session.follow(streamed)
        log = HumanLog(
            sys.stderr,
            with_answers=arguments.no_stream,
            with_approvals=not _is_terminal(arguments),
        )
        if session.is_cut_off and session.state.turn is not None:
            log.go_on(session.id, session.state.turn.events)
        session.follow(log)
    if _is_terminal(arguments):
        session.follow(TerminalAnswers(session))


def _follow_quietly(session: Session, arguments: argparse.Namespace) -> None:
    """Send events and records to where the command line says, beside what is shown anyway."""
    if arguments.verbose:
        session.follow(TechnicalConsole(sys.stderr))
        _log(technical_handler(sys.stderr, arguments.verbose))
    if arguments.log_file:
        json_log = JsonLog(Path(arguments.log_file))
        session.follow(json_log)
        _log(json_log.handler())


def _log(handler: logging.Handler) -> None:
    """Send the program's log records to a handler, from the handler's level up."""
    logger = logging.getLogger("agent_ls")
    logger.addHandler(handler)
    logger.setLevel(min(logger.level or logging.WARNING, handler.level or logging.INFO))


def _is_terminal(arguments: argparse.Namespace) -> bool:
    is_for_programs = arguments.json or arguments.json_stream
    return not is_for_programs and sys.stdin.isatty() and sys.stderr.isatty()


def _is_drawn(arguments: argparse.Namespace) -> bool:
    """Say whether the turn is drawn, and not logged line by line."""
    is_plain = arguments.plain or arguments.quiet or arguments.no_stream or arguments.verbose
    return can_draw() and not (is_plain or arguments.json or arguments.json_stream)


def _cancel_on_signals(session: Session, last_words: str) -> None:
    """The first Ctrl-C or SIGTERM stops the turn in order; the second ends the process at once."""
    loop = asyncio.get_running_loop()
    cancelling: list[asyncio.Task[bool]] = []

    def on_signal(name: str) -> None:
        if cancelling:
            sys.stderr.write(f"{last_words}\n")
            sys.stderr.flush()
            os._exit(EXIT_CANCELLED)
        sys.stderr.write("agent-ls: stopping; once more ends it at once\n")
        cancelling.append(loop.create_task(session.cancel(name)))

    for one in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(one, on_signal, one.name)


def _warn(words: str) -> None:
    with while_read():
        sys.stderr.write(f"agent-ls: {words}\n")
