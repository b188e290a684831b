"""Where keys are found, in which order, and what is said when there is none."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.providers.credentials import FILE_NAME, StoredCredentials
from agent_ls.providers.frames import Access
from agent_ls.providers.key_variables import KeyPlace, provider_of
from agent_ls.providers.sign_ins import SIGN_INS


async def check(
    folder: Path,
    model: str,
    *,
    file: str | None = None,
    mode: int = 0o600,
    api_base: str = "",
    **env: str,
) -> Access:
    """Look a model's access up, with this file and this environment."""
    if file is not None:
        (folder / FILE_NAME).write_text(file, "utf-8")
        (folder / FILE_NAME).chmod(mode)
    return await StoredCredentials(folder, env).access(model, api_base)


FILE = """
[openai]
api_key = "from-file"
api_base = "http://file/v1"

[anthropic]
api_key = "anthropic-file"

[bedrock]
aws_region_name = "eu-central-1"
"""

ORDER: list[tuple[str, str, dict[str, str], str | None, str | None]] = [
    ("ours-first", "openai/x", {"AGENT_LS_API_KEY": "a", "OPENAI_API_KEY": "b"}, FILE, "a"),
    ("then-the-providers-variable", "openai/x", {"OPENAI_API_KEY": "theirs"}, FILE, "theirs"),
    ("then-the-file", "openai/x", {}, FILE, "from-file"),
    ("a-bare-name-has-a-provider", "gpt-4o", {"OPENAI_API_KEY": "theirs"}, None, "theirs"),
    ("claude-too", "claude-sonnet-4-5", {}, FILE, "anthropic-file"),
    ("blank-is-none", "openai/x", {"OPENAI_API_KEY": "  "}, FILE, "from-file"),
    ("a-second-variable", "gemini/x", {"GOOGLE_API_KEY": "g"}, None, "g"),
    ("any-provider-by-its-name", "groq/x", {"GROQ_API_KEY": "g"}, None, "g"),
    ("local-servers-need-none", "ollama_chat/x", {}, None, None),
    ("clouds-have-their-own-ways", "bedrock/x", {}, FILE, None),
]  # fmt: skip


@pytest.mark.parametrize(
    "model, env, file, key", [case[1:] for case in ORDER], ids=[case[0] for case in ORDER]
)
async def test_the_first_place_with_a_key_wins(
    tmp_path: Path, model: str, env: dict[str, str], file: str | None, key: str | None
) -> None:
    assert (await check(tmp_path, model, file=file, **env)).api_key == key


async def test_the_address_comes_from_the_settings_the_environment_or_the_file(
    tmp_path: Path,
) -> None:
    env = {"OPENAI_BASE_URL": "http://env/v1", "OPENAI_API_KEY": "k"}
    set_here = await check(tmp_path, "openai/x", file=FILE, api_base="http://set/v1", **env)
    from_env = await check(tmp_path, "openai/x", file=FILE, **env)
    from_file = await check(tmp_path, "openai/x", file=FILE)
    bases = [set_here.api_base, from_env.api_base, from_file.api_base]
    assert bases == ["http://set/v1", "http://env/v1", "http://file/v1"]


async def test_cloud_arguments_are_collected(tmp_path: Path) -> None:
    env = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1"}
    found = await check(tmp_path, "bedrock/claude", file=FILE, **env)
    assert found.extra == {
        "aws_access_key_id": "id",
        "aws_secret_access_key": "s",
        "aws_region_name": "us-east-1",
    }


@pytest.mark.parametrize(
    "base", ["http://127.0.0.1:8080/v1", "http://localhost/v1", "http://[::1]"]
)
async def test_an_address_on_this_machine_needs_no_key(tmp_path: Path, base: str) -> None:
    assert (await check(tmp_path, "openai/x", api_base=base)).api_key == "none"


async def test_a_server_of_ones_own_may_need_no_key(tmp_path: Path) -> None:
    assert (await check(tmp_path, "openai/x", api_base="http://gpu.example/v1")).api_key is None
    with pytest.raises(ProviderError, match="no key"):
        await check(tmp_path, "openai/x", api_base="https://api.openai.com/v1")


