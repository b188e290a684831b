"""Returns the addresses and client ids of sign-ins that litellm holds, for the model host.

Its authenticators read the tokens afterwards. Import it after ``litellm_route.Library`` was made,
which configures litellm.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
from litellm.llms.chatgpt import common_utils as openai
from litellm.llms.github_copilot import authenticator as github

from agent_ls.domain.errors import ProviderFailure
from agent_ls.providers.accounts import ChatGpt, Copilot
from agent_ls.providers.answer import MalformedAnswer
from agent_ls.providers.device_flow import Account, Endpoints
from agent_ls.providers.sign_ins import SignIn
from agent_ls.safety.addresses import is_loopback

_MOVED: Final = "CHATGPT_AUTH_BASE"
"""The variable for OpenAI's address of sign-ins, which litellm has as a constant of this name."""
_MADE_BY_CLIENT: Final = "accept-encoding"
"""A header of litellm's for which the client may lack the decoders; it sends its own."""


def account(about: SignIn, client: httpx.Client) -> Account:
    """Return an account, whose files are where the environment says.

    Errors: ``MalformedAnswer`` if an address of the environment cannot be used.
    """
    return _MAKERS[about.name](about, client)


def _chatgpt(about: SignIn, client: httpx.Client) -> Account:
    base = os.environ.get(_MOVED, "").rstrip("/") or openai.CHATGPT_AUTH_BASE

    def at(url: str) -> str:
        return _safe(_MOVED, base + url.removeprefix(openai.CHATGPT_AUTH_BASE))

    endpoints = Endpoints(
        code=at(openai.CHATGPT_DEVICE_CODE_URL),
        poll=at(openai.CHATGPT_DEVICE_TOKEN_URL),
        token=at(openai.CHATGPT_OAUTH_TOKEN_URL),
        client_id=openai.CHATGPT_CLIENT_ID,
        page=at(openai.CHATGPT_DEVICE_VERIFY_URL),
        redirect=at(f"{openai.CHATGPT_AUTH_BASE}/deviceauth/callback"),
    )
    return ChatGpt(about, endpoints, client, *about.paths(os.environ))


def _copilot(about: SignIn, client: httpx.Client) -> Account:
    def at(variable: str, usual: str) -> str:
        return _safe(variable, os.environ.get(variable) or usual)

    # It has no public way to its headers, without which GitHub gives Copilot's tokens to nobody.
    made: Any = github.Authenticator()
    headers: dict[str, str] = made._get_github_headers()
    endpoints = Endpoints(
        code=at("GITHUB_COPILOT_DEVICE_CODE_URL", github.DEFAULT_GITHUB_DEVICE_CODE_URL),
        poll=at("GITHUB_COPILOT_ACCESS_TOKEN_URL", github.DEFAULT_GITHUB_ACCESS_TOKEN_URL),
        token=at("GITHUB_COPILOT_API_KEY_URL", github.DEFAULT_GITHUB_API_KEY_URL),
        client_id=os.environ.get("GITHUB_COPILOT_CLIENT_ID") or github.DEFAULT_GITHUB_CLIENT_ID,
        headers={name: value for name, value in headers.items() if name != _MADE_BY_CLIENT},
    )
    return Copilot(about, endpoints, client, *about.paths(os.environ))


_MAKERS: Final[dict[str, Callable[[SignIn, httpx.Client], Account]]] = {
    "chatgpt": _chatgpt,
    "copilot": _copilot,
}


def _safe(variable: str, url: str) -> str:
    """Return an address that tokens may be sent to. Errors: ``MalformedAnswer``."""
    if urlsplit(url).scheme != "https" and not is_loopback(url):
        text = f"{variable} must be an address with https://, as tokens are sent there"
        raise MalformedAnswer(text, ProviderFailure.BAD_REQUEST)
    return url
