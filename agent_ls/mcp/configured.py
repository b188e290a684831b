"""Which tool servers there are: those of the user's settings, and of trusted folders.

A folder's ``.mcp.json`` is read only after the folder is trusted, and starts nothing by itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import Field, ValidationError

from agent_ls.domain.mistakes import mistakes_said
from agent_ls.domain.record import Record
from agent_ls.loop.ports.workspace import Root
from agent_ls.mcp.frames import is_secret_name
from agent_ls.mcp.oauth_options import OAuthOptions
from agent_ls.processes.reading import read_file
from agent_ls.safety.addresses import is_loopback
from agent_ls.safety.made_files import is_undecided
from agent_ls.safety.secrets import mask
from agent_ls.safety.text import visible, visible_line

WORKSPACE_FILE = ".mcp.json"
_FILE_BYTES = 256 * 2**10
_NAME = re.compile(r"(?!.*__)[A-Za-z0-9][A-Za-z0-9_-]{0,18}[A-Za-z0-9]|[A-Za-z0-9]")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SHARED = ("command", "args", "env", "cwd", "url", "headers")
"""What a folder's file may say of a server."""
_SHARED_OAUTH = {"clientId": "client_id", "callbackPort": "callback_port", "scopes": "scope"}
"""What it may say of the login, as other clients name it. Secrets are the user's to give."""


class ToolPatterns(Record):
    """Which of a server's tools the agent gets, by name or pattern."""

    allow: tuple[str, ...] = ()
    """Empty: all."""
    deny: tuple[str, ...] = ()

    def take(self, name: str) -> bool:
        """Say whether the agent gets the tool of this name."""
        is_allowed = not self.allow or any(fnmatchcase(name, one) for one in self.allow)
        return is_allowed and not any(fnmatchcase(name, one) for one in self.deny)


class ServerOptions(Record):
    """One tool server: a program to start, or an address."""

    command: str = ""
    """The program; it speaks the protocol on its standard input and output."""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Variables besides the few that every command gets. ``${NAME}`` is one of your own."""
    cwd: str = ""
    """Where it runs; empty: in your home folder, or in the folder whose file names it."""
    url: str = ""
    """Address of a server that is there already (streamable HTTP); instead of ``command``."""
    headers: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Sent with every request to ``url``. ``${NAME}`` is a variable of your own."""
    oauth: OAuthOptions = OAuthOptions()
    """How to sign in at ``url``, if agent-ls cannot register itself there."""
    enabled: bool = True
    sandbox: Literal["auto", "read-only", "off"] = "auto"
    """``read-only``: it reads the workspace, not your home, and changes nothing; auto: so for
    servers that a folder names, where this machine has a sandbox."""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 60.0
    """How long its start, or one call, may take."""
    tools: ToolPatterns = ToolPatterns()
    """Which of its tools the agent gets."""


class ToolServerOptions(Record):
    """The tool servers, by name, and how much they may say."""

    servers: Mapping[str, ServerOptions] = Field(default_factory=dict[str, ServerOptions])
    """Each ``[mcp.servers.NAME]`` is one; a name has at most 20 letters, digits, ``_``, ``-``."""
    max_result_bytes: Annotated[int, Field(ge=1_000, le=4_000_000)] = 200_000
    """A longer result is cut."""
    max_offered: Annotated[int, Field(ge=0)] = 20
    """With more tools than this, the model searches for those it needs."""


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """A configured server, ready to be judged and started."""

    name: str
    options: ServerOptions
    place: str = ""
    """The folder whose file names it; empty: the user's settings do."""
    has_sandbox: bool = True
    """Whether this machine has one."""

    @property
    def folder(self) -> str:
        """Return where its program runs."""
        base = Path(self.place) if self.place else Path.home()
        return str(base / Path(self.options.cwd).expanduser())

    @property
    def is_confined(self) -> bool:
        """Say whether its program belongs in a sandbox."""
        is_read_only = self.options.sandbox == "read-only"
        is_auto = self.options.sandbox == "auto" and bool(self.place)
        return bool(self.options.command) and (is_read_only or is_auto)

    @property
    def launch(self) -> tuple[str, ...]:
        """Return every fact of its start, one a line; equal lines start the same program."""
        options = self.options
        if options.url:
            return (
                f"url: {options.url}",
                *_hashed("header", options.headers),
                *(f"sign-in: {name} = {value}" for name, value in options.oauth.facts.items()),
                *_hashed("sign-in", options.oauth.secrets),
            )
        return (
            f"command: {options.command}",
            *(f"argument: {one}" for one in options.args),
            f"folder: {self.folder}",
            *_hashed("variable", options.env),
            # What was approved for the sandbox is asked about again where there is none.
            *(("sandbox: none",) if self.is_confined and not self.has_sandbox else ()),
        )

    @property
    def shown(self) -> str:
        """Return what is started, for a user, without secrets."""
        options = self.options
        oauth = {**options.oauth.facts, **options.oauth.secrets}
        values = {**options.headers, **oauth} if options.url else options.env
        first = mask(options.url) or " ".join(map(_quoted, (options.command, *options.args)))
        lines = [first, *(mask(f"{name}={value}") for name, value in sorted(values.items()))]
        source = str(Path(self.place) / WORKSPACE_FILE) if self.place else "your settings"
        where = "" if options.url else f"in {self.folder}, "
        return visible("\n".join([*lines, f"({where}named by {source})"]))


