"""Attacks on the reading of commands, in many forms: each of them asks. None is ever run here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from agent_ls.domain.verdicts import Allow, Ask
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.commands import READ_ONLY_ENV, decide
from agent_ls.safety.programs import child_path

_SECRET = "OUTSIDE-SECRET"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder full of traps, beside one that it may not reach."""
    base = tmp_path.resolve()
    top = base / "proj"
    for folder in ("a/b/c", "3", "-P", "src/deep", "left", "right", "-x", "names"):
        (top / folder).mkdir(parents=True)
    for program in ("3/ls", "-P/ls", "src/run.sh"):
        (top / program).write_text(f"#!/bin/sh\ntouch {base}/ran\n")
        (top / program).chmod(0o755)
    (base / "x").write_text(_SECRET)
    (base / "outside").mkdir()
    (base / "outside/x").write_text(_SECRET)
    (base / "outside/inner").mkdir()
    (base / "outside/inner/y").write_text("inside")
    (top / "x").write_text("x\n")
    (top / "README.md").write_text("text\n")
    (top / "src/a.py").write_text("text\n")
    (top / "left/x").symlink_to(base / "x")
    (top / "right/x").write_text("other")
    (top / "jump").symlink_to(base / "outside/inner")
    (top / "near").symlink_to("a/b/c")
    (top / "resp").write_text(f"8 {base}/x\n")
    (top / "list").write_text(f"{base}/x\n")
    (top / f"names/q {base.name}").write_text("")
    (top / ".env").write_text(_SECRET)
    (top / "src/id_rsa").write_text(_SECRET)
    (top / "src/deep/id_rsa").write_text(_SECRET)
    (top / "-x/.env").write_text(_SECRET)
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    return top


_STATE = r"""
printf 'abc%n' PATH; ls
printf '%s%n' a PATH && ls
printf -v PATH %s 3; ls
printf -- '%n' PATH
read PATH; ls
echo 3 | read PATH; ls
echo 3 | { read PATH; ls; }
echo 3 | while read -r PATH; do ls; done
for PATH in 3; do ls; done
for IFS in a; do ls; done
for LD_PRELOAD in ./x.so; do ls; done
for PS4 in x; do ls; done
for BASH_ENV in x; do ls; done
PATH=3; ls
PATH=3 ls
PATH+=:3; ls
IFS=/; ls
ENV=x; ls
CDPATH=a; cd b && cat x
OLDPWD=/; cd - && ls
PWD=/; ls
HOME=/; cd; ls
BASH_ENV=src/run.sh; ls
PROMPT_COMMAND=id; ls
PS4='$(id)'; set -x; ls
x[$(id)]=2
x=(a b); ls
x=$(id); ls
x=1 y=2 ls
declare PATH=3; ls
export PATH=3; ls
unset PATH; ls
let 'a[$(id)]=1'
((PATH=3)); ls
echo $((PATH=3)); ls
: ${PATH:=3}
: $((a[$(id)]))
echo ${x:=id}
echo ${x@P}
echo ${!x}
echo "${a[$(id)]}"
echo ${x:$(id)}
eval ls
source src/run.sh
exec ls
exec >x
command ls
builtin eval ls
enable -f x.so y
hash -p 3/ls ls; ls
alias ls=src/run.sh; ls
shopt -s expand_aliases
shopt -s globstar; ls **
shopt -s extglob
set -o allexport
set -a; path=3; ls
set -k; ls PATH=3
set -f; ls *
set -P; cd near; cat ../x
set PATH
set -- /etc/passwd; cat $1
set -e -- /etc/passwd
trap 'src/run.sh' EXIT
mapfile PATH
getopts a PATH
compgen -C src/run.sh
pushd a
test -v 'a[$(id)]'
[ -v 'a[$(id)]' ]
[ -n x -a -v 'a[$(id)]' ]
[[ -v 'a[$(id)]' ]]
[[ 'a[$(id)]' -eq 1 ]]
[[ 1 -lt 'a[$(id)]' ]]
[ 'a[$(id)]' -eq 1 ]
test 'a[$(id)]' -gt 1
[[ x && 'a[$(id)]' -eq 1 ]]
[[ ! 'PATH=3' -eq 1 ]]
[[ x -eq y ]]
x='a[$(id)]'; [[ $x -eq 1 ]]
x='a[$(id)]'; [[ "$x" -eq 1 ]]
[[ -o x ]]
[[ ( -f x ) ]]
[[ x < y ]]
[[ -f .env ]]
[ -f /etc/passwd ]
[ -s ../x ]
[ x -nt ../x ]
[ -f x
[[ -f x
exit 'a[$(id)]'
while true; do ls; done
until false; do ls; done
select x in a; do ls; done
case x in x) ls;; esac
f() { ls; }; f
ls() { src/run.sh; }; ls
coproc ls
time ls
! src/run.sh
(src/run.sh)
{ src/run.sh; }
if src/run.sh; then ls; fi
if true; then src/run.sh; fi
if true; then ls; else src/run.sh; fi
for f in a; do src/run.sh; done
for f in src/run.sh; do $f; done
for f in src/run.sh; do "$f"; done
x=src/run.sh; $x
x=ls; $x
x=rm; "$x" README.md
x='-delete'; find . $x
x=-delete; find . "$x"
x='p;w out'; sed -n "$x" README.md
x='a b'; cat $x
x='*'; cat $x
x=..; cat $x/x
x=../x; cat "$x"
x=.env; cat "$x"
x=.en; cat ${x}v
d=..; ls "$d"
for f in .env; do cat "$f"; done
for f in ../x; do cat "$f"; done
for d in .. a; do ls $d; done
for f in a; do cat "$g"; done
false && f=README.md; cat "$f"
(f=README.md); cat "$f"
f=README.md | cat; cat "$f"
cat "$HOME/x"
cat "$OLDPWD/x"
cat $1
cat "$0"
cat $?
head -n $? ../x
cat "$PWD/../x"
cat $PWD/../x
cd "$PWD/.." && ls
"echo" $(id)
"""

