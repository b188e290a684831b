"""``agent-ls demo`` as a user runs it who has installed the package and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy

_LIMIT_S = 300


@pytest.mark.story("demo")
def test_without_any_checker_the_edits_are_shown_and_the_checkers_named(tmp_path: Path) -> None:
    place = tmp_path / "fresh"
    venv.create(place, symlinks=True)
    [packages] = place.glob("lib/python*/site-packages")
    root = Path(__file__).parents[2]
    (packages / "ours.pth").write_text(f"{sysconfig.get_path('purelib')}\n{root}\n")
    empty = tmp_path / "bin"
    empty.mkdir()
    for name in ("sh", "git", "node"):
        if found := next((one for one in map(Path, ("/bin", "/usr/bin")) if (one / name).exists()),
                         None):  # fmt: skip
            (empty / name).symlink_to(found / name)
    done = subprocess.run(
        [place / "bin" / Path(sys.executable).name, "-m", "agent_ls", "demo"],
        env={"HOME": str(tmp_path), "PATH": str(empty), "LANG": "C.UTF-8",
             "TMPDIR": os.environ.get("TMPDIR", "/tmp")},
        cwd=tmp_path, capture_output=True, text=True, timeout=_LIMIT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    changed = done.stdout.partition("What changed:")[2]
    assert "+def total_cents(items: list[Item], discount_percent: int = 0) -> int:" in changed
    assert "+export function receipt(lines: Line[], discountPercent = 0): string {" in changed
    assert "+# agent:" not in changed
    assert "Not checked: ruff did not run" in changed
    assert "Not checked: tsc did not run" in changed
