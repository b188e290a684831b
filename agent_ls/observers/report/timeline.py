"""The timeline of one turn, drawn: who worked when, side by side where work ran side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from agent_ls.domain.sentences import counted
from agent_ls.observers.call_summary import summary_of
from agent_ls.observers.report.html import Html, tag
from agent_ls.observers.report.timescale import TimeScale
from agent_ls.observers.report.words import duration
from agent_ls.observers.trace import CallTrace, Note, Span, StepTrace, TurnTrace

_LEFT, _RIGHT, _TOP = 78.0, 16.0, 30.0
_BAR, _GAP = 16.0, 5.0
_PER_STEP = 22.0
_MIN_WIDTH, _MAX_WIDTH = 960.0, 6_000.0
_MIN_BAR = 2.5
_NOTE_SIGNS = {"gate": "bad", "compaction": "shrink", "closing": "warn", "cancel": "bad"}
_LOOP_PHASES = {"judge": "Gates looked at the answer", "compact": "Compacting the conversation"}


@dataclass(slots=True)
class _Bar:
    span: Span
    kind: str
    title: str
    target: str
    label: str = ""


@dataclass(slots=True)
class _Lane:
    name: str
    bars: list[_Bar] = field(default_factory=list[_Bar])


def timeline(turn: TurnTrace, anchor: str) -> Html:
    """Return the drawing; ``anchor`` begins the names of the places it links to."""
    lanes = [lane for lane in _lanes(turn, anchor) if lane.bars]
    wanted = _LEFT + _RIGHT + _PER_STEP * len(turn.steps)
    width = min(_MAX_WIDTH, max(_MIN_WIDTH, wanted))
    scale = _scale(turn, width)
    height = _TOP + len(lanes) * (_BAR + _GAP) + 18
    parts = [*_squeezed(scale, height), *_axis(turn, scale, anchor, height)]
    for index, lane in enumerate(lanes):
        parts += _drawn(lane, scale, _TOP + index * (_BAR + _GAP))
    parts += _marks(turn.notes, scale, height - 12)
    words = f"Timeline: {counted(len(turn.steps), 'step')} in {duration(turn.duration_ms)}"
    drawing = tag(
        "svg",
        tag("title", words),
        *parts,
        viewbox=f"0 0 {width:.0f} {height:.0f}",
        style=f"min-width:{max(680.0, width if width > _MIN_WIDTH else 0):.0f}px",
        role="img",
        class_="timeline",
    )
    return tag("div", drawing, class_="scroll", tabindex=0, role="region", aria_label=words)


def _scale(turn: TurnTrace, width: float) -> TimeScale:
    end = turn.ended_ms or max([turn.started_ms + 1, *_ends(turn)])
    busy = [(one.started_ms, one.ended_ms or end) for one in _busy(turn)]
    return TimeScale((turn.started_ms, end), busy, _LEFT, width - _LEFT - _RIGHT)


def _busy(turn: TurnTrace) -> Iterator[Span]:
    """Yield when anything but a person was at work."""
    asked = {wait.asked_by for wait in turn.waits if wait.kind == "question"}
    for step in turn.steps:
        yield from (bar.span for bar in _attempts(step, ""))
        # A tool that asks the person is waiting, not working.
        yield from (call.run for call in step.calls if call.run and call.tool not in asked)
        yield from step.hooks
    yield from (phase for phase in turn.phases if phase.phase in _LOOP_PHASES)


def _ends(turn: TurnTrace) -> Iterator[int]:
    for span in (*_busy(turn), *turn.waits):
        yield span.ended_ms or span.started_ms


def _lanes(turn: TurnTrace, anchor: str) -> list[_Lane]:
    model, loop, person = _Lane("Model"), _Lane("Loop"), _Lane("You")
    tools: list[_Lane] = []
    for step in turn.steps:
        model.bars += _attempts(step, anchor)
        for call in step.calls:
            if call.run is not None:
                _put(tools, _call_bar(call, call.run, f"{anchor}s{step.number}"))
    for phase in turn.phases:
        if phase.phase in _LOOP_PHASES and phase.duration_ms:
            words = f"{_LOOP_PHASES[phase.phase]}: {duration(phase.duration_ms)}"
            loop.bars.append(_Bar(phase, "loop", words, ""))
    for hook in (one for step in turn.steps for one in step.hooks):
        kind = "hook" if hook.outcome in ("passed", "changed", "allowed") else "hook bad"
        words = f"Hook {hook.name} ({hook.moment}): {hook.outcome}, {duration(hook.duration_ms)}"
        loop.bars.append(_Bar(hook, kind, words, ""))
    for side in turn.sides:
        if side.kind == "advice":
            kind = "model bad" if side.failure else "model"
            words = f"{side.origin} asked {side.model}: {duration(side.duration_ms)}"
            loop.bars.append(_Bar(side, kind, words, ""))
    for wait in turn.waits:
        words = f"Waited for you {duration(wait.duration_ms)}: {wait.title} → {wait.answer}"
        person.bars.append(_Bar(wait, "wait", words, f"{anchor}d"))
    return [model, *tools, loop, person]


def _attempts(step: StepTrace, anchor: str) -> Iterator[_Bar]:
    for attempt in step.attempts:
        kind = "model" if not attempt.failure else "model bad"
        words = (
            f"Step {step.number}: {attempt.failure or attempt.finish}, "
            f"{duration(attempt.duration_ms)}, {attempt.usage.input_tokens:,} tokens in, "
            f"{attempt.usage.output_tokens:,} out"
        )
        yield _Bar(attempt, kind, words, f"{anchor}s{step.number}", str(step.number))
        if attempt.wait_s and attempt.ended_ms is not None:
            pause = Span(attempt.ended_ms, attempt.ended_ms + int(attempt.wait_s * 1000))
            yield _Bar(pause, "pause", f"Waited {attempt.wait_s:g} s before trying again", "")


def _call_bar(call: CallTrace, run: Span, target: str) -> _Bar:
    about = summary_of(call.tool, call.arguments_json)
    failed = "" if call.outcome == "ok" else " bad"
    shown = duration(max(run.duration_ms, call.duration_ms))
    words = f"{call.tool} {about}: {call.outcome}, {shown}"
    return _Bar(run, f"{call.effect or 'read'}{failed}", words, target, call.tool)


def _put(lanes: list[_Lane], bar: _Bar) -> None:
    """Put a bar into the first lane where nothing is in its way."""
    for lane in lanes:
        last = lane.bars[-1].span
        if last.ended_ms is not None and last.ended_ms <= bar.span.started_ms:
            lane.bars.append(bar)
            return
    lanes.append(_Lane("Tools" if not lanes else "", [bar]))


def _drawn(lane: _Lane, scale: TimeScale, y: float) -> Iterator[Html]:
    yield tag("text", lane.name, x=0, y=y + 12, class_="lane")
    for bar in lane.bars:
        x = scale.x(bar.span.started_ms)
        end = bar.span.ended_ms
        wide = max(_MIN_BAR, (scale.x(end) if end is not None else scale.right) - x)
        shape = tag(
            "rect", x=x, y=y, width=wide, height=_BAR, rx=min(3.0, wide / 2), class_=bar.kind
        )
        fits = bar.label and wide > 7 * len(bar.label) + 6
        label = tag("text", bar.label, x=x + 5, y=y + 12, class_="in") if fits else None
        content = (tag("title", bar.title), shape, label)
        yield (
            tag("a", *content, href=f"#{bar.target}", tabindex=-1)
            if bar.target
            else tag("g", *content)
        )


def _axis(turn: TurnTrace, scale: TimeScale, anchor: str, height: float) -> Iterator[Html]:
    """Yield a line where each step begins, and its number where there is room."""
    last_x = -100.0
    for step in turn.steps:
        x = scale.x(step.started_ms)
        yield tag("line", x1=x, x2=x, y1=_TOP - 6, y2=height - 18, class_="tick")
        if x - last_x >= 8 + 7 * len(str(step.number)):
            number = tag("text", str(step.number), x=x, y=_TOP - 12, class_="step")
            at = duration(max(0, step.started_ms - turn.started_ms))
            yield tag("a", tag("title", f"Step {step.number}, after {at}"), number,
                      href=f"#{anchor}s{step.number}")  # fmt: skip
            last_x = x


def _squeezed(scale: TimeScale, height: float) -> Iterator[Html]:
    for piece in scale.pieces:
        if piece.is_squeezed:
            idle = duration(piece.end_ms - piece.start_ms)
            yield tag(
                "g",
                tag("title", f"{idle} without work, drawn short"),
                tag("rect", x=piece.x, y=_TOP - 6, width=piece.width, height=height - _TOP - 12,
                    class_="idle"),
                tag("text", idle, x=piece.x + piece.width / 2, y=height - 4, class_="idle-words"),
            )  # fmt: skip


def _marks(notes: Iterable[Note], scale: TimeScale, y: float) -> Iterator[Html]:
    """Yield a dot under the lanes for what the loop said."""
    for note in notes:
        if (sign := _NOTE_SIGNS.get(note.kind)) is not None:
            words = tag("title", f"{note.kind} {note.origin}: {note.text[:200]}")
            yield tag("g", words, tag("circle", cx=scale.x(note.at_ms), cy=y, r=4.5, class_=sign))
