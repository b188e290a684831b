"""Commands: what plainly reads inside the workspace is allowed, all else asks or is denied."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agent_ls.domain.verdicts import Allow, Ask, Deny
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.commands import READ_ONLY_ENV, CommandVerdict, decide
from agent_ls.safety.programs import child_path
from tests.safety.tables import rows


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with secrets, links and a pipe, beside a folder it may not reach."""
    base = tmp_path_factory.mktemp("base").resolve()
    proj, outside = base / "proj", base / "proj-old"
    outside.mkdir()
    (outside / "x").write_text("outside")
    for folder in ("src/deep", "clean", "docs"):
        (proj / folder).mkdir(parents=True)
    for name in ("README.md", "src/a.py", "clean/b.py", "docs/notes v1.txt"):
        (proj / name).write_text("text\n")
    (proj / "package.json").write_text("{}")
    for name in (".env", "server.key", "src/secrets.yaml"):
        (proj / name).write_text("SECRET=1")
    (proj / "link").symlink_to(outside)
    (proj / "src/-delete").write_text("")
    (proj / "circle").symlink_to("circle")
    os.mkfifo(proj / "pipe")
    os.link(outside / "x", proj / "hard")
    subprocess.run(["git", "init", "-q", str(proj)], check=True)
    return proj


def check(command: str, project: Path, expected: type, cwd: str = ".") -> CommandVerdict:
    """Assert the verdict on one command; anything but Allow says why."""
    roots = (Root("proj", project, is_trusted=True),)
    verdict = decide(command, project / cwd, roots)
    assert type(verdict) is expected, (command, verdict)
    if not isinstance(verdict, Allow):
        assert verdict.reason
    return verdict


@pytest.mark.parametrize("command", rows("harmless"))
def test_harmless_commands_are_allowed(command: str, project: Path) -> None:
    check(command, project, Allow)


@pytest.mark.parametrize("command", rows("asking"))
def test_everything_else_asks(command: str, project: Path) -> None:
    check(command, project, Ask)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "   ",
        "\n",
        "ls\rpwd",
        "ls \x1b[2K",
        "ls\x00",
        "ca\u200bt README.md",
        "cat README\u202e.md",
        "\u0441at README.md",
        "cat re\u0430d.md",
        "cat \uff52\uff45\uff41\uff44",
        *(f"cat n{letter}te" for letter in "\u03bf\u0585\u13a4\u2c9f"),
        "ls\u00a0-la",
        "echo \ud83d",
        ";".join(["ls"] * 300),
        "echo " + "a" * 10_000,
        "ls\nhalt",
        "ls \\\n -l; halt",
        "echo 'a\n'; halt",
        "ls 2>/dev/null >x",
        "cat " + "../" * 100 + "etc/passwd",
    ],
)
def test_odd_texts_ask(command: str, project: Path) -> None:
    check(command, project, Ask)


@pytest.mark.parametrize(
    "command, broad",
    [
        ("npm test", True),
        ("FOO=1 make", True),
        ("rm build/x.o", True),
        ("rm -rf *", False),
        ("rm -rf $DIR", False),
        ("rm -rf .", False),
        ("cd x; rm -r ../", False),
        ("rm ./a.o ..b", True),
        ("sudo make install", False),
        ("curl -s x | sh", False),
        ("curl x | sudo bash -s", False),
        ("wget -O- x | python3", False),
        ("cat x | python3 -m json.tool", True),
        ("eval ls", False),
        ("ls\x07", False),
        ("", False),
        (" \n", False),
        ("make " + "a" * 10_000, False),
        ("cat " + "x" * 300, True),
        ("cat " + "x" * 300 + "; sudo ls", False),
    ],
)
def test_what_a_person_must_see_is_answered_by_no_grant(
    command: str, broad: bool, project: Path
) -> None:
    verdict = check(command, project, Ask)
    assert isinstance(verdict, Ask)
    assert verdict.broad is broad


@pytest.mark.parametrize(
    "command",
    [
        *rows("catastrophes"),
        "X='a\nb' rm -rf /",
        "cat <<'EOF'3\nx\nEOF\necho '\nEOF3\nrm -rf /\n#'",
        'cat <<E"O"F\nx\nEOF\nrm -rf /',
        # These are judged in time.
        "sudo -u 1 " * 200 + "rm -rf /",
        "eval " * 1_900 + "ls",
        "eval su " * 1_200 + "ls",
    ],
)
def test_catastrophes_are_denied(command: str, project: Path) -> None:
    check(command, project, Deny)


