"""Reads pages over https: text only, of public addresses, within limits of size and time.

A name is resolved once for each connection, and the connection goes to an address that was checked:
another answer of the name's owner afterwards changes nothing. No proxy is used.
"""

from __future__ import annotations

import asyncio
import codecs
import re
import ssl
import sys
import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from email.message import Message
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urljoin, urlsplit

from agent_ls.domain.errors import ToolError
from agent_ls.loop.ports.web import WebPage
from agent_ls.processes.launching import start_piped
from agent_ls.safety.sandbox.hosts import HostGrant, read_host
from agent_ls.workspace.host_proxy import resolve_host

if TYPE_CHECKING:
    import httpcore

Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""Returns the addresses of a name. Errors: ``OSError``."""
Connect = Callable[[str, int], Awaitable[tuple[str, int]]]
"""Returns where to connect instead of to a checked address and port; for tests."""

_TOTAL_S = 20.0
_CONVERT_S = 10.0
_MAX_RAW_BYTES = 5 * 2**20
_MAX_BYTES = 2 * 2**20
_MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TEXT = re.compile(
    r"text/.+|application/(?:.+\+)?(?:json|xml|yaml|toml|javascript|x-javascript|x-yaml|x-sh)"
)
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_CONVERTER = Path(__file__).with_name("html_text.py")
_VARIABLES: Mapping[str, str] = {"PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1"}


class WebPages:
    """The ``Web`` of this machine."""

    def __init__(
        self,
        resolve: Resolve = resolve_host,
        connect: Connect | None = None,
        tls: ssl.SSLContext | None = None,
        *,
        total_s: float = _TOTAL_S,
    ) -> None:
        """The arguments replace, for tests, the network and what is trusted in it."""
        self._resolve = resolve
        self._connect = connect
        self._tls = tls
        self._total_s = total_s

    async def read(self, url: str) -> WebPage:
        """Return what the address answers. Errors: ``ToolError`` says why there is none."""
        import httpcore

        host = urlsplit(url).hostname or ""
        try:
            async with asyncio.timeout(self._total_s):
                return await self._followed(url)
        except TimeoutError:
            raise ToolError(f"{host} did not answer within {self._total_s:g} s.") from None
        except (OSError, httpcore.NetworkError, httpcore.ProtocolError) as error:
            why = str(error) or type(error).__name__
            raise ToolError(f"{host} cannot be read: {why}.") from None

    async def _followed(self, url: str) -> WebPage:
        for _ in range(_MAX_REDIRECTS + 1):
            page, location = await self._answer(url)
            if not location:
                return page
            there = urljoin(url, location)
            if not _is_same_host(url, there):
                return WebPage(url, page.status, "", leads_to=there)
            url = there
        raise ToolError(f"{url} redirects more than {_MAX_REDIRECTS} times.")

    async def _answer(self, url: str) -> tuple[WebPage, str]:
        """Return the answer of one address, and where it redirects to."""
        import httpcore

        tls = self._tls or await asyncio.to_thread(ssl.create_default_context)
        network = _public_network(self._resolve, self._connect)
        headers = [("User-Agent", "agent-ls"), ("Accept", "text/*"), ("Accept-Encoding", "gzip")]
        async with (
            httpcore.AsyncConnectionPool(ssl_context=tls, network_backend=network) as pool,
            pool.stream("GET", url, headers=headers) as response,
        ):
            told = _headers(response.headers)
            if response.status in _REDIRECTS and (location := told["location"]):
                return WebPage(url, response.status, ""), str(location)
            kind = told.get_content_type() if told["content-type"] else ""
            if not _TEXT.fullmatch(kind):
                raise ToolError(f"{url} is no text: it is {kind or 'of no content type'}.")
            encoding = str(told["content-encoding"] or "identity").strip().lower()
            data, is_cut = await _body(response, encoding)
        charset = _charset(told.get_content_charset())
        if kind in _HTML:
            text = await _as_markdown(data, charset)
        else:
            text = data.decode(charset or "utf-8", errors="replace")
        return WebPage(url, response.status, text, is_cut), ""


def _is_same_host(one: str, other: str) -> bool:
    try:
        first, second = urlsplit(one), urlsplit(other)
        is_same = read_host(first.hostname or "") == read_host(second.hostname or "")
        return is_same and second.scheme == "https" and (first.port or 443) == (second.port or 443)
    except ValueError:
        return False


def _public_network(resolve: Resolve, connect: Connect | None) -> httpcore.AsyncNetworkBackend:
    """Return a network in which only public addresses can be connected to."""
    import httpcore

    whole = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())

    class PublicNetwork(httpcore.AsyncNetworkBackend):
        async def connect_tcp(
            self,
            host: str,
            port: int,
            timeout: float | None = None,  # noqa: ASYNC109 - the library's signature
            local_address: str | None = None,
            socket_options: Iterable[Any] | None = None,
        ) -> httpcore.AsyncNetworkStream:
            name = host.decode() if isinstance(host, bytes) else host
            grant = HostGrant(read_host(name))
            found = [ip_address(one) for one in await resolve(name)]
            public = [one for one in found if grant.reaches(one)]
            if not public:
                raise OSError(None, "its address is of a private network or of this machine")
            place = str(public[0]), port
            if connect is not None:
                place = await connect(*place)
            return await whole.connect_tcp(*place, timeout, local_address, socket_options)

    return PublicNetwork()


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> Message:
    found = Message()
    for name, value in raw:
        found[name.decode("latin-1")] = value.decode("latin-1")
    return found


def _charset(name: str | None) -> str | None:
    try:
        return codecs.lookup(name).name if name else None
    except (LookupError, ValueError):
        return None


async def _body(response: httpcore.Response, encoding: str) -> tuple[bytes, bool]:
    """Return the body up to the limits, and whether there is more of it."""
    if encoding not in ("identity", "gzip", "x-gzip", "deflate"):
        raise ToolError(f"It is encoded as {encoding[:40]}, which was not asked for.")
    unpacking = None if encoding == "identity" else zlib.decompressobj(wbits=47)
    found, raw_bytes = bytearray(), 0
    async for piece in response.aiter_stream():
        raw_bytes += len(piece)
        try:
            # A small body may hold gigabytes.
            room = _MAX_BYTES + 1 - len(found)
            found += piece if unpacking is None else unpacking.decompress(piece, room)
        except zlib.error:
            raise ToolError("Its compressed text is damaged.") from None
        if len(found) > _MAX_BYTES or raw_bytes > _MAX_RAW_BYTES:
            return bytes(found[:_MAX_BYTES]), True
    return bytes(found), False


async def _as_markdown(html: bytes, charset: str | None) -> str:
    """Convert HTML in a process of its own, which a hostile page can only keep from ending."""
    # Without links, which may lead through the workspace.
    python = str(Path(sys.executable))
    command = (python, "-I", str(_CONVERTER), charset or "")
    running = await start_piped(command, cwd=None, env=_VARIABLES)
    try:
        async with asyncio.timeout(_CONVERT_S):
            _, text = await asyncio.gather(running.feed(html), running.stdout.read())
            code = await running.program.wait()
    except TimeoutError:
        raise ToolError("Its HTML takes too long to read.") from None
    finally:
        await running.end()
    if code != 0:
        raise ToolError("Its HTML cannot be read.")
    return text.decode(errors="replace")
