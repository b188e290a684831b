"""The VS Code client in a real extension host, with a real server and the scripted model."""

from __future__ import annotations

import asyncio
import fcntl
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from agent_ls import __version__
from tests.editors.vscode import HostReport, VsCode, VsCodeSetup
from tests.support.scripted import scripted

_SUITE = Path(__file__).parent / "vscode_suite"

_PRICES = """\
from decimal import Decimal


def discounted(price: Decimal, percent: Decimal) -> Decimal:
    return round(price * (100 - percent) / 100, 2)
"""


@pytest.fixture(scope="module")
def extension(repository: Path) -> Path:
    """The client as it is packaged, built from its sources; one worker builds it for all."""
    folder = repository / "vscode-client"
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm here; the VS Code client cannot be built")
    with (Path(tempfile.gettempdir()) / "agent-ls-client.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "node_modules" / ".package-lock.json").exists():
            subprocess.run([npm, "ci", "--silent"], cwd=folder, check=True)
        if _is_stale(folder):
            build = [npm, "run", "--silent", "build", "--", "--production"]
            subprocess.run(build, cwd=folder, check=True)
            (folder / "dist" / "production").touch()
    return folder


def _is_stale(folder: Path) -> bool:
    """Whether what is built is older than a source, or was built for looking into it."""
    stamp = folder / "dist" / "production"
    if not stamp.exists():
        return True
    built = stamp.stat().st_mtime
    outputs = [folder / "dist" / name for name in ("extension.js", "panel.js", "panel.css")]
    sources = [folder / "package.json", folder / "esbuild.mjs", *(folder / "src").rglob("*.*")]
    return any(one.stat().st_mtime > built for one in [*outputs, *sources])


def _setup(model: str, python: str) -> VsCodeSetup:
    return VsCodeSetup(
        settings={
            "agent-ls.python": python,
            "agent-ls.model": "openai/scripted",
            # The suites speak to the server's own commands before they open the panel.
            "agent-ls.start": "always",
        },
        variables={"AGENT_LS_API_BASE": model, "RIGHT_PYTHON": sys.executable},
    )


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A small workspace."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "prices.py").write_text(_PRICES)
    return folder


async def check(
    vscode: VsCode,
    extension: Path,
    workspace: Path,
    suite: str,
    *,
    python: str = sys.executable,
    setup: VsCodeSetup | None = None,
    limit_s: float = 200.0,
) -> HostReport:
    """Run a suite with its scripted model and assert that every step of it was proved."""
    async with scripted((_SUITE / f"{suite}.toml").read_text("utf-8")) as model:
        report = await asyncio.to_thread(
            vscode.run,
            _SUITE / f"{suite}.cjs",
            extension=extension,
            workspace=workspace,
            setup=setup or _setup(model.base_url, python),
            limit_s=limit_s,
        )
        report.check()
    # The workbench serves a webview's own files under such a name, by its service worker.
    assert [host for host in report.outside if not host.endswith(".vscode-cdn.net")] == []
    assert [line for line in report.console if "rejected promise not handled" in line] == []
    return report


@pytest.mark.story("vscode")
async def test_a_turn_is_led_from_the_panel(vscode: VsCode, extension: Path, shop: Path) -> None:
    await check(vscode, extension, shop, "turn")


@pytest.mark.story("vscode")
async def test_changes_are_kept_and_undone_by_keyboard_and_in_the_panel(
    vscode: VsCode, extension: Path, shop: Path
) -> None:
    await check(vscode, extension, shop, "review")


@pytest.mark.parametrize("suite", ["turn", "review"])
async def test_it_works_in_an_older_vscode(
    vscode_1_100: VsCode, extension: Path, shop: Path, suite: str
) -> None:
    await check(vscode_1_100, extension, shop, suite)


async def test_the_review_goes_with_files_that_move(
    vscode: VsCode, extension: Path, shop: Path
) -> None:
    for name, text in {"lib/taxes.py": "RATE = 19\n", "a.txt": "a\n", "b.txt": "b\n"}.items():
        (shop / name).parent.mkdir(exist_ok=True)
        (shop / name).write_text(text)
    await check(vscode, extension, shop, "moves")


async def test_what_waits_is_changed_in_an_editor_and_run(
    vscode: VsCode, extension: Path, shop: Path
) -> None:
    await check(vscode, extension, shop, "amend")


async def test_a_notebook_is_edited_by_its_cells(
    vscode: VsCode, extension: Path, shop: Path
) -> None:
    output = {"output_type": "stream", "name": "stdout", "text": ["1\n"]}
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Sums"]},
        {
            "cell_type": "code",
            "execution_count": 1,
            "metadata": {},
            "outputs": [output],
            "source": ["x = 1\n", "print(x)"],
        },
    ]
    found = {"cells": cells, "metadata": {"mine": "kept"}, "nbformat": 4, "nbformat_minor": 4}
    (shop / "sums.ipynb").write_text(json.dumps(found, indent=1) + "\n")
    await check(vscode, extension, shop, "notebook")


