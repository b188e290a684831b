"""Opens the sessions of the folders that a client names, under the settings of that moment."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from acp import Client, schema

from agent_ls.acp.editor_files import EditorFiles
from agent_ls.acp.tool_servers import ToolServer, settings_of
from agent_ls.assembly import open_sessions
from agent_ls.domain.errors import AgentLsError, SettingsError
from agent_ls.loop.ports.store import SessionSummary
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.trust import TrustedFolders, trust_file
from agent_ls.session.sessions import Sessions
from agent_ls.settings import Settings, load_settings, store_place
from agent_ls.store.sql_store import open_store

_log = logging.getLogger(__name__)

_NO_MODEL: Final = (
    'No model is set. Write `model = "…"` into the configuration (`agent-ls doctor` says where), '
    "or set AGENT_LS_MODEL and the provider's key in the environment of this agent's entry in the "
    "editor's settings."
)


@dataclass(frozen=True, slots=True)
class Opened:
    """The sessions of one set of folders under one set of settings."""

    settings: Settings
    workspace: EditorFiles
    sessions: Sessions


class Folders:
    """The folders of one client."""

    def __init__(self, client: Client, command_line: Mapping[str, Any]) -> None:
        """``command_line`` is a tree of settings, above all others."""
        self._client = client
        self._command_line = command_line
        self._opened: list[Opened] = []
        self.opening = asyncio.Lock()
        """Held around ``open`` and the opening of a session, so that neither is done twice."""
        self.lent = schema.FileSystemCapabilities()
        """What the client lets us do with its files."""

    async def open(
        self,
        cwd: str,
        *,
        additional_directories: Sequence[str] | None = None,
        mcp_servers: Sequence[ToolServer] | None = None,
        **_: Any,
    ) -> Opened:
        """Return the sessions of folders with today's settings and trust.

        Errors: ``AgentLsError`` for a folder or settings that cannot be used.
        """
        roots = _roots([cwd, *(additional_directories or ())])
        settings = await self._load(roots, mcp_servers or ())
        if not settings.model:
            raise SettingsError(_NO_MODEL)
        for one in self._opened:
            if one.workspace.roots == roots and one.settings == settings:
                return one
        workspace = EditorFiles(roots, self._client, self.lent)
        sessions = await open_sessions(settings, workspace, is_attended=True)
        self._opened.append(Opened(settings, workspace, sessions))
        return self._opened[-1]

    def of(self, workspace: EditorFiles) -> Opened:
        """Return the sessions that use this workspace."""
        return next(one for one in self._opened if one.workspace is workspace)

    async def sessions(self, cwd: str | None) -> list[SessionSummary]:
        """Return a folder's stored sessions, newest first; None: those of all folders."""
        roots = _roots([] if cwd is None else [cwd])
        store = open_store(store_place(await self._load(roots, ())))
        try:
            return await store.sessions([one.path.as_uri() for one in roots] or None)
        finally:
            await store.close()

    async def close(self) -> None:
        """Close all sessions; a running turn stays open and can be resumed."""
        await asyncio.gather(
            *(one.sessions.close() for one in self._opened), return_exceptions=True
        )

    async def _load(self, roots: tuple[Root, ...], servers: Sequence[ToolServer]) -> Settings:
        tree = self._command_line
        if servers and all(root.is_trusted for root in roots):
            # What the command line says of servers, it says to agent-ls.
            tree = {**settings_of(servers), **tree}
        elif servers:
            # A folder may have named them.
            names = ", ".join(one.name for one in servers)
            _log.warning("the editor's tool servers (%s) wait for the folder's trust", names)
        folders = [root.path for root in roots]
        loaded = await asyncio.to_thread(load_settings, folders=folders, command_line=tree)
        if loaded.own_problems:
            # As on the command line: a mistyped limit must not become no limit.
            raise SettingsError(" ".join(loaded.own_problems))
        for problem in loaded.problems:
            _log.warning("%s", problem)
        return loaded.settings


def _roots(folders: Sequence[str]) -> tuple[Root, ...]:
    """Return the folders with their trust. Errors: ``AgentLsError`` for one that cannot be used."""
    trusted = TrustedFolders(trust_file())
    roots: dict[str, Root] = {}
    for folder in folders:
        path = Path(folder)
        if not path.is_absolute() or not path.is_dir():
            raise AgentLsError(f"{folder} is not a folder: give the absolute path of one.")
        path = path.resolve()
        name = path.name or "root"
        if name in roots and roots[name].path != path:
            raise AgentLsError(f"Two folders are named {name}: give one its own session.")
        roots[name] = Root(name, path, trusted.is_trusted(path))
    return tuple(roots.values())
