"""Programs of ours start from their compiled form, which is always that of their source."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_ls.processes.compiled import compiled


def _said(program: Path) -> str:
    done = subprocess.run([sys.executable, "-I", "-S", program], capture_output=True, check=True)
    return done.stdout.decode().strip()


def _written(source: Path, said: str) -> Path:
    source.write_text(f"print({said!r})\n")
    compiled.cache_clear()
    return compiled(source)


def test_what_starts_is_what_the_source_says_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    source = tmp_path / "program.py"
    first = _written(source, "one")
    assert (first.suffix, _said(first)) == (".pyc", "one")
    # Another size, then the same size at another time, then what another Python left.
    assert _said(_written(source, "three")) == "three"
    later = _written(source, "seven")
    os.utime(source, (1, 1))
    compiled.cache_clear()
    assert _said(compiled(source)) == "seven"
    later.write_bytes(b"\0" * 64)
    compiled.cache_clear()
    assert _said(compiled(source)) == "seven"


def test_the_source_starts_where_nothing_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "program.py"
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert _written(source, "one") == source
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "__pycache__").write_text("a file in the place of the folder")
    assert _written(source, "two") == source
    broken = tmp_path / "broken.py"
    broken.write_text("print(")
    assert compiled(broken) == broken
