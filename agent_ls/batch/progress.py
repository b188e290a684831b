"""Shows how far a batch is: a bar in a terminal, else a line for each task that ends."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Protocol

from agent_ls.batch.summary import headline, line_of
from agent_ls.batch.tasks import BatchOptions
from agent_ls.domain.sentences import counted, one_line
from agent_ls.observers.report.words import duration, money
from agent_ls.safety.text import visible_line
from agent_ls.store.batch_queue import FINISHED, Batch, TaskRow

_REASON_CHARS = 300


class Progress(Protocol):
    """Takes the tasks of the batch, again and again."""

    def __call__(self, rows: Sequence[TaskRow], /) -> None:
        """Show what is new."""


@contextmanager
def shown_progress(batch: Batch, *, is_quiet: bool) -> Generator[Progress]:
    """Yield what shows the progress on standard error."""
    lines = _Lines(batch, is_quiet=is_quiet)
    if is_quiet or not sys.stderr.isatty():
        yield lines
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    words = TextColumn("{task.fields[said]}", markup=False)
    console = Console(stderr=True)
    with RichProgress(*columns, words, console=console, transient=True) as bar:
        shown = bar.add_task("batch", said="")

        def show(rows: Sequence[TaskRow]) -> None:
            done = sum(row.state in FINISHED for row in rows)
            bar.update(shown, total=len(rows), completed=done, said=headline(batch, rows))
            for line in lines.new(rows):
                console.print(line, markup=False, highlight=False)

        yield show


class _Lines:
    def __init__(self, batch: Batch, *, is_quiet: bool) -> None:
        self._options = BatchOptions.model_validate_json(batch.options)
        self._is_quiet = is_quiet
        self._seen: set[str] | None = None
        """None until the first look, which shows what an earlier command had come to."""

    def __call__(self, rows: Sequence[TaskRow]) -> None:
        for line in self.new(rows):
            if not self._is_quiet:
                sys.stderr.write(f"{line}\n")
                sys.stderr.flush()

    def new(self, rows: Sequence[TaskRow]) -> list[str]:
        """Return a line for each task that has ended since the last call."""
        finished = [row for row in rows if row.state in FINISHED]
        seen = {row.task_id for row in finished} if self._seen is None else self._seen
        ended = [row for row in finished if row.task_id not in seen]
        self._seen = seen | {row.task_id for row in ended}
        done = len(finished) - len(ended)
        return [
            f"{done + number}/{len(rows)}  {self._line(row)}"
            for number, row in enumerate(ended, start=1)
        ]

    def _line(self, row: TaskRow) -> str:
        line = line_of(row, self._options)
        cost = money(line.cost_usd, of_tokens=line.tokens)
        why = f"  {shown_reason(line.failure_reason)}" if line.failure_reason else ""
        check = f"  check {line.check}" if line.check else ""
        time = duration(line.duration_ms)
        steps = counted(line.steps, "step")
        return f"{line.state:<6}  {line.task}  {steps}  {cost}  {time}{check}{why}"


def shown_reason(text: str) -> str:
    """Return why a task failed, on one line of a terminal."""
    return one_line(visible_line(text), _REASON_CHARS)
