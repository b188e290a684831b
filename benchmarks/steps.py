"""What a step costs beyond the model, against the smallest loops over httpx and litellm.

    python -m benchmarks.steps [--repetitions 5] [--steps 30] [--long 200] [--longest 0] [--json]

All play the same session in turn with a model that answers at once. The gap between the last byte
of an answer and the first byte of the next request is the program's own time, its tools included.
No figure counts unless every edit was exact, in pieces of 1, 16 and 4,096 characters.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from benchmarks import session
from benchmarks.figures import Figure, finish, median, print_table, quantile, shown
from benchmarks.machine import Watched, private_environment
from benchmarks.model import Plan, Request, RunningModel
from benchmarks.places import REPOSITORY
from benchmarks.reopening import reopening
from benchmarks.session import Call, Edits, Step

OURS = "agent-ls"
_HTTPX, _LITELLM, _RAW = "httpx floor", "litellm floor", "raw litellm floor"
_LIMIT_S = 240.0
# As long as a user needs to type a prompt after starting the editor.
_WARM_UP_S = 5.0
_SHAPES = (
    ("1 character", {"chunk": 1}),
    ("16 characters", {"chunk": 16}),
    ("4,096 characters", {"chunk": 4_096}),
)


@dataclass(frozen=True)
class Program:
    """A program under measurement."""

    calls: Callable[[list[Step]], Iterable[Call]]
    command: Callable[[str, Path], list[str]]
    """Of the model's address and the workspace."""


def _floor(client: str) -> Program:
    def command(base_url: str, root: Path) -> list[str]:
        return [sys.executable, "-m", "benchmarks.floor", client, base_url, str(root)]

    return Program(session.calls_of_floor, command)


def _agent_ls(warm_up_s: float = 0.0) -> Program:
    def command(base_url: str, root: Path) -> list[str]:
        driver = [sys.executable, str(REPOSITORY / "benchmarks" / "peer.py"), session.TASK]
        place = ["--endpoint", base_url, "--workspace", str(root)]
        return [*driver, *place, "--limit-s", str(_LIMIT_S), "--warm-up-s", str(warm_up_s)]

    return Program(session.calls_of_agent_ls, command)


PROGRAMS: Mapping[str, Program] = {
    _HTTPX: _floor("httpx"),
    _LITELLM: _floor("litellm"),
    _RAW: _floor("litellm-raw"),
    OURS: _agent_ls(),
}


