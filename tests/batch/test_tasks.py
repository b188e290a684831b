"""Files of tasks: what is read, and what is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.batch.tasks import Task, read_tasks, variants, without_login
from agent_ls.domain.errors import SettingsError
from agent_ls.domain.modes import Mode


def _written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "t.jsonl",
            '{"id": "a", "prompt": "Do it", "repository": "shop", "mode": "ask",'
            ' "labels": ["x", "y"], "budget_usd": 0.5, "settings": ["loop.parallel=false"]}\n\n',
        ),
        (
            "t.toml",
            '[[task]]\nid = "a"\nprompt = "Do it"\nrepository = "shop"\nmode = "ask"\n'
            'labels = ["x", "y"]\nbudget_usd = 0.5\nsettings = ["loop.parallel=false"]\n',
        ),
        (
            "t.csv",
            "\ufeffid,prompt,repository,mode,labels,budget_usd,settings,model\n"
            "a,Do it,shop,ask,x y,0.5,loop.parallel=false,\n",
        ),
    ],
)
def test_the_three_kinds_of_files_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "shop").mkdir()
    assert read_tasks(_written(tmp_path, name, text)) == [
        Task(
            id="a",
            prompt="Do it",
            repository=str(tmp_path / "shop"),
            mode=Mode.ASK,
            labels=("x", "y"),
            budget_usd=0.5,
            settings=("loop.parallel=false",),
        )
    ]


@pytest.mark.parametrize(
    "repository",
    [
        "https://example.com/a.git",
        "git@example.com:a/b.git",
        "ssh://host/a",
        "",
        "ssh://git@host/a",
        "https://example.com/a@b.git",
    ],
)
def test_an_address_stays_as_it_is(tmp_path: Path, repository: str) -> None:
    text = f'{{"id": "a", "prompt": "x", "repository": "{repository}"}}'
    assert read_tasks(_written(tmp_path, "t.jsonl", text))[0].repository == repository


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.jsonl", "", "holds no task"),
        ("t.jsonl", '{"id": "a", "prompt": "x"}\n{', "line 2 is no JSON"),
        ("t.jsonl", '["a"]', "line 1: a task is an object"),
        ("t.jsonl", '{"id": "a"}', "either a prompt or a command"),
        ("t.jsonl", '{"id": "a", "prompt": "x", "command": "/y"}', "either a prompt or a command"),
        ("t.jsonl", '{"id": "a", "prompt": " \\n"}', "either a prompt or a command"),
        ("t.jsonl", '{"prompt": "x"}', "id: is missing"),
        ("t.jsonl", '{"id": "../a", "prompt": "x"}', "letters, digits"),
        ("t.jsonl", '{"id": "a/b", "prompt": "x"}', "letters, digits"),
        ("t.jsonl", '{"id": "-rf", "prompt": "x"}', "letters, digits"),
        ("t.jsonl", '{"id": "a..b", "prompt": "x"}', "for a branch"),
        ("t.jsonl", '{"id": "x.lock", "prompt": "x"}', "for a branch"),
        ("t.jsonl", '{"id": "x.", "prompt": "x"}', "for a branch"),
        (
            "t.jsonl",
            '{"id": "a", "prompt": "x", "promt": 1}',
            "promt: is not known (did you mean prompt?)",
        ),
        ("t.jsonl", '{"id": "a", "prompt": "x"}\n{"id": 1 2}', "line 2 is no JSON: Expecting"),
        ("t.jsonl", '{"id": "a", "prompt": "x", "settings": ["=1"]}', "KEY=VALUE"),
        (
            "t.jsonl",
            '{"id": "a", "prompt": "x", "settings": ["policies.step_limt.max_steps=3"]}',
            "line 1: policies.step_limt.max_steps: is not a setting: did you mean policies.step_l",
        ),
        (
            "t.jsonl",
            '{"id": "a", "prompt": "x", "settings": ["policies.step_limit.max_steps=few"]}',
            "max_steps: must be a whole number",
        ),
        (
            "t.jsonl",
            '{"id": "a", "prompt": "x", "check_files": "no"}',
            "line 1: check_files 'no' is",
        ),
        ("t.jsonl", '{"id": "a", "prompt": "x", "budget_usd": 0}', "budget_usd"),
        ("t.jsonl", '{"id": "a", "prompt": "x", "budget_usd": NaN}', "budget_usd"),
        ("t.jsonl", '{"id": "a", "prompt": "x", "timeout_s": Infinity}', "timeout_s"),
        ("t.jsonl", '{"id": "a", "prompt": "x", "mode": "yolo"}', "mode"),
        ("t.jsonl", '{"id": "a", "prompt": "x", "settings": ["a"]}', "KEY=VALUE"),
        (
            "t.jsonl",
            '{"id": "a", "prompt": "x", "settings": ["store_url=postgresql://u:p@h/d"]}',
            "leave out store_url",
        ),
        ("t.jsonl", '{"id": "a", "prompt": "x", "repository": "nowhere"}', "not a folder"),
        ("t.jsonl", '{"id": "a", "prompt": "x"}\n{"id": "A", "prompt": "y"}', "has the id 'A'"),
        (
            "t.jsonl",
            '{"id": "a", "prompt": "x", "repository": "https://token@example.com/a.git"}',
            "leave out the login before https://example.com/a.git",
        ),
        (
            "t.jsonl",
            '{"id": "a", "prompt": "x", "repository": "ssh://me:secret@example.com/a.git"}',
            "leave out the login",
        ),
        ("t.toml", 'id = "a"', "[[task]]"),
        ("t.toml", "task = [1]", "[[task]]"),
        ("t.toml", "=", "is no TOML"),
        ("t.csv", "id,prompt\na,b,c\n", "row 1 has more cells"),
        ("t.csv", "id,prompt,budget_usd\na,b,much\n", "budget_usd is a number"),
        ("t.txt", "a", "a file .jsonl, .toml or .csv"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(SettingsError) as told:
        read_tasks(_written(tmp_path, name, text))
    assert said in str(told.value)
    assert str(tmp_path) in str(told.value)


def test_a_separator_of_lines_in_a_prompt_ends_no_json(tmp_path: Path) -> None:
    text = '{"id": "a", "prompt": "one\u2028two\x85three"}\r\n'
    (task,) = read_tasks(_written(tmp_path, "t.jsonl", text))
    assert task.prompt == "one\u2028two\x85three"


def test_an_older_task_with_a_login_is_still_read() -> None:
    spec = '{"id": "a", "prompt": "x", "repository": "https://token@example.com/a.git"}'
    assert without_login(Task.model_validate_json(spec).repository) == "https://example.com/a.git"


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "t.jsonl", tmp_path / "missing.csv"):
        with pytest.raises(SettingsError, match="cannot be read"):
            read_tasks(path)


def test_a_folder_of_tasks_has_one_for_each_folder_inside(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name / "files").mkdir(parents=True)
        (tmp_path / name / "task.toml").write_text('prompt = "x"\ncheck = "true"\n')
    (tmp_path / "a" / "check").mkdir()
    (tmp_path / "notes").mkdir()
    first, second = read_tasks(tmp_path)
    assert (first.id, first.repository) == ("a", str(tmp_path / "a" / "files"))
    assert first.check_files == str(tmp_path / "a" / "check")
    assert (second.id, second.check_files) == ("b", "")


def test_variants_stand_side_by_side_and_say_what_differs() -> None:
    task = Task(id="a", prompt="x", model="openai/own", settings=("mode=ask",), labels=("l",))
    wanted = [("small", {"model": "openai/s"}), ("long", {"policies.step_limit.max_steps": "9"})]
    small, long = variants([task], wanted)
    assert (small.id, small.model, small.settings) == ("a.small", "openai/s", ("mode=ask",))
    assert small.labels == ("l", "task=a", "variant=small")
    assert (long.model, long.settings) == (
        "openai/own",
        ("mode=ask", "policies.step_limit.max_steps=9"),
    )
    with pytest.raises(SettingsError, match="Two variants have the name 's'"):
        variants([task], [("s", {"model": "x"}), ("l", {}), ("s", {"model": "y"})])
    with pytest.raises(SettingsError, match="variant a b"):
        variants([task], [("a b", {"model": "x"})])


def test_the_tasks_that_ship_are_tasks(repository: Path) -> None:
    tasks = read_tasks(repository / "benchmarks/evaluation")
    assert len(tasks) == 10
    assert all(task.check and task.check_files for task in tasks)
