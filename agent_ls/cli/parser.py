"""The command line's options, with examples and exit codes.

Imports nothing heavy: ``serve`` must take over standard output first, and the first frame of a
conversation waits for nothing.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from typing import Any, NoReturn, cast

from agent_ls import __version__
from agent_ls.cli.batch_arguments import add_batch, add_costs, add_worktrees
from agent_ls.cli.help_epilogs import TURN_CODES, add_epilog
from agent_ls.cli.parser_options import (
    MODES,
    add_chat,
    add_commit,
    add_folder,
    add_goes_on,
    add_mcp,
    add_review,
    add_session,
    add_session_actions,
    add_sessions,
    add_set,
    add_turn,
)
from agent_ls.cli.which import nearest
from agent_ls.domain.stops import EXIT_USAGE

_EXAMPLES = f"""examples:
  agent-ls                                  a conversation in this folder
  agent-ls "make the tests pass"            one task, as `agent-ls run "…"`
  agent-ls -c                               go on with the last session of this folder
  git diff | agent-ls run "explain this"    what is piped in goes with the prompt
  agent-ls diff                             what the agent changed; `undo` takes it back

exit codes:
  {TURN_CODES}
"""


class CommandParser(argparse.ArgumentParser):
    """Exits with ``EXIT_USAGE``: argparse's own exit code means a partly done turn."""

    commands: dict[str, CommandParser]
    """By name, on the parser of the program."""

    def parse_known_args(self, *args: Any, **options: Any) -> tuple[Any, list[str]]:
        """Refuse an unknown option here: only this command or action knows what may be meant."""
        found, unknown = super().parse_known_args(*args, **options)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and what may be meant, and exit."""
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: error: {message}{self._suggestion(message)}\n")

    def _suggestion(self, message: str) -> str:
        """Return a hint that names the nearest option or choice; empty if none is near."""
        if found := re.search(r"unrecognized arguments: (--?[^\s=]+)", message):
            near = nearest(found[1], self._option_string_actions)
        elif found := re.search(
            r"invalid choice: '([^']*)' \((?:maybe|choose from) (.*)\)", message
        ):
            near = nearest(found[1], [one.strip(" '\"") for one in found[2].split(",")])
        else:
            return ""
        return f" (did you mean {near}?)" if near and near not in message.partition("(")[0] else ""

    def below(self) -> Iterator[CommandParser]:
        """Yield the parsers of the commands, each with those of its actions behind it."""
        for action in self._actions:
            # Only the choice of a command or an action has parsers behind its names.
            if isinstance(choices := cast(object, action.choices), dict):
                for one in cast("dict[str, CommandParser]", choices).values():
                    yield one
                    yield from one.below()


def build_parser() -> CommandParser:
    """Return the parser of the whole command line."""
    parser = CommandParser(
        prog="agent-ls",
        usage="agent-ls [OPTIONS]            talk to the agent in this folder\n"
        '       agent-ls [OPTIONS] "WORDS"    let it do one thing\n'
        "       agent-ls COMMAND …",
        description="A coding agent that lives in your language server. Alone it opens a\n"
        "conversation; `agent-ls chat --help` lists its options.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"agent-ls {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", prog="agent-ls")
    parser.commands = commands.choices  # type: ignore[assignment] - of this class, as their parent
    add_chat(commands.add_parser("chat", help="talk to the agent in this folder (the default)"))
    serve = commands.add_parser("serve", help="speak LSP on standard input and output")
    add_set(serve)
    serve.add_argument("--stdio", action="store_true", help="accepted, and the only way there is")
    serve.add_argument(
        "--beside",
        metavar="COMMAND",
        help="start another language server and pass its work through, for editors that start "
        "one server a language: --beside 'pyright-langserver --stdio'",
    )
    acp = commands.add_parser("acp", help="speak the Agent Client Protocol (Zed, JetBrains)")
    add_set(acp)
    run = commands.add_parser("run", help="carry out one prompt on the files of a folder")
    run.add_argument(
        "prompt",
        nargs="*",
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
        *("--session", "--resume"),
        metavar="ID",
        help="say it to this session, which goes on; its id, or the end of it. Without a prompt "
        "its turn that was cut off goes on",
    )
    add_goes_on(run)
    run.add_argument(
        "--worktree",
        metavar="NAME",
        help="work in a copy of this repository with this name, made from the last commit if "
        "there is none; `agent-ls worktrees merge NAME` brings the changes home",
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
    add_turn(run)
    resume = commands.add_parser(
        "resume", help="go on with a session: at a terminal in a conversation"
    )
    resume.add_argument(
        "session",
        nargs="?",
        help="its id, or the end of it; by default the newest of this folder that was cut off",
    )
    resume.set_defaults(goes_on=False, worktree=None)
    add_turn(resume)
    add_sessions(
        commands.add_parser("sessions", help="list, search, rename, fork or delete sessions")
    )
    add_session_actions(commands, [])
    add_batch(commands.add_parser("batch", help="run many tasks, on many machines"))
    add_worktrees(
        commands.add_parser("worktrees", help="list, merge or drop the copies of `run --worktree`")
    )
    add_costs(commands.add_parser("costs", help="say what was spent, by day, model or folder"))
    add_review(commands)
    add_commit(commands.add_parser("commit", help="propose a commit with its message, and ask"))
    report = commands.add_parser("report", help="write a page that shows what a session did")
    add_session(report)
    report.add_argument(
        "--out", metavar="FILE", help="where to; - prints it (default: the user's state folder)"
    )
    report.add_argument("--open", action="store_true", help="open it in the browser")
    trace = commands.add_parser("trace", help="say what each step of a session took and used")
    add_session(trace)
    trace.add_argument("--json", action="store_true", help="print JSON")
    custom = commands.add_parser("commands", help="list your own commands, called by /NAME")
    add_folder(custom)
    custom.add_argument("--json", action="store_true", help="print JSON")
    explain = commands.add_parser("explain", help="say what the rules would decide, and why")
    explain.add_argument(
        "kind", nargs="?", choices=("command", "path", "write"), help="what it is about"
    )
    explain.add_argument("subject", nargs="?", help="the command, or the file to read or to write")
    explain.add_argument(
        "--batch", action="store_true", help="answer JSON requests, one a line, on standard input"
    )
    add_folder(explain)
    add_set(explain)
    explain.add_argument("--mode", choices=MODES, help="how much may happen without asking")
    explain.add_argument("--json", action="store_true", help="print JSON")
    rules = commands.add_parser("rules", help="list, add or remove rules")
    rules.add_argument("--add", metavar="RULE", help="save one, such as 'allow pytest *'")
    rules.add_argument(
        "--remove", "--forget", metavar="RULE", help="remove a saved one, by its number or its text"
    )
    add_folder(rules)
    rules.add_argument("--json", action="store_true", help="print JSON")
    trust = commands.add_parser("trust", help="trust a folder's own tools and settings")
    trust.add_argument("folder", nargs="?", help="the folder; without one those are listed")
    trust.add_argument("--show", action="store_true", help="only say what it would switch on")
    trust.add_argument("--yes", action="store_true", help="do not ask")
    trust.add_argument("--forget", metavar="FOLDER", help="trust this one no longer")
    trust.add_argument("--json", action="store_true", help="print JSON")
    add_mcp(commands.add_parser("mcp", help="list, approve or forget tool servers"))
    setup = commands.add_parser("setup", help="choose a model, try its key and write both down")
    setup.add_argument("--model", help="a litellm model name; by default it is asked for")
    setup.add_argument("--api-base", metavar="URL", default="", help="a server of your own")
    setup.add_argument(
        "--keyring", action="store_true", help="put the key into the keyring, not into a file"
    )
    setup.add_argument(
        "--force", action="store_true", help="write both, also if the model does not answer"
    )
    login = commands.add_parser("login", help="sign in with an account instead of a key")
    login.add_argument("account", nargs="?", help="its name; without one those are listed")
    login.add_argument("--json", action="store_true", help="print JSON, of the list")
    logout = commands.add_parser("logout", help="sign out of an account")
    logout.add_argument("account", help="its name")
    models = commands.add_parser("models", help="list the models that you can use")
    models.add_argument("words", nargs="*", help="parts of names; by default all are listed")
    add_folder(models)
    add_set(models)
    models.add_argument("--json", action="store_true", help="print JSON")
    doctor = commands.add_parser("doctor", help="say what works on this machine")
    add_folder(doctor)
    add_set(doctor)
    doctor.add_argument("--model", help="a litellm model name")
    doctor.add_argument("--probe", action="store_true", help="send the model a short request")
    doctor.add_argument("--json", action="store_true", help="print JSON")
    demo = commands.add_parser("demo", help="run the main job on a small project, without a model")
    demo.add_argument("--keep", metavar="FOLDER", help="work in this new folder and keep it")
    completion = commands.add_parser(
        "completion", help="print what makes your shell complete agent-ls"
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="your shell")
    for command in parser.below():
        add_epilog(command)
    return parser
