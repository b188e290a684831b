"""The official conformance suite of the protocol plays its servers to our client.

``conformance/client.py`` is the client: the tool servers of a session, and a user who logs in.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]

SUITE = Path(__file__).with_name("conformance")
ROOT = Path(__file__).parents[2]
AT_ONCE = 2

EXPECTED_FAILURES = {
    "auth/2025-03-26-oauth-metadata-backcompat": (
        "a fault of the suite: its metadata names an issuer that RFC 8414 3.3 has us refuse"
    ),
    "auth/cross-app-access-complete-flow": (
        "an extension for identity providers of enterprises, which hand out tokens of their own"
    ),
}
"""Scenarios that fail, and why. One that passes has to leave this table."""


@pytest.fixture(scope="module")
def conformance(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The command of the pinned suite, which is installed for it."""
    place = tmp_path_factory.mktemp("conformance")
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(SUITE / name, place)
    subprocess.run(["npm", "ci", "--silent"], cwd=place, check=True)
    program = place / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    return ("node", "--import", str(SUITE / "older_node.mjs"), str(program))


async def test_each_scenario_of_a_client_passes_or_is_known_to_fail(
    conformance: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = await asyncio.create_subprocess_exec(
        *conformance, "list", "--client", stdout=subprocess.PIPE
    )
    told, _ = await listed.communicate()
    scenarios = [line[4:].split()[0] for line in told.decode().splitlines() if line[:4] == "  - "]
    assert len(scenarios) >= 25
    turns = asyncio.Semaphore(AT_ONCE)

    async def play(scenario: str) -> tuple[bool, str]:
        async with turns:
            return await played(conformance, scenario, tmp_path)

    results = dict(zip(scenarios, await asyncio.gather(*map(play, scenarios)), strict=True))
    for scenario, (has_passed, _) in results.items():
        if not has_passed and scenario not in EXPECTED_FAILURES:
            # Some measure times, which a busy machine does not keep: once more, alone.
            results[scenario] = await played(conformance, scenario, tmp_path)
    passed = {scenario for scenario, (has_passed, _) in results.items() if has_passed}
    lines = [f"\nThe conformance suite: {len(passed)} of {len(scenarios)} scenarios passed"]
    for scenario in scenarios:
        state = "passed" if scenario in passed else "failed"
        lines.append(f"  {scenario:45} {state} {EXPECTED_FAILURES.get(scenario, '')}".rstrip())
    with capsys.disabled():
        sys.stdout.write("\n".join(lines) + "\n")
    failed = set(scenarios) - passed
    words = "\n\n".join(results[one][1] for one in sorted(failed - EXPECTED_FAILURES.keys()))
    assert failed == set(EXPECTED_FAILURES), words


async def played(conformance: tuple[str, ...], scenario: str, place: Path) -> tuple[bool, str]:
    """Play one scenario, and return whether it passed, and what was said."""
    command = f"{sys.executable} -m tests.mcp.conformance.client"
    process = await asyncio.create_subprocess_exec(
        *(*conformance, "client", "--command", command, "--scenario", scenario),
        *("--timeout", "100000"),
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    told, _ = await process.communicate()
    return process.returncode == 0, told.decode(errors="replace")[-4_000:]
