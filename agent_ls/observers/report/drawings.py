"""The drawings of one turn: its timeline, and charts of each step's tokens, cost and time.

Computes the geometry; the template makes SVG of it. Long idle stretches, such as an hour's wait
for an approval, are drawn short: to scale they would hide everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from agent_ls.domain.sentences import counted
from agent_ls.observers.call_summary import summary_of
from agent_ls.observers.report.words import duration, money, tokens
from agent_ls.observers.trace import CallTrace, Span, StepTrace, TurnTrace

_LEFT, _RIGHT, _TOP = 78.0, 16.0, 30.0
_BAR, _GAP = 16.0, 5.0
_MIN_WIDTH, _MAX_WIDTH = 960.0, 6_000.0
_MIN_BAR = 2.5
_IDLE_SHARE, _IDLE_MS = 0.08, 3_000
"""An idle stretch longer than this share of the busy time, and than this, is drawn short."""
_SHORT_WIDTH = 44.0
_NOTE_SIGNS = {"gate": "bad", "compaction": "shrink", "closing": "warn", "cancel": "bad"}
_LOOP_PHASES = {"judge": "Gates looked at the answer", "compact": "Compacting the conversation"}
_LEGEND = {
    "model": "model",
    "read": "reads",
    "write": "edits",
    "execute": "commands",
    "delegate": "sub-agents",
    "wait": "waiting for you",
    "loop": "gates and compaction",
    "hook": "hooks",
    "bad": "failed",
    "cached": "from the cache",
    "fresh": "read anew",
    "thinking": "thinking",
    "output": "answer and calls",
    "cost": "cost",
    "tool": "tools",
}

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Shape:
    """One element of a drawing."""

    tag: str
    kind: str
    at: dict[str, float]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Shapes with a common title and link target."""

    shapes: tuple[Shape, ...]
    title: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """One drawing."""

    title: str
    width: float
    height: float
    groups: tuple[Group, ...]

    @property
    def legend(self) -> list[tuple[str, str]]:
        """Return (kind, meaning) of each colour."""
        kinds = {kind for one in self.groups for shape in one.shapes for kind in shape.kind.split()}
        return [(kind, words) for kind, words in _LEGEND.items() if kind in kinds]

    @property
    def min_width(self) -> float:
        """Return the width below which the drawing scrolls instead of shrinking."""
        return self.width if self.width > _MIN_WIDTH else 680.0


class TimeScale:
    """Maps times to x coordinates, with long idle stretches drawn short."""

    def __init__(
        self, whole: Interval, busy: Iterable[Interval], left: float, width: float
    ) -> None:
        """``busy`` lists the times when anything but the user was working."""
        start, end = whole
        gaps: list[Interval] = []
        busy_ms, at = 0, start
        for low, high in [*sorted(busy), (end, end)]:
            if low > at:
                gaps.append((at, min(low, end)))
            busy_ms += max(0, min(high, end) - max(low, at))
            at = min(end, max(at, high))
        limit_ms = max(_IDLE_MS, _IDLE_SHARE * busy_ms)
        self.squeezed = [gap for gap in gaps if gap[1] - gap[0] > limit_ms]
        """The idle stretches that are drawn short."""
        self._whole, self._left = whole, left
        drawn_ms = end - start - sum(high - low for low, high in self.squeezed)
        room = max(width - len(self.squeezed) * _SHORT_WIDTH, width / 4)
        self._per_ms = room / max(1, drawn_ms)

    def x(self, at_ms: int) -> float:
        """Return the x coordinate of a time."""
        start, end = self._whole
        at_ms = max(start, min(end, at_ms))
        drawn_ms, short = float(at_ms - start), 0.0
        for low, high in self.squeezed:
            passed_ms = max(0, min(at_ms, high) - low)
            drawn_ms -= passed_ms
            short += _SHORT_WIDTH * passed_ms / (high - low)
        return self._left + drawn_ms * self._per_ms + short


