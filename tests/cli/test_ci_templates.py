"""The templates for GitHub and GitLab: whom they give a key, and that their steps do the work."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
        is_asking = bool(re.search(r"agent-ls (run|review)", step.get("run", "")))
        assert ("secrets." in str(step.get("env", {}))) is is_asking
        assert "secrets." not in str({key: one for key, one in step.items() if key != "env"})


def test_what_the_agent_says_is_no_workflow_command() -> None:
    said = [step["run"] for _, step in steps() if "agent-ls " in step.get("run", "")]
    assert len(said) == 2
    for script in said:
        before, _ = script.split("agent-ls ", 1)
        assert 'echo "::stop-commands::$(openssl rand -hex 16)" >&2\n' in before


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
    for name, job in GITLAB.items():
        if name == "agent-ls baseline":
            assert job["script"] == ["echo '[]' > gl-code-quality-report.json"]
            continue
        (rule,) = job["rules"]
        by_hand = rule["if"] == '$CI_PIPELINE_SOURCE == "web" && $PROMPT'
        own = rule["if"].endswith(f"&& {SAME_PROJECT}") and "||" not in rule["if"]
        assert by_hand or own


def scripts(of: str, job: str) -> Iterator[tuple[str, str]]:
    """Yield the shell and the text of a job's scripts but the installation, in order."""
    if of == "gitlab":
        found = GITLAB[f"agent-ls {job}"]
        yield from (("bash", script) for script in (*found["script"], *found["after_script"]))
        return
    for step in GITHUB["jobs"][job]["steps"]:
        if "run" in step and step["name"] != "Install":
            yield step.get("shell", "bash"), step["run"]


@dataclass(frozen=True, slots=True)
class Runner:
    """Carries out scripts as a runner does, in a clean clone of two commits."""

    folder: Path
    env: dict[str, str]

    @property
    def clone(self) -> Path:
        return self.folder / "clone"

    def sh(self, script: str, shell: str = "bash") -> subprocess.CompletedProcess[str]:
        file = self.folder / "script"
        file.write_text(script)
        options = {"bash": ["-eo", "pipefail"], "python": []}[shell]
        return subprocess.run(
            [shell, *options, str(file)],
            cwd=self.clone,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )

    def done(self, script: str, shell: str = "bash") -> str:
        """Return what a script prints; it must not fail."""
        done = self.sh(script, shell)
        assert done.returncode == 0, done.stderr
        return done.stdout

    async def job(self, of: str, name: str, scenario: str) -> tuple[str, list[str]]:
        """Return what the steps of a job print, and what the model was asked."""
        async with scripted(scenario) as model:
            self.env["AGENT_LS_API_BASE"] = model.base_url
            said = [
                await asyncio.to_thread(self.done, script, shell)
                for shell, script in scripts(of, name)
            ]
            return "".join(said), [str(request) for request in model.requests]


@pytest.fixture
def runner(tmp_path: Path, warm_host: Mapping[str, str]) -> Runner:
    env = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "PROMPT": 'write it; "$(touch pwned)" `touch pwned`',
        "AGENT_LS_MODEL": "openai/scripted",
        "AGENT_LS_SANDBOX": "off",
        # Without a sandbox git asks.
        "AGENT_LS_RULES__ALLOW": "run_command: git diff *",
        **warm_host,
    }
    made = Runner(tmp_path, env)
    made.clone.mkdir()
    as_user = "git -c user.name=a -c user.email=a@b.c"
    made.done(f"git init -q && echo 1 > a && git add a && {as_user} commit -qm 1")
    base = made.done("git rev-parse HEAD").strip()
    env["BASE"] = env["CI_MERGE_REQUEST_DIFF_BASE_SHA"] = base
    made.done(f"echo 2 > a && {as_user} commit -qam 2")
    return made


@pytest.mark.heavy
@pytest.mark.parametrize("of", ["github", "gitlab"])
async def test_a_task_gives_its_answer_and_a_patch(runner: Runner, of: str) -> None:
    call = '[[answer.call]]\ntool = "write_file"\narguments = { path = "b", content = "3\\n" }\n'
    await runner.job(of, "task", f'[[answer]]\n{call}[[answer]]\ntext = "Done."')
    assert "Done." in "".join(path.read_text() for path in runner.folder.rglob("*.md"))
    (patch,) = runner.folder.rglob("changes.patch")
    assert "+3" in patch.read_text()
    assert not (runner.clone / "pwned").exists()


