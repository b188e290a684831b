"""What a kept ``ruff server`` answers is what the command answers, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_ls.checkers.ruff import Ruff, RuffOptions
from agent_ls.domain.findings import CheckReport
from tests.checkers.projects import Texts, workspace, write

RUFF = Path(sys.executable).with_name("ruff")
LOGGED = """#!/bin/sh
echo "$1 $$" >> {log}
{server}
exec {ruff} "$@"
"""
CLEAN = {"a.py": "x = 1\n"}
TEXTS = {
    "bad": "import os\nx = '\U0001d4bb'; y = missing\n",
    "carriage_returns": "import os\rx = missing\r",
    "crlf": "import os\r\n\r\nx=1\r\n",
    "form_feed": "\x0cimport os\nx = '\u2028' + missing\n",
    "mark": "\ufeffimport os\nx = missing\n",
    "nul": "x = '\0'\nimport os\n",
    "noqa": "import os  # noqa: F401\nimport sys  # noqa\nimport re  # noqa: E501\n",
    "no_file": "# ruff: noqa: F401\nimport os\nx = missing\n",
    "no_syntax": "def f(:\n  x = (\n",
    "half": "x='\ud800'\nimport os\n",
    "newer": "type X = int\nprint(f'{'a'}')\n",
    "outside": "return 1\nyield 2\nawait x\n",
    "empty": "",
}
FOLDERS = (
    "", "package/", "tests/", "sub/", "sub/generated/", "sub/deep/", "sub/deep/er/", "broken/",
    "newest/", "plain/", "ignored/", "a b/\u00fc/",
)  # fmt: skip
PROJECT = {
    "pyproject.toml": '[project]\nname="x"\nversion="1"\nrequires-python=">=3.9"\n'
    '[tool.ruff.lint]\nselect=["E","F","W","I","D1","INP","RUF100","S101"]\n'
    '[tool.ruff.lint.per-file-ignores]\n"tests/*"=["D","S"]\n"!package/**.py"=["W"]\n',
    "base.toml": 'line-length=20\n[lint]\nselect=["E","F"]\n',
    "sub/ruff.toml": 'extend="../base.toml"\nexclude=["generated"]\n',
    "sub/deep/.ruff.toml": 'extend="../ruff.toml"\n[lint]\nextend-select=["D100"]\n',
    "sub/deep/ruff.toml": '[lint]\nselect=["Q"]\n',
    "broken/ruff.toml": "no-such-option = 1\n",
    "newest/ruff.toml": 'required-version=">=99"\n',
    "plain/pyproject.toml": '[project]\nname="y"\nrequires-python=">=3.8"\n',
    "ignored/ruff.toml": '[lint]\nselect=["D"]\n',
    ".gitignore": "ignored/\n",
    ".git/HEAD": "ref: refs/heads/main\n",
    "package/__init__.py": "",
}


@dataclass
class Kept:
    """A checker whose ruff writes down how it is started."""

    checker: Ruff
    log: Path

    def starts(self, kind: str) -> list[int]:
        """Return the processes started as ``server`` or ``check``."""
        if not self.log.exists():
            return []
        lines = (line.split() for line in self.log.read_text().splitlines())
        return [int(pid) for one, pid in lines if one == kind]

    async def answered_by_server(self, texts: Texts) -> CheckReport:
        """Check until no command is needed: a server takes a moment to start."""
        async with asyncio.timeout(60):
            while True:
                before = len(self.starts("check"))
                report = await self.checker.check(texts)
                if len(self.starts("check")) == before:
                    return report
                await asyncio.sleep(0.1)


@asynccontextmanager
async def kept(
    place: Path, root: Path, *, trusted: bool = True, server: str = ""
) -> AsyncGenerator[Kept]:
    """Provide a checker; ``server`` is what its ruff does instead when started as a server."""
    place.mkdir()
    log, program = place / "log", place / "ruff"
    instead = f'[ "$1" = server ] && {{ {server}; }}' if server else ""
    program.write_text(LOGGED.format(log=log, server=instead, ruff=RUFF))
    program.chmod(0o755)
    options = RuffOptions(command=str(program), timeout_s=20)
    made = Kept(Ruff(workspace(root, trusted=trusted), options), log)
    try:
        yield made
    finally:
        await made.checker.end()


@pytest.mark.parametrize("trusted", [True, False])
async def test_the_server_finds_what_the_command_finds(tmp_path: Path, trusted: bool) -> None:
    root = tmp_path / "root"
    write(root, PROJECT)
    texts = {f"{folder}{name}.py": text for folder in FOLDERS for name, text in TEXTS.items()}
    texts |= {f"{folder}stub.pyi": "import os\nx: int = 1\n" for folder in FOLDERS}
    async with (
        kept(tmp_path / "with", root, trusted=trusted) as ours,
        kept(tmp_path / "without", root, trusted=trusted, server="exit 3") as theirs,
    ):
        await ours.answered_by_server(CLEAN)
        before = len(ours.starts("check"))
        report = await ours.checker.check(texts)
        asked_of_command = len(ours.starts("check")) - before
        assert report == await theirs.checker.check(texts)
    assert len(report.findings) > len(texts) / 2
    # A byte order mark, what the server has not read, and what is wrong with the configuration.
    odd = {"broken", "newest", "ignored"} if trusted else set[str]()
    expected = [one for one in texts if one.split("/")[0] in odd or "mark" in one]
    assert asked_of_command == len(expected)


async def test_a_configuration_counts_from_the_moment_that_it_changes(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root, {"ruff.toml": '[lint]\nselect=["F401"]\n', "old/ruff.toml": "[lint]\nselect=[]\n"})
    texts = {f"{folder}a.py": "import os;\nx = missing\n" for folder in ("", "new/", "old/")}
    changes = {
        "ruff.toml": 'extend = "base.toml"\n',
        "base.toml": '[lint]\nselect=["F821"]\n',
        "new/pyproject.toml": '[tool.ruff.lint]\nselect=["E703"]\n',
        "new/.ruff.toml": '[lint]\nselect=["F401"]\n',
        "old/ruff.toml": None,
        "new/.ruff.toml ": None,
    }
    async with (
        kept(tmp_path / "with", root) as ours,
        kept(tmp_path / "without", root, server="exit 3") as theirs,
    ):
        await ours.answered_by_server(texts)
        for name, content in changes.items():
            if content is None:
                (root / name.strip()).unlink()
            else:
                write(root, {name: content})
            at_once = await ours.checker.check(texts)
            expected = await theirs.checker.check(texts)
            assert at_once == expected, name
            if name != "ruff.toml":
                # What it extends is not there yet.
                assert await ours.answered_by_server(texts) == expected, name
        write(root, {"ruff.toml": "no-such-option = 1\n"})
        assert "no-such-option" in (await ours.checker.check({"a.py": ""})).problems[0]


async def test_a_server_that_was_killed_is_replaced(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root, {"b.py": ""})
    async with kept(tmp_path / "with", root) as ours:
        texts = {"a.py": "import os\n"}
        report = await ours.answered_by_server(texts)
        (first,) = ours.starts("server")
        os.kill(first, signal.SIGKILL)
        assert await ours.checker.check(texts) == report
        assert await ours.answered_by_server(texts) == report
        _, second = ours.starts("server")
        write(root, {"ruff": "x"})
    with pytest.raises(ProcessLookupError):
        os.kill(second, 0)


@pytest.mark.parametrize(
    "server",
    [
        "exit 3",
        "echo Hello",
        "exec cat",
        "printf 'Content-Length: 99999999999\\r\\n\\r\\n'; exec sleep 600",
        'printf \'Content-Length: 22\\r\\n\\r\\n{"id": 1, "result": {}}\'',
    ],
)
async def test_a_server_that_cannot_answer_is_given_up(tmp_path: Path, server: str) -> None:
    root = tmp_path / "root"
    write(root, {"b.py": ""})
    async with kept(tmp_path / "with", root, server=f"{server}; exit 3") as ours:
        for number in range(6):
            report = await ours.checker.check({"a.py": "import os\n" * (number + 1)})
            assert (len(report.findings) > number, report.problems) == (True, ())
            await asyncio.sleep(0.05)
        assert 1 <= len(ours.starts("server")) <= 3
