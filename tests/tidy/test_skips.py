"""In CI no test is skipped but for what the machine cannot have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_TESTS = """
import pytest
@pytest.mark.skipif(True, reason="strace is not installed")
def test_one(): ...
@pytest.mark.skipif(True, reason="this machine has no address but loopback")
def test_two(): ...
def test_three():
    pytest.skip("no editor here")
"""


def test_what_is_missing_is_a_failure_in_ci(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "test_x.py").write_text(_TESTS)
    words = ("-q", "-p", "tests.conftest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, str(tmp_path)],
        cwd=repository,
        env={**os.environ, "CI": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 1 skipped, 1 error" in done.stdout
