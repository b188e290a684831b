"""``setup``: what it asks, and that nothing is written before a model has answered."""

from __future__ import annotations

import asyncio
import io
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from agent_ls.cli.main import main
from agent_ls.cli.toml_edits import set_values, with_value
from agent_ls.domain.errors import SettingsError
from tests.support.scripted import scripted

Command = Callable[..., tuple[int, str]]
KEY = "sk-abcdefghijklmnop"


@pytest.mark.parametrize(
    "before, table, key, after",
    [
        ("", "", "model", 'model = "new"\n'),
        ("# mine\n[loop]\nx = 1\n", "", "model", '# mine\nmodel = "new"\n[loop]\nx = 1\n'),
        ('model = "old"  # was\nmode = "ask"', "", "model", 'model = "new"\nmode = "ask"'),
        ("[loop]\nmodel = 1\n", "", "model", 'model = "new"\n[loop]\nmodel = 1\n'),
        ('a = "x"', "openai", "api_key", 'a = "x"\n\n[openai]\napi_key = "new"\n'),
        (
            '[openai]\napi_key = "old"\napi_base = "b"\n[z]\n',
            "openai",
            "api_key",
            '[openai]\napi_key = "new"\napi_base = "b"\n[z]\n',
        ),
    ],
)
def test_one_value_is_set_and_the_rest_stays(before: str, table: str, key: str, after: str) -> None:
    text = with_value(before, table, key, "new", Path("a.toml"))
    assert tomllib.loads(text) == tomllib.loads(after)
    assert all(line in text for line in before.splitlines() if "old" not in line)


@pytest.mark.parametrize(
    "before",
    ['provider.api_base = "x"\n', 'provider = { api_base = "x" }\n', 'a = """\n[provider]\n"""\n'],
)
def test_a_file_that_is_written_otherwise_is_not_changed(tmp_path: Path, before: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(before)
    with pytest.raises(SettingsError, match="by hand"):
        set_values(file, {("provider", "api_base"): "new"}, "settings")
    assert file.read_text() == before


def test_broken_toml_is_told_without_what_is_in_it(tmp_path: Path) -> None:
    file = tmp_path / "credentials.toml"
    file.write_text(f"api_key = {KEY}\n")
    with pytest.raises(SettingsError) as caught:
        set_values(file, {("openai", "api_key"): KEY}, "keys")
    assert KEY not in str(caught.value)


def test_a_link_stays_and_leads_to_the_new_text(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "config.toml").symlink_to(tmp_path / "dotfiles" / "config.toml")
    set_values(tmp_path / "config.toml", {("", "model"): "a/b"}, "settings")
    assert (tmp_path / "config.toml").is_symlink()
    assert (tmp_path / "dotfiles" / "config.toml").read_text() == 'model = "a/b"\n'


@pytest.fixture
def home(tmp_path: Path, warm_host: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    for name, value in warm_host.items():
        monkeypatch.setenv(name, value)
    # No name of a test leads anywhere, so no model of a real provider is ever asked.
    monkeypatch.setenv("DEEPSEEK_API_BASE", "http://nowhere.invalid/v1")
    return tmp_path / "agent-ls"


@pytest.fixture
def check(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Run ``setup`` with lines from a pipe; return its code and what it said."""

    def run(lines: str, *words: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(lines))
        code = main(["setup", *words])
        said = capsys.readouterr()
        assert KEY not in said.out + said.err
        return code, said.err

    return run


@pytest.mark.heavy
async def test_a_model_that_answers_is_written(home: Path, check: Command) -> None:
    async with scripted('[[answer]]\ntext = "yes"\n') as model:
        words = ("--api-base", model.base_url)
        code, said = await asyncio.to_thread(check, "openai/scripted\n", *words)
    assert (code, "the model answers" in said) == (0, True), said
    settings = tomllib.loads((home / "config.toml").read_text())
    assert settings == {"model": "openai/scripted", "provider": {"api_base": model.base_url}}
    assert not (home / "credentials.toml").exists()


@pytest.mark.heavy
def test_without_an_answer_nothing_is_written(home: Path, check: Command) -> None:
    code, said = check(f"deepseek/deepseek-chat\n{KEY}\n")
    assert (code, "Nothing was written" in said) == (1, True), said
    assert not (home / "config.toml").exists()
    assert not (home / "credentials.toml").exists()


@pytest.mark.heavy
@pytest.mark.parametrize("lines, words", [(f"{KEY}\ny\n", ()), (f"{KEY}\n", ("--force",))])
def test_unless_the_user_says_so(
    home: Path, check: Command, lines: str, words: tuple[str, ...]
) -> None:
    code, said = check(lines, "--model", "deepseek/deepseek-chat", *words)
    assert code == 0, said
    keys = home / "credentials.toml"
    assert tomllib.loads(keys.read_text()) == {"deepseek": {"api_key": KEY}}
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    assert tomllib.loads((home / "config.toml").read_text()) == {"model": "deepseek/deepseek-chat"}


@pytest.mark.heavy
@pytest.mark.parametrize(
    "lines, words, says",
    [
        ("", (), "there was no answer"),
        ("gpt\n", (), "names no provider"),
        ("deepseek/x\n", (), "there was no answer"),
        ("deepseek/x\nBearer sk-1\n", (), "scheme or header"),
    ],
)
def test_what_cannot_be_is_told(
    home: Path, check: Command, lines: str, words: tuple[str, ...], says: str
) -> None:
    code, said = check(lines, *words)
    assert (code, says in said) == (3, True), said
    assert not home.exists()


def test_without_the_keyrings_package_the_command_that_installs_it_is_told() -> None:
    code = (
        "import sys; sys.modules['keyring'] = None; from agent_ls.cli.main import main; "
        "sys.exit(main(['setup', '--keyring']))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "")
    assert "install 'keyring>=25'" in done.stderr