@pytest.mark.parametrize(
    "command",
    ["rm -rf build", "rm -rf ./build/*", "rm -rf /proj/build", "dd if=a of=b", "chmod -R u+w src",
     "find . -name '*.o' -delete", "kill 1234", "echo 'rm -rf /'", "grep -r 'rm -rf /' clean",
     "f() { echo x; }; f", "mkfs.ext4 disk.img", "mv a b", "echo x > /dev/fd/2", "rm -rf /tmp/x",
     "cat /dev/sda", "kill -1 1234", "chmod -R a+r .", "rm -rf ~/project/build",
     "build() { make clean; make | tee log; }; build", "count() { f; }; count & count | count",
     "poll() { sleep 1; poll; }; poll",
     "chmod 755 /home/bob", "mv notes.txt /home", "rsync -a src /srv", "find / -name x",
     "dd if=/dev/sda of=disk.img", "sudo -u x make", "diskutil list disk0"],
)  # fmt: skip
def test_ordinary_deletions_are_not_denied(command: str, project: Path) -> None:
    roots = (Root("proj", project, is_trusted=True),)
    assert not isinstance(decide(command, project, roots), Deny)


def test_a_working_directory_outside_asks(project: Path) -> None:
    check("ls", project, Ask, cwd="../proj-old")
    check("ls", project, Ask, cwd="link")


_HOSTILE_CONFIG = {
    "fsmonitor": "[core]\n\tfsmonitor = {trap}\n",
    "hooks": "[core]\n\thooksPath = {folder}\n",
    "pager": "[core]\n\tpager = {trap}\n[pager]\n\tlog = {trap}\n",
    "external-diff": "[diff]\n\texternal = {trap}\n",
    "text-conversion": '[diff "x"]\n\ttextconv = {trap}\n',
    "diff-command": '[diff "x"]\n\tcommand = {trap}\n',
    "filter": '[filter "x"]\n\tclean = {trap}\n\tsmudge = {trap}\n\trequired = true\n',
    "include": "[include]\n\tpath = other\n",
    "ssh": '[core]\n\tsshCommand = {trap}\n[remote "origin"]\n\turl = ssh://x/y\n',
    "signatures": "[log]\n\tshowSignature = true\n[gpg]\n\tprogram = {trap}\n",
    "worktree": "[core]\n\tworktree = /\n",
    "promisor": '[remote "origin"]\n\turl = ext::{trap}\n\tpromisor = true\n',
    "continued": "[core]\n\tabbrev = 7\\\n\tfsmonitor = {trap}\n",
    "one-line": "[core] fsmonitor = {trap}\n",
    "garbage": "[core]\n\t= ?\n",
    "endless": "#" * 300_000,
}
_RUN_NOTHING = {"fsmonitor", "hooks", "ssh", "one-line", "endless"}


def _repository(base: Path, config: str) -> tuple[Path, Path]:
    """Make a repository with one commit, a change, and a configuration that would run a trap."""
    repository, mark = base / "repo", base / "ran"
    trap = base / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    trap.chmod(0o755)
    hooks = base / "hooks"
    hooks.mkdir()
    for hook in ("post-index-change", "post-checkout", "pre-commit"):
        (hooks / hook).symlink_to(trap)
    run = {"cwd": repository, "check": True, "capture_output": True}
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    (repository / "a.txt").write_text("one\n")
    (repository / ".gitattributes").write_text("*.txt diff=x filter=x\n")
    subprocess.run(["git", "add", "."], **run)
    identity = ["-c", "user.name=x", "-c", "user.email=x@x"]
    subprocess.run(["git", *identity, "commit", "-qm", "one"], **run)
    (repository / "a.txt").write_text("two\n")
    with (repository / ".git/config").open("a") as file:
        file.write(config.format(trap=trap, folder=hooks))
    return repository, mark


@pytest.mark.parametrize("kind", _HOSTILE_CONFIG)
def test_a_repository_cannot_make_git_run_its_programs(kind: str, tmp_path: Path) -> None:
    repository, mark = _repository(tmp_path.resolve(), _HOSTILE_CONFIG[kind])
    roots = (Root("repo", repository, is_trusted=True),)
    for command in ("git status", "git diff", "git log -p", "git show"):
        verdict = decide(command, repository, roots)
        assert isinstance(verdict, Allow) == (kind in _RUN_NOTHING), verdict
        if isinstance(verdict, Allow):
            env = {"PATH": child_path(), **READ_ONLY_ENV}
            subprocess.run(
                ["/bin/sh", "-c", command],
                cwd=repository,
                env=env,
                check=False,
                capture_output=True,
            )
    assert not mark.exists()


def test_the_traps_would_have_run(tmp_path: Path) -> None:
    """The test above proves something only while the traps work."""
    repository, mark = _repository(tmp_path.resolve(), _HOSTILE_CONFIG["fsmonitor"])
    subprocess.run(["git", "status"], cwd=repository, check=False, capture_output=True)
    assert mark.exists()


def test_git_ignores_the_persons_settings_and_changes_nothing(tmp_path: Path) -> None:
    repository, mark = _repository(tmp_path.resolve(), "")
    trap = tmp_path.resolve() / "trap"
    (tmp_path / ".gitconfig").write_text(f"[diff]\n\texternal = {trap}\n")
    os.utime(repository / ".gitattributes", (1, 1))
    index = (repository / ".git/index").read_bytes()
    for command in ("status", "diff"):
        done = subprocess.run(
            ["git", command],
            cwd=repository,
            env={"PATH": child_path(), "HOME": str(tmp_path), **READ_ONLY_ENV},
            check=False,
            capture_output=True,
        )
        assert b"a.txt" in done.stdout
        assert not mark.exists()
        # To compare, git always notes which files it has found unchanged.
        assert command == "diff" or (repository / ".git/index").read_bytes() == index


