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
from typing import NoReturn

from agent_ls import __version__
from agent_ls.cli.batch_arguments import add_batch, add_costs
from agent_ls.cli.output import flush_streams, never_fail_to_show, open_closed_streams, while_read
from agent_ls.domain.stops import EXIT_CANCELLED, EXIT_CONFIGURATION, EXIT_USAGE

MODES = ("plan", "ask-all", "ask", "accept-edits", "auto")

_COMMANDS = {
    "acp": "agent_ls.cli.acp:acp",
    "batch": "agent_ls.cli.batch:batch",
    "costs": "agent_ls.cli.costs:costs",
    "run": "agent_ls.cli.run:run",
    "resume": "agent_ls.cli.run:resume",
    "sessions": "agent_ls.cli.sessions:sessions",
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
    "demo": "agent_ls.cli.demo:demo",
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
    if argv is None:
        # Only in the real program, before it starts a process that could inspect it.
        from agent_ls.processes.sealing import seal

        seal()
    parser = _parser()
    arguments = parser.parse_args(argv)
    arguments.started_s = started_s
    if arguments.command == "serve":
        from agent_ls.lsp.serve import run_stdio

        return run_stdio(arguments.set, arguments.beside)
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return EXIT_USAGE
    return _carry_out(arguments)


def _carry_out(arguments: argparse.Namespace) -> int:
    from agent_ls.domain.errors import AgentLsError

    code = 0
    try:
        with while_read():
            module, _, name = _COMMANDS[arguments.command].partition(":")
            command: Callable[[argparse.Namespace], int] = getattr(import_module(module), name)
            code = command(arguments)
    except AgentLsError as error:
        with while_read():
            sys.stderr.write(f"agent-ls: {error}\n")
        return EXIT_CONFIGURATION
    except KeyboardInterrupt:
        # A running turn handles Ctrl-C itself; before it, there is nothing to end in order.
        with while_read():
            sys.stderr.write("agent-ls: stopped\n")
        return EXIT_CANCELLED
    return code


class _Parser(argparse.ArgumentParser):
    """Exits with ``EXIT_USAGE``: argparse's own exit code means a partly done turn."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="agent-ls", description="A coding agent that lives in your language server."
    )
    parser.add_argument("--version", action="version", version=f"agent-ls {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    serve = commands.add_parser("serve", help="speak LSP on standard input and output")
    _add_set(serve)
    serve.add_argument("--stdio", action="store_true", help="accepted, and the only way there is")
    serve.add_argument(
        "--beside",
        metavar="COMMAND",
        help="start another language server and pass its work through, for editors that start "
        "one server a language: --beside 'pyright-langserver --stdio'",
    )
    acp = commands.add_parser("acp", help="speak the Agent Client Protocol (Zed, JetBrains)")
    _add_set(acp)
    run = commands.add_parser("run", help="carry out one prompt on the files of a folder")
    run.add_argument(
        "prompt",
        nargs="?",
        help="what to do; - reads it from standard input. What is piped in beside it goes with it",
    )
    run.add_argument(
        "-i",
        "--image",
        metavar="FILE",
        action="append",
        default=[],
        help="an image for the model to look at (PNG, JPEG, GIF, WebP), also from outside the "
        "folder; may be given again. An image in the folder can be named in the prompt: @shot.png",
    )
    run.add_argument(
        "--session",
        metavar="ID",
        help="say it to this session, which goes on; its id, or the end of it",
    )
    run.add_argument(
        "--goal",
        metavar="FILE",
        help="a goal with acceptance criteria and required tests, in TOML or JSON; the prompt, "
        "if there is one, adds to it",
    )
    run.add_argument(
        "--output-schema",
        metavar="FILE",
        help="a JSON schema; the result is JSON that fits it, or the turn is not a success",
    )
    _add_turn(run)
    resume = commands.add_parser("resume", help="go on with a session that was cut off")
    resume.add_argument("session", nargs="?", help="its id; by default the newest of this folder")
    _add_turn(resume)
    _add_sessions(commands.add_parser("sessions", help="list, search, fork or delete sessions"))
    add_batch(commands.add_parser("batch", help="run many tasks, on many machines"))
    add_costs(commands.add_parser("costs", help="say what was spent, by day, model or folder"))
    report = commands.add_parser("report", help="write a page that shows what a session did")
    _add_session(report)
    report.add_argument(
        "--out", metavar="FILE", help="where to; - prints it (default: the user's state folder)"
    )
    report.add_argument("--open", action="store_true", help="open it in the browser")
    trace = commands.add_parser("trace", help="say what each step of a session took and used")
    _add_session(trace)
    trace.add_argument("--json", action="store_true", help="print JSON")
    custom = commands.add_parser("commands", help="list your own commands, called by /NAME")
    _add_folder(custom)
    custom.add_argument("--json", action="store_true", help="print JSON")
    explain = commands.add_parser("explain", help="say what the rules would decide, and why")
    explain.add_argument(
        "kind", nargs="?", choices=("command", "path", "write"), help="what it is about"
    )
    explain.add_argument("subject", nargs="?", help="the command, or the file to read or to write")
    explain.add_argument(
        "--batch", action="store_true", help="answer JSON requests, one a line, on standard input"
    )
    _add_folder(explain)
    _add_set(explain)
    explain.add_argument("--mode", choices=MODES, help="how much may happen without asking")
    explain.add_argument("--json", action="store_true", help="print JSON")
    rules = commands.add_parser("rules", help="list, add or remove rules")
    rules.add_argument("--add", metavar="RULE", help="save one, such as 'allow pytest *'")
    rules.add_argument(
        "--remove", "--forget", metavar="RULE", help="remove a saved one, by its number or its text"
    )
    _add_folder(rules)
    rules.add_argument("--json", action="store_true", help="print JSON")
    trust = commands.add_parser("trust", help="trust a folder's own tools and settings")
    trust.add_argument("folder", nargs="?", help="the folder; without one those are listed")
    trust.add_argument("--show", action="store_true", help="only say what it would switch on")
    trust.add_argument("--yes", action="store_true", help="do not ask")
    trust.add_argument("--forget", metavar="FOLDER", help="trust this one no longer")
    trust.add_argument("--json", action="store_true", help="print JSON")
    _add_mcp(commands.add_parser("mcp", help="list, approve or forget tool servers"))
    login = commands.add_parser("login", help="sign in with an account instead of a key")
    login.add_argument("account", nargs="?", help="its name; without one those are listed")
    login.add_argument("--json", action="store_true", help="print JSON, of the list")
    logout = commands.add_parser("logout", help="sign out of an account")
    logout.add_argument("account", help="its name")
    models = commands.add_parser("models", help="list the models that you can use")
    models.add_argument("words", nargs="*", help="parts of names; by default all are listed")
    _add_folder(models)
    _add_set(models)
    models.add_argument("--json", action="store_true", help="print JSON")
    doctor = commands.add_parser("doctor", help="say what works on this machine")
    _add_folder(doctor)
    _add_set(doctor)
    doctor.add_argument("--model", help="a litellm model name")
    doctor.add_argument("--probe", action="store_true", help="send the model a short request")
    doctor.add_argument("--json", action="store_true", help="print JSON")
    demo = commands.add_parser("demo", help="run the main job on a small project, without a model")
    demo.add_argument("--keep", metavar="FOLDER", help="work in this new folder and keep it")
    return parser


def _add_sessions(parser: argparse.ArgumentParser) -> None:
    _add_folder(parser)
    _add_set(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    # These options may also precede the action, whose defaults must not overwrite them.
    shared = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    shared.add_argument("--workspace", metavar="FOLDER", help="the folder to work in")
    shared.add_argument("--set", metavar="KEY=VALUE", action="append", help="set one setting")
    shared.add_argument("--json", action="store_true", help="print JSON")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("list", parents=[shared], help="list them, newest first (the default)")
    search = actions.add_parser("search", parents=[shared], help="find words in what was said")
    search.add_argument("words", nargs="+", help="all of them must be in one prompt or answer")
    search.add_argument(
        "--everywhere", action="store_true", help="in all folders, sub-agents included"
    )
    fork = actions.add_parser("fork", parents=[shared], help="begin a session like another one")
    fork.add_argument("session", help="its id, or the end of it")
    fork.add_argument(
        "--at", metavar="TURN", help="the last turn it shares: its number, from 1, or its id"
    )
    delete = actions.add_parser("delete", parents=[shared], help="remove sessions for good")
    delete.add_argument("session", nargs="+", help="its id, or the end of it")
    delete.add_argument("--yes", action="store_true", help="do not ask")


def _add_mcp(parser: argparse.ArgumentParser) -> None:
    _add_folder(parser)
    _add_set(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("list", help="list them, and how they are (the default)")
    approve = actions.add_parser("approve", help="start a server and approve what it offers now")
    approve.add_argument("server", help="its name")
    approve.add_argument("--yes", action="store_true", help="do not ask")
    forget = actions.add_parser("forget", help="take an approval and a login back")
    forget.add_argument("server", help="its name")
    login = actions.add_parser("login", help="log in at a server with an address")
    login.add_argument("server", help="its name")


def _add_session(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "session", nargs="?", help="its id, or the end of it; by default the folder's newest"
    )
    _add_folder(parser)
    _add_set(parser)


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workspace", metavar="FOLDER", default=".", help="the folder to work in (default: here)"
    )


def _add_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="set one setting, such as policies.step_limit.max_steps=20",
    )
    parser.add_argument(
        "--profile",
        metavar="NAME",
        dest="set",
        action="append",
        type="profile={}".format,
        help="use these named settings of yours, as --set profile=NAME",
    )


def _add_turn(parser: argparse.ArgumentParser) -> None:
    _add_folder(parser)
    _add_set(parser)
    parser.add_argument("--mode", choices=MODES, help="how much may happen without asking")
    parser.add_argument("--model", help="a litellm model name")
    parser.add_argument(
        "--max-steps", type=int, metavar="N", help="end after so many steps; 0: unlimited"
    )
    parser.add_argument("--budget-usd", type=float, metavar="USD", help="end at this cost")
    parser.add_argument(
        "--timeout", type=float, metavar="S", help="end after so many seconds, loading included"
    )
    parser.add_argument("--step-timeout", type=float, metavar="S", help="limit of one model step")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        default=None,
        help="simulate changes and commands, and list them at the end",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "-v", "--verbose", action="count", default=0, help="show technical lines too; twice: more"
    )
    parser.add_argument("--quiet", action="store_true", help="print the result and nothing else")
    parser.add_argument("--no-stream", action="store_true", help="do not show text as it comes")
    parser.add_argument(
        "--log-file", metavar="FILE", help="write every event and record as a JSON line"
    )
    parser.add_argument(
        "--exit-code-on-partial",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="exit with 2, or 5 when the time was over, when the work is only partly done, "
        "and not with 0 (the default)",
    )
