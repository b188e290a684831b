"""Real projects to work on: fetched at a pinned version, checked, set up, and looked at afterwards.

Owns a project's files. What is done in them is ``real_projects``; what each one is, and what the
model says in it, stands in ``real/<name>/``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from benchmarks.places import REPOSITORY

PLACE = Path(__file__).parent / "real"
_CACHE = REPOSITORY / ".cache" / "benchmarks"
_UV = REPOSITORY / "scripts" / "uv.sh"
# What installing and running tests leaves behind is not the agent's doing.
_NOT_THE_AGENT = (".venv", "node_modules", "__pycache__", ".pytest_cache")


@dataclass(frozen=True)
class Verification:
    """A command that has to succeed when the work is done."""

    says: str
    command: tuple[str, ...]
    expect: str
    """Words of its output."""
    is_unchanged: bool
    """It says exactly what it said before the work, be it good or bad."""


@dataclass(frozen=True)
class Project:
    """A project and the work that is done in it."""

    name: str
    prompt: str
    open: tuple[str, ...]
    """Documents that a user has open while the agent works."""
    gate_failures: int
    gate_words: tuple[str, ...]
    """What the gate says when it fails."""
    commands: int
    """Commands that a user is asked about."""
    registry: Literal["pypi", "npm"]
    package: str
    version: str
    file: str
    sha256: str
    python_folder: str | None
    """Where the project's own package is, for its virtualenv to find."""
    node_folder: str | None
    """Where the node packages of ``package-lock.json`` belong."""
    verify: tuple[Verification, ...]

    @classmethod
    def load(cls, name: str) -> Self:
        """Read ``real/<name>/project.toml``."""
        told: dict[str, Any] = tomllib.loads((PLACE / name / "project.toml").read_text("utf-8"))
        source = told["source"]
        return cls(
            name=name,
            prompt=told["prompt"].strip(),
            open=tuple(told["open"]),
            gate_failures=told["gate_failures"],
            gate_words=tuple(told["gate_words"]),
            commands=told["commands"],
            registry=source["from"],
            package=source["package"],
            version=source["version"],
            file=source["file"],
            sha256=source["sha256"],
            python_folder=told.get("python", {}).get("folder"),
            node_folder=told.get("node", {}).get("folder"),
            verify=tuple(
                Verification(
                    says=one["says"],
                    command=tuple(one["command"]),
                    expect=one.get("expect", ""),
                    is_unchanged=one.get("is_unchanged", False),
                )
                for one in told["verify"]
            ),
        )

    @property
    def scenario(self) -> Path:
        return PLACE / self.name / "scenario.toml"

    @property
    def expected_diff(self) -> str:
        return (PLACE / self.name / "expected.diff").read_text("utf-8")


def names() -> list[str]:
    """Return the projects there are."""
    return sorted(path.parent.name for path in PLACE.glob("*/project.toml"))


class Template:
    """A project unpacked and set up once, to be copied for each piece of work."""

    def __init__(self, project: Project, scratch: Path) -> None:
        self.root = scratch / f"{project.name}-template"
        self.root.mkdir(parents=True)
        _unpack(_fetch(project), self.root)
        _git(self.root, "init", "--quiet")
        _git(self.root, "add", "--all", "--force")
        _git(self.root, "commit", "--quiet", "--message", "As it was published")
        excluded = "".join(f"{name}\n" for name in _NOT_THE_AGENT)
        (self.root / ".git" / "info" / "exclude").write_text(excluded, "utf-8")
        _install(project, self.root)

    def copy(self, to: Path) -> Path:
        """Return a copy; what nobody writes to is linked, which is quick."""

        def link_or_copy(source: str, target: str) -> None:
            if {".venv", "node_modules"} & set(Path(source).parts):
                os.link(source, target)
            else:
                shutil.copy2(source, target)

        shutil.copytree(self.root, to, symlinks=True, copy_function=link_or_copy)
        return to


