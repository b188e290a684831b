"""Which rule by prefix an approval offers, and which commands such a rule leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.prefixes import prefix_rule

OFFERED = """
pytest -x tests => pytest *
pytest 2>&1 | tail -3 => pytest *
cd src && cargo test => cargo test *
pytest; pytest -x => pytest *
cargo test --workspace => cargo test *
npm run lint -- --fix => npm run lint *
npm run test:unit => npm run test:unit *
npm ci => npm ci *
make test => make test *
git commit -m 'one: two' => git commit *
git add src => git add *
./gradlew test => ./gradlew test *
go test ./... => go test *
cargo TEST => cargo TEST *
pytest -k 'a or b' -- x => pytest *
"""
NOT_OFFERED = """
python -c 'print(1)'
python src/a.py
python -m pytest
node -e 1
bash scripts/a.sh
bash -c 'pytest'
sh -c pytest
sudo pytest
env pytest
timeout 5 pytest
nice pytest
npx tsc
uv run pytest
xargs pytest
find . -exec pytest {} +
make
make CC=gcc test
make -k test
cargo -q test
pytest https://example.org/x
python script
bash file
cargo --config x test
cargo install x
npm install x
npm exec x
git push
git -c core.pager=x commit
rm -r src
cp a b
curl https://example.org
docker run x
ssh host
tee a.txt
gcc a.c
coverage run a.py
pytest; mypy
pytest && rm a
pytest $(make)
pytest > out.txt
A=1 pytest
pytest --rootdir /etc
pytest ../other
pytest ~/x
pytest x::../..
mypy -p../other
make test CC=gcc
make test CC:=gcc
pytest @args
cargo test --manifest-path ../x/Cargo.toml
cargo test --target-dir=/tmp/x
"cargo" "t*"
/usr/bin/pytest
cd src && ./gradlew test
echo (
"""


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Root, ...]:
    """A workspace with one folder."""
    top = tmp_path.resolve() / "work"
    (top / "src").mkdir(parents=True)
    return (Root("work", top, is_trusted=True),)


@pytest.mark.parametrize("row", _lines(OFFERED))
def test_a_prefix_is_the_program_and_what_it_is_to_do(row: str, roots: tuple[Root, ...]) -> None:
    command, _, rule = row.partition(" => ")
    assert prefix_rule(command, roots[0].path, roots, is_held=False) == f"run_command: {rule}"


@pytest.mark.parametrize("command", _lines(NOT_OFFERED))
def test_no_prefix_is_offered_where_it_could_mean_anything(
    command: str, roots: tuple[Root, ...]
) -> None:
    assert prefix_rule(command, roots[0].path, roots, is_held=False) is None


def test_a_folder_above_a_link_is_not_where_the_shell_goes(roots: tuple[Root, ...]) -> None:
    top = roots[0].path
    (top / "deep" / "er").mkdir(parents=True)
    (top / "link").symlink_to("deep/er")
    for command, rule in (
        ("cd link/../src && pytest", None),
        ("cd deep/../src && pytest", "run_command: pytest *"),
        ("cd src | pytest", None),
    ):
        assert prefix_rule(command, top, roots, is_held=False) == rule
