"""Joins what two servers say into one answer: capabilities, actions, hovers, lists.

Plain JSON values in and out; no I/O. ``ours`` is agent-ls, ``theirs`` the other server.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, cast

from agent_ls.lsp.connection.positions import ENCODINGS

Json = dict[str, Any]

FULL_SYNC: Final = 1
_ONE_SIDED: Final = frozenset({"positionEncoding", "semanticTokensProvider", "completionProvider"})
"""Taken whole from one server: a legend cannot be joined, and our ``/`` would trigger theirs."""
OWN_DATA: Final = "agent-ls"
"""Key of ``data`` in what is ours to resolve."""
RESOLVED: Final = {
    "codeAction/resolve": "codeActionProvider",
    "documentLink/resolve": "documentLinkProvider",
}
"""What ours resolves, by the capability that announces it."""
OWN_OPTIONS: Final = ("agent", "agent-ls")
"""Keys of ``initializationOptions`` that are ours; all others are the other server's."""


def wants(capabilities: Mapping[str, Any], method: str) -> bool:
    """Say whether a server announces a ``textDocument/…`` request with a provider of its name."""
    provider = method.split("/")[1] + "Provider" if "/" in method else ""
    # An empty object is a provider without options.
    return capabilities.get(provider, False) not in (None, False)


def params_for_theirs(params: Json, features: Collection[str]) -> Json:
    """Return the ``initialize`` params for the other server: only what we can pass on and merge.

    The other server pushes its diagnostics, and registers none of our ``features`` later, as the
    editor would ask for them twice.
    """
    told = _copied(params)
    told["processId"] = os.getpid()
    options = mapping(told.get("initializationOptions"))
    if options:
        told["initializationOptions"] = {k: options[k] for k in options if k not in OWN_OPTIONS}
    capabilities = mapping(told.get("capabilities"))
    general = mapping(capabilities.get("general"))
    if offered := general.get("positionEncodings"):
        general["positionEncodings"] = [one for one in offered if one in ENCODINGS] or ["utf-16"]
    for name, declared in mapping(capabilities.get("textDocument")).items():
        if f"textDocument/{name}" in features or name == "synchronization":
            _forbid_registering(declared)
    _forbid_registering(mapping(capabilities.get("workspace")).get("executeCommand"))
    _without_pull(capabilities)
    return told


def params_for_ours(params: Json, encodings: list[Any] | None) -> Json:
    """Return the ``initialize`` params for our server; ``encodings`` None: as the editor offers.

    Our options lie under ``agent-ls``.
    """
    told = _copied(params)
    options = mapping(told.get("initializationOptions"))
    told["initializationOptions"] = {
        **mapping(options.get("agent-ls")),
        **({"agent": options["agent"]} if "agent" in options else {}),
    }
    capabilities = mapping(told.setdefault("capabilities", {}))
    general = capabilities.get("general")
    if encodings is not None:
        capabilities["general"] = {**mapping(general), "positionEncodings": encodings}
    _without_pull(capabilities)
    return told


def encoding_fits(params: Json, encoding: object) -> bool:
    """Say whether a server may choose this position encoding; None stands for UTF-16."""
    general = mapping(mapping(params.get("capabilities")).get("general"))
    offered = general.get("positionEncodings") or ()
    return encoding in (None, "utf-16") or (encoding in offered and encoding in ENCODINGS)


def settings_for_ours(params: object) -> Json:
    """Return ``didChangeConfiguration`` params with our own section alone."""
    settings = mapping(mapping(params).get("settings"))
    return {"settings": {"agent-ls": settings.get("agent-ls") or {}}}


