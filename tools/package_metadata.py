"""Gives wheel and sdist their long description and addresses; hatchling runs it at each build.

Where the sources are published is said by whoever publishes: ``REPOSITORY=https://HOST/OWNER/NAME``
in the environment, as for ``make vsix``. Without it the package names no address at all.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(
    r"(?P<image>!?)\[(?P<words>[^\]]*)\]\((?!https?://)(?P<path>[^)#]*)(?P<anchor>#[^)]*)?\)"
)


class PackageMetadata(MetadataHookInterface):
    """Sets ``readme`` and ``urls``, which ``pyproject.toml`` declares as dynamic."""

    def update(self, metadata: dict[str, object]) -> None:
        """Add both fields to the project's metadata."""
        repository = re.sub(r"(\.git|/)+$", "", os.environ.get("REPOSITORY", ""))
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": long_description(text, repository),
        }
        metadata["urls"] = urls(repository)


def long_description(text: str, repository: str) -> str:
    """Return a README whose links work outside the repository.

    Without a repository, links become their words and lines of pictures go.
    """

    def whole(link: re.Match[str]) -> str:
        image, words, path = link["image"], link["words"], link["path"]
        if not repository:
            return "" if image else words
        address = f"{repository}/{'raw' if image else 'blob'}/HEAD/{path}" if path else ""
        return f"{image}[{words}]({address}{link['anchor'] or ''})"

    return re.sub(r"\n{3,}", "\n\n", _LINK.sub(whole, text))


def urls(repository: str) -> dict[str, str]:
    """Return the addresses of the project below its repository; none without one."""
    if not repository:
        return {}
    return {
        "Homepage": repository,
        "Repository": repository,
        "Documentation": f"{repository}/tree/HEAD/docs",
        "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }
