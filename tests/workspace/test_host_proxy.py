"""A confined command reaches the granted hosts through the proxy, and nothing else."""

from __future__ import annotations

import asyncio
import http.server
import os
import shutil
import socket
import ssl
import subprocess
import threading
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

import pytest

from agent_ls.loop.ports.commands import Bounds
from agent_ls.safety.sandbox.builder import open_builder
from agent_ls.safety.sandbox.probe import SandboxOptions, probe
from agent_ls.workspace.host_proxy import HostProxy
from agent_ls.workspace.runner import ShellRunner

_BWRAP = shutil.which("bwrap")

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(
        _BWRAP is None
        or subprocess.run(
            [_BWRAP, "--unshare-net", "--dev-bind", "/", "/", "true"], check=False
        ).returncode
        != 0,
        reason="bubblewrap is needed for a network of its own",
    ),
]


class _Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path, certificate: Path | None = None) -> Iterator[int]:
    """Serve a folder on all addresses of this machine; yield the port."""
    handler = partial(_Files, directory=str(folder))
    with http.server.ThreadingHTTPServer(("", 0), handler) as server:
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server.server_port
        server.shutdown()


async def run(
    command: str,
    *hosts: str,
    names: Mapping[str, Sequence[str]] | None = None,
    cwd: Path | None = None,
) -> tuple[str, tuple[str, ...]]:
    """Run a command in a network of its own; return its output and what the proxy says.

    ``names`` stands for the name servers, which tests cannot ask.
    """
    looked_up: list[str] = []

    async def resolve(host: str) -> Sequence[str]:
        looked_up.append(host)
        if names is None or host not in names:
            raise OSError("no such name")
        return names[host]

    proxy = HostProxy(hosts, resolve) if names is not None else HostProxy(hosts)
    proxy.start()
    shell = ("/bin/bash", "-c", command)
    process = await asyncio.create_subprocess_exec(
        *(str(_BWRAP), "--unshare-net", "--dev-bind", "/", "/", "--"),
        *proxy.command(shell, proxy.descriptor),
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **proxy.env},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        pass_fds=(proxy.descriptor,),
        cwd=cwd,
    )
    os.close(proxy.descriptor)
    try:
        async with asyncio.timeout(60):
            output, _ = await process.communicate()
    finally:
        proxy.close()
    if "evil.test" in looked_up:
        raise AssertionError("a name that is not granted was looked up")
    return output.decode(errors="replace").strip(), proxy.notes


@pytest.fixture
def page(tmp_path: Path) -> Iterator[int]:
    """Return the port of a server with one page."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "page").write_text("the page", encoding="ascii")
    with served(folder) as port:
        yield port


def _address() -> str:
    """Return an address of this machine that is not loopback, or skip."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("198.51.100.1", 9))
        except OSError:
            pytest.skip("this machine has no address but loopback")
        return asking.getsockname()[0]


@pytest.mark.parametrize(
    "request_, grant",
    [
        pytest.param("http://localhost:{port}/page", "localhost:{port}", id="plain"),
        pytest.param("-p http://localhost:{port}/page", "localhost:{port}", id="tunnel"),
        pytest.param("http://127.0.0.1:{port}/page", "127.0.0.1:{port}", id="address"),
    ],
)
async def test_granted_hosts_are_reached(page: int, request_: str, grant: str) -> None:
    output, notes = await run(f"curl -sS {request_.format(port=page)}", grant.format(port=page))
    assert (output, notes) == ("the page", ())


async def test_a_name_with_its_port_reaches_a_private_network(page: int) -> None:
    names = {"in.test": [_address()]}
    output, notes = await run(
        f"curl -sS http://in.test:{page}/page", f"in.test:{page}", names=names
    )
    assert (output, notes) == ("the page", ())


