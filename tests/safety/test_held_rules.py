"""A rule of the user about files holds by its effect: commands really run, in each sandbox."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from agent_ls.domain.rules import PatternRule, parse_rule
from agent_ls.loop.ports.commands import Bounds
from agent_ls.safety.made_files import made_files
from agent_ls.safety.sandbox.builder import open_builder
from agent_ls.safety.sandbox.confinement import Sandbox
from agent_ls.safety.sandbox.probe import SandboxOptions, probe
from agent_ls.workspace.runner import ShellRunner

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(sys.platform != "linux", reason="this machine is no Linux"),
]

_CANARY = "canary-41c7"
_RULES = (
    "deny read: plans/**, *.pdf, !docs/open.pdf",
    "deny edit: dist/**",
    "deny edit: *.lock",
    "deny read: //{beside}/closed/**",
    "deny read: //{beside}/dots/*",
    "deny read: //{beside}/keys/*.{pem,key}",
)
_READS = [
    *("cat plans/a", "cat pl*/a", "cat < plans/a", "cd plans && cat a", "head -c 99 docs/b.pdf"),
    *("p=plans; cat $p/*", "bash -c 'cat plans/a'", "cat {plans,src}/a", "cat link", "cat into/a"),
    *("cat hard", "cat Plans/../plans/deep/c", "xxd -p plans/a | xxd -r -p", "rev plans/a | rev"),
    *("python3 -c \"print(open('pl' + 'ans/a').read())\"", "find . -type f -exec cat {} +"),
    *("git ls-files | xargs cat", "git diff --no-index /dev/null plans/a", "sh read.sh"),
    *("cat node_modules/pack/x.pdf", "cat */*/x.pdf", "cat {beside}/closed/a", "cat {beside}/*/*"),
    *("cp -r plans copy && cat copy/a", "ln -s plans/a l && cat l", "ln plans/a m && cat m"),
    *("mv plans other && cat other/a", "tar cf t.tar plans && cat t.tar", "sed -n p plans/a"),
    "cd src && env -C .. cat plans/a",
    *("cat {beside}/dots/.token", "cat {beside}/keys/a.pem", "cat {beside}/keys/*"),
]
_WRITES = [
    *("echo x > dist/a", "echo x >> dist/deep/b", "touch dist/new", "mkdir dist/more"),
    *("rm dist/a", "rm -rf dist", "mv dist gone", "mv dist/a src/", "sed -i s/d/x/ dist/a"),
    *("cp src/a dist/a", "cp src/a dist", "ln -sf ../src/a dist/a", "tee dist/a < src/a"),
    *("cd dist && echo x > a", "d=dist; echo x > $d/a", "sh write.sh", "echo x > outlink"),
    *("python3 -c \"open('di' + 'st/a', 'w')\"", "echo x > hardout", "echo x > src/y.lock"),
    *("dd if=src/a of=dist/a", "truncate -s 0 dist/a", "echo z > n && mv n src/y.lock"),
    *("rm src/y.lock", "find . -path '*dist*' -delete", "git rm -rfq dist"),
    "git checkout -q -- dist",
]


@pytest.fixture(scope="module", params=["bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each sandbox; where it does not work the test is skipped."""
    found = probe(SandboxOptions(use=request.param))
    if found.sandbox is None:
        pytest.skip(found.why)
    return found.sandbox


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, and a folder beside it that commands may read."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    top = tmp_path.resolve() / "work"
    for name in ("plans/a", "plans/deep/c", "docs/b.pdf", "node_modules/pack/x.pdf"):
        _write(top / name, f"{_CANARY}\n")
    for name in ("closed/a", "dots/.token", "keys/a.pem", "keys/b.key"):
        _write(top.parent / "beside" / name, f"{_CANARY}\n")
    for name in ("dist/a", "dist/deep/b", "src/y.lock", "src/a", "docs/open.pdf"):
        _write(top / name, "dada\n")
    _write(top / "read.sh", "cat $(echo cGxhbnM= | base64 -d)/a\n")
    _write(top / "write.sh", "cd $(echo ZGlzdA== | base64 -d) && echo x > a\n")
    (top / "link").symlink_to("plans/a")
    (top / "into").symlink_to("plans")
    (top / "outlink").symlink_to("dist/a")
    (top / "hard").hardlink_to(top / "plans/a")
    (top / "hardout").hardlink_to(top / "dist/a")
    git = ("git", "-C", str(top), "-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        subprocess.run((*git, *words), check=True, capture_output=True)
    _write(top / "dist/a", "dada, not committed\n")
    return top


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _rules(top: Path, *texts: str) -> tuple[PatternRule, ...]:
    return tuple(
        parse_rule(one.replace("{beside}", str(top.parent / "beside")[1:])) for one in texts
    )


async def _run(
    command: str, top: Path, sandbox: Sandbox, bounds: Bounds, rules: tuple[PatternRule, ...]
) -> str:
    """Return the output of a command in a view."""
    beside = str(top.parent / "beside")
    builder = open_builder(sandbox, SandboxOptions(read=(beside,)), lambda: [top], lambda: rules)
    try:
        env = {"PATH": os.environ["PATH"], "HOME": str(top.parent / "home")}
        ran = await ShellRunner(builder).run(
            command.replace("{beside}", beside), cwd=top, timeout_s=60, env=env, bounds=bounds
        )
    finally:
        builder.end()
    return ran.output


def _held(top: Path) -> dict[str, tuple[int, bytes]]:
    """Return what must stay: everything in ``dist``, and the locks."""
    paths = [top / "dist", *sorted((top / "dist").rglob("*")), *sorted(top.rglob("*.lock"))]
    return {
        str(one.relative_to(top)): (one.lstat().st_mode, one.read_bytes() if one.is_file() else b"")
        for one in paths
    }


_ALL_BOUNDS = [
    Bounds("read-only"),
    *(Bounds("workspace-write", consent=one) for one in ("none", "mode", "user")),
]


@pytest.mark.parametrize("bounds", _ALL_BOUNDS, ids=lambda one: f"{one.view}-{one.consent}")
async def test_what_a_rule_denies_no_command_reads_or_changes(
    top: Path, sandbox: Sandbox, bounds: Bounds
) -> None:
    before = _held(top)
    script = "\n".join(f"bash -c {shlex.quote(one)}" for one in (*_READS, *_WRITES))
    said = await _run(script, top, sandbox, bounds, _rules(top, *_RULES))
    assert _CANARY not in said
    assert _held(top) == before
    assert await _run("cat docs/open.pdf", top, sandbox, bounds, _rules(top, *_RULES)) == "dada\n"


def test_without_a_rule_the_same_commands_do_it(top: Path, tmp_path: Path) -> None:
    blanks: list[str] = []
    for number, command in enumerate((*_READS, *_WRITES)):
        copy = tmp_path / f"copy{number}"
        shutil.copytree(top, copy, symlinks=True)
        for name, of in (("hard", "plans/a"), ("hardout", "dist/a")):
            (copy / name).unlink()
            (copy / name).hardlink_to(copy / of)
        before = _held(copy)
        text = command.replace("{beside}", str(top.parent / "beside"))
        ran = subprocess.run(["bash", "-c", text], cwd=copy, capture_output=True, check=False)
        is_read = _CANARY.encode() in ran.stdout
        is_changed = not (copy / "dist").exists() or _held(copy) != before
        blanks += [command] * (not (is_read if command in _READS else is_changed))
    # A folder of another case is there only where names ignore it.
    assert set(blanks) <= {"cat Plans/../plans/deep/c"}


@pytest.mark.parametrize(("consent", "is_held"), [("none", True), ("mode", True), ("user", False)])
async def test_what_a_rule_asks_for_only_an_approved_command_touches(
    top: Path, sandbox: Sandbox, consent: Literal["none", "mode", "user"], is_held: bool
) -> None:
    rules = _rules(top, "ask read: plans/**", "ask edit: dist/**")
    bounds = Bounds("workspace-write", consent=consent)
    said = await _run("sh read.sh; sh write.sh", top, sandbox, bounds, rules)
    assert (_CANARY in said) is not is_held
    assert ((top / "dist/a").read_text() == "x\n") is not is_held


async def test_what_a_command_makes_under_a_rule_waits_for_the_user(
    top: Path, sandbox: Sandbox
) -> None:
    rules = _rules(top, "deny edit: src/made/**", "ask edit: *.cfg")
    make = "mkdir src/made docs/x; echo x > src/made/a; echo x > docs/x/y.cfg; echo x > docs/x/z"
    said = await _run(make, top, sandbox, Bounds("workspace-write"), rules)
    assert "a rule of the user is about it: docs/x/y.cfg, src/made/a." in said
    waiting = {one.path for one in made_files().undecided([top])}
    assert waiting == {top / "src/made", top / "docs/x/y.cfg"}


async def test_where_a_rule_covers_more_than_a_view_can_no_command_starts(
    top: Path, sandbox: Sandbox
) -> None:
    for number in range(301):
        (top / f"src/{number}.txt").touch()
    rules = _rules(top, "deny edit: *.txt")
    with pytest.raises(OSError, match="those that rules are about included"):
        await _run("true", top, sandbox, Bounds("workspace-write"), rules)
    assert await _run("cat src/a", top, sandbox, Bounds("read-only"), rules) == "dada\n"


@pytest.fixture(autouse=True)
def _opened(top: Path) -> Iterator[None]:
    """Let the folders be removed at the end, whatever a command did to their modes."""
    yield
    for one in top.rglob("*"):
        if one.is_dir() and not one.is_symlink():
            one.chmod(0o755)
