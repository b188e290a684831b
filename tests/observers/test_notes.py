"""What is noted of events that belong to no step, call or wait."""

from __future__ import annotations

from typing import get_args

import pytest

from agent_ls.domain import events as ev
from agent_ls.domain.calls import ToolCall
from agent_ls.domain.findings import Finding
from agent_ls.domain.goals import Proof
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.plans import ProposedCall
from agent_ls.domain.stops import StopReason
from agent_ls.observers.notes import note_of
from agent_ls.observers.trace import Note

CALL = ToolCall(id="cal_1", provider_id="p", tool="write_file", arguments_json="{}")
MET = Proof(of="make test", is_met=True, by="command")
MISSED = Proof(of="It is fast.", is_met=False, by="model")


def check(event: ev.Event, kind: str, origin: str = "", text: str = "") -> None:
    """Assert that this is what is noted."""
    assert note_of(event, 5) == Note(5, kind, origin, text)


@pytest.mark.parametrize(
    ("event", "kind", "origin", "text"),
    [
        (ev.GateFailed(origin="compile", text="No."), "gate", "compile", "No."),
        (ev.NudgeAdded(origin="compile", text="Mend it."), "nudge", "compile", "Mend it."),
        (
            ev.AdvisoryRaised(origin="budget", text="75 %", priority=0),
            "advisory", "budget", "75 %",
        ),
        (
            ev.RecoveryChosen(step_id="s", origin="transport", action="retry", text="Busy.",
                              wait_s=2.5),
            "recovery: retry", "transport", "after 2.5 s Busy.",
        ),
        (
            ev.RecoveryChosen(step_id="s", origin="empty", action="reask"),
            "recovery: reask", "empty", "",
        ),
        (
            ev.Compacted(origin="window", why="full", drop_before=3, summary="All.",
                         before_tokens=12_000, after_tokens=4_000),
            "compaction", "window", "12,000 → 4,000 tokens (full)\n\nAll.",
        ),
        (
            ev.Moved(to=Phase.CLOSE, stop=StopReason.MAX_STEPS, why="Used up."),
            "closing", "max_steps", "Used up.",
        ),
        (ev.Moved(to=Phase.CLOSE), "closing", "", ""),
        (
            ev.GoalChecked(origin="verification", proofs=(MET, MISSED)),
            "goal", "verification", "✓ make test\n✗ It is fast.",
        ),
        (
            ev.PlanProposed(plan_id="pln_1", origin="plan_mode",
                            calls=(ProposedCall(call=CALL, title="Write a.py"),)),
            "plan", "plan_mode", "Write a.py",
        ),
        (
            ev.PlanResolved(plan_id="pln_1", approved=("cal_1",), each=("cal_2", "cal_3")),
            "plan answered", "", "1 allowed as shown, 2 one by one",
        ),
        (
            ev.PlanResolved(plan_id="pln_1", unasked=("cal_1",)),
            "plan answered", "", "0 allowed as shown, 0 one by one, 1 without asking",
        ),
        (
            ev.FinalOutputGiven(call_id="cal_1", value={"ä": 1}),
            "final output", "", '{\n  "ä": 1\n}',
        ),
        (
            ev.OutputStored(call_id="cal_1", path=("state", "x"), replaces="cal_2"),
            "conflict", "state.x", "overwrote what ran at the same time",
        ),
        (
            ev.GrantsRevoked(grants=("edit", "run"), why="Makefile was edited"),
            "no longer allowed unasked", "edit, run", "Makefile was edited",
        ),
        (ev.EffectSimulated(what="change a.py"), "dry run", "", "change a.py"),
        (ev.MonitorAlerted(pattern="alternation", text="A-B"), "monitor", "alternation", "A-B"),
        (ev.PromptQueued(text="And b", kind="steer"), "steer", "user", "And b"),
        (ev.CancelRequested(by="SIGINT"), "cancel", "SIGINT", ""),
        (ev.ModeChanged(mode=Mode.AUTO), "mode", "user", "auto"),
        (ev.ModelChanged(model="x"), "model", "user", "x"),
        (
            ev.PrefixSet(system="", tools=(), reason="rules changed"),
            "prefix", "prepare", "rules changed",
        ),
        (
            ev.SessionResumed(interrupted_calls=("cal_1",)),
            "resumed", "session", "interrupted calls: 1",
        ),
        (ev.WrapUpRequested(by="user", text="Now."), "wrap_up_requested", "", "Now."),
        (ev.PolicySilenced(origin="open_tasks"), "policy_silenced", "open_tasks", ""),
    ],
)  # fmt: skip
def test_what_happens_beside_the_steps_is_noted(
    event: ev.Event, kind: str, origin: str, text: str
) -> None:
    check(event, kind, origin, text)


def test_findings_are_noted_with_their_files() -> None:
    finding = Finding(path="a.py", checker="ruff", message="x")
    event = ev.FindingsReported(paths=("a.py", "b.py"), findings=(finding,), problems=("no tsc",))
    assert note_of(event, 5) == Note(5, "findings", "a.py, b.py", "no tsc", (finding,))


@pytest.mark.parametrize(
    "event",
    [
        ev.Moved(to=Phase.CHECK),
        ev.PrefixSet(system="", tools=(), reason="first"),
        ev.OutputStored(call_id="cal_1", path=("state", "x")),
        ev.CallDecided(call_id="cal_1", decision="allow", origin="guards"),
        ev.PlanUpdated(items=()),
    ],
)
def test_what_says_nothing_to_a_person_is_not_noted(event: ev.Event) -> None:
    assert note_of(event, 5) is None


def test_there_is_no_kind_of_event_without_a_name_for_people() -> None:
    union = get_args(ev.Event)[0]
    names = [kind.model_fields["type"].default for kind in get_args(union)]
    assert len(names) == len(set(names))
    assert all(name.replace("_", "").isalpha() for name in names)
