"""The TypeScripts that ``make node-tools`` installs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

INSTALLED = Path(__file__).parent.parent.parent / "tools" / "node" / "node_modules"
PACKAGES = {"5": "typescript", "7": "typescript-7"}


def _package(version: str) -> Path:
    package = INSTALLED / PACKAGES[version]
    if not (package / "package.json").exists() or shutil.which("node") is None:
        pytest.skip(f"TypeScript {version} or node is not here; run `make node-tools`")
    return package


@pytest.fixture(params=list(PACKAGES))
def typescript(request: pytest.FixtureRequest) -> Path:
    """The folder of a TypeScript package, of each kind there is."""
    return _package(request.param)


@pytest.fixture
def typescript_5() -> Path:
    return _package("5")
