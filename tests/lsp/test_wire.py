"""The custom protocol's types, and the files that follow from them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from agent_ls.lsp import wire
from agent_ls.lsp.diagnostics.review_choice import ReviewArgument
from agent_ls.lsp.handlers.verbs import VERBS

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_generated_files_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools/generate_wire.py", "--check"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert done.stdout == ""
    assert done.returncode == 0, done.stderr


def test_every_update_goes_out_tagged_and_in_camel_case() -> None:
    update = wire.ToolCallProgress(tool_call_id="cal_1", status="completed", duration_ms=3)
    params = wire.UpdateParams(session_id="ses_1", seq=4, updates=[update])
    sent = params.model_dump(mode="json", by_alias=True)
    assert sent["updates"][0]["sessionUpdate"] == "tool_call_update"
    assert sent["updates"][0]["toolCallId"] == "cal_1"
    assert wire.UpdateParams.model_validate(sent) == params


def test_fields_of_a_newer_client_are_ignored() -> None:
    params = wire.SnapshotParams.model_validate({"sessionId": "ses_1", "mood": 1})
    assert params.session_id == "ses_1"


_LINE: dict[str, Any] = {"line": 3, "endLine": 3, "message": "x"}


@pytest.mark.parametrize(
    ("kind", "needed"),
    [
        (wire.PromptParams, {"text": "Do it."}),
        (wire.AnchorParams, {"uri": "file:///a.py"}),
        (wire.SteerParams, {"text": "Do it."}),
        (wire.CancelParams, {}),
        (wire.SnapshotParams, {}),
        (wire.SessionsNewParams, {}),
        (wire.SessionsResumeParams, {}),
        (wire.ApprovalResolveParams, {}),
        (wire.QuestionResolveParams, {"text": "red"}),
        (wire.ConfigParams, {}),
        (wire.ReviewListParams, {}),
        (wire.ReviewDecideParams, {"decision": "undo"}),
        (wire.ReviewDiffParams, {"turnId": "trn_1", "path": "a.py"}),
        (wire.EditorDiagnostic, _LINE),
        (ReviewArgument, {}),
    ],
)
def test_null_is_the_same_as_nothing_where_that_may_be(
    kind: type[wire.Wire], needed: dict[str, Any]
) -> None:
    keys = {to_camel(name) for name in kind.model_fields} - needed.keys()
    assert keys
    assert kind.model_validate({**needed, **dict.fromkeys(keys)}) == kind.model_validate(needed)
    for key in needed:
        with pytest.raises(ValidationError):
            kind.model_validate({**needed, key: None})
    if issubclass(kind, wire.Deciding):
        with pytest.raises(ValidationError):
            kind.model_validate({**needed, "bogus": None})


@pytest.mark.parametrize("name", [one.method for one in VERBS if one.method])
def test_what_decides_leaves_nothing_unheard_and_what_only_reads_takes_newer_clients(
    name: str,
) -> None:
    (method,) = (one for one in VERBS if one.method == name)
    reading = (
        *("/list", "/models", "/access", "/snapshot", "/diff", "/complete"),
        *("/editorDiagnostics", "/sent", "/turns", "/context", "/text"),
    )
    reads = name.endswith(reading)
    assert issubclass(method.params, wire.Deciding) is not reads


def test_no_two_updates_share_a_tag() -> None:
    schema = TypeAdapter(wire.Update).json_schema(mode="serialization")
    mapping = (schema.get("discriminator") or schema["$defs"]["Update"]["discriminator"])["mapping"]
    assert len(mapping) == len(set(mapping.values())) == 34
