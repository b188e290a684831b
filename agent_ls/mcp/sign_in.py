"""What signs requests to a remote tool server: a user's login, or the client's own credentials."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.oauth2 import OAuthContext
from mcp.client.auth.utils import extract_field_from_www_auth, union_scopes
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel

from agent_ls.mcp.frames import Launch
from agent_ls.mcp.oauth_options import OAuthOptions
from agent_ls.mcp.tokens import Login, Renewal, SavedLogins, expiry_s, logins_file

_Model = TypeVar("_Model", bound=BaseModel)
_MAX_REQUEST_BYTES = 64 * 2**10
_DONE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    b"You can close this page and go back to agent-ls.\n"
)


@asynccontextmanager
async def signed_in(
    launch: Launch, on_page: Callable[[str], None] | None, on_failure: Callable[[str], None]
) -> AsyncGenerator[httpx2.Auth | None]:
    """Yield what signs requests; None where there is nothing to sign with.

    With ``on_page`` the user gives a new login in their browser, in place of the older one.
    ``on_failure`` gets why there is no token.
    """
    if launch.oauth.grant == "client_credentials":
        auth = _by_itself(launch)
        auth.on_failure = on_failure
        yield auth
    elif on_page is not None:
        async with _asked(launch, on_page) as auth:
            auth.on_failure = on_failure
            yield auth
    else:
        login = await asyncio.to_thread(SavedLogins(logins_file()).find, launch.url)
        if login is None or not login.tokens:
            yield None
        else:
            yield _UserLogin(launch, _Storage(launch.url), "http://127.0.0.1/callback")


def tokens_of(auth: httpx2.Auth | None) -> tuple[str, ...]:
    """Return the secrets that have signed requests, which no message may show."""
    return tuple(auth.tokens) if isinstance(auth, _Provider) else ()


def lacks_scope(response: httpx2.Response) -> bool:
    """Say whether a server refused a request as its token does not allow enough."""
    error = extract_field_from_www_auth(response, "error")
    return response.status_code == 403 and error == "insufficient_scope"


class _Provider(OAuthClientProvider):
    """The library's flow, with the user's options and without what only a user can give."""

    oauth = OAuthOptions()
    lacks: str | None = None
    """What the server refused a request without: asked for, too, from then on."""
    on_failure: Callable[[str], None] | None = None
    tokens: frozenset[str] = frozenset()
    """All that it has had, and the client's secret."""

    async def begin_renewal(self) -> bool:
        """Say whether the token must be made new; no other agent-ls does that until the end."""
        return True

    def end_renewal(self) -> None:
        """Let other agent-ls processes make the token new."""

    @property
    def can_authorize(self) -> bool:
        """Say whether a new token can be had now."""
        return True

    async def gave_up(self, response: httpx2.Response) -> None:
        """Take note of the answer for which there is no token."""

    async def _auth_flow(  # noqa: C901 - all requests of a flow are yielded by one generator
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if not self.context.is_token_valid():
            # Another agent-ls may have made the token new, which often ends the older ones.
            self._initialized = False
        flow = super()._auth_flow(request)
        has_refreshed = False
        try:
            outgoing = await anext(flow)
            while True:
                if outgoing is request:
                    self.end_renewal()
                self._note_tokens()
                response = yield outgoing
                if outgoing is request:
                    is_over = response.status_code == 401 and self.context.can_refresh_token()
                    if is_over and not has_refreshed:
                        # The library refreshes only what has run out by its own clock.
                        has_refreshed = True
                        is_new = not await self.begin_renewal()
                        if not is_new:
                            renewed = yield await self._refresh_token()
                            is_new = await self._handle_refresh_response(renewed)
                        self.end_renewal()
                        self._note_tokens()
                        if is_new:
                            self._add_auth_header(request)
                            response = yield request
                    self._note_lack(response)
                    if not self.can_authorize:
                        await self.gave_up(response)
                        return
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        except OAuthFlowError as error:
            if self.on_failure is not None:
                self.on_failure(" ".join(str(error).split())[:500])
            raise
        finally:
            self.end_renewal()
            await flow.aclose()

    def _note_tokens(self) -> None:
        tokens, client = self.context.current_tokens, self.context.client_info
        found = {tokens.access_token, tokens.refresh_token} if tokens else set[str | None]()
        found |= {client.client_secret} if client else set()
        self.tokens |= {one for one in found if one}

    def _note_lack(self, response: httpx2.Response) -> None:
        if lacks_scope(response):
            scope = extract_field_from_www_auth(response, "scope")
            self.lacks = union_scopes(self.lacks, scope)

    async def _perform_authorization(self) -> httpx2.Request:
        asked = self.context.client_metadata
        asked.scope = union_scopes(self.oauth.scope or asked.scope, self.lacks)
        _fit_secret(self.context)
        return await super()._perform_authorization()


class _Secret(_Provider, ClientCredentialsOAuthProvider):
    """The client's own secret."""


class _Key(_Provider, PrivateKeyJWTOAuthProvider):
    """The client's own key."""


class _UserLogin(_Provider):
    """A login that a user gave; the token is made new without them, but not a login."""

    def __init__(self, launch: Launch, storage: _Storage, redirect: str) -> None:
        oauth = launch.oauth
        super().__init__(
            launch.url,
            OAuthClientMetadata(client_name="agent-ls", redirect_uris=[AnyUrl(redirect)]),
            storage,
            client_metadata_url=oauth.client_id if oauth.is_document else None,
        )
        self.oauth = oauth
        self._login_storage = storage
        self._renewals: dict[asyncio.Task[Any] | None, Renewal] = {}
        """By the task whose request waits for it: several requests may run at once."""
        storage.context = self.context
        if oauth.client_id and not oauth.is_document:
            storage.given = OAuthClientInformationFull(
                client_id=oauth.client_id,
                client_secret=oauth.client_secret or None,
                token_endpoint_auth_method="client_secret_basic" if oauth.client_secret else "none",
                redirect_uris=[AnyUrl(redirect)],
                issuer=oauth.issuer or None,
            )

    @property
    def can_authorize(self) -> bool:
        return self.context.callback_handler is not None

    async def gave_up(self, response: httpx2.Response) -> None:
        if lacks_scope(response):
            tokens = self.context.current_tokens
            scope = union_scopes(tokens.scope if tokens else None, self.lacks)
            await self._login_storage.note_lack(scope or "")
            # The user may log in again meanwhile.
            self._initialized = False

    async def begin_renewal(self) -> bool:
        context = self.context
        before = context.current_tokens
        await self._begin_renewal()
        await self._load()
        now = context.current_tokens
        is_same = before is not None and now is not None and now.access_token == before.access_token
        return is_same and context.can_refresh_token()

    def end_renewal(self) -> None:
        if renewal := self._renewals.pop(asyncio.current_task(), None):
            renewal.end()

    async def _begin_renewal(self) -> None:
        self.end_renewal()
        renewal = self._renewals[asyncio.current_task()] = Renewal(self._login_storage.login.url)
        await renewal.begin()

    async def _initialize(self) -> None:
        await self._load()
        if not self.context.is_token_valid() and self.context.can_refresh_token():
            # The library makes it new next, unless another agent-ls has done so.
            await self._begin_renewal()
            await self._load()

    async def _load(self) -> None:
        await super()._initialize()
        context, login = self.context, self._login_storage.login
        # The library stores neither, and would not refresh, or at a guessed address.
        context.token_expiry_time = login.expires_s
        context.oauth_metadata = _read(OAuthMetadata, login.metadata)
        context.protected_resource_metadata = _read(ProtectedResourceMetadata, login.resource)
        _fit_secret(context)


class _Storage:
    """The library's store of tokens: one login of the user."""

    context: OAuthContext
    given: OAuthClientInformationFull | None = None
    """The client that the options name."""

    def __init__(self, url: str, *, is_new: bool = False) -> None:
        """``is_new``: what is stored does not count, and stays until there are tokens."""
        self._logins = SavedLogins(logins_file())
        self._is_new = is_new
        self.login = Login(url=url)

    async def get_tokens(self) -> OAuthToken | None:
        if not self._is_new:
            found = await asyncio.to_thread(self._logins.find, self.login.url)
            self.login = found or Login(url=self.login.url)
        return _read(OAuthToken, self.login.tokens)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        values = {
            "client": self.login.client,
            "tokens": tokens.model_dump_json(),
            "expires_s": expiry_s(tokens.expires_in),
            "metadata": _written(self.context.oauth_metadata),
            "resource": _written(self.context.protected_resource_metadata),
        }
        if self._is_new:
            # A renewal keeps what is stored, which another agent-ls may have noted.
            values["lacks"] = ""
        self.login = self.login.model_copy(update=values)
        self._is_new = False
        await asyncio.to_thread(self._logins.update, self.login.url, **values)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.given or _read(OAuthClientInformationFull, self.login.client)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        if self.given is not None:
            raise OAuthFlowError(
                f"the tool server leads to another authorization server than {self.given.issuer}"
            )
        self.login = self.login.model_copy(update={"client": client_info.model_dump_json()})

    async def note_lack(self, scope: str) -> None:
        """Keep the scope that the next login has to ask for."""
        if self.login.lacks != scope:
            await asyncio.to_thread(self._logins.update, self.login.url, lacks=scope)


class _Memory:
    """The library's store of tokens that are had again at any time."""

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        pass

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        pass


def _by_itself(launch: Launch) -> _Provider:
    """Return what gets tokens with the client's own secret or key."""
    oauth = launch.oauth
    issuer = oauth.issuer or None
    if oauth.client_secret:
        auth = _Secret(launch.url, _Memory(), oauth.client_id, oauth.client_secret, issuer=issuer)
    else:
        assertion = SignedJWTParameters(
            issuer=oauth.client_id,
            subject=oauth.client_id,
            signing_key=oauth.private_key,
            signing_algorithm=oauth.signing_algorithm,
        ).create_assertion_provider()

        async def sign(audience: str) -> str:
            try:
                return await assertion(audience)
            except Exception as error:
                why = f"its private key does not sign with {oauth.signing_algorithm}: {error}"
                raise OAuthFlowError(why) from None

        auth = _Key(launch.url, _Memory(), oauth.client_id, sign, issuer=issuer)
    auth.oauth = oauth
    return auth


@asynccontextmanager
async def _asked(launch: Launch, on_page: Callable[[str], None]) -> AsyncGenerator[_Provider]:
    """Yield what asks the user for a login, once."""
    answer: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
    fixed = launch.oauth.callback_port
    states: list[str] = []
    listening = await asyncio.start_server(
        lambda reader, writer: _take_answer(reader, writer, answer, states), "127.0.0.1", fixed
    )
    # What is registered by hand is mostly localhost.
    host = "localhost" if fixed else "127.0.0.1"
    redirect = f"http://{host}:{listening.sockets[0].getsockname()[1]}/callback"
    auth = _UserLogin(launch, _Storage(launch.url, is_new=True), redirect)
    older = await asyncio.to_thread(SavedLogins(logins_file()).find, launch.url)
    auth.lacks = older.lacks or None if older else None

    async def show(page: str) -> None:
        states[:] = parse_qs(urlsplit(page).query).get("state", [])
        on_page(page)

    async def wait() -> AuthorizationCodeResult:
        auth.context.callback_handler = None
        return await answer

    auth.context.redirect_handler, auth.context.callback_handler = show, wait
    async with listening:
        yield auth


async def _take_answer(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    answer: asyncio.Future[AuthorizationCodeResult],
    states: Collection[str],
) -> None:
    """Take the code, or the refusal, that the browser brings for the page that was shown."""
    try:
        line = (await reader.readuntil(b"\r\n"))[:_MAX_REQUEST_BYTES].decode(errors="replace")
        query = parse_qs(urlsplit(line.split(" ")[1]).query)
        given = {name: values[0] for name, values in query.items()}
        if given.get("state") in states and not answer.done():
            if "code" in given:
                iss = given.get("iss")
                result = AuthorizationCodeResult(code=given["code"], state=given["state"], iss=iss)
                answer.set_result(result)
            elif "error" in given:
                why = f"{given['error']} {given.get('error_description', '')}".strip()
                answer.set_exception(OAuthFlowError(f"the login was refused: {why}"))
        writer.write(_DONE)
        await writer.drain()
    except (OSError, EOFError, IndexError, ValueError, asyncio.LimitOverrunError):
        pass
    finally:
        writer.close()


def _fit_secret(context: OAuthContext) -> None:
    """Send a secret of the options as the authorization server takes it."""
    client, metadata = context.client_info, context.oauth_metadata
    if client is None or client.token_endpoint_auth_method != "client_secret_basic":
        return
    methods = metadata.token_endpoint_auth_methods_supported if metadata else None
    if methods and "client_secret_basic" not in methods and "client_secret_post" in methods:
        client.token_endpoint_auth_method = "client_secret_post"


def _read(kind: type[_Model], text: str) -> _Model | None:
    return kind.model_validate_json(text) if text else None


def _written(value: BaseModel | None) -> str:
    return value.model_dump_json() if value is not None else ""
