"""What a command names is judged as the file tools judge it, in every mode."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ls.domain.verdicts import Allow, Ask, Deny
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.commands import decide_command
from tests.safety.tables import rows


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the settings and keys, at a place that no name tells."""
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "odd" / name.lower()))
    folder = tmp_path.resolve() / "odd" / "config" / "agent-ls"
    folder.mkdir(parents=True)
    (folder / "config.toml").touch()
    (folder / "credentials.toml").touch()
    return folder


@pytest.fixture
def root(tmp_path: Path, settings: Path) -> Path:
    """A project with what steers programs, secrets, and ways to the settings."""
    root = tmp_path.resolve() / "above" / "proj"
    files = ".env .git/hooks/x .git/config .vscode/tasks.json src/a.py conftest.py"
    for name in files.split():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    (root / "cfglink").symlink_to(settings)
    (root / "envlink").symlink_to(".env")
    (root / "gh").symlink_to(".git/hooks")
    os.link(settings / "config.toml", root / "hard.txt")
    return root


@pytest.fixture
def beside(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project, with a link out of it, another folder for what is temporary, and a name."""
    monkeypatch.setenv("TMPDIR", "/srv/tmp")
    monkeypatch.setenv("USER", "bob")
    (root / "out").symlink_to("/srv")
    return root


def verdict(command: str, root: Path, settings: Path) -> Allow | Ask | Deny:
    roots = (Root("proj", root, is_trusted=True),)
    for name, place in (("settings", settings), ("above", root.parent)):
        command = command.replace(f"{{{name}}}", str(place))
    return decide_command(command, root, roots)


@pytest.mark.parametrize("command", rows("places_denied"))
def test_a_command_that_names_what_is_our_own_is_refused(command, root, settings) -> None:
    assert isinstance(verdict(command, root, settings), Deny)


@pytest.mark.parametrize(
    "command",
    [
        *rows("places_asking"),
        "cat > .vscode/tasks.json <<EOF\n{}\nEOF",
    ],
)
def test_a_command_asks_in_every_mode_where_the_file_tools_do(command, root, settings) -> None:
    said = verdict(command, root, settings)
    assert isinstance(said, Ask)
    assert not said.broad


@pytest.mark.parametrize("command", rows("places_ordinary"))
def test_an_ordinary_command_asks_only_where_the_mode_does(command, root, settings) -> None:
    said = verdict(command, root, settings)
    assert isinstance(said, Allow | Ask)
    assert isinstance(said, Allow) or said.broad


@pytest.mark.parametrize("command", [*rows("outside_asking"), "cat > ../x <<EOF\nhi\nEOF"])
def test_a_command_that_plainly_changes_what_is_outside_asks_in_every_mode(
    command, beside, settings
) -> None:
    said = verdict(command, beside, settings)
    assert isinstance(said, Ask)
    assert not said.broad


@pytest.mark.parametrize("command", rows("outside_ordinary"))
def test_what_a_command_reads_outside_or_does_unseen_asks_only_where_the_mode_does(
    command, beside, settings
) -> None:
    said = verdict(command, beside, settings)
    assert isinstance(said, Ask)
    assert said.broad


@pytest.mark.parametrize(
    "command",
    [
        "ls $T/*",
        "cat ${T}*.py",
        "rm -rf $BUILD/*",
        'rm -rf "$BUILD"/*',
        "rm -rf ${BUILD:-out}/*",
        "cp $A/* $B/*",
        "mv src/$X*.py src/",
        "cd $D; ls *",
        "cd ~$USER_; ls",
        "ls ~$USER_/*",
        "echo x > $T*",
        "ls $'\\0'/*",
        "for f in $T/*; do rm $f; done",
        "[ -e $T/* ] && rm $T/[ab]?",
        f"ln -s src/a.py {'a' * 300}",
        f"rm src/{'a' * 300}/x",
    ],
)
def test_what_the_disk_cannot_look_up_asks(command, root, settings) -> None:
    roots = (Root("proj", root, is_trusted=True),)
    assert isinstance(decide_command(command, root, roots), Ask)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("rm ../x ../y", "x is outside the workspace, and the command would change it."),
        ("rm ../x .vscode/a", "x is outside the workspace, and the command would change it."),
        ("make > $OUT/a", "It changes …/a; “…” is only known when it runs."),
        ("cat cfglink/config.toml | make", "belongs to agent-ls itself and may hold keys."),
        ("sed -i 1d conftest.py", "conftest.py is run by builds, tests or tools later."),
        ("cp a.py conftest.py", "conftest.py is run by builds, tests or tools later."),
        (f"make {'a' * 5_000}", "aaa is longer than a path can be."),
        ("make .env", ".env looks like a file that holds secrets."),
        ("make hard.txt", "hard.txt is a hard link, so its content may belong elsewhere."),
    ],
)
def test_the_place_is_named_and_why_it_asks(command, said, root, settings) -> None:
    found = verdict(command, root, settings)
    assert isinstance(found, Ask)
    assert found.reason.endswith(said)


def test_a_text_that_does_not_parse_is_searched_all_the_same(root, settings) -> None:
    said = verdict("if ((; then echo x > .git/hooks/pre-commit", root, settings)
    assert isinstance(said, Ask)
    assert not said.broad


def test_a_text_with_countless_names_asks(root, settings) -> None:
    said = verdict(f"make {' '.join(map(str, range(2_100)))}", root, settings)
    assert isinstance(said, Ask)
    assert not said.broad
    assert said.reason.endswith("The command names more places than can be checked.")