def plans(
    options: ToolServerOptions, roots: Iterable[Root], *, has_sandbox: bool = True
) -> tuple[tuple[ServerPlan, ...], tuple[str, ...]]:
    """Return the enabled servers, and what is wrong with others. Reads files: off the loop."""
    found: dict[str, ServerPlan] = {}
    problems: list[str] = []
    off = {name for name, one in options.servers.items() if not one.enabled}
    for plan in (*_own(options), *_shared(roots, problems)):
        if plan.name in off:
            # The user's own, and a folder's of this name.
            continue
        if wrong := _mistake(plan, found):
            problems.append(f"tool server {visible_line(plan.name[:60])}: {wrong}.")
        elif plan.options.enabled:
            found[plan.name] = replace(plan, has_sandbox=has_sandbox)
    return tuple(found.values()), tuple(problems)


def is_readable_on_the_way(url: str) -> bool:
    """Say whether others on the network can read what is sent to an address."""
    return url.startswith("http://") and not is_loopback(url)


def filled(values: Mapping[str, str]) -> dict[str, str]:
    """Return values with ``${NAME}`` and ``${NAME:-default}`` replaced from our environment."""
    return {
        name: _VARIABLE.sub(lambda m: os.environ.get(m[1]) or m[2] or "", value)
        for name, value in values.items()
    }


def _own(options: ToolServerOptions) -> Iterator[ServerPlan]:
    for name, server in options.servers.items():
        yield ServerPlan(name, server)


def _shared(roots: Iterable[Root], problems: list[str]) -> Iterator[ServerPlan]:
    for root in roots:
        if not root.is_trusted:
            continue
        path = root.path / WORKSPACE_FILE
        if path.exists() and is_undecided(path):
            problems.append(f"{path}: a command made it, and it does not count until you keep it.")
            continue
        try:
            read: Any = json.loads(read_file(path, max_bytes=_FILE_BYTES))
            servers = cast("dict[str, Any]", read["mcpServers"])
            for name, values in servers.items():
                known = {key: values[key] for key in _SHARED if key in values}
                if isinstance(oauth := values.get("oauth"), dict):
                    known["oauth"] = _shared_oauth(cast("dict[str, Any]", oauth))
                try:
                    server = ServerOptions.model_validate(known)
                except ValidationError as error:
                    wrong = mistakes_said(error)
                    problems.append(f"{path}: {visible_line(name[:60])}: {wrong}.")
                else:
                    yield ServerPlan(name, server, str(root.path))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            problems.append(f"{path}: it is not understood: {error!r}.")


def _shared_oauth(values: Mapping[str, Any]) -> dict[str, Any]:
    known = {ours: values[name] for name, ours in _SHARED_OAUTH.items() if name in values}
    if isinstance(known.get("scope"), list):
        known["scope"] = " ".join(map(str, known["scope"]))
    return known


def _mistake(plan: ServerPlan, others: Mapping[str, ServerPlan]) -> str:
    options = plan.options
    if not _NAME.fullmatch(plan.name):
        return "its name is no name of up to 20 letters, digits, _ and -, without __"
    if plan.name in others:
        return "another server has this name, so this one is left out"
    if bool(options.command) == bool(options.url):
        return "it needs either command or url"
    if options.url and not options.url.startswith(("https://", "http://")):
        return "its url must begin with https:// or http://"
    if options.command and options.oauth != OAuthOptions():
        return "its oauth needs a url"
    secrets = [name for name in options.headers if is_secret_name(name)]
    if is_readable_on_the_way(options.url) and (secrets or options.oauth != OAuthOptions()):
        what = f"its header {visible_line(secrets[0])}" if secrets else "its oauth"
        return f"{what} would be readable on the way there: its url must begin with https://"
    return options.oauth.mistake


def _hashed(what: str, values: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each value, which may be a secret: as a hash."""
    for name, value in sorted(values.items()):
        whole = filled({name: value})[name]
        yield f"{what}: {name} = {hashlib.sha256(whole.encode(errors='replace')).hexdigest()[:16]}"


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w@%+=:,./-]+", word) else json.dumps(word, ensure_ascii=False)
