"""Where spans go: to the collector that was set, and nowhere without one.

The packages come with the extra ``otel`` and are imported only when an endpoint is set. Texts of
people, models and tools stay out of the spans unless ``telemetry.content`` lets them in.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from agent_ls import __version__
from agent_ls.domain.errors import SettingsError
from agent_ls.domain.record import Record
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
    """Takes the spans of all sessions of one process to where they are wanted."""

    def __init__(self, options: TelemetryOptions, provider: TracerProvider) -> None:
        """Take what sends the spans; see ``open_telemetry``."""
        self._options = options
        self._provider = provider
        self._tracer = provider.get_tracer("agent_ls", __version__)

    def reader(self, state: SessionState) -> Spans:
        """Return what follows one session from where it stands."""
        content = self._options.content
        spans = Spans(self._tracer, state.session_id, state.model, with_content=content)
        spans.begin(state)
        return spans

    def close(self) -> None:
        """Send what is left; blocks for as long as that takes, some seconds at most."""
        self._provider.shutdown()


def open_telemetry(options: TelemetryOptions) -> Telemetry | None:
    """Return the way out for spans; None when none is wanted.

    Errors: ``SettingsError`` when it is wanted and its packages are missing.
    """
    if not options.endpoint:
        return None
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.exporter") is None:
        raise SettingsError(
            "telemetry.endpoint is set, but the packages it needs are missing: "
            "install agent-ls[otel], or take the setting away."
        )
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create(
        {"service.name": options.service_name, "service.version": __version__}
    )
    # Our own provider, not the process's: nothing else in here gets to send spans.
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=f"{options.endpoint.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return Telemetry(options, provider)
