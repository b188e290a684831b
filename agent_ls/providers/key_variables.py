"""Knows each provider's environment variables: for its key, its address and other arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from agent_ls.providers.sign_ins import sign_in_of


@dataclass(frozen=True, slots=True)
class Variables:
    """Names of a provider's environment variables."""

    key: tuple[str, ...] = ()
    base: tuple[str, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names of litellm's arguments, by variable."""
    is_key_needed: bool = True


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """Where a provider's key comes from, for a client that stores keys itself."""

    provider: str
    variable: str = ""
    """The variable that holds the key; empty: it takes no key."""
    sign_in: str = ""
    """The account to sign in with, as ``agent-ls login`` names it; empty: none."""


_OLLAMA: Final = Variables(
    ("OLLAMA_API_KEY",), ("OLLAMA_API_BASE", "OLLAMA_HOST"), is_key_needed=False
)
PROVIDERS: Final[Mapping[str, Variables]] = {
    "anthropic": Variables(("ANTHROPIC_API_KEY",), ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL")),
    "azure": Variables(
        ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY"),
        ("AZURE_API_BASE", "AZURE_OPENAI_ENDPOINT"),
        {"AZURE_API_VERSION": "api_version"},
    ),
    "bedrock": Variables(
        extra={
            "AWS_ACCESS_KEY_ID": "aws_access_key_id",
            "AWS_SECRET_ACCESS_KEY": "aws_secret_access_key",
            "AWS_SESSION_TOKEN": "aws_session_token",
            "AWS_REGION_NAME": "aws_region_name",
            "AWS_REGION": "aws_region_name",
            "AWS_DEFAULT_REGION": "aws_region_name",
            "AWS_PROFILE": "aws_profile_name",
        },
        is_key_needed=False,
    ),
    "gemini": Variables(
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"), ("GEMINI_API_BASE", "GOOGLE_GEMINI_BASE_URL")
    ),
    "ollama": _OLLAMA,
    "ollama_chat": _OLLAMA,
    "openai": Variables(
        ("OPENAI_API_KEY",),
        ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        {"OPENAI_ORGANIZATION": "organization"},
    ),
    "together_ai": Variables(("TOGETHERAI_API_KEY", "TOGETHER_API_KEY")),
    "vertex_ai": Variables(
        extra={
            "VERTEXAI_PROJECT": "vertex_project",
            "VERTEXAI_LOCATION": "vertex_location",
            "GOOGLE_APPLICATION_CREDENTIALS": "vertex_credentials",
        },
        is_key_needed=False,
    ),
}
"""Providers whose variables are not simply ``NAME_API_KEY`` and ``NAME_API_BASE``."""

KEYLESS: Final = frozenset({"hosted_vllm", "llamafile", "lm_studio"})
_BARE_NAMES: Final = (
    (("gpt-", "o1", "o3", "o4", "chatgpt-", "codex-"), "openai"),
    (("claude-",), "anthropic"),
    (("gemini-",), "vertex_ai"),
)
_PROVIDER: Final = re.compile(r"[a-z0-9_-]+")
"""Other heads of names, such as ``Qwen/`` or ``hf.co/``, belong to the name."""


def provider_of(model: str, api_base: str = "") -> str:
    """Return the provider of a litellm model name; empty if unknown.

    With an address of the user's own, a name without a provider is one of OpenAI's format.
    """
    head, slash, _ = model.partition("/")
    if slash and _PROVIDER.fullmatch(head):
        return head
    for prefixes, provider in _BARE_NAMES:
        if model.startswith(prefixes):
            return provider
    return "openai" if api_base and model else ""


def variables_of(provider: str) -> Variables:
    """Return a provider's variables; none for an unknown provider."""
    stem = provider.upper()
    usual = Variables(
        (f"{stem}_API_KEY",), (f"{stem}_API_BASE",), is_key_needed=provider not in KEYLESS
    )
    return PROVIDERS.get(provider, usual) if provider else Variables()


def key_place(provider: str) -> KeyPlace:
    """Return where a provider's key comes from."""
    if account := sign_in_of(provider):
        return KeyPlace(provider, sign_in=account.name)
    return KeyPlace(provider, next(iter(variables_of(provider).key), ""))
