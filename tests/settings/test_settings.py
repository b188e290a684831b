"""Where settings come from, in which order, and what a repository may not set."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent_ls.domain.modes import Mode
from agent_ls.safety.trust import TrustedFolders, trust_file
from agent_ls.settings import LoadedSettings, load_settings, user_file


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


def check(
    folder: Path,
    *,
    user: str = "",
    repository: str = "",
    editor: dict[str, Any] | None = None,
    environment: dict[str, str] | None = None,
    command_line: dict[str, Any] | None = None,
    is_trusted: bool = False,
) -> LoadedSettings:
    project = folder / "project"
    (project / ".agent-ls").mkdir(parents=True)
    user_file().parent.mkdir(parents=True)
    user_file().write_text(user)
    (project / ".agent-ls" / "config.toml").write_text(repository)
    if is_trusted:
        TrustedFolders(trust_file()).trust(project)
    return load_settings(
        folders=[project],
        editor=editor,
        environment=environment or {"HOME": os.environ["HOME"]},
        command_line=command_line,
    )


def test_tables_by_name_begin_empty_and_take_what_is_written(tmp_path: Path) -> None:
    loaded = check(
        tmp_path,
        user=(
            "[policies.transport.providers.anthropic]\ntries = 3\nfirst_wait_s = 1\n"
            '[provider.models."openai/own"]\nwindow_tokens = 9000\n'
        ),
        command_line={"policies": {"transport": {"providers": {"anthropic": {"tries": 7}}}}},
    )
    assert loaded.problems == ()
    patience = loaded.settings.policies.model_dump()["transport"]["providers"]["anthropic"]
    assert (patience["tries"], patience["first_wait_s"]) == (7, 1.0)
    assert loaded.settings.provider.models["openai/own"].window_tokens == 9000


def test_later_sources_win(tmp_path: Path) -> None:
    loaded = check(
        tmp_path,
        user='model = "user"\nmode = "plan"\nmarker = "user:"\n[loop]\nmax_parallel_calls = 2\n',
        environment={"AGENT_LS_MODE": "ask", "AGENT_LS_MARKER": "env:"},
        repository='marker = "repo:"\n',
        command_line={"marker": "line:"},
        is_trusted=True,
    )
    settings = loaded.settings
    assert loaded.problems == ()
    assert (settings.model, settings.mode, settings.marker) == ("user", Mode.ASK, "line:")
    assert settings.loop.max_parallel_calls == 2


def test_the_environment_reaches_nested_keys(tmp_path: Path) -> None:
    loaded = check(
        tmp_path,
        environment={
            "AGENT_LS_POLICIES__STEP_LIMIT__MAX_STEPS": "7",
            "AGENT_LS_LOOP__PARALLEL": "false",
            "AGENT_LS_API_BASE": "http://127.0.0.1:1/v1",
            "AGENT_LS_API_KEY": "not a setting",
            "AGENT_LS_HOOK": "what a hook is told, which may call us",
            "AGENT_LS_EDITED_FILE": "a.py",
            "AGENT_LS_COMMAND": "cal_1",
        },
    )
    assert loaded.problems == ()
    assert loaded.settings.model_dump()["policies"]["step_limit"]["max_steps"] == 7
    assert loaded.settings.loop.parallel is False
    assert loaded.settings.provider.api_base == "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("AGENT_LS_MODLE", "AGENT_LS_MODEL"),
        ("AGENT_LS_APIKEY", "AGENT_LS_API_KEY"),
        ("AGENT_LS_BASE_API", "AGENT_LS_API_BASE"),
        ("AGENT_LS_LOOP__MAX_PARALEL_CALLS", "AGENT_LS_LOOP__MAX_PARALLEL_CALLS"),
        ("AGENT_LS_XYZ", ""),
    ],
)
def test_a_variable_that_is_no_setting_is_named_and_is_no_mistake(
    tmp_path: Path, name: str, meant: str
) -> None:
    loaded = check(tmp_path, environment={name: "x", "AGENT_LS_MARKER": "mine:"})
    end = f": did you mean {meant}?" if meant else "."
    assert loaded.problems == (f"environment: {name} is not a setting, so it was ignored{end}",)
    assert loaded.own_problems == ()
    assert loaded.settings.marker == "mine:"


def test_a_variable_with_a_bad_value_is_a_mistake(tmp_path: Path) -> None:
    loaded = check(tmp_path, environment={"AGENT_LS_MODE": "yolo"})
    assert len(loaded.own_problems) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('[provider]\napi_base = "http://evil.example"\n', id="an-endpoint"),
        pytest.param('[provider]\npython = "./evil"\n', id="an-interpreter"),
        pytest.param('[checkers.ruff]\ncommand = "./evil"\n', id="a-checker"),
        pytest.param('[checkers.tsc]\nnode = "./evil"\n', id="a-node"),
        pytest.param('[checkers]\ncommands = ["mypy"]\n', id="a-command-that-checks"),
        pytest.param('store_url = "postgresql://evil.example/x"\n', id="where-history-goes"),
        pytest.param('mode = "auto"\n', id="mode-auto"),
        pytest.param("[policies.mask_secrets]\nenabled = false\n", id="unmasked-secrets"),
    ],
)
@pytest.mark.parametrize("is_trusted", [False, True])
def test_a_repository_never_names_what_runs_or_where_things_go(
    tmp_path: Path, text: str, is_trusted: bool
) -> None:
    loaded = check(tmp_path, repository=text, is_trusted=is_trusted)
    assert loaded.settings == load_settings(environment={"A": "b"}).settings
    assert len(loaded.problems) == 1
    words = ("can only be set in the user file", "neither a folder, trusted or not, nor an editor")
    assert any(one in loaded.problems[0] for one in words)


@pytest.mark.parametrize(
    ("values", "is_taken"),
    [
        pytest.param({"mode": "plan"}, True, id="a-stricter-mode"),
        pytest.param({"mode": "auto"}, False, id="a-freer-mode"),
        pytest.param({"mode": "accept-edits"}, False, id="a-slightly-freer-mode"),
        pytest.param({"model": "other/model"}, False, id="another-model"),
        pytest.param({"policies": {"step_limit": {"max_steps": 5}}}, True, id="fewer-steps"),
        pytest.param({"policies": {"step_limit": {"max_steps": 500}}}, False, id="more-steps"),
        pytest.param({"policies": {"step_limit": {"max_steps": 0}}}, False, id="no-step-limit"),
        pytest.param({"policies": {"mask_secrets": {"enabled": False}}}, False, id="no-masking"),
        pytest.param({"policies": {"wall_clock": {"limit_s": 60}}}, True, id="a-first-time-limit"),
        pytest.param({"loop": {"tool_timeout_s": 1}}, False, id="something-else"),
        pytest.param({"change_hints": "always"}, True, id="changes-shown"),
        pytest.param({"change_hints": "never"}, False, id="changes-hidden"),
    ],
)
@pytest.mark.parametrize("source", ["editor", "repository"])
def test_before_trust_a_folder_may_only_tighten(
    tmp_path: Path, values: dict[str, Any], is_taken: bool, source: str
) -> None:
    if source == "editor":
        loaded = check(tmp_path, editor=values)
    else:
        loaded = check(tmp_path, repository=_toml(values))
    assert (loaded.problems == ()) is is_taken
    assert (loaded.settings == load_settings(environment={"A": "b"}).settings) is not is_taken


def _toml(values: dict[str, Any], above: str = "") -> str:
    lines = ""
    for key, value in values.items():
        if isinstance(value, dict):
            lines += _toml(value, f"{above}{key}.")
        else:
            shown = str(value).lower() if isinstance(value, bool | int) else f'"{value}"'
            lines += f"{above}{key} = {shown}\n"
    return lines


def test_a_key_and_a_table_of_one_name_do_not_break_anything(tmp_path: Path) -> None:
    environment = {"AGENT_LS_LOOP": "x", "AGENT_LS_LOOP__PARALLEL": "false"}
    loaded = check(tmp_path, environment=environment)
    assert len(loaded.problems) == 1
    assert loaded.settings.loop.parallel is False


@pytest.mark.parametrize(
    ("user", "words"),
    [
        pytest.param('modell = "x"\n', "modell: is not a setting", id="an-unknown-key"),
        pytest.param('modle = "x"\n', "modle: is not a setting: did you mean model?", id="a-slip"),
        pytest.param(
            "[policis.budget]\nmax_tokens = 3\n",
            "policis.budget.max_tokens: is not a setting: did you mean policies.budget.max_tokens?",
            id="a-misspelt-table",
        ),
        pytest.param("[loop]\nspeed = 3\n", "loop.speed: is not a setting", id="an-inner-one"),
        pytest.param(
            '[[hooks.PreToolUse]]\nname = "x"\ncommand = "x"\n',
            "hooks.PreToolUse: is not a setting: did you mean hooks.before_tool?",
            id="another-agents-hook",
        ),
        pytest.param(
            '[[hooks.after_tol]]\nname = "x"\n',
            "hooks.after_tol: is not a setting: did you mean hooks.after_tool?",
            id="a-mistyped-hook",
        ),
        pytest.param("hooks.zz = 1\n", "hooks.zz: is not a setting.", id="no-hook"),
        pytest.param('mode = "yolo"\n', "mode: must be", id="a-bad-value"),
        pytest.param("mode = \n", "could not be read", id="broken-toml"),
        pytest.param("[mode]\nx = 1\n", "mode.x is not a setting", id="a-table-for-a-value"),
        pytest.param('loop = "fast"\n', "loop: must be a table.", id="a-value-for-a-table"),
        pytest.param("allowed_tools = 3\n", "allowed_tools: must be a list.", id="no-list"),
        pytest.param(
            "loop.step_timeout_s = nan\n", "loop.step_timeout_s: is not a number", id="nan"
        ),
        pytest.param('[checkers]\ncommands = ["x"]\n', "'x' is none of", id="no-such-command"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_key_and_the_rest_counts(
    tmp_path: Path, user: str, words: str
) -> None:
    loaded = check(tmp_path, user=user, environment={"AGENT_LS_MARKER": "mine:"})
    assert len(loaded.problems) == 1
    assert str(user_file()) in loaded.problems[0]
    assert words in loaded.problems[0]
    assert loaded.settings.marker == "mine:"


@pytest.mark.parametrize(
    ("editor", "says"),
    [
        ({"loop": {"nonsense": 3}}, "loop.nonsense: is not a setting."),
        ({"nonsense": {"deep": True}}, "nonsense.deep: is not a setting."),
        ({"checkers": {"nonsense": 1}}, "checkers.nonsense: is not a setting."),
        ({"marker": "x:"}, "marker was ignored: the folder is not trusted yet"),
        ({"policies": {"step_limit": {"max_steps": 0}}}, "max_steps was ignored: the folder"),
    ],
    ids=str,
)
def test_a_key_that_there_is_not_is_told_as_unknown_in_a_folder_that_is_not_trusted(
    tmp_path: Path, editor: dict[str, Any], says: str
) -> None:
    (problem,) = check(tmp_path, editor=editor).problems
    assert says in problem


def test_each_entry_of_a_list_that_is_wrong_is_named_with_its_key(tmp_path: Path) -> None:
    user = '[[hooks.after_tool]]\nname = "a"\n[[hooks.after_tool]]\nname = "b"\nspeed = 3\n'
    problems = check(tmp_path, user=user).problems
    assert [one.partition(": ")[2] for one in problems] == [
        "hooks.after_tool[1].command: is missing.",
        "hooks.after_tool[2].command: is missing.",
        "hooks.after_tool[2].speed: is not known.",
    ]


@pytest.mark.parametrize(
    ("user", "repository", "is_taken"),
    [
        pytest.param("dry_run = true", "dry_run = false", False, id="a dry run made real"),
        pytest.param("", "dry_run = true", True, id="a dry run begun"),
        pytest.param('allowed_tools = ["read_*", "grep"]', "allowed_tools = []", False, id="all"),
        pytest.param('allowed_tools = ["grep"]', 'allowed_tools = ["*"]', False, id="more tools"),
        pytest.param('allowed_tools = ["grep"]', 'allowed_tools = "grep"', False, id="no list"),
        pytest.param(
            'allowed_tools = ["read_*", "grep"]', 'allowed_tools = ["grep"]', True, id="fewer tools"
        ),
        pytest.param("", 'allowed_tools = ["grep"]', True, id="a first list of tools"),
    ],
)
@pytest.mark.parametrize("is_trusted", [False, True])
def test_a_folder_never_takes_back_what_restricts_it(
    tmp_path: Path, user: str, repository: str, is_taken: bool, is_trusted: bool
) -> None:
    loaded = check(tmp_path, user=user, repository=repository, is_trusted=is_trusted)
    assert (loaded.problems == ()) is is_taken
    alone = load_settings(environment={"HOME": os.environ["HOME"]})
    assert (loaded.settings != alone.settings) is is_taken


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "huge", "deep", "file-for-a-folder"])
def test_a_file_of_a_repository_that_cannot_be_read_is_told_and_left_out(
    tmp_path: Path, kind: str
) -> None:
    folder = tmp_path / "project" / ".agent-ls"
    place = folder / "config.toml"
    folder.parent.mkdir()
    if kind == "file-for-a-folder":
        folder.touch()
    else:
        folder.mkdir()
    match kind:
        case "pipe":
            os.mkfifo(place)
        case "device":
            place.symlink_to("/dev/zero")
        case "folder":
            place.mkdir()
        case "huge":
            place.write_bytes(b"#" * 2_000_000)
        case "deep":
            place.write_text("a = " + "[" * 100_000)
        case _:
            pass
    loaded = load_settings(folders=[folder.parent], environment={"HOME": os.environ["HOME"]})
    assert loaded.settings.mode is Mode.ASK
    (problem,) = loaded.problems
    assert "could not be read, so none of it counts" in problem


def test_rules_of_all_sources_hold_and_name_their_source(tmp_path: Path) -> None:
    loaded = check(
        tmp_path,
        user='[rules]\nallow = ["Bash(make:*)", "nonsense"]\ndeny = ["read: a"]\n',
        repository='[rules]\nallow = ["run_command: *"]\nask = ["run_command: x"]\ndeny = []\n',
        editor={"rules": {"deny": ["edit: b"]}},
        command_line={"rules": {"deny": "host: *"}},
        is_trusted=True,
    )
    named = [(one.decision, one.notation) for one in loaded.settings.rules.patterns]
    assert named == [
        ("deny", "read: a"),
        ("deny", "edit: b"),
        ("deny", "host: *"),
        ("ask", "run_command: x"),
        ("allow", "run_command: make *"),
    ]
    sources = [one.source for one in loaded.settings.rules.patterns]
    assert sources[1:3] == ["editor settings", "command line"]
    assert sources[0] == sources[4] == str(user_file())
    own, foreign = loaded.problems
    assert "'nonsense' is no rule" in own
    assert "rules.allow was ignored" in foreign


_PROFILES = """
mode = "accept-edits"
rules.allow = ["run_command: pytest *"]
[profiles.careful]
mode = "plan"
rules.deny = ["run_command: git push *"]
[profiles.careful.sandbox]
use = "off"
[profiles.free]
mode = "auto"
"""


@pytest.mark.parametrize(
    ("given", "is_trusted", "mode", "sandbox", "words"),
    [
        ({}, False, Mode.ACCEPT_EDITS, "auto", ""),
        ({"user": 'profile = "careful"\n'}, False, Mode.PLAN, "off", ""),
        ({"command_line": {"profile": "careful"}}, False, Mode.PLAN, "off", ""),
        ({"environment": {"AGENT_LS_PROFILE": "careful"}}, False, Mode.PLAN, "off", ""),
        ({"command_line": {"profile": "free", "mode": "ask"}}, False, Mode.ASK, "auto", ""),
        ({"user": 'profile = "free"\n', "command_line": {"profile": ""}}, False,
         Mode.ACCEPT_EDITS, "auto", ""),
        ({"command_line": {"profile": "x"}}, False, Mode.ACCEPT_EDITS, "auto", "careful, free"),
        ({"repository": 'profile = "free"'}, True, Mode.ACCEPT_EDITS, "auto", "only be set in"),
        ({"repository": "[profiles.free]\nmode = 'ask'"}, True, Mode.ACCEPT_EDITS, "auto",
         "is not a setting."),
        ({"editor": {"profile": "free"}}, True, Mode.ACCEPT_EDITS, "auto", "may choose that"),
        ({"editor": {"profile": "careful"}}, False, Mode.PLAN, "auto", "sandbox.use was ignored"),
        ({"editor": {"profile": ["free"]}}, True, Mode.ACCEPT_EDITS, "auto", "careful, free"),
    ],
)  # fmt: skip
def test_a_profile_is_laid_over_the_users_other_settings(
    tmp_path: Path, given: dict[str, Any], is_trusted: bool, mode: Mode, sandbox: str, words: str
) -> None:
    user = given.pop("user", "") + _PROFILES
    loaded = check(tmp_path, user=user, is_trusted=is_trusted, **given)
    assert (loaded.settings.mode, loaded.settings.sandbox.use) == (mode, sandbox)
    assert [one.text for one in loaded.settings.rules.allow] == ["run_command: pytest *"]
    assert bool(loaded.settings.rules.deny) is (mode is Mode.PLAN)
    assert words in " ".join(loaded.problems)
    assert bool(words) is bool(loaded.problems)
