"""A batch over two hosts with names and addresses of their own, and PostgreSQL over TCP."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.batch.conftest import WRITES
from tests.batch.hosts import HUB, Host, end_group, set_link, three_hosts
from tests.store.postgres import PostgresMissing, running_postgres

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

_LIMIT_S = 240.0
_MODEL_PORT = 40123
_COUNTS = """
[[answer]]
when = { contains = "Count" }
repeat = 0
[[answer.call]]
tool = "run_command"
arguments = { command = "echo once >> MARKS; echo x > made.txt" }

[[answer]]
when = { contains = "goes on now" }
text = "Done."
repeat = 0

[[answer]]
delay_ms = DELAY
text = "Done."
repeat = 0
"""
_AGAIN = """
[[answer]]
delay_ms = DELAY
[[answer.call]]
tool = "run_command"
arguments = { command = "echo twice >> MARKS" }
"""
"""What the model wants after the first command, unless another host went on."""


@dataclass
class Site:
    """The three hosts with a database, a scheduler and the user's files."""

    hub: Host
    workers: tuple[Host, Host]
    folder: Path
    running: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]])

    def start(self, host: Host, name: str, *command: str) -> subprocess.Popen[bytes]:
        process = host.start(*command, log=self.folder / f"{name}.log")
        self.running.append(process)
        return process

    @property
    def _tls(self) -> list[str]:
        tls = self.folder / "tls"
        return [
            "--tls-ca-file", str(tls / "ca.pem"), "--tls-cert", str(tls / "ca.pem"),
            "--tls-key", str(tls / "key.pem"),
        ]  # fmt: skip

    def scheduler(self) -> subprocess.Popen[bytes]:
        return self.start(
            self.hub, "scheduler", sys.executable, "-m", "dask", "scheduler",
            "--host", f"tls://{HUB}", "--port", "8786", "--no-dashboard",
            "--dashboard-address", "127.0.0.1:0", *self._tls,
        )  # fmt: skip

    def worker(self, host: Host) -> subprocess.Popen[bytes]:
        return self.start(
            host, f"worker{host.number}", sys.executable, "-m", "dask", "worker",
            f"tls://{HUB}:8786", "--host", f"tls://{host.address}", "--nthreads", "1",
            "--no-dashboard", "--dashboard-address", "127.0.0.1:0",
            "--memory-limit", "0", "--resources", "agent=1", *self._tls,
        )  # fmt: skip

    def models(self, scenario: str) -> None:
        """Play a scenario on each worker: a host's loopback is its own."""
        path = self.folder / "scenario.toml"
        path.write_text(scenario)
        for host in self.workers:
            self.start(
                host, f"model{host.number}", sys.executable, "-P", "-m",
                "agent_ls.providers.scripted", str(path), "--port", str(_MODEL_PORT),
            )  # fmt: skip

    def batch(self, *words: str) -> list[str]:
        tls = self.folder / "tls"
        return self.hub.agent(
            "batch", *words, "--scheduler", f"tls://{HUB}:8786", "--tls-ca", str(tls / "ca.pem"),
            "--tls-cert", str(tls / "ca.pem"), "--tls-key", str(tls / "key.pem"),
        )  # fmt: skip

    def statuses(self) -> list[dict[str, Any]]:
        return json.loads(self.run(self.hub.agent("batch", "status", "--json")).stdout)

    def status(self) -> dict[str, Any]:
        (told,) = self.statuses()
        return told

    def done(self) -> int:
        """Return how many tasks are done, also while the batch is not stored yet."""
        return sum(one["counts"]["done"] for one in self.statuses())

    def run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, env=self.hub.env, capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )


def until(holds: Callable[[], object], limit_s: float = _LIMIT_S) -> None:
    ends_s = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < ends_s, "it did not come true"
        time.sleep(0.1)


@contextmanager
def _site(home: dict[str, str], folder: Path) -> Generator[Site]:
    env = {name: value for name, value in home.items() if "PROVIDER__PYTHON" not in name}
    env["AGENT_LS_API_BASE"] = f"http://127.0.0.1:{_MODEL_PORT}/v1"
    with three_hosts(folder, env) as (hub, one, two):
        try:
            with running_postgres(HUB, hub.pid) as server:
                for host in (hub, one, two):
                    host.env["AGENT_LS_STORE_URL"] = server.url("postgres")
                site = Site(hub, (one, two), folder)
                try:
                    made = site.run(hub.agent("batch", "certificates", str(folder / "tls")))
                    assert made.returncode == 0, made.stderr
                    yield site
                finally:
                    end_group(site.running)
        except PostgresMissing as missing:
            pytest.skip(str(missing))


@pytest.fixture
def site(home: dict[str, str], tmp_path: Path, shop: Path) -> Generator[Site]:
    with _site(home, tmp_path) as made:
        yield made


