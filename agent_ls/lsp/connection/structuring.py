"""Converts JSON values to typed parameters and results, and back.

Owns the types of all methods (lsprotocol's, and registered models for our own) and the texts of
errors to the client. Imports no model library: the registered models bring theirs.
"""

from __future__ import annotations

import enum
import json
import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, Self, cast

from cattrs import Converter, transform_error
from lsprotocol import types
from pygls.exceptions import JsonRpcException

logger = logging.getLogger(__name__)

INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REQUEST_FAILED: Final = -32803
SESSION_HELD: Final = {"kind": "session_held"}
"""The ``data`` of an error: another process uses the session."""


_NO_URI = re.compile("(?![A-Za-z][A-Za-z0-9+.-]*:)|.*[\ud800-\udfff]", re.DOTALL)
"""Without a scheme, or with half of a character, which could not be sent back."""


class Model(Protocol):
    """A parameter or result type of a custom method; pydantic models fit."""

    @classmethod
    def model_validate(cls, obj: Any) -> Self:
        """The value in `obj`; raises `ValueError` for another shape."""
        ...

    def model_dump(self, *, mode: str, by_alias: bool) -> Any:
        """The value as JSON values."""
        ...


class Unstructured(ValueError):
    """A value does not fit its method's type; the message names the places."""


class Structure:
    """The parameter and result types of all methods."""

    def __init__(self, converter: Converter) -> None:
        self._converter = converter
        self._models: dict[str, tuple[type[Model] | None, type[Model] | None]] = {}

    def add(
        self, method: str, params: type[Model] | None, result: type[Model] | None = None
    ) -> None:
        """Sets the types of a custom method; None means plain JSON values."""
        self._models[method] = params, result

    def params(self, method: str, raw: Any) -> Any:
        """The typed parameters of an incoming message.

        Missing parameters count as an empty object.
        Errors: `Unstructured`.
        """
        if method in self._models:
            model = self._models[method][0]
            return raw if model is None else self._validate(model, {} if raw is None else raw)
        if method not in types.METHOD_TO_TYPES:
            return raw
        expected = types.METHOD_TO_TYPES[method][2]
        if expected is None:
            return None
        raw = _tolerated(self._converter, method, {} if raw is None else raw)
        params = self._structure(raw, expected)
        document = getattr(params, "text_document", params)
        uri = getattr(document, "uri", None)
        if uri is not None and _NO_URI.match(uri):
            raise Unstructured("the document's uri is no URI, such as file:///home/me/a.py")
        return params

    def result(self, method: str, raw: Any) -> Any:
        """The typed result of an answer. Errors: `Unstructured`."""
        if method in self._models:
            model = self._models[method][1]
            return raw if model is None else self._validate(model, raw)
        expected = types.METHOD_TO_TYPES.get(method, (None, None))[1]
        if expected is None:
            return raw
        message = {"jsonrpc": "2.0", "id": 0, "result": raw}
        return self._structure(message, expected).result

    def dumps(self, message: Mapping[str, Any]) -> str:
        """The JSON text, in ASCII, of a message that may contain typed values.

        Errors: `ValueError` and `TypeError` for what JSON cannot express, such as NaN.
        """
        return json.dumps(
            message,
            default=self._plain,
            allow_nan=False,
            separators=(",", ":"),
            check_circular=False,
        )

    def _plain(self, value: Any) -> Any:
        if hasattr(value, "__attrs_attrs__"):
            return self._converter.unstructure(value)
        if hasattr(value, "model_dump"):
            return cast(Model, value).model_dump(mode="json", by_alias=True)
        if isinstance(value, enum.Enum):
            return value.value
        if isinstance(value, Mapping):
            return dict(cast(Mapping[str, Any], value))
        raise TypeError(f"a {type(value).__name__} cannot be sent")

    def _structure(self, raw: Any, expected: Any) -> Any:
        try:
            return self._converter.structure(raw, expected)
        except RecursionError:
            raise Unstructured("nested too deep") from None
        except Exception as error:
            places = _places(error)
            _drop_traces(error)
            raise Unstructured(places) from None

    def _validate(self, model: type[Model], raw: Any) -> Any:
        try:
            return model.model_validate(raw)
        except ValueError as error:
            raise Unstructured(_places(error)) from error


