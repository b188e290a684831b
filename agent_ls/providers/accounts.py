"""ChatGPT's and GitHub Copilot's ways of the device flow, and their tokens for requests.

Tokens are kept where litellm reads them, one writer at a time. Blocks.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_ls.domain.errors import ProviderFailure
from agent_ls.providers.answer import MalformedAnswer
from agent_ls.providers.device_flow import (
    INTERVAL_S,
    VALID_S,
    DeviceCode,
    Endpoints,
    SignInFailed,
    failed,
    fields_of,
    parse_object,
    refused,
    words_of,
)
from agent_ls.providers.shapes import Object, as_count, as_object, as_text
from agent_ls.providers.sign_ins import Outcome, SignIn, refresh_token
from agent_ls.safety.user_files import changing

if TYPE_CHECKING:
    import httpx

_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_EARLY_S: Final = 120.0
"""A token is renewed so long before its end, so that it lasts while a request begins."""
_CLAIM: Final = "https://api.openai.com/auth"
_REFUSED: Final = frozenset({400, 401})


@dataclass(slots=True)
class ChatGpt:
    """OpenAI's flow, as its program Codex uses it."""

    sign_in: SignIn
    endpoints: Endpoints
    client: httpx.Client
    file: Path

    def begin(self) -> DeviceCode:
        """Request a code."""
        places = self.endpoints
        response = self.client.post(places.code, json={"client_id": places.client_id})
        fields = _begun(self.sign_in, response)
        user_code = as_text(fields.get("user_code")) or as_text(fields.get("usercode"))
        secret = as_text(fields.get("device_auth_id"))
        if not (user_code and secret):
            raise refused(self.sign_in, response, words_of(response))
        return DeviceCode(
            page=places.page,
            user_code=user_code,
            secret=secret,
            interval_s=_number(fields.get("interval"), INTERVAL_S),
        )

    def poll(self, code: DeviceCode) -> httpx.Response:
        """Ask whether the user has agreed."""
        body = {"device_auth_id": code.secret, "user_code": code.user_code}
        return self.client.post(self.endpoints.poll, json=body)

    def is_granted(self, fields: Object) -> bool:
        """Say whether there is a code to exchange."""
        return bool(fields.get("authorization_code") and fields.get("code_verifier"))

    def accept(self, fields: Object) -> None:
        """Exchange the code for tokens and store them."""
        places = self.endpoints
        body = {
            "grant_type": "authorization_code",
            "code": as_text(fields.get("authorization_code")),
            "redirect_uri": places.redirect,
            "client_id": places.client_id,
            "code_verifier": as_text(fields.get("code_verifier")),
        }
        response = self.client.post(places.token, data=body)
        tokens = fields_of(response)
        if not (response.is_success and tokens.get("access_token") and tokens.get("refresh_token")):
            raise refused(self.sign_in, response, words_of(response))
        with changing(self.file, f"sign-in at {self.sign_in.title}") as write:
            write(_json(_record(tokens)))

    def token(self) -> str:
        """Return the access token, refreshed if it ends soon."""
        if token := self._valid():
            return token
        with changing(self.file, f"sign-in at {self.sign_in.title}") as write:
            # A refresh token works once: another process may have used it meanwhile.
            if token := self._valid():
                return token
            text = _text(self.file)
            kept = refresh_token(text)
            if not kept:
                raise MalformedAnswer("there is no sign-in", ProviderFailure.AUTHENTICATION)
            body = {
                "client_id": self.endpoints.client_id,
                "grant_type": "refresh_token",
                "refresh_token": kept,
                "scope": "openid profile email",
            }
            tokens = _granted(self.client.post(self.endpoints.token, json=body), "access_token")
            write(_json(_record({**parse_object(text), **_present(tokens)})))
            return as_text(tokens["access_token"])

    def _valid(self) -> str:
        fields = parse_object(_text(self.file))
        token = as_text(fields.get("access_token"))
        ends_s = as_count(fields.get("expires_at")) or as_count(_claims(token).get("exp"))
        return token if ends_s > _now_s() + _EARLY_S else ""