SET: list[tuple[str, dict[str, str], str | None]] = [
    ("ollama_chat/x", {}, "http://127.0.0.1:11434"),
    ("ollama/x", {"OLLAMA_HOST": "0.0.0.0:9"}, "http://127.0.0.1:9"),
    ("ollama/x", {"OLLAMA_HOST": ":9"}, "http://127.0.0.1:9"),
    ("ollama/x", {"OLLAMA_HOST": "http://0.0.0.0:9"}, "http://127.0.0.1:9"),
    ("ollama/x", {"OLLAMA_HOST": "0.0.0.0"}, "http://127.0.0.1:11434"),
    ("ollama/x", {"OLLAMA_API_BASE": "http://box:1/v1/"}, "http://box:1"),
    ("ollama/x", {"OLLAMA_API_BASE": "http://box:1/ollama/api/chat"}, "http://box:1/ollama"),
    ("openai/x", {"OPENAI_BASE_URL": " localhost:1/v1 "}, "http://localhost:1/v1"),
    ("openai/x", {"OPENAI_BASE_URL": "http://box/v1/chat/completions"}, "http://box/v1"),
    ("openai/x", {"OPENAI_BASE_URL": "http://box/v1/completions/"}, "http://box/v1"),
    ("openai/x", {"OPENAI_BASE_URL": "http://box/v1/models"}, "http://box/v1"),
    ("openai/x", {"OPENAI_BASE_URL": "http://box/v1/"}, "http://box/v1"),
    ("openai/x", {"OPENAI_BASE_URL": "https://box/models"}, "https://box/models"),
    ("azure_ai/x", {"AZURE_AI_API_BASE": "https://box/v1/models"}, "https://box/v1/models"),
]


@pytest.mark.parametrize("model, env, base", SET)
async def test_an_address_may_name_the_whole_endpoint(
    tmp_path: Path, model: str, env: dict[str, str], base: str | None
) -> None:
    found = await check(tmp_path, model, AGENT_LS_API_KEY="k", **env)
    assert found.api_base == base


async def test_an_address_that_cannot_be_used_is_named_by_its_place(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match=r"^OPENAI_BASE_URL: it has a space inside") as caught:
        await check(tmp_path, "openai/x", OPENAI_BASE_URL="http://box /v1")
    assert caught.value.failure is ProviderFailure.BAD_REQUEST
    with pytest.raises(ProviderError, match=r"api_base under .openai. in .* must begin with http"):
        await check(tmp_path, "openai/x", file='[openai]\napi_base = "box/v1"\n')


async def test_without_a_key_one_is_told_where_to_put_it(tmp_path: Path) -> None:
    with pytest.raises(ProviderError) as caught:
        await check(tmp_path, "anthropic/claude-x", api_base="https://gateway.example/v1")
    assert caught.value.failure is ProviderFailure.NO_KEY
    for words in (
        "ANTHROPIC_API_KEY",
        "AGENT_LS_API_KEY",
        "[anthropic]",
        str(tmp_path / FILE_NAME),
    ):
        assert words in caught.value.message


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
async def test_a_file_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(ProviderError, match="chmod 600"):
        await check(tmp_path, "openai/x", file=FILE, mode=mode)


@pytest.mark.parametrize(
    "file, words",
    [("[openai", "cannot read"), ("[openai]\nkey = 'x'", "unknown keys"), ("\xff", "cannot read")],
)
async def test_a_file_that_makes_no_sense_is_named(tmp_path: Path, file: str, words: str) -> None:
    with pytest.raises(ProviderError, match=words) as caught:
        await check(tmp_path, "openai/x", file=file)
    assert str(tmp_path / FILE_NAME) in caught.value.message


