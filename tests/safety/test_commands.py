"""Commands where no sandbox holds them: plain words that read the workspace, else they ask."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Literal

import pytest

from agent_ls.domain.verdicts import Allow, Ask, Deny
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.commands import CommandVerdict, decide_command
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
    verdict = decide_command(command, project / cwd, roots)
    assert type(verdict) is expected, (command, verdict)
    if not isinstance(verdict, Allow):
        assert verdict.reason
    return verdict


PLAIN = """
cat README.md
cat src/a.py clean/b.py
cat 'docs/notes v1.txt'
cat -n src/a.py | head -20
head -5 README.md
head -n 5 README.md
tail -c 20 README.md
sed -n 1,20p src/a.py
sed -n '$p' src/a.py
ls
ls -la src
ls -la src 2>/dev/null | wc -l
wc -l src/a.py
grep -n text src/a.py
grep -ic text src/a.py || echo none
cd src && cat a.py
cd src && ls -la && wc -l a.py
find . -name '*.py'
find src -maxdepth 2 -type f -name a.py
pwd; date +%F
echo "hello world"
diff src/a.py clean/b.py
sort -n README.md | uniq -c
cut -d , -f 1 README.md
stat README.md
grep --version
cd src; cat a.py
"""


@pytest.mark.parametrize("command", PLAIN.strip().splitlines())
def test_plain_words_that_read_the_workspace_run_unasked(command: str, project: Path) -> None:
    assert check(command, project, Allow) == Allow(reads_only=True)


@pytest.mark.parametrize("command", [*rows("asking"), *rows("git_plain"), *rows("git_asking")])
def test_everything_else_asks(command: str, project: Path) -> None:
    roots = (Root("proj", project, is_trusted=True),)
    verdict = decide_command(command, project, roots)
    assert isinstance(verdict, Ask | Deny)
    assert verdict.reason


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
def test_what_a_user_must_see_is_answered_by_no_grant(
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
        *("lvremove -f vg0/root", "vgremove vg0", "zpool destroy tank", "sudo zfs destroy -r t/x"),
        "format c:",
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
    ["lvremove --help", "zpool list", "zfs list -t all", "npm run format", "format src",
     "rm -rf build", "rm -rf ./build/*", "rm -rf /proj/build", "dd if=a of=b", "chmod -R u+w src",
     "find . -name '*.o' -delete", "kill 1234", "echo 'rm -rf /'", "grep -r 'rm -rf /' clean",
     "f() { echo x; }; f", "mkfs.ext4 disk.img", "mv a b", "echo x > /dev/fd/2", "rm -rf /tmp/x",
     "cat /dev/sda", "kill -1 1234", "chmod -R a+r .", "rm -rf ~/project/build",
     "build() { make clean; make | tee log; }; build", "count() { f; }; count & count | count",
     "poll() { sleep 1; poll; }; poll",
     "chmod 755 /home/bob", "mv notes.txt /home", "rsync -a src /srv", "find / -name x",
     "dd if=/dev/sda of=disk.img", "sudo -u x make", "diskutil list disk0",
     "docker exec app chown -R app /home", "ssh host rm -rf /opt", "A=1 echo rm -rf /",
     "grep -rn rm /", "make rm /"],
)  # fmt: skip
def test_ordinary_deletions_are_not_denied(command: str, project: Path) -> None:
    roots = (Root("proj", project, is_trusted=True),)
    assert not isinstance(decide_command(command, project, roots), Deny)


def test_a_working_directory_outside_asks(project: Path) -> None:
    check("ls", project, Ask, cwd="../proj-old")
    check("ls", project, Ask, cwd="link")


@pytest.mark.parametrize(
    ("boundary", "said"),
    [("off", "sandbox.use is off"), ("missing", "`agent-ls doctor` says how to get one")],
)
def test_the_reason_says_what_is_missing(
    boundary: Literal["off", "missing"], said: str, project: Path
) -> None:
    verdict = decide_command("make", project, (Root("proj", project, True),), boundary)
    assert isinstance(verdict, Ask)
    assert said in verdict.reason


HOSTILE = [
    # The grammar takes words behind a redirection for a part of it.
    *("cat 2>/dev/null .env /dev/null", "cat 2>&1 .env 1", "ls > /dev/null /etc /dev/null"),
    *("sort 2>&1 -o../victim src/a.py 1", "tail 2>&1 -f src/a.py 1"),
    # The shell joins what a line end divides.
    *("sort src/a.py -\\\no/x", "cat .e\\\nnv", "cat .gi\\\nt/config"),
    *("sed -n 1p -ew/x", "sed -n 1p -i", "sed -n 1p -fx", "tail +1f src/a.py"),
    *('cd nosuch && echo "&&"; cat ../x', "cd src || cat ../x", "find . ..", "find src .. -name x"),
    *("cat 5", "sort -n 5", "grep x 5", "head -n 3 5", "ls 5", "diff 5 src/a.py", 'cat "x\\"/p"'),
]


@pytest.mark.parametrize("command", HOSTILE)
def test_odd_spellings_of_plain_words_ask(command: str, project: Path) -> None:
    for name, goal in (("5", "/etc/passwd"), ('x"', "/etc")):
        if not (project / name).is_symlink():
            (project / name).symlink_to(goal)
    check(command, project, Ask)
