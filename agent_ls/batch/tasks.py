"""The tasks of a batch: what a file of JSON lines, TOML or CSV says, checked before anything runs.

Also a folder of tasks, each with its files, as evaluations have them.
"""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, cast

from pydantic import Field, ValidationError, field_validator, model_validator

from agent_ls.domain.errors import SettingsError
from agent_ls.domain.mistakes import UNKNOWN, mistakes
from agent_ls.domain.modes import Mode
from agent_ls.domain.record import Record
from agent_ls.domain.set_words import parse_sets
from agent_ls.settings import mistakes_in_settings

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TASK_FILE = "task.toml"
_FILES, _CHECK_FILES = "files", "check"
"""Beside a ``task.toml``: what the task begins with, and what the agent must not see."""
_NUMBERS = ("budget_usd", "timeout_s", "check_timeout_s")


class Task(Record):
    """One headless run in a checkout of its own."""

    id: str
    repository: str = ""
    """A folder with or without git, or a URL that git knows; empty: an empty folder."""
    ref: str = "HEAD"
    """A branch, a tag or a full commit id."""
    prompt: str = ""
    command: str = ""
    """A custom command such as ``/review src``, instead of a prompt."""
    model: str = ""
    mode: Mode | None = None
    budget_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    timeout_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    check: str = ""
    """A shell command that must exit with 0 in the checkout afterwards."""
    check_timeout_s: float = Field(default=600.0, gt=0, allow_inf_nan=False)
    labels: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    """``KEY=VALUE``, as ``agent-ls run --set`` takes them."""
    check_files: str = ""
    """A folder that is laid over the checkout before the check, such as tests that the agent must
    not see."""

    @field_validator("id")
    @classmethod
    def _names_a_folder(cls, value: str) -> str:
        if not _ID.fullmatch(value):
            raise ValueError("use up to 64 letters, digits, dots, dashes and underscores")
        return value

    @field_validator("settings")
    @classmethod
    def _are_pairs(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(one.partition("=")[0].strip() and "=" in one for one in value):
            raise ValueError("write each as KEY=VALUE")
        return value

    @model_validator(mode="after")
    def _says_what_to_do(self) -> Task:
        if bool(self.prompt.strip()) == bool(self.command.strip()):
            raise ValueError("give either a prompt or a command")
        return self

    @property
    def text(self) -> str:
        """Return what the agent is told."""
        return self.prompt if self.prompt.strip() else self.command


class BatchOptions(Record):
    """What all tasks of a batch have in common; a task's own value wins."""

    model: str = ""
    mode: Mode = Mode.AUTO
    timeout_s: float | None = None
    settings: tuple[str, ...] = ()


def read_tasks(path: Path) -> list[Task]:
    """Return the tasks of a file, or of a folder of tasks.

    Errors: ``SettingsError`` names the file and the place in it.
    """
    try:
        rows = list(_of_folder(path) if path.is_dir() else _of_file(path))
    except OSError as error:
        raise SettingsError(f"The tasks {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"The tasks {path} cannot be read: {error}.") from None
    tasks = [_task(where, values) for where, values in rows]
    if not tasks:
        raise SettingsError(f"{path} holds no task.")
    seen: set[str] = set()
    for (where, _), task in zip(rows, tasks, strict=True):
        # Folders of tasks are named by their ids, and not all disks tell cases apart.
        if task.id.lower() in seen:
            raise SettingsError(f"{where}: another task has the id {task.id!r} already.")
        seen.add(task.id.lower())
    return tasks


def variants(tasks: Sequence[Task], wanted: Sequence[tuple[str, Mapping[str, str]]]) -> list[Task]:
    """Return each task once for each variant, side by side in one batch.

    A variant is a name with a model or settings that differ. Errors: ``SettingsError``.
    """
    names = [name for name, _ in wanted]
    for name in names:
        if names.count(name) > 1:
            raise SettingsError(f"Two variants have the name {name!r}: give each its own.")
    return [_varied(task, name, values) for task in tasks for name, values in wanted]


def _varied(task: Task, name: str, values: Mapping[str, str]) -> Task:
    model = values.get("model", task.model)
    own = tuple(f"{key}={value}" for key, value in values.items() if key != "model")
    labels = tuple(sorted({*task.labels, f"task={task.id}", f"variant={name}"}))
    changed = {
        "id": f"{task.id}.{name}",
        "model": model,
        "settings": (*task.settings, *own),
        "labels": labels,
    }
    return _task(f"{task.id}, variant {name}", {**task.model_dump(), **changed})


def _task(where: str, values: Mapping[str, Any]) -> Task:
    try:
        task = Task.model_validate(values)
    except ValidationError as error:
        raise SettingsError(f"{where}: {'; '.join(_mistakes(error))}.") from None
    # Not the model's business, which also reads what older versions stored.
    if _has_secret(task.repository):
        raise SettingsError(
            f"{where}: leave out the login before {without_login(task.repository)}, which would be "
            "stored and shown: git's credential helpers and the workers' SSH keys are used."
        )
    check_settings(where, task.settings)
    if not _names_a_branch(task.id):
        raise SettingsError(
            f"{where}: git does not take the id {task.id!r} for a branch: leave out '..', and a "
            "'.' or '.lock' at the end."
        )
    return task


def _mistakes(error: ValidationError) -> Iterator[str]:
    for key, why in mistakes(error):
        near = get_close_matches(key, Task.model_fields, 1) if why == UNKNOWN else []
        meant = f" (did you mean {near[0]}?)" if near else ""
        yield f"{key}: {why}{meant}" if key else why


def check_settings(where: str, settings: Sequence[str]) -> None:
    """Refuse what tasks may not set, and what is no setting. Errors: ``SettingsError``."""
    if any(one.partition("=")[0].strip() == "store_url" for one in settings):
        raise SettingsError(
            f"{where}: leave out store_url, which would be stored and shown with its password; "
            "name the store with --store or AGENT_LS_STORE_URL."
        )
    if found := _mistakes_in(tuple(settings)):
        raise SettingsError(f"{where}: {' '.join(found)}")


@cache
def _mistakes_in(settings: tuple[str, ...]) -> list[str]:
    """Many tasks have the same settings, and a look takes milliseconds."""
    return mistakes_in_settings(parse_sets(settings))


def _has_secret(repository: str) -> bool:
    scheme, _, rest = repository.partition("://")
    login = rest.partition("/")[0].rpartition("@")[0]
    return ":" in login or (bool(login) and scheme in ("http", "https"))


def _names_a_branch(task_id: str) -> bool:
    return ".." not in task_id and not task_id.endswith((".", ".lock"))


def _of_folder(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a task for each folder inside that has a ``task.toml``."""
    for place in sorted(folder.glob(f"*/{_TASK_FILE}")):
        values = _toml(place)
        values.setdefault("id", place.parent.name)
        for key, name in (("repository", _FILES), ("check_files", _CHECK_FILES)):
            if (place.parent / name).is_dir():
                values.setdefault(key, name)
        yield str(place), _resolved(str(place), values, place.parent)


def _of_file(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    match path.suffix.lower():
        case ".jsonl" | ".ndjson":
            rows = _json_lines(path)
        case ".toml":
            rows = _toml_tables(path)
        case ".csv":
            rows = _csv_rows(path)
        case _:
            raise SettingsError(f"{path}: tasks are a folder, or a file .jsonl, .toml or .csv.")
    for where, values in rows:
        yield where, _resolved(where, values, path.parent)


def _resolved(where: str, values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the values with folders as absolute paths; they are relative to the tasks."""
    found = dict(values)
    for key in ("repository", "check_files"):
        value = found.get(key)
        if isinstance(value, str) and value and not _is_url(value):
            place = folder.joinpath(Path(value).expanduser()).resolve()
            if not place.is_dir():
                raise SettingsError(f"{where}: {key} {value!r} is not a folder.")
            found[key] = str(place)
    return found


def _is_url(text: str) -> bool:
    """Say whether git takes a text for an address; ``host:path`` is one, too."""
    front = text.partition("/")[0]
    return "://" in text or ":" in front


def without_login(repository: str) -> str:
    """Return a repository without the user's name and the password in a URL."""
    scheme, slashes, rest = repository.partition("://")
    if not slashes:
        return repository
    front, slash, path = rest.partition("/")
    return f"{scheme}://{front.rpartition('@')[2]}{slash}{path}"


def _json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(path.read_text("utf-8").split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            values: object = json.loads(line)
        except ValueError as error:
            raise SettingsError(f"{where} is no JSON: {_said(error)}.") from None
        if not isinstance(values, dict):
            raise SettingsError(f'{where}: a task is an object, such as {{"id": …}}.')
        yield where, cast("dict[str, Any]", values)


def _said(error: ValueError) -> str:
    """Return what is wrong with a line of JSON, whose own line number says nothing."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    return str(error)


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is no TOML: {error}.") from None


def _toml_tables(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    values = _toml(path)
    rows: object = values.pop("task", [])
    if values or not isinstance(rows, list):
        raise SettingsError(f"{path}: write each task as a table [[task]], and nothing else.")
    for number, row in enumerate(cast("list[object]", rows), start=1):
        if not isinstance(row, dict):
            raise SettingsError(f"{path}: write each task as a table [[task]], and nothing else.")
        yield f"{path}, task {number}", cast("dict[str, Any]", row)


def _csv_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a CSV file; an empty cell is a default, ``labels`` are words."""
    # A spreadsheet may begin its file with a byte order mark.
    text = path.read_text("utf-8-sig")
    for number, row in enumerate(csv.DictReader(io.StringIO(text)), start=1):
        where = f"{path}, row {number}"
        if None in row:
            raise SettingsError(f"{where} has more cells than the first line has names.")
        yield where, _cells(where, row.items())


def _cells(where: str, cells: Iterable[tuple[str, str | None]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, cell in cells:
        if not cell:
            continue
        try:
            values[key] = float(cell) if key in _NUMBERS else cell
        except ValueError:
            raise SettingsError(f"{where}: {key} is a number, not {cell!r}.") from None
        if key in ("labels", "settings"):
            values[key] = cell.split()
    return values
