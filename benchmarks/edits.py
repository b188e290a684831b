"""How many genuine edits the engine places, and what it does to those that are bent.

    python -m benchmarks.edits [--most N] [--unseen] [--show drift] GIT_DIR...

GIT_DIR are git directories of any projects; the checkout's own is taken without one. Truths fall
into a seen and an unseen half by their own checksum.
"""

from __future__ import annotations

import argparse
import difflib
import time
from collections import Counter, defaultdict
from pathlib import Path

from agent_ls.domain.edits import Replacement, apply_replacements
from agent_ls.edits.envelope import place_envelope
from agent_ls.edits.requests import EditRequest, Refused
from agent_ls.edits.search_replace import place
from agent_ls.edits.unified import place_unified
from benchmarks.edit_corpus.diffs import patches
from benchmarks.edit_corpus.quotes import edits
from benchmarks.edit_corpus.truths import Case, Edit, truths

_WORST = ("wrong", "applied", "indent", "cosmetic", "refused")


def answer(case: Case) -> tuple[Replacement, ...] | Refused:
    """Return what the engine says."""
    if isinstance(case.request, Edit):
        one = case.request
        return place(case.text, [EditRequest(one.old, one.new, one.line)])
    run = place_unified if case.kind == "unified" else place_envelope
    return run(case.text, str(case.request))


def verdict(case: Case, said: tuple[Replacement, ...] | Refused) -> str:
    """Return right, refused, or how it is wrong."""
    if isinstance(said, Refused):
        return "right" if case.expected is None else "refused"
    if case.expected is None:
        return "applied"
    result = apply_replacements(case.text, said)
    if result == case.expected:
        return "right"
    one, other = result.split("\n"), case.expected.split("\n")
    solid = [[line.strip() for line in lines if line.strip()] for lines in (one, other)]
    if solid[0] != solid[1]:
        return "wrong"
    bare = [[line.rstrip() for line in lines if line.strip()] for lines in (one, other)]
    return "cosmetic" if bare[0] == bare[1] else "indent"


def _shown(case: Case, said: tuple[Replacement, ...] | Refused) -> str:
    if isinstance(case.request, Edit):
        head = f"OLD\n{case.request.old}\nNEW\n{case.request.new}\nline {case.request.line}"
    else:
        head = str(case.request)
    if isinstance(said, Refused):
        return f"{head}\n--> {said.why}: {said.reason}"
    result = apply_replacements(case.text, said)
    goal = case.expected if case.expected is not None else case.text
    diff = difflib.unified_diff(
        goal.split("\n"), result.split("\n"), "expected", "got", lineterm=""
    )
    return head + "\n--> " + "\n".join(diff)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("git_dirs", nargs="*", type=Path)
    parser.add_argument("--most", type=int, default=100, help="truths of each history")
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--show", default="", help="print failures: format/drift/verdict")
    parser.add_argument("--count", type=int, default=3)
    given = parser.parse_args()
    table: dict[tuple[str, str, bool], Counter[str]] = defaultdict(Counter)
    python_indents = 0
    slowest = spent = 0.0
    left = given.count
    for git_dir in given.git_dirs or [Path(".git")]:
        for truth in truths(git_dir, given.most):
            if (truth.seed // 7) % 2 != given.unseen:
                continue
            for case in (*edits(truth), *patches(truth)):
                began = time.perf_counter()
                said = answer(case)
                took = time.perf_counter() - began
                spent, slowest = spent + took, max(slowest, took)
                how = verdict(case, said)
                table[case.kind, case.drift, case.expected is None][how] += 1
                python_indents += how == "indent" and case.path.endswith(".py")
                wanted = f"{case.kind}/{case.drift}/{how}"
                if given.show and given.show in wanted and how != "right" and left:
                    left -= 1
                    print(f"=== {wanted} {case.path}\n{_shown(case, said)}\n")
    _print(table)
    print(
        f"mis-indented in Python: {python_indents}; {spent:.1f} s, slowest {slowest * 1e3:.0f} ms"
    )


def _print(table: dict[tuple[str, str, bool], Counter[str]]) -> None:
    print(f"{'':42}{'cases':>7}{'right':>8} " + " ".join(f"{one:>8}" for one in _WORST))
    sums: dict[tuple[str, bool], Counter[str]] = defaultdict(Counter)
    for (kind, drift, refuse), counts in sorted(
        table.items(), key=lambda one: (one[0][0], one[0][2], one[0][1])
    ):
        sums[kind, refuse] += counts
        _row(f"{kind} {'!' if refuse else ' '} {drift}", counts)
    for (kind, refuse), counts in sums.items():
        _row(f"{kind}: {'must refuse' if refuse else 'must apply'}", counts)


def _row(name: str, counts: Counter[str]) -> None:
    total = counts.total()
    worst = " ".join(f"{counts[one] or '':>8}" for one in _WORST)
    print(f"{name:42}{total:>7}{counts['right'] / total:>8.2%} {worst}")


if __name__ == "__main__":
    main()