_PLACE = r"""
false && cd a/b/c && true; cat ../x
false && cd a; cat ../x
true || cd a; cat ../x
cd a || true; cat ../x
cd a/b; cat ../../../x
cd a/b/c; cat ../../x
cd nope; cat ../x
cd nope && true; cat ../x
cd a && cd ..; cat ../x
cd a; cd ..; ls ..
! cd a; cat ../x
! cd a && cat ../x
if cd a; then true; fi; cat ../x
if false; then cd a; fi; cat ../x
if cd nope; then ls; else cat ../x; fi
for d in a; do cd $d; done; cat ../../x
for d in a a a; do cd $d; done; cat ../../../../x
for d in .. ..; do cd "$d"; ls; done
(cd a/b/c); cat ../x
(cd a) && cat ../x
(cd ..; ls)
(cd .. && cat x)
{ cd ..; cat x; }
{ cd a; }; cat ../../x
(cd a; cat ../../x)
((cd a); cat ../x)
cd -P
cd -P; cat x
cd -P && cat ../x
cd -- -P
cd -L a
cd -
cd
cd ~
cd ''
cd "" && cat ../x
cd a b
cd *
cd */
cd /
cd //
cd ..
cd ./..
cd a/../..
cd jump
cd jump/..
cd jump; cat ../x
cd jump/.. && cat x
cd near && cat ../../../../x
cd near; cd ..; cat ../../x
cd near && cat ../x
cd a/b/../../near/..
cd $HOME
cd "$OLDPWD"
cd a | ls
ls | cd a
cd a & cat ../x
pushd a; cat ../x
cd a && pushd b
cat near/../../../../x
cat jump/../x
ls jump/..
cat a/../../x
cat ./../x
cat a//..//../x
cat near/../../../../../proj/.env
ls -la ..
cd a</dev/null; cat ../../x
cd a < x
echo x | (cd ..; ls)
echo ../x | while read f; do cat "$f"; done
while read f; do cat "$f"; done < list
"""

