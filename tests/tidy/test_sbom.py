"""The list of components names everything that the locks name."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tools.generate_sbom import document


def test_every_locked_package_is_a_component(repository: Path) -> None:
    made: dict[str, Any] = document(repository)
    urls = [one["purl"] for one in made["components"]]
    assert len(urls) == len(set(urls))
    lock = (repository / "requirements.lock").read_text("utf-8")
    python = [line for line in lock.splitlines() if re.match(r"[A-Za-z0-9]", line)]
    client = json.loads((repository / "vscode-client" / "package-lock.json").read_text("utf-8"))
    node = json.loads((repository / "tools" / "node" / "package-lock.json").read_text("utf-8"))
    npm = {
        (place.rpartition("node_modules/")[2], facts["version"])
        for lock in (client, node)
        for place, facts in lock["packages"].items()
        if place
    }
    assert sum(url.startswith("pkg:pypi/") for url in urls) == len(python)
    assert sum(url.startswith("pkg:npm/") for url in urls) == len(npm)
    assert any(re.fullmatch(r"pkg:pypi/pydantic-core@[\d.]+", url) for url in urls)
    assert any(re.fullmatch(r"pkg:npm/%40types/node@[\d.]+", url) for url in urls)
