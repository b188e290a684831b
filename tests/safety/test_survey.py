"""What is special in a workspace is found as if nothing were remembered."""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from agent_ls.safety.sandbox.survey import Survey, survey

_NAMES = (".envrc", ".vscode", "a.py", "deep", ".env", "HEAD", "objects", "refs", "node_modules")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    top = tmp_path / "work"
    for name in ("deep/er", "src", ".github/workflows"):
        (top / name).mkdir(parents=True)
    (top / ".github" / "workflows" / "ci.yml").write_text("x")
    return top


def _afresh(folder: Path) -> Survey:
    """Return a survey by another name of the folder, for which nothing is remembered."""
    other = folder.with_name(f"work{time.monotonic_ns()}")
    folder.rename(other)
    try:
        found = survey(other)
    finally:
        other.rename(folder)

    def named(paths: tuple[Path, ...]) -> tuple[Path, ...]:
        return tuple(folder / path.relative_to(other) for path in paths)

    closed = frozenset(str(folder / Path(one).relative_to(other)) for one in found.closed)
    return Survey(named(found.secret), named(found.steering), closed)


_CHANGES: dict[str, Callable[[Path], object]] = {
    "a file deep below": lambda top: (top / "deep" / "er" / ".envrc").write_text("x"),
    "a secret": lambda top: (top / "src" / ".env").write_text("x"),
    "a link": lambda top: (top / "src" / ".vscode").symlink_to("/tmp"),
    "a file that goes": lambda top: shutil.rmtree(top / ".github"),
    "a folder that is another": lambda top: (
        (top / "new").mkdir(), (top / "new" / ".envrc").write_text("x"),
        (top / "src").rmdir(), (top / "new").rename(top / "src"),
    ),
    "a repository": lambda top: [
        (top / "deep" / "er" / name).mkdir() for name in ("objects", "refs", "HEAD")
    ],
    "a folder that closes": lambda top: (
        (top / "src" / ".envrc").write_text("x"), (top / "src").chmod(0)
    ),
}  # fmt: skip


@pytest.mark.parametrize("is_settled", [False, True])
@pytest.mark.parametrize("change", _CHANGES.values(), ids=_CHANGES.keys())
def test_a_change_after_a_survey_is_seen(
    folder: Path, change: Callable[[Path], object], is_settled: bool
) -> None:
    if is_settled:
        threading.Event().wait(0.15)
    survey(folder)
    change(folder)
    assert survey(folder) == _afresh(folder)
    (folder / "src").chmod(0o700)


def test_any_row_of_changes_is_seen(folder: Path) -> None:
    chance = random.Random(7)
    for _ in range(300):
        folders = [folder, *(one for one in folder.rglob("*") if one.is_dir())]
        place = chance.choice(folders) / chance.choice(_NAMES)
        with suppress(OSError):
            match chance.randrange(4):
                case 0:
                    place.mkdir()
                case 1:
                    place.write_text("x")
                case 2:
                    place.rename(chance.choice(folders) / chance.choice(_NAMES))
                case _:
                    shutil.rmtree(place)
        found, fresh = survey(folder), _afresh(folder)
        assert (set(found.secret), set(found.steering)) == (set(fresh.secret), set(fresh.steering))