@pytest.mark.parametrize(
    "url, grants, note",
    [
        pytest.param("https://evil.test/", (), "evil.test (not granted)", id="nothing-granted"),
        pytest.param("http://evil.test/", ("a.test",), "evil.test (not granted)", id="another"),
        pytest.param("https://evil.test/", ("a.test",), "evil.test (not granted)", id="tunnel"),
        pytest.param(
            "https://evil.test/", ("*.evil.test",), "evil.test (not granted)", id="wildcard-above"
        ),
        pytest.param(
            "http://a.test:{port}/page", ("a.test",), "a.test:{port} (not granted)", id="port"
        ),
        pytest.param("http://192.0.2.1/", ("a.test",), "192.0.2.1 (not granted)", id="address"),
        pytest.param(
            "--noproxy '' http://127.0.0.1:{port}/page",
            ("localhost:{port}",),
            "127.0.0.1:{port} (not granted)",
            id="address-of-a-granted-name",
        ),
        pytest.param(
            "--noproxy '' http://localhost:{port}/page",
            ("a.test",),
            "localhost:{port} (not granted)",
            id="loopback-through-the-proxy",
        ),
        pytest.param(
            "http://a.test/",
            ("a.test",),
            "a.test (its address is of a private network or of this machine)",
            id="name-of-loopback",
        ),
        pytest.param(
            "https://b.test/",
            ("*.test",),
            "b.test (its address is of a private network or of this machine)",
            id="name-of-metadata",
        ),
    ],
)
async def test_everything_else_is_refused(
    page: int, url: str, grants: tuple[str, ...], note: str
) -> None:
    names = {"a.test": ["127.0.0.1", "::1"], "b.test": ["169.254.169.254"]}
    granted = [grant.format(port=page) for grant in grants]
    command = f"curl -sS {url.format(port=page)} | grep -c 'the page'"
    output, notes = await run(command, *granted, names=names)
    assert (output.splitlines()[-1], notes) == (
        "0",
        (f"network: refused {note.format(port=page)}",),
    )


@pytest.mark.parametrize(
    "send",
    [
        pytest.param("GET /page HTTP/1.1\\r\\n\\r\\n", id="not-absolute"),
        pytest.param("GET ftp://localhost:{port}/page HTTP/1.1\\r\\n\\r\\n", id="another-scheme"),
        pytest.param("GET http://127.1:{port}/page HTTP/1.1\\r\\n\\r\\n", id="short-address"),
        pytest.param("CONNECT localhost:99999 HTTP/1.1\\r\\n\\r\\n", id="no-port"),
        pytest.param("\\000\\001\\002\\r\\n\\r\\n", id="no-text"),
        pytest.param("GET http://localhost:{port}/page\\r\\n\\r\\n", id="no-version"),
        pytest.param("GET http://localhost:{port}/ HTTP/2\\r\\n\\r\\n", id="another-version"),
    ],
)
async def test_what_is_no_request_is_refused(page: int, send: str) -> None:
    text = send.format(port=page)
    command = f"exec 9<>/dev/tcp/127.0.0.1/3128; printf '{text}' >&9; head -1 <&9"
    output, _ = await run(command, f"localhost:{page}")
    assert output == "HTTP/1.1 400 Bad Request"


async def test_an_endless_head_is_refused(page: int) -> None:
    command = (
        "exec 9<>/dev/tcp/127.0.0.1/3128; head -c 40000 /dev/zero | tr '\\0' a >&9; head -1 <&9"
    )
    output, _ = await run(command, f"localhost:{page}")
    assert "HTTP/1.1 400 Bad Request" in output or "reset" in output


async def test_the_next_request_of_a_connection_goes_to_no_other_host(page: int) -> None:
    """A connection carries one request: another host would not be looked at."""
    lines = f"GET http://localhost:{page}/page HTTP/1.1\\r\\n\\r\\n"
    second = "GET http://evil.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n"
    command = f"exec 9<>/dev/tcp/127.0.0.1/3128; printf '{lines}{second}' >&9; cat <&9"
    output, notes = await run(command, f"localhost:{page}")
    assert output.count("HTTP/1") == 1
    assert notes == ()


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("curl -sS --noproxy '*' http://{address}:{port}/page", id="without-the-proxy"),
        pytest.param("curl -sS --noproxy '*' http://127.0.0.1:{port}/page", id="loopback-outside"),
        pytest.param("exec 9<>/dev/udp/{address}/53 && printf x >&9 && echo the page", id="udp"),
    ],
)
async def test_there_is_no_way_around_the_proxy(page: int, command: str) -> None:
    output, _ = await run(command.format(address=_address(), port=page), f"localhost:{page}")
    assert output
    assert "the page" not in output


