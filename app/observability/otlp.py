"""Export spans to the operator's OTLP collector, by the optional extra `otel`.

Spans go out over HTTP in batches, from a thread of their own.
https://opentelemetry.io/docs/specs/otlp
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING

from agents.errors import ConfigError
from app.observability.tracing import NoTracing, OpenTracing, Tracing, ids_for

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

TRACES = "/v1/traces"
FLUSH_SECONDS = 5
_LACKING = (
    "FETTLE_OTLP_URL is set, but OpenTelemetry is not installed. Run `deploy/setup.sh extras` in"
    " the checkout, or build the image with LOCK=requirements-extras.lock; or unset it."
)


@asynccontextmanager
async def open_tracing(url: str | None, headers: Mapping[str, str]) -> AsyncIterator[Tracing]:
    """Open the export to the collector; at the end the remaining spans are sent.

    Raises ConfigError when an address is set and the extra `otel` is not installed.
    """
    if url is None:
        yield NoTracing()
        return
    provider = make_provider(_batches(f"{url.rstrip('/')}{TRACES}", headers))
    try:
        yield OpenTracing(provider.get_tracer("fettle"))
    finally:
        await asyncio.to_thread(provider.shutdown)


def make_provider(processor: SpanProcessor) -> TracerProvider:
    """Return a tracer provider for this processor, whose root spans get the wanted ids."""
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - not everywhere installed
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - the same
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator  # noqa: PLC0415 - the same

    class Ids(RandomIdGenerator):
        def generate_span_id(self) -> int:
            return ids_for(super().generate_span_id, 1)

        def generate_trace_id(self) -> int:
            return ids_for(super().generate_trace_id, 0)

    provider = TracerProvider(
        resource=Resource({"service.name": "fettle", "service.version": version("fettle")}),
        id_generator=Ids(),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(processor)
    return provider


def _batches(endpoint: str, headers: Mapping[str, str]) -> SpanProcessor:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - as above
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - as above
    except ImportError as error:
        raise ConfigError(_LACKING) from error
    exporter = OTLPSpanExporter(endpoint=endpoint, headers=dict(headers), timeout=FLUSH_SECONDS)
    return BatchSpanProcessor(exporter)
