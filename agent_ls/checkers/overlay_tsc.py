"""TypeScript 5 and 6, through their own interface, by ``overlay_tsc.mjs`` in node."""

from __future__ import annotations

import json
from pathlib import Path

from agent_ls.checkers.tsc_job import TscAnswer, TscJob, failure

_SCRIPT = Path(__file__).with_name("overlay_tsc.mjs")


async def check_overlaid(job: TscJob) -> TscAnswer:
    """Return what TypeScript says of the projects that the files belong to.

    Errors: ``TscFailedError``.
    """
    request = {
        "typescript": str(job.typescript.package),
        "root": str(job.root.path),
        "files": [str(file) for file in job.files],
        "texts": {str(path): text for path, text in job.texts.items()},
    }
    # It reads no file by a relative name; the root of all files has nothing that node would run.
    cwd = Path(job.root.path.anchor)
    outcome = await job.run([_SCRIPT], cwd=cwd, stdin=json.dumps(request))
    try:
        answer = json.loads(outcome.stdout)
        return TscAnswer(tuple(answer["findings"]), frozenset(answer["unconfigured"]))
    except (ValueError, LookupError, TypeError):
        raise failure(outcome) from None
