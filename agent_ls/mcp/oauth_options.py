"""What the user says about signing in at a tool server: the client that they registered."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agent_ls.domain.record import Record


class OAuthOptions(Record):
    """The client that you registered; without one, agent-ls registers itself at the login."""

    client_id: str = ""
    """Yours; an ``https://`` address is that of your client metadata document."""
    client_secret: str = ""
    """``${NAME}`` is a variable of your own."""
    grant: Literal["authorization_code", "client_credentials"] = "authorization_code"
    """``client_credentials``: the client signs in by itself, and no user logs in."""
    private_key: str = ""
    """A key (PEM) that signs instead of a secret, for ``client_credentials``. ``${NAME}``, too."""
    signing_algorithm: Literal[
        "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
    ] = "RS256"
    """What the private key signs with."""
    issuer: str = ""
    """The client is used at this authorization server only; empty: where the tool server leads."""
    scope: str = ""
    """What to ask for, separated by spaces; empty: what the server names."""
    callback_port: Annotated[int, Field(ge=0, le=65_535)] = 0
    """The login comes back to ``http://localhost:PORT/callback``; 0: to a free port."""

    @property
    def secrets(self) -> dict[str, str]:
        """Return the values that no message may show, by name."""
        values = {"client_secret": self.client_secret, "private_key": self.private_key}
        return {name: value for name, value in values.items() if value}

    @property
    def facts(self) -> dict[str, str]:
        """Return what is set, without the secrets, by name."""
        values = self.model_dump(exclude_defaults=True, exclude={"client_secret", "private_key"})
        return {name: str(value) for name, value in values.items()}

    @property
    def is_document(self) -> bool:
        """Say whether the client id is the address of a client metadata document."""
        return self.client_id.startswith("https://") and not self.client_secret

    @property
    def mistake(self) -> str:
        """Return what is wrong; empty if nothing is."""
        is_by_itself = self.grant == "client_credentials"
        if not self.client_id and (self.secrets or is_by_itself):
            return "its oauth needs client_id"
        if is_by_itself and len(self.secrets) != 1:
            return "its oauth needs either client_secret or private_key"
        if self.private_key and not is_by_itself:
            return 'its oauth.private_key needs grant = "client_credentials"'
        if self.issuer and not self.issuer.startswith(("https://", "http://")):
            return "its oauth.issuer must begin with https:// or http://"
        return ""
