"""What every test gets: a private place on disk, no way out to the network, and honest skips.

Owns the surroundings only; fixtures that build parts of agent-ls live in tests/support or beside
the tests that need them.
"""

from __future__ import annotations

import ipaddress
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import hypothesis
import pytest
from hypothesis.internal.conjecture import providers

IN_CI = os.environ.get("CI") == "true"

# The same examples on every run: a failure that comes and goes teaches nothing.
hypothesis.settings.register_profile("steady", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("steady")
# Otherwise Hypothesis reads all loaded modules of ours for constants to try: examples would depend
# on what a process has imported, and in a clean clone the collection would take twice as long.
providers._get_local_constants = lambda: providers._local_constants

_KEPT_VARIABLES = {"AGENT_LS_EDITORS"}
_private: list[Path] = []


def pytest_configure(config: pytest.Config) -> None:
    """Give this process its own XDG places, an ear for Ctrl-C, and none of the user's model keys.

    The editors stay where their installer put them, which depends on the real cache folder.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    os.environ.setdefault("AGENT_LS_EDITORS", str(cache / "agent-ls" / "editors"))
    for name in list(os.environ):
        ours = name.startswith("AGENT_LS_") and name not in _KEPT_VARIABLES
        if ours or name.endswith("_API_KEY"):
            del os.environ[name]
    # What the text of a command decides is tested without a sandbox behind it; tests of the sandbox
    # switch it on.
    os.environ["AGENT_LS_SANDBOX"] = "off"
    place = Path(tempfile.mkdtemp(prefix="agent-ls-tests-"))
    _private.append(place)
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        folder = place / name.lower()
        folder.mkdir()
        os.environ[f"XDG_{name}_HOME"] = str(folder)
    os.environ["CLAUDE_CONFIG_DIR"] = str(place / "claude")
    # A shell's background jobs are deaf to Ctrl-C, and so would be every program that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.addaudithook(_refuse_the_network)


def pytest_unconfigure(config: pytest.Config) -> None:
    for place in _private:
        shutil.rmtree(place, ignore_errors=True)
    _private.clear()


def _is_loopback(host: object) -> bool:
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host in (None, "", "localhost"):
        return True
    try:
        address = ipaddress.ip_address(str(host))
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _refuse_the_network(event: str, args: tuple[object, ...]) -> None:
    """Refuse host look-ups beyond this machine, in this process; children are watched elsewhere."""
    if event == "socket.getaddrinfo" and not _is_loopback(args[0]):
        raise PermissionError(
            f"a test tried to look up the host {args[0]!r}; use a loopback server"
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """In CI a test that cannot run has failed, unless its reason begins with ``this machine``.

    CI installs every program that tests need; what a kernel or a network lacks it cannot install.
    """
    report = yield
    if IN_CI and report.skipped and ": this machine" not in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"a test may not be skipped in CI: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """In CI no module skips itself as a whole, because that hides which tests did not run."""
    report = yield
    if IN_CI and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"a module may not skip itself in CI: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return Path(__file__).parent.parent


@pytest.fixture(scope="session")
def warm_host(repository: Path) -> Iterator[Mapping[str, str]]:
    """Variables for a server that make its model host a fork of one that has imported all."""
    with tempfile.TemporaryDirectory(prefix="agent-ls-host-") as name:
        place = Path(name)
        address, interpreter = place / "door", place / "python"
        script = repository / "tests/support/warm_host.py"
        words = [sys.executable, "-I", "-S", str(script), str(address)]
        interpreter.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n")
        interpreter.chmod(0o755)
        with subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.support.warm_host", str(address)],
            cwd=repository,
            env={**os.environ, "PYTHONPATH": str(repository)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        ) as forks:
            assert forks.stdout is not None
            assert forks.stdout.readline() == b"ready\n"
            yield {"AGENT_LS_PROVIDER__PYTHON": str(interpreter)}
