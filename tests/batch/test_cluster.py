"""The cluster of this machine: nobody else on it may hand tasks to its workers."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

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