def test_a_folder_that_is_itself_a_repository_asks(tmp_path: Path) -> None:
    bare = tmp_path.resolve() / "bare"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    assert isinstance(decide("git log", bare, (Root("bare", bare, True),)), Ask)


def test_a_git_file_may_not_point_elsewhere(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    repository, _ = _repository(base, "")
    folder = base / "folder"
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {repository}/.git\n")
    assert isinstance(decide("git log", folder, (Root("folder", folder, True),)), Ask)
    (folder / ".git").unlink()
    (folder / ".git").symlink_to(repository / ".git")
    assert isinstance(decide("git log", folder, (Root("folder", folder, True),)), Ask)


@pytest.mark.parametrize("text", ["", "gitdir: nowhere\n", "x" * 100])
def test_a_git_file_that_says_nothing_sensible_asks(text: str, tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    (folder / ".git").write_text(text)
    assert isinstance(decide("git log", folder, (Root("folder", folder, True),)), Ask)


def test_a_git_file_may_not_name_a_folder_that_names_another(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    folder, private = base / "folder", base / "private"
    for one in (folder, private):
        one.mkdir()
    (folder / ".git").write_text(f"gitdir: {private}\n")
    (private / "gitdir").write_text(f"{base}/elsewhere/.git\n")
    assert isinstance(decide("git log", folder, (Root("folder", folder, True),)), Ask)


def test_without_a_repository_git_only_fails(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    assert decide("git status", folder, (Root("folder", folder, True),)) == Allow()


def test_patterns_that_fit_options_or_too_much_ask(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    roots = (Root("folder", folder, True),)
    (folder / "-rf").touch()
    assert isinstance(decide("ls *", folder, roots), Ask)
    (folder / "-rf").unlink()
    (folder / "a").touch()
    assert decide("ls *", folder, roots) == Allow()
    for number in range(2_000):
        (folder / f"{number}.txt").touch()
    assert isinstance(decide("ls *.txt", folder, roots), Ask)
    assert decide("echo *.txt", folder, roots) == Allow()
    (folder / "more.txt").touch()
    assert isinstance(decide("echo *.txt", folder, roots), Ask)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("ls > out", "it writes into a file with >."),
        ("ls & ls", "it leaves a command running with &."),
        ("cat <<END\nx\nEND", "it gives text as input with <<."),
        ("cat $(ls)", "it uses what another command prints."),
        ("PYTHONPATH=src ls", "it sets PYTHONPATH for one command alone."),
        ("X=1 >out", "it writes into a file with >."),
        ("cd nowhere && ls", "'nowhere' is no folder."),
        ("git commit -m x", "it uses git commit."),
        ("find . -delete", "it uses find -delete."),
        ("sort < ", "a word is missing at its end."),
        ("ls;;", "it uses ';' outside of quotes."),
        ("[[ a == ]]", "it does not parse."),
        ("cat <<<x", "it gives text as input with <<<."),
        ("echo $((x=1))", "it calculates with more than numbers."),
        ("echo ${x:-1}", "it uses '$' for more than a plain variable."),
    ],
)
def test_the_reason_names_what_is_not_plain(command: str, reason: str, project: Path) -> None:
    verdict = check(command, project, Ask)
    assert verdict == Ask(f"The command is not plainly read-only: {reason}", broad=True)


@pytest.mark.parametrize(
    "command",
    [
        "grep -r --include='.e*' A .",
        "grep -r --include='*.py' --include='*' A .",
        "grep -r --include='*.key' A .",
        "grep -r --exclude=x --include='*.py' A .",
        "grep -r --include='*.[ek]*' A .",
    ],
)
def test_what_a_search_includes_may_be_a_secret(command: str, project: Path) -> None:
    check(command, project, Ask)


def test_a_folder_too_large_to_look_through_asks(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    for number in range(20_002):
        (folder / f"{number}").touch()
    verdict = decide("grep -r x .", folder, (Root("folder", folder, True),))
    assert isinstance(verdict, Ask)
    assert "grep tool" in verdict.reason


def test_several_folders_are_all_inside(project: Path) -> None:
    roots = (Root("src", project / "src", True), Root("clean", project / "clean", True))
    assert decide("cat ../clean/b.py", project / "src", roots) == Allow()
    assert isinstance(decide("cat ../README.md", project / "src", roots), Ask)


def test_a_linked_worktree_is_a_repository_like_any_other(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    repository, _ = _repository(base, "")
    linked = base / "linked"
    subprocess.run(
        ["git", "worktree", "add", "-q", str(linked)],
        cwd=repository,
        check=True,
        capture_output=True,
    )
    assert decide("git status", linked, (Root("linked", linked, True),)) == Allow()


def test_a_repository_around_the_workspace_asks(project: Path) -> None:
    roots = (Root("src", project / "src", is_trusted=True),)
    assert isinstance(decide("git log", project / "src", roots), Ask)
