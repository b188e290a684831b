"""A real VS Code, its extension host included, started for one test file and taken down after it.

Owns the surroundings of a run: private folders, settings, time limit, the report. The workbench
itself is driven by `vscode_host.mjs`; the test file runs inside the extension host.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.editors.processes import Household

_HERE = Path(__file__).parent
_LIMIT_S = 200.0
_GRACE_S = 10.0
_CALM = {
    # Nothing that phones, tips, animates or saves on its own.
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
    "workbench.reduceMotion": "on",
    "workbench.enableExperiments": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.colorTheme": "Default Dark Modern",
    "window.autoDetectColorScheme": False,
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "update.showReleaseNotes": False,
    "extensions.autoUpdate": False,
    "extensions.autoCheckUpdates": False,
    "extensions.ignoreRecommendations": True,
    "chat.disableAIFeatures": True,
    "git.enabled": False,
    "files.autoSave": "off",
    "editor.minimap.enabled": False,
}
_NOISE = re.compile("Ignoring fetching|allow-same-origin|Creating a socket|same-origin iframe")
_NO_GALLERY = {"serviceUrl": "", "itemUrl": "", "resourceUrlTemplate": "", "controlUrl": ""}


@dataclass(frozen=True)
class Step:
    """One sentence that was to be proved inside the extension host."""

    sentence: str
    error: str | None
    ms: int


@dataclass(frozen=True)
class HostReport:
    """How a test inside the extension host went, and what the workbench said meanwhile."""

    version: str | None
    steps: tuple[Step, ...]
    error: str | None
    shots: tuple[Path, ...]
    console: tuple[str, ...]
    outside: tuple[str, ...]
    "Hosts beyond this machine that the workbench tried to reach."
    leftovers: tuple[str, ...]
    "Processes, VS Code's own apart, that were still there some time after it had closed."
    logs: Mapping[str, str]
    "The extension host's own log and the output channels, by file name."

    def check(self) -> None:
        """AssertionError with everything known, unless all went well and nothing was left."""
        assert self.error is None, self.story()
        assert self.steps, f"the test proved nothing\n{self.story()}"
        assert not self.leftovers, "still running after VS Code had closed:\n" + "\n".join(
            self.leftovers
        )

    def story(self) -> str:
        """The run, to be read by a user."""
        steps = [
            f"{'FAILED' if s.error else 'proved'} {s.sentence} ({s.ms} ms)" for s in self.steps
        ]
        logs = [f"--- {name}\n{text[-4_000:]}" for name, text in self.logs.items()]
        parts = [
            f"VS Code {self.version}",
            *steps,
            f"error: {self.error}",
            f"pictures: {', '.join(map(str, self.shots))}",
            "--- console",
            *[line for line in self.console if not _NOISE.search(line)][-30:],
            *logs,
        ]
        return "\n".join(parts)


@dataclass(frozen=True)
class VsCodePlaces:
    """Where the parts of one installed VS Code are."""

    node: Path
    code_server: Path
    browser: Path


@dataclass(frozen=True)
class VsCodeSetup:
    """How a user has set their VS Code up, on top of a quiet one."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    open: Path | None = None
    trust_asked: bool = False
    "Whether workspace trust is on, so that a folder starts out restricted."
    width: int = 1280
    height: int = 800


