"""A server that speaks the sign-ins of OpenAI and GitHub, and the models behind them.

What it answers follows GitHub's documentation of the device flow, RFC 8628, and the traffic that
public issues and clients of OpenAI's flow show. Each test sets what differs.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

Reply = tuple[int, object]
"""Status and body; a text is sent as it is, and status 0 closes the connection."""

USER_CODE = "WDJB-MJHT"
CODE_PATH = {
    "chatgpt": "/api/accounts/deviceauth/usercode",
    "copilot": "/login/device/code",
}
POLL_PATH = {
    "chatgpt": "/api/accounts/deviceauth/token",
    "copilot": "/login/oauth/access_token",
}
TOKEN_PATH = {"chatgpt": "/oauth/token", "copilot": "/copilot_internal/v2/token"}
CHAT_PATHS = ("/codex/responses", "/chat/completions")


def web_token(lasts_s: float = 3_600, **claims: object) -> str:
    """Return a JSON web token as OpenAI's are, without a signature that counts."""
    body = {"exp": int(time.time() + lasts_s), **claims}
    parts = (json.dumps(one).encode() for one in ({"alg": "none"}, body))
    return ".".join(base64.urlsafe_b64encode(one).decode().rstrip("=") for one in parts) + ".x"


def openai_error(code: str, message: str = "") -> object:
    """Return an error in OpenAI's shape."""
    return {"error": {"message": message, "type": "invalid_request_error", "code": code}}


def github_error(error: str, **fields: object) -> object:
    """Return an error in GitHub's shape, which it sends with status 200."""
    return {"error": error, "error_description": f"About {error}.", **fields}


PENDING: dict[str, Reply] = {
    "chatgpt": (
        403,
        openai_error(
            "deviceauth_authorization_pending",
            "Device authorization is pending. Please try again.",
        ),
    ),
    "copilot": (200, github_error("authorization_pending")),
}
GRANTED: dict[str, Reply] = {
    "chatgpt": (
        200,
        {"authorization_code": "ac_1", "code_challenge": "challenge", "code_verifier": "verifier"},
    ),
    "copilot": (200, {"access_token": "ghu_1", "token_type": "bearer", "scope": "read:user"}),
}


@dataclass(frozen=True)
class Seen:
    """One request."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    """Names in lower case."""


class SignInServer(ThreadingHTTPServer):
    """What it answers next stands in ``replies``, by path; what it saw in ``seen``."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: list[Seen] = []
        self.replies: dict[str, list[Reply]] = {}
        """The last reply of a path is given again."""
        self.interval_s = 1
        self.valid_s = 900
        self.tokens = 0

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def variables(self, folder: Path) -> dict[str, str]:
        """Return the environment that leads here, with tokens below a folder."""
        return {
            "CHATGPT_AUTH_BASE": self.base,
            "CHATGPT_API_BASE": f"{self.base}/codex",
            "CHATGPT_TOKEN_DIR": str(folder / "chatgpt"),
            "GITHUB_COPILOT_DEVICE_CODE_URL": self.base + CODE_PATH["copilot"],
            "GITHUB_COPILOT_ACCESS_TOKEN_URL": self.base + POLL_PATH["copilot"],
            "GITHUB_COPILOT_API_KEY_URL": self.base + TOKEN_PATH["copilot"],
            "GITHUB_COPILOT_TOKEN_DIR": str(folder / "copilot"),
        }

    def asked(self, path: str) -> list[Seen]:
        """Return the requests to a path."""
        return [one for one in self.seen if one.path == path]

    def usual(self, path: str) -> Reply:
        """Return what a path answers if a test sets nothing."""
        if path == CODE_PATH["chatgpt"]:
            # OpenAI writes the interval as text.
            fields = {"device_auth_id": "deviceauth_1", "user_code": USER_CODE}
            return 200, {**fields, "interval": str(self.interval_s)}
        if path == CODE_PATH["copilot"]:
            page = "https://github.com/login/device"
            fields = {"device_code": "dc_1", "user_code": USER_CODE, "verification_uri": page}
            return 200, {**fields, "expires_in": self.valid_s, "interval": self.interval_s}
        for name, polled in POLL_PATH.items():
            if path == polled:
                return GRANTED[name]
        self.tokens += 1
        if path == TOKEN_PATH["chatgpt"]:
            claim = {"https://api.openai.com/auth": {"chatgpt_account_id": "account-1"}}
            return 200, {
                "access_token": web_token(number=self.tokens),
                "refresh_token": f"rt_{self.tokens}",
                "id_token": web_token(**claim),
            }
        if path == TOKEN_PATH["copilot"]:
            token = f"tid={self.tokens};exp=1;sku=pro"
            ends_s = int(time.time()) + 1_500
            return 200, {
                "token": token,
                "expires_at": ends_s,
                "refresh_in": 1_500,
                "endpoints": {"api": self.base},
            }
        return 404, "404 page not found"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SignInServer

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        try:
            body = json.loads(raw) if raw else {}
        except ValueError:
            body = {name: one[0] for name, one in parse_qs(raw).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append(Seen(self.path, body, headers))
        replies = self.server.replies.get(self.path, [])
        reply = replies.pop(0) if len(replies) > 1 else replies[0] if replies else None
        status, content = reply or self.server.usual(self.path)
        if not status:
            self.close_connection = True
            return
        text = content if isinstance(content, str) else json.dumps(content)
        kinds = {"<": "text/html", "d": "text/event-stream", "e": "text/event-stream"}
        self.send_response(status)
        self.send_header("Content-Type", kinds.get(text[:1], "application/json"))
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


@contextmanager
def sign_in_server() -> Iterator[SignInServer]:
    """Serve for the length of a block."""
    with SignInServer() as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield serving
        finally:
            serving.shutdown()
            thread.join()