MALFORMED = {
    "a-line-end": ("sk-abc\ndef", "holds a line end after 6 characters"),
    "a-carriage-return": ("sk-abc\rdef", "holds a line end after 6 characters"),
    "a-line-separator": ("sk-abc\u2028def", "holds a line end after 6 characters"),
    "no-width-inside": ("sk-abc\u200bdef", "holds an invisible character after 6 characters"),
    "no-width-at-the-end": ("sk-abc\u200b", "holds an invisible character after 6 characters"),
    "a-mark-of-the-byte-order": ("\ufeffsk-abc", "holds an invisible character after 0 characters"),
    "a-long-dash": ("sk-abc\u2013def", "holds a character outside ASCII after 6 characters"),
    "a-letter-that-looks-alike": ("sk-\u0430bc", "holds a character outside ASCII after 3"),
    "a-control-character": ("sk-abc\x1b[0m", "holds a control character after 6 characters"),
    "a-space": ("sk-abc def", "holds a space after 6 characters"),
    "quotes": ('"sk-abc"', "begins with a quotation mark"),
    "round-quotes": ("\u201csk-abc\u201d", "begins with a quotation mark"),
    "a-closing-quote": ("sk-abc'", "ends with a quotation mark"),
    "a-scheme": ("Bearer sk-abc", "begins with the name of a scheme or header, such as Bearer"),
    "a-header": ("Authorization: Bearer sk-abc", "begins with the name of a scheme or header"),
    "a-placeholder": ("<your-api-key>", "holds a placeholder"),
    "a-placeholder-in-words": ("your_api_key_here", "holds a placeholder"),
    "a-variable": ("${OPENAI_API_KEY}", "holds a placeholder"),
    "an-ellipsis": ("sk-...", "holds a placeholder"),
}  # fmt: skip


@pytest.mark.parametrize("key, words", MALFORMED.values(), ids=MALFORMED)
async def test_a_malformed_key_is_named_by_its_place_and_not_shown(
    tmp_path: Path, key: str, words: str
) -> None:
    written = "".join(
        char if char.isprintable() and char not in '"\\' else f"\\u{ord(char):04x}" for char in key
    )
    ways: list[tuple[str, dict[str, str]]] = [
        ("OPENAI_API_KEY", {"OPENAI_API_KEY": f"  {key}\n"}),
        ("AGENT_LS_API_KEY", {"AGENT_LS_API_KEY": key, "OPENAI_API_KEY": "sk-right"}),
        (f"api_key under [openai] in {tmp_path / FILE_NAME}", {}),
    ]
    for place, env in ways:
        file = None if env else f'[openai]\napi_key = "{written}"\n'
        with pytest.raises(ProviderError) as caught:
            await check(tmp_path, "openai/x", file=file, api_base="http://127.0.0.1:1", **env)
        assert caught.value.failure is ProviderFailure.NO_KEY
        assert caught.value.message.startswith(f"{place} {words}")
        assert not any(part in caught.value.message for part in ("sk-", "abc", "def"))


@pytest.mark.parametrize(
    "key", ["sk-abc", "none", "x", "sk-1234", "a.b_c-d~e+f/g=", "{", "your", "key-for-yourself"]
)
async def test_space_around_a_key_is_taken_away(tmp_path: Path, key: str) -> None:
    found = await check(tmp_path, "openai/x", OPENAI_API_KEY=f" {key}\r\n")
    assert found.api_key == key
    found = await check(tmp_path, "openai/x", file=f'[openai]\napi_key = "{key} \\n"\n')
    assert found.api_key == key


async def test_cloud_secrets_are_looked_at_too(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="AWS_SECRET_ACCESS_KEY holds a line end after 2 char"):
        await check(tmp_path, "bedrock/claude", AWS_SECRET_ACCESS_KEY="ab\ncd")


KEYRING = """
import os

def get_password(service, name):
    if log := os.environ.get("KEYRING_LOG"):
        with open(log, "a") as file:
            file.write(name + "\\n")
    if os.environ.get("KEYRING_IS_LOCKED"):
        raise RuntimeError("locked")
    return {("agent-ls", "mistral"): "from-keyring"}.get((service, name))
"""


