"""Small files in the user's data folder that several servers read and change."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import platformdirs
from pydantic import TypeAdapter, ValidationError

from agent_ls.domain.errors import SettingsError
from agent_ls.domain.mistakes import mistakes_said
from agent_ls.processes.file_locks import lock

_Value = TypeVar("_Value")

_FILE_MODE = 0o600
_FOLDER_MODE = 0o700


def user_file(name: str) -> Path:
    """Return the path of a file of this name in the data folder."""
    return Path(platformdirs.user_data_dir("agent-ls")) / name


def shared_problem(path: Path, status: os.stat_result) -> str:
    """Return what is wrong with a file of secrets that others can read; empty: nothing."""
    mode = stat.S_IMODE(status.st_mode)
    if os.name != "posix" or not mode & 0o077:
        return ""
    return (
        f"{path} can be read by others (mode {mode:04o}), so its keys are not used. "
        f"Run: chmod 600 {path}"
    )


def read_json(
    file: Path, kind: TypeAdapter[_Value], content: str, until_then: str
) -> _Value | None:
    """Return what the file holds; None if it is missing.

    ``content`` says what the file holds and ``until_then`` what to do, for messages.
    Errors: ``SettingsError`` when it cannot be read.
    """
    try:
        # Not pydantic's own reader, which refuses names that are not UTF-8.
        return kind.validate_python(json.loads(file.read_bytes()))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        why = error.strerror or str(error)
    except ValidationError as error:
        why = mistakes_said(error)
    except ValueError:
        why = "it is not JSON"
    raise SettingsError(f"The {content} in {file} could not be read: {why}. {until_then}")


@contextmanager
def changing(file: Path, content: str) -> Generator[Callable[[bytes], None]]:
    """Lock the file against other servers; yield a function that replaces it as a whole.

    ``content`` says what the file holds, for messages.
    Errors: ``SettingsError`` when it cannot be written.
    """
    try:
        file.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            with suppress(OSError):
                # If the file system has no locks, the last writer wins.
                lock(folder)
            yield lambda data: _replace(file, data)
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise SettingsError(
            f"The {content} could not be written to {file}: {error.strerror}. "
            "Make that folder writable and try again."
        ) from error


def _replace(file: Path, data: bytes) -> None:
    # Readers see the old file or the new one, never a part, even after a crash.
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.stem}-")
    try:
        with os.fdopen(handle, "wb") as new:
            os.fchmod(handle, _FILE_MODE)
            new.write(data)
            new.flush()
            os.fsync(handle)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
