"""The main job on real projects: genuine changes to many files, headless and through Neovim.

    python -m benchmarks.real_projects [--only NAME ...] [--face headless|neovim ...] [--keep DIR]

Downloads three open-source projects at pinned versions, plays a scripted model that changes each
of them over several files, and checks that exactly the expected change came of it, that the gate
failed where it should, and that the project's own tests pass. No AI is involved.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_ls.safety.trust import TrustedFolders
from agent_ls.store.sql_store import open_store
from benchmarks import projects
from benchmarks.figures import print_table
from benchmarks.machine import private_environment
from benchmarks.places import AGENT_LS, REPOSITORY
from benchmarks.projects import Project, Template
from tests.editors.nvim import Neovim, NeovimSetup, find_neovim

_LIMIT_S = 300.0
_ALLOW = "Agent: Allow once — Run: "
_NEOVIMS = ((0, 11), (0, 7))


@dataclass
class Done:
    """One piece of work, and all that is wrong with it."""

    duration_s: float = 0.0
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The session's journal."""
    asked: list[str] = field(default_factory=list[str])
    """What a person was asked and allowed."""
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """What the model was asked."""
    problems: list[str] = field(default_factory=list[str])

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]


Face = Callable[[Project, Path, str, Path], Done]
"""Of a project, its folder, the model's address and a scratch folder."""


def headless(project: Project, root: Path, base_url: str, scratch: Path) -> Done:
    """Carry the prompt out by ``agent-ls run``, where nobody can be asked."""
    env = private_environment(scratch / "home", _variables(base_url))
    TrustedFolders(scratch / "home" / "data" / "agent-ls" / "trusted.json").trust(root)
    log = scratch / "events.jsonl"
    words = ("--workspace", str(root), "--mode", "auto", "--json", "--log-file", str(log))
    ran = subprocess.run(
        [*AGENT_LS, "run", project.prompt, *words],
        cwd=root,
        env=env,
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
    )
    done = Done()
    if log.exists():
        lines = log.read_text("utf-8").splitlines()
        done.events = [json.loads(line)["event"] for line in lines]
    if ran.returncode:
        done.problems.append(f"agent-ls run exited with {ran.returncode}: {ran.stderr[-2000:]}")
    else:
        result = json.loads(ran.stdout)
        if result["stop_reason"] != "completed":
            done.problems.append(f"the result says {result['stop_reason']}")
    return done


def neovim(project: Project, root: Path, base_url: str, scratch: Path) -> Done:
    """Carry the prompt out in a Neovim without plugins, whose user answers by code action."""
    env = {**_variables(base_url), "AGENT_LS_MODE": "accept-edits"}
    done = Done()
    with Neovim(_neovim(), root, NeovimSetup(variables=env)) as editor:
        for path in project.open:
            editor.open(path)
        editor.wait_until(
            lambda: editor.lua("local c = witness.client() return c and c.initialized or false"),
            "the server to start",
        )
        editor.execute("agent-ls.trust")
        turn = str(editor.execute("agent-ls.prompt", {"text": project.prompt})["turnId"])
        deadline = time.monotonic() + _LIMIT_S
        while not _has_ended(editor, turn):
            if time.monotonic() > deadline:
                done.problems.append(f"the turn did not end\n{editor.story()}")
                break
            _answer(editor, done)
        editor.command("silent wall")
        done.events = asyncio.run(_journal(editor.home / "data" / "agent-ls" / "store.db"))
    return done


def _answer(editor: Neovim, done: Done) -> None:
    """Allow the command that waits, if one does; a person saves before it runs."""
    waiting = [title for title in editor.offered() if title.startswith(_ALLOW)]
    if waiting:
        editor.command("silent wall")
        editor.act(waiting[0])
        done.asked.append(waiting[0].removeprefix(_ALLOW))
        editor.wait_until(lambda: waiting[0] not in editor.offered(), "the approval to go")


def _has_ended(editor: Neovim, turn: str) -> bool:
    return any(one["token"] == turn and one["kind"] == "end" for one in editor.progress)


def _neovim() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    places = Path(os.environ.get("AGENT_LS_EDITORS") or cache / "agent-ls" / "editors")
    for version in _NEOVIMS:
        if binary := find_neovim(version, places):
            return binary
    raise RuntimeError("there is no Neovim on this machine; run tests/editors/install.sh neovim")


async def _journal(place: Path) -> list[dict[str, Any]]:
    """Return the events of the one session in a store."""
    store = open_store(place)
    try:
        session = (await store.sessions())[0]
        return [one.event.model_dump(mode="json") for one in await store.load(session.session_id)]
    finally:
        await store.close()