@dataclass(frozen=True)
class Run:
    """One session, played once."""

    spawned_at: float
    requests: list[Request]
    edits: Edits
    cpu_s: float
    peak_bytes: int
    driven: Mapping[str, float]
    """What the driver noted; empty for a floor."""

    @property
    def main(self) -> list[Request]:
        return [request for request in self.requests if not request.is_side]

    @property
    def first_request_ms(self) -> float:
        return (self.main[0].first_byte_at - self.spawned_at) * 1000

    @property
    def gaps_ms(self) -> list[float]:
        pairs = zip(self.main, self.main[1:], strict=False)
        return [(after.first_byte_at - before.answered_at) * 1000 for before, after in pairs]

    @property
    def growth(self) -> float:
        """The last third's gaps over the first third's."""
        gaps = self.gaps_ms
        third = max(1, len(gaps) // 3)
        return median(gaps[-third:]) / median(gaps[:third])

    @property
    def cache_hit(self) -> float:
        prompt = sum(request.prompt_tokens for request in self.main)
        return sum(request.cached_tokens for request in self.main) / prompt

    @property
    def weighted_tokens(self) -> float:
        """Prompt tokens as they are billed where a cached one costs a tenth."""
        cached = sum(request.cached_tokens for request in self.main)
        return sum(request.prompt_tokens for request in self.main) - 0.9 * cached

    def since_answer_ms(self, moment: str) -> float:
        """Return how long after the last answer something happened."""
        return (self.driven[moment] - self.requests[-1].answered_at) * 1000


def play(
    program: Program,
    steps: list[Step],
    plan: Plan,
    look: Callable[[Path], None] = lambda _folder: None,
) -> Run:
    """Play a session once, in places of its own; ``look`` sees them before they are deleted."""
    with tempfile.TemporaryDirectory(prefix="agent-ls-bench-") as place:
        folder = Path(place)
        root = folder / "workspace"
        session.write_workspace(root, steps)
        environment = private_environment(folder / "home", {"PYTHONPATH": str(REPOSITORY)})
        with RunningModel(plan, folder) as model:
            spawned_at = time.monotonic()
            command = program.command(model.base_url, root)
            with Watched(command, cwd=root, env=environment, log=folder / "log") as watched:
                usage = watched.wait(_LIMIT_S + 30)
            requests = model.finish()
        look(folder)
        said = (folder / "log").read_text("utf-8", "replace")
        if usage.exit_code:
            raise RuntimeError(f"{command} exited with {usage.exit_code}:\n{said[-4000:]}")
        return Run(
            spawned_at=spawned_at,
            requests=requests,
            edits=session.check_workspace(root, steps),
            cpu_s=usage.cpu_s,
            peak_bytes=usage.peak_bytes,
            driven=_driven(said),
        )


def _driven(said: str) -> dict[str, float]:
    lines = [line for line in said.splitlines() if line.startswith('{"spawned_at"')]
    return json.loads(lines[-1]) if lines else {}


def play_in_turn(
    programs: Mapping[str, Program], count: int, repetitions: int
) -> dict[str, list[Run]]:
    """Play a session of so many steps with every program, one after the other, several times."""
    steps = session.plan(count)
    runs: dict[str, list[Run]] = {name: [] for name in programs}
    for _ in range(repetitions):
        for name, program in programs.items():
            run = play(program, steps, Plan(list(program.calls(steps))))
            _say(name, count, run)
            runs[name].append(run)
    return runs


def play_shapes(count: int) -> dict[str, Run]:
    """Play our session once for each way an answer can come in."""
    steps = session.plan(count)
    program = PROGRAMS[OURS]
    plan = Plan(list(program.calls(steps)))
    return {name: play(program, steps, replace(plan, **shape)) for name, shape in _SHAPES}


def _say(name: str, count: int, run: Run) -> None:
    gap = shown(median(run.gaps_ms)) if len(run.main) > 1 else "-"
    sys.stderr.write(f"{name}, {count} steps: gap {gap} ms, edits {run.edits}\n")


def _of(runs: Iterable[Run], what: Callable[[Run], float]) -> float:
    return median(map(what, runs))


def _gap_ms(run: Run) -> float:
    return median(run.gaps_ms)


def figures_of_short(runs: Mapping[str, list[Run]], warm: list[Run]) -> list[Figure]:
    """Return what the short session tells."""
    ours, raw, plain = runs[OURS], runs[_RAW], runs[_LITELLM]
    gap = _of(ours, _gap_ms)
    gaps = list(chain.from_iterable(run.gaps_ms for run in ours))
    memory = _of(ours, lambda run: run.peak_bytes)
    return [
        Figure("gap", gap, "ms"),
        Figure("gap", gap / _of(raw, _gap_ms), "×", goal=2, against=_RAW),
        Figure("gap", gap / _of(plain, _gap_ms), "×", against=_LITELLM),
        Figure("gap", gap / _of(runs[_HTTPX], _gap_ms), "×", against=_HTTPX),
        Figure("gap: p95", quantile(gaps, 0.95) / gap, "×", goal=3, against="its own median"),
        Figure(
            "first request, cold",
            _of(ours, lambda run: run.first_request_ms)
            / _of(plain, lambda run: run.first_request_ms),
            "×",
            goal=0.7,
            against=_LITELLM,
        ),
        Figure(
            "first request, server up 5 s",
            _of(warm, _since_prompt_ms),
            "ms",
            goal=100,
            against="from the prompt",
        ),
        Figure("first prompt", ours[0].main[0].prompt_tokens, "tokens", goal=2_200),
        Figure("prompt, weighted", _of(ours, lambda run: run.weighted_tokens), "tokens"),
        *_cache_figures(ours, runs[_HTTPX]),
        Figure("requests without tools", len(ours[0].requests) - len(ours[0].main), goal=0),
        Figure("memory of the tree", memory / 2**20, "MB"),
        Figure(
            "memory of the tree",
            memory / _of(plain, lambda run: run.peak_bytes),
            "×",
            goal=0.9,
            against=_LITELLM,
        ),
        Figure(
            "end of turn reported",
            _of(ours, lambda run: run.since_answer_ms("ended_at")),
            "ms",
            goal=50,
            against="after the last answer",
        ),
        Figure(
            "exit",
            _of(ours, lambda run: 1000 * (run.driven["exited_at"] - run.driven["ended_at"])),
            "ms",
            goal=300,
            against="from shutdown to the process's end",
        ),
    ]


def _since_prompt_ms(run: Run) -> float:
    return 1000 * (run.main[0].first_byte_at - run.driven["prompted_at"])


def _cache_figures(ours: list[Run], floor: list[Run]) -> list[Figure]:
    return [
        Figure(
            "cache hits",
            _of(ours, lambda run: run.cache_hit),
            goal=_of(floor, lambda run: run.cache_hit),
            at_least=True,
            against=f"goal: {_HTTPX}",
        ),
        Figure(
            "messages a request drops of the one before",
            max(request.dropped_messages for run in ours for request in run.main),
            goal=1,
            against="one slot at the end may go",
        ),
    ]


def figures_of_long(
    runs: Mapping[str, list[Run]], short: Mapping[str, list[Run]], steps: tuple[int, int]
) -> list[Figure]:
    """Return what a long session adds."""
    ours = runs[OURS]

    def cpu_ms(name: str) -> float:
        # The least disturbed runs; the difference has no start-up in it.
        more = min(run.cpu_s for run in runs[name]) - min(run.cpu_s for run in short[name])
        return 1000 * more / (steps[1] - steps[0])

    more_memory = _of(ours, lambda run: run.peak_bytes) - _of(
        short[OURS], lambda run: run.peak_bytes
    )
    return [
        Figure(
            "growth of the gap",
            _of(ours, lambda run: run.growth),
            "×",
            goal=1.2,
            against="last third over first",
        ),
        Figure("gap", _of(ours, _gap_ms), "ms"),
        Figure("gap", _of(ours, _gap_ms) / _of(runs[_RAW], _gap_ms), "×", against=_RAW),
        Figure("CPU of a step", cpu_ms(OURS), "ms"),
        Figure("CPU of a step", cpu_ms(OURS) / cpu_ms(_LITELLM), "×", 0.5, against=_LITELLM),
        Figure("CPU of a step", cpu_ms(OURS) / cpu_ms(_RAW), "×", against=_RAW),
        Figure(
            "memory, more than after the short session",
            more_memory / 2**20,
            "MB",
            goal=30,
        ),
        *_cache_figures(ours, runs[_HTTPX]),
    ]


def figures_of_longest(count: int, first: int) -> list[Figure]:
    """Play one session of so many steps, and return what its length costs us.

    The same session's first steps, so many, are what the others are compared with.
    """
    steps, reopened = session.plan(count), list[Figure]()
    plan = Plan(list(PROGRAMS[OURS].calls(steps)))
    run = play(PROGRAMS[OURS], steps, plan, lambda place: reopened.extend(reopening(place)))
    _say(OURS, count, run)
    kinds = [step.kind for step in steps]
    edits = [gap for kind, gap in zip(kinds, run.gaps_ms, strict=True) if kind == "edit"]
    early = sum(kind == "edit" for kind in kinds[:first])
    return [
        Figure("edit step", median(edits[-early:]), "ms"),
        Figure(
            "edit step",
            median(edits[-early:]) / median(edits[:early]),
            "×",
            goal=1.3,
            against=f"those of the first {first} steps",
        ),
        Figure("end of turn reported", run.since_answer_ms("ended_at"), "ms"),
        Figure("edits exact", _exact([run]), goal=1, at_least=True),
        *reopened,
    ]


def figures_of_edits(runs: Iterable[Run], shapes: Mapping[str, Run]) -> list[Figure]:
    """Return whether every edit was exact, without which no other figure counts."""
    every = list(runs)
    return [
        Figure("sessions with every edit exact", _exact(every), goal=1, at_least=True),
        *(
            Figure(f"edits exact, {name}", _exact([run]), goal=1, at_least=True)
            for name, run in shapes.items()
        ),
    ]


def _exact(runs: list[Run]) -> float:
    return sum(run.edits.is_exact for run in runs) / len(runs)


def measure(count: int, long_count: int, repetitions: int) -> list[Figure]:
    """Return all figures; prints what each program did to standard error."""
    short = play_in_turn(PROGRAMS, count, repetitions)
    warm = play_in_turn({OURS: _agent_ls(_WARM_UP_S)}, count, max(3, repetitions // 2))[OURS]
    shapes = play_shapes(count)
    found = [
        *figures_of_edits([*short[OURS], *warm], shapes),
        *(replace(f, name=f"{f.name}, {count} steps") for f in figures_of_short(short, warm)),
    ]
    if long_count:
        # Three are enough for a median of hundreds of gaps.
        long = play_in_turn(PROGRAMS, long_count, min(3, repetitions))
        more = figures_of_long(long, short, (count, long_count))
        found += figures_of_edits(long[OURS], {})
        found += (replace(f, name=f"{f.name}, {long_count} steps") for f in more)
        _print_programs(long, long_count)
    _print_programs(short, count)
    return found


def _of_longest(count: int, first: int) -> list[Figure]:
    return [
        replace(one, name=f"{one.name}, {count} steps")
        for one in figures_of_longest(count, min(first, count))
    ]


def _print_programs(runs: Mapping[str, list[Run]], count: int) -> None:
    """Print every program beside the others, to standard error."""
    sys.stderr.write(f"\n{count} steps, medians of {len(runs[OURS])}\n\n")
    rows = [
        (
            name,
            shown(_of(them, lambda run: run.first_request_ms)),
            shown(_of(them, _gap_ms)),
            shown(_of(them, lambda run: quantile(run.gaps_ms, 0.95))),
            shown(_of(them, lambda run: run.growth)),
            shown(_of(them, lambda run: run.cpu_s)),
            shown(_of(them, lambda run: run.peak_bytes / 2**20)),
            shown(_of(them, lambda run: run.weighted_tokens)),
            f"{_of(them, lambda run: run.cache_hit):.3f}",
            ", ".join(sorted({str(run.edits) for run in them})),
        )
        for name, them in runs.items()
    ]
    print_table(
        (
            *("program", "first request ms", "gap ms", "p95 ms", "growth", "CPU s"),
            *("memory MB", "weighted tokens", "cache hits", "edits"),
        ),
        rows,
        sys.stderr,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--long", type=int, default=200, help="steps of the long session; 0: none")
    parser.add_argument("--longest", type=int, default=0, help="steps of one more; 0: none")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.steps, options.long, options.repetitions) if options.steps else []
    if options.longest:
        found += _of_longest(options.longest, options.steps or 30)
    return finish("steps", found, as_json=options.json)


if __name__ == "__main__":
    raise SystemExit(main())
