"""The command lines of ``batch``, ``worktrees`` and ``costs``. Imports nothing heavy."""

from __future__ import annotations

import argparse

from agent_ls.cli.parser_options import add_folder, add_set

COST_GROUPS = ("day", "model", "folder", "user", "label")


def add_batch(parser: argparse.ArgumentParser) -> None:
    """Add the actions of ``batch`` to its parser."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--store", metavar="URL", help="where batches are kept; a postgresql:// URL"
    )
    # Settings of tasks are those that the batch began with.
    shared.set_defaults(set=[])
    prints = argparse.ArgumentParser(add_help=False)
    prints.add_argument("--json", action="store_true", help="print JSON")
    where = argparse.ArgumentParser(add_help=False)
    where.add_argument(
        "--scheduler", metavar="tls://HOST:PORT", default="",
        help="a Dask scheduler; by default workers are started on this machine",
    )  # fmt: skip
    where.add_argument("--jobs", type=int, metavar="N", help="workers on this machine (its cores)")
    for name, words in (
        ("ca", "the authority that signed the scheduler's certificate"),
        ("cert", "this client's certificate"),
        ("key", "this client's key"),
    ):
        where.add_argument(f"--tls-{name}", metavar="FILE", help=words)
    where.add_argument("--quiet", action="store_true", help="show no progress")
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, prog=parser.prog
    )
    run = actions.add_parser("run", parents=[shared, prints, where], help="run the tasks of a file")
    run.add_argument("--set", metavar="KEY=VALUE", action="append", default=[],
                     help="set one setting of all tasks; may be given again")  # fmt: skip
    run.add_argument("tasks", help="a file .jsonl, .toml or .csv, or a folder of tasks")
    run.add_argument("--name", default="", help="what lists show of it")
    run.add_argument(
        "--cap-usd", type=float, metavar="USD", help="what all tasks may cost together"
    )
    run.add_argument(
        "--task-budget-usd", type=float, metavar="USD",
        help="what a task without a budget may cost (5, or the cap if that is less)",
    )  # fmt: skip
    run.add_argument("--model", default="", help="of tasks that name none")
    run.add_argument("--mode", default="", help="of tasks that name none (auto)")
    run.add_argument("--timeout", type=float, metavar="S", help="of tasks that name none")
    run.add_argument(
        "--variant", metavar="NAME:KEY=VALUE,…", action="append", default=[],
        help="run each task with this model or setting too, such as small:model=openai/x; "
        "may be given again, and the results are compared",
    )  # fmt: skip
    resume = actions.add_parser(
        "resume", parents=[shared, prints, where], help="go on with a batch"
    )
    resume.add_argument("batch", help="its id, or the end of it")
    resume.add_argument("--cap-usd", type=float, metavar="USD", help="a new cap for all tasks")
    resume.add_argument("--failed", action="store_true", help="begin failed tasks anew, too")
    status = actions.add_parser(
        "status", parents=[shared, prints], help="list batches, or one's tasks"
    )
    status.add_argument("batch", nargs="?", help="its id, or the end of it")
    status.add_argument("--csv", action="store_true", help="print CSV of one batch")
    stop = actions.add_parser("stop", parents=[shared], help="stop a batch; resume goes on with it")
    stop.add_argument("batch", help="its id, or the end of it")
    report = actions.add_parser("report", parents=[shared], help="write a page about a batch")
    report.add_argument("batch", help="its id, or the end of it")
    report.add_argument("--out", metavar="FILE", help="where to; - prints it")
    patches = actions.add_parser("patches", parents=[shared], help="write the tasks' changes")
    patches.add_argument("batch", help="its id, or the end of it")
    patches.add_argument("--out", metavar="FOLDER", default="patches", help="where to (patches)")
    patches.add_argument("--all", action="store_true", help="of failed tasks, too")
    certificates = actions.add_parser(
        "certificates", help="make a certificate and a key for a scheduler and its workers"
    )
    certificates.add_argument("folder", help="where to; they are ca.pem and key.pem")


def add_worktrees(parser: argparse.ArgumentParser) -> None:
    """Add the actions of ``worktrees`` to its parser."""
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, prog=parser.prog
    )

    def add(action: str, words: str) -> argparse.ArgumentParser:
        added = actions.add_parser(action, help=words)
        add_folder(added)
        add_set(added)
        return added

    listed = add("list", "list those of this repository")
    listed.add_argument("--json", action="store_true", help="print JSON")
    for action, words in (
        ("diff", "print what is not merged, as a patch"),
        ("merge", "merge its changes into this folder, to be kept or undone as the agent's are"),
        ("drop", "delete it with its files"),
    ):
        added = add(action, words)
        added.add_argument("name", metavar="NAME", help="its name")
        if action == "drop":
            added.add_argument(
                "--force", action="store_true", help="also when changes in it were not merged"
            )


def add_costs(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``costs`` to its parser."""
    parser.add_argument("--by", choices=COST_GROUPS, default="day", help="one row each (day)")
    parser.add_argument("--since", metavar="YYYY-MM-DD", help="from this day on")
    parser.add_argument("--store", metavar="URL", help="another store, such as postgresql://…")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[],
                        help="set one setting; may be given again")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--csv", action="store_true", help="print CSV")
