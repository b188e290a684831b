"""The deploy files: read, and held against what Dask's own commands take."""

from __future__ import annotations

import runpy
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from distributed.cli import dask_scheduler, dask_worker

from agent_ls.batch.cluster import RESOURCE

_COMMANDS: dict[str, click.Command] = {
    "scheduler": dask_scheduler.main,
    "worker": dask_worker.main,
}


def _options(words: Sequence[str]) -> dict[str, Any]:
    """Return what Dask's own command makes of a command line; unknown options raise."""
    dask, name, *rest = words
    assert dask == "dask"
    # A path of the image need not exist here.
    for parameter in _COMMANDS[name].params:
        if isinstance(parameter.type, click.Path):
            parameter.type = click.Path()
    return _COMMANDS[name].make_context(name, list(rest)).params


def _check(words: Sequence[str]) -> None:
    found = _options(words)
    assert found["tls_ca_file"] == "/tls/ca.pem"
    # Without it Dask's other pages, such as /info, are open on all addresses.
    assert (found["dashboard"], found["dashboard_address"]) == (False, "127.0.0.1:0")
    assert (found["tls_cert"], found["tls_key"]) == ("/tls/ca.pem", "/tls/key.pem")
    if words[1] == "scheduler":
        assert str(found["host"]).startswith("tls://")
        return
    assert str(found["scheduler"]).startswith("tls://")
    assert found["resources"] == f"{RESOURCE}=1"
    assert str(found["memory_limit"]) == "0"


@pytest.fixture
def deploy(repository: Path) -> Path:
    return repository / "deploy"


def test_the_compose_file_starts_what_a_batch_needs(deploy: Path) -> None:
    services = yaml.safe_load((deploy / "compose.yaml").read_text())["services"]
    assert set(services) == {"postgres", "scheduler", "worker"}
    _check(services["scheduler"]["command"])
    shell, option, script = services["worker"]["command"]
    assert (shell, option) == ("sh", "-c")
    # Compose takes $$ for one sign.
    words = shlex.split(script.replace("$$", "$"))
    assert words[:2] == ["export", words[1]]
    assert words[1].startswith("AGENT_LS_STORE_URL=postgresql://")
    assert words[2] == "exec"
    _check(words[3:])
    for one in services.values():
        # Nothing is open to other machines.
        assert all(port.startswith("127.0.0.1:") for port in one.get("ports", ()))


def test_the_manifests_are_for_the_dask_operator(deploy: Path) -> None:
    cluster = yaml.safe_load((deploy / "kubernetes/cluster.yaml").read_text())
    assert (cluster["apiVersion"], cluster["kind"]) == ("kubernetes.dask.org/v1", "DaskCluster")
    name = cluster["metadata"]["name"]
    for role in ("scheduler", "worker"):
        (container,) = cluster["spec"][role]["spec"]["containers"]
        _check(container["args"])
        assert container["volumeMounts"][0]["mountPath"] == "/tls"
    (worker,) = cluster["spec"]["worker"]["spec"]["containers"]
    # The operator names the service after the cluster.
    assert f"tls://{name}-scheduler:8786" in worker["args"]
    assert worker["envFrom"] == [{"secretRef": {"name": "agent-ls-worker"}}]
    selector = cluster["spec"]["scheduler"]["service"]["selector"]
    policy = yaml.safe_load((deploy / "kubernetes/network.yaml").read_text())
    assert policy["kind"] == "NetworkPolicy"
    assert policy["spec"]["podSelector"]["matchLabels"] == selector


def test_no_deploy_file_holds_a_secret_and_each_is_explained(
    deploy: Path, repository: Path
) -> None:
    page = (repository / "docs/many-machines.md").read_text()
    for path in deploy.rglob("*"):
        if path.is_file() and path.suffix in (".yaml", ".py"):
            text = path.read_text()
            assert "docs/many-machines.md" in text or path.name == "network.yaml", path
            assert "BEGIN " not in text
    for name in ("deploy/compose.yaml", "deploy/kubernetes/", "deploy/slurm.py"):
        assert name in page


def test_a_key_and_a_password_get_into_no_image_and_no_commit(
    deploy: Path, repository: Path
) -> None:
    services = yaml.safe_load((deploy / "compose.yaml").read_text())
    secret = services["secrets"]["postgres-password"]["file"].removeprefix("./")
    folder = services["services"]["worker"]["volumes"][0].partition(":")[0].removeprefix("./")
    for name in (".dockerignore", ".gitignore"):
        ignored = {line.strip("/") for line in (repository / name).read_text().splitlines()}
        assert {f"deploy/{secret}", f"deploy/{folder}"} <= ignored, name
    before, _, _ = (deploy / "compose.yaml").read_text().partition("openssl")
    assert "umask 077" in before


def test_the_image_has_what_workers_need(deploy: Path) -> None:
    text = (deploy / "Dockerfile").read_text()
    assert "[batch,postgres]" in text
    assert " git " in text
    assert "USER agent" in text


def test_slurm_workers_take_tasks_over_tls_alone(deploy: Path) -> None:
    space = runpy.run_path(str(deploy / "slurm.py"))

    class Words:
        tls, partition, memory, walltime, port = "/tls", "short", "4GB", "01:00:00", 8786

    found = space["options"](Words)
    assert found["protocol"] == "tls://"
    assert found["security"].require_encryption
    assert f"{RESOURCE}=1" in found["worker_extra_args"]
    assert found["worker_extra_args"][-2:] == ["--dashboard-address", "127.0.0.1:0"]
    assert found["scheduler_options"]["dashboard_address"] == "127.0.0.1:0"