def error_object(error: BaseException, method: str) -> dict[str, Any]:
    """The JSON-RPC error for an exception, without traceback.

    Our own exceptions have texts for people. Any other is a defect: its traceback is for our log.
    """
    if isinstance(error, JsonRpcException):
        return {"code": error.code, "message": error.message}
    if isinstance(error, Unstructured):
        text = f"Invalid parameters for {method}: {error}"
        return {"code": INVALID_PARAMS, "message": text}
    kind = type(error)
    if kind.__module__.startswith("agent_ls.") and kind.__name__ != "BugError":
        said = {"code": REQUEST_FAILED, "message": str(error)}
        # A client may wait for that, so it has a name: an error's words are no protocol.
        return {**said, "data": SESSION_HELD} if kind.__name__ == "SessionHeld" else said
    if isinstance(error, OSError):
        # For example a name that is too long, or an unreadable folder.
        return {"code": REQUEST_FAILED, "message": f"The disk refused it: {error.strerror}."}
    text = f"agent-ls failed in {method}: {kind.__name__}: {error}"
    return {"code": INTERNAL_ERROR, "message": text[:500]}


def _places(error: Exception) -> str:
    """Where a value is wrong and why, without the value itself."""
    if callable(getattr(error, "errors", None)):
        # Cheap here: the registered models have already imported their library.
        from agent_ls.domain.mistakes import mistakes_said

        return mistakes_said(cast(Any, error))[:1000]
    try:
        lines = transform_error(error)
    except Exception:
        lines = [f"{type(error).__name__}: {error}"]
    return "; ".join(lines)[:1000]


def _drop_traces(error: BaseException) -> None:
    """Cut an error and all errors in it from the frames that raised them, which hold them in turn.

    Thousands of errors of one message would otherwise wait for the next full collection.
    """
    waiting = [error]
    while waiting:
        one = waiting.pop()
        one.__traceback__ = one.__context__ = None
        if isinstance(one, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", one).exceptions


# Known deviations of clients from the specification must not fail a whole request.


def _tolerated(converter: Converter, method: str, raw: Any) -> Any:
    if not isinstance(raw, dict):
        return raw
    params = cast(dict[str, Any], raw)
    if method == types.INITIALIZE:
        return _tolerated_initialize(converter, params)
    if method == types.TEXT_DOCUMENT_CODE_ACTION:
        return _tolerated_code_action(converter, params)
    return params


def _tolerated_initialize(converter: Converter, params: dict[str, Any]) -> dict[str, Any]:
    """Drops each capability and option that does not fit: newer clients send newer values."""
    if _fits(converter, params, types.InitializeParams):
        return params
    logger.warning("Parts of the client's initialize request were not understood and left out")

    def fits_beside(member: dict[str, Any]) -> bool:
        return _fits(converter, {"capabilities": {}, **member}, types.InitializeParams)

    kept = _fitting({**params, "capabilities": {}}, fits_beside)
    for group, members in _fitting(params.get("capabilities"), lambda _: True).items():

        def fits_group(member: dict[str, Any], group: str = group) -> bool:
            return _fits(converter, {group: member}, types.ClientCapabilities)

        kept["capabilities"][group] = _fitting(members, fits_group)
    return kept


def _fitting(members: Any, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Return the members that fit on their own; empty when `members` is no object."""
    found = cast(dict[str, Any], members if isinstance(members, dict) else {})
    return {name: one for name, one in found.items() if fits({name: one})}


def _tolerated_code_action(converter: Converter, params: dict[str, Any]) -> dict[str, Any]:
    """Drops other servers' diagnostics that do not fit."""
    context = params.get("context")
    if _fits(converter, params, types.CodeActionParams) or not isinstance(context, dict):
        return params
    known = cast(dict[str, Any], context)
    diagnostics = known.get("diagnostics")
    told = cast("list[Any]", diagnostics) if isinstance(diagnostics, list) else []
    fitting = [one for one in told if _fits(converter, one, types.Diagnostic)]
    return {**params, "context": {**known, "diagnostics": fitting}}


def _fits(converter: Converter, raw: Any, expected: Any) -> bool:
    try:
        converter.structure(raw, expected)
    except Exception as error:
        _drop_traces(error)
        return False
    return True
