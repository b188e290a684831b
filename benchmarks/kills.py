"""Kills a real server at random moments of real turns, and looks what is lost.

An editor, which outlives its server as editors do, drives turns with reads, edits of open and
closed files, commands and approvals. At a random moment the server gets SIGKILL; a new one starts,
is asked to resume, and often enough killed again while it does. Then every edit that somebody had
been told of must be there, every session must have come to its end, and no write or command may
have happened twice.

    python -m benchmarks.kills [KILLS] [--seed N] [--chains N] [--json]

exits with 1 when anything was lost, stuck or repeated.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from agent_ls.domain.events import StoredEvent
from agent_ls.loop.state.folding import fold_all
from agent_ls.store.sql_store import open_store
from benchmarks.editor import CAPABILITIES
from benchmarks.figures import Figure, finish
from benchmarks.kill_story import RAN, Before, Round, RoundModel, broken, marks_in, rerun
from benchmarks.machine import private_environment
from benchmarks.places import AGENT_LS, REPOSITORY
from tests.support.lsp_client import LspClient
from tests.support.lsp_connection import ServerError

_TURN_LIMIT_S = 120.0
_AGAIN = 0.3
"""How often a server that resumes is killed, too."""
_MODES = ("ask", "accept-edits", "auto")


@dataclass
class Tally:
    """What was seen so far; the sentences say what went wrong."""

    kills: int = 0
    cut_off: int = 0
    """Kills that left a turn open."""
    acknowledged: int = 0
    """Marks that were there, or said to be, when the server died."""
    lost: list[str] = field(default_factory=list[str])
    unresumable: list[str] = field(default_factory=list[str])
    repeated: list[str] = field(default_factory=list[str])
    left_behind: list[str] = field(default_factory=list[str])
    """Processes of a killed server that outlived it."""
    duration_s: float = 0.0
    kept: Path | None = None
    """The stores, logs and files of the servers, when something went wrong."""

    @property
    def wrong(self) -> list[str]:
        return [*self.lost, *self.unresumable, *self.repeated, *self.left_behind]

    def figures(self) -> list[Figure]:
        return [
            Figure("kills", self.kills),
            Figure("kills in the middle of a turn", self.cut_off),
            Figure("marks acknowledged before a kill", self.acknowledged),
            Figure("acknowledged edits lost", len(self.lost), goal=0),
            Figure("sessions unresumable", len(self.unresumable), goal=0),
            Figure("writes or commands rerun unasked", len(self.repeated), goal=0),
            Figure("processes left behind", len(self.left_behind), goal=0),
            Figure("duration", self.duration_s, "s"),
        ]


class Editor(LspClient):
    """An editor with a user who allows what is asked; counts what its server says."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, capabilities=CAPABILITIES, name="kills")
        self.incidents = 0
        self._incident = asyncio.Event()
        self._user: asyncio.Task[None] | None = None

    async def request(self, method: str, params: Any, timeout_s: float = _TURN_LIMIT_S) -> Any:
        """Ask with the patience that six servers on a busy machine need."""
        return await super().request(method, params, timeout_s)

    async def _take(self, message: dict[str, Any]) -> None:
        self.happened()
        await super()._take(message)

    def happened(self) -> None:
        """Count something of the turn, after which the server may be killed."""
        self.incidents += 1
        self._incident.set()

    async def until_incident(self, number: int) -> None:
        """Return when so many things have happened."""
        while self.incidents < number:
            self._incident.clear()
            await self._incident.wait()

    def attend(self) -> None:
        """Let the user answer from now on."""
        self._user = asyncio.create_task(self._answer_all())

    async def _answer_all(self) -> None:
        while True:
            await self.until(lambda: self._is_asked() or None, 3_600, "an approval")
            try:
                await self.execute("agent-ls.approval.resolve")
            except ServerError as error:
                # Nothing is answered without an id; the refusal names those that wait.
                for approval_id in re.findall(r"apr_\w+", str(error))[:1]:
                    with contextlib.suppress(ServerError):
                        await self.execute("agent-ls.approval.resolve", approval_id, "allow_once")
            # The diagnostic goes a moment after the answer.
            await asyncio.sleep(0.01)

    def user_state(self) -> str:
        """Say whether the user still answers, and whether something waits for them."""
        waits = "something waits" if self._is_asked() else "nothing waits"
        user = self._user
        if user is None or not user.done():
            return f"{waits} for the user"
        return f"{waits} for the user, who left: {user.exception()!r}"

    def _is_asked(self) -> bool:
        many = self.shown.diagnostics.values()
        return any(one.get("code") == "approval" for found in many for one in found)

    def ended(self) -> str | None:
        """Return how a turn that this server showed has ended."""
        values = (one for values in self.shown.progress.values() for one in values)
        return next((one.get("message") or "-" for one in values if one["kind"] == "end"), None)

    async def die(self) -> tuple[dict[str, str], list[psutil.Process]]:
        """Kill the server; return the texts that the editor still holds, and its children."""
        texts = {uri: one.text for uri, one in self.buffers.items()}
        pid = self.process().pid
        # A stopped process makes no children while they are counted.
        with contextlib.suppress(psutil.Error):
            children = psutil.Process(pid).children(recursive=True)
            await self._leave()
            await self.kill()
            return texts, children
        await self._leave()
        await self.kill()
        return texts, []

    async def _leave(self) -> None:
        if self._user is not None:
            self._user.cancel()
            await asyncio.gather(self._user, return_exceptions=True)


