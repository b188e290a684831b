"""The VS Code client in a real extension host, with a real server and the scripted model."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.editors.vscode import HostReport, VsCode, VsCodeSetup
from tests.support.scripted import scripted

_SUITE = Path(__file__).parent / "vscode_suite"

_PRICES = """\
from decimal import Decimal


def discounted(price: Decimal, percent: Decimal) -> Decimal:
    return round(price * (100 - percent) / 100, 2)
"""

_TURN = """\
chunk = 8

[[answer]]
when = { first = "Round prices properly." }
text = "The rounding is binary. Money is rounded once, at the end."
[[answer.call]]
tool = "edit_file"
[answer.call.arguments]
path = "prices.py"
edits = [{ old_string = "return round(price * (100 - percent) / 100, 2)", new_string = "return (price * (100 - percent) / 100).quantize(CENT)" }]

[[answer]]
when = { first = "Round prices properly." }
text = "The constant is missing."
[[answer.call]]
tool = "edit_file"
[answer.call.arguments]
path = "prices.py"
edits = [{ old_string = "from decimal import Decimal\\n", new_string = "from decimal import Decimal\\n\\nCENT = Decimal(\\"0.01\\")\\n" }]

[[answer]]
when = { first = "Round prices properly." }
text = "Prices are rounded once, to the cent."

[[answer]]
hang = "middle"
text = "This answer never ends."
"""


@pytest.fixture(scope="module")
def extension(repository: Path) -> Path:
    """The client as it is packaged, built from its sources."""
    folder = repository / "vscode-client"
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm here; the VS Code client cannot be built")
    if not (folder / "node_modules" / ".package-lock.json").exists():
        subprocess.run([npm, "ci", "--silent"], cwd=folder, check=True)
    subprocess.run([npm, "run", "--silent", "build"], cwd=folder, check=True)
    return folder


def _setup(model: str, workspace: Path) -> VsCodeSetup:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return VsCodeSetup(
        settings={"agent-ls.python": sys.executable, "agent-ls.model": "openai/scripted"},
        variables={"AGENT_LS_API_BASE": model, "PATH": path},
    )


async def check(
    vscode: VsCode, extension: Path, suite: str, workspace: Path, scenario: str
) -> HostReport:
    """Run a suite with a scripted model and assert that every step of it was proved."""
    async with scripted(scenario, is_strict=False) as model:
        report = await asyncio.to_thread(
            vscode.run,
            _SUITE / suite,
            extension=extension,
            workspace=workspace,
            setup=_setup(model.base_url, workspace),
        )
    report.check()
    return report


async def test_a_turn_is_led_from_the_panel(
    vscode: VsCode, extension: Path, tmp_path: Path
) -> None:
    workspace = tmp_path / "shop"
    workspace.mkdir()
    (workspace / "prices.py").write_text(_PRICES)
    report = await check(vscode, extension, "turn.cjs", workspace, _TURN)
    # The webview's own resources are served under this name by the workbench's service worker.
    assert [host for host in report.outside if not host.endswith(".vscode-cdn.net")] == []