# The timeline: a lane for each worker; parallel calls get lanes of their own.


@dataclass(frozen=True, slots=True)
class _Bar:
    span: Span
    kind: str
    title: str
    target: str = ""
    label: str = ""
    is_work: bool = True
    """False while the turn waits for the user; that time may be drawn short."""


@dataclass(slots=True)
class _Lane:
    name: str
    bars: list[_Bar] = field(default_factory=list[_Bar])


def timeline(turn: TurnTrace, anchor: str) -> Drawing:
    """Return the timeline; ``anchor`` is the prefix of its link targets."""
    lanes = [lane for lane in _lanes(turn, anchor) if lane.bars]
    bars = [bar for lane in lanes for bar in lane.bars]
    ends = [bar.span.ended_ms or bar.span.started_ms for bar in bars]
    end = turn.ended_ms or max([turn.started_ms + 1, *ends])
    width = min(_MAX_WIDTH, max(_MIN_WIDTH, _LEFT + _RIGHT + 22.0 * len(turn.steps)))
    busy = [(bar.span.started_ms, bar.span.ended_ms or end) for bar in bars if bar.is_work]
    scale = TimeScale((turn.started_ms, end), busy, _LEFT, width - _LEFT - _RIGHT)
    height = _TOP + len(lanes) * (_BAR + _GAP) + 18
    groups = [*_squeezed(scale, height), *_axis(turn, scale, anchor, height)]
    for index, lane in enumerate(lanes):
        groups += _drawn(lane, scale, _TOP + index * (_BAR + _GAP), end)
    for note in turn.notes:
        if (sign := _NOTE_SIGNS.get(note.kind)) is not None:
            dot = Shape("circle", sign, {"cx": scale.x(note.at_ms), "cy": height - 12, "r": 4.5})
            groups.append(Group((dot,), f"{note.kind} {note.origin}: {note.text[:200]}"))
    title = f"Timeline: {counted(len(turn.steps), 'step')} in {duration(turn.duration_ms)}"
    return Drawing(title, width, height, tuple(groups))


def _lanes(turn: TurnTrace, anchor: str) -> list[_Lane]:
    model, loop, user = _Lane("Model"), _Lane("Loop"), _Lane("You")
    tools: list[_Lane] = []
    # A tool that asks the user is waiting, not working.
    asking = {wait.asked_by for wait in turn.waits if wait.kind == "question"}
    for step in turn.steps:
        target = f"{anchor}s{step.number}"
        model.bars += _attempts(step, target)
        for call in step.calls:
            if call.run is not None:
                _put(tools, _call_bar(call, call.run, target, is_work=call.tool not in asking))
    loop.bars += _of_loop(turn)
    for wait in turn.waits:
        words = f"Waited for you {duration(wait.duration_ms)}: {wait.title} → {wait.answer}"
        user.bars.append(_Bar(wait, "wait", words, f"{anchor}d", is_work=False))
    return [model, *tools, loop, user]


def _attempts(step: StepTrace, target: str) -> Iterator[_Bar]:
    for attempt in step.attempts:
        kind = "model" if not attempt.failure else "model bad"
        words = (
            f"Step {step.number}: {attempt.failure or attempt.finish}, "
            f"{duration(attempt.duration_ms)}, {attempt.usage.input_tokens:,} tokens in, "
            f"{attempt.usage.output_tokens:,} out"
        )
        yield _Bar(attempt, kind, words, target, str(step.number))
        if attempt.wait_s and attempt.ended_ms is not None:
            pause = Span(attempt.ended_ms, attempt.ended_ms + int(attempt.wait_s * 1000))
            yield _Bar(pause, "pause", f"Waited {attempt.wait_s:g} s before trying again")


