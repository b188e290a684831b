"""What an endpoint cannot do, whichever dialect it speaks: flood, lead astray, pretend."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from agent_ls.domain.errors import ProviderError, ProviderFailure
from tests.providers.conftest import Asking, request
from tests.support.faulty import FaultyEndpoint, Flood, faulty, head, resets, sends, whole

pytestmark = pytest.mark.asyncio(loop_scope="module")

DIALECTS = [
    "openai/x",
    "openai/responses/gpt-5",
    "anthropic/claude-sonnet-4-5",
    "gemini/gemini-2.5-pro",
    "ollama_chat/x",
    "fireworks_ai/m",
]
KEY = "sk-very-secret"


async def check(patient: Asking, endpoint: FaultyEndpoint, model: str) -> ProviderError:
    """Return how a request fails."""
    patient.use(f"{endpoint.url}/v1")
    patient.env["AGENT_LS_API_KEY"] = KEY
    try:
        with pytest.raises(ProviderError) as caught:
            await patient.ask(request(model=model))
    finally:
        del patient.env["AGENT_LS_API_KEY"]
    assert KEY not in caught.value.message
    return caught.value


@pytest.mark.heavy
@pytest.mark.parametrize("model", DIALECTS)
async def test_an_error_body_without_end_is_read_to_where_a_user_would(
    patient: Asking, model: str
) -> None:
    flood = Flood(head(500, "Oops", kind="application/json") + b'{"error": {"message": "')
    async with faulty(0, [flood]) as endpoint:
        error = await check(patient, endpoint, model)
    assert error.failure is ProviderFailure.SERVER
    assert len(error.message) < 1_000
    # The rest is what the machine's own buffers took.
    assert flood.sent_bytes < 20 * 2**20


@pytest.mark.parametrize("status", [302, 307])
@pytest.mark.parametrize("model", DIALECTS)
async def test_a_redirect_is_named_and_never_followed(
    patient: Asking, model: str, status: int
) -> None:
    async with faulty(0, []) as elsewhere:
        there = f"http://localhost:{elsewhere.port}/v1/chat/completions"
        redirect = sends(whole(status, "{}", extra=[f"Location: {there}"]))
        async with faulty(0, [redirect]) as endpoint:
            error = await check(patient, endpoint, model)
            assert len(endpoint.requests) == 1
        assert elsewhere.connections == 0
    assert error.failure is ProviderFailure.BAD_REQUEST
    assert f"redirects to {there}" in error.message
    assert "`provider.api_base`" in error.message


@pytest.mark.parametrize("model", DIALECTS)
async def test_nothing_is_sent_again_behind_the_loops_back(patient: Asking, model: str) -> None:
    async with faulty(0, [resets()] * 5) as endpoint:
        error = await check(patient, endpoint, model)
        assert len(endpoint.requests) == 1
    assert error.is_retryable


@pytest.mark.parametrize("model", DIALECTS)
async def test_a_wrong_certificate_is_met_once_and_named(
    patient: Asking, model: str, tmp_path: Path
) -> None:
    async with faulty(0, [], tls=_self_signed(tmp_path)) as endpoint:
        url = endpoint.url.replace("http:", "https:")
        endpoint_seen = FaultyEndpointAt(url)
        error = await check(patient, endpoint_seen, model)
        assert endpoint.requests == []
    assert error.failure is ProviderFailure.CONNECTION
    assert error.is_lasting
    assert "certificate could not be verified" in error.message
    assert url in error.message


class FaultyEndpointAt(FaultyEndpoint):
    """An endpoint that is spoken to at another address than it knows."""

    def __init__(self, url: str) -> None:
        super().__init__(0, [])
        self._url = url

    @property
    def url(self) -> str:
        return self._url


def _self_signed(folder: Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "nobody")])
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=36_500))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, secret = folder / "cert.pem", folder / "key.pem"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, secret)
    return context
