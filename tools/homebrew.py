"""Writes dist/agent-ls.rb, a Homebrew formula for the sdist in dist/. Run by ``make formula``."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Write the formula for the newest sdist."""
    sdists = (ROOT / "dist").glob("agent_ls-*.tar.gz")
    sdist = max(sdists, key=lambda path: path.stat().st_mtime)
    text = formula(sdist, os.environ.get("REPOSITORY", ""))
    (ROOT / "dist" / "agent-ls.rb").write_text(text, "utf-8")
    return 0


def formula(sdist: Path, repository: str) -> str:
    """Return the formula of an sdist in a release; without a repository, of the file."""
    repository = re.sub(r"(\.git|/)+$", "", repository)
    version = sdist.name.removeprefix("agent_ls-").removesuffix(".tar.gz")
    published = f"{repository}/releases/download/v{version}/{sdist.name}"
    values = {
        "@HOMEPAGE@": repository or sdist.parent.as_uri(),
        "@URL@": published if repository else sdist.as_uri(),
        "@SHA256@": hashlib.sha256(sdist.read_bytes()).hexdigest(),
    }
    text = (ROOT / "deploy" / "homebrew.rb").read_text("utf-8").partition("\n")[2]
    return re.sub("|".join(values), lambda name: values[name[0]], text)


if __name__ == "__main__":
    sys.exit(main())
