"""``batch``: runs many tasks on many machines, and tells what came of them."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shlex
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from agent_ls.assembly import SystemClock
from agent_ls.batch.cluster import (
    Certificates,
    open_client,
    refuse_plaintext,
    temporary_certificate,
)
from agent_ls.batch.driver import Driver, End
from agent_ls.batch.progress import shown_progress, shown_reason
from agent_ls.batch.queueing import DEFAULT_BUDGET_USD, enqueue
from agent_ls.batch.summary import (
    as_csv,
    as_json,
    headline_of_whole,
    lines_of,
    table,
    unpriced_models,
    variants_of,
)
from agent_ls.batch.tasks import BatchOptions, Task, check_settings, read_tasks, variants
from agent_ls.cli.options import NO_MODEL, tell_problems
from agent_ls.cli.output import print_json
from agent_ls.domain.errors import SettingsError, StoreError, UsageError
from agent_ls.domain.ids import Ids
from agent_ls.domain.modes import Mode
from agent_ls.domain.sentences import counted
from agent_ls.domain.set_words import parse_sets
from agent_ls.domain.stops import EXIT_CANCELLED, EXIT_PARTIAL
from agent_ls.observers.report.words import moment, money
from agent_ls.safety.text import visible_line
from agent_ls.settings import load_settings, store_place
from agent_ls.store.batch_queue import Batch, BatchQueue, TaskRow, TaskState
from agent_ls.store.sql_store import SqlStore, open_store

_FAILED: Final = 1
_WHERE = ("store", "scheduler", "tls_ca", "tls_cert", "tls_key", "jobs")
_MIN_NAMED_CHARS = 4
_STORE_VARIABLE = "AGENT_LS_STORE_URL"
_ENDS: Mapping[End, str] = {
    "finished": "",
    "no money": "The cap does not cover the other tasks: "
    "`agent-ls batch resume {batch} --cap-usd USD{where}` goes on with a higher one.",
    "stopped": "Stopped; `agent-ls batch resume {batch}{where}` goes on.",
    "scheduler lost": "The scheduler is gone. Start the scheduler and the workers again; then "
    "`agent-ls batch resume {batch}{where}` goes on.",
}


def batch(arguments: argparse.Namespace) -> int:
    """Run the action and return its exit code. Errors: ``SettingsError``, ``StoreError``."""
    actions: dict[str, Callable[[argparse.Namespace], Coroutine[Any, Any, int]]] = {
        "run": _run,
        "resume": _resume,
        "status": _status,
        "stop": _stop,
        "report": _report,
        "patches": _patches,
        "certificates": _certificates,
    }
    return asyncio.run(actions[arguments.action](arguments))


async def _run(arguments: argparse.Namespace) -> int:
    tasks = read_tasks(_path(arguments.tasks))
    if arguments.variant:
        tasks = variants(tasks, [_variant(words) for words in arguments.variant])
    options = BatchOptions(
        model=arguments.model,
        mode=_mode(arguments.mode),
        timeout_s=_positive("--timeout", arguments.timeout),
        settings=tuple(arguments.set),
    )
    check_settings("--set", options.settings)
    batch_id = Ids(SystemClock().now_ms).new("bat")
    cap_usd = _positive("--cap-usd", arguments.cap_usd)
    budget_usd = _positive("--task-budget-usd", arguments.task_budget_usd)
    budget_usd = budget_usd or min(DEFAULT_BUDGET_USD, cap_usd or DEFAULT_BUDGET_USD)
    if not arguments.scheduler:
        _require_models(tasks, options)
    made = Batch(
        batch_id=batch_id,
        name=arguments.name or Path(arguments.tasks).name,
        is_stopped=False,
        created_ms=0,
        cap_usd=cap_usd,
        options=options.model_dump_json(),
    )
    async with _store(arguments) as store:
        queue = BatchQueue(store)
        # Before the batch is stored: a refused scheduler should leave nothing behind.
        async with _client(arguments, store) as client:
            await enqueue(queue, made, tasks, budget_usd)
            sys.stderr.write(f"Batch {batch_id}: {counted(len(tasks), 'task')}\n")
            at_once = len((await queue.look(batch_id)).affordable())
            if at_once < min(len(tasks), _jobs(arguments)):
                _tell(
                    f"the cap lets {counted(at_once, 'task')} run at once, as each reserves its "
                    "budget; a lower --task-budget-usd lets more"
                )
            return await _drive(arguments, queue, client, batch_id)


async def _resume(arguments: argparse.Namespace) -> int:
    async with _store(arguments) as store:
        queue = BatchQueue(store)
        found = await _named(queue, arguments.batch)
        async with _client(arguments, store) as client:
            if cap_usd := _positive("--cap-usd", arguments.cap_usd):
                await queue.set_cap(found.batch_id, cap_usd)
            if arguments.failed:
                _tell(
                    f"{counted(await queue.replay(found.batch_id), 'failed task')} will run again"
                )
            await queue.set_stopped(found.batch_id, is_stopped=False)
            return await _drive(arguments, queue, client, found.batch_id)


async def _drive(
    arguments: argparse.Namespace, queue: BatchQueue, client: Any, batch_id: str
) -> int:
    found = await _named(queue, batch_id)
    with shown_progress(found, is_quiet=arguments.quiet) as show:
        driver = Driver(queue, client, batch_id, show=show, tell=_tell)
        with _stopping_on_signals(queue, batch_id):
            end = await driver.run()
    rows = await queue.tasks(batch_id)
    found = await _named(queue, batch_id)
    if arguments.json:
        print_json(as_json(found, rows))
    else:
        sys.stdout.write(
            f"{headline_of_whole(found, rows)}\n{table(variants_of(lines_of(found, rows)))}"
        )
    if found.cap_usd is not None and (models := unpriced_models(lines_of(found, rows))):
        _tell(
            f"the cap of {money(found.cap_usd)} cannot hold without the prices of {models}; "
            "give them in provider.models of the settings"
        )
    if words := _ENDS[end].format(batch=batch_id, where=_given(arguments, _WHERE)):
        _tell(words)
    elif not (arguments.quiet or arguments.json):
        named = batch_id + _given(arguments, ("store",))
        _tell(f"`agent-ls batch report {named}` writes a page, `agent-ls batch patches {named}` "
              "the changes.")  # fmt: skip
    return _code(end, rows)


def _given(arguments: argparse.Namespace, names: Sequence[str]) -> str:
    """Return the given options of these as words of a command line, without passwords."""
    words: list[str] = []
    for name in names:
        if value := getattr(arguments, name):
            shown = _without_password(value) if name == "store" else str(value)
            words += [f"--{name.replace('_', '-')}", shlex.quote(shown)]
    return "".join(f" {word}" for word in words)


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    if parts.password is None and "password" not in parts.query:
        return url
    _, _, host = parts.netloc.rpartition("@")
    return f"{parts.scheme}://{parts.username or 'USER'}:PASSWORD@{host}{parts.path}"


def _code(end: End, rows: list[TaskRow]) -> int:
    """Return the exit code: 0 if all are done, 2 if some, 1 if none, 130 if it was stopped."""
    if end == "stopped":
        return EXIT_CANCELLED
    done = sum(row.state is TaskState.DONE for row in rows)
    if done == len(rows):
        return 0
    return EXIT_PARTIAL if done else _FAILED


@contextlib.contextmanager
def _stopping_on_signals(queue: BatchQueue, batch_id: str) -> Any:
    """Stop the batch in order on the first Ctrl-C or SIGTERM; the second ends the process."""
    loop = asyncio.get_running_loop()
    stopping: list[asyncio.Task[None]] = []

    def on_signal() -> None:
        if stopping:
            os._exit(EXIT_CANCELLED)
        _tell("stopping: running tasks go back to the queue; Ctrl-C again quits at once")
        stopping.append(loop.create_task(queue.set_stopped(batch_id, is_stopped=True)))

    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, on_signal)
    try:
        yield
    finally:
        for one in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(one)


async def _status(arguments: argparse.Namespace) -> int:
    if arguments.csv and arguments.batch is None:
        raise UsageError("--csv prints the tasks of one batch: give its id.")
    async with _store(arguments) as store:
        queue = BatchQueue(store)
        if arguments.batch is None:
            return await _list(queue, arguments)
        found = await _named(queue, arguments.batch)
        rows = await queue.tasks(found.batch_id)
    if arguments.json:
        print_json(as_json(found, rows))
    elif arguments.csv:
        sys.stdout.write(as_csv(found, rows))
    else:
        _write_status(found, rows)
    return 0


def _write_status(found: Batch, rows: list[TaskRow]) -> None:
    sys.stdout.write(
        f"{found.batch_id}  {visible_line(found.name)}  {headline_of_whole(found, rows)}\n"
    )
    for line in lines_of(found, rows):
        cost = money(line.cost_usd, of_tokens=line.tokens)
        why = f"  {shown_reason(line.failure_reason)}" if line.failure_reason else ""
        host = f"  {visible_line(line.host)}" if line.host else ""
        sys.stdout.write(f"  {line.state:<7}  {line.task}  {cost}{host}{why}\n")
    sys.stdout.write(table(variants_of(lines_of(found, rows))))


async def _list(queue: BatchQueue, arguments: argparse.Namespace) -> int:
    found = [(one, await queue.tasks(one.batch_id)) for one in await queue.batches()]
    if arguments.json:
        print_json([as_json(one, rows) for one, rows in found])
        return 0
    for one, rows in found:
        sys.stdout.write(
            f"{one.batch_id}  {moment(one.created_ms)}  {visible_line(one.name)}  "
            f"{headline_of_whole(one, rows)}\n"
        )
    if not found:
        sys.stderr.write("No batches in this store yet.\n")
    return 0


async def _stop(arguments: argparse.Namespace) -> int:
    async with _store(arguments) as store:
        queue = BatchQueue(store)
        found = await _named(queue, arguments.batch)
        await queue.set_stopped(found.batch_id, is_stopped=True)
    named = found.batch_id + _given(arguments, ("store",))
    _tell(f"it stops within seconds; `agent-ls batch resume {named}` goes on")
    return 0


async def _report(arguments: argparse.Namespace) -> int:
    from agent_ls import __version__
    from agent_ls.batch.page import page, write_private

    async with _store(arguments) as store:
        queue = BatchQueue(store)
        found = await _named(queue, arguments.batch)
        text = page(found, await queue.tasks(found.batch_id), __version__)
    if arguments.out == "-":
        sys.stdout.write(text)
        return 0
    path = _path(arguments.out or f"{found.batch_id}.html")
    write_private(path, text.encode())
    sys.stdout.write(f"{path}\n")
    return 0


async def _patches(arguments: argparse.Namespace) -> int:
    """Write a file for each task that changed something."""
    from agent_ls.batch.page import write_private

    folder = _path(arguments.out)
    async with _store(arguments) as store:
        queue = BatchQueue(store)
        found = await _named(queue, arguments.batch)
        wanted = (TaskState.DONE, TaskState.FAILED) if arguments.all else (TaskState.DONE,)
        count = 0
        for row in await queue.tasks(found.batch_id):
            if row.state not in wanted:
                continue
            if patch := await queue.patch(found.batch_id, row.task_id):
                path = folder / f"{row.task_id}.patch"
                write_private(path, patch)
                sys.stdout.write(f"{path}\n")
                count += 1
    written = "1 patch" if count == 1 else f"{count} patches"
    sys.stderr.write(f"{written}; `git apply FILE` in the repository applies one.\n")
    return 0


async def _certificates(arguments: argparse.Namespace) -> int:
    """Write a new certificate and its key; those that are there stay."""
    from agent_ls.batch.page import write_private

    folder = _path(arguments.folder)
    for name, text in temporary_certificate().items():
        if (folder / name).exists():
            raise SettingsError(f"{folder / name} already exists; choose another folder.")
        write_private(folder / name, text.encode())
        sys.stdout.write(f"{folder / name}\n")
    sys.stderr.write("Whoever has both files runs programs on all workers: keep them secret.\n")
    return 0


@asynccontextmanager
async def _store(arguments: argparse.Namespace) -> AsyncGenerator[SqlStore]:
    """Yield the store. Errors: ``SettingsError`` for a mistake in the settings."""
    if arguments.store:
        # Also for the workers that are started here; a URL of a file has no relative path.
        os.environ[_STORE_VARIABLE] = arguments.store
    loaded = load_settings(command_line=parse_sets(arguments.set))
    tell_problems(loaded)
    os.environ[_STORE_VARIABLE] = place = store_place(loaded.settings)
    store = open_store(place)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def _client(arguments: argparse.Namespace, store: SqlStore) -> AsyncGenerator[Any]:
    refuse_plaintext(arguments.scheduler)
    if arguments.scheduler and store.location.path is not None:
        raise SettingsError(
            f"Workers on other machines cannot use the file {store.shown}: give --store the URL "
            "of a PostgreSQL database, and the workers AGENT_LS_STORE_URL."
        )
    await store.ready()
    names = (arguments.tls_ca, arguments.tls_cert, arguments.tls_key)
    files = Certificates(*(_path(one) if one else None for one in names))
    async with open_client(arguments.scheduler, files, _jobs(arguments)) as client:
        yield client


def _jobs(arguments: argparse.Namespace) -> int:
    jobs: int = arguments.jobs if arguments.jobs is not None else os.cpu_count() or 1
    if jobs < 1:
        raise SettingsError("--jobs is the number of workers, at least 1.")
    return jobs


def _require_models(tasks: Sequence[Task], options: BatchOptions) -> None:
    """Refuse tasks without a model, as this machine's settings are those of its workers."""
    bare = [task for task in tasks if not (task.model or options.model)]
    for words in dict.fromkeys((*options.settings, *task.settings) for task in bare):
        if not load_settings(command_line=parse_sets(words)).settings.model:
            raise SettingsError(NO_MODEL)


