"""Writes the panel's golden stories: what the server's own translation makes of told journals.

A line of a journal is a stored event, or a piece that streams.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from agent_ls import catalogue
from agent_ls.domain import events as e
from agent_ls.lsp import wire
from agent_ls.lsp.updates import Translation

_TEST = Path(__file__).parents[1] / "vscode-client" / "test"
_STREAMED = {
    "text": e.TextStreamed,
    "reasoning": e.ReasoningStreamed,
    "output": e.CallOutputStreamed,
}


def stories() -> dict[Path, str]:
    """Return the text of every golden file."""
    return {
        _TEST / "golden" / f"{told.stem}.json": _golden(told)
        for told in sorted((_TEST / "told").glob("*.jsonl"))
    }


def _golden(told: Path) -> str:
    found = [params.model_dump(mode="json", by_alias=True) for params in _notifications(told)]
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _notifications(told: Path) -> Iterator[wire.UpdateParams]:
    """Yield a notification for each line that clients see something of."""
    kinds = {tool.name: tool.kind for tool in catalogue.TOOLS}
    translation = Translation(kinds, lambda path: f"file:///home/ada/shop/{path}")
    session_id, seq = "", 0
    for line in told.read_text("utf-8").splitlines():
        row = json.loads(line)
        if "event" in row:
            event = e.EVENT.validate_python(row["event"])
            session_id = getattr(event, "session_id", session_id)
            seq += 1
            updates = translation.feed(event)
        elif row["streamed"] == "discarded":
            updates = [translation.of_ephemeral(e.AttemptDiscarded(row["id"]))]
        else:
            updates = [translation.of_ephemeral(_STREAMED[row["streamed"]](row["id"], row["text"]))]
        if updates:
            yield wire.UpdateParams(session_id=session_id, seq=seq, updates=updates)


def main() -> None:
    """Write them."""
    for path, text in stories().items():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
