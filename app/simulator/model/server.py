"""The Messages API on loopback, as JSON and as server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from app.simulator.model.answer import message_for, prefix_of, summary_for
from app.simulator.model.binding import bind
from app.simulator.model.cache import PrefixCache
from app.simulator.model.checks import (
    check_headers,
    read_count_request,
    read_request,
    spell_answer,
)
from app.simulator.model.faults import STATUS, AnswerFault, FaultKind
from app.simulator.model.ledger import LoggedRequest
from app.simulator.model.limits import ModelLimits
from app.simulator.model.refusal import ErrorAnswer, error_body
from app.simulator.model.script import Script, load_script
from app.simulator.model.stream import events_of, sse

Hook = Callable[[LoggedRequest], Awaitable[None]]
LARGEST_REQUEST = 32 * 1024 * 1024


class LocalModel:
    """A model that plays a script. Made by `start`, ended by `stop`.

    `requests` is the ledger of everything asked so far, `limits` what each model understands,
    `keys` those that it takes and `models` those that it has; none: any will do.
    """

    def __init__(self, script: Script, *, latency: float = 0.0, pace: float = 0.0) -> None:
        self.requests: list[LoggedRequest] = []
        self.limits: defaultdict[str, ModelLimits] = defaultdict(ModelLimits)
        self.keys: frozenset[str] = frozenset()
        self.models: frozenset[str] = frozenset()
        self.url = ""
        self._script, self._latency, self._pace = script, latency, pace
        self._cache = PrefixCache()
        self._faults: deque[AnswerFault] = deque()
        self._paused: set[str] = set()
        self._before: list[Hook] = []
        self._after: list[Hook] = []
        self._runner: web.AppRunner | None = None

    @classmethod
    async def start(
        cls, script: Script | Path, *, port: int = 0, latency: float = 0.0, pace: float = 0.0
    ) -> LocalModel:
        """Listen on 127.0.0.1; port 0 takes any free one.

        `latency` is the seconds before each answer, `pace` those between its stream events.
        Raises ScriptError, or OSError for a port that is taken.
        """
        loaded = load_script(script) if isinstance(script, Path) else script
        model = cls(loaded, latency=latency, pace=pace)
        application = web.Application(client_max_size=LARGEST_REQUEST)
        application.router.add_post("/v1/messages", model._messages)
        application.router.add_post("/v1/messages/count_tokens", model._count)
        application.router.add_get("/v1/models/{id}", model._model)
        model._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await model._runner.setup()
        try:
            await web.TCPSite(model._runner, "127.0.0.1", port).start()
        except OSError:
            await model.stop()
            raise
        host, bound = model._runner.addresses[0][:2]
        model.url = f"http://{host}:{bound}"
        return model

    async def stop(self) -> None:
        """Close the port and every connection."""
        if self._runner is not None:
            await self._runner.cleanup()

    def understand(self, body: bytes, betas: str = "") -> dict[str, Any]:
        """Return the request in these bytes; ErrorAnswer when the API would not take it.

        `betas` is the header that names what may be asked for beyond the API's core.
        """
        return read_request(body, betas=betas, paused=self._paused)

    def play(self, script: Script) -> None:
        """Play another script from now on."""
        self._script = script

    def clear(self) -> None:
        """Begin again: nothing was asked, nobody is called, nothing is to go wrong."""
        for each in (self.requests, self._before, self._after, self._faults):
            each.clear()

    def on_request(self, hook: Hook) -> None:
        """Have this called with each acceptable request, before its answer is computed."""
        self._before.append(hook)

    def on_answered(self, hook: Hook) -> None:
        """Have this called after the last byte of each whole answer was written."""
        self._after.append(hook)

    def fail_next(
        self, kind: FaultKind, times: int = 1, retry_after: float | None = None, category: str = ""
    ) -> None:
        """Disturb the next answers in that way, after those that are already planned."""
        self._faults.extend([AnswerFault(kind, retry_after, category)] * times)

    # --- POST /v1/messages ----------------------------------------------------------------------

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        asked = LoggedRequest(number=len(self.requests) + 1)
        self.requests.append(asked)
        try:
            check_headers(request.headers, self.keys)
            sent = await request.read()
            asked.size = len(sent)
            betas = request.headers.get("anthropic-beta", "")
            body = self.understand(sent, betas)
            asked.model, asked.messages = body["model"], len(body["messages"])
            asked.prefix = prefix_of(body)
            self._require_model(asked.model)
            self.limits[asked.model].check(body, betas)
            body, asked.dropped = bind(body)
            for hook in self._before:
                await hook(asked)
            return await self._answer(request, body, asked)
        except ErrorAnswer as refusal:
            return _refuse(asked, str(refusal), refusal.status, {})

    async def _answer(
        self, request: web.Request, body: Mapping[str, Any], asked: LoggedRequest
    ) -> web.StreamResponse:
        fault = self._faults.popleft() if self._faults else None
        asked.fault = fault.kind if fault else None
        if fault and fault.kind in STATUS:
            return _refuse(asked, fault.kind, STATUS[fault.kind], fault.headers)
        if body.get("compaction"):
            asked.part, latency = "compaction", self._latency
            message = summary_for(body, self._cache.account(body))
        else:
            cue = self._script.cue(body["messages"])
            asked.part, asked.turn = cue.part, cue.number
            latency = self._latency + cue.turn.latency
            message = message_for(body, cue, self._cache.account(body))
        message = fault.alter(message) if fault else message
        if message["stop_reason"] == "pause_turn":
            self._paused.add(spell_answer(message))
        asked.usage, asked.status = message["usage"], 200
        await asyncio.sleep(latency)
        headers = {"request-id": asked.request_id}
        answer: web.StreamResponse
        with contextlib.suppress(ConnectionError):  # whoever asked may have died in between
            if body.get("stream"):
                headers["content-type"] = "text/event-stream; charset=utf-8"
                answer = web.StreamResponse(headers=headers)
                await answer.prepare(request)
                await self._stream(request, answer, events_of(message), asked)
            else:
                answer = web.json_response(message, headers=headers)
                await answer.prepare(request)
                await self._finish(answer, asked)
        return answer

    async def _stream(
        self,
        request: web.Request,
        answer: web.StreamResponse,
        events: list[dict[str, Any]],
        asked: LoggedRequest,
    ) -> None:
        broken = asked.fault in ("stream_error", "truncated", "drop")
        for event in events[: len(events) // 2] if broken else events:
            await answer.write(sse(event))
            await asyncio.sleep(self._pace)
        if asked.fault == "drop" and request.transport is not None:
            request.transport.abort()
            return
        if asked.fault == "stream_error":
            await answer.write(sse(error_body(529, "Overloaded", asked.request_id)))
        if broken:
            await answer.write_eof()
            return
        await self._finish(answer, asked)

    async def _finish(self, answer: web.StreamResponse, asked: LoggedRequest) -> None:
        await answer.write_eof()
        asked.answered = True
        for hook in self._after:
            await hook(asked)

    # --- the rest of the API --------------------------------------------------------------------

    async def _count(self, request: web.Request) -> web.Response:
        try:
            check_headers(request.headers, self.keys)
            body = read_count_request(await request.read())
            self._require_model(body["model"])
            usage = PrefixCache().account(body)
        except ErrorAnswer as refusal:
            return web.json_response(
                error_body(refusal.status, str(refusal), "req_local_count"), status=refusal.status
            )
        return web.json_response(
            {"input_tokens": usage.input + usage.written_5m + usage.written_1h}
        )

    async def _model(self, request: web.Request) -> web.Response:
        name = request.match_info["id"]
        try:
            check_headers(request.headers, self.keys)
            self._require_model(name)
            return web.json_response(self.limits[name].describe(name))
        except ErrorAnswer as refusal:
            body = error_body(refusal.status, str(refusal), "req_local_model")
            return web.json_response(body, status=refusal.status)

    def _require_model(self, name: str) -> None:
        if self.models and name not in self.models:
            raise ErrorAnswer(f"model: {name}", 404)


def _refuse(
    asked: LoggedRequest, text: str, status: int, headers: Mapping[str, str]
) -> web.Response:
    asked.status, asked.error = status, text
    return web.json_response(
        error_body(status, text, asked.request_id),
        status=status,
        headers={**headers, "request-id": asked.request_id},
    )
