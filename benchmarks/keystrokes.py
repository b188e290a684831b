"""What a keystroke costs the server in a document of 5 MB, beside one in a short document.

    python -m benchmarks.keystrokes [--repetitions 5] [--json]

The editor tells of many keystrokes and then asks for a hover, whose answer shows that all of them
were taken over. The floor is the same in a document of one line, in the same server.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import peer
from benchmarks.editor import Editor
from benchmarks.figures import Figure, finish, median
from benchmarks.machine import private_environment

_LINES = 100_000
_LINE = "x" * 49 + " = 1\n"
_KEYS = 500
_AT_ONCE = 100
_SETTLING_S = 8.0


def measure(repetitions: int) -> list[Figure]:
    """Return the milliseconds of a keystroke and of a message with many."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name, "project")
        root.mkdir()
        (root / "long.py").write_text(_LINE * _LINES)
        (root / "short.py").write_text(_LINE)
        command = peer.command()
        editor = Editor(command, root, env=private_environment(Path(name)))
        try:
            editor.initialize()
            uris = {one: editor.open(f"{one}.py", "python") for one in ("short", "long")}
            time.sleep(_SETTLING_S)
            rounds = [
                {
                    (one, size): _typed(editor, uri, size)
                    for one, uri in uris.items()
                    for size in (1, _AT_ONCE)
                }
                for _ in range(repetitions)
            ]
        finally:
            editor.close()
    typed = {key: median([one[key] for one in rounds]) for key in rounds[0]}
    return [
        Figure("keystroke, short document", typed["short", 1], "ms"),
        Figure(
            "keystroke, 5 MB",
            typed["long", 1],
            "ms",
            goal=2 * typed["short", 1] + 0.05,
            against="goal: 2 × short + 0.05 ms",
        ),
        Figure(f"message of {_AT_ONCE} changes, short document", typed["short", _AT_ONCE], "ms"),
        Figure(
            f"message of {_AT_ONCE} changes, 5 MB",
            typed["long", _AT_ONCE],
            "ms",
            goal=2 * typed["short", _AT_ONCE] + 1,
            against="goal: 2 × short + 1 ms",
        ),
    ]


def _typed(editor: Editor, uri: str, size: int) -> float:
    """Return what one message of so many changes costs, in milliseconds."""
    place = {"line": 0, "character": 0}
    change = {"range": {"start": place, "end": place}, "text": "x"}
    number = max(_KEYS // size, 10)
    _wait(editor, uri)
    started_s = time.perf_counter()
    for version in range(number):
        editor.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": uri, "version": 2 + version},
                "contentChanges": [change] * size,
            },
        )
    _wait(editor, uri)
    return 1_000 * (time.perf_counter() - started_s) / number


def _wait(editor: Editor, uri: str) -> None:
    params = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}
    editor.request("textDocument/hover", params)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.keystrokes", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    return finish("keystrokes", measure(options.repetitions), as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
