"""Rules about tracked files: nothing in them belongs to one machine or one registry."""

from __future__ import annotations

import re
from pathlib import Path

# Written so that this file does not break its own rules.
_MACHINE = r"(?<![\w./-])/(?:wor[k]|roo[t]/(?:\.|main))/"
_REGISTRY = (
    r"files\.pythonhosted\.or[g]|registry\.(?:npmjs|yarnpkg)\.|pypi\.org/simpl[e]"
    r"|https?://[^\s\"]+/(?:simpl[e]/|packages/[0-9a-f]{2}/|-/[a-z0-9._-]+\.tgz)"
)


def check(files: list[Path], pattern: str) -> None:
    """Assert that no line of these files matches."""
    found: list[str] = []
    for path in files:
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found += [
            f"{path}:{number}: {line.strip()[:120]}"
            for number, line in enumerate(text.splitlines(), 1)
            if re.search(pattern, line)
        ]
    assert not found, "\n".join(found)


def test_no_tracked_file_names_a_place_on_one_machine(
    tracked: list[Path], repository: Path
) -> None:
    check(tracked, f"{_MACHINE}|{re.escape(str(repository))}/")


def test_no_tracked_file_names_a_registry(tracked: list[Path]) -> None:
    # This table names the hosts of all registries, as what a command may reach.
    check([path for path in tracked if path.name != "surroundings.toml"], _REGISTRY)


def test_no_lock_records_where_packages_were_downloaded(tracked: list[Path]) -> None:
    locks = [path for path in tracked if path.name in ("package-lock.json", "requirements.lock")]
    assert any(path.name == "requirements.lock" for path in locks)
    # npm also records where a package takes donations: "funding", with addresses or a "url" each.
    check(locks, r"\"resolved\"|^(?!\s*\"(?:(?:url|funding)\":|https?://)).*https?://")


def test_there_is_one_python_lock(tracked: list[Path]) -> None:
    others = {"uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock", "pylock.toml"}
    assert [str(path) for path in tracked if path.name in others] == []
