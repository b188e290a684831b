"""Pages of the web: only public addresses, text, and within limits, whatever a server answers."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agent_ls.domain.errors import ToolError
from agent_ls.workspace.web_pages import WebPages

Answer = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]
_PUBLIC = "93.184.216.34"


@dataclass
class Site:
    """An HTTPS server on this machine that stands for any public host."""

    tls: ssl.SSLContext
    port: int = 0
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    asked: list[str] = field(default_factory=list[str])
    names: dict[str, list[list[str]]] = field(default_factory=dict[str, list[list[str]]])
    """What each look-up of a name returns, the last one for good; else a public address."""
    connected: list[str] = field(default_factory=list[str])

    def pages(self, *, total_s: float = 60.0) -> WebPages:
        return WebPages(self._resolve, self._connect, self.tls, total_s=total_s)

    async def read(self, path: str = "/", **more: float) -> str:
        return (await self.pages(**more).read(f"https://docs.example{path}")).text

    async def _resolve(self, host: str) -> list[str]:
        found = self.names.get(host, [[_PUBLIC]])
        return found.pop(0) if len(found) > 1 else found[0]

    async def _connect(self, address: str, port: int) -> tuple[str, int]:
        self.connected.append(f"{address}:{port}")
        return "127.0.0.1", self.port

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ", 2)[1].decode()
        self.asked.append(path)
        answer = self.answers[path]
        try:
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await answer(writer)
        except ConnectionError:
            pass
        finally:
            writer.close()


def told(body: bytes, kind: str = "text/plain", *more: str, status: int = 200) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *more]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode() + body


def redirect(to: str) -> bytes:
    return told(b"", "text/plain", f"Location: {to}", status=302)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "docs.example")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("docs.example")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "site.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file.write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
    return file


@pytest.fixture
async def site(certificate: Path) -> AsyncIterator[Site]:
    made = Site(ssl.create_default_context(cafile=str(certificate)))
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(certificate)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=theirs)
    made.port = server.sockets[0].getsockname()[1]
    yield made
    server.close()


async def test_a_text_is_read_from_the_address_that_was_checked(site: Site) -> None:
    site.answers["/"] = told("Grüße".encode())
    assert await site.read() == "Grüße"
    assert site.connected == [f"{_PUBLIC}:443"]


async def test_the_main_part_of_html_is_read_as_markdown(site: Site) -> None:
    html = (
        "<html><head><title>A page</title><style>x{}</style></head><body><nav>Menu</nav>"
        "<main><h1>Grüße</h1><p>One <a href='/b'>two</a>.</p><script>bad()</script>"
        "<pre><code>x = 1\n</code></pre></main></body></html>"
    )
    site.answers["/"] = told(html.encode("latin-1"), "text/html; charset=iso-8859-1")
    text = await site.read()
    assert text.startswith("Title: A page\n\n# Grüße\n\nOne [two](/b).\n\n```\nx = 1\n")
    assert "Menu" not in text
    assert "bad()" not in text


async def test_html_that_nests_deeply_is_read_as_text(site: Site) -> None:
    site.answers["/"] = told(b"<div>" * 5_000 + b"deep", "text/html")
    assert await site.read() == "deep"


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"),
        *("100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "ff02::1"),
    ],
)
async def test_no_private_address_is_connected_to(site: Site, address: str) -> None:
    site.names["docs.example"] = [[address]]
    with pytest.raises(ToolError, match="of a private network or of this machine"):
        await site.read()
    assert site.connected == []


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254"])
async def test_a_literal_private_address_is_refused(site: Site, host: str) -> None:
    site.names = {host.strip("[]"): [[host.strip("[]")]]}
    with pytest.raises(ToolError, match="private network"):
        await site.pages().read(f"https://{host}/")


async def test_of_several_addresses_only_a_public_one_is_taken(site: Site) -> None:
    site.names["docs.example"] = [["127.0.0.1", _PUBLIC]]
    site.answers["/"] = told(b"here")
    assert await site.read() == "here"
    assert site.connected == [f"{_PUBLIC}:443"]


async def test_a_name_that_leads_elsewhere_after_a_redirect_is_refused(site: Site) -> None:
    site.names["docs.example"] = [[_PUBLIC], ["127.0.0.1"]]
    site.answers["/"] = redirect("/next")
    with pytest.raises(ToolError, match="private network"):
        await site.read()
    assert site.asked == ["/"]


@pytest.mark.parametrize(
    "to",
    [
        *("https://127.0.0.1/", "http://docs.example/", "https://other.example/", "//evil.example"),
        *("https://docs.example:8443/", "file:///etc/passwd", "https://docs.example@other.example"),
    ],
)
async def test_a_redirect_to_another_host_is_told_and_not_followed(site: Site, to: str) -> None:
    site.answers["/"] = redirect(to)
    page = await site.pages().read("https://docs.example/")
    assert page.leads_to
    assert page.text == ""
    assert site.asked == ["/"]


async def test_redirects_within_the_host_are_followed_and_end(site: Site) -> None:
    site.answers = {"/": redirect("/a"), "/a": redirect("https://docs.example/b")}
    site.answers |= {"/b": told(b"there"), "/round": redirect("/round")}
    assert await site.read() == "there"
    with pytest.raises(ToolError, match="redirects more than 5 times"):
        await site.read("/round")


async def test_a_huge_body_is_cut(site: Site) -> None:
    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 X\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()

    site.answers["/"] = endless
    page = await site.pages().read("https://docs.example/")
    assert page.is_cut
    assert len(page.text) == 2 * 2**20


async def test_a_bomb_of_gzip_is_cut(site: Site) -> None:
    body = gzip.compress(b"0" * 200_000_000)
    site.answers["/"] = told(body, "text/plain", "Content-Encoding: gzip")
    page = await site.pages().read("https://docs.example/")
    assert page.is_cut
    assert page.text == "0" * (2 * 2**20)


async def test_gzip_is_unpacked_and_damage_is_told(site: Site) -> None:
    site.answers["/"] = told(gzip.compress(b"fine"), "text/plain", "Content-Encoding: gzip")
    site.answers["/bad"] = told(b"no gzip", "text/plain", "Content-Encoding: gzip")
    site.answers["/br"] = told(b"x", "text/plain", "Content-Encoding: br")
    assert await site.read() == "fine"
    with pytest.raises(ToolError, match="damaged"):
        await site.read("/bad")
    with pytest.raises(ToolError, match="encoded as br"):
        await site.read("/br")


async def test_a_server_that_drips_is_given_up(site: Site) -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 X\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.05)

    site.answers["/"] = drip
    with pytest.raises(ToolError, match=r"docs\.example did not answer within 1 s"):
        await site.read(total_s=1)


@pytest.mark.parametrize("kind", ["image/png", "application/octet-stream", "application/pdf", ""])
async def test_what_is_no_text_is_refused(site: Site, kind: str) -> None:
    site.answers["/"] = told(b"\x89PNG", kind)
    with pytest.raises(ToolError, match="is no text"):
        await site.read()


@pytest.mark.parametrize("answer", [b"", b"garbage\r\n\r\n", b"HTTP/1.1 200 X\r\nContent-Le"])
async def test_an_answer_that_is_no_http_is_told(site: Site, answer: bytes) -> None:
    site.answers["/"] = answer
    with pytest.raises(ToolError, match=r"docs\.example cannot be read"):
        await site.read()


async def test_a_certificate_of_another_name_is_refused(site: Site) -> None:
    site.answers["/"] = told(b"x")
    with pytest.raises(ToolError, match="cannot be read"):
        await site.pages().read("https://other.example/")
    assert site.asked == []


async def test_an_error_page_is_read_with_its_status(site: Site) -> None:
    site.answers["/"] = told(b"gone", status=404)
    page = await site.pages().read("https://docs.example/")
    assert (page.status, page.text) == (404, "gone")
