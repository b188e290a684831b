"""What a request carries beside the conversation, and in which steps."""

from __future__ import annotations

import hashlib

import pytest

from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.edits import CreateFile, MoveFile
from agent_ls.domain.events import EditApplied, EditIntended, Event, PlanUpdated, PromptQueued
from agent_ls.domain.plans import PlanItem, PlanStatus
from agent_ls.domain.verdicts import Slot
from agent_ls.loop.extension_points import Injection
from agent_ls.loop.state.view import TurnView
from agent_ls.policies.injections.files_changed import FilesChanged, FilesChangedOptions
from agent_ls.policies.injections.reminder import Reminder, ReminderOptions
from tests.policies.happened import Happened
from tests.policies.views import call_of, prepared, result_of, said, spent, steps, view_of

RECITED = "Where you stand:\nTask: …"


async def check(policy: Injection, view: TurnView, *, speaks: bool) -> str:
    """Return the proposed text, empty when there is none; asking twice must change nothing."""
    slot = await policy.propose(view)
    assert await policy.propose(view) == slot
    assert (slot is not None) == speaks
    if slot is None:
        return ""
    assert isinstance(slot, Slot)
    assert slot.name == policy.name
    return slot.text


def sized(tokens: int) -> list[Event]:
    """Return a step after which the conversation takes so many tokens."""
    return [prepared(90), spent(tokens), said("ok", number=90)]


RHYTHM = {
    "not-in-the-first-step-where-the-task-was-just-said": (steps(0), {}, False),
    "in-the-first-step-when-wanted": (steps(0), {"on_first_step": True}, True),
    "at-once-with-an-open-plan": ([PlanUpdated(items=(PlanItem(text="Left over"),))], {}, True),
    "after-ten-steps-of-a-small-conversation": (steps(10), {}, True),
    "after-seven-steps-from-ten-thousand": ([*steps(6), *sized(10_000)], {}, True),
    "after-three-steps-from-sixty-thousand": ([*steps(2), *sized(60_000)], {}, True),
    "counted-from-then": ([*steps(10), prepared(11, RECITED), said(), *steps(8)], {}, False),
    "zero-is-never": (steps(50), {"max_tokens": 0}, False),
    "the-rhythm-is-a-setting": (steps(2), {"above_tokens": (0,), "every_steps": (2,)}, True),
}


@pytest.mark.parametrize("happened, options, speaks", RHYTHM.values(), ids=RHYTHM)
async def test_the_task_is_recited_more_often_the_longer_the_conversation(
    happened, options, speaks
) -> None:
    await check(Reminder(ReminderOptions(**options)), view_of(*happened), speaks=speaks)


async def recited(*happened: Event, prompt: str = "Make the parser faster.") -> str:
    policy = Reminder(ReminderOptions(on_first_step=True))
    return await check(policy, view_of(*happened, prompt=prompt), speaks=True)


async def test_a_recitation_names_words_plan_files_and_errors() -> None:
    items = [
        PlanItem(text="Measure", status=PlanStatus.COMPLETED),
        PlanItem(text="Rewrite", status=PlanStatus.IN_PROGRESS),
        PlanItem(text="Test"),
    ]
    failures = [
        said("", call_of("grep", id="a")),
        result_of("failure a\n  deep", id="a", error=ErrorKind.RUNTIME),
    ]
    edit = EditIntended(call_id="e", edit=CreateFile(path="fast.py", text=""), before_blob=None)
    text = await recited(
        PromptQueued(text="First.", kind="steer"),
        PromptQueued(text="Mind the tabs.", kind="steer"),
        PlanUpdated(items=tuple(items)),
        edit,
        EditApplied(call_id="e", path="fast.py", status="applied", after_blob="b"),
        *[event for number in range(10) for event in sized(10)],
        *failures,
    )
    assert text.splitlines() == [
        "What has failed so far and is not settled; do not repeat it the same way:",
        "- grep, unknown: failure a",
        "  Look at it from another side before you try again.",
        "Where you stand:",
        "Task: Make the parser faster.",
        "The user added: Mind the tabs.",
        "Plan: 1 of 3 done; next: Rewrite (in_progress); Test (pending)",
        "Files you changed: fast.py",
    ]