def merged_capabilities(ours: Json, theirs: Json) -> Json:
    """Return what both servers can do together."""
    merged = _merged(theirs, ours)
    sync = mapping(_as_options(theirs.get("textDocumentSync")))
    own = mapping(_as_options(ours.get("textDocumentSync")))
    if own:
        wanted = [one for one in (own.get("change"), sync.get("change")) if one in (1, 2)]
        merged["textDocumentSync"] = {
            **_merged(sync, own),
            "openClose": True,
            "change": FULL_SYNC if FULL_SYNC in wanted else max(wanted, default=FULL_SYNC),
        }
    actions = [mapping(one.get("codeActionProvider")) for one in (ours, theirs)]
    if theirs.get("codeActionProvider") and not all("codeActionKinds" in one for one in actions):
        # A server that lists no kinds may offer any.
        options = mapping(merged["codeActionProvider"])
        merged["codeActionProvider"] = {k: options[k] for k in options if k != "codeActionKinds"}
    return merged


def _merged(first: Any, second: Any) -> Any:
    """Join two values of one capability; where they differ, ``first`` counts."""
    if isinstance(first, dict) and isinstance(second, dict):
        a, b = cast(Json, first), cast(Json, second)
        joined = {
            key: a[key] if key in _ONE_SIDED else _merged(a[key], b[key]) for key in a if key in b
        }
        return {**b, **a, **joined}
    if isinstance(first, list) and isinstance(second, list):
        found = cast(list[Any], first)
        return [*found, *(one for one in cast(list[Any], second) if one not in found)]
    if isinstance(first, bool) and isinstance(second, bool):
        return first or second
    if isinstance(second, dict) and isinstance(first, bool):
        return cast(Any, second)
    return cast(Any, second if first is None else first)


def _as_options(sync: Any) -> Any:
    return {"openClose": bool(sync), "change": sync} if isinstance(sync, int) else sync


# Results.


def joined_actions(ours: Any, theirs: Any) -> Any:
    """Return code actions: ours that answer or fix, then theirs, then our others."""
    own = _list(ours)
    first = [one for one in own if str(mapping(one).get("kind", "")).startswith("quickfix")]
    return [*first, *_list(theirs), *(one for one in own if one not in first)]


def joined_lists(ours: Any, theirs: Any) -> Any:
    """Return both lists, theirs first."""
    return [*_list(theirs), *_list(ours)]


def joined_hovers(ours: Any, theirs: Any) -> Any:
    """Return one hover with both texts, ours last."""
    parts = [one for one in (mapping(theirs), mapping(ours)) if one.get("contents")]
    if len(parts) < 2:
        return parts[0] if parts else None
    is_plain = any(mapping(one["contents"]).get("kind") == "plaintext" for one in parts)
    texts = [text for one in parts for text in _texts(one["contents"], is_plain=is_plain)]
    rule = "\n\n" if is_plain else "\n\n---\n\n"
    kind = "plaintext" if is_plain else "markdown"
    return {**parts[0], "contents": {"kind": kind, "value": rule.join(texts)}}


def _texts(contents: Any, *, is_plain: bool) -> Iterator[str]:
    for one in cast(list[Any], contents) if isinstance(contents, list) else [contents]:
        if isinstance(one, str):
            yield one
        elif text := str(mapping(one).get("value", "")):
            language = mapping(one).get("language")
            yield text if is_plain or language is None else f"```{language}\n{text}\n```"


MERGED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "textDocument/codeAction": joined_actions,
    "textDocument/codeLens": joined_lists,
    "textDocument/documentLink": joined_lists,
    "textDocument/hover": joined_hovers,
    "shutdown": lambda ours, theirs: None,
}
"""Requests that both servers answer; any other goes to one of them."""


def _copied(value: Any) -> Any:
    """Return a deep copy of JSON values."""
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in cast(Json, value).items()}
    return [_copied(one) for one in cast(list[Any], value)] if isinstance(value, list) else value


def mapping(value: Any) -> Json:
    """Return a JSON object as it is, and an empty one for any other value."""
    return cast(Json, value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []


def _forbid_registering(declared: Any) -> None:
    if "dynamicRegistration" in mapping(declared):
        declared["dynamicRegistration"] = False


def _without_pull(capabilities: Json) -> None:
    mapping(capabilities.get("textDocument")).pop("diagnostic", None)
    mapping(capabilities.get("workspace")).pop("diagnostics", None)
