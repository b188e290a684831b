"""Which commands the sandbox lets run unasked: those that test, build, check or run the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ls.domain.verdicts import Allow, Ask, Deny
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.command_places import decide_command

FREE = """
pytest
pytest -x tests/test_install.py::test_deploy
python -m pytest -q 2>&1 | tail -20
python3 -c 'print(1)'
python3.11 src/main.py --flag
python -u -W ignore src/main.py
python -m mypy src
python manage.py test
PYTHONPATH=src pytest
A=1 B=2 make test
cd src && python main.py
pytest > out.txt 2>&1; tail -5 out.txt
pytest > /tmp/out.txt
make
make -j4 check
npm test
npm run lint
npm run test:unit -- --watch=false
npm --prefix web run build
pnpm run typecheck
npx tsc --noEmit
npx prettier --write src
node src/main.js
cargo test --workspace
cargo +nightly clippy
go test ./...
go build ./cmd/app
tsc -p .
eslint src
ruff check --fix .
ruff format src
./scripts/check.sh
./gradlew test
bash scripts/check.sh
bash -eux scripts/check.sh fast
timeout 60 pytest
env CI=1 pytest
nice make
uv run pytest
bundle exec rspec
cmake --build build
ctest --test-dir build
dotnet test
mkdir -p build && touch build/stamp
echo done | tee build.log
.venv/bin/pytest
git status && pytest
source .venv/bin/activate && pytest
. .venv/bin/activate; make
export PYTHONPATH=. && pytest
export A=1; export B=./src:lib && make
make -s check
npm run lint deploy.js
./gradlew compileJava
node --test
node -e '/a/.test("b")'
xvfb-run -a pytest
uv run -m pytest
uv run --frozen --all-extras pytest
cargo -q build
tox --skip-pkg-install
python --unknown src/main.py
python -W ignore -X dev src/main.py
cd src && npx tsc
bunx tsc --noEmit
pnpm dlx prettier --check src
npm exec tsc
if make; then echo yes; else echo no; fi
"""
ASKS = """
rm -r src
mv src other
git commit -m x
git push
pip install requests
python -m pip install requests
python -m http.server
python -m pip.__main__ install requests
python
python ../outside.py
/usr/bin/evil src/main.py
npm install
npm run deploy
npm run release:patch
npm publish
npm exec -- cowsay
npx cowsay
npx -y cowsay
bunx cowsay
pnpm dlx cowsay
npx ../x
npx ./tsc
npx jest
bunx jest
npm exec jest
pnpm dlx jest
timeout 5
nice
/usr/bin/make
scripts/dd if=a
pytest > out*.txt
python -m
python -
npm
make INSTALL
yarn add left-pad
pnpm install
make install
make publish-docs
cargo install ripgrep
cargo publish
go install ./...
go get example.org/x
docker build .
ssh host
curl https://example.org
.venv/bin/pip install x
node_modules/.bin/unknown
bash -c 'make'
bash -xc 'rm a'
bash -x -c 'rm a'
bash --rcfile a -c 'rm a'
bash
sh -c "rm -r src"
kubectl apply -f x.yaml
terraform apply
pytest > ../out.txt
pytest > .envrc
pytest > .vscode/settings.json
echo x > Makefile
pytest; rm a
pytest | sh
pytest && curl https://example.org
sudo make
eval make
timeout 5 rm a
source ../env.sh && pytest
. /etc/profile
export A=1 && rm a
export A=$(rm a) && make
export A=1 B; make
export IFS=x ; c=9xrmx-rfxsrc ; timeout $c pytest
export CDPATH=secrets && cd src && make
export BASH_ENV=src/a.sh && make
export HOME=src && make
env -S "rm -r src"
env -u pytest -i rm -r src
env -C pytest rm -r src
uv run --with pytest rm -r src
uv run -m pip install x
xvfb-run -e pytest rm -r src
export PATH="x:$PATH" && make
env rm a
xargs rm
make $(cat targets)
uv pip install x
uv run pip install x
poetry add x
crontab -e
mvn deploy
gradle publish
dotnet nuget push x
mix deps.get
"""


TEXTS = """
python - <<'EOF'
python3 <<"EOF" | head -5
cd src && node <<'EOF'
A=1 uv run python - <<'EOF' 2>&1
export A=1 && ruby <<'EOF' > out.txt
make;python3.11 << 'EOF' && make
"""
TEXTS_ASK = """
cat > src/a.py <<'EOF'
tee src/a.py <<'EOF'
make <<'EOF'
sh <<'EOF'
bash -s <<'EOF'
cat <<'EOF' | sh
rm a <<'EOF'
python - <<EOF
python - <<-'EOF'
python - <<'OTHER'
python - <<'EOF' && rm a
python - <<'EOF' <<'B'
python - <<'EOF' "$(rm a)"
echo "python - <<'EOF'
echo 'x' && python - <<'EOF'
# python - <<'EOF'
python - <<'EOF' > ../out.txt
python <<'EOF'3
python <<'EOF'"3"
python <<'EOF'.x
python <<EO'F'
"""


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Root, ...]:
    """A workspace with a script and one tool of its own."""
    top = tmp_path.resolve() / "work"
    for folder in ("src", "scripts", "web", "build", "node_modules/.bin", ".venv/bin"):
        (top / folder).mkdir(parents=True)
    for name in ("tsc", "prettier"):
        (top / "node_modules" / ".bin" / name).touch()
    return (Root("work", top, is_trusted=True),)


@pytest.mark.parametrize("command", _lines(FREE))
def test_what_tests_or_builds_runs_unasked_in_a_sandbox_only(
    roots: tuple[Root, ...], command: str
) -> None:
    assert decide_command(command, roots[0].path, roots, "sandbox") == Allow()
    assert isinstance(decide_command(command, roots[0].path, roots, "off"), Ask)


@pytest.mark.parametrize("command", _lines(ASKS))
def test_what_does_more_asks_in_a_sandbox_too(roots: tuple[Root, ...], command: str) -> None:
    assert isinstance(decide_command(command, roots[0].path, roots, "sandbox"), Ask)


@pytest.mark.parametrize("line", _lines(TEXTS))
def test_a_program_given_as_text_runs_as_a_file_would(roots: tuple[Root, ...], line: str) -> None:
    command = f"{line}\nimport os\nrm = ['git push', \"it's\"]\nEOF"
    for more, is_free in (("", True), ("\n", True), ("\nmake", True), ("\nrm a", False)):
        verdict = decide_command(command + more, roots[0].path, roots, "sandbox")
        assert (verdict == Allow()) is is_free, more


@pytest.mark.parametrize("line", _lines(TEXTS_ASK))
def test_another_text_as_input_asks(roots: tuple[Root, ...], line: str) -> None:
    command = f"{line}\nprint(1)\nEOF"
    assert isinstance(decide_command(command, roots[0].path, roots, "sandbox"), Ask)


def test_what_only_reads_is_still_found_to_do_so(roots: tuple[Root, ...]) -> None:
    verdict = decide_command("ls src", roots[0].path, roots, "sandbox")
    assert verdict == Allow(reads_only=True)


def test_a_catastrophe_is_denied_in_a_sandbox_too(roots: tuple[Root, ...]) -> None:
    command = "pytest; rm -rf /"
    assert isinstance(decide_command(command, roots[0].path, roots, "sandbox"), Deny)


@pytest.mark.parametrize("command", ["git status", "grep -r x .", "find . -name x", "rg x src"])
def test_without_a_sandbox_that_is_wanted_wide_readers_ask(
    roots: tuple[Root, ...], command: str
) -> None:
    assert isinstance(decide_command(command, roots[0].path, roots, "missing"), Ask)
    assert decide_command("cat src/x", roots[0].path, roots, "missing") == Allow(reads_only=True)


def test_a_folder_of_programs_in_the_workspace_changes_nothing(
    roots: tuple[Root, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{roots[0].path / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    (roots[0].path / ".venv" / "bin" / "unknown").touch(mode=0o755)
    assert isinstance(decide_command("unknown", roots[0].path, roots, "sandbox"), Ask)
