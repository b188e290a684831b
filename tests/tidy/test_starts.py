"""Every place that starts a program or looks for one on PATH, and what keeps it safe.

Nothing of the workspace, and no program that reads it, runs outside of a view, unless the user
said so. PATH may begin with a folder of the workspace, such as that of an activated ``.venv``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

Modules = dict[str, ast.Module]

OURS = "our own interpreter, by its path, imports and reads nothing of the workspace"
INSIDE = "runs as what the caller has started, in the same view, by its full path"
READ_ONLY = "in the read-only view; without a sandbox git only lists what it tracks, starts none"
NO_VIEW = "a program outside the workspace, by its path, that no file configures and starts none"
VIEW = "in the view of the call, the hook or the checker; outside only as the user said"
ANY = "by the full path that the caller gives; the caller stands in this table"
OUTSIDE = "looks only outside of the workspace"
JUDGES = "only judges the name, and starts nothing"
APPROVED = "as the user approved it: a name is a program outside, or its path was shown"
BROWSER = "the user's browser, looked for outside of the workspace"
NAMED = "the user's command line names it, and it runs as the editor would run it"

GIT = "git of ours in repositories of ours, with neither hooks, filters nor settings of a workspace"

STARTS = {
    "batch/attempt.py _agent": OURS,
    "batch/git.py git": GIT,
    "checkers/process.py _run": VIEW,
    "checkers/process.py start_server": VIEW,
    "cli/chat/clipboard.py _printed": NO_VIEW,
    "cli/demo.py _start_scripted": OURS,
    "cli/forked_runs.py _forked": OURS,
    "cli/report.py _open": BROWSER,
    "codeintel/mentions.py files_with": NO_VIEW,
    "codeintel/worker_link.py _started": OURS,
    "lsp/demo_editor.py begin": OURS,
    "lsp/proxy/peer.py start": NAMED,
    "mcp/link.py _started": OURS,
    "mcp/program_pipes.py opened": APPROVED,
    "processes/launcher.py _spawned": ANY,
    "processes/launching.py __init__": OURS,
    "providers/host_process.py spawn": OURS,
    "safety/sandbox/landlock.py find_landlock": OURS,
    "safety/sandbox/landlock_run.py main": INSIDE,
    "safety/sandbox/linked_files.py _by_find": NO_VIEW,
    "safety/sandbox/own_git.py _run": READ_ONLY,
    "safety/sandbox/probe.py _try": NO_VIEW,
    "tools/searching.py _run": NO_VIEW,
    "workspace/git_changes.py _git": READ_ONLY,
    "workspace/listing.py _by_ripgrep": NO_VIEW,
    "workspace/proxy_listener.py main": INSIDE,
    "workspace/runner.py _start": VIEW,
    "workspace/supervisor.py _become": INSIDE,
    "workspace/supervisor.py _start": INSIDE,
    "workspace/environment.py _state": READ_ONLY,
    "workspace/web_pages.py _as_markdown": OURS,
}
LOOKS_UP = {
    "checkers/programs.py find_program": VIEW,
    "lsp/proxy/peer.py start": NAMED,
    "mcp/starting.py program_of": JUDGES,
    "safety/plain_reads.py _is_systems": JUDGES,
    "safety/programs.py find_outside": OUTSIDE,
}
_STARTERS = {
    "subprocess": {"run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"},
    "os": {"system", "popen", "startfile", "fork", "forkpty"},
    "pty": {"spawn", "fork"},
    "webbrowser": {"open", "open_new", "open_new_tab"},
}
_ANYWHERE = {
    *("Popen", "create_subprocess_exec", "create_subprocess_shell", "subprocess_exec"),
    *("subprocess_shell", "posix_spawn", "posix_spawnp", "ProcessPoolExecutor", "stdio_client"),
    *("open_process", "run_process", "start_piped", "start_io"),
}
_FAMILIES = ("exec", "spawn")
"""Beginnings of the functions of ``os`` that start programs."""


def _starts(call: ast.Call, imported: set[str]) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            is_family = module == "os" and name.startswith(_FAMILIES)
            return name in _ANYWHERE or name in _STARTERS.get(module, ()) or is_family
        case ast.Attribute(attr=name):
            return name in _ANYWHERE
        case ast.Name(id=name):
            return name in _ANYWHERE or name in imported
        case _:
            return False


def _imported(tree: ast.Module) -> set[str]:
    """Return the names that start programs and are imported alone."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            known = _STARTERS.get(node.module, set[str]())
            if node.module == "agent_ls.processes.launching":
                known = {"start", "start_piped"}
            found |= {one.asname or one.name for one in node.names if one.name in known}
            if node.module == "os":
                names = (one.name for one in node.names)
                found |= {one for one in names if one.startswith(_FAMILIES)}
    return found


def _places(modules: Modules, *, look_up: bool) -> Iterator[str]:
    """Yield the function around each such call."""
    for path, tree in modules.items():
        imported = _imported(tree)
        # Inner functions come later and win.
        owner: dict[ast.AST, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                owner |= dict.fromkeys(ast.walk(node), node.name)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            is_look_up = "which" in (getattr(node.func, "attr", ""), getattr(node.func, "id", ""))
            if is_look_up if look_up else _starts(node, imported):
                yield f"{path.removeprefix('agent_ls/')} {owner.get(node, 'at its top')}"


def test_every_place_that_starts_a_program_is_known(modules: Modules) -> None:
    found = set(_places(modules, look_up=False))
    # Its two kinds of starts go through the launcher.
    found.discard("processes/launching.py start")
    assert found == set(STARTS)


def test_every_place_that_looks_for_a_program_on_path_is_known(modules: Modules) -> None:
    assert set(_places(modules, look_up=True)) == set(LOOKS_UP)


def test_a_new_place_is_noticed() -> None:
    text = """
from subprocess import check_output
from agent_ls.processes.launching import start
import os, asyncio, subprocess
def a(): check_output(["git"])
async def b(): await start(["git"])
def c(): os.execvp("git", [])
async def d(): await asyncio.create_subprocess_shell("git")
def e(): subprocess.Popen("git")
def f(): os.popen("git")
"""
    found = _places({"agent_ls/x.py": ast.parse(text)}, look_up=False)
    assert sorted(found) == [f"x.py {name}" for name in "abcdef"]
