"""The operator's collector gets one trace from the delivery to the pull request, and no secrets."""

from __future__ import annotations

from contextlib import asynccontextmanager

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@asynccontextmanager
async def collector():
    """A collector on loopback; yields its address, and what came: (header, spans)."""
    came = []

    async def take(request):
        sent = ExportTraceServiceRequest.FromString(await request.read())
        spans = [s for r in sent.resource_spans for part in r.scope_spans for s in part.spans]
        came.append((request.headers.get("authorization"), spans))
        return web.Response(body=b"", content_type="application/x-protobuf")

    application = web.Application()
    application.router.add_post("/v1/traces", take)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", came
    finally:
        await runner.cleanup()


async def test_one_trace_from_the_delivery_to_the_pull_request(make_place):
    async with collector() as (url, came):
        more = {
            "FETTLE_OTLP_URL": url,
            "FETTLE_OTLP_HEADERS": '{"authorization": "Bearer for-the-collector"}',
        }
        async with make_place(**more) as place:
            await place.label()
            await place.ends("pull_request")
            await place.server.stop()  # what is left is sent at the end

    spans = [span for _, batch in came for span in batch]
    assert {header for header, _ in came} == {"Bearer for-the-collector"}
    run = next(span for span in spans if span.name == "run")
    trace = [span for span in spans if span.trace_id == run.trace_id]
    root = next(span for span in trace if not span.parent_span_id)
    known = {span.span_id for span in trace}
    assert root.name == "issues"
    assert all(span.parent_span_id in known for span in trace if span is not root)
    names = {span.name for span in trace}
    assert {"access/1", "stage/triage/1", "stage/publish/1", "command", "github POST"} <= names
    assert any(name.startswith("model ") for name in names)
    assert min(span.start_time_unix_nano for span in trace) == root.start_time_unix_nano
    text = repr(spans)
    assert "ghs_" not in text
    assert "adds one too many" not in text.lower()
    assert "/repos/{owner}/{repo}/issues/{number}/reactions" in text
    assert "octo-org/calc" not in text, "branches, labels and files are called as people like"


async def test_a_collector_that_is_away_holds_nothing_up(make_place):
    async with make_place(FETTLE_OTLP_URL="http://127.0.0.1:9") as place:
        await place.label()

        await place.ends("pull_request")
