"""Reads ``sign_ins.toml``: accounts to sign in with, and where their tokens are.

Knows neither addresses nor litellm, so the server may load it. The model host signs in.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from agent_ls.domain.record import Record
from agent_ls.providers.shapes import as_object
from agent_ls.safety.user_files import changing, shared_problem, user_file


class Outcome(StrEnum):
    """What an endpoint answers to the question whether the user has agreed."""

    PENDING = "pending"
    SLOWER = "slower"
    """Pending, and asked too often."""
    EXPIRED = "expired"
    DENIED = "denied"
    OFF = "off"
    """The account or its workspace does not allow codes."""
    FAILED = "failed"


class SignIn(Record):
    """One kind of account."""

    name: str
    """What users call it: ``agent-ls login NAME``."""
    provider: str
    """The first part of its models' names."""
    title: str
    plan: str
    """What the user needs to have."""
    folder: str
    """The variable that moves the folder of its files."""
    files: Mapping[str, str]
    """Names of its files, by the variable that changes them. Whoever has the first is signed in."""
    variables: tuple[str, ...]
    """Other variables of litellm's that the model host gets."""
    waiting: frozenset[int]
    """HTTP statuses that mean ``PENDING`` if the words say nothing else."""
    off_status: frozenset[int]
    """HTTP statuses of a request for a code that mean ``OFF``."""
    if_off: str
    """What the user does where codes are switched off."""

    @property
    def command(self) -> str:
        """Return the command that signs in."""
        return f"agent-ls login {self.name}"

    def paths(self, env: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the files, in the order of ``files``."""
        given = Path(env.get(self.folder) or user_file("sign-ins") / self.name).expanduser()
        # The folder that agent-ls runs in is the editor's choice.
        folder = Path.home() / given
        names = (Path(env.get(name) or usual) for name, usual in self.files.items())
        return tuple(folder / name.expanduser() for name in names)

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that lead the model host to the same files and addresses."""
        files = dict(zip(self.files, map(str, self.paths(env)), strict=True))
        moved = {name: env[name] for name in self.variables if env.get(name)}
        return {self.folder: str(self.paths(env)[0].parent), **files, **moved}

    def is_there(self, env: Mapping[str, str]) -> bool:
        """Say whether there is a token that may still work. Errors: ``PermissionError``."""
        path = self.paths(env)[0]
        try:
            with path.open(encoding="utf-8") as file:
                if problem := shared_problem(path, os.fstat(file.fileno())):
                    raise PermissionError(problem)
                text = file.read().strip()
        except PermissionError:
            raise
        except (OSError, UnicodeDecodeError):
            return False
        return bool(refresh_token(text)) if path.suffix == ".json" else bool(text)

    def forget(self, env: Mapping[str, str]) -> bool:
        """Delete the tokens; return whether there were any. Errors: ``SettingsError``."""
        there = [path for path in self.paths(env) if path.exists()]
        if there:
            # Under the lock, so that a refresh that is under way does not bring them back.
            with changing(there[0], f"sign-in at {self.title}"):
                for path in there:
                    path.unlink(missing_ok=True)
        return bool(there)

    def outcome(self, status: int, words: str) -> Outcome:
        """Return what an answer that grants nothing means."""
        for row in _TABLE.answer:
            if re.search(row.words, words.lower()):
                return row.outcome
        if status == 429:
            return Outcome.SLOWER
        is_waiting = status in self.waiting or status >= 500
        return Outcome.PENDING if is_waiting else Outcome.FAILED


class _Answer(Record):
    outcome: Outcome
    words: str


class _Table(Record):
    answer: tuple[_Answer, ...]
    sign_in: tuple[SignIn, ...]


_TABLE: Final = _Table.model_validate(
    tomllib.loads(Path(__file__).with_name("sign_ins.toml").read_text("utf-8"))
)
SIGN_INS: Final[Mapping[str, SignIn]] = {one.name: one for one in _TABLE.sign_in}
_BY_PROVIDER: Final = {one.provider: one for one in _TABLE.sign_in}


def sign_in_of(provider: str) -> SignIn | None:
    """Return how to sign in at a provider; None if it takes keys."""
    return _BY_PROVIDER.get(provider)


def refresh_token(text: str) -> str:
    """Return the token that gets others, from the text of ChatGPT's file; empty without one."""
    try:
        token = as_object(json.loads(text)).get("refresh_token")
    except ValueError:
        return ""
    return token if isinstance(token, str) else ""
