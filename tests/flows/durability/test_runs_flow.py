"""What an operator sees of a real run: its stages, conversation, changes; and one trace of it.

The collector gets the trace from the delivery to the pull request, and no secrets.
"""

from __future__ import annotations

import json
import os
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.flows.conftest import CHECKED, PATIENCE
from tests.flows.forked import call_fettle


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


async def fettle(place, *args):
    """Run the command as the operator would beside the server; return its JSON."""
    own = {"PATH": os.environ["PATH"], "FETTLE_DATA_DIR": str(place.server.data)}
    code, out, said = await call_fettle("runs", *args, "--json", environment=own)
    assert code == 0, said
    return json.loads(out)


async def test_all_of_a_run_can_be_looked_at_beside_the_server_and_is_one_trace(make_place):
    async with collector() as (url, came):
        more = {
            "FETTLE_OTLP_URL": url,
            "FETTLE_OTLP_HEADERS": '{"authorization": "Bearer for-the-collector"}',
        }
        async with make_place(CHECKED, **more) as place:
            await place.label()
            outcome = await place.ends("pull_request")
            await _look(place, outcome)
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


async def _look(place, outcome):
    [listed] = await fettle(place)
    assert listed["outcome"]["url"] == outcome.url
    assert (listed["repository"], listed["state"]) == ("octo-org/calc", "done")
    run = await fettle(place, "show", listed["short"], "--turns")

    names = [stage["stage"] for stage in run["stages"]]
    assert names[:5] == ["access/1", "prepare/1", "set_up/1", "gather/1", "triage/1"]
    assert {"implement/1", "evaluation/1", "check_quality/1", "publish/1"} <= set(names)
    assert {stage["state"] for stage in run["stages"]} == {"done"}
    starts = [stage["started_at"] for stage in run["stages"]]
    assert starts == sorted(starts)
    assert all(0 <= stage["seconds"] < PATIENCE for stage in run["stages"])
    assert sum(stage["answers"] for stage in run["stages"]) == run["answers"] > 3
    assert run["usd"] == pytest.approx(sum(stage["usd"] for stage in run["stages"]), abs=1e-4)

    changes = [turn["diff"]["text"] for turn in run["turns"] if turn["diff"]]
    assert changes
    assert "-    return a + b + 1" in changes[0]