_READERS = r"""
diff -r left right
diff -r right left
diff left right
diff left right/x
diff right/x left
diff -r --no-dereference left /etc
diff -r src /etc
diff --from-file=../x README.md
diff -X list left right
diff -lr left right
diff --paginate x README.md
diff -D x README.md src/a.py -o y
grep -R OUT left
grep --dereference-recursive OUT left
grep -d recurse OUT .
grep --directories=recurse OUT .
grep -r OUT .
grep -rh OUT src
grep -f ../x README.md
grep -nf .env README.md
grep --file=.env README.md
grep --exclude-from=../x x README.md
grep -e x -f.env README.md
find -L . -name x
find -H jump -name y
find left -follow
find . -follow -name x
find . -newer ../x
find . -samefile ../x
find . -newermm ../x
find . -files0-from list
find -f list
find -D exec .
find -O3 .. -name x
find jump/ -name x
find jump -follow
find . -exec cat {} ;
find . -exec cat {} \;
find . -exec src/run.sh {} \;
find . -name '*.py' -exec sh -c 'id' \;
find src -name '*.py' -exec grep -f {} README.md \;
find src -name '*.py' -exec grep {} README.md \;
find src -name '*.py' -exec sort -o {} x \;
find src -name '*.py' -exec cat {} ../x \;
find src -name '*.py' -exec cat ../{} \;
find src -name '*.py' -exec cat {} + -exec src/run.sh {} \;
find src -name '*.py' -exec cat {} + -delete
find src -name '*.py' -execdir cat {} \;
find src -name '*.py' -ok cat {} \;
find src -name '*rsa' -exec cat {} +
find left -exec cat {} +
find src -exec cat {} +
ls -L left
ls -H jump
ls -lL left/x
ls --dereference left
du -L .
du -D jump
du -H jump
du --files0-from=list
du -X list .
du --exclude-from=../x .
wc --files0-from=list
sort --files0-from=list
sort --compress-program=src/run.sh x
sort --random-source=../x -R x
sort -T .. x
sort --temporary-directory=.. x
sort -oREADME.md x
sort -ro README.md x
sort -S1b --comp=src/run.sh x
rg --follow OUT left
rg -L OUT left
rg --pre src/run.sh x
rg --pre-glob '*' --pre cat x
rg --hostname-bin src/run.sh x
rg -z x
rg -f ../x README.md
rg --ignore-file ../x x README.md
rg -g '.env' OUT .
rg -uu OUT .
rg -uuu OUT .
rg -. OUT .
rg --no-ignore --hidden OUT
rg OUT src
tree -l .
tree -Io x out
tree -Lo 2 out
tree --fromfile list
tree -H . -o out
tree -o out
tree --info
file -f list
file --files-from list
file -m x README.md
file --magic-file=x README.md
file -C -m x
file -bf list
file -L left/x
file -z x
strings -n @resp
strings @resp
strings -t @resp README.md
strings -- @resp
strings -n 8 README.md @resp
nm x
gcc @resp
xxd -r x out
uniq x out
uniq - out
date -f list
date -r ../x
date -uf list
date -us 10:00
date -ud @0 -s x
awk -f x
awk --file=x
awk -v a=b '{print a}' x
awk -i inplace '{print}' x
awk --include x '{print}'
awk -E x
awk -d '{print}' x
awk '@include "x"'
awk '{print > "out"}' x
awk '{print "a" >> "out"}' x
awk '{print(1) > "out"}' x
awk '{if (1) print > "out"}' x
awk 'BEGIN {for(;;print "x" > "out") exit}'
awk 'BEGIN {for(i=0;i<1;print i > "out") i++}'
awk '{for (k in a) print k > k}' x
awk 'BEGIN {system("id")}'
awk 'BEGIN{"id"|getline}'
awk '{print | "id"}' x
awk '{print |& "id"}' x
awk 'BEGIN {while ((getline l < "../x") > 0) print l}'
awk 'BEGIN {getline x < ".env"; print x}'
awk 'BEGIN {ARGV[1]="../x"; ARGC=2} {print}'
awk 'BEGIN {print ENVIRON["HOME"]}'
awk '{a["x"]="../x"} END {f="system"; @f("id")}' x
awk '{x = 1 / 2; system("id") /3}' x
awk '/x/ {print "a/" "b"; system("id")}' x
awk 'a / b; system("id"); c / d' x
awk '{print}' ../x
awk '{print}' .env
awk 'function f() {print} {f()}' x
awk -F: -f x
sed -f x README.md
sed --file=x README.md
sed -nf x README.md
sed -i s/a/b/ x
sed --in-place p x
sed -n '1r ../x' README.md
sed 'w out' x
sed 's/x/y/w out' x
sed 's/x/id/e' x
sed 'e id' x
sed '1e' x
sed 's|x|y|;e id' x
sed -n 'W out' x
sed '1F;e id' x
sed -e p -e 'e id' x
sed -s -n p x .env
sed --expression='e id' x
jq -f x README.md
jq --from-file x README.md
jq --slurpfile a ../x . README.md
jq -L . 'import "x" as x; .' README.md
jq -n env
jq -n '$ENV.HOME'
jq -n 'input_filename'
jq -n '"\(env)"'
jq --arg a b env
jq -n 'include "x"; .'
jq . ../x
jq --arg a b . ../x
column ../x
tar -tf x
cp -r left y
nl ../x
cat -- ../x
cat < ../x
cat < .env
cat <../x
wc -l < left/x
cat < list ../x
cat 0<../x
cat <&3
cat <> out
cat << x
cat <<< x
cat < *
cat < $HOME/x
cat < /dev/tcp/localhost/80
head -c 5 < src/id_rsa
ls | xargs cat
ls -d .* | xargs cat
cat list | xargs cat
echo ../x | xargs cat
echo .env | xargs cat
printf '%s\n' ../x | xargs cat
find . | xargs cat
find . -name '.e*' | xargs cat
find . -name '[^z]env' | xargs cat
find . -name '\.env' | xargs cat
find . -name '?env' -exec cat {} +
find left | xargs cat
find left -name x | xargs -n 1 cat
find src | xargs cat
find src ! -name '*.py' | xargs cat
find src -not -name a.py | xargs cat
find src -name '*.py' -o -type f | xargs cat
find src \( -type f -o -name x \) -name '*' | xargs cat
find src ! \( -name '*.py' \) | xargs cat
find src -name '*.py' -printf '../x\n' | xargs cat
find src -name '*.py' -ls | xargs cat
find src -print -name '*.py' | xargs cat
find src -not -path -name -type f | xargs cat
find src -type f -not -path './deep/*' | xargs cat
find src ! -path -iname -exec cat {} +
find src -name '*.py' -o -printf '%p\n' | xargs cat
find names | xargs cat
find names -type f | xargs wc -l
find src -name '*.py' | xargs -I{} src/run.sh {}
find src -name '*.py' | xargs sh
find src -name '*.py' | xargs rm
find src -name '*.py' | xargs sed -i s/a/b/
find src -name '*.py' | xargs sort -o
find src -name '*.py' | xargs uniq x
find src -name '*.py' | xargs grep
find src -name '*.py' | xargs grep -f
find src -name '*.py' | xargs grep -r OUT
find nothing -name '*.py' | xargs grep -r OUT
find nothing -name '*.py' | xargs rg --hidden OUT
find src -name '*.py' | xargs --arg-file=list cat
find src -name '*.py' | xargs --process-slot-var=PATH ls
find src -name '*.py' | xargs -p cat
find src -name '*.py' | xargs -E x cat
find src -name '*.py' | xargs -i cat ../{}
find src -name '*.py' | xargs -I% cat ../%
find src -name '*.py' | xargs -Ia cat ../a
find src -name '*.py' | xargs -d/ cat
find src -name '*.py' | xargs env cat
find src -name '*.py' | xargs xargs cat
find src -name '*.py' | xargs git show
find src -name '*.py' | xargs find
find src -name '*.py' | xargs cat ../x
find src -name '*.py' | sed 's,src,..,' | xargs cat
find src -name '*.py' | cut -c1-3 | xargs ls -R
find src -name '*.py' | head -c 3 | xargs ls
find src -name '*.py' | grep -o x | xargs cat
find src -name '*.py' | grep -c x | xargs cat
find src -name '*.py' | sort ../x | xargs cat
find src -name '*.py' | cat list - | xargs cat
find src -name '*.py' | uniq -c | xargs cat
find src -name '*.py' | (cat list) | xargs cat
find src -name '*.py'; echo ../x | xargs cat
find src -name '*.py' < list | cat - list | xargs cat
rg --files | xargs cat
rg -l OUT src | xargs cat
rg -l -r ../x x | xargs cat
rg --files --path-separator . | xargs cat
grep -rn x src | xargs cat
grep -ho '\.\./x' README.md | xargs cat
grep -l x left/x | xargs cat
git ls-files -o | xargs cat
git ls-files .. | xargs cat
git ls-files --format=../x | xargs cat
git diff --name-only | xargs cat
git log --format=../x | xargs cat
ls names | xargs cat
xargs cat
xargs < list cat
"""

