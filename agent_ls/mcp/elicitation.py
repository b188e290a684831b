"""Asks the user what a tool server wants to know from them: a form field by field, or a page.

The schemas are those of the protocol's elicitation: flat, of texts, numbers, booleans and choices.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from pydantic import JsonValue

from agent_ls.loop.extension_points import ToolContext
from agent_ls.mcp.form_fields import YES, Field, read_form
from agent_ls.mcp.frames import Asked
from agent_ls.safety.text import cleaned

_DECLINE = "Decline"
_DECLINE_BESIDE_IT = "Decline to answer"
"""Where one of the form's own choices is called like the former."""
_ACCEPT = "Accept"
_OPENED = "I opened it"
_LEAVE_OUT = "Leave it empty"
_MAX_MESSAGE_CHARS = 2_000
_MAX_URL_CHARS = 2_000
_MAX_TRIES = 5
"""Answers that do not fit a field, before the form is given up."""
_MAX_OPTIONS = 20
_MAX_ASKED = 10
"""Requests of one call that are answered; more are declined."""
_GAP = re.compile(r"\n\s*\n\s*\n")
_PLAIN_HOST = re.compile(r"[a-z0-9.-]+")


class _Over(Exception):
    """The user declined the form, or gave no answer."""

    def __init__(self, action: str) -> None:
        super().__init__(action)
        self.action = action


@dataclass(frozen=True, slots=True)
class Elicitation:
    """Answers a server's questions during one call."""

    server: str
    context: ToolContext
    tell: Callable[[str], None]
    """Tells the user what was declined without asking them."""
    notes: list[str] = field(default_factory=list[str])
    """What the model should know about the answers."""
    asked: list[str] = field(default_factory=list[str])
    """The server's words so far."""

    async def answer(self, asked: Asked) -> dict[str, JsonValue]:
        """Return the protocol's result: the action, and with ``accept`` the content."""
        try:
            return await self._answer(asked)
        except _Over as over:
            return {"action": over.action}

    async def _answer(self, asked: Asked) -> dict[str, JsonValue]:
        message = _GAP.sub("\n\n", cleaned(asked.message).strip())[:_MAX_MESSAGE_CHARS]
        if len(self.asked) >= _MAX_ASKED:
            raise _Over("decline")
        self.asked.append(message)
        if self.context.ask is None:
            raise self._refused(f'"{message}" That was declined, as nobody can answer')
        head = f"The tool server {self.server} asks: {message}"
        if asked.url:
            return await self._page(head, asked.url)
        fields, problem = read_form(asked.form)
        if problem:
            raise self._refused(f'"{message}" That was declined, as {problem}')
        if not fields:
            await self._confirmed(head, _ACCEPT)
            return {"action": "accept", "content": {}}
        content: dict[str, JsonValue] = {}
        for number, one in enumerate(fields, 1):
            count = f" ({number} of {len(fields)})" if len(fields) > 1 else ""
            value = await self._value(f"{head}\n\n{one.title}{count}", one)
            if value is not None:
                content[one.name] = value
        return {"action": "accept", "content": content}

    async def _page(self, head: str, url: str) -> dict[str, JsonValue]:
        """Let the user open a page; we do not open it."""
        shown = cleaned(url)
        if shown != url or len(url) > _MAX_URL_CHARS or not _is_plain(url):
            why = "the page has no plain web address"
            raise self._refused(f"to open a page. That was declined, as {why}")
        await self._confirmed(f"{head}\n\nOpen this page if you trust it: {shown}", _OPENED)
        return {"action": "accept"}

    async def _confirmed(self, text: str, yes: str) -> None:
        """Return if the user agrees. Errors: ``_Over`` for all other words."""
        said = (await self._chosen(text, (yes,))).casefold()
        if said != yes.casefold() and said not in YES:
            raise self._over("decline", "they declined")

    async def _chosen(self, text: str, options: tuple[str, ...], default: str = "") -> str:
        """Return the user's words. Errors: ``_Over`` if they decline or do not answer."""
        assert self.context.ask is not None
        decline = _DECLINE
        if any(one.casefold() == decline.casefold() for one in options):
            decline = _DECLINE_BESIDE_IT
        said = await self.context.ask(text, (*options, decline), default)
        if not said.is_answered:
            raise self._over("cancel", "got no answer")
        if said.text.strip().casefold() == decline.casefold():
            raise self._over("decline", "they declined")
        return said.text.strip()

    async def _value(self, head: str, one: Field) -> Any:
        """Return the value of a field; None if it is left out. Errors: ``_Over``."""
        use_default = f"Use {one.shown(one.default)}" if one.default is not None else ""
        if one.choices and one.kind != "array":
            # The default is one of the choices; as the first it is the nearest.
            ordered = sorted(one.choices, key=lambda value: value != one.default)
            options, use_default = [one.choices[value] for value in ordered], ""
            default = one.shown(one.default) if one.default is not None else ""
        else:
            options = [*([use_default] if use_default else []), *one.choices.values()]
            default = use_default
        if not one.is_required:
            options.append(_LEAVE_OUT)
        listed = tuple(options) if len(options) <= _MAX_OPTIONS else ()
        problem = ""
        for _ in range(_MAX_TRIES):
            text = f"{problem}{head}: {one.words}{self._goes_to}"
            said = await self._chosen(text, listed, default)
            if use_default and said == use_default:
                return one.default
            if not one.is_required and said.casefold() == _LEAVE_OUT.casefold():
                return None
            try:
                return one.read(said)
            except ValueError as error:
                problem = f"That does not fit: {error}.\n\n"
        raise self._over("cancel", "got answers that did not fit")

    @property
    def _goes_to(self) -> str:
        return f"\n\n(Your answer goes to {self.server} and into this session: give no password.)"

    def _over(self, action: str, words: str) -> _Over:
        """Return the end of a form that the user saw, and note it for the model."""
        self.notes.append(f"(The tool server {self.server} asked the user, and {words}.)")
        return _Over(action)

    def _refused(self, words: str) -> _Over:
        """Return the end of a request that the user never saw; they and the model are told."""
        said = f"The tool server {self.server} asked the user {words}."
        self.notes.append(f"({said})")
        self.tell(said)
        return _Over("decline")


def _is_plain(url: str) -> bool:
    """Say whether a page's address shows where it leads, over a connection that is kept secret."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
    except ValueError:
        return False
    is_kept = parts.scheme == "https" or host in ("localhost", "127.0.0.1")
    is_named = _PLAIN_HOST.fullmatch(host) is not None and parts.username is None
    return parts.scheme in ("http", "https") and is_kept and is_named
