"""The templates for GitHub and GitLab: whom they give a key, and that their steps do the work."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.scripted import scripted

CI = Path(__file__).resolve().parents[2] / "deploy/ci"
GITHUB: dict[Any, Any] = yaml.safe_load((CI / "github.yml").read_text())
GITLAB: dict[str, Any] = yaml.safe_load((CI / "gitlab.yml").read_text())
# YAML 1.1 reads the word on as true.
EVENTS = set(GITHUB[True])
SAME_REPOSITORY = "github.event.pull_request.head.repo.full_name == github.repository"
SAME_PROJECT = "$CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_PROJECT_ID"


def steps() -> Iterator[tuple[str, dict[str, Any]]]:
    for job in GITHUB["jobs"].values():
        for step in job["steps"]:
            yield job["if"], step


def test_no_event_that_strangers_can_cause_has_secrets() -> None:
    assert {"workflow_dispatch", "pull_request"} == EVENTS
    for condition, step in steps():
        if "secrets." in str(step):
            by_hand = condition == "github.event_name == 'workflow_dispatch'"
            own = condition.endswith(f" && {SAME_REPOSITORY}") and "||" not in condition
            assert by_hand or own
    assert "secrets" not in str({key: value for key, value in GITHUB.items() if key != "jobs"})


def test_a_key_is_given_to_the_one_step_that_asks_the_model() -> None:
    for _condition, step in steps():
        is_asking = "agent-ls run" in step.get("run", "")
        assert ("secrets." in str(step.get("env", {}))) is is_asking
        assert "secrets." not in str({key: one for key, one in step.items() if key != "env"})


def test_nothing_that_others_write_becomes_part_of_a_shell_script() -> None:
    assert [step["run"] for _, step in steps() if "${{" in step.get("run", "")] == []


def test_the_workflow_may_only_read_and_its_actions_are_pinned() -> None:
    assert GITHUB["permissions"] == {"contents": "read"}
    assert not [job for job in GITHUB["jobs"].values() if "permissions" in job]
    used = [step["uses"] for _, step in steps() if "uses" in step]
    assert all(re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", one) for one in used)
    checkouts = [step for _, step in steps() if "checkout" in step.get("uses", "")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_gitlab_runs_by_hand_or_for_branches_of_the_project_itself() -> None:
    for job in GITLAB.values():
        (rule,) = job["rules"]
        by_hand = rule["if"] == '$CI_PIPELINE_SOURCE == "web" && $PROMPT'
        own = rule["if"].endswith(f"&& {SAME_PROJECT}") and "||" not in rule["if"]
        assert by_hand or own


def scripts(of: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each job's scripts but the installation, in order."""
    if of == "github":
        for name, job in GITHUB["jobs"].items():
            named = (step for step in job["steps"] if step.get("name") != "Install")
            yield name, [step["run"] for step in named if "run" in step]
    else:
        for name, job in GITLAB.items():
            yield name.removeprefix("agent-ls "), [*job["script"], *job.get("after_script", ())]


@pytest.mark.heavy
@pytest.mark.parametrize("of", ["github", "gitlab"])
@pytest.mark.parametrize("job", ["task", "review"])
async def test_the_steps_do_the_work_on_a_clean_clone(
    tmp_path: Path, warm_host: Mapping[str, str], of: str, job: str
) -> None:
    clone = tmp_path / "clone"
    env = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "PROMPT": 'write it; "$(touch pwned)" `touch pwned`',
        "AGENT_LS_MODEL": "openai/scripted",
        "AGENT_LS_SANDBOX": "off",
        **warm_host,
    }

    def sh(script: str) -> str:
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script],
            cwd=clone if clone.exists() else tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    as_user = "git -c user.name=a -c user.email=a@b.c"
    sh(f"git init -q clone && cd clone && echo 1 > a && git add a && {as_user} commit -qm 1")
    env["BASE"] = env["CI_MERGE_REQUEST_DIFF_BASE_SHA"] = sh("git rev-parse HEAD")
    sh(f"echo 2 > a && {as_user} commit -qam 2")
    call = '[[answer.call]]\ntool = "write_file"\narguments = { path = "b", content = "3\\n" }\n'
    scenario = f'{"[[answer]]" + chr(10) + call if job == "task" else ""}[[answer]]\ntext = "Done."'
    async with scripted(scenario) as model:
        env["AGENT_LS_API_BASE"] = model.base_url
        for one in dict(scripts(of))[job]:
            await asyncio.to_thread(sh, one)
        asked = str(model.requests[0])
    found = {path.name: path.read_text() for path in tmp_path.rglob("*.md")}
    assert "Done." in "".join(found.values())
    assert not (clone / "pwned").exists()
    if job == "task":
        (patch,) = tmp_path.rglob("changes.patch")
        assert "+3" in patch.read_text()
    else:
        assert "+2" in asked, "the change is what is reviewed"