def review(base: str, *findings: Mapping[str, object]) -> str:
    """Return the scenario of a review that reads the change and finds this."""
    calls = {
        "run_command": {"command": f"git diff --merge-base {base}"},
        "final_output": {"output": {"summary": "Looked.", "findings": findings}},
    }
    return "".join(
        f'[[answer]]\n[[answer.call]]\ntool = "{tool}"\n'
        f"arguments_text = {json.dumps(json.dumps(arguments))}\n"
        for tool, arguments in calls.items()
    )


FORGED = "\n::error file=b,line=1::x\r\n::stop-commands::y\r ##[add-mask]z ]%0A::warning::100%"
"""What GitHub's runner would obey: ``::`` where a line begins, ``##[`` anywhere in a line."""
PLAIN = {"path": "a", "line": 1, "severity": "information", "title": "Not 1"}
HOSTILE = {
    "path": f"a,line=7::b{FORGED}",
    "line": 2,
    "end_line": 3,
    "severity": "error",
    "title": f"T{FORGED}",
    "detail": f"D{FORGED}",
}
ESCAPES = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}


def obeyed(log: str) -> list[tuple[str, dict[str, str], str]]:
    """Return the commands in a log as GitHub's runner reads them: name, properties, data."""
    found: list[tuple[str, dict[str, str], str]] = []
    for line in re.split(r"\r\n|\r|\n", log):
        if match := re.match(r"\s*::([\w-]+) ?(.*?)::(.*)", line, re.DOTALL):
            given = dict(part.split("=", 1) for part in match[2].split(",") if part)
            properties = {name: unescaped(value) for name, value in given.items()}
            found.append((match[1], properties, unescaped(match[3])))
        elif match := re.search(r"##\[([\w-]+)", line):
            found.append((match[1], {}, line))
    return found


def unescaped(text: str) -> str:
    return re.sub("|".join(ESCAPES), lambda match: ESCAPES[match[0]], text)


@pytest.mark.heavy
async def test_each_finding_is_one_annotation_whatever_its_text(runner: Runner) -> None:
    scenario = review(runner.env["BASE"], HOSTILE, PLAIN)
    log, asked = await runner.job("github", "review", scenario)
    assert "+2" in asked[-1], "the change is what is reviewed"
    hostile, plain = obeyed(log)
    kind, properties, detail = hostile
    assert (kind, properties["line"], properties["endLine"]) == ("error", "2", "3")
    assert properties["file"] == HOSTILE["path"]
    assert properties["title"] == HOSTILE["title"]
    assert detail == HOSTILE["detail"]
    place = {"file": "a", "line": "1", "endLine": "1", "title": "Not 1"}
    assert plain == ("notice", place, "Not 1")
    assert "Looked." in (runner.folder / "summary.md").read_text()


@pytest.mark.heavy
async def test_gitlab_gets_findings_as_a_report_of_code_quality(runner: Runner) -> None:
    log, asked = await runner.job("gitlab", "review", review(runner.env["BASE"], HOSTILE, PLAIN))
    assert "+2" in asked[-1], "the change is what is reviewed"
    hostile, plain = gitlab_report(runner)
    assert hostile["severity"] == "major"
    assert hostile["location"] == {"path": HOSTILE["path"], "lines": {"begin": 2}}
    assert hostile["fingerprint"] != plain.pop("fingerprint")
    assert plain == {
        "description": "Not 1",
        "check_name": "agent-ls review",
        "severity": "info",
        "location": {"path": "a", "lines": {"begin": 1}},
    }
    assert "Looked." in log


def gitlab_report(runner: Runner) -> list[dict[str, Any]]:
    named = GITLAB["agent-ls review"]["artifacts"]["reports"]["codequality"]
    return json.loads((runner.clone / named).read_text())


@pytest.mark.heavy
@pytest.mark.parametrize("of", ["github", "gitlab"])
async def test_a_review_that_cannot_begin_fails_its_job_and_shows_nothing(
    runner: Runner, of: str
) -> None:
    runner.env["BASE"] = runner.env["CI_MERGE_REQUEST_DIFF_BASE_SHA"] = "no-such"
    codes: list[int] = []
    for shell, script in scripts(of, "review"):
        done = await asyncio.to_thread(runner.sh, script, shell)
        codes.append(done.returncode)
        assert obeyed(done.stdout) == []
    assert [code for code in codes if code] == [3]
    assert of == "github" or gitlab_report(runner) == []
