"""Start a Dask scheduler here and workers as Slurm jobs, for `agent-ls batch --scheduler`.

Needs `pip install dask-jobqueue '.[batch,postgres]'`, run in a clone, on a file system that all
nodes share. See docs/many-machines.md. Ends with Ctrl-C, and its jobs with it.

    agent-ls batch certificates ~/agent-ls-tls
    umask 077; cat >~/agent-ls-tls/environment    # what each job begins with:
    export AGENT_LS_STORE_URL='postgresql://USER:PASSWORD@HOST/DATABASE?sslmode=verify-full'
    export AGENT_LS_MODEL=PROVIDER/NAME AGENT_LS_API_KEY=…
    ^D
    python deploy/slurm.py --workers 16 --partition short --tls ~/agent-ls-tls
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import Any

_HERE = ("--dashboard-address", "127.0.0.1:0")
"""Dask's server has pages beside the dashboard, which are not for the network."""


def options(words: argparse.Namespace) -> dict[str, Any]:
    """Return how the cluster is started."""
    from distributed import Security

    tls = Path(words.tls).expanduser().resolve()
    files = {
        f"tls_{role}_{kind}": str(tls / name)
        for role in ("client", "scheduler", "worker")
        for kind, name in (("cert", "ca.pem"), ("key", "key.pem"))
    }
    return {
        "queue": words.partition,
        "cores": 1,
        "processes": 1,
        "memory": words.memory,
        "walltime": words.walltime,
        "protocol": "tls://",
        "security": Security(tls_ca_file=str(tls / "ca.pem"), require_encryption=True, **files),
        # The nodes read the same files; without this, secrets would be copied into job scripts.
        "shared_temp_directory": str(tls),
        "worker_extra_args": ["--resources", "agent=1", "--no-dashboard", *_HERE],
        "job_script_prologue": ["umask 077", f". {tls / 'environment'}"],
        "scheduler_options": {
            "port": words.port,
            "dashboard": False,
            "dashboard_address": _HERE[1],
        },
    }


def main() -> None:
    """Start the cluster, print its address, and wait for Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--partition", required=True)
    parser.add_argument("--memory", default="4GB", help="of each job")
    parser.add_argument("--walltime", default="04:00:00")
    parser.add_argument("--port", type=int, default=8786)
    parser.add_argument(
        "--tls",
        required=True,
        help="a folder with ca.pem, key.pem, and a file `environment` that exports "
        "AGENT_LS_STORE_URL, AGENT_LS_MODEL and its key",
    )
    words = parser.parse_args()
    from dask_jobqueue import SLURMCluster

    with SLURMCluster(**options(words)) as cluster:
        cluster.scale(jobs=words.workers)
        sys.stdout.write(f"{cluster.scheduler_address}\n")
        sys.stdout.flush()
        signal.pause()


if __name__ == "__main__":
    main()
