"""Writes dist/agent-ls.cdx.json: what the locks name, as a CycloneDX 1.6 document.

Run by ``make sbom``. It lists what builds, tests and runs agent-ls; nothing is fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

_TOP = Path(__file__).parents[1]
_PLACE = _TOP / "dist" / "agent-ls.cdx.json"
_NPM_LOCKS = ("vscode-client/package-lock.json", "tools/node/package-lock.json")
_PINNED = re.compile(r"^([\w.-]+)(?:\[[^\]]*\])?==([^\s;]+)", re.MULTILINE)


def document(top: Path) -> dict[str, object]:
    """Return the document for a checkout."""
    found = sorted({*_python(top), *_npm(top)})
    version = re.search(
        r'__version__ = "(.+)"', (top / "agent_ls" / "__init__.py").read_text("utf-8")
    )
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "agent-ls",
                "name": "agent-ls",
                "version": version[1] if version else "",
                "licenses": [{"license": {"id": "MIT"}}],
            }
        },
        "components": [
            {"type": "library", "bom-ref": purl, "name": name, "version": number, "purl": purl}
            for purl, name, number in found
        ],
    }


def _python(top: Path) -> Iterator[tuple[str, str, str]]:
    """Yield package URL, name and version of each package in requirements.lock."""
    for name, number in _PINNED.findall((top / "requirements.lock").read_text("utf-8")):
        yield f"pkg:pypi/{name.lower().replace('_', '-')}@{quote(number)}", name, number


def _npm(top: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the same of each package in the locks of npm."""
    for lock in _NPM_LOCKS:
        packages = json.loads((top / lock).read_text("utf-8"))["packages"]
        for place, facts in packages.items():
            name = facts.get("name") or place.rpartition("node_modules/")[2]
            if place and "version" in facts:
                yield f"pkg:npm/{quote(name)}@{quote(facts['version'])}", name, facts["version"]


if __name__ == "__main__":
    _PLACE.parent.mkdir(exist_ok=True)
    _PLACE.write_text(json.dumps(document(_TOP), indent=1) + "\n", "utf-8")
