"""The scripted model as a process, for tests whose own calls block."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class ServedModel:
    """A running scripted model."""

    url: str
    record: Path

    def requests(self) -> list[dict[str, Any]]:
        """Return the requests so far."""
        if not self.record.exists():
            return []
        # The last line may be half written.
        lines = self.record.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def problems(self) -> list[str]:
        """Return what went against the scenario."""
        return [one["problem"] for one in self.requests() if one.get("problem")]


@contextmanager
def served(scenario: str) -> Iterator[ServedModel]:
    """Play a scenario, given as TOML, for the length of a block."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "scenario.toml").write_text(scenario)
        record = place / "requests.jsonl"
        command = [sys.executable, "-P", "-m", "agent_ls.providers.scripted"]
        process = subprocess.Popen(
            [*command, str(place / "scenario.toml"), "--record", str(record)],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["base_url"]
            yield ServedModel(url, record)
        finally:
            process.terminate()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