def diff_of(root: Path) -> str:
    """Return everything that changed since the project was unpacked, new files included."""
    excluded = [f":(exclude,glob)**/{name}/**" for name in _NOT_THE_AGENT]
    _git(root, "add", "--all", "--force", "--intent-to-add", "--", ".", *excluded)
    return _git(root, "diff", "--no-color", "--no-ext-diff", "--find-renames", "HEAD")


def verify(project: Project, root: Path, template: Template, scratch: Path) -> list[str]:
    """Run the project's own checks; return what is wrong."""
    found: list[str] = []
    for one in project.verify:
        code, said = _said(one, root, scratch)
        if one.is_unchanged:
            is_right = (code, said) == _said(one, template.root, scratch)
        else:
            is_right = code == 0 and one.expect in said
        if not is_right:
            found.append(
                f"{one.says}: {' '.join(one.command)[:200]} ended with {code}\n{said[-4000:]}"
            )
    return found


def _said(one: Verification, root: Path, scratch: Path) -> tuple[int, str]:
    command = [word.replace("{scratch}", str(scratch)) for word in one.command]
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=root, env=variables, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def _fetch(project: Project) -> Path:
    """Return the project's archive, through the registry's ordinary client, its digest checked.

    Errors: ``RuntimeError`` when it is not the one that is pinned.
    """
    _CACHE.mkdir(parents=True, exist_ok=True)
    archive = _CACHE / project.file
    if not archive.exists():
        exact = f"{project.package}=={project.version}"
        if project.registry == "pypi":
            source_only = ("--no-deps", "--no-binary", project.package)
            _run([*_pip(), "download", "--quiet", *source_only, exact], _CACHE)
        else:
            _run(["npm", "pack", "--silent", exact.replace("==", "@")], _CACHE)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != project.sha256:
        archive.unlink()
        raise RuntimeError(f"{project.file} has the digest {digest}, not {project.sha256}")
    return archive


def _unpack(archive: Path, root: Path) -> None:
    with tarfile.open(archive) as packed:
        for member in packed.getmembers():
            # Every archive has one folder at its top.
            member.name = member.name.partition("/")[2]
            if member.name:
                packed.extract(member, root, filter="data")


def _install(project: Project, root: Path) -> None:
    """Install what the project needs, from our locks."""
    locks = PLACE / project.name
    if (locks / "requirements.lock").exists():
        _run([_UV, "venv", "--quiet", "--python", sys.executable, root / ".venv"], root)
        python = ("--python", root / ".venv" / "bin" / "python")
        hashed = ("--require-hashes", "--requirements", locks / "requirements.lock")
        _run([_UV, "pip", "install", "--quiet", *python, *hashed], root)
    if project.python_folder is not None:
        for packages in root.glob(".venv/lib/*/site-packages"):
            # Relative, because the project is copied.
            found = os.path.relpath(root / project.python_folder, packages)
            (packages / "project.pth").write_text(f"{found}\n", "utf-8")
    if project.node_folder is not None:
        folder = root / f"{project.name}-node"
        folder.mkdir()
        for name in ("package.json", "package-lock.json"):
            shutil.copy(locks / name, folder)
        quiet = ("--silent", "--no-audit", "--no-fund")
        _run(["npm", "ci", *quiet, "--ignore-scripts", "--legacy-peer-deps"], folder)
        (folder / "node_modules").rename(root / project.node_folder / "node_modules")
        shutil.rmtree(folder)


def _pip() -> Sequence[str | Path]:
    """Return a pip; our own virtualenv has none."""
    private = REPOSITORY / ".cache" / "uv" / "bin" / "python"
    for python in (sys.executable, getattr(sys, "_base_executable", ""), str(private)):
        if python and Path(python).exists() and _runs([python, "-m", "pip", "--version"]):
            return python, "-m", "pip"
    return _UV, "tool", "run", "pip"


def _runs(command: Sequence[str]) -> bool:
    return subprocess.run(command, capture_output=True).returncode == 0


def _git(root: Path, *words: str) -> str:
    who = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost")
    plain = ("-c", "core.autocrlf=false", "-c", "core.quotepath=true")
    return _run(["git", *who, *plain, *words], root)


def _run(command: Sequence[str | Path], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        words = " ".join(map(str, command))
        raise RuntimeError(f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
