"""Checks what works on this machine, and tells how to fix the rest."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agent_ls import __version__, catalogue
from agent_ls.assembly import built_in_checkers, held_builder, open_disk_workspace, tool_servers
from agent_ls.domain.errors import AgentLsError, ProviderError, ProviderFailure
from agent_ls.domain.hooks import HookPoint
from agent_ls.domain.messages import UserMessage
from agent_ls.domain.model_io import ModelRequest
from agent_ls.domain.sentences import sentence
from agent_ls.extension.agent_kinds import BUILT_IN, found_kinds
from agent_ls.extension.claude_home import agreed_home, unread_home, unread_words
from agent_ls.extension.skills import found_skills
from agent_ls.loop.ports.models import Provider
from agent_ls.safety.ripgrep import find_ripgrep
from agent_ls.safety.sandbox.advice import advice
from agent_ls.safety.sandbox.probe import SandboxOptions, probe
from agent_ls.settings import LoadedSettings, Settings, store_place, user_file
from agent_ls.store.sql_store import open_store

_PROBE_S = 30.0
_SIGNS = {"ok": "✓", "note": "·", "wrong": "✗"}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    state: Literal["ok", "note", "wrong"]
    """``note``: agent-ls works without it, but less well."""
    what: str
    words: str

    @property
    def line(self) -> str:
        """Return it for a user."""
        return f"{_SIGNS[self.state]} {self.what}: {self.words}"


async def diagnosed(
    loaded: LoadedSettings,
    folder: Path,
    *,
    asks_model: bool = False,
    server_states: Mapping[str, str] | None = None,
) -> list[Finding]:
    """Return what was found, in a fixed order.

    ``asks_model`` sends the model one short request. ``server_states`` says how running tool
    servers are, by name; without it, what is known of them from earlier.
    """
    found = [Finding("ok", "agent-ls", f"{__version__}, Python {platform.python_version()}")]
    found += _configuration(loaded)
    found += [one async for one in _model(loaded.settings, is_asked=asks_model)]
    found.append(await _store(loaded.settings))
    found += await _checkers(loaded.settings, folder)
    found.append(_ripgrep(folder))
    found.append(await asyncio.to_thread(_sandbox, loaded.settings.sandbox, folder))
    found += _own_parts(loaded.settings, folder)
    found += await _tool_servers(loaded.settings, folder, server_states or {})
    return found


def _configuration(loaded: LoadedSettings) -> list[Finding]:
    there = "read" if user_file().exists() else "not there, so defaults hold"
    wrong = [
        Finding("wrong" if problem in loaded.own_problems else "note", "configuration", problem)
        for problem in loaded.problems
    ]
    if any(one.words.startswith(f"{user_file()}: could not be read") for one in wrong):
        return wrong
    return [Finding("ok", "configuration", f"{user_file()} ({there})"), *wrong]


async def _model(settings: Settings, *, is_asked: bool) -> AsyncIterator[Finding]:
    """Check the model and its key; send a request only if the user asked for one."""
    if not settings.model:
        yield Finding(
            "wrong",
            "model",
            f'none is set: write model = "…" into {user_file()}, or set AGENT_LS_MODEL, to a '
            "litellm name such as anthropic/claude-sonnet-5-5 or ollama_chat/qwen3",
        )
        return
    if not await _is_provider_known(settings):
        yield Finding(
            "wrong",
            "model",
            f"{settings.model!r} names no provider: name the model as provider/name, for example "
            "anthropic/claude-sonnet-5-5 or ollama_chat/qwen3",
        )
        return
    yield Finding("ok", "model", settings.model)
    try:
        await catalogue.KEYS().access(settings.model, settings.provider.api_base)
    except ProviderError as error:
        about_key = (ProviderFailure.NO_KEY, ProviderFailure.NOT_SIGNED_IN)
        what = "key" if error.failure in about_key else "address"
        yield Finding("wrong", what, error.message)
        return
    yield Finding("ok", "key", "found, or none is needed")
    if not is_asked:
        untried = "not tried; `agent-ls doctor --probe` sends the model one short request"
        yield Finding("note", "answer", untried)
        return
    yield await probe_model(catalogue.PROVIDER(settings.provider), settings.model)


async def _is_provider_known(settings: Settings) -> bool:
    """Say whether the name has a provider; a bare name needs an address, or to be well known."""
    if "/" in settings.model or settings.provider.api_base:
        return True
    host = catalogue.PROVIDER(settings.provider)
    try:
        return (await host.facts(settings.model)).window_tokens > 0
    finally:
        await host.close()


async def probe_model(host: Provider, model: str) -> Finding:
    """Send the model one short request, close the host, and return what came of it."""
    request = ModelRequest(
        model=model,
        system="Answer with one word.",
        messages=(UserMessage(text="Say: yes"),),
        max_output_tokens=16,
    )
    try:
        async with asyncio.timeout(_PROBE_S):
            async for _ in host.stream(request):
                pass
        return Finding("ok", "answer", "the model answers")
    except ProviderError as error:
        return Finding("wrong", "answer", error.message)
    except TimeoutError:
        return Finding("wrong", "answer", f"the model did not answer within {_PROBE_S:.0f} s")
    finally:
        await host.close()


async def _store(settings: Settings) -> Finding:
    try:
        store = open_store(store_place(settings))
        try:
            await store.ready()
            # Opening does not check all of a large file; reading shows more damage.
            await store.sessions(parent_id=None)
        finally:
            await store.close()
        return Finding("ok", "store", store.location.shown)
    except AgentLsError as error:
        return Finding("wrong", "store", str(error))


async def _checkers(settings: Settings, folder: Path) -> list[Finding]:
    """Run every checker on an empty file of its language."""
    workspace = open_disk_workspace([folder])
    trust = (
        "trusted"
        if workspace.roots[0].is_trusted
        else "not trusted: nothing that it configures runs"
    )
    found = [Finding("ok", "folder", f"{folder} ({trust})")]
    async with held_builder(settings, workspace) as builder:
        checkers = built_in_checkers(settings, workspace, builder)
        found += [await _checked(checker) for checker in checkers]
    for command in settings.checkers.commands:
        own = catalogue.COMMAND_CHECKER(workspace, command)
        problem = await asyncio.to_thread(own.obstacle, workspace.roots[0])
        found.append(Finding("note" if problem else "ok", own.name, problem or command.command))
    return found


async def _checked(checker: Any) -> Finding:
    name = next((one for one in ("doctor.py", "doctor.ts") if checker.handles(one)), None)
    if name is None:
        return Finding("note", checker.name, "off, by your settings")
    try:
        report = await checker.check({name: ""})
    finally:
        await checker.end()
    problem = "; ".join((*report.problems, *report.cautions))
    return Finding("note" if problem else "ok", checker.name, problem or "works")


def _own_parts(settings: Settings, folder: Path) -> list[Finding]:
    hooks = [
        f"{hook.name} ({point})"
        for point in map(str, HookPoint)
        for hook in getattr(settings.hooks, point)
    ]
    found = [Finding("ok", "hooks", ", ".join(hooks))] if hooks else []
    roots = open_disk_workspace([folder]).roots
    home = agreed_home(settings.claude_home)
    if (unread := unread_home(settings.claude_home)) is not None:
        found.append(Finding("note", "~/.claude", unread_words(unread)))
    kinds, problems = found_kinds(user_file().parent, roots, home)
    if own := [name for name in kinds if name not in {kind.name for kind in BUILT_IN}]:
        found.append(Finding("ok", "sub-agents", ", ".join(own)))
    found += [Finding("wrong", "sub-agents", problem) for problem in problems]
    skills, problems = found_skills(user_file().parent, roots, home)
    if skills.found:
        found.append(Finding("ok", "skills", ", ".join(skills.found)))
    return found + [Finding("wrong", "skills", problem) for problem in problems]


async def _tool_servers(
    settings: Settings, folder: Path, states: Mapping[str, str]
) -> list[Finding]:
    """Say how the configured tool servers are; none is started."""
    servers = tool_servers(settings, open_disk_workspace([folder]))
    await servers.look()
    found = [
        Finding(
            "ok" if one.is_approved else "note", f"tool server {name}", states.get(name, one.state)
        )
        for name, one in servers.servers.items()
    ]
    return found + [Finding("wrong", "tool servers", problem) for problem in servers.problems]


def _sandbox(options: SandboxOptions, folder: Path) -> Finding:
    """Run a command in each sandbox until one holds it."""
    probed = probe(options, [folder.resolve()])
    if options.use == "off":
        return Finding("note", "sandbox", "off, by your settings: nothing holds a command")
    if probed.sandbox is None:
        told = (f"none works, so commands ask more often. {probed.why}", *advice())
        return Finding("note", "sandbox", " ".join(map(sentence, told)))
    held = f"{probed.sandbox.name} works: it was tried, and a command in it could not write"
    if not (probed.sandbox.remains or probed.passed_over):
        return Finding("ok", "sandbox", held)
    told = [held, probed.sandbox.remains, probed.passed_over, *advice()]
    return Finding("note", "sandbox", " ".join(sentence(one) for one in told if one))


def _ripgrep(folder: Path) -> Finding:
    if program := find_ripgrep([folder.resolve()]):
        return Finding("ok", "ripgrep", program)
    return Finding("wrong", "ripgrep", "not found; grep does not work without it. Install ripgrep")
