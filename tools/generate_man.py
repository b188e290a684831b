"""Write ``docs/agent-ls.1``, the man page, from the command line's own options.

python -m tools.generate_man [--check]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from argparse_manpage.manpage import Manpage  # pyright: ignore[reportMissingTypeStubs]

from agent_ls.cli.parser import build_parser

PAGE = Path(__file__).resolve().parent.parent / "docs/agent-ls.1"
NOTE = r".\" Generated from the options of agent_ls/cli by tools/generate_man.py; do not edit."
_HEAD = r""".TH AGENT\-LS 1 "" "agent\-ls" "User Commands"
.SH NAME
agent\-ls \- a coding agent that lives in your language server
.SH SYNOPSIS
.nf
"""


def page() -> str:
    """Return the page; the width of this terminal and today's date are not in it."""
    os.environ["COLUMNS"] = "80"
    parser = build_parser()
    usage = parser.format_usage().removeprefix("usage: ").replace("-", r"\-")
    lines = [line.strip() for line in usage.strip().splitlines()]
    whole = str(Manpage(parser, {"project_name": "agent-ls"}))
    _, described, rest = whole.partition(".SH DESCRIPTION")
    text = f"{NOTE}\n{_HEAD}{chr(10).join(lines)}\n.fi\n{described}{rest}"
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def main() -> int:
    """Write the file, or say that it is stale."""
    text = page()
    if PAGE.exists() and PAGE.read_text("utf-8") == text:
        return 0
    if "--check" in sys.argv:
        print(f"{PAGE.name} is stale: run `make generate`")
        return 1
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
