"""What the server and its host of tool-server sessions say to each other: one JSON line each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, JsonValue

from agent_ls.domain.record import Record
from agent_ls.mcp.oauth_options import OAuthOptions

_SECRET = re.compile(r"auth|key|token|secret|cookie|passw", re.IGNORECASE)
MAX_LINE_BYTES = 16 * 2**20
"""Of one message, of a server or of ours."""
MAX_IMAGES_BYTES = 12 * 2**20
"""Of one result's images together, in base64; the others are only named."""

Failure = Literal["failed", "gone", "unsent", "timeout", "late", "changed"]
"""``gone``: the server ended or must be started again. ``unsent``: it had ended before the call.
``timeout``: it was ended, as it did not answer in time. ``late``: this call was not answered in
time, but the server runs. ``changed``: its definitions did."""


def is_secret_name(header: str) -> bool:
    """Say whether a header of this name holds what nobody else may know."""
    return _SECRET.search(header) is not None


class Launch(Record):
    """How a server is started or reached; nothing in it is looked up any more."""

    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = Field(default_factory=dict[str, str])
    cwd: str = "/"
    url: str = ""
    headers: Mapping[str, str] = Field(default_factory=dict[str, str])
    oauth: OAuthOptions = OAuthOptions()
    roots: tuple[str, ...] = ()
    """URIs of the folders that the agent works in, for a server that asks."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the words of headers, and the secrets, that no message may show."""
        found = [value for name, value in self.headers.items() if is_secret_name(name)]
        words = [word for value in found for word in value.split()]
        return (*words, *self.oauth.secrets.values())


class Order(Record):
    """What the host is to do for one server."""

    number: int
    op: Literal["open", "login", "call", "prompt", "resource", "close", "cancel", "answer"]
    """``cancel`` and ``answer`` are about the order of the same number."""
    server: str = ""
    launch: Launch | None = None
    name: str = ""
    arguments: Mapping[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """For ``answer``: the ``action`` and the ``content`` of the protocol's elicitation result."""
    pinned: str = ""
    """Digest of the definitions that the user approved; a call under others is not made."""
    limit_s: float = 60.0
    max_bytes: int = 200_000


class Asked(Record):
    """What a server asks the user while it carries out a call (elicitation)."""

    id: int
    message: str
    url: str = ""
    """A page that the user shall open; empty: they shall fill in a form."""
    form: dict[str, Any] = Field(default_factory=dict[str, Any])
    """The form's JSON schema, as the server sent it."""


class Reply(Record):
    """The answer to an order. With ``page`` or ``asked`` another reply follows."""

    number: int
    failure: Failure | None = None
    text: str = ""
    """The result's text, or what went wrong. For ``open``: what could not be listed."""
    value: str | None = None
    """The result's content without the names of its parts; None: it is the text."""
    is_cut: bool = False
    """The text and the value are not the whole result."""
    is_error: bool = False
    """The tool says that it failed."""
    images: tuple[str, ...] = ()
    """Of a call's result, in base64."""
    page: str = ""
    """For ``login``: the page that the user has to open."""
    asked: Asked | None = None
    """For ``call``: what the server asks the user; an order ``answer`` answers it."""
    tools: tuple[dict[str, Any], ...] = ()
    """For ``open`` and ``changed``: the definitions, as the server sent them."""
    prompts: tuple[dict[str, Any], ...] = ()
    """For ``open``: the prompts, as the server sent them."""
    instructions: str = ""
    """For ``open``: the server's words on how to use it."""