class Chain:
    """One workspace, in which one server after the other is killed."""

    def __init__(
        self,
        place: Path,
        model: RoundModel,
        chance: random.Random,
        tally: Tally,
        variables: Mapping[str, str],
    ) -> None:
        self._place = place
        self._root = place / "work"
        self._root.mkdir(parents=True)
        self._chance = chance
        self._tally = tally
        self._store = place / "home/data/agent-ls/store.db"
        self._log = place / "server.log"
        found = {
            "AGENT_LS_API_BASE": model.base_url,
            "AGENT_LS_API_KEY": "none",
            "AGENT_LS_MODEL": "openai/scripted",
            "PYTHONPATH": str(REPOSITORY),
            **variables,
        }
        self._env = private_environment(place / "home", found)
        self._incidents = 60
        """How many things happen in a turn; learnt from those that went to their end."""
        self._life_s = 2.0
        self._standby: asyncio.Task[Editor]

    async def run(self, first: int, kills: int) -> None:
        """Carry out rounds until there were so many kills; each goes on with the last server."""
        self._standby = asyncio.create_task(self._start())
        editor = await self._take_over({})
        try:
            for number in itertools.count(first):
                if self._tally.kills >= kills:
                    break
                editor = await self._round(Round(number), editor)
        finally:
            await editor.stop()
            await (await self._standby).stop()

    async def _start(self) -> Editor:
        editor = Editor(self._root)
        command = [*AGENT_LS, "serve", "--set", "save_fallback=never"]
        await editor.start(command, env=self._env, log=self._log)
        return editor

    async def _take_over(self, texts: dict[str, str]) -> Editor:
        """Return a server that starts while its predecessor still works; the next begins to."""
        editor = await self._standby
        self._standby = asyncio.create_task(self._start())
        for uri, text in texts.items():
            await editor.open(editor.path_of(uri).name, text=text)
        editor.attend()
        return editor

    async def _round(self, round_: Round, editor: Editor) -> Editor:
        """Carry out one turn whose server is killed at least once; return the last server."""
        round_.write_files(self._root)
        await editor.open(round_.open_file)
        session_id = (await editor.execute("agent-ls.session.new"))["sessionId"]
        await editor.execute("agent-ls.mode", self._chance.choice(_MODES))
        editor.shown.progress.clear()
        editor.incidents = 0
        prompted = asyncio.ensure_future(editor.execute("agent-ls.prompt", round_.prompt))
        await self._moment(editor)
        before: list[Before] = []
        while True:
            texts, children = await editor.die()
            was_answered = prompted.done() and prompted.exception() is None
            await asyncio.gather(prompted, return_exceptions=True)
            self._tally.kills += 1
            self._note_left(children)
            before.append(await self._look(session_id, texts, was_answered=was_answered))
            editor = await self._take_over(texts)
            if not before[-1].is_open:
                if was_answered and not before[-1].journal:
                    self._tally.unresumable.append(f"{session_id}: the prompt is not stored")
                break
            self._tally.cut_off += 1
            if not await self._resume(editor, session_id):
                break
            if len(before) < 3 and self._chance.random() < _AGAIN:
                await self._moment(editor)
                continue
            await self._end_of(editor, session_id)
            break
        await self._judge(round_, session_id, before, editor)
        return editor

    async def _moment(self, editor: Editor) -> None:
        """Wait for a random moment of the turn's life: by the clock, or by what happens."""
        began_s = time.monotonic()
        if self._chance.random() < 0.5:
            waiting = asyncio.ensure_future(asyncio.sleep(self._chance.uniform(0.0, self._life_s)))
        else:
            number = self._chance.randrange(1, self._incidents)
            waiting = asyncio.ensure_future(editor.until_incident(number))
        over = asyncio.ensure_future(
            editor.until(editor.ended, _TURN_LIMIT_S, "the end of the turn")
        )
        await asyncio.wait([over, waiting], return_when=asyncio.FIRST_COMPLETED)
        if over.done() and not over.exception():
            self._incidents = max(20, round(0.7 * self._incidents + 0.3 * editor.incidents))
            lived_s = time.monotonic() - began_s
            self._life_s = max(0.3, 0.7 * self._life_s + 0.3 * lived_s)
        await asyncio.sleep(self._chance.uniform(0.0, 0.02))
        for task in (over, waiting):
            task.cancel()
        await asyncio.gather(over, waiting, return_exceptions=True)

    async def _look(self, session_id: str, texts: dict[str, str], *, was_answered: bool) -> Before:
        """Take down what is certain while no server runs."""
        journal = await self._journal(session_id)
        marks = marks_in(self._root, list(texts.values()))
        self._tally.acknowledged += marks.total()
        return Before(journal, marks, was_answered)

    async def _journal(self, session_id: str) -> list[StoredEvent]:
        store = open_store(self._store)
        try:
            return await store.load(session_id)
        finally:
            await store.close()

    async def _ended_journal(self, session_id: str) -> list[StoredEvent]:
        """Return the journal once its end is stored, which is a moment after it was shown."""
        journal = await self._journal(session_id)
        for _ in range(100):
            if journal and not fold_all(journal).is_running:
                break
            await asyncio.sleep(0.05)
            journal = await self._journal(session_id)
        return journal

    async def _resume(self, editor: Editor, session_id: str) -> bool:
        editor.incidents = 0
        try:
            found = (await editor.execute("agent-ls.session.resume"))["sessionId"]
        except ServerError as error:
            self._tally.unresumable.append(f"{session_id}: {error}")
            return False
        if found != session_id:
            self._tally.unresumable.append(f"{session_id}: {found} was resumed instead")
            return False
        return True

    async def _end_of(self, editor: Editor, session_id: str) -> None:
        try:
            await editor.until(editor.ended, _TURN_LIMIT_S, "the end of the turn")
        except TimeoutError as error:
            state = f"; {editor.user_state()}"
            self._tally.unresumable.append(f"{session_id}: {error}{state}")

    async def _judge(
        self, round_: Round, session_id: str, before: Sequence[Before], editor: Editor
    ) -> None:
        """Compare what is there after the round with what was certain before."""
        journal = await self._ended_journal(session_id)
        texts = [one.text for one in editor.buffers.values()]
        marks = marks_in(self._root, texts)
        where = f"round {round_.number}, {session_id}"
        for one in before:
            lost = one.lost(round_, self._root, marks)
            self._tally.lost += [f"{where}: {words}" for words in lost]
        self._tally.repeated += [f"{where}: {words}" for words in rerun(journal, marks)]
        if before[0].was_answered or before[0].is_open:
            wrong = broken(before[-1].journal, journal)
            self._tally.unresumable += [f"{where}: {words}" for words in wrong]
        await self._tidy_up(round_, editor)

    async def _tidy_up(self, round_: Round, editor: Editor) -> None:
        """Close and remove the round's files, so that the next has only its own."""
        uri = editor.uri(round_.open_file)
        if uri in editor.buffers:
            await editor.close(uri)
        for place in self._root.glob(f"*_{round_.number}.*"):
            place.unlink()
        (self._root / RAN).unlink(missing_ok=True)

    def _note_left(self, children: list[psutil.Process]) -> None:
        """Count children that live on; what a command sleeps for is given that time."""
        _, alive = psutil.wait_procs(children, timeout=5)
        for child in alive:
            with contextlib.suppress(psutil.Error):
                self._tally.left_behind.append(f"{child.pid} {' '.join(child.cmdline())[:100]}")
                child.kill()


