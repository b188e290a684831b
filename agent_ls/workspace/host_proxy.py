"""An HTTP proxy for one confined command, which lets it reach only the granted hosts.

The command's sandbox has a network of its own, without a way out. ``proxy_listener.py`` opens a
port there and hands it over. What connects to that port is a process of the command.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from agent_ls.safety.sandbox.hosts import Address, covering, read_grant, read_host

Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""Returns the addresses of a name. Errors: ``OSError``."""

_PORT = 3128
"""In the sandbox's own network, where nothing else listens yet."""
_LISTENER = Path(__file__).with_name("proxy_listener.py")
_HEAD_BYTES = 16_384
_HEAD_S = 10.0
_CONNECT_S = 10.0
_COPY_BYTES = 65_536
_MAX_CONNECTIONS = 128
_MAX_TOLD = 20
_LOCAL = ("localhost", "127.0.0.1", "::1")
_HOP_HEADERS = (b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"host")
"""Headers between client and proxy, and the host, which we take from the address."""


class _RefusedError(Exception):
    """A request that is not carried out; its text says why."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class _Request:
    host: str
    port: int
    first: bytes
    """What the host gets first; empty for a tunnel."""

    @property
    def is_tunnel(self) -> bool:
        return not self.first


async def resolve_host(host: str) -> Sequence[str]:
    """Return the addresses of a name. Errors: ``OSError``."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


