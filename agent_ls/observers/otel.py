"""Sends spans to the OpenTelemetry collector in the settings, if one is set.

The packages come with the extra ``otel`` and are imported only if an endpoint is set. Spans hold
no texts of users, models or tools unless ``telemetry.content`` is on.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from agent_ls import __version__
from agent_ls.domain.errors import SettingsError
from agent_ls.domain.record import Record
from agent_ls.extras import install_command
from agent_ls.loop.state.state import SessionState
from agent_ls.observers.spans import Spans

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider


class TelemetryOptions(Record):
    """Where spans go; nowhere by default."""

    endpoint: str = ""
    """An OTLP collector's address, such as ``http://localhost:4318``; empty: nothing is sent."""
    content: bool = False
    """Put prompts, answers, arguments and results into the spans, secrets masked."""
    service_name: str = "agent-ls"
    """How the spans' source is called."""


class Telemetry:
    """Exports the spans of all sessions of one process."""

    def __init__(self, options: TelemetryOptions, provider: TracerProvider) -> None:
        """See ``open_telemetry``."""
        self._options = options
        self._provider = provider
        self._tracer = provider.get_tracer("agent_ls", __version__)

    def reader(self, state: SessionState) -> Spans:
        """Return a reader that makes spans of one session from its current state on."""
        content = self._options.content
        spans = Spans(self._tracer, state.session_id, state.model, with_content=content)
        spans.begin(state)
        return spans

    def close(self) -> None:
        """Send the remaining spans; blocks for some seconds at most."""
        self._provider.shutdown()


def open_telemetry(options: TelemetryOptions) -> Telemetry | None:
    """Return the exporter of spans; None if no endpoint is set.

    Errors: ``SettingsError`` if an endpoint is set but the packages are missing.
    """
    if not options.endpoint:
        return None
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.exporter") is None:
        raise SettingsError(
            "telemetry.endpoint is set, but the packages it needs are missing: "
            f"run `{install_command('otel')}`, or take the setting away."
        )
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create(
        {"service.name": options.service_name, "service.version": __version__}
    )
    # Our own provider, not the global one, so that no other library sends spans.
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=f"{options.endpoint.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return Telemetry(options, provider)
