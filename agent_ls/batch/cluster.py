"""Opens a Dask cluster: one of this machine with temporary certificates, or any over TLS.

Dask knows no users: whoever reaches a scheduler runs code on its workers. So plain TCP is refused.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_ls.domain.errors import SettingsError
from agent_ls.extras import install_command

RESOURCE = "agent"
"""Workers offer this, one for each task that they run at once."""
_CONNECT_S = 30
_KEEP_S = 5.0
_GONE = ("failed", "closed")
_CONFIG = {
    # A worker that died is told to nobody else: the store says what may run again.
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.work-stealing": False,
    # A guess at memory would kill runs; limits are those of agent-ls and of the system.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    # It looks at the worker's stack 100 times a second, beside the runs.
    "distributed.worker.profile.enabled": False,
    "distributed.comm.require-encryption": True,
}


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files for mutual TLS; None: as Dask's own configuration says."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


def refuse_plaintext(scheduler: str) -> None:
    """Refuse a scheduler without TLS. Errors: ``SettingsError``."""
    if scheduler and not scheduler.startswith("tls://"):
        raise SettingsError(
            f"The scheduler {scheduler} is refused: Dask knows no users, so only tls:// with "
            "certificates of your own (--tls-ca, --tls-cert, --tls-key) keeps others out."
        )


@asynccontextmanager
async def open_client(scheduler: str, certificates: Certificates, jobs: int) -> AsyncGenerator[Any]:
    """Yield a connected Dask client; without a scheduler, of a cluster of ``jobs`` workers here.

    Errors: ``SettingsError`` if it cannot be reached, is not encrypted, or Dask is missing.
    """
    refuse_plaintext(scheduler)
    distributed = _distributed()
    with _configured():
        if not scheduler:
            async with (
                _local(distributed, jobs) as cluster,
                distributed.Client(cluster, asynchronous=True) as client,
            ):
                yield client
            return
        try:
            security = _security(distributed, certificates)
            client = await distributed.Client(
                scheduler, security=security, asynchronous=True, timeout=_CONNECT_S
            )
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            raise SettingsError(
                f"The scheduler {scheduler} cannot be used: {error}. Give --tls-ca, --tls-cert and "
                "--tls-key, or set them in Dask's configuration."
            ) from None
        try:
            yield client
        finally:
            await client.close()


def _distributed() -> Any:
    """Return Dask's package, whose types are known in part only.

    Errors: ``SettingsError`` if it is not installed.
    """
    try:
        import distributed
    except ImportError:
        raise SettingsError(
            "Batches need packages that are not installed. To install them: "
            f"{install_command('batch')}"
        ) from None
    for name in ("distributed", "distributed.client"):
        # They print traces of what the driver tells in a sentence.
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return distributed


def _configured() -> AbstractContextManager[object]:
    """Return a block in which Dask is configured as batches need it."""
    import dask.config

    config: Any = dask.config
    return config.set(_CONFIG)


def temporary_certificate() -> dict[str, str]:
    """Return ``ca.pem`` and ``key.pem``: a certificate that is its own authority, for a year.

    Errors: ``SettingsError`` if Dask is missing.
    """
    made = _distributed().Security.temporary()
    return {"ca.pem": str(made.tls_ca_file), "key.pem": str(made.tls_client_key)}


def _security(distributed: Any, certificates: Certificates) -> Any:
    given = {
        "tls_ca_file": certificates.ca,
        "tls_client_cert": certificates.certificate,
        "tls_client_key": certificates.key,
    }
    files = {name: str(path) for name, path in given.items() if path is not None}
    for path in files.values():
        if not Path(path).is_file():
            raise SettingsError(f"The file {path} for TLS does not exist.")
    return distributed.Security(require_encryption=True, **files)


@asynccontextmanager
async def _local(distributed: Any, jobs: int) -> AsyncGenerator[Any]:
    starting = distributed.LocalCluster(
        n_workers=jobs,
        threads_per_worker=1,
        security=distributed.Security.temporary(),
        protocol="tls://",
        host="127.0.0.1",
        dashboard_address=None,
        # Dask has pages of its own all the same. A free port, so that a second batch is no news.
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
        memory_limit=0,
        resources={RESOURCE: 1},
        asynchronous=True,
        silence_logs=50,
    )
    try:
        cluster = await starting
    except RuntimeError as error:
        await starting.close()
        raise SettingsError(
            f"The {jobs} workers could not be started here: {error} "
            "Was one killed, such as for its memory? Try again, or with fewer --jobs."
        ) from error
    keeping = asyncio.create_task(_keep_workers(cluster, jobs))
    try:
        yield cluster
    finally:
        keeping.cancel()
        await cluster.close()


async def _keep_workers(cluster: Any, jobs: int) -> None:
    """Start workers that Dask gave up, as it does when one dies while it starts."""
    while True:
        await asyncio.sleep(_KEEP_S)
        # One that never came up stays in Dask's list, so that no other takes its place.
        for name, worker in list(cluster.workers.items()):
            if worker.status.name in _GONE:
                del cluster.workers[name]
        cluster.scale(jobs)