def _call_bar(call: CallTrace, run: Span, target: str, *, is_work: bool) -> _Bar:
    about = summary_of(call.tool, call.arguments_json)
    failed = " bad" if call.has_failed or call.outcome == "open" else ""
    shown = duration(max(run.duration_ms, call.duration_ms))
    words = f"{call.tool} {about}: {call.outcome}, {shown}"
    return _Bar(run, f"{call.effect or 'read'}{failed}", words, target, call.tool, is_work)


def _of_loop(turn: TurnTrace) -> Iterator[_Bar]:
    for phase in turn.phases:
        if phase.phase in _LOOP_PHASES and phase.duration_ms:
            words = f"{_LOOP_PHASES[phase.phase]}: {duration(phase.duration_ms)}"
            yield _Bar(phase, "loop", words)
    for hook in (one for step in turn.steps for one in step.hooks):
        kind = "hook" if hook.outcome in ("passed", "changed", "allowed") else "hook bad"
        words = f"Hook {hook.name} ({hook.moment}): {hook.outcome}, {duration(hook.duration_ms)}"
        yield _Bar(hook, kind, words)
    for side in turn.sides:
        if side.kind == "advice":
            kind = "model bad" if side.failure else "model"
            words = f"{side.origin} asked {side.model}: {duration(side.duration_ms)}"
            yield _Bar(side, kind, words)


def _put(lanes: list[_Lane], bar: _Bar) -> None:
    """Add a bar to the first lane that is free by its start, or to a new lane."""
    for lane in lanes:
        last = lane.bars[-1].span
        if last.ended_ms is not None and last.ended_ms <= bar.span.started_ms:
            lane.bars.append(bar)
            return
    lanes.append(_Lane("Tools" if not lanes else "", [bar]))


def _drawn(lane: _Lane, scale: TimeScale, y: float, until_ms: int) -> Iterator[Group]:
    yield Group((_text(lane.name, "lane", 0, y + 12),))
    for bar in lane.bars:
        x = scale.x(bar.span.started_ms)
        wide = max(_MIN_BAR, scale.x(bar.span.ended_ms or until_ms) - x)
        box = {"x": x, "y": y, "width": wide, "height": _BAR, "rx": min(3.0, wide / 2)}
        shapes = [Shape("rect", bar.kind, box)]
        if bar.label and wide > 7 * len(bar.label) + 6:
            shapes.append(_text(bar.label, "in", x + 5, y + 12))
        yield Group(tuple(shapes), bar.title, bar.target)


def _axis(turn: TurnTrace, scale: TimeScale, anchor: str, height: float) -> Iterator[Group]:
    """Yield a line where each step begins, and its number where there is room."""
    last_x = -100.0
    for step in turn.steps:
        x = scale.x(step.started_ms)
        yield Group((_line("tick", x, x, _TOP - 6, height - 18),))
        if x - last_x >= 8 + 7 * len(str(step.number)):
            number = _text(str(step.number), "step", x, _TOP - 12)
            at = duration(max(0, step.started_ms - turn.started_ms))
            yield Group((number,), f"Step {step.number}, after {at}", f"{anchor}s{step.number}")
            last_x = x


def _squeezed(scale: TimeScale, height: float) -> Iterator[Group]:
    for start, end in scale.squeezed:
        x, idle = scale.x(start), duration(end - start)
        width = scale.x(end) - x
        words = _text(idle, "idle-words", x + width / 2, height - 4)
        box = _rect("idle", x, _TOP - 6, width, height - _TOP - 12)
        yield Group((box, words), f"{idle} without work, drawn short")


# The charts: one column per step.

_ROW, _BETWEEN = 62.0, 26.0


@dataclass(frozen=True, slots=True)
class _Chart:
    name: str
    shown: Callable[[float], str]
    series: Mapping[str, Callable[[StepTrace], float]]
    """The value of a step by kind, the lowest part of the column first."""

    def total(self, step: StepTrace) -> float:
        return sum(value(step) for value in self.series.values())