async def test_an_endless_prompt_is_recited_in_part() -> None:
    text = await recited(prompt="fix\n" * 100_000)
    assert len(text) < 900
    assert text.endswith("…")


async def test_a_reminder_has_its_place_in_the_order_and_its_size() -> None:
    slot = await Reminder().propose(view_of(*steps(10)))
    assert slot is not None
    assert (slot.priority, slot.max_tokens) == (2, 900)


async def named(happened: Happened, *, max_files: int = 50) -> list[str]:
    """Return the files that the next request would name as changed."""
    options = FilesChangedOptions(max_files=max_files)
    policy = FilesChanged(happened.workspace, options)
    slot = await policy.propose(view_of(*happened.events))
    text = await check(policy, view_of(*happened.events), speaks=slot is not None)
    listed = text.partition("edits: ")[2].partition(". Read")[0]
    return listed.split(", ") if listed else []


async def test_a_file_that_stayed_as_it_was_read_is_not_named(happened: Happened) -> None:
    await happened.read("a.py")
    assert await named(happened) == []


async def test_a_file_that_is_gone_since_it_was_read_is_named(happened: Happened) -> None:
    await happened.read("a.py")
    (happened.root / "a.py").unlink()
    assert await named(happened) == ["a.py"]


async def test_reading_a_changed_file_again_settles_it(happened: Happened) -> None:
    await happened.read("a.py")
    (happened.root / "a.py").write_text("x = 2\n")
    await happened.read("a.py")
    assert await named(happened) == []


async def test_the_models_own_edit_is_not_named(happened: Happened) -> None:
    await happened.read("a.py")
    await happened.write("a.py", "x = 2\n")
    assert await named(happened) == []
    (happened.root / "a.py").write_text("x = 3\n")
    assert await named(happened) == ["a.py"]


async def test_another_spelling_is_the_same_file(happened: Happened) -> None:
    await happened.read("./a.py")
    await happened.write("a.py", "x = 2\n")
    assert await named(happened) == []


async def test_created_and_deleted_files_are_compared_with_what_the_model_left(
    happened: Happened,
) -> None:
    await happened.write("new.py", "n")
    await happened.delete("b.py")
    assert await named(happened) == []
    (happened.root / "new.py").write_text("m")
    (happened.root / "b.py").write_text("back")
    assert await named(happened) == ["new.py", "b.py"]


async def test_a_move_leaves_nothing_at_the_old_place_and_the_text_at_the_new(
    happened: Happened,
) -> None:
    base = await happened.version("a.py")
    await happened.edit(MoveFile(path="a.py", base_version=base, new_path="c.py"))
    assert await named(happened) == []
    (happened.root / "c.py").write_text("y")
    assert await named(happened) == ["c.py"]


async def test_only_the_latest_files_are_watched(happened: Happened) -> None:
    await happened.read("a.py")
    await happened.read("b.py")
    for name in ("a.py", "b.py"):
        (happened.root / name).write_text("x = 2\n")
    assert await named(happened, max_files=1) == ["b.py"]
    assert await named(happened, max_files=0) == []
    assert await named(happened) == ["a.py", "b.py"]


async def test_what_the_model_left_is_known_by_its_digest_alone(happened: Happened) -> None:
    await happened.write("a.py", "x = 2\n")
    await happened.store.close()
    assert await named(happened) == []
    (happened.root / "a.py").write_text("x = 3\n")
    assert await named(happened) == ["a.py"]


async def test_a_file_that_is_no_text_is_compared_by_its_bytes(happened: Happened) -> None:
    for data in (b"\0\xff", b"\0\xfe"):
        happened.events.append(
            EditApplied(
                call_id="c",
                path="a.py",
                status="applied",
                after_blob=hashlib.sha256(b"\0\xff").hexdigest(),
            )
        )
        (happened.root / "a.py").write_bytes(data)
        assert await named(happened) == ([] if data == b"\0\xff" else ["a.py"])


async def test_a_path_that_leads_nowhere_any_more_is_named(happened: Happened) -> None:
    await happened.read("a.py")
    (happened.root / "a.py").unlink()
    (happened.root / "a.py").symlink_to(happened.root.parent)
    assert await named(happened) == ["a.py"]
