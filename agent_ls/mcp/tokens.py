"""What the user's logins at tool servers gave us, kept 0600 in their data folder, by address."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agent_ls.domain.record import Record
from agent_ls.processes.file_locks import locked
from agent_ls.safety.user_files import changing, user_file

_MAX_RENEWAL_S = 30.0


class Login(Record):
    """One login; the texts are JSON of the OAuth library."""

    url: str
    """A login is sent to this address and no other."""
    client: str = ""
    tokens: str = ""
    expires_s: float | None = None
    """Seconds since 1970; None: it does not say."""
    metadata: str = ""
    """Of the authorization server, which need not be known from the address when tokens end."""
    resource: str = ""
    """What the tool server says of itself as a protected resource."""
    lacks: str = ""
    """The scope that a call was refused without: the next login asks for it, too."""


_LOGINS: TypeAdapter[tuple[Login, ...]] = TypeAdapter(tuple[Login, ...])


@dataclass(frozen=True, slots=True)
class SavedLogins:
    """The logins in a file that may not exist."""

    file: Path

    def find(self, url: str) -> Login | None:
        """Return the login of an address; None without a usable one."""
        return next((one for one in self._all() if one.url == url), None)

    def update(self, url: str, **values: Any) -> None:
        """Change parts of a login; errors: ``SettingsError``."""

        def changed(old: tuple[Login, ...]) -> tuple[Login, ...]:
            login = next((one for one in old if one.url == url), Login(url=url))
            others = (one for one in old if one.url != url)
            return (*others, login.model_copy(update=values))

        self._change(changed)

    def forget(self, url: str) -> None:
        """Remove the login of an address; errors: ``SettingsError``."""
        if self.find(url) is not None:
            self._change(lambda old: tuple(one for one in old if one.url != url))

    def _all(self) -> tuple[Login, ...]:
        try:
            return _LOGINS.validate_json(self.file.read_bytes())
        except (OSError, ValidationError):
            # Without it the user logs in again.
            return ()

    def _change(self, how: Callable[[tuple[Login, ...]], tuple[Login, ...]]) -> None:
        with changing(self.file, "logins at tool servers") as write:
            write(_LOGINS.dump_json(how(self._all())) + b"\n")


class Renewal:
    """Of all agent-ls processes of the user, one at a time makes the tokens of a login new.

    Many servers give a new refresh token each time, and take the use of an old one for a theft.
    """

    def __init__(self, url: str) -> None:
        digest = hashlib.sha256(url.encode(errors="replace")).hexdigest()[:16]
        self._file = user_file(f"tool-server-login-{digest}.lock")
        self._handle = -1

    async def begin(self) -> None:
        """Wait for the others; where that is not possible or takes too long, go on."""
        # A timeout is one of these errors.
        with suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._handle = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            async with asyncio.timeout(_MAX_RENEWAL_S):
                await locked(self._handle)

    def end(self) -> None:
        """Let the others go on."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def logins_file() -> Path:
    """Return the file that holds the logins."""
    return user_file("tool-server-logins.json")


def expiry_s(lasts_s: int | None) -> float | None:
    """Return when a token ends that lasts so long from now on."""
    return None if lasts_s is None else time.time_ns() / 1e9 + lasts_s
