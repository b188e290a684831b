"""``run --json-stream``: prints what happens as lines of JSON.

The kinds of events are imported when they are first needed, since most runs print none.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agent_ls.cli.output import print_line
from agent_ls.domain.errors import AgentLsError, UsageError
from agent_ls.domain.plain_json import softened
from agent_ls.domain.results import TurnResult
from agent_ls.domain.stops import EXIT_CONFIGURATION, EXIT_USAGE
from agent_ls.session.session import Session

if TYPE_CHECKING:
    from agent_ls.domain.run_events import RunEvent


def stream_events(session: Session, folder: Path) -> None:
    """Print each event as it happens; once nobody reads them, stop the turn."""
    from agent_ls.headless import stream_of

    stopping: list[asyncio.Task[bool]] = []

    def hand_on(event: RunEvent) -> None:
        if not _print(event):
            stopping.append(asyncio.create_task(session.cancel("closed pipe")))

    session.follow(stream_of(session, hand_on, folder))


def print_result(result: TurnResult, exit_code: int) -> None:
    """Print the last event of a turn."""
    from agent_ls.domain.run_events import Result

    _print(Result(**dict(result), exit_code=exit_code))


@contextmanager
def failure_as_event(arguments: argparse.Namespace) -> Generator[None]:
    """End the stream with what is raised, so that no reader takes it for cut off."""
    try:
        yield
    except AgentLsError as error:
        if arguments.json_stream:
            from agent_ls.domain.run_events import Failed

            _print(Failed(message=str(error), exit_code=failure_code(error)))
        raise


def failure_code(error: AgentLsError) -> int:
    """Return the exit code of a command that could not begin."""
    return EXIT_USAGE if isinstance(error, UsageError) else EXIT_CONFIGURATION


def _print(event: RunEvent) -> bool:
    return print_line({"type": event.type, **softened(event.model_dump(mode="json"))})
