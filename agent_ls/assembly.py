"""Builds the parts and joins them; nothing else constructs parts.

A part is a frozen dataclass whose fields name the ports it needs; they are filled by name.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_ls import catalogue
from agent_ls.domain.errors import bug
from agent_ls.domain.ids import Ids
from agent_ls.loop.hooks import Hooks
from agent_ls.loop.kit import Kit
from agent_ls.loop.ports import CompileChecks, Provider, Root, Workspace
from agent_ls.processes.launching import get_ready
from agent_ls.safety.trust import TrustedFolders, trust_file
from agent_ls.session.adviser import SideModel
from agent_ls.session.sessions import Sessions
from agent_ls.settings import Settings, store_place
from agent_ls.store.sql_store import open_store
from agent_ls.tools.spec import parameters_of
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.file_claims import FileClaims
from agent_ls.workspace.hook_commands import HookCommands
from agent_ls.workspace.runner import ShellRunner


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """Return the wall clock in milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        """Return a clock that never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


def open_disk_workspace(folders: Sequence[Path]) -> DiskWorkspace:
    """Return a workspace on the disk alone; each folder is trusted if the user has said so."""
    trusted = TrustedFolders(trust_file())
    return DiskWorkspace(
        tuple(Root(folder.name or "root", folder, trusted.is_trusted(folder)) for folder in folders)
    )


async def open_sessions(
    settings: Settings,
    workspace: Workspace,
    *,
    is_attended: bool,
    provider: Provider | None = None,
) -> Sessions:
    """Return the sessions over this workspace.

    Without a ``provider`` the model host begins to start, and ends with the sessions.
    Errors: ``StoreError`` when the store cannot be used.
    """
    clock = SystemClock()
    ids = Ids(clock.now_ms)
    store = open_store(store_place(settings))
    await get_ready()
    # Off the loop, and before the first turn has to wait for it.
    await asyncio.to_thread(lambda: [parameters_of(tool.Arguments) for tool in catalogue.TOOLS])
    host = provider or catalogue.PROVIDER(settings.provider)
    await host.start()
    runner = ShellRunner()
    ports: dict[str, object] = {
        "clock": clock,
        "ids": ids,
        "store": store,
        "provider": host,
        "workspace": workspace,
        "runner": runner,
        "hooks": Hooks(HookCommands(runner), workspace, settings.hooks),
        "checks": _compile_checks(settings, workspace),
        "claims": FileClaims(clock),
        "models": settings.models,
    }

    async def close() -> None:
        await asyncio.gather(store.close(), *(() if provider else (host.close(),)))

    return Sessions(
        store=store,
        workspace=workspace,
        clock=clock,
        ids=ids,
        build_kit=lambda approver, recorder: _kit(
            settings,
            {
                **ports,
                "approver": approver,
                "adviser": SideModel(recorder, host, clock, settings.models),
            },
        ),
        mode=settings.mode,
        model=settings.model,
        is_attended=is_attended,
        on_close=close,
    )


def _compile_checks(settings: Settings, workspace: Workspace) -> CompileChecks:
    ports = {"workspace": workspace}
    checkers = (_part(part, ports, settings.checkers) for part in catalogue.CHECKERS)
    return catalogue.COMPILE_CHECKS(tuple(checkers), workspace)


def _kit(settings: Settings, ports: Mapping[str, Any]) -> Kit:
    """Return one session's kit, in the catalogue's order."""

    def built(parts: Iterable[type[Any]], options: object) -> tuple[Any, ...]:
        return tuple(_part(part, ports, options) for part in parts)

    tools = built(catalogue.TOOLS, settings.tools)
    return Kit(
        options=settings.loop,
        models=settings.models,
        clock=ports["clock"],
        ids=ports["ids"],
        provider=ports["provider"],
        workspace=ports["workspace"],
        store=ports["store"],
        approver=ports["approver"],
        hooks=ports["hooks"],
        role=catalogue.ROLE,
        tools={tool.name: tool for tool in tools},
        specs=tuple(map(catalogue.spec_of, tools)),
        checks=built(catalogue.CHECKS, settings.policies),
        compactors=built(catalogue.COMPACTORS, settings.policies),
        injections=built(catalogue.INJECTIONS, settings.policies),
        recoveries=built(catalogue.RECOVERIES, settings.policies),
        guards=built(catalogue.GUARDS, settings.policies),
        follow_ups=built(catalogue.FOLLOW_UPS, settings.policies),
        gates=built(catalogue.GATES, settings.policies),
    )


def _part(part: type[Any], ports: Mapping[str, Any], options: object) -> Any:
    """Return one policy or tool with its ports and options."""
    values: dict[str, Any] = {}
    for one in dataclasses.fields(part):
        if one.name == "options":
            values["options"] = getattr(options, part.name)
        elif one.name in ports:
            values[one.name] = ports[one.name]
        elif one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING:
            raise bug(f"{part.__name__} wants {one.name!r}, which is no port")
    return part(**values)
