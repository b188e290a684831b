"""Options that commands share, and the commands with many of them.

Imports nothing heavy, as ``parser``.
"""

from __future__ import annotations

import argparse
from typing import Any

MODES = ("plan", "ask-all", "ask", "accept-edits", "auto")


def add_sessions(parser: argparse.ArgumentParser) -> None:
    """Add the actions on stored sessions."""
    add_folder(parser)
    add_set(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(all=False)
    # These options may also precede the action, whose defaults must not overwrite them.
    shared = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    shared.add_argument("--workspace", metavar="FOLDER", help="the folder to work in")
    shared.add_argument("--set", metavar="KEY=VALUE", action="append", help="set one setting")
    shared.add_argument("--json", action="store_true", help="print JSON")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", prog=parser.prog)
    listed = actions.add_parser(
        "list", parents=[shared], help="list them, newest first (the default)"
    )
    listed.add_argument("--all", action="store_true", help="archived ones, too")
    search = actions.add_parser("search", parents=[shared], help="find words in what was said")
    search.add_argument("words", nargs="+", help="all of them must be in one prompt or answer")
    search.add_argument(
        "--everywhere", action="store_true", help="in all folders, sub-agents included"
    )
    add_session_actions(actions, [shared])
    delete = actions.add_parser("delete", parents=[shared], help="remove sessions for good")
    delete.add_argument("session", nargs="+", help="its id, or the end of it")
    delete.add_argument("--yes", action="store_true", help="do not ask")


def add_session_actions(actions: Any, shared: list[argparse.ArgumentParser]) -> None:
    """Add what can be done with one session, below ``sessions`` and as commands of their own."""

    def add(name: str, words: str, *, is_optional: bool = False) -> argparse.ArgumentParser:
        parser = actions.add_parser(name, parents=shared, help=words)
        if not shared:
            add_folder(parser)
            add_set(parser)
            parser.set_defaults(action=name)
        nargs = "?" if is_optional else None
        newest = "; by default the folder's newest" if is_optional else ""
        parser.add_argument("session", nargs=nargs, help=f"its id, or the end of it{newest}")
        return parser

    fork = add("fork", "begin a session like another one")
    fork.add_argument(
        "--at", metavar="TURN", help="the last turn it shares: its number, from 1, or its id"
    )
    rename = add("rename", "give a session another title")
    rename.add_argument("title", nargs="+", help="the title")
    archive = add("archive", "hide a session from lists; saying something in it brings it back")
    archive.add_argument("--undo", action="store_true", help="show it in lists again")
    export = add("export", "write a session as Markdown", is_optional=True)
    export.add_argument("--out", metavar="FILE", help="where to; by default it is printed")
    if shared:
        # As a command of its own, `costs` is about all sessions.
        add("costs", "say what a session has used, turn by turn", is_optional=True)


def add_commit(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``commit``."""
    parser.add_argument("words", nargs="*", help="what to commit, or what the message should say")
    parser.set_defaults(session=None)
    _add_own_prompt(parser)


def _add_own_prompt(parser: argparse.ArgumentParser) -> None:
    """Add the options of a turn to a command that says itself what to do."""
    add_turn(parser)
    parser.set_defaults(image=[], goes_on=False, goal=None, output_schema=None, worktree=None)


def add_review(commands: Any) -> None:
    """Add the commands that show and decide what the agent changed."""

    def add(name: str, words: str) -> argparse.ArgumentParser:
        parser = commands.add_parser(name, help=words)
        add_folder(parser)
        add_set(parser)
        add_whose(parser)
        return parser

    def add_whose(parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--session",
            metavar="ID",
            help="whose changes, by its id or the end of it; by default the newest that has some",
        )

    turns = {
        "diff": "show what a turn changed",
        "keep": "accept a turn's changes",
        "undo": "take a turn's changes back; what you typed since stays",
        "redo": "take an undo back",
    }
    for name, words in turns.items():
        parser = add(name, words)
        parser.add_argument(
            "turn", nargs="?", help="its number, from 1, or its id; by default the newest"
        )
        parser.add_argument("--file", metavar="PATH", help="only this file")
        if name == "diff":
            parser.add_argument("--stat", action="store_true", help="only files and sizes")
        else:
            parser.add_argument("--all", action="store_true", help="of all turns of the session")
    look = commands.add_parser(
        "review",
        help="look at the open changes one by one: keep, undo, next; with --base let the agent "
        "look for defects",
    )
    # Refused with the way to say it.
    look.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    look.add_argument(
        "--base",
        metavar="REVISION",
        help="let the agent look for defects in what changed since this branch, tag or commit; "
        "HEAD: in what is not committed. The options below are for this",
    )
    add_whose(look)
    _add_own_prompt(look)
    restore = add("restore", "bring all files back to before a turn")
    restore.add_argument("turn", help="its number, from 1, or its id")
    # Not ``dry_run``, which makes the session one that only simulates.
    restore.add_argument(
        "--dry-run", dest="is_dry", action="store_true", help="only say what it would do"
    )


def add_chat(parser: argparse.ArgumentParser) -> None:
    """Add the options of a conversation."""
    add_goes_on(parser)
    parser.add_argument("--session", metavar="ID", help="go on with this one; the end of its id")
    parser.add_argument(
        "--plain",
        action="store_true",
        help="lines instead of a drawn screen: for pipes and screen readers",
    )
    add_folder(parser)
    add_set(parser)
    parser.add_argument("--mode", choices=MODES, help="how much may happen without asking")
    parser.add_argument("--model", help="a litellm model name")
    parser.add_argument("--budget-usd", type=float, metavar="USD", help="end a turn at this cost")
    parser.add_argument(
        "--dry-run", action="store_true", default=None, help="only simulate changes"
    )


def add_goes_on(parser: argparse.ArgumentParser) -> None:
    """Add ``-c``."""
    parser.add_argument(
        "-c",
        "--continue",
        dest="goes_on",
        action="store_true",
        help="go on with the last session of this folder",
    )


def add_mcp(parser: argparse.ArgumentParser) -> None:
    """Add the actions on tool servers."""
    add_folder(parser)
    add_set(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", prog=parser.prog)
    actions.add_parser("list", help="list them, and how they are (the default)")
    approve = actions.add_parser("approve", help="start a server and approve what it offers now")
    approve.add_argument("server", help="its name")
    approve.add_argument("--yes", action="store_true", help="do not ask")
    forget = actions.add_parser("forget", help="take an approval and a login back")
    forget.add_argument("server", help="its name")
    login = actions.add_parser("login", help="log in at a server with an address")
    login.add_argument("server", help="its name")


def add_session(parser: argparse.ArgumentParser) -> None:
    """Add which session is meant."""
    parser.add_argument(
        "session", nargs="?", help="its id, or the end of it; by default the folder's newest"
    )
    add_folder(parser)
    add_set(parser)


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Add the folder to work in."""
    parser.add_argument(
        "--workspace", metavar="FOLDER", default=".", help="the folder to work in (default: here)"
    )


def add_set(parser: argparse.ArgumentParser) -> None:
    """Add settings by name."""
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


def add_turn(parser: argparse.ArgumentParser) -> None:
    """Add the options of a turn."""
    add_folder(parser)
    add_set(parser)
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
    parser.add_argument(
        "--evaluate",
        choices=("off", "basic", "full"),
        help="let the cheap model judge the finished work: basic says what is missing, full lets "
        "the agent correct it first",
    )
    shapes = parser.add_mutually_exclusive_group()
    shapes.add_argument("--json", action="store_true", help="print the result as JSON")
    shapes.add_argument(
        "--json-stream",
        action="store_true",
        help="print every event as a line of JSON, the result last",
    )
    parser.add_argument(
        "-v", "--verbose", action="count", default=0, help="show technical lines too; twice: more"
    )
    parser.add_argument("--quiet", action="store_true", help="print the result and nothing else")
    parser.add_argument("--no-stream", action="store_true", help="do not show text as it comes")
    parser.add_argument(
        "--plain", action="store_true", help="lines instead of a drawn screen, for screen readers"
    )
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