def _tasks(folder: Path, count: int, prompt: str) -> str:
    path = folder / "tasks.jsonl"
    rows = [{"id": f"t{at}", "repository": "shop", "prompt": prompt} for at in range(count)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_tasks_run_on_both_hosts_and_strangers_are_kept_out(site: Site) -> None:
    site.scheduler()
    for host in site.workers:
        site.worker(host)
    site.models(WRITES)
    done = site.run(site.batch("run", _tasks(site.folder, 6, "Write a.txt"), "--json"))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {one["host"] for one in told["tasks"]} == {"host2", "host3"}
    # Without the certificate nobody is let in, and nobody is asked to trust plain TCP.
    other = site.hub.agent("batch", "resume", told["batch"], "--scheduler", f"tls://{HUB}:8786")
    assert site.run(other).returncode == 3
    plain = site.run(site.hub.agent("batch", "resume", told["batch"], "--scheduler",
                                    f"tcp://{HUB}:8786"))  # fmt: skip
    assert (plain.returncode, "is refused" in plain.stderr) == (3, True)


def _counting(site: Site, delay_ms: int, *, is_again: bool = False) -> Path:
    marks = site.folder / "marks"
    head, rest, last = _COUNTS.rpartition("\n[[answer]]\ndelay_ms")
    scenario = head + (_AGAIN if is_again else "") + rest + last
    site.models(scenario.replace("MARKS", str(marks)).replace("DELAY", str(delay_ms)))
    return marks


def test_a_worker_killed_in_mid_turn_is_followed_by_the_other_host(site: Site) -> None:
    site.scheduler()
    first = site.worker(site.workers[0])
    marks = _counting(site, 5_000)
    batch = site.start(site.hub, "batch", *_inner(site.batch("run", _one(site), "--json")))
    until(marks.exists)
    end_group([first])
    site.worker(site.workers[1])
    assert batch.wait(_LIMIT_S) == 0, (site.folder / "batch.log").read_text()
    (task,) = site.status()["tasks"]
    assert (task["host"], task["attempts"], task["state"]) == ("host3", 2, "done")
    assert marks.read_text() == "once\n"
    # What the command had written on the first host is part of the patch of the second.
    written = site.run(site.hub.agent("batch", "patches", site.status()["batch"], "--out",
                                      str(site.folder / "patches")))  # fmt: skip
    assert "made.txt" in Path(written.stdout.strip()).read_text()


def test_a_host_that_is_cut_off_stops_before_its_next_effect(site: Site) -> None:
    site.scheduler()
    site.worker(site.workers[0])
    # The model runs on the host itself, so its second command arrives after the cut.
    marks = _counting(site, 5_000, is_again=True)
    batch = site.start(site.hub, "batch", *_inner(site.batch("run", _one(site), "--json")))
    until(marks.exists)
    set_link(site.hub, site.workers[0], "down")
    site.worker(site.workers[1])
    assert batch.wait(_LIMIT_S) == 0, (site.folder / "batch.log").read_text()
    (task,) = site.status()["tasks"]
    assert (task["host"], task["state"]) == ("host3", "done")
    until(lambda: not _runs_on(site.workers[0]))
    set_link(site.hub, site.workers[0], "up")
    assert marks.read_text() == "once\n"
    assert site.status()["tasks"] == [task]


def test_a_scheduler_that_is_killed_is_followed_by_a_resume(site: Site) -> None:
    scheduler = site.scheduler()
    workers = [site.worker(host) for host in site.workers]
    site.models(WRITES.replace("[[answer]]\n", "[[answer]]\ndelay_ms = 1000\n"))
    batch = site.start(
        site.hub, "batch", *_inner(site.batch("run", _tasks(site.folder, 8, "Write a.txt")))
    )
    until(lambda: site.done() >= 2)
    end_group([scheduler])
    assert batch.wait(_LIMIT_S) in (1, 2)
    assert "batch resume" in (site.folder / "batch.log").read_text()
    end_group(workers)
    site.scheduler()
    for host in site.workers:
        site.worker(host)
    done = site.run(site.batch("resume", site.status()["batch"], "--json"))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["counts"]["done"] == 8
    assert told["cost_usd"] == pytest.approx(8 * 0.006)


def _one(site: Site) -> str:
    return _tasks(site.folder, 1, "Count")


def _inner(words: list[str]) -> list[str]:
    """Return a host's command without what enters the host, which ``start`` adds."""
    return words[words.index(sys.executable) :]


def _runs_on(host: Host) -> list[psutil.Process]:
    """Return the runs of agent-ls that work in a host's home."""
    home = host.env["HOME"]
    return [
        one
        for one in psutil.process_iter(["cmdline", "cwd"])
        if "agent_ls.cli.forked_runs" in (one.info["cmdline"] or ())
        and (one.info["cwd"] or "").startswith(f"{home}/")
        and "agent-ls-work" in one.info["cwd"]
    ]
