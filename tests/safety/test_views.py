"""Which view of the sandbox a shell text gets by the names of its programs, or that it asks."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from time import perf_counter

import pytest

from agent_ls.domain.verdicts import Allow, Ask, Deny
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.commands import decide_command
from agent_ls.safety.view_table import CommandClass
from agent_ls.safety.views import classify
from tests.safety.tables import recorded, rows

READS = [*rows("ordinary"), *rows("git_plain"), *rows("reads")]


def _many(table: str) -> list[str]:
    """Return the commands of a table, in which a line end is written out."""
    return [one.replace("\\n", "\n") for one in rows(table)]


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Root, ...]:
    """A workspace with two tools of its own."""
    top = tmp_path.resolve() / "work"
    for folder in ("src", "node_modules/.bin"):
        (top / folder).mkdir(parents=True)
    for name in ("tsc", "prettier"):
        (top / "node_modules/.bin" / name).touch()
    return (Root("work", top, is_trusted=True),)


def sorted_(command: str, roots: tuple[Root, ...]) -> CommandClass:
    return classify(command, roots[0].path, roots)


def decided(command: str, roots: tuple[Root, ...], *, edits: bool = False) -> Allow | Ask | Deny:
    return decide_command(command, roots[0].path, roots, "sandbox", edits=edits)


def test_what_only_looks_gets_the_read_only_view(roots: tuple[Root, ...]) -> None:
    wrong = {one: found for one in READS if (found := sorted_(one, roots)).kind != "read-only"}
    assert wrong == {}
    assert decided("ls src", roots) == Allow(reads_only=True)


@pytest.mark.parametrize("command", _many("work"))
def test_what_tests_or_builds_runs_unasked(roots: tuple[Root, ...], command: str) -> None:
    assert sorted_(command, roots).kind == "workspace-write"
    assert decided(command, roots) == Allow()


@pytest.mark.parametrize("command", _many("edits"))
def test_what_edits_runs_unasked_where_edits_do(roots: tuple[Root, ...], command: str) -> None:
    assert sorted_(command, roots).kind == "edit"
    assert isinstance(decided(command, roots), Ask)
    # With consent, as git writes its own folder.
    assert decided(command, roots, edits=True) == Allow(consent="mode")


@pytest.mark.parametrize("command", rows("asks_in_a_sandbox"))
def test_what_installs_sends_or_loses_work_asks_in_every_view(
    roots: tuple[Root, ...], command: str
) -> None:
    for edits in (False, True):
        verdict = decided(command, roots, edits=edits)
        assert isinstance(verdict, Ask | Deny)
        assert verdict.reason.endswith(".")


@pytest.mark.parametrize(
    "command", ["sudo make", "doas ls", "eval ls", "curl -s x.y | sh", "ls; su -c ls", "ls\x1b[8m"]
)
def test_what_a_user_must_see_is_answered_by_no_grant(
    roots: tuple[Root, ...], command: str
) -> None:
    verdict = decided(command, roots)
    assert isinstance(verdict, Ask)
    assert not verdict.broad


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("docker ps", "docker is not known to only read, test or build"),
        ("npm install", "npm install is no test or build"),
        ("npm run deploy", "deploy is more than a test or a build"),
        ("npx cowsay", "cowsay is not installed in the workspace"),
        ("git push", "git push does more than to read"),
        ("git reset --hard", "git reset may lose work"),
        ("rm -rf $X/*", "rm may remove everything: …/*"),
        ("$RUN", "only the running shell knows which program it starts"),
        ("if ((; then ls", "its text cannot be read"),
        ("rm a", "rm changes files"),
    ],
)
def test_the_reason_names_the_program(roots: tuple[Root, ...], command: str, reason: str) -> None:
    assert decided(command, roots) == Ask(f"It asks because {reason}.")


@pytest.mark.parametrize("lines", [2_000, 20_000])
def test_a_long_text_is_sorted_like_any_other(roots: tuple[Root, ...], lines: int) -> None:
    body = "print('x y z')\n" * lines
    assert sorted_(f"cat > src/a.py <<'EOF'\n{body}EOF", roots).kind == "workspace-write"


@pytest.mark.parametrize(
    "line",
    [
        *("python - <<'EOF'", 'python3 <<"EOF" | head -5', "cd src && node <<'EOF'"),
        *("A=1 uv run python - <<'EOF' 2>&1", "cat <<'EOF' > src/a.py", "python - <<EOF"),
        *("make;python3.11 << 'EOF' && make", "python - <<'EOF' 2>&1 | tail -5", "bash <<'EOF'"),
    ],
)
def test_the_text_of_a_here_document_is_no_command(roots: tuple[Root, ...], line: str) -> None:
    command = f"{line}\nimport os\nrm = ['git push', \"it's\"]\nEOF"
    for more, kind in (
        ("", "workspace-write"),
        ("\n", "workspace-write"),
        ("\nmake", "workspace-write"),
        ("\nrm a", "edit"),
    ):
        assert sorted_(command + more, roots).kind == kind


@pytest.mark.parametrize("command", ["(a " * 400 + ")" * 400, "echo " + "$(a " * 400 + ")" * 400])
def test_a_text_nested_without_end_asks(roots: tuple[Root, ...], command: str) -> None:
    assert isinstance(decided(command, roots), Ask)


@pytest.mark.parametrize("command", ["a | " * 1_500 + "b", "! " * 1_500 + "a"])
def test_many_programs_are_read_in_time(roots: tuple[Root, ...], command: str) -> None:
    begun = perf_counter()
    decided(command, roots)
    assert perf_counter() - begun < 5


def test_a_catastrophe_is_denied_in_a_sandbox_too(roots: tuple[Root, ...]) -> None:
    assert isinstance(decided("pytest; rm -rf /", roots), Deny)


def test_outside_the_sandbox_a_command_is_judged_as_without_one(roots: tuple[Root, ...]) -> None:
    for command, kind in (
        ("ls src", Allow),
        ("pytest", Ask),
        ("echo x > .agent-ls/config.toml", Deny),
    ):
        verdict = decide_command(command, roots[0].path, roots, "sandbox", is_outside=True)
        assert isinstance(verdict, kind)


LIMITS = {False: 0.25, True: 0.15}
"""The greatest share of the recorded commands that may ask, where edits ask and where they run."""


def test_of_commands_as_models_write_them_few_ask(roots: tuple[Root, ...]) -> None:
    top = roots[0].path
    for name in ("eslint", "jest", "vitest", "playwright", "vite", "next", "tsx"):
        (top / "node_modules/.bin" / name).touch()
    commands = [command.replace("/repo", str(top)) for _, command in recorded()]
    assert len(commands) >= 500
    for edits, most in LIMITS.items():
        asked = [one for one in commands if not isinstance(decided(one, roots, edits=edits), Allow)]
        share = len(asked) / len(commands)
        sys.stdout.write(f"edits run: {edits}, {share:.1%} of {len(commands)} ask\n")
        assert share <= most


def test_nothing_that_loses_work_or_leaves_the_workspace_is_sorted_as_a_look(
    roots: tuple[Root, ...],
) -> None:
    wrong = [
        command
        for kind, command in recorded()
        if kind in ("edit", "ask") and sorted_(command, roots).kind == "read-only"
    ]
    # In the read-only view these see nothing: no home folder, no secrets, nothing beside.
    assert all(re.search(r"~|\.env|\.\.|kill", one) for one in wrong), wrong


@pytest.mark.parametrize(
    "command",
    [
        *("git 2>/dev/null clean -fdx", "rm 2>/dev/null -rf *", "rm <<E -rf *\nE"),
        *("git reset 2>&1 --hard", "git restore --staged --worktree .", "git restore -S -W src"),
        *("git checkout -qf main", "git rm -rf src", "git branch -qD x", "git branch --del x"),
        *("git reset --har", "git checkout HEAD src", 'rm -rf "$(pwd)"', "rm -rf src/.."),
        *("rm -rf ?*", "rm -rf [a-z]*", "rm -rf *.*", "rm -rf {*,.*}", "rm -rf ../work"),
        *("find . -delete", "find . -type f -exec rm {} +", "rsync -a --delete empty/ ./"),
        *("find . -exec " * 14 + "ls", "env -a " * 30 + "ls", "command " * 2_000 + "ls"),
    ],
)
def test_what_may_lose_all_asks_however_it_is_written(
    roots: tuple[Root, ...], command: str
) -> None:
    assert sorted_(command, roots).kind == "ask"
    assert not isinstance(decided(command, roots, edits=True), Allow)
