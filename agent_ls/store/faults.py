"""Turns a database exception into a ``StoreError`` that says what to do.

Also decides whether a retry can help; raises nothing itself. Does not import SQLAlchemy, so that
it can report that SQLAlchemy is missing.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Any, cast

from pydantic import ValidationError

from agent_ls.domain.errors import StoreError
from agent_ls.extras import install_command
from agent_ls.store.location import Location


@dataclass(frozen=True, slots=True)
class Fault:
    """Why jobs failed, and whether a retry can help."""

    error: StoreError
    is_shared: bool = False
    """The whole store is affected, not one job; the fault may pass."""
    is_lost: bool = False
    """The connection is gone; a new one may work."""
    is_silent: bool = False
    """The server did not answer in time; a retry would wait as long again."""


class Damage(Exception):
    """Stored data is damaged; ``explain`` makes the message for the user."""

    def __init__(self, what: str, why: str, *, kind: type[StoreError] = StoreError) -> None:
        """``what`` is damaged, ``why`` is the evidence, ``kind`` the error to raise instead."""
        super().__init__(f"{what}: {why}")
        self.what, self.why, self.kind = what, why, kind


# By prefix of SQLite's error name.
_SQLITE = {
    "SQLITE_FULL": "the disk is full. Free some space; agent-ls then goes on by itself.",
    "SQLITE_READONLY": "it is read-only. Make the file and its folder writable, "
    "or choose another place for the store in the settings.",
    "SQLITE_CANTOPEN": "the file cannot be opened. Check that its folder exists and belongs to "
    "you.",
    "SQLITE_BUSY": "another program keeps it locked. Close what has the file open and try again.",
    "SQLITE_IOERR": "the disk reports an error. Check the disk and its free space.",
}
_DAMAGED = ("SQLITE_NOTADB", "SQLITE_CORRUPT")
_MISSING = ("no such table", "no such column")
_DAMAGED_STATES = ("42P01", "42703", "XX001", "XX002")
"""SQLSTATEs for a missing table or column, damaged data and a damaged index."""

_CUT = "the connection was lost. Check that the server runs and can be reached."
# By prefix of PostgreSQL's SQLSTATE.
_POSTGRES = {
    "28": "the server refused the login. Check user and password in the URL.",
    "3D000": "that database does not exist. Create it (createdb) and try again.",
    "3F": "there is no schema to make tables in. Ask the database's owner for one.",
    "42501": "the user may not do that there. Grant it the right to create and write tables.",
    "53100": "the server's disk is full. Free some space; agent-ls then goes on by itself.",
    "53": "the server has no room for another connection. Try again later.",
    "25P03": _CUT,
    "57014": "a statement took too long. Try again later, or look what keeps the server busy.",
    "25006": "the server is read-only. Give the URL of the primary server.",
    "55P03": "another program keeps it locked. Close what has it open and try again.",
    "57P": "the server is shutting down or starting. Try again when it is up.",
    "08": _CUT,
}
_LOST = ("57P", "08", "25P03")


def explain(error: BaseException, location: Location) -> Fault:
    """Return the error for the user, with the flags that the writer needs."""
    if isinstance(error, StoreError):
        return Fault(error)
    if isinstance(error, Damage):
        return Fault(error.kind(_damage(error.what, f" ({error.why})", location)))
    if isinstance(error, ValidationError | json.JSONDecodeError | UnicodeDecodeError):
        # The error's own text would repeat the user's text.
        return Fault(StoreError(_damage("A row", f" ({type(error).__name__})", location)))
    # SQLAlchemy wraps drivers' errors. Its own text would repeat the statement's parameters,
    # which are the user's text.
    original = getattr(error, "orig", None) or error
    if location.path is None and _is_timeout(error):
        words = (
            "the server was reached but does not answer. Check the server and the network; "
            "agent-ls tries again by itself."
        )
        return _fault(location, words, is_lost=True, is_silent=True)
    if isinstance(original, sqlite3.Error):
        return _of_sqlite(original, location)
    if original is not error:
        was_cut = bool(getattr(error, "connection_invalidated", False))
        return _of_server(original, location, was_cut=was_cut)
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        if location.path is None:
            return _unreachable(location, reason)
        return _fault(location, f"{reason}. Check that its folder exists and belongs to you.")
    if isinstance(error, ModuleNotFoundError):
        words = (
            f"the Python package {error.name!r} is missing. Install agent-ls again; "
            f"what PostgreSQL needs comes with `{install_command('postgres')}`."
        )
        return _fault(location, words)
    return _fault(location, f"{type(error).__name__}: {error}", is_shared=False)


def _is_timeout(error: BaseException | None) -> bool:
    # Drivers wrap the timeout in errors of their own, and the cleanup after it fails too.
    while error is not None and not isinstance(error, TimeoutError):
        error = error.__cause__ or error.__context__
    return error is not None


def _of_sqlite(error: sqlite3.Error, location: Location) -> Fault:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(_DAMAGED) or str(error).startswith(_MISSING):
        why = ", or is not a store" if name == "SQLITE_NOTADB" else f" ({error})"
        return Fault(StoreError(_damage("The store", why, location)), is_shared=True)
    advice = next((words for start, words in _SQLITE.items() if name.startswith(start)), None)
    if advice is not None:
        return _fault(location, advice)
    return _fault(location, f"SQLite says: {error} ({name}).", is_shared=False)


def _of_server(error: BaseException, location: Location, *, was_cut: bool) -> Fault:
    code, words = _postgres_words(error)
    if code in _DAMAGED_STATES:
        return Fault(StoreError(_damage("The store", f" ({words})", location)), is_shared=True)
    advice = next((text for start, text in _POSTGRES.items() if code.startswith(start)), None)
    if advice is not None:
        return _fault(location, advice, is_lost=was_cut or code.startswith(_LOST))
    if not code:
        return _unreachable(location, words)
    return _fault(location, f"PostgreSQL says: {words} ({code}).", is_shared=False)


def _postgres_words(error: BaseException) -> tuple[str, str]:
    """Return SQLSTATE and message; no SQLSTATE means that the server was not reached."""
    first = error.args[0] if error.args else ""
    if isinstance(first, dict):
        fields = cast("dict[str, Any]", first)
        return str(fields.get("C", "")), str(fields.get("M", ""))
    return "", str(first)


def _damage(what: str, why: str, location: Location) -> str:
    if location.path is None:
        advice = "Restore a backup of the database, or name another one in the settings."
    else:
        advice = (
            "Restore a backup of the file, rescue what is readable with `sqlite3 FILE .recover`, "
            "or move the file away so that agent-ls begins a new one."
        )
    return (
        f"{what} cannot be read: it is damaged{why}. {location.shown} was left as it is; nothing "
        f"is written over what is damaged. {advice}"
    )


def _unreachable(location: Location, reason: str) -> Fault:
    words = f"the server cannot be reached ({reason}). Check that it runs, and the URL."
    return _fault(location, words, is_lost=True)


def _fault(
    location: Location,
    words: str,
    *,
    is_shared: bool = True,
    is_lost: bool = False,
    is_silent: bool = False,
) -> Fault:
    error = StoreError(f"The store {location.shown} cannot be used: {words}")
    return Fault(error, is_shared, is_lost, is_silent)
