"""Reading a goal, and saying it to the model."""

from __future__ import annotations

import pytest

from agent_ls.domain.errors import SettingsError
from agent_ls.domain.goals import Criterion, Goal, goal_in, parse_goal, split_goal

_TOML = """
goal = "The parser is twice as fast."
acceptance = ["The API stays as it is.", { text = "Linting passes.", command = "ruff check ." }]
constraints = ["No new dependency."]
tests = ["pytest -q", "ruff check ."]
"""
_WHOLE = Goal(
    text="The parser is twice as fast.",
    acceptance=(
        Criterion(text="The API stays as it is."),
        Criterion(text="Linting passes.", command="ruff check ."),
    ),
    constraints=("No new dependency.",),
    tests=("pytest -q", "ruff check ."),
)


def check(text: str, expected: Goal | str) -> None:
    """Read a goal; a text is a piece of the error."""
    if isinstance(expected, Goal):
        assert parse_goal(text, name="goal.toml") == expected
        return
    with pytest.raises(SettingsError) as error:
        parse_goal(text, name="goal.toml")
    assert expected in str(error.value)
    assert "goal.toml" in str(error.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(_TOML, _WHOLE, id="toml"),
        pytest.param(_WHOLE.model_dump_json(), _WHOLE, id="json"),
        pytest.param('text = "Just this."', Goal(text="Just this."), id="only-a-text"),
        pytest.param("Make it fast", "neither TOML nor JSON", id="prose"),
        pytest.param('{"goal": ', "neither TOML nor JSON", id="cut-json"),
        pytest.param('tests = ["pytest"]', "goal: is missing", id="no-goal"),
        pytest.param('goal = "x"\nbudget = 3', "budget: is not known", id="a-key-that-is-none"),
        pytest.param('goal = "x"\ntests = "pytest"', "tests", id="a-text-where-a-list-belongs"),
        pytest.param('goal = ""', "goal: must not be empty", id="empty-goal"),
        pytest.param("goal = 5\nx = 1", "goal: must be text; x: is not known", id="several-slips"),
    ],
)
def test_a_goal_is_read_from_toml_or_json_and_a_slip_is_named(
    text: str, expected: Goal | str
) -> None:
    check(text, expected)


def test_every_command_is_wanted_once_and_the_other_criteria_are_judged() -> None:
    assert _WHOLE.commands == ("ruff check .", "pytest -q")
    assert _WHOLE.judged == ("The API stays as it is.",)


def test_the_model_is_told_the_goal_and_how_it_will_be_judged() -> None:
    assert _WHOLE.as_prompt("Be quick.") == (
        "The parser is twice as fast.\n\n"
        "Acceptance criteria:\n"
        "- The API stays as it is.\n"
        "- Linting passes. (proven by `ruff check .`)\n\n"
        "Constraints:\n- No new dependency.\n\n"
        "Required tests, each has to exit with 0:\n- `pytest -q`\n- `ruff check .`\n\n"
        "Be quick."
    )


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        pytest.param("/goal Be fast.", Goal(text="Be fast."), id="one-line"),
        pytest.param(
            "/goal The parser is\ntwice as fast.\n- The API is kept.\n"
            "- Linting passes: `ruff check .`\n! No new dependency.\n$ pytest -q\n",
            Goal(
                text="The parser is\ntwice as fast.",
                acceptance=(
                    Criterion(text="The API is kept."),
                    Criterion(text="Linting passes", command="ruff check ."),
                ),
                constraints=("No new dependency.",),
                tests=("pytest -q",),
            ),
            id="with-everything",
        ),
        pytest.param("/goal\nBe fast.", Goal(text="Be fast."), id="alone-on-its-line"),
        pytest.param("/goal ", None, id="nothing-behind-it"),
        pytest.param("/goal - only a criterion", None, id="nothing-but-a-criterion"),
        pytest.param("/goals are nice", None, id="another-word"),
        pytest.param("What is a /goal here?", None, id="in-the-middle"),
        pytest.param("Be fast.", None, id="an-ordinary-prompt"),
    ],
)
def test_a_prompt_may_say_its_goal_itself(prompt: str, expected: Goal | None) -> None:
    assert goal_in(prompt) == expected
    if expected is not None:
        assert goal_in(expected.as_typed()) == expected


def test_only_a_goal_that_was_typed_is_one() -> None:
    assert split_goal("Tidy up.") == ("Tidy up.", None)
    words, goal = split_goal("/goal Tidy up.\n$ make test")
    assert words == ""
    assert goal == Goal(text="Tidy up.", tests=("make test",))