_ALL = [*_STATE.strip().splitlines(), *_PLACE.strip().splitlines(), *_READERS.strip().splitlines()]


@pytest.mark.parametrize("chunk", range(10))
def test_no_attack_runs_unasked(chunk: int, project: Path) -> None:
    roots = (Root("proj", project, is_trusted=True),)
    some = _ALL[chunk::10]
    assert [one for one in some if isinstance(decide(one, project, roots), Allow)] == []


def test_awk_that_writes_behind_a_line_end_asks(project: Path) -> None:
    command = """awk 'BEGIN {for(i=0;i<1;print "a",\n"b" > "out") i++}'"""
    assert isinstance(decide(command, project, (Root("proj", project, True),)), Ask)


@pytest.mark.parametrize(
    "command", ["rg -g '.env' OUT", "rg -g '.e*' OUT .", "rg --iglob '*' OUT", "rg --no-config OUT"]
)
def test_rg_reads_hidden_files_that_a_glob_asks_for(command: str, tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    (folder / ".env").write_text(_SECRET)
    roots = (Root("folder", folder, is_trusted=True),)
    assert not isinstance(decide(command, folder, roots), Allow)
    assert decide("rg -t py OUT", folder, roots) == Allow()
    assert decide("rg -g '*.py' OUT", folder, roots) == Allow()


@pytest.mark.skipif(shutil.which("rg", path=child_path()) is None, reason="needs ripgrep")
@pytest.mark.parametrize("name", [".gitignore", ".ignore", ".rgignore"])
@pytest.mark.parametrize("place", ["..", ".", "sub"])
@pytest.mark.parametrize("command", ["rg KEY", "rg KEY .", "rg -t sh KEY", "rg KEY sub"])
def test_rg_reads_no_hidden_file_that_an_ignore_file_names(
    command: str, place: str, name: str, tmp_path: Path
) -> None:
    folder = tmp_path.resolve() / "top"
    for inner in (folder, folder / "sub", folder / ".github"):
        (inner / ".git").mkdir(parents=True)
        for file in (".env", ".profile", "plain.txt"):
            (inner / file).write_text(f"KEY of {file}\n")
    (folder / place / name).write_text("!.*\n!.env\n!.profile\n!*\n")
    roots = (Root("folder", folder, is_trusted=True),)
    assert decide(command, folder, roots) == Allow()
    for asked in (command, "rg KEY .github/"):
        done = subprocess.run(
            ["sh", "-c", asked],
            cwd=folder,
            env={"PATH": child_path(), **READ_ONLY_ENV},
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        assert ".env" not in done.stdout
        assert ".profile" not in done.stdout
        assert "plain.txt" in done.stdout or "-t sh" in asked
