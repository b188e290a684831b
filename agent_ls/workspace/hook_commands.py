"""Run a hook's command, with JSON on standard input and its answer on standard output.

Uses the command runner, which has no pipes for input and errors. So these go through files in a
temporary folder.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_ls.loop.ports.commands import Bounds, HookRun, Runner
from agent_ls.safety.secrets import mask
from agent_ls.safety.text import cleaned, plain_output

_INPUT = "AGENT_LS_HOOK_INPUT"
_ERRORS = "AGENT_LS_HOOK_ERRORS"
_MAX_ERROR_BYTES = 8_192


@dataclass(frozen=True, slots=True)
class HookCommands:
    """Runs hooks on this machine."""

    runner: Runner
    folder: Path | None = None
    """Where the user keeps programs for hooks."""

    @property
    def shows_texts(self) -> bool:
        """Say whether confined hooks are shown ``texts``."""
        return self.runner.shows_texts

    async def run(
        self,
        command: str,
        stdin: str,
        *,
        cwd: Path,
        timeout_s: float,
        env: Mapping[str, str],
        is_confined: bool,
        texts: Mapping[Path, bytes],
    ) -> HookRun:
        """Run a hook to its end; on time-out or cancellation kill all its processes.

        Hooks are the user's own programs, so the network is theirs in the sandbox too.
        Errors: ``OSError`` and ``ValueError`` if it cannot be started.
        """
        place = await asyncio.to_thread(_place, stdin)
        given, errors = place / "input.json", place / "errors"
        try:
            outcome = await self.runner.run(
                # Grouped, so that the redirections apply to all of it; the newline ends a comment.
                f'{{ {command}\n}} <"${_INPUT}" 2>"${_ERRORS}"',
                cwd=cwd,
                timeout_s=timeout_s,
                env={**env, _INPUT: str(given), _ERRORS: str(errors)},
                bounds=Bounds(
                    "workspace-write" if is_confined else "outside",
                    consent="user",
                    network=("*",),
                    readable=() if self.folder is None else (self.folder,),
                    writable=(place,),
                    texts=texts,
                ),
            )
            said = await asyncio.to_thread(_read, errors)
        finally:
            await asyncio.to_thread(shutil.rmtree, place, True)
        return HookRun(
            exit_code=outcome.exit_code,
            output=outcome.output,
            errors=mask(cleaned(plain_output(said))).strip(),
            has_timed_out=outcome.end == "timed_out",
            duration_ms=outcome.duration_ms,
        )


def _place(stdin: str) -> Path:
    """Make a private temporary folder that contains the input."""
    place = Path(tempfile.mkdtemp(prefix="agent-ls-hook-")).resolve()
    (place / "input.json").write_text(stdin, encoding="utf-8", errors="replace")
    return place


def _read(errors: Path) -> str:
    """Return the beginning of the hook's standard error."""
    try:
        with errors.open("rb") as file:
            return file.read(_MAX_ERROR_BYTES).decode(errors="replace")
    except OSError:
        return ""