@dataclass(frozen=True)
class VsCode:
    """An installed VS Code; each run is a fresh one, with folders of its own."""

    places: VsCodePlaces
    shots: Path
    "Where pictures go; a run that fails leaves `failure.png` there."

    def run(
        self,
        test: Path,
        *,
        extension: Path,
        workspace: Path,
        setup: VsCodeSetup | None = None,
        limit_s: float = _LIMIT_S,
    ) -> HostReport:
        """Run a test file inside the extension host, with this extension installed.

        Invariant: every process of the run is dead when this returns or raises.
        """
        setup = setup or VsCodeSetup()
        home = Path(tempfile.mkdtemp(prefix="als-code-"))
        household = Household()
        self.shots.mkdir(parents=True, exist_ok=True)
        try:
            spec = self._prepare(home, setup)
            _install(home / "extensions", extension)
            spec |= {
                "test": str(test.resolve()),
                "workspace": str(workspace.resolve()),
                "limitMs": int(limit_s * 1000),
            }
            said = self._drive(home, spec, household.environment(_variables(home, setup)), limit_s)
            ours = self.places.code_server.parents[2]
            leftovers = [
                line
                for line in household.outlive(_GRACE_S)
                if str(ours) not in line and self.places.browser.name not in line
            ]
            return _report(home, said, leftovers)
        finally:
            household.end()
            shutil.rmtree(home, ignore_errors=True)

    def _prepare(self, home: Path, setup: VsCodeSetup) -> dict[str, Any]:
        for name in ("user/User", "user/Machine", "extensions", "browser", "tmp", "run"):
            (home / name).mkdir(parents=True, mode=0o700)
        settings = {**_CALM, "security.workspace.trust.enabled": setup.trust_asked}
        # A remote window, which this is, takes settings of the scope `machine` from elsewhere.
        for file in ("user/User/settings.json", "user/Machine/settings.json"):
            (home / file).write_text(json.dumps({**settings, **setup.settings}))
        (home / "code-server.yaml").write_text("auth: none\n")
        return {
            "places": {
                "codeServer": str(self.places.code_server),
                "browser": str(self.places.browser),
            },
            "home": str(home),
            "shots": str(self.shots.resolve()),
            "open": str(setup.open.resolve()) if setup.open else None,
            "trustAsked": setup.trust_asked,
            "viewport": {"width": setup.width, "height": setup.height},
            "key": secrets.token_hex(16),
        }

    def _drive(
        self, home: Path, spec: Mapping[str, Any], environment: Mapping[str, str], limit_s: float
    ) -> str:
        """What the driver said on its way; its report is a file."""
        (home / "spec.json").write_text(json.dumps(spec))
        with subprocess.Popen(
            [self.places.node, _HERE / "vscode_host.mjs", home / "spec.json"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                return process.communicate(timeout=limit_s + _GRACE_S)[0]
            except BaseException:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(_GRACE_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                raise


def _install(extensions: Path, extension: Path) -> None:
    """Install the extension, and one that runs the test: not every version runs tests itself."""
    manifest = json.loads((extension / "package.json").read_text("utf-8"))
    name = f"{manifest['publisher']}.{manifest['name']}-{manifest['version']}"
    (extensions / name).symlink_to(extension.resolve(), target_is_directory=True)
    shutil.copytree(_HERE / "vscode_driver", extensions / "agent-ls.driver-1.0.0")


def _variables(home: Path, setup: VsCodeSetup) -> dict[str, str]:
    folders = {
        f"XDG_{name}_HOME": str(home / name.lower())
        for name in ("CONFIG", "DATA", "STATE", "CACHE")
    }
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("VSCODE_")}
    return {
        **inherited,
        **folders,
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "XDG_RUNTIME_DIR": str(home / "run"),
        "EXTENSIONS_GALLERY": json.dumps(_NO_GALLERY),
        **setup.variables,
    }


def _report(home: Path, said: str, leftovers: list[str]) -> HostReport:
    file = home / "report.json"
    if not file.exists():
        raise AssertionError(f"the driver of VS Code left no report; it said:\n{said}")
    found = json.loads(file.read_text("utf-8"))
    logs = {
        str(log.relative_to(home / "user" / "logs")): log.read_text("utf-8", "replace")
        for log in sorted((home / "user" / "logs").rglob("*.log"))
        if "exthost" in str(log) and log.stat().st_size
    }
    return HostReport(
        version=found["version"],
        steps=tuple(Step(**step) for step in found["steps"]),
        error=found["error"],
        shots=tuple(map(Path, found["shots"])),
        console=tuple(found["console"]),
        outside=tuple(found["outside"]),
        leftovers=tuple(leftovers),
        logs=logs,
    )


def find_vscode(places: Path, name: str = "vscode") -> VsCodePlaces | None:
    """The VS Code that our installer made under this name, with a browser to show it in."""
    root = places / name
    browser = shutil.which("chromium")
    finished = (root / "recipe").is_file()
    if not finished or not browser:
        return None
    entry = root / "node_modules" / "code-server" / "out" / "node" / "entry.js"
    return VsCodePlaces(root / "bin" / "node", entry, Path(browser))
