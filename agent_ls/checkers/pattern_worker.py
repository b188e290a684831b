"""The process that reads a checker's lines by a pattern of the person's own: groups as JSON lines.

A pattern may never come to an end with a line, and holds the interpreter's lock meanwhile. This
process imports nothing of the project: it is run by its path, and killed when it takes too long.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any


def main() -> int:
    """Print the groups of each line that matches."""
    request: dict[str, Any] = json.load(sys.stdin.buffer)
    pattern: re.Pattern[str] = re.compile(request["pattern"])
    for line in request["lines"]:
        if match := pattern.search(line):
            sys.stdout.write(json.dumps(match.groupdict()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
