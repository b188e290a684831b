"""A tool server at an address, which may want a login (OAuth). Needs no library.

It speaks what a client needs of streamable HTTP, and is its own authorization server.
"""

from __future__ import annotations

import json
import queue
import threading
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
        self.lasts_s = 3_600
        self.sessions = 0
        self.forgets_sessions = False
        self.bad = ""
        self.notified: list[dict[str, Any]] = []
        self.answers: queue.Queue[dict[str, Any]] = queue.Queue()
        """What the client answers to our requests."""
        self.is_over = threading.Event()

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
        path, _, query = self.path.partition("?")
        base = self.server.base
        match path:
            case "/.well-known/oauth-protected-resource/mcp":
                self._say({"resource": f"{base}/mcp", "authorization_servers": [base]})
            case "/.well-known/oauth-authorization-server":
                self._say(
                    {
                        "issuer": base,
                        "authorization_endpoint": f"{base}/authorize",
                        "token_endpoint": f"{base}/token",
                        "registration_endpoint": f"{base}/register",
                        "response_types_supported": ["code"],
                        "code_challenge_methods_supported": ["S256"],
                    }
                )
            case "/authorize":
                given = {name: values[0] for name, values in parse_qs(query).items()}
                back = urlencode({"code": "the-code", "state": given["state"]})
                self.send_response(302)
                self.send_header("Location", f"{given['redirect_uri']}?{back}")
                self.send_header("Content-Length", "0")
                self.end_headers()
            case _:
                self._say({}, 405 if path == "/mcp" else 404)

    def do_DELETE(self) -> None:
        self._say({})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        match urlsplit(self.path).path:
            case "/register":
                self._say({**json.loads(body), "client_id": "us"}, 201)
            case "/token":
                self.server.tokens += 1
                self._say(
                    {
                        "access_token": f"token-{self.server.tokens}",
                        "token_type": "Bearer",
                        "expires_in": self.server.lasts_s,
                        "refresh_token": "again",
                    }
                )
            case _:
                self._speak(json.loads(body))

    def _speak(self, message: dict[str, Any]) -> None:
        serving = self.server
        given = self.headers.get("Authorization", "")
        serving.seen.append(given)
        if serving.wants_login and given != f"Bearer token-{serving.tokens}":
            self._say({}, 401)
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
        if do == "silence":
            self.server.is_over.wait(20)
        said: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            said["result"] = answer("good", message["method"], message.get("params", {}))
        except KeyError:
            said["error"] = {"code": -32601, "message": "no such method"}
        if message["method"] == "initialize":
            self.server.sessions += 1
        self._say(said)

    def _say(self, data: object, status: int = 200) -> None:
        body = b"" if data is None else json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Mcp-Session-Id", "session")
        self.end_headers()
        self.wfile.write(body)