async def test_local_servers_of_the_command_need_no_grant(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("own page", encoding="ascii")
    command = (
        "python3 -m http.server -b 127.0.0.1 8765 >/dev/null 2>&1 & "
        "curl -sS --retry 40 --retry-connrefused --retry-delay 1 http://localhost:8765/own; kill $!"
    )
    output, notes = await run(command, "pypi.org", cwd=tmp_path)
    assert (output.splitlines()[-1], notes) == ("own page", ())


async def test_many_refusals_are_counted() -> None:
    command = "for i in $(seq 30); do curl -s http://h$i.evil.test/; done; true"
    _, notes = await run(command, names={})
    assert len(notes) == 21
    assert notes[-1] == "network: refused 10 more"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
async def test_https_passes_through(tmp_path: Path) -> None:
    certificate = tmp_path / "localhost.pem"
    await _sh(
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
        " -addext subjectAltName=DNS:localhost -keyout key.pem -out certificate.pem",
        tmp_path,
    )
    certificate.write_bytes(
        (tmp_path / "key.pem").read_bytes() + (tmp_path / "certificate.pem").read_bytes()
    )
    (tmp_path / "page").write_text("the page", encoding="ascii")
    with served(tmp_path, certificate) as port:
        command = f"curl -sS --cacert certificate.pem https://localhost:{port}/page"
        assert await run(command, f"localhost:{port}", cwd=tmp_path) == ("the page", ())


async def _sh(script: str, folder: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-ec", script), cwd=folder, stderr=asyncio.subprocess.DEVNULL
    )
    assert await process.wait() == 0


def _wheel(folder: Path) -> None:
    """Write a package index with one package."""
    place = folder / "wheels" / "tiny"
    place.mkdir(parents=True)
    name = "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(place / name, "w") as wheel:
        wheel.writestr("tiny.py", "")
        wheel.writestr(
            "tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
        )
        wheel.writestr(
            "tiny-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr("tiny-1.0.dist-info/RECORD", "tiny.py,,\n")
    (place / "index.html").write_text(f'<a href="{name}">{name}</a>', encoding="ascii")


@pytest.mark.parametrize(
    "command, made",
    [
        pytest.param(
            "python3 -m pip install -q --isolated --no-cache-dir --disable-pip-version-check"
            " -i http://localhost:{port}/wheels --target got tiny",
            "got/tiny.py",
            id="pip",
        ),
        pytest.param("git clone -q http://localhost:{port}/served.git got", "got/file", id="git"),
        pytest.param(
            "npm install --silent --no-audit --fetch-retries 0 --prefix got --cache cache http://localhost:{port}/tiny.tgz",
            "got/node_modules/tiny/package.json",
            id="npm",
        ),
    ],
)
async def test_package_programs_find_the_proxy(tmp_path: Path, command: str, made: str) -> None:
    program = command.split()[0]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    site, work = tmp_path / "site", tmp_path / "work"
    work.mkdir()
    _wheel(site)
    script = """
    git init -q made && cd made && echo x >file && git add file
    git -c user.name=a -c user.email=a@b.c commit -qm x && cd ..
    git clone -q --bare made site/served.git && git -C site/served.git update-server-info
    mkdir package && echo '{"name":"tiny","version":"1.0.0"}' >package/package.json
    tar -czf site/tiny.tgz package
    """
    await _sh(script, tmp_path)
    with served(site) as port:
        refused, _ = await run(command.format(port=port), "pypi.org", cwd=work)
        assert not (work / made).exists(), refused
        output, notes = await run(command.format(port=port), f"localhost:{port}", cwd=work)
    assert (work / made).exists(), output
    assert notes == ()


@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
async def test_a_command_of_the_runner_reaches_only_granted_hosts(
    tmp_path: Path, page: int, name: Literal["bubblewrap", "landlock"]
) -> None:
    options = SandboxOptions(use=name)
    sandbox = await asyncio.to_thread(probe, options)
    if sandbox.sandbox is None:
        pytest.skip(sandbox.why)
    builder = open_builder(sandbox.sandbox, options, lambda: [tmp_path.resolve()])
    command = (
        f"curl -sS http://localhost:{page}/page; echo; curl -sS http://evil.test/ | head -1;"
        f" curl -sS --noproxy '*' http://127.0.0.1:{page}/page 2>/dev/null || echo closed"
    )
    bounds = Bounds("workspace-write", network=(f"localhost:{page}",))
    try:
        outcome = await ShellRunner(builder).run(
            command, cwd=tmp_path.resolve(), timeout_s=30, bounds=bounds
        )
    finally:
        builder.end()
    assert outcome.output.splitlines() == [
        "the page",
        "agent-ls refused evil.test (not granted)",
        "closed",
        "network: refused evil.test (not granted)",
    ]