async def _named(queue: BatchQueue, named: str) -> Batch:
    """Return the only batch whose id ends in ``named``. Errors: ``StoreError``."""
    if len(named) < _MIN_NAMED_CHARS:
        raise StoreError(f"{named!r} is too short: give at least {_MIN_NAMED_CHARS} characters")
    found = [one for one in await queue.batches() if one.batch_id.endswith(named)]
    if len(found) != 1:
        raise StoreError(
            f"{len(found) or 'no'} batches end in {named}; `agent-ls batch status` lists them"
        )
    return found[0]


def _variant(words: str) -> tuple[str, Mapping[str, str]]:
    name, colon, rest = words.partition(":")
    pairs = [one.partition("=") for one in rest.split(",")]
    if not colon or not name or any(not key or not equals for key, equals, _ in pairs):
        raise SettingsError(
            f"--variant {words}: write it as NAME:KEY=VALUE, such as small:model=openai/x"
        )
    return name, {key: value for key, _, value in pairs}


def _path(name: str) -> Path:
    return Path(name).expanduser().resolve()


def _mode(name: str) -> Mode:
    try:
        return Mode(name or Mode.AUTO)
    except ValueError:
        raise SettingsError(f"--mode {name}: the modes are {', '.join(Mode)}.") from None


def _positive(flag: str, value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise SettingsError(f"{flag} {value:g}: give a number above 0.")
    return value


def _tell(words: str) -> None:
    sys.stderr.write(f"agent-ls: {words}\n")
    sys.stderr.flush()