async def test_a_user_types_while_the_agent_edits(
    vscode: VsCode, extension: Path, shop: Path
) -> None:
    lines = [f"value_{number} = {number}\n" for number in range(10)]
    (shop / "many.py").write_text("".join([*lines[:5], "# \n", *lines[5:]]))
    await check(vscode, extension, shop, "typing")


async def test_the_client_keeps_its_manners_when_things_go_wrong(
    vscode: VsCode, extension: Path, shop: Path
) -> None:
    await check(vscode, extension, shop, "manners", python="/nowhere/python")


async def test_the_servers_process_is_started_told_and_given_up(
    vscode: VsCode, extension: Path, shop: Path
) -> None:
    await check(vscode, extension, shop, "process")


async def test_sessions_outlive_a_reload_and_wait_behind_each_other(
    vscode: VsCode, extension: Path, shop: Path
) -> None:
    await check(vscode, extension, shop, "sessions")


async def test_a_prompt_goes_back_and_is_changed_or_tried_again(
    vscode: VsCode, extension: Path, shop: Path
) -> None:
    await check(vscode, extension, shop, "rewind")


_STANDS_FOR_IT = """
import hashlib, os, pathlib, sys
key = os.environ.get("ANTHROPIC_API_KEY", "").encode()
pathlib.Path(os.environ["TMPDIR"], "given").write_text(hashlib.sha256(key).hexdigest())
python = os.environ["RIGHT_PYTHON"]
os.execv(python, [python, "-P", "-m", "agent_ls", *sys.argv[1:]])
"""


def _wheel(folder: Path) -> Path:
    """A package named agent-ls that needs no others and starts the server of this repository."""
    name = f"agent_ls-{__version__}"
    facts = f"Metadata-Version: 2.1\nName: agent-ls\nVersion: {__version__}\n"
    kind = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    path = folder / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("agent_ls/__init__.py", f"__version__ = {__version__!r}\n")
        wheel.writestr("agent_ls/__main__.py", _STANDS_FOR_IT)
        wheel.writestr(f"{name}.dist-info/METADATA", facts)
        wheel.writestr(f"{name}.dist-info/WHEEL", kind)
        wheel.writestr(f"{name}.dist-info/RECORD", "")
    return path


async def test_a_new_user_is_led_to_the_first_prompt(
    vscode: VsCode, extension: Path, shop: Path, tmp_path: Path
) -> None:
    alone = {"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": "", "PIP_NO_INDEX": "1", "UV_OFFLINE": "1"}
    setup = VsCodeSetup(
        settings={"agent-ls.installFrom": str(_wheel(tmp_path))},
        variables={**alone, "PATH": "/usr/bin:/bin", "RIGHT_PYTHON": sys.executable},
    )
    await check(vscode, extension, shop, "setup", setup=setup, limit_s=400)