def _tool_ms(step: StepTrace) -> float:
    """Return how long tools ran in the step; overlapping calls count once."""
    runs = sorted(
        (call.run.started_ms, call.run.ended_ms)
        for call in step.calls
        if call.run and call.run.ended_ms is not None
    )
    total, at = 0, 0
    for start, end in runs:
        total += max(0, end - max(start, at))
        at = max(at, end)
    return total


def _model_ms(step: StepTrace) -> float:
    return sum(one.duration_ms for one in step.attempts)


_IN: dict[str, Callable[[StepTrace], float]] = {
    "cached": lambda step: step.usage.cache_read_tokens,
    "fresh": lambda step: step.usage.input_tokens - step.usage.cache_read_tokens,
}
_OUT: dict[str, Callable[[StepTrace], float]] = {
    "thinking": lambda step: step.usage.reasoning_tokens,
    "output": lambda step: max(0, step.usage.output_tokens - step.usage.reasoning_tokens),
}
_CHARTS = (
    _Chart("Tokens in", lambda value: tokens(int(value)), _IN),
    _Chart("Tokens out", lambda value: tokens(int(value)), _OUT),
    _Chart("Cost", money, {"cost": lambda step: step.usage.cost_usd}),
    _Chart(
        "Time",
        lambda value: duration(int(value)),
        {"model": _model_ms, "tool": _tool_ms, "hook": lambda step: step.hooks_ms},
    ),
)


def charts(turn: TurnTrace, anchor: str) -> Drawing:
    """Return the charts of a turn's steps, in their order."""
    steps = turn.steps
    shown = [one for one in _CHARTS if any(one.total(step) > 0 for step in steps)]
    width = max(_MIN_WIDTH, _LEFT + _RIGHT + 12.0 * len(steps))
    groups: list[Group] = []
    for index, chart in enumerate(shown):
        groups += _chart(chart, steps, anchor, 22.0 + index * (_ROW + _BETWEEN), width)
    title = f"Tokens, cost and time of {counted(len(steps), 'step')}"
    return Drawing(title, width, 8.0 + len(shown) * (_ROW + _BETWEEN), tuple(groups))


def _chart(
    chart: _Chart, steps: list[StepTrace], anchor: str, top: float, width: float
) -> Iterator[Group]:
    totals = [chart.total(step) for step in steps]
    place, bottom, right = (width - _LEFT - _RIGHT) / len(steps), top + _ROW, width - _RIGHT
    wide = min(46.0, max(2.0, place - 3))
    yield Group(
        (
            _text(chart.name, "lane", 0, top + 4),
            _text(chart.shown(sum(totals)), "total", 0, top + 22),
            _text(chart.shown(max(totals)), "peak", right, top - 4),
            _line("grid", _LEFT, right, top, top),
            _line("ground", _LEFT, right, bottom, bottom),
        )
    )
    for index, step in enumerate(steps):
        x, y = _LEFT + index * place + (place - wide) / 2, bottom
        # The whole column reacts, however low its bar is.
        shapes = [_rect("reach", x, bottom - _ROW, wide, _ROW)]
        for kind, value in chart.series.items():
            if (tall := value(step) * _ROW / max(totals)) > 0:
                y -= max(tall, 1.0)
                shapes.append(_rect(kind, x, y, wide, max(tall, 1.0)))
        parts = chart.series.items()
        named = ", ".join(f"{_LEGEND[kind]} {chart.shown(of(step))}" for kind, of in parts)
        yield Group(tuple(shapes), f"Step {step.number}: {named}", f"{anchor}s{step.number}")


def _rect(kind: str, x: float, y: float, width: float, height: float) -> Shape:
    return Shape("rect", kind, {"x": x, "y": y, "width": width, "height": height})


def _line(kind: str, x1: float, x2: float, y1: float, y2: float) -> Shape:
    return Shape("line", kind, {"x1": x1, "x2": x2, "y1": y1, "y2": y2})


def _text(text: str, kind: str, x: float, y: float) -> Shape:
    return Shape("text", kind, {"x": x, "y": y}, text)
