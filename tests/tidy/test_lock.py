"""Rules about requirements.lock: complete, hashed, and an answer to pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


@pytest.fixture(scope="module")
def locked(repository: Path) -> dict[str, str]:
    """Locked versions by name, from entries that carry at least one hash."""
    text = (repository / "requirements.lock").read_text("utf-8").replace("\\\n", " ")
    entries = [line for line in text.splitlines() if line and not line.startswith("#")]
    unhashed = [entry for entry in entries if "--hash=sha256:" not in entry]
    assert not unhashed, unhashed
    found = [re.match(r"([\w.-]+)(?:\[[^\]]*\])?==([^\s;]+)", entry) for entry in entries]
    assert all(found), "an entry that is not pinned with =="
    return {canonicalize_name(match[1]): match[2] for match in found if match}


@pytest.fixture(scope="module")
def wanted(repository: Path) -> list[Requirement]:
    """Every range that pyproject.toml states: core, extras and groups."""
    table = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))
    project = table["project"]
    lists = [
        project["dependencies"],
        *project["optional-dependencies"].values(),
        *table["dependency-groups"].values(),
    ]
    return [Requirement(text) for texts in lists for text in texts]


def check(wanted: list[Requirement], locked: dict[str, str]) -> None:
    """Assert that each range is met by what is locked."""
    unmet = [
        str(requirement)
        for requirement in wanted
        if not requirement.specifier.contains(
            locked.get(canonicalize_name(requirement.name), "0.dev0"), prereleases=False
        )
    ]
    assert not unmet, f"run `make lock`: the lock does not meet {unmet}"


def test_the_lock_meets_every_range_of_pyproject(
    wanted: list[Requirement], locked: dict[str, str]
) -> None:
    check(wanted, locked)


def test_every_range_has_a_lower_bound(wanted: list[Requirement]) -> None:
    loose = [
        str(requirement)
        for requirement in wanted
        if not any(one.operator in (">=", "==", "~=") for one in requirement.specifier)
    ]
    assert not loose, loose
