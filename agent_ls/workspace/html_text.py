"""Convert HTML from the standard input to Markdown on the standard output. Started by its path.

``argv[1]`` is the encoding that the server named; empty: the page says it, or it is guessed. A
process of its own, since a hostile page may take long or nest deeply.
"""

from __future__ import annotations

import sys

from bs4 import BeautifulSoup
from markdownify import MarkdownConverter

_NO_TEXT = ("script", "style", "noscript", "template", "svg", "iframe", "head", "nav", "form")
_MAIN = ("main", "article", "body")


def main() -> int:
    """Write the main part of the page."""
    page = BeautifulSoup(sys.stdin.buffer.read(), "html.parser", from_encoding=sys.argv[1] or None)
    title = page.title.get_text(" ", strip=True) if page.title else ""
    for one in page.find_all(_NO_TEXT):
        one.decompose()
    part = next(filter(None, map(page.find, _MAIN)), page)
    try:
        text = MarkdownConverter(heading_style="ATX", strip=["img"]).convert_soup(part)
    except RecursionError:
        text = part.get_text("\n", strip=True)
    lines = (line.rstrip() for line in text.splitlines())
    text = "\n".join(lines).strip()
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    sys.stdout.write(f"Title: {title}\n\n{text}" if title else text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
