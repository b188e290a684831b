"""Commands that people and models run all day only to look: none of them asks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agent_ls.domain.verdicts import Allow
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.commands import decide

_SECOND = 'def main():\n    """TODO: say more."""\n    print("x")\n'


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a commit, a secret beside it, and some files to look at."""
    top = tmp_path_factory.mktemp("base").resolve() / "proj"
    for folder in ("src/pkg", "tests", "docs", "build"):
        (top / folder).mkdir(parents=True)
    for name in ("src/a.py", "src/pkg/b.py", "src/pkg/__init__.py", "tests/test_a.py"):
        (top / name).write_text(_SECOND)
    for name in ("README.md", "CHANGELOG.md", "docs/guide.md", "docs/notes v1.txt", "app.log"):
        (top / name).write_text("one two\nthree\n")
    (top / "package.json").write_text('{"scripts": {"test": "jest"}}')
    (top / "data.csv").write_text("a,b\n1,2\n")
    (top / "pyproject.toml").write_text("[project]\n")
    (top / "Makefile").write_text("all:\n")
    (top / ".gitignore").write_text("build/\n.env\n")
    run = {"cwd": top, "check": True, "capture_output": True}
    subprocess.run(["git", "init", "-q", "-b", "main"], **run)
    subprocess.run(["git", "add", "."], **run)
    subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "one"], **run
    )
    (top / ".env").write_text("KEY=1\n")
    return top


