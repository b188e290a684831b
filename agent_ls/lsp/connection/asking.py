"""Requests to the client: each has a time limit and ends exactly once.

Owns the pending requests. Does not send, and does not interpret answers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, cast

logger = logging.getLogger(__name__)

SendMessage = Callable[[dict[str, Any]], None]


class ClientError(Exception):
    """The client gave no usable answer: too late, never, or of the wrong shape."""


class ClientRefused(ClientError):
    """The client answered with an error."""


class Questions:
    """The pending requests to the client."""

    def __init__(self, send: SendMessage) -> None:
        self._send = send
        self._open: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._asked = 0
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._open)

    async def ask(self, method: str, params: Any, timeout_s: float) -> Any:
        """The client's answer as plain JSON values.

        On a time-out or cancellation the request is also cancelled at the client.
        Errors: `ClientError`; its subclass `ClientRefused` means the client answered with an error.
        """
        if self._is_closed:
            raise ClientError(f"The editor is gone; {method} was not sent")
        self._asked += 1
        number = self._asked
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._open[number] = method, answer
        message = {"jsonrpc": "2.0", "id": number, "method": method}
        try:
            self._send(message if params is None else {**message, "params": params})
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError:
            self._take_back(number)
            text = f"The editor did not answer {method} within {timeout_s:g} s"
            raise ClientError(text) from None
        except asyncio.CancelledError:
            self._take_back(number)
            raise
        finally:
            self._open.pop(number, None)

    def answered(self, message: dict[str, Any]) -> None:
        """Handles an answer; ignored if its request is not pending."""
        number = message.get("id")
        method, answer = self._open.get(number, ("", None)) if type(number) is int else ("", None)
        if answer is None or answer.done():
            logger.debug("Ignored an answer to no open question: id %r", number)
            return
        error = message.get("error")
        if error is None:
            answer.set_result(message.get("result"))
            return
        known = cast(dict[str, Any], error) if isinstance(error, dict) else {"message": error}
        reason = f"{known.get('message', 'no reason given')} ({known.get('code', 'no code')})"
        answer.set_exception(ClientRefused(f"The editor refused {method}: {reason}"))

    def close(self) -> None:
        """Fails every pending request with `ClientError`, and every later one at once."""
        self._is_closed = True
        for method, answer in self._open.values():
            if not answer.done():
                answer.set_exception(ClientError(f"The editor left {method} unanswered"))

    def _take_back(self, number: int) -> None:
        if not self._is_closed:
            cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}}
            self._send(cancel)