@dataclass(slots=True)
class Copilot:
    """GitHub's flow, and the exchange of its token for one of Copilot's."""

    sign_in: SignIn
    endpoints: Endpoints
    client: httpx.Client
    access_file: Path
    key_file: Path

    def begin(self) -> DeviceCode:
        """Request a code."""
        body = {"client_id": self.endpoints.client_id, "scope": "read:user"}
        response = self._post(self.endpoints.code, body)
        fields = _begun(self.sign_in, response)
        names = ("verification_uri", "user_code", "device_code")
        page, user_code, secret = (as_text(fields.get(name)) for name in names)
        if not (page and user_code and secret):
            raise self._not_begun(response)
        return DeviceCode(
            page=page,
            user_code=user_code,
            secret=secret,
            interval_s=_number(fields.get("interval"), INTERVAL_S),
            valid_s=_number(fields.get("expires_in"), VALID_S),
        )

    def _not_begun(self, response: httpx.Response) -> SignInFailed:
        """Return the error for a refusal with status 200, as GitHub sends them."""
        words = words_of(response)
        if self.sign_in.outcome(response.status_code, words) is Outcome.OFF:
            return failed(f"{self.sign_in.title} does not allow codes. {self.sign_in.if_off}")
        return refused(self.sign_in, response, words)

    def poll(self, code: DeviceCode) -> httpx.Response:
        """Ask whether the user has agreed."""
        body = {
            "client_id": self.endpoints.client_id,
            "device_code": code.secret,
            "grant_type": _GRANT,
        }
        return self._post(self.endpoints.poll, body)

    def is_granted(self, fields: Object) -> bool:
        """Say whether there is a token."""
        return bool(as_text(fields.get("access_token")))

    def accept(self, fields: Object) -> None:
        """Store GitHub's token if it gets one of Copilot's."""
        token = as_text(fields.get("access_token"))
        try:
            key = self._exchanged(token)
        except MalformedAnswer as error:
            raise failed(
                "GitHub accepted the sign-in, but gives this account no access to Copilot: "
                f"{error.text.rstrip('.')}. Sign in with {self.sign_in.plan}."
            ) from None
        what = f"sign-in at {self.sign_in.title}"
        with changing(self.access_file, what) as write:
            write(token.encode())
        with changing(self.key_file, what) as write:
            write(_json(key))

    def token(self) -> str:
        """Return Copilot's token, exchanged anew if it ends soon."""
        if token := self._valid():
            return token
        with changing(self.key_file, f"sign-in at {self.sign_in.title}") as write:
            if token := self._valid():
                return token
            kept = _text(self.access_file).strip()
            if not kept:
                raise MalformedAnswer("there is no sign-in", ProviderFailure.AUTHENTICATION)
            key = self._exchanged(kept)
            write(_json(key))
            return as_text(key["token"])

    def _valid(self) -> str:
        fields = parse_object(_text(self.key_file))
        is_valid = as_count(fields.get("expires_at")) > _now_s() + _EARLY_S
        return as_text(fields.get("token")) if is_valid and _text(self.access_file) else ""

    def _exchanged(self, token: str) -> Object:
        headers = {**self.endpoints.headers, "authorization": f"token {token}"}
        return _granted(self.client.get(self.endpoints.token, headers=headers), "token")

    def _post(self, url: str, body: Mapping[str, str]) -> httpx.Response:
        return self.client.post(url, json=body, headers=dict(self.endpoints.headers))


def _begun(about: SignIn, response: httpx.Response) -> Object:
    """Return the answer to a request for a code. Errors: ``SignInFailed``."""
    if response.status_code in about.off_status:
        raise failed(f"{about.title} does not allow codes. {about.if_off}")
    if not response.is_success:
        raise refused(about, response, words_of(response))
    return fields_of(response)


def _granted(response: httpx.Response, name: str) -> Object:
    """Return the answer to a request for a token, which has this field.

    Errors: ``MalformedAnswer`` if the service refuses; httpx's where trying again may help.
    """
    fields, status = fields_of(response), response.status_code
    if response.is_success and as_text(fields.get(name)):
        return fields
    if response.is_success or status in _REFUSED:
        raise MalformedAnswer(words_of(response), ProviderFailure.AUTHENTICATION)
    if status in (403, 404):
        raise MalformedAnswer(words_of(response), ProviderFailure.FORBIDDEN)
    response.raise_for_status()
    raise MalformedAnswer(f"status {status}", ProviderFailure.BAD_REQUEST)


def _number(value: object, usual: float) -> float:
    """Return a count, which OpenAI writes as text."""
    count = as_count(int(value) if isinstance(value, str) and value.isdecimal() else value)
    return float(count) if count else usual


def _record(tokens: Object) -> Object:
    """Return ChatGPT's tokens as litellm reads them."""
    access, identity = as_text(tokens.get("access_token")), as_text(tokens.get("id_token"))
    account = as_object(_claims(identity or access).get(_CLAIM)).get("chatgpt_account_id")
    return {
        "access_token": access,
        "refresh_token": tokens.get("refresh_token"),
        "id_token": identity,
        "expires_at": as_count(_claims(access).get("exp")) or None,
        "account_id": account,
    }


def _claims(token: str) -> Object:
    """Return what a JSON web token says; it is not verified, as it came from its maker."""
    parts = token.split(".")
    try:
        return parse_object(base64.urlsafe_b64decode(parts[1] + "==").decode())
    except (IndexError, ValueError):
        return {}


def _present(fields: Object) -> Object:
    return {name: value for name, value in fields.items() if value}


def _json(value: Object) -> bytes:
    return json.dumps(value).encode()


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _now_s() -> float:
    return time.time_ns() / 1e9
