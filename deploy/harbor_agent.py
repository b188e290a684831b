"""agent-ls as an agent of Harbor, the harness of Terminal-Bench. Needs Python 3.12 for Harbor.

    make dist             # in a clone; a wheel of agent-ls for the containers
    pip install harbor
    export ANTHROPIC_API_KEY=…
    PYTHONPATH=deploy harbor run --agent harbor_agent:AgentLs \\
        --agent-kwarg wheel=dist/agent_ls-VERSION-py3-none-any.whl \\
        --dataset terminal-bench@2.0 --model anthropic/NAME --n-concurrent 4

`--agent-kwarg settings='policies.step_limit.max_steps=80 …'` sets settings. See
docs/many-machines.md.
"""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from harbor.agents.installed.base import BaseInstalledAgent, with_prompt_template
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.models.trial.paths import EnvironmentPaths

_PYTHON = "3.12"
_RESULT, _LOG = "agent-ls.json", "agent-ls.txt"
_NO_LIMIT_S = 86_400
"""The task's own limit, which Harbor keeps, is shorter."""
_FINE = (0, 1, 2, 5)
"""Exit codes of a turn that ran; the task's tests judge what it did."""
_PATH = 'export PATH="$HOME/.local/bin:$PATH"'


class AgentLs(BaseInstalledAgent):
    """Installs agent-ls in a task's container and runs `agent-ls run` there."""

    logs_place: ClassVar[PurePosixPath] = EnvironmentPaths.agent_dir

    def __init__(
        self, *args: Any, wheel: str | None = None, settings: str = "", **kwargs: Any
    ) -> None:
        """``settings``: words of KEY=VALUE."""
        super().__init__(*args, **kwargs)
        self._wheel = Path(wheel).expanduser() if wheel else None
        self._settings = shlex.split(settings)

    @staticmethod
    def name() -> str:
        """Return the name in Harbor's results."""
        return "agent-ls"

    def get_version_command(self) -> str:
        """Return what prints the version in the container."""
        return f"{_PATH}; agent-ls --version"

    def parse_version(self, stdout: str) -> str:
        """Return the version alone."""
        return stdout.strip().removeprefix("agent-ls ")

    async def install(self, environment: BaseEnvironment) -> None:
        """Install agent-ls with a Python of its own, whatever the task's image has."""
        if self._wheel is None or not self._wheel.is_file():
            raise ValueError(
                f"no wheel of agent-ls at {self._wheel or 'any place'}: run `make dist` in a clone "
                "and give --agent-kwarg wheel=dist/agent_ls-VERSION-py3-none-any.whl"
            )
        await self.ensure_system_dependencies(
            environment, ("curl", "bash", "git", "ca_certificates")
        )
        what = f"/installed-agent/{self._wheel.name}"
        await environment.upload_file(self._wheel, what)
        await self.exec_as_agent(
            environment,
            command=f"set -e; {_PATH}; "
            "command -v uv >/dev/null || curl -LsSf https://astral.sh/uv/install.sh | sh; "
            f"uv tool install --python {_PYTHON} {shlex.quote(what)}",
        )

    @with_prompt_template
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        """Carry out one task in the container's working folder."""
        if not self.model_name:
            raise ValueError("agent-ls needs --model PROVIDER/NAME")
        words = ["agent-ls", "run", "-", "--json", "--mode", "auto", "--model", self.model_name]
        # The container is the sandbox, and tasks ask for work outside of the folder.
        words += ["--set", "sandbox.use=off", "--timeout", str(_NO_LIMIT_S)]
        words += [word for one in self._settings for word in ("--set", one)]
        result, log = (shlex.quote(str(self.logs_place / name)) for name in (_RESULT, _LOG))
        fine = "|".join(map(str, _FINE))
        await self.exec_as_agent(
            environment,
            command=f"{_PATH}; printf %s {shlex.quote(instruction)} | {shlex.join(words)} "
            f">{result} 2>{log} || {{ code=$?; cat {log} >&2; "
            f"case $code in {fine}) ;; *) exit $code;; esac; }}",
            env=self._keys(),
        )

    def populate_context_post_run(self, context: AgentContext) -> None:
        """Report tokens and cost from the run's result."""
        try:
            found = json.loads((self.logs_dir / _RESULT).read_text("utf-8"))
        except (OSError, ValueError):
            self.logger.debug("agent-ls left no result; it was stopped")
            return
        usage = found["usage"]
        context.n_input_tokens = int(usage["input_tokens"])
        context.n_cache_tokens = int(usage["cache_read_tokens"])
        context.n_output_tokens = int(usage["output_tokens"])
        context.cost_usd = found["cost_usd"]
        told = ("session_id", "stop_reason", "steps", "tool_calls", "failure_reason")
        context.metadata = {name: found[name] for name in told}

    def _keys(self) -> dict[str, str]:
        """Return the variables that reach the model: agent-ls's own and the provider's key."""
        provider = (self.model_name or "").partition("/")[0].upper().replace("-", "_")
        names = {name for name in os.environ if name.startswith("AGENT_LS_")}
        # Not a database with all sessions, and its password.
        names = {name for name in names if not name.startswith("AGENT_LS_STORE")}
        names |= {"AGENT_LS_API_KEY", "AGENT_LS_API_BASE"}
        names |= {f"{provider}_API_KEY", f"{provider}_API_BASE"}
        return {name: value for name in names if (value := self._get_env(name))}
