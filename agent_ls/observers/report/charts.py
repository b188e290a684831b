"""Tokens, money and time of each step, as four small bar charts over one axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from agent_ls.domain.sentences import counted
from agent_ls.observers.report.html import Html, tag
from agent_ls.observers.report.words import duration, money, tokens
from agent_ls.observers.trace import StepTrace

_LEFT, _RIGHT, _TOP = 78.0, 16.0, 8.0
_ROW, _BETWEEN = 62.0, 26.0
_MIN_WIDTH, _PER_STEP, _MAX_BAR = 960.0, 12.0, 46.0


@dataclass(frozen=True, slots=True)
class Column:
    """One step's place in the charts."""

    step: StepTrace
    anchor: str
    begins_turn: bool


@dataclass(frozen=True, slots=True)
class _Series:
    kind: str
    name: str
    of: Callable[[StepTrace], float]


@dataclass(frozen=True, slots=True)
class _Chart:
    name: str
    series: tuple[_Series, ...]
    shown: Callable[[float], str]


def _tool_ms(step: StepTrace) -> float:
    """Return how long tools kept the step: what ran side by side counts once."""
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


_CHARTS = (
    _Chart(
        "Tokens in",
        (
            _Series("cached", "from the cache", lambda step: step.usage.cache_read_tokens),
            _Series(
                "fresh",
                "read anew",
                lambda step: step.usage.input_tokens - step.usage.cache_read_tokens,
            ),
        ),
        lambda value: tokens(int(value)),
    ),
    _Chart(
        "Tokens out",
        (
            _Series("thinking", "thinking", lambda step: step.usage.reasoning_tokens),
            _Series(
                "output",
                "answer and calls",
                lambda step: max(0, step.usage.output_tokens - step.usage.reasoning_tokens),
            ),
        ),
        lambda value: tokens(int(value)),
    ),
    _Chart("Cost", (_Series("cost", "cost", lambda step: step.usage.cost_usd),), money),
    _Chart(
        "Time",
        (
            _Series("model", "model", lambda step: sum(one.duration_ms for one in step.attempts)),
            _Series("tool", "tools", _tool_ms),
            _Series("hook", "hooks", lambda step: step.hooks_ms),
        ),
        lambda value: duration(int(value)),
    ),
)


def charts(columns: Sequence[Column]) -> Html:
    """Return the charts of these steps, in their order."""
    shown = [one for one in _CHARTS if _peak(one, columns) > 0]
    width = max(_MIN_WIDTH, _LEFT + _RIGHT + _PER_STEP * len(columns))
    height = _TOP + len(shown) * (_ROW + _BETWEEN)
    parts: list[Html] = []
    for index, chart in enumerate(shown):
        parts += _chart(chart, columns, _TOP + 14 + index * (_ROW + _BETWEEN), width)
    words = f"Tokens, cost and time of {counted(len(columns), 'step')}"
    drawing = tag(
        "svg",
        tag("title", words),
        *parts,
        viewbox=f"0 0 {width:.0f} {height:.0f}",
        style=f"min-width:{max(620.0, width if width > _MIN_WIDTH else 0):.0f}px",
        role="img",
        class_="charts",
    )
    return tag("div", drawing, class_="scroll", tabindex=0, role="region", aria_label=words)


def legend(columns: Sequence[Column]) -> Html:
    """Return what the colours mean, of those that are there."""
    there = {
        series.kind: series.name
        for chart in _CHARTS
        for series in chart.series
        if any(series.of(one.step) > 0 for one in columns)
    }
    items = (tag("li", tag("span", class_=f"dot {kind}"), name) for kind, name in there.items())
    return tag("ul", *items, class_="legend")


def _peak(chart: _Chart, columns: Sequence[Column]) -> float:
    return max((_total(chart, one.step) for one in columns), default=0.0)


def _total(chart: _Chart, step: StepTrace) -> float:
    return sum(series.of(step) for series in chart.series)


def _chart(chart: _Chart, columns: Sequence[Column], top: float, width: float) -> Iterator[Html]:
    peak = _peak(chart, columns)
    whole = sum(_total(chart, one.step) for one in columns)
    place = (width - _LEFT - _RIGHT) / len(columns)
    wide = min(_MAX_BAR, max(2.0, place - 3))
    bottom = top + _ROW
    yield tag("text", chart.name, x=0, y=top + 4, class_="lane")
    yield tag("text", chart.shown(whole), x=0, y=top + 22, class_="total")
    yield tag("text", chart.shown(peak), x=width - _RIGHT, y=top - 4, class_="peak")
    yield tag("line", x1=_LEFT, x2=width - _RIGHT, y1=top, y2=top, class_="grid")
    yield tag("line", x1=_LEFT, x2=width - _RIGHT, y1=bottom, y2=bottom, class_="ground")
    for index, column in enumerate(columns):
        left = _LEFT + index * place
        if column.begins_turn and index:
            yield tag("line", x1=left, x2=left, y1=top, y2=bottom, class_="tick")
        yield _bar(chart, column, left + (place - wide) / 2, bottom, wide, _ROW / peak)


def _bar(
    chart: _Chart, column: Column, x: float, bottom: float, wide: float, per_unit: float
) -> Html:
    step = column.step
    named = (f"{one.name} {chart.shown(one.of(step))}" for one in chart.series)
    parts = [tag("title", f"Step {step.number}: {', '.join(named)}")]
    # The whole column reacts, however low its bar is.
    parts.append(tag("rect", x=x, y=bottom - _ROW, width=wide, height=_ROW, class_="reach"))
    y = bottom
    for series in chart.series:
        tall = series.of(step) * per_unit
        if tall <= 0:
            continue
        tall = max(tall, 1.0)
        y -= tall
        parts.append(tag("rect", x=x, y=y, width=wide, height=tall, class_=series.kind))
    return tag("a", *parts, href=f"#{column.anchor}", tabindex=-1)
