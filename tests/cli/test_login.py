"""``login``, ``logout`` and ``models``, as they are typed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from agent_ls.cli.main import main
from tests.support.sign_in_server import (
    CODE_PATH,
    PENDING,
    POLL_PATH,
    USER_CODE,
    SignInServer,
    sign_in_server,
)

pytestmark = pytest.mark.heavy


@pytest.fixture
def server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warm_host: Mapping[str, str]
) -> Iterator[SignInServer]:
    with sign_in_server() as serving:
        for name, value in {**serving.variables(tmp_path), **warm_host}.items():
            monkeypatch.setenv(name, value)
        yield serving


def said(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_a_user_signs_in_sees_it_and_signs_out(
    server: SignInServer, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "copilot"
    assert main(["login"]) == 0
    out, _ = said(capsys)
    assert "chatgpt: not signed in" in out
    assert "`agent-ls login copilot`" in out
    server.replies[POLL_PATH[name]] = [PENDING[name], server.usual(POLL_PATH[name])]
    assert main(["login", name]) == 0
    out, err = said(capsys)
    assert f"Enter the code {USER_CODE}\n" in err
    assert out.startswith("You are signed in at ")
    assert main(["login", "--json"]) == 0
    states = {one["account"]: one["state"] for one in json.loads(said(capsys)[0])}
    assert states == {name: "signed in", "chatgpt": "not signed in"}
    assert main(["models", "--json"]) == 0
    listed = {one["name"].partition("/")[0] for one in json.loads(said(capsys)[0])}
    assert listed == {"github_copilot"}
    assert main(["logout", name]) == 0
    assert said(capsys)[0].startswith("You are signed out of ")
    assert main(["logout", name]) == 0
    assert said(capsys)[0].startswith("You were not signed in at ")


def test_what_goes_wrong_is_said_and_an_exit_code(
    server: SignInServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.replies[CODE_PATH["chatgpt"]] = [(404, "")]
    assert main(["login", "chatgpt"]) == 1
    assert "Switch on device code authorization" in said(capsys)[1]
    for words in (["login", "chatgtp"], ["logout", "chatgtp"]):
        assert main(words) == 3
        assert "Did you mean chatgpt?" in said(capsys)[1]
    assert not (tmp_path / "chatgpt").exists()
    (tmp_path / "copilot").mkdir(exist_ok=True)
    (tmp_path / "copilot" / "access-token").write_text("ghu_1")
    (tmp_path / "copilot" / "access-token").chmod(0o644)
    assert main(["login"]) == 0
    assert "copilot: " in (out := said(capsys)[0])
    assert "Run: chmod 600" in out


def test_a_run_without_a_sign_in_names_the_command(
    server: SignInServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "Hello?", "--workspace", str(tmp_path), "--model", "chatgpt/gpt-5.3-codex"]
    assert main(words) != 0
    out, err = said(capsys)
    assert "run `agent-ls login chatgpt`" in out + err
    assert server.seen == []


def test_models_are_listed_by_the_keys_that_are_there(
    server: SignInServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models"]) == 0
    out, err = said(capsys)
    assert out == ""
    assert "`agent-ls login` shows where you can sign in" in err
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-1")
    assert main(["models", "claude", "4-5"]) == 0
    out, _ = said(capsys)
    head, *rows = out.splitlines()
    assert head.split() == ["model", "window", "$", "in", "$", "out", "tools", "images", "effort"]
    (row,) = (one.split() for one in rows if one.startswith("anthropic/claude-haiku-4-5 "))
    assert row[1] == "200,000"
    assert row[4:6] == ["yes", "yes"]
    assert all(one.startswith("anthropic/claude-") for one in rows)
    assert main(["models", "nothing-like-it"]) == 0
    assert "models has nothing-like-it in its name" in said(capsys)[1]
    monkeypatch.setenv("ANTHROPIC_API_KEY", "your-api-key")
    assert main(["models"]) == 0
    assert "ANTHROPIC_API_KEY holds a placeholder" in said(capsys)[1]
