"""What a user is told to install or to switch, to get a sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.safety.sandbox.advice import advice, banner
from agent_ls.safety.sandbox.landlock import Landlock
from agent_ls.safety.sandbox.probe import ProbeResult


@pytest.mark.parametrize(
    "switches, is_installed, said",
    [
        pytest.param({}, True, "", id="nothing-in-the-way"),
        pytest.param({}, False, "apt install bubblewrap", id="not-installed"),
        pytest.param(
            {"kernel/unprivileged_userns_clone": "0\n"},
            True,
            "kernel.unprivileged_userns_clone is 0",
            id="namespaces-are-off",
        ),
        pytest.param(
            {"kernel/apparmor_restrict_unprivileged_userns": "1\n"},
            True,
            "AppArmor refuses namespaces to programs without a profile, as on Ubuntu 24.04",
            id="apparmor",
        ),
        pytest.param(
            {
                "kernel/unprivileged_userns_clone": "1\n",
                "kernel/apparmor_restrict_unprivileged_userns": "0\n",
                "user/max_user_namespaces": "96365\n",
            },
            True,
            "",
            id="namespaces-are-on",
        ),
        pytest.param(
            {"user/max_user_namespaces": "0\n"},
            True,
            "The kernel gives users no namespaces (user.max_user_namespaces is 0)",
            id="none-are-left",
        ),
    ],
)
def test_advice(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    switches: dict[str, str],
    is_installed: bool,
    said: str,
) -> None:
    for name, value in switches.items():
        place = tmp_path / "sys" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(value)
    programs = tmp_path / "bin"
    programs.mkdir()
    if is_installed:
        (programs / "bwrap").write_text("#!/bin/sh\n")
        (programs / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    told = "; ".join(advice(tmp_path / "sys"))
    assert said in told
    assert bool(told) == bool(said)


def test_that_there_is_none_is_told_once(tmp_path: Path) -> None:
    told = tmp_path / "state" / "told"
    none, other = (
        ProbeResult(None, "bubblewrap: no permission"),
        ProbeResult(None, "bubblewrap: gone"),
    )
    said = banner(none, told)
    assert said.startswith("agent-ls found no working sandbox, so it asks before more commands (")
    assert "bubblewrap: no permission" in said
    assert 'sandbox.use = "off"' in said
    assert banner(none, told) == ""
    assert "gone" in banner(other, told)


def test_nothing_is_told_of_one_that_works_or_is_not_wanted(tmp_path: Path) -> None:
    told = tmp_path / "told"
    assert banner(ProbeResult(None), told) == ""
    assert (
        banner(ProbeResult(Landlock(has_namespaces=True), passed_over="bubblewrap: x"), told) == ""
    )
    assert not told.exists()
