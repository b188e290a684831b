"""Reads the three kinds of JSON that commands which check print; what is no such JSON is refused.

Types say what is needed of it. Numbers may be written as strings or with a point, what is not
used may be anything, and what is not needed is 0, or empty, where it is missing or null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from agent_ls.checkers.command_output import SEVERITIES, UNPARSABLE, Said
from agent_ls.domain.findings import Severity


def _or(value: Any) -> BeforeValidator:
    return BeforeValidator(lambda given: value if given is None else given)


_Number = Annotated[int, _or(0)]
_Text = Annotated[str, _or("")]
_ESLINT_ERROR = 2


class _Printed(BaseModel):
    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True, alias_generator=to_camel)


class _EslintMessage(_Printed):
    message: str
    severity: int
    fatal: Annotated[bool, _or(False)] = False
    rule_id: _Text = ""
    line: _Number = 0
    column: _Number = 0
    end_line: _Number = 0
    end_column: _Number = 0


class _EslintFile(_Printed):
    file_path: str
    messages: tuple[_EslintMessage, ...]


class _Position(_Printed):
    line: int
    character: int


class _Range(_Printed):
    start: _Position
    end: _Position


class _PyrightDiagnostic(_Printed):
    file: str
    severity: str
    message: str
    range: _Range | None = None
    rule: _Text = ""


class _PyrightOutput(_Printed):
    general_diagnostics: tuple[_PyrightDiagnostic, ...]


class _SarifRegion(_Printed):
    start_line: _Number = 0
    start_column: _Number = 0
    end_line: _Number = 0
    end_column: _Number = 0


class _SarifArtifact(_Printed):
    uri: _Text = ""


class _SarifPhysical(_Printed):
    artifact_location: Annotated[_SarifArtifact, _or(_SarifArtifact())] = _SarifArtifact()
    region: Annotated[_SarifRegion, _or(_SarifRegion())] = _SarifRegion()


class _SarifPlace(_Printed):
    physical_location: Annotated[_SarifPhysical, _or(_SarifPhysical())] = _SarifPhysical()


_SarifMaybePlace = Annotated[_SarifPlace, _or(_SarifPlace())]


class _SarifMessage(_Printed):
    text: _Text = ""


class _SarifResult(_Printed):
    message: Annotated[_SarifMessage, _or(_SarifMessage())] = _SarifMessage()
    level: Annotated[str, _or("warning")] = "warning"
    rule_id: _Text = ""
    locations: Annotated[tuple[_SarifMaybePlace, ...], _or(())] = ()


class _SarifRun(_Printed):
    results: Annotated[tuple[_SarifResult, ...], _or(())] = ()


class _SarifOutput(_Printed):
    runs: tuple[_SarifRun, ...]


def read_json(kind: str, output: str) -> list[Said]:
    """Return what JSON of this kind says. Errors: ``ValueError`` when it is no such JSON."""
    try:
        return list(_READERS[kind](output))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        reason = f"{place}: {first['msg']}" if place else first["msg"]
        raise ValueError(f"it is no output of that kind: {reason}.") from None


_ESLINT = TypeAdapter(tuple[_EslintFile, ...])


def _of_eslint(output: str) -> Iterable[Said]:
    for file in _ESLINT.validate_json(output):
        for one in file.messages:
            yield Said(
                path=file.file_path,
                message=one.message,
                line=one.line,
                column=one.column,
                end_line=one.end_line,
                end_column=one.end_column,
                code=UNPARSABLE if one.fatal else one.rule_id,
                severity=Severity.ERROR if one.severity == _ESLINT_ERROR else Severity.WARNING,
            )


def _of_pyright(output: str) -> Iterable[Said]:
    for one in _PyrightOutput.model_validate_json(output).general_diagnostics:
        if one.range is None:
            continue
        yield Said(
            path=one.file,
            message=one.message,
            line=one.range.start.line + 1,
            column=one.range.start.character + 1,
            end_line=one.range.end.line + 1,
            end_column=one.range.end.character + 1,
            code=one.rule,
            severity=SEVERITIES.get(one.severity),
        )


def _of_sarif(output: str) -> Iterable[Said]:
    for run in _SarifOutput.model_validate_json(output).runs:
        for one in run.results:
            for place in one.locations[:1]:
                region = place.physical_location.region
                yield Said(
                    path=_path_of(place.physical_location.artifact_location.uri),
                    message=one.message.text,
                    line=region.start_line,
                    column=region.start_column,
                    end_line=region.end_line or region.start_line,
                    end_column=region.end_column,
                    code=one.rule_id,
                    severity=SEVERITIES.get(one.level),
                )


def _path_of(uri: str) -> str:
    try:
        return unquote(urlsplit(uri).path)
    except ValueError:
        # It names no file, and other results do.
        return uri


_READERS: dict[str, Callable[[str], Iterable[Said]]] = {
    "eslint": _of_eslint,
    "pyright": _of_pyright,
    "sarif": _of_sarif,
}
