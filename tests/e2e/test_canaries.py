"""Forty secrets of a user's machine, and a session that looks around: they are found nowhere.

Not in the journal, logs, reports and the conversation, not in what the model is sent, and not in
the environments of commands, checkers and hooks.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from agent_ls.providers.scenario import Answer, Scenario, ScriptedCall
from agent_ls.providers.scripted import ScriptedModel
from tests.support.archive import Archive
from tests.support.markers import Story
from tests.support.sandboxes import installed_bubblewrap
from tests.support.storyteller import Storyteller

pytestmark = pytest.mark.e2e

VARIABLES = [
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "DATABASE_URL",
    "PGPASSWORD",
    "NPM_TOKEN",
    "MY_PASSWORD",
    "VAULT_TOKEN",
    "SLACK_WEBHOOK",
]
HOME = [
    ".ssh/id_rsa",
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".docker/config.json",
    ".kube/config",
    ".config/gh/hosts.yml",
    ".gnupg/secring.gpg",
    ".bash_history",
    ".local/share/keyrings/login.keyring",
    ".local/share/python_keyring/keyring_pass.cfg",
]
WORKSPACE = [
    ".env",
    ".env.production",
    "deep/.env",
    "server.key",
    "key.pem",
    "service-account.json",
    ".netrc",
    "id_rsa",
    "terraform.tfstate",
    "secrets.json",
]
OTHERS = ("history", "remote", "provider key", "endpoint of telemetry", "tool server")
CANARIES = {
    name: f"cnry{number:02d}Kf83hd92Ls7qVx"
    for number, name in enumerate([*VARIABLES, *(f"~/{one}" for one in HOME), *WORKSPACE, *OTHERS])
}
COMMANDS = [
    "",
    "env",
    "printenv",
    "export -p",
    "cat /proc/self/environ",
    "git remote -v",
    "git config -l",
    "cat .git/config",
    "git log --stat",
    "git status",
    "ls -la . deep",
    "cat ~/.ssh/id_rsa ~/.netrc",
    "cat .env deep/.env",
    "head -c 200 server.key key.pem",
    "git show HEAD~1:.env",
    "cat $AGENT_LS_CONFIG",
    "",
][1:-1]
CALLS: list[tuple[str, Mapping[str, object]]] = [
    ("list_dir", {"path": "."}),
    ("glob", {"pattern": "**/*"}),
    ("grep", {"pattern": "cnry"}),
    ("repository_map", {"paths": []}),
    *(("read_file", {"path": one}) for one in (*WORKSPACE, "../home/.netrc")),
    ("write_file", {"path": "app.py", "content": "x = 2\n"}),
    *(("run_command", {"command": one}) for one in COMMANDS),
]
SESSION = ("report --out -", "sessions --json list", "sessions --json search around")
PROGRAMS = {**dict.fromkeys(SESSION, 0), "trace --json": 0, "report": 0, "doctor": 0}
"""What tells a user about the session, and how it exits."""


@pytest.fixture
def place(repository: Path) -> Iterator[Path]:
    """A folder that is not below /tmp."""
    (repository / ".cache").mkdir(exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="canaries-", dir=repository / ".cache")).resolve()
    yield place
    shutil.rmtree(place)


def _git(work: Path, *words: str) -> None:
    author = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", *author, *words], cwd=work, check=True, capture_output=True)


def _fill(place: Path) -> None:
    work = place / "work"
    for name in ("config", "data", "state", "cache"):
        (place / name / "agent-ls").mkdir(parents=True)
    work.mkdir()
    (work / "app.py").write_text("x = 1\n")
    (work / ".env").write_text(f"KEY={CANARIES['history']}\n")
    _git(work, "init", "-q")
    _git(work, "add", "-A")
    _git(work, "commit", "-qm", "one")
    _git(work, "rm", "-q", ".env")
    _git(work, "commit", "-qm", "two")
    _git(work, "remote", "add", "origin", f"https://me:{CANARIES['remote']}@example.org/x.git")
    for name in WORKSPACE:
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(f"KEY={CANARIES[name]}\n")
    for name in HOME:
        (place / "home" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "home" / name).write_text(f"{CANARIES['~/' + name]}\n")
    keys = place / "config/agent-ls/credentials.toml"
    keys.write_text(f'[openai]\napi_key = "{CANARIES["provider key"]}"\n')
    keys.chmod(0o600)
    (place / "config/agent-ls/config.toml").write_text(
        f"""
        mode = "auto"
        [telemetry]
        endpoint = "http://x:{CANARIES["endpoint of telemetry"]}@127.0.0.1:9/v1/traces"
        [mcp.servers.tracker]
        command = "true"
        env = {{ TOKEN = "{CANARIES["tool server"]}" }}
        [[checkers.commands]]
        name = "seen"
        command = '''sh -c "! grep -q 2 app.py || env | sed 's/^/app.py:1:1: error: seen-/'"'''
        files = ["*.py"]
        [[hooks.before_tool]]
        name = "seen"
        command = "env >> seen-by-hook.txt"
        """
    )


def _found(place: Path) -> list[str]:
    """Return which canaries stand where below a folder."""
    found: list[str] = []
    for path in sorted(place.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            found += [f"{name} in {path}" for name, one in CANARIES.items() if one.encode() in data]
    return found


class _Session(Storyteller):
    """A session of a user who rejects what is asked."""

    def prepare(self) -> None:
        """Write nothing: the files are there."""

    async def play(self) -> None:
        asked = self.editor.shown.updates
        begun = await self.editor.request("agent/prompt", {"text": "Look around"})
        answered: set[str] = set()

        def next_one() -> str | None:
            for one in asked:
                if one["sessionUpdate"] == "permission_request":
                    if one["approvalId"] not in answered:
                        return str(one["approvalId"])
                elif one["sessionUpdate"] == "turn_ended" and one["turnId"] == begun["turnId"]:
                    return "ended"
            return None

        while (one := await self.editor.until(next_one, 90, "an approval or the end")) != "ended":
            answered.add(one)
            answer = {"approvalId": one, "choice": "reject_once"}
            await self.editor.request("agent/approval/resolve", answer)


@pytest.mark.parametrize("sandbox", ["off", "bubblewrap"])
async def test_no_secret_is_found_where_it_must_not_be(
    sandbox: str, place: Path, warm_host: Mapping[str, str]
) -> None:
    assert len(CANARIES) >= 40
    if sandbox != "off":
        installed_bubblewrap()
    _fill(place)
    calls = tuple(
        ScriptedCall(tool=tool, arguments_text=json.dumps(given)) for tool, given in CALLS
    )
    answers = (Answer(call=calls), Answer(text="Done.", repeat=0))
    variables = {
        **warm_host,
        **{name: CANARIES[name] for name in VARIABLES},
        "HOME": str(place / "home"),
        "AGENT_LS_SANDBOX": sandbox,
    }
    async with ScriptedModel(Scenario(answer=answers, chunk=0)) as model:
        teller = _Session(Story("canaries", Archive("", {}), ()), "panel", place, model, variables)
        (place / "data/agent-ls/trusted.json").write_text(json.dumps([str(teller.root)]))
        await teller.start()
        await teller.play()
        chat = Path(await teller.editor.execute("agent-ls.conversation"))
        (place / "state/conversation.md").write_bytes(chat.read_bytes())
        await teller.editor.stop()
        shown = json.dumps(vars(teller.editor.shown))
        sent = b"".join(one.raw for one in model.requests).decode()
    printed: dict[str, str] = {}
    for words, code in PROGRAMS.items():
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "agent_ls", *words.split()],
            cwd=teller.root,
            env={**os.environ, **teller.env()},
            capture_output=True,
            check=False,
        )
        assert done.returncode == code, (words, done.stderr)
        printed[words] = (done.stdout + done.stderr).decode()
    # The programs show this session, so a canary in it would be seen.
    assert [one for one in SESSION if "Look around" not in printed[one]] == []
    assert json.loads(printed["trace --json"])
    assert [name for name, one in CANARIES.items() if one in str(printed)] == []
    # The looks have taken place.
    assert "seen-by-hook.txt" in {one.name for one in teller.root.iterdir()}
    assert "seen-PATH=" in sent
    assert "app.py" in sent
    assert "example.org" in sent
    assert [*_found(place / "data"), *_found(place / "state"), *_found(place / "cache")] == []
    assert [one for one in _found(place) if one.endswith("server.log")] == []
    assert [name for name, one in CANARIES.items() if one in sent] == []
    assert [name for name, one in CANARIES.items() if one in shown] == []
    assert [one for one in _found(teller.root) if one.endswith("seen-by-hook.txt")] == []