_ORDINARY = r"""
ls
ls -la
ls -1 | wc -l
ls -lt | head -5
ls -R src
ls -d */
ls src/*.py 2>/dev/null
ls -la nowhere 2>/dev/null || echo "none"
pwd && ls
cat package.json
cat -A README.md | head -3
cat -- README.md
head -n 50 src/a.py
head -c 200 README.md
tail -n +2 data.csv
tail -n 5 app.log | grep -i error
sed -n '1,40p' src/a.py
sed -n '10,$p' src/a.py
sed -n '/def main/,/return/p' src/a.py
sed -e 's/one/two/' -e 's/x/y/g' README.md
sed -n '$=' README.md
sed 's/^[[:space:]]*//' src/a.py
sed '/^#/d;/^$/d' README.md
awk '{print $1}' README.md
awk -F, '{print $2}' data.csv
awk 'NR==2' data.csv
awk -F, 'NR>1 {s+=$2} END {print s}' data.csv
awk 'END {print NR}' README.md
awk '!seen[$0]++' README.md
awk -F: '{ printf "%s %s\n", $1, $2 }' README.md
awk 'length($0) > 100' src/a.py
awk '/def/,/print/' src/a.py
awk '{print $NF}' README.md
awk '$2 > 1 && $1 ~ /^[0-9]+$/ {n++} END {print n+0}' data.csv
awk '{c[$1]++} END {for (k in c) print c[k], k}' README.md | sort -rn
grep -n "def " src/a.py
grep -rn "TODO" src
grep -rn --include="*.py" "import" src tests
grep -rn "main" --include=*.py .
grep -rn --include '*.ts' --include '*.py' main
grep -rl main src
grep -in -A3 -B1 'three' README.md
grep -E '^(one|two)' README.md
grep -oE '[a-z]+' README.md | sort | uniq -c | sort -rn | head
grep -q main src/a.py && echo found
grep -q main src/a.py; echo $?
grep -rn "x" src --exclude-dir=pkg
rg TODO src
rg -l main src
rg --files src
rg --files -g '*.py' src
rg -t py main src
rg -i -C 2 'todo' src | head -20
find . -name "*.py"
find . -type f -name '*.md' -not -path '*/node_modules/*'
find src -type f | wc -l
find . -maxdepth 2 -type d
find . -name '*.py' -newer README.md
find . -path ./node_modules -prune -o -name '*.ts' -print
find . -type f -mtime -1
find . -name "*.py" | xargs wc -l
find src -name '*.py' | xargs grep -l main
find src -name '*.py' -print0 | xargs -0 wc -l
find src tests -type f -name '*.py' | xargs wc -l | sort -n | tail -5
find src -name '*.py' | sort | head -3 | xargs head -n 2
find src -name '*.py' -exec wc -l {} +
find src -name '*.py' -exec grep -l main {} \;
git ls-files '*.py' | xargs wc -l
git ls-files | xargs -n1 dirname | sort -u
rg -l main src | xargs wc -l
grep -rl main src | xargs head -n 3
grep -rl main src | xargs -I{} wc -l {}
ls src | xargs echo
echo a b c | xargs -n 1
wc -l src/*.py
wc -l < README.md
wc -c README.md package.json
sort data.csv | uniq
sort -t, -k2 -n data.csv
cut -d, -f1 data.csv
tr -d '\r' < README.md | head
diff README.md CHANGELOG.md
diff -u src/a.py src/pkg/b.py | head -40
diff -r src tests
comm -12 README.md CHANGELOG.md
cmp README.md CHANGELOG.md
stat README.md
stat -c '%n %s' src/*.py
file src/a.py package.json
du -sh src
du -sh * | sort -h
df -h .
tree -L 2 -I node_modules
tree src -P '*.py'
which python3 node git
type cd
command -v node
command -v npm >/dev/null 2>&1 && echo yes || echo no
date
date +%s
date -u +%Y-%m-%dT%H:%M:%SZ
date -ud @0
date -Iseconds
date -d yesterday +%F
date --date='2 days ago' +%F
uname -sr
whoami
id
hostname
nproc
uptime
free -m
ps aux | head -5
ps aux | grep node | grep -v grep
ps -o pid,ppid,cmd
echo "done"
echo $?
echo "$PWD"
echo "$#"
printf 'a\n'
printf '%-10s|%5d\n' name 5
true
false || true
exit 1
test -f README.md; echo $?
[ -f README.md ]
[ -f README.md ] && echo yes || echo no
[ -d src ] && ls src
[ ! -d nope ] && echo missing
[ -z "" ] && echo empty
[ $? -eq 0 ] && echo ok
[ -f a ] || [ -f README.md ] && cat README.md
[ README.md -nt CHANGELOG.md ] && echo newer
test -e "$PWD/README.md" && echo there
f=README.md; [ -f "$f" ] && head -n 1 "$f"
f=README.md; test -n "$f" && wc -l "$f"
DIR=src; ls "$DIR"
n=5; head -n $n README.md
n=3; [ "$n" -gt 2 ] && echo more
dir=src; for f in $dir/*.py; do echo "$f"; done
for f in src/*.py; do wc -l "$f"; done
for f in README.md CHANGELOG.md; do echo "== $f"; head -n 2 "$f"; done
for d in src tests docs; do echo "$d: "; ls "$d" | wc -l; done
for f in *.md; do [ -f "$f" ] && head -1 "$f"; done
for i in 1 2 3; do echo $i; done
for f in *.json; do echo "--- $f ---"; cat "$f" | head -5; done
for d in src tests; do (cd "$d" && ls); done
if [ -f package.json ]; then cat package.json; fi
if grep -q main src/a.py; then echo yes; fi
if test -f nope; then cat nope; elif [ -f README.md ]; then cat README.md; fi
(cd src && ls)
(cd src; pwd; ls | wc -l)
(cd src && wc -l *.py) | tail -1
cd src && ls && cd ..
(cd src && ls); (cd tests && ls)
cd src && cat pkg/b.py
cd src/pkg && cat ../../README.md
cd "src" && grep -n main a.py
{ ls; pwd; } | head
! grep -q zzz README.md && echo absent
ls | head -3; echo "---"; ls src
set -e; ls; cat README.md
set -o pipefail; ls | head -1
set -euo pipefail; cat package.json | jq .
ls nope 2>&1 | head -1
ls nope > /dev/null 2>&1; echo $?
cat nope 2>/dev/null || echo missing
jq -r '.scripts | keys[]' package.json
jq -r '.scripts | to_entries[] | "\(.key): \(.value)"' package.json
cat package.json | jq -r .scripts.test
jq 'length' package.json
python3 --version
node --version
node -v
npm --version
git --version
bash --version | head -1
go version
python3 --version && node --version
git status
git status --porcelain
git diff
git diff --stat
git diff --cached
git diff HEAD~1 --stat
git diff --name-status HEAD
git diff -U0 src/a.py
git diff -- src/
git diff main..HEAD
git log
git log --oneline -5
git log -1 --format=%H
git log --pretty=format:"%h %ad %s" --date=short
git log --graph --oneline --all | head -20
git log --since=yesterday
git log -S'def main' --oneline
git log -p -1
git log --follow --oneline src/a.py
git log main..HEAD --oneline
git show
git show HEAD --name-only
git show HEAD:src/a.py
git show HEAD:src/a.py | head -20
git blame src/a.py
git blame -L 1,3 src/a.py
git blame -w -L1,+2 -- src/a.py
git branch
git branch -vv
git branch --show-current
git branch -r --sort=-committerdate
git rev-parse HEAD
git rev-parse --abbrev-ref HEAD
git rev-parse --show-toplevel
git ls-files
git ls-files src | head
git ls-files --others --exclude-standard
git ls-tree -r --name-only HEAD
git grep -n main
git grep -n main -- '*.py'
git grep -l TODO src
git describe --tags --always
git shortlog -sn --all
git stash list
git remote -v
git tag
git tag -l 'v*'
git config --get user.name
git config user.email
git cat-file -t HEAD
git merge-base HEAD main
git rev-list --count HEAD
git reflog -5
git worktree list
git check-ignore build
git for-each-ref --format='%(refname:short)' refs/heads
git -C src log --oneline -1
git --no-pager diff
git --no-pager log -5 --oneline
git status && git diff --stat
git log --oneline | wc -l
git diff --shortstat HEAD~1 2>/dev/null || git show --stat
basename src/a.py .py
dirname src/a.py
realpath src/a.py
readlink -f src
seq 1 5
md5sum README.md
sha256sum package.json | cut -d' ' -f1
nl -ba src/a.py | head
column -s, -t data.csv
paste -d, data.csv README.md
od -c README.md | head -2
hexdump -C README.md | head
strings README.md | head
base64 README.md
tac app.log | head -3
"""


@pytest.mark.parametrize("command", _ORDINARY.strip().splitlines())
def test_an_ordinary_look_is_never_asked_about(command: str, project: Path) -> None:
    assert decide(command, project, (Root("proj", project, is_trusted=True),)) == Allow()