def _new_place() -> Path:
    return Path(tempfile.mkdtemp(prefix="agent-ls-kills-")).resolve()


async def kill(
    kills: int, *, seed: int = 1, chains: int = 3, variables: Mapping[str, str] | None = None
) -> Tally:
    """Kill so many servers, in several workspaces at once; return what was seen.

    The variables are set for the servers, besides their own.
    """
    tally = Tally()
    began_s = time.monotonic()
    root = _new_place()
    async with RoundModel() as model:

        async def run(chain: int) -> None:
            chance = random.Random(f"{seed}/{chain}")
            one = Chain(root / str(chain), model, chance, tally, variables or {})
            await one.run(1 + chain * 1_000_000, kills)

        await asyncio.gather(*map(run, range(chains)))
    if tally.wrong:
        tally.kept = root
    else:
        shutil.rmtree(root)
    tally.duration_s = time.monotonic() - began_s
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill servers and see what is lost.")
    parser.add_argument("kills", nargs="?", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1, help="which random moments")
    parser.add_argument("--chains", type=int, default=3, help="how many servers at once")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    tally = asyncio.run(kill(options.kills, seed=options.seed, chains=options.chains))
    for words in tally.wrong:
        sys.stderr.write(words + "\n")
    if tally.kept is not None:
        sys.stderr.write(f"the stores, logs and files are kept in {tally.kept}\n")
    return finish("kills", tally.figures(), as_json=options.json)


if __name__ == "__main__":
    raise SystemExit(main())