def _variables(base_url: str) -> dict[str, str]:
    return {"AGENT_LS_MODEL": "openai/scripted", "AGENT_LS_API_BASE": base_url}


FACES: dict[str, Face] = {"headless": headless, "neovim": neovim}


def work(project: Project, template: Template, face: str, scratch: Path) -> Done:
    """Carry a project's work out in one way and find everything that is wrong with it."""
    scratch.mkdir()
    root = template.copy(scratch / project.name)
    record = scratch / "requests.jsonl"
    words = ("-m", "agent_ls.providers.scripted", str(project.scenario), "--record", str(record))
    model = subprocess.Popen(
        [sys.executable, *words], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    )
    try:
        assert model.stdout
        base_url = json.loads(model.stdout.readline())["base_url"]
        started_at = time.monotonic()
        done = FACES[face](project, root, base_url, scratch)
        done.duration_s = time.monotonic() - started_at
    finally:
        model.kill()
        model.communicate()
    if record.exists():
        done.requests = [json.loads(line) for line in record.read_text("utf-8").splitlines()]
    done.problems += _problems(project, done, is_asked=face != "headless")
    if (found := projects.diff_of(root)) != project.expected_diff:
        (scratch / "found.diff").write_text(found, "utf-8")
        done.problems.append(f"the change is not the expected one:\n{found[-4000:]}")
    done.problems += projects.verify(project, root, template, scratch)
    return done


def _problems(project: Project, done: Done, *, is_asked: bool) -> list[str]:
    """Return what of the session is not as it should be."""
    found = [request["problem"] for request in done.requests if request["problem"]]
    answers = project.scenario.read_text("utf-8").count("[[answer]]")
    if len(done.requests) != answers:
        found.append(f"the model was asked {len(done.requests)} times, not {answers}")
    stops = [event["stop"] for event in done.of("turn_ended")]
    if stops != ["completed"]:
        found.append(f"the turn ended as {stops}")
    gates = [event["text"] for event in done.of("gate_failed")]
    if len(gates) != project.gate_failures:
        found.append(f"the gate failed {len(gates)} times, not {project.gate_failures}: {gates}")
    missing = [word for word in project.gate_words if word not in "\n".join(gates)]
    if missing:
        found.append(f"the gate did not say {missing}: {gates}")
    wanted = project.commands if is_asked else 0
    if len(done.asked) != wanted:
        found.append(f"a person was asked {len(done.asked)} times, not {wanted}: {done.asked}")
    failed = [event for event in done.of("tool_call_finished") if event["result"].get("error")]
    return found + [f"a call failed: {event['result']}" for event in failed]


def _row(project: Project, face: str, done: Done) -> list[str]:
    edits = done.of("edit_applied")
    changed = {event["path"] for event in edits}
    return [
        f"{project.name} {project.version}",
        face,
        "NO" if done.problems else "yes",
        f"{done.duration_s:.1f}",
        str(len(done.requests)),
        str(len(done.of("tool_call_finished"))),
        str(len(edits)),
        str(len(changed)),
        str(len(done.of("gate_failed"))),
        str(len(done.asked)),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=projects.names(), default=projects.names())
    parser.add_argument("--face", nargs="+", choices=FACES, default=list(FACES))
    parser.add_argument("--keep", type=Path, help="work in this new folder and keep it")
    options = parser.parse_args()
    rows: list[list[str]] = []
    problems: list[str] = []
    with ExitStack() as stack:
        if options.keep:
            options.keep.mkdir(parents=True)
            scratch = options.keep.resolve()
        else:
            place = tempfile.TemporaryDirectory(prefix="agent-ls-real-", ignore_cleanup_errors=True)
            scratch = Path(stack.enter_context(place))
        for name in options.only:
            sys.stderr.write(f"--- {name}: fetching and setting up\n")
            project = Project.load(name)
            template = Template(project, scratch)
            for face in options.face:
                done = work(project, template, face, scratch / f"{name}-{face}")
                rows.append(_row(project, face, done))
                problems += done.problems
                how = "wrong" if done.problems else "right"
                sys.stderr.write(f"{name}, {face}: {how} after {done.duration_s:.0f} s\n")
                for problem in done.problems:
                    sys.stderr.write(f"    {problem}\n")
    headings = ("project", "through", "right", "seconds", "requests", "calls", "edits", "files")
    print_table((*headings, "gate failed", "approvals"), rows)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
