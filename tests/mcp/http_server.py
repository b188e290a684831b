"""A tool server at an address, which may want a login (OAuth). Needs no library.

It speaks what a client needs of streamable HTTP, and is its own authorization server.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.mcp.server import answer


class HttpToolServer(ThreadingHTTPServer):
    """What it does next is set by its attributes; what it saw stands in ``seen``."""

    def __init__(self, *, wants_login: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.wants_login = wants_login
        self.seen: list[str] = []
        """The ``Authorization`` of each request to the tool server, empty without one."""
        self.tokens = 0
        self.lasts_s: int | None = 3_600
        self.place = ""
        """Path of the authorization server, below which its addresses are."""
        self.has_resource = True
        """Whether it says as a protected resource where its authorization server is."""
        self.has_metadata = True
        self.registers = True
        self.methods: list[str] | None = None
        """How the token endpoint takes a client's secret, if it says so."""
        self.client: dict[str, str] = {}
        """What a token is given for besides a registered client: fields of its request."""
        self.call_scope = ""
        """What a token must allow for a call."""
        self.scopes: dict[str, str] = {}
        """What each token allows."""
        self.denies = False
        self.rotates = False
        """A refresh token is good for once, and a second use of it ends the login."""
        self.refresh = "again"
        self.token_delay_s = 0.0
        self.pages: list[dict[str, str]] = []
        """The query of each page that a user opened."""
        self.asked: list[dict[str, str]] = []
        """The form of each request for a token; ``by`` is its ``Authorization``."""
        self.sessions = 0
        self.forgets_sessions = False
        self.bad = ""
        self.notified: list[dict[str, Any]] = []
        self.answers: queue.Queue[dict[str, Any]] = queue.Queue()
        """What the client answers to our requests."""
        self.is_over = threading.Event()

    def end_tokens(self) -> None:
        """Take no token any more that was given; what they allowed counts for the next."""
        allowed = self.scopes[f"token-{self.tokens}"]
        self.tokens += 1
        self.scopes[f"token-{self.tokens}"] = allowed

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def http_server(*, wants_login: bool = False) -> Iterator[HttpToolServer]:
    """Serve for the length of a block."""
    with HttpToolServer(wants_login=wants_login) as serving:
        thread = threading.Thread(target=serving.serve_forever, daemon=True)
        thread.start()
        try:
            yield serving
        finally:
            serving.is_over.set()
            serving.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: HttpToolServer

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        serving = self.server
        path, _, query = self.path.partition("?")
        issuer = f"{serving.base}{serving.place}"
        if path == f"{serving.place}/authorize":
            self._authorize({name: values[0] for name, values in parse_qs(query).items()})
        elif path == "/.well-known/oauth-protected-resource/mcp" and serving.has_resource:
            self._say({"resource": f"{serving.base}/mcp", "authorization_servers": [issuer]})
        elif (
            path == f"/.well-known/oauth-authorization-server{serving.place}"
            and serving.has_metadata
        ):
            said: dict[str, Any] = {
                "issuer": issuer,
                "authorization_endpoint": f"{issuer}/authorize",
                "token_endpoint": f"{issuer}/token",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            }
            if serving.registers:
                said["registration_endpoint"] = f"{issuer}/register"
            if serving.methods is not None:
                said["token_endpoint_auth_methods_supported"] = serving.methods
            self._say(said)
        else:
            self._say({}, 405 if path == "/mcp" else 404)

    def _authorize(self, given: dict[str, str]) -> None:
        self.server.pages.append(given)
        answer = {"error": "access_denied"} if self.server.denies else {"code": "the-code"}
        self.send_response(302)
        back = urlencode({**answer, "state": given["state"]})
        self.send_header("Location", f"{given['redirect_uri']}?{back}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_DELETE(self) -> None:
        self._say({})

    def do_POST(self) -> None:
        serving = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        path = urlsplit(self.path).path
        if path == f"{serving.place}/register" and serving.registers:
            self._say({**json.loads(body), "client_id": "us"}, 201)
        elif path == f"{serving.place}/token":
            form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
            self._give_token({**form, "by": self.headers.get("Authorization", "")})
        elif path == "/mcp":
            self._speak(json.loads(body))
        else:
            self._say({}, 404)

    def _give_token(self, form: dict[str, str]) -> None:
        serving = self.server
        serving.asked.append(form)
        time.sleep(serving.token_delay_s)
        is_old = form.get("refresh_token", serving.refresh) != serving.refresh
        if serving.rotates and is_old:
            serving.refresh = "none any more"
            self._say({"error": "invalid_grant"}, 400)
            return
        if any(form.get(name) != value for name, value in serving.client.items()):
            self._say({"error": "invalid_client"}, 401)
            return
        is_by_code = form["grant_type"] == "authorization_code"
        scope = serving.pages[-1].get("scope", "") if is_by_code else form.get("scope", "")
        if form["grant_type"] == "refresh_token":
            scope = serving.scopes[f"token-{serving.tokens}"]
        serving.tokens += 1
        token = f"token-{serving.tokens}"
        serving.scopes[token] = scope
        said = {"access_token": token, "token_type": "Bearer", "expires_in": serving.lasts_s}
        if form["grant_type"] != "client_credentials":
            if serving.rotates:
                serving.refresh = f"again-{serving.tokens}"
            said["refresh_token"] = serving.refresh
        self._say({name: value for name, value in said.items() if value is not None})

    def _speak(self, message: dict[str, Any]) -> None:
        serving = self.server
        given = self.headers.get("Authorization", "")
        serving.seen.append(given)
        is_call = message.get("method") == "tools/call"
        allowed = serving.scopes.get(given.removeprefix("Bearer "), "").split()
        if serving.wants_login and given != f"Bearer token-{serving.tokens}":
            self._say({}, 401)
        elif is_call and serving.call_scope and serving.call_scope not in allowed:
            self._say({}, 403, f'Bearer error="insufficient_scope", scope="{serving.call_scope}"')
        elif serving.bad == "redirect":
            self.send_response(307)
            self.send_header("Location", "http://127.0.0.1:9/mcp")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif serving.bad == "giant":
            self._say({"jsonrpc": "2.0", "id": message["id"], "result": {"x": "y" * 20_000_000}})
        elif "id" not in message:
            serving.notified.append(message)
            self._say(None, 202)
        elif "method" not in message:
            serving.answers.put(message)
            self._say(None, 202)
        elif serving.forgets_sessions and self.headers.get("Mcp-Session-Id"):
            serving.forgets_sessions = False
            self._say({}, 404)
        else:
            self._answer(message)

    def _elicit(self, message: dict[str, Any], params: dict[str, Any]) -> None:
        """Ask the client on the stream of its own call, and end that with what it says."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        request = {"jsonrpc": "2.0", "id": "mine", "method": "elicitation/create"}
        self._event({**request, "params": params})
        said = json.dumps(self.server.answers.get(timeout=20))
        result = {"content": [{"type": "text", "text": said}]}
        self._event({"jsonrpc": "2.0", "id": message["id"], "result": result})
        self.close_connection = True

    def _event(self, message: dict[str, Any]) -> None:
        self.wfile.write(f"event: message\ndata: {json.dumps(message)}\n\n".encode())
        self.wfile.flush()

    def _answer(self, message: dict[str, Any]) -> None:
        do = str(message.get("params", {}).get("arguments", {}).get("do", ""))
        if do.startswith("elicit "):
            self._elicit(message, json.loads(do.removeprefix("elicit ")))
            return
        if do.startswith("late elicit "):
            # Meanwhile another call begins.
            time.sleep(0.5)
            self._elicit(message, json.loads(do.removeprefix("late elicit ")))
            return
        if do.startswith("slow "):
            time.sleep(float(do.removeprefix("slow ")))
        if do == "silence":
            self.server.is_over.wait(20)
        said: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if do == "leak":
            given = self.headers.get("Authorization", "")
            self._say({**said, "error": {"code": -32000, "message": f"no rights with {given}"}})
            return
        if do == "leak as a result":
            text = f"no rights with {self.headers.get('Authorization', '')}"
            result = {"content": [{"type": "text", "text": text}], "isError": True}
            self._say({**said, "result": result})
            return
        try:
            said["result"] = answer("good", message["method"], message.get("params", {}))
        except KeyError:
            said["error"] = {"code": -32601, "message": "no such method"}
        if message["method"] == "initialize":
            self.server.sessions += 1
        self._say(said)

    def _say(self, data: object, status: int = 200, challenge: str = "") -> None:
        body = b"" if data is None else json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Mcp-Session-Id", "session")
        if challenge:
            self.send_header("WWW-Authenticate", challenge)
        self.end_headers()
        self.wfile.write(body)
