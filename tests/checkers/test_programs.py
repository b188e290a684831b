"""Which programs checkers may run, and where they look for them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from agent_ls.checkers.programs import (
    TypeScript,
    find_program,
    find_typescript,
    has_typescript,
    untrusted,
)
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.programs import path_outside
from tests.checkers.projects import write


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a user's own programs, a cloned repository with the same names, and a PATH
    that names both, the repository first."""
    here = tmp_path.resolve()
    for folder in ("repo/bin", "repo/node_modules/.bin", "mine/bin", "links"):
        (here / folder).mkdir(parents=True)
    for folder in ("repo/bin", "mine/bin"):
        program(here / folder / "tool")
    (here / "links" / "tool").symlink_to(here / "repo" / "bin" / "tool")
    (here / "into-repo").symlink_to(here / "repo")
    entries = [here / "repo/bin", Path("relative/bin"), here / "into-repo/bin", here / "links",
               here / "mine/bin"]  # fmt: skip
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, entries)))
    return here


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def typescript(package: Path, version: object = "5.9.3", name: str = "typescript") -> TypeScript:
    write(package, {"package.json": {"name": name, "version": version}})  # type: ignore[dict-item]
    program(package / "bin" / "tsc")
    return TypeScript(package, str(version))


def check(places: Path, *, trusted: bool, configured: str = "") -> str:
    """Return which ``tool`` would run, relative to the machine."""
    avoid = untrusted((Root("repo", places / "repo", trusted),))
    found = find_program("tool", configured=configured, avoid=avoid)
    return str(found.relative_to(places)) if found else ""


def test_a_trusted_folders_programs_run_as_path_says(places: Path) -> None:
    assert check(places, trusted=True) == "repo/bin/tool"


def test_an_untrusted_folders_programs_do_not_run_by_any_spelling(places: Path) -> None:
    assert check(places, trusted=False) == "mine/bin/tool"


def test_the_configured_program_wins(places: Path) -> None:
    chosen = program(places / "other" / "tool")
    assert check(places, trusted=False, configured=str(chosen)) == "other/tool"


@pytest.mark.parametrize("configured", ["{0}/nothing", "{0}/mine", "{0}/plain.txt"])
def test_a_configured_program_that_is_none_is_not_replaced_by_another(
    places: Path, configured: str
) -> None:
    (places / "plain.txt").write_text("")
    assert check(places, trusted=True, configured=configured.format(places)) == ""


def test_children_get_a_path_without_the_untrusted_folder(places: Path) -> None:
    entries = path_outside([places / "repo"]).split(os.pathsep)
    assert entries == [str(places / "links"), str(places / "mine/bin")]


def test_what_lies_beside_our_own_interpreter_is_found_without_any_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    name = Path(sys.executable).name
    found = find_program(name, configured="", avoid=[Path(sys.prefix)])
    assert found == Path(sys.executable)
    assert find_program("no-such-tool", configured="", avoid=[]) is None


def test_a_trusted_folders_typescript_comes_first_and_nearest(places: Path) -> None:
    near = typescript(places / "repo/packages/one/node_modules/typescript", "5.1.0")
    far = typescript(places / "repo/node_modules/typescript", "5.9.3")
    folders = [places / "repo/packages/one", places / "repo/packages", places / "repo"]
    node = places / "mine/bin/tool"
    assert find_typescript(folders, configured="", avoid=[], node=node) == near
    assert find_typescript(folders[1:], configured="", avoid=[], node=node) == far
    assert has_typescript(folders)
    assert find_typescript(folders, configured="", avoid=[places / "repo"], node=node) is None


def test_the_users_typescript_is_found_by_its_link_on_path(places: Path) -> None:
    mine = typescript(places / "mine/lib/node_modules/typescript", "7.0.2")
    (places / "mine/bin/tsc").symlink_to("../lib/node_modules/typescript/bin/tsc")
    found = find_typescript([], configured="", avoid=[places / "repo"], node=places / "x/node")
    assert found == mine
    assert found.tsc == mine.package / "bin" / "tsc"


def test_the_users_typescript_is_found_beside_node(places: Path) -> None:
    mine = typescript(places / "mine/lib/node_modules/typescript")
    node = program(places / "mine/bin/node")
    assert find_typescript([], configured="", avoid=[], node=node) == mine


def test_a_tsc_on_path_that_leads_into_the_untrusted_folder_is_passed_over(places: Path) -> None:
    typescript(places / "repo/node_modules/typescript")
    (places / "mine/bin/tsc").symlink_to(places / "repo/node_modules/typescript/bin/tsc")
    node = program(places / "mine/bin/node")
    assert find_typescript([], configured="", avoid=[places / "repo"], node=node) is None


@pytest.mark.parametrize("given", ["", "/bin/tsc", "/../.bin/tsc"])
def test_a_configured_typescript_may_be_its_package_or_its_program(
    places: Path, given: str
) -> None:
    mine = typescript(places / "far/node_modules/typescript")
    program(places / "far/node_modules/.bin/tsc")
    configured = f"{mine.package}{given}"
    found = find_typescript([], configured=configured, avoid=[], node=places / "node")
    assert found is not None
    assert found.package.samefile(mine.package)


@pytest.mark.parametrize(
    "broken",
    [
        "not json", "[]", '{"name": "typescript"}', '{"name": "other", "version": "5.0.0"}',
        '{"name": "typescript", "version": "five"}', '{"name": "typescript", "version": 5}',
    ],
)  # fmt: skip
def test_what_only_looks_like_a_typescript_is_none(places: Path, broken: str) -> None:
    write(places, {"repo/node_modules/typescript/package.json": broken})
    assert not has_typescript([places / "repo"])
