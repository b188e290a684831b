"""Parses the command line and calls the command, which imports what it needs.

``serve`` must take over standard output before other imports, so this module imports nothing
heavy: no pydantic, pygls or litellm.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module

from agent_ls.cli.output import flush_streams, never_fail_to_show, open_closed_streams, while_read
from agent_ls.cli.parser import CommandParser, build_parser
from agent_ls.cli.which import UnknownCommand, meant
from agent_ls.domain.stops import EXIT_CANCELLED, EXIT_USAGE

_COMMANDS = {
    "chat": "agent_ls.cli.chat.begin:chat",
    "acp": "agent_ls.cli.acp:acp",
    "batch": "agent_ls.cli.batch:batch",
    "costs": "agent_ls.cli.costs:costs",
    "worktrees": "agent_ls.cli.worktrees:worktrees",
    "run": "agent_ls.cli.run:run",
    "resume": "agent_ls.cli.run:resume",
    "sessions": "agent_ls.cli.sessions:sessions",
    **dict.fromkeys(("fork", "rename", "archive", "export"), "agent_ls.cli.sessions:sessions"),
    **dict.fromkeys(
        ("diff", "keep", "undo", "redo", "restore", "review"), "agent_ls.cli.review:review"
    ),
    "commit": "agent_ls.cli.own_prompts:commit",
    "report": "agent_ls.cli.report:report",
    "trace": "agent_ls.cli.trace:trace",
    "commands": "agent_ls.cli.commands:commands",
    "explain": "agent_ls.cli.explain:explain",
    "rules": "agent_ls.cli.rules:rules",
    "trust": "agent_ls.cli.trust:trust",
    "mcp": "agent_ls.cli.mcp:mcp",
    "login": "agent_ls.cli.login:login",
    "logout": "agent_ls.cli.login:logout",
    "models": "agent_ls.cli.models:models",
    "doctor": "agent_ls.cli.doctor:doctor",
    "setup": "agent_ls.cli.setup:setup",
    "demo": "agent_ls.cli.demo:demo",
    "completion": "agent_ls.cli.completion:completion",
}
"""Each command's function, imported when the command runs."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    started_s = time.monotonic()
    open_closed_streams()
    never_fail_to_show()
    try:
        return _run(argv, started_s)
    finally:
        flush_streams()


def _run(argv: Sequence[str] | None, started_s: float) -> int:
    parser = build_parser()
    arguments = _parsed(parser, sys.argv[1:] if argv is None else argv)
    if argv is None:
        # Only in the real program, before it starts a process that could inspect it.
        from agent_ls.processes.sealing import seal

        seal()
    arguments.started_s = started_s
    if arguments.command == "serve":
        from agent_ls.lsp.serve import run_stdio

        return run_stdio(arguments.set, arguments.beside)
    if arguments.command == "chat" and not (arguments.plain or sys.stdin.isatty()):
        parser.print_help(sys.stderr)
        sys.stderr.write(
            "\nagent-ls: a conversation needs a terminal. `agent-ls run -` reads one prompt from "
            "standard input, `agent-ls --plain` one a line.\n"
        )
        return EXIT_USAGE
    return _carry_out(arguments)


def _parsed(parser: CommandParser, argv: Sequence[str]) -> argparse.Namespace:
    """Return the arguments; words without a command are a prompt, and none is a conversation."""
    valued = {
        name
        for command in ("chat", "run")
        for name, action in parser.commands[command]._option_string_actions.items()
        if action.nargs != 0
    }
    try:
        return parser.parse_args(meant(argv, parser.commands, valued))
    except UnknownCommand as error:
        parser.exit(EXIT_USAGE, f"agent-ls: {error}\n")


def _carry_out(arguments: argparse.Namespace) -> int:
    from agent_ls.domain.errors import AgentLsError

    code = 0
    try:
        with while_read():
            module, _, name = _COMMANDS[arguments.command].partition(":")
            command: Callable[[argparse.Namespace], int] = getattr(import_module(module), name)
            code = command(arguments)
    except AgentLsError as error:
        from agent_ls.cli.event_lines import failure_code

        with while_read():
            sys.stderr.write(f"agent-ls: {error}\n")
        return failure_code(error)
    except KeyboardInterrupt:
        # A running turn handles Ctrl-C itself; before it, there is nothing to end in order.
        with while_read():
            sys.stderr.write("agent-ls: stopped\n")
        return EXIT_CANCELLED
    return code