async def test_the_keyring_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A keyring as a user would have it installed: a module of that name."""
    (tmp_path / "keyring.py").write_text(KEYRING, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "keyring", raising=False)
    assert (await check(tmp_path, "mistral/x")).api_key == "from-keyring"
    assert (await check(tmp_path, "mistral/x", MISTRAL_API_KEY="env")).api_key == "env"
    monkeypatch.setenv("KEYRING_IS_LOCKED", "1")
    with pytest.raises(ProviderError, match="MISTRAL_API_KEY"):
        await check(tmp_path, "mistral/x")
    sys.modules.pop("keyring", None)


async def test_a_keyring_that_stays_locked_asks_the_user_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "keyring.py").write_text(KEYRING, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "keyring", raising=False)
    log = tmp_path / "asked.txt"
    monkeypatch.setenv("KEYRING_LOG", str(log))
    monkeypatch.setenv("KEYRING_IS_LOCKED", "1")
    await StoredCredentials(tmp_path, {}).usable()
    assert len(log.read_text().splitlines()) == 1
    log.unlink()
    monkeypatch.delenv("KEYRING_IS_LOCKED")
    found, _ = await StoredCredentials(tmp_path, {}).usable()
    assert "mistral" in found
    assert len(log.read_text().splitlines()) > 20
    sys.modules.pop("keyring", None)


PLACES: list[tuple[dict[str, str], str]] = [
    ({}, ""),
    ({"CHATGPT_TOKEN_DIR": "/far/tokens"}, "/far/tokens/auth.json"),
    ({"CHATGPT_TOKEN_DIR": "tokens"}, "{home}/tokens/auth.json"),
    ({"CHATGPT_TOKEN_DIR": "~/tokens"}, "{home}/tokens/auth.json"),
    ({"CHATGPT_TOKEN_DIR": "/far", "CHATGPT_AUTH_FILE": "sub/mine.json"}, "/far/sub/mine.json"),
    ({"CHATGPT_TOKEN_DIR": "tokens", "CHATGPT_AUTH_FILE": "/a/b.json"}, "/a/b.json"),
    ({"CHATGPT_AUTH_FILE": "~/mine.json"}, "{home}/mine.json"),
]


@pytest.mark.parametrize("env, place", PLACES)
def test_the_model_host_finds_the_files_of_a_sign_in_where_the_server_does(
    env: dict[str, str], place: str
) -> None:
    for about in SIGN_INS.values():
        names = [about.folder, *about.files]
        given = dict(zip(["CHATGPT_TOKEN_DIR", "CHATGPT_AUTH_FILE"], names, strict=False))
        theirs = {given[name]: value for name, value in env.items()}
        paths = about.paths(theirs)
        assert all(path.is_absolute() for path in paths)
        assert about.paths(about.environment(theirs)) == paths
        if place and about.name == "chatgpt":
            assert str(paths[0]) == place.format(home=Path.home())


@pytest.mark.parametrize(
    "model, provider",
    [
        ("openrouter/anthropic/x", "openrouter"),
        ("o3-mini", "openai"),
        ("gpt9", ""),
        ("", ""),
        ("Qwen/Qwen3-8B", ""),
        ("hf.co/maker/x", ""),
    ],
)
def test_the_provider_is_the_first_part_of_the_name(model: str, provider: str) -> None:
    assert provider_of(model) == provider


@pytest.mark.parametrize("model", ["qwen3:8b", "Qwen/Qwen3-8B", "hf.co/maker/x"])
async def test_a_name_without_a_provider_is_openais_format_at_an_address(
    tmp_path: Path, model: str
) -> None:
    base = "http://gpu.example:8000/v1"
    assert provider_of(model, base) == "openai"
    # OpenAI's own key is for OpenAI, and for whom a name with its provider names.
    given = {"OPENAI_API_KEY": "sk-openais"}
    found = await check(tmp_path, model, api_base=base, **given)
    assert (found.api_key, found.api_base) == (None, base)
    found = await check(tmp_path, model, api_base=base, AGENT_LS_API_KEY="k", **given)
    assert found.api_key == "k"
    found = await check(tmp_path, f"openai/{model}", api_base=base, **given)
    assert found.api_key == "sk-openais"


async def test_a_sign_in_is_looked_for_and_goes_to_no_other_address(tmp_path: Path) -> None:
    env = {"GITHUB_COPILOT_TOKEN_DIR": str(tmp_path), "AGENT_LS_API_KEY": "k"}
    with pytest.raises(ProviderError, match="run `agent-ls login copilot`") as caught:
        await check(tmp_path, "github_copilot/gpt-4o", **env)
    assert caught.value.failure is ProviderFailure.NOT_SIGNED_IN
    (tmp_path / "access-token").write_text("ghu_1")
    (tmp_path / "access-token").chmod(0o600)
    found = await check(tmp_path, "github_copilot/gpt-4o", api_base="http://box/v1", **env)
    assert found == Access()
    env["GITHUB_COPILOT_API_BASE"] = "https://copilot-api.example"
    found = await check(tmp_path, "github_copilot/gpt-4o", api_base="http://box/v1", **env)
    assert found.api_base == "https://copilot-api.example"
    (tmp_path / "access-token").chmod(0o640)
    with pytest.raises(ProviderError, match="chmod 600"):
        await check(tmp_path, "github_copilot/gpt-4o", **env)


async def test_a_mistyped_provider_is_told_with_the_name_that_was_meant(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match=r"ANTROPIC_API_KEY.* Or did you mean anthropic/claude"):
        await check(tmp_path, "antropic/claude-sonnet-4-5")
    with pytest.raises(ProviderError) as caught:
        await check(tmp_path, "anthropic/claude-sonet-4-5")
    assert "did you mean" not in caught.value.message


_OPENAI = KeyPlace("openai", "OPENAI_API_KEY")
_BASE = "http://127.0.0.1:9/v1"
NEEDS: list[tuple[str, str, str, dict[str, str], KeyPlace, bool, str]] = [
    ("no-key", "openai/x", "", {}, _OPENAI, True, "no key for"),
    ("a-key", "openai/x", "", {"OPENAI_API_KEY": "k"}, _OPENAI, False, ""),
    ("bad-key", "openai/x", "", {"OPENAI_API_KEY": "Bearer k"}, _OPENAI, False, "begins with"),
    ("ours", "groq/x", "", {"AGENT_LS_API_KEY": "k"}, KeyPlace("groq", "GROQ_API_KEY"), False, ""),
    ("two-names", "gemini/x", "", {}, KeyPlace("gemini", "GEMINI_API_KEY"), True, "no key for"),
    ("account", "chatgpt/x", "", {}, KeyPlace("chatgpt", "", "chatgpt"), True, "not signed in"),
    ("other-name", "github_copilot/x", "", {}, KeyPlace("github_copilot", "", "copilot"), True,
     "not signed in"),
    ("local", "ollama_chat/x", "", {}, KeyPlace("ollama_chat", "OLLAMA_API_KEY"), False, ""),
    ("own-server", "qwen3", _BASE, {}, _OPENAI, False, ""),
    ("cloud", "bedrock/x", "", {}, KeyPlace("bedrock"), False, ""),
]  # fmt: skip


@pytest.mark.parametrize(
    "model, base, env, place, is_missing, words",
    [case[1:] for case in NEEDS],
    ids=[case[0] for case in NEEDS],
)
async def test_what_a_model_needs_is_told_with_the_variable_of_its_key(
    tmp_path: Path,
    model: str,
    base: str,
    env: dict[str, str],
    place: KeyPlace,
    is_missing: bool,
    words: str,
) -> None:
    nowhere = {"CHATGPT_TOKEN_DIR": str(tmp_path), "GITHUB_COPILOT_TOKEN_DIR": str(tmp_path)}
    need = await StoredCredentials(tmp_path, {**nowhere, **env}).need(model, base)
    assert (need.place, need.is_missing) == (place, is_missing)
    assert words in need.problem
    assert bool(need.problem) == bool(words)
