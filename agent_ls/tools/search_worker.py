"""The search process for machines without ripgrep: reads a request, prints ripgrep's JSON lines.

It imports nothing of the project: it is run by its path, and killed when it takes too long.
"""

from __future__ import annotations

import json
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_MAX_FILE_BYTES = 64 * 2**20


def main() -> int:
    """Search until done or until enough is found; 2 says that the pattern is no good."""
    request: dict[str, Any] = json.load(sys.stdin.buffer)
    flags = re.IGNORECASE if request["ignore_case"] else 0
    try:
        pattern = re.compile(request["pattern"], flags)
    except (re.error, RecursionError) as error:
        sys.stderr.write(str(error))
        return 2
    left = int(request["max_hits"])
    for name, text in _texts(request):
        for number, line in enumerate(text.split("\n"), 1):
            if pattern.search(line):
                data = {"path": {"text": name}, "lines": {"text": line}, "line_number": number}
                sys.stdout.write(json.dumps({"type": "match", "data": data}) + "\n")
                sys.stdout.flush()
                left -= 1
                if left <= 0:
                    return 0
    return 0


def _texts(request: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield from request.get("texts", {}).items()
    for name in request.get("files", ()):
        path = Path(request["folder"]) / name
        try:
            facts = path.stat()
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MAX_FILE_BYTES:
                continue
            data = path.read_bytes()
        except OSError:
            continue
        if b"\0" not in data:
            yield name, data.decode(errors="replace")


if __name__ == "__main__":
    sys.exit(main())
