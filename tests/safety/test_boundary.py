"""What commands really do in a view, by their effects: the text of a command decides nothing here.

Each row of the tables of attacks runs in each view of each sandbox. Outside of what the view may
change no file changes; no secret is printed; no listener is reached; no process is killed or left.
Without a view the same rows do all of this, so they are no blanks.
"""

from __future__ import annotations

import platform
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_ls.safety.sandbox.confinement import Sandbox, View
from agent_ls.safety.sandbox.probe import SandboxOptions, probe
from tests.safety.tables import advisories, requests, rows
from tests.support.boundary import Kind, World, in_view, rows_in, without_supervisor, without_view

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="this machine is no Linux")

_MACHINE_WIDE = re.compile(
    r"shutdown|reboot|\bhalt\b|poweroff|mkfs|wipefs|\bpkill|\bkillall|\bkill -9 -1|\bkill -1"
    r"|/dev/(?:sd|nvme)|sysrq|\bcrontab\b|\bat now\b"
)
"""Left out: a sandbox that fails here would harm the machine of whoever runs the tests."""
_SAMPLE = 60


def _attacks() -> Iterator[str]:
    for name in ("attacks_by_state", "attacks_by_place", "attacks_by_readers"):
        yield from rows(name)
    for row in requests("classes"):
        is_meant = row.get("kind") == "command" and row["expect"] != "allow"
        if is_meant and row["class"] != "catastrophic":
            yield row["command"]


ATTACKS = [row for row in dict.fromkeys(_attacks()) if not _MACHINE_WIDE.search(row)]
ADVISORIES = [row for _, row in advisories()]
PARTS = {
    "sample": ATTACKS[:: len(ATTACKS) // _SAMPLE],
    "all": ATTACKS,
    "advisories": ADVISORIES,
}


@pytest.fixture(
    params=[
        "sample",
        pytest.param("advisories", marks=pytest.mark.heavy),
        pytest.param("all", marks=pytest.mark.heavy),
    ]
)
def part(request: pytest.FixtureRequest) -> str:
    """The rows to run, by the name of their list."""
    return request.param


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Files, listeners and a process around a workspace."""
    with World(tmp_path).open() as made:
        yield made


@pytest.fixture(params=["bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each sandbox; where it does not work the test is skipped."""
    found = probe(SandboxOptions(use=request.param))
    if found.sandbox is None:
        pytest.skip(found.why)
    return found.sandbox


@pytest.mark.parametrize("view", ["read-only", "workspace-write"])
def test_no_attack_has_an_effect_beyond_its_view(
    world: World, sandbox: Sandbox, view: View, part: str
) -> None:
    with in_view(world, sandbox, view) as wrap:
        tally = rows_in(PARTS[part], world, wrap, view)
    assert tally.rows == len(PARTS[part])
    # A row may end its sandbox, but most of them have to be run to their end.
    assert tally.ended + tally.hung < tally.rows / 10
    known = set(_known(sandbox, view))
    assert [one for one in tally.effects if one.kind not in known] == []


def test_without_a_view_the_attacks_do_what_they_are_made_for(world: World, part: str) -> None:
    # Only the advisories' rows ask for servers of this machine, and for none elsewhere.
    wrap = without_view(world, shares_network=part == "advisories")
    tally = rows_in(PARTS[part], world, wrap, None)
    counts = tally.counts()
    changed, printed = {"sample": (6, 10), "all": (120, 200), "advisories": (40, 30)}[part]
    assert (counts["changed"] >= changed, counts["printed"] >= printed) == (True, True), counts


@pytest.mark.parametrize(
    "row, kind",
    [
        pytest.param("chmod 777 {outside}/file", "metadata", id="modes"),
        pytest.param("cat /proc/{pid}/environ", "printed", id="another-environment"),
        pytest.param("xxd -p .env", "printed", id="in-hexadecimal"),
        pytest.param("printf 1 | cat - .env | base64", "printed", id="in-base-64"),
        pytest.param("cp .env src/copy", "printed", id="into-a-file"),
        pytest.param("kill -9 {pid}", "killed", id="an-end"),
        pytest.param("kill -STOP {pid}", "killed", id="a-stop"),
        pytest.param("setsid sleep 60 &", "left", id="a-process-that-stays"),
        pytest.param("exec 3<>/dev/tcp/127.0.0.1/{port}", "reached", id="a-connection"),
        pytest.param("true; cat README.md; echo x > new", "", id="nothing"),
    ],
)
def test_what_is_looked_for_is_found(world: World, row: str, kind: str) -> None:
    tally = rows_in([row], world, without_supervisor(world), "workspace-write")
    assert [one.kind for one in tally.effects] == ([kind] if kind else [])


def test_each_class_of_advisories_has_rows() -> None:
    counts = Counter(kind for kind, _ in advisories())
    assert "".join(sorted(counts)) == "ABCDEFGHIJKLNO"
    assert min(counts.values()) >= 3


def _known(sandbox: Sandbox, view: View) -> Iterator[Kind]:
    """Yield what the documentation says that a sandbox does not hold."""
    if sandbox.name == "landlock":
        if view == "workspace-write":
            yield "metadata"
        if tuple(map(int, platform.release().split(".")[:2])) < (6, 12):
            yield "killed"
