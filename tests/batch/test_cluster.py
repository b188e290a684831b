"""The cluster of this machine: nobody else on it may hand tasks to its workers."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import dask.config
import pytest
from distributed.core import Status

from agent_ls.batch.cluster import RESOURCE, Certificates, open_client

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]


async def test_workers_here_are_reached_by_tls_on_this_machine_alone() -> None:
    async with open_client("", Certificates(), 2) as client:
        found = await client.scheduler.identity()
        security = client.security
    workers = found["workers"]
    for address in (found["address"], *workers):
        parts = urlsplit(address)
        assert (parts.scheme, parts.hostname) == ("tls", "127.0.0.1")
    assert [one["resources"] for one in workers.values()] == [{RESOURCE: 1}] * 2
    assert security.require_encryption


async def test_a_worker_that_never_came_up_is_replaced() -> None:
    never = {"distributed.deploy.lost-worker-timeout": "1h"}
    with dask.config.set(never):
        async with open_client("", Certificates(), 1) as client:
            (gone,) = client.cluster.workers.values()
            await gone.close()
            # As Dask leaves it: in the list of those that it need not start.
            client.cluster.workers[0] = gone
            gone.status = Status.failed
            while not (found := (await client.scheduler.identity())["workers"]):  # noqa: ASYNC110 - asked over the network
                await asyncio.sleep(0.2)
    assert [one["resources"] for one in found.values()] == [{RESOURCE: 1}]