class HostProxy:
    """The way of one command to its granted hosts. ``close`` it when the command has ended."""

    def __init__(self, hosts: Sequence[str], resolve: Resolve = resolve_host) -> None:
        self._grants = tuple(map(read_grant, hosts))
        self._resolve = resolve
        self._ours, theirs = socket.socketpair()
        self.descriptor = theirs.detach()
        """For the command; the caller closes it once the command has started."""
        self._refused: dict[str, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    def command(self, command: Sequence[str], descriptor: int) -> tuple[str, ...]:
        """Return the command to run in the sandbox, with ``self.descriptor`` as this number."""
        python = str(Path(sys.executable).resolve())
        # -I and -S: import nothing from the folder or the environment.
        return (python, "-I", "-S", str(_LISTENER), str(descriptor), str(_PORT), *command)

    @property
    def readable(self) -> tuple[Path, ...]:
        """Return what ``command`` needs to read."""
        python = Path(sys.executable).resolve()
        return (Path(sys.base_prefix).resolve(), python, _LISTENER)

    @property
    def env(self) -> Mapping[str, str]:
        """Return the variables by which programs find the proxy."""
        here = f"http://127.0.0.1:{_PORT}"
        granted = {grant.host for grant in self._grants}
        # What the command itself serves is reached directly, unless the name means our machine.
        local = ",".join(name for name in _LOCAL if name not in granted)
        values = {"http_proxy": here, "https_proxy": here, "all_proxy": here, "no_proxy": local}
        upper = {name.upper(): value for name, value in values.items()}
        return values | upper | {"NODE_USE_ENV_PROXY": "1"}

    @property
    def notes(self) -> tuple[str, ...]:
        """Return lines about what was refused, for the end of the command's output."""
        told = [f"network: refused {what}" for what in list(self._refused)[:_MAX_TOLD]]
        more = len(self._refused) - len(told)
        return (*told, *([f"network: refused {more} more"] if more else []))

    def start(self) -> None:
        """Serve as soon as the command hands over its port; does not wait for it."""
        self._ours.setblocking(False)
        asyncio.get_running_loop().add_reader(self._ours, self._on_port)

    def close(self) -> None:
        """End all connections."""
        asyncio.get_running_loop().remove_reader(self._ours)
        self._ours.close()
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()

    def _on_port(self) -> None:
        """Take the first and only message of the channel."""
        asyncio.get_running_loop().remove_reader(self._ours)
        with suppress(OSError):
            _, descriptors, _, _ = socket.recv_fds(self._ours, 1, 1)
            if descriptors:
                self._begin(self._serve(socket.socket(fileno=descriptors[0])))

    async def _serve(self, port: socket.socket) -> None:
        port.setblocking(False)
        # A buffer limit of the longest head: longer ones are refused.
        self._server = await asyncio.start_server(self._accept, sock=port, limit=_HEAD_BYTES)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= _MAX_CONNECTIONS:
            writer.transport.abort()
            return
        self._begin(self._carry(reader, writer))

    def _begin(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, which may carry one request or one tunnel."""
        try:
            request = await _read_request(reader)
            out_reader, out_writer = await self._connect(request)
        except _RefusedError as refused:
            await _answer(writer, refused)
            return
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            writer.transport.abort()
            return
        except BaseException:
            writer.transport.abort()
            raise
        try:
            if request.is_tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            out_writer.write(request.first)
            await asyncio.gather(_copy(reader, out_writer), _copy(out_reader, writer))
        finally:
            out_writer.transport.abort()
            writer.transport.abort()

    async def _connect(
        self, request: _Request
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        addresses = await self._granted_addresses(request)
        problem = ""
        for address in addresses:
            try:
                async with asyncio.timeout(_CONNECT_S):
                    return await asyncio.open_connection(str(address), request.port)
            except TimeoutError:
                problem = "no answer"
            except OSError as error:
                problem = error.strerror or str(error)
        raise _RefusedError("502 Bad Gateway", f"{request.host} cannot be reached: {problem}")

    async def _granted_addresses(self, request: _Request) -> list[Address]:
        """Resolve a granted host once; names that are not granted are never looked up."""
        shown = request.host if request.port in (80, 443) else f"{request.host}:{request.port}"
        grants = covering(self._grants, request.host, request.port)
        if not grants:
            raise self._refusal(shown, "not granted")
        try:
            async with asyncio.timeout(_CONNECT_S):
                found = [ip_address(one) for one in await self._resolve(request.host)]
        except (OSError, TimeoutError) as error:
            why = f"{request.host} cannot be found: {error}"
            raise _RefusedError("502 Bad Gateway", why) from None
        reached = [one for one in found if any(grant.reaches(one) for grant in grants)]
        if not reached:
            raise self._refusal(shown, "its address is of a private network or of this machine")
        return reached

    def _refusal(self, shown: str, why: str) -> _RefusedError:
        self._refused[f"{shown} ({why})"] = None
        return _RefusedError("403 Forbidden", f"agent-ls refused {shown} ({why})")


async def _read_request(reader: asyncio.StreamReader) -> _Request:
    bad = _RefusedError("400 Bad Request", "not a request to a proxy")
    try:
        async with asyncio.timeout(_HEAD_S):
            head = await reader.readuntil(b"\r\n\r\n")
        first, *headers = head[:-4].split(b"\r\n")
        method, target, version = first.decode("ascii").split(" ")
    except (asyncio.LimitOverrunError, ValueError):
        raise bad from None
    try:
        is_tunnel = method == "CONNECT"
        parts = urlsplit(f"//{target}" if is_tunnel else target)
        host = read_host(parts.hostname or "")
        port = parts.port or (443 if is_tunnel else 80)
    except ValueError:
        raise bad from None
    if is_tunnel:
        return _Request(host, port, b"")
    if parts.scheme != "http" or not version.startswith("HTTP/1."):
        raise bad
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    kept = [one for one in headers if one.partition(b":")[0].lower() not in _HOP_HEADERS]
    named = parts.netloc.rpartition("@")[2]
    lines = (
        *(f"{method} {path} HTTP/1.1".encode(), f"Host: {named}".encode()),
        # One request a connection: the next one may be to another host.
        *(*kept, b"Connection: close", b"", b""),
    )
    return _Request(host, port, b"\r\n".join(lines))


async def _answer(writer: asyncio.StreamWriter, refused: _RefusedError) -> None:
    body = f"{refused}\n".encode()
    head = f"HTTP/1.1 {refused.status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}"
    with suppress(OSError):
        writer.write(f"{head}\r\nConnection: close\r\n\r\n".encode() + body)
        await writer.drain()
    writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass bytes on until one side ends; then tell the other side of the end."""
    with suppress(OSError):
        while data := await reader.read(_COPY_BYTES):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
