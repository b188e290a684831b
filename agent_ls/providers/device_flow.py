"""Signs in by OAuth's device flow (RFC 8628), whatever the service.

Blocks, so the model host runs it on a thread. litellm's own loop around these requests takes no
refusal for an answer: it asks on when the user has denied, and too often when told to slow down.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import httpx

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.record import Record
from agent_ls.providers.answer import MalformedAnswer
from agent_ls.providers.failures import clean
from agent_ls.providers.shapes import Object, as_count, as_object
from agent_ls.providers.sign_ins import Outcome, SignIn
from agent_ls.providers.symptoms import said_in

INTERVAL_S: Final = 5.0
"""Between two questions, unless the endpoint says otherwise; also what it adds to be slower."""
VALID_S: Final = 900.0
"""How long a code counts, unless the endpoint says otherwise."""


class SignInFailed(MalformedAnswer):
    """A sign-in came to no good end; the text is a whole message for the user."""


class DeviceCode(Record):
    """What the user needs to agree, and what we need to ask whether they did."""

    page: str
    user_code: str
    secret: str
    interval_s: float = INTERVAL_S
    valid_s: float = VALID_S


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Addresses and ids of a service, as litellm has them."""

    code: str
    """Where a code is requested."""
    poll: str
    """Where we ask whether the user has agreed."""
    token: str
    """Where the token for requests comes from."""
    client_id: str
    page: str = ""
    """Where the user enters the code, if the endpoint does not say it."""
    redirect: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class Account(Protocol):
    """A service's own way of the flow."""

    sign_in: SignIn

    def begin(self) -> DeviceCode:
        """Request a code. Errors: ``SignInFailed``, httpx's."""
        ...

    def poll(self, code: DeviceCode) -> httpx.Response:
        """Ask whether the user has agreed. Errors: httpx's."""
        ...

    def is_granted(self, fields: Object) -> bool:
        """Say whether an answer to ``poll`` is the user's agreement."""
        ...

    def accept(self, fields: Object) -> None:
        """Store the tokens that the agreement gets. Errors: ``SignInFailed``, httpx's."""
        ...

    def token(self) -> str:
        """Return a token for a request, a new one if the last has ended.

        Errors: ``MalformedAnswer`` if the service refuses, with its words; httpx's.
        """
        ...


def sign_in(
    account: Account,
    tell: Callable[[DeviceCode], None],
    # The flow is a pause between questions, and this is a thread of its own.
    sleep: Callable[[float], None] = time.sleep,  # noqa: TID251 - as said above
) -> None:
    """Sign in; ``tell`` gets the code for the user. Errors: ``SignInFailed``, httpx's."""
    code = account.begin()
    tell(code)
    account.accept(_agreement(account, code, sleep))


def _agreement(account: Account, code: DeviceCode, sleep: Callable[[float], None]) -> Object:
    """Wait until the user has agreed; return the endpoint's answer."""
    about, left_s, interval_s = account.sign_in, code.valid_s, code.interval_s
    again = f"Run `{about.command}` to try again."
    while left_s > 0:
        sleep(interval_s)
        left_s -= interval_s
        try:
            response = account.poll(code)
        except httpx.TransportError:
            # A network that comes and goes costs no code.
            continue
        fields = fields_of(response)
        if response.is_success and account.is_granted(fields):
            return fields
        words = words_of(response)
        match about.outcome(response.status_code, words):
            case Outcome.PENDING:
                pass
            case Outcome.SLOWER:
                asked_s = float(as_count(fields.get("interval")))
                interval_s = max(interval_s + INTERVAL_S, asked_s)
            case Outcome.EXPIRED:
                break
            case Outcome.DENIED:
                raise failed(f"The sign-in at {about.title} was denied there. {again}")
            case Outcome.OFF:
                raise failed(f"{about.title} does not allow codes. {about.if_off} {again}")
            case Outcome.FAILED:
                raise refused(about, response, words)
    raise failed(f"The code for {about.title} has expired before it was confirmed. {again}")


def refused(about: SignIn, response: httpx.Response, words: str) -> SignInFailed:
    """Return the error for an answer that ends a sign-in, with the endpoint's own words."""
    status, host = response.status_code, response.request.url.host
    said = f": {words.rstrip('.')}" if words else ""
    return failed(f"The sign-in at {about.title} failed. {host} answered {status}{said}.")


def failed(text: str) -> SignInFailed:
    """Return the error with this message for the user."""
    return SignInFailed(text, ProviderFailure.AUTHENTICATION)


def fields_of(response: httpx.Response) -> Object:
    """Return the object in an answer; empty if it holds none."""
    return parse_object(response.text)


def words_of(response: httpx.Response) -> str:
    """Return the messages and codes of an answer, cleaned for display."""
    if response.is_success and not fields_of(response).get("error"):
        # It may hold tokens.
        return "an answer that lacks what was asked for"
    messages, codes = said_in(response.text)
    return clean(f"{messages} {codes}".strip(), ())


def parse_object(text: str) -> Object:
    """Return the JSON object that a text is; empty if it is none."""
    try:
        return as_object(json.loads(text))
    except (ValueError, RecursionError):
        return {}
