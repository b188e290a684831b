"""Builds the site of the documentation: dist/site, which can be read from the disk.

The pages are copied as they lie in the repository, so that a link works there and on the site. A
link to a page or heading that does not exist ends the build.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = (
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "docs",
    "agent_ls/ARCHITECTURE.md", "tests/editors/README.md", "deploy/ci",
)  # fmt: skip


def main() -> int:
    """Build, and return 0 if every link leads somewhere."""
    # A folder of its own: zensical keeps its cache beside its configuration, in `.cache`.
    folder = ROOT / ".cache" / "site"
    shutil.rmtree(folder, ignore_errors=True)
    stage(folder / "pages")
    shutil.copy2(ROOT / "zensical.toml", folder)
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    # It colours each letter of a line that it shows, whatever shows it, and ends with a trace.
    output = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    print(output.partition("Traceback")[0] if "--strict flag" in output else output, end="")
    if done.returncode == 0:
        shutil.rmtree(ROOT / "dist" / "site", ignore_errors=True)
        shutil.copytree(folder / "out", ROOT / "dist" / "site")
    return done.returncode


def stage(pages: Path) -> None:
    """Copy the pages, and what they show."""
    for name in SOURCES:
        source, target = ROOT / name, pages / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy2(source, target)


if __name__ == "__main__":
    sys.exit(main())
