"""The Messages API client: one request to Claude, or to a server that speaks the same API.

Caching: one-hour markers stand behind the common tools and behind the system prompt, which follows
all tools, because a parked run comes back late; a five-minute marker moves along with the tail.
That one is the request's own `cache_control`, which the API applies to the last block, so that the
journalled messages go out as they are: thinking blocks are signed over all before them, and the
API refuses a conversation that was edited.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from agents.errors import (
    ConfigError,
    ContextFull,
    FettleError,
    Overloaded,
    PrefixChanged,
    RunError,
    TransientError,
)
from agents.loop.prices import cost_of, usage_of
from agents.ports import Answer, Query

if TYPE_CHECKING:
    from anthropic import APIError, AsyncAnthropic, AsyncMessageStream
    from anthropic.types import Message

# ruff: noqa: PLC0415 - the SDK has 3,000 modules and takes 40 MiB: it waits for the first question

log = logging.getLogger(__name__)

LONGEST_WAIT = 20.0  # seconds inside a call; for longer the run had better be put back
LOOK_BACK = 20  # blocks that a cache marker looks back to find the entry of an earlier one
HOUR = {"type": "ephemeral", "ttl": "1h"}
MINUTES = {"type": "ephemeral"}
# An error event inside a stream comes with status 200: its type says what it means.
REFUSALS = ("invalid_request_error", "not_found_error", "request_too_large")
FULL, NO_ROOM = (429, 529), ("rate_limit_error", "overloaded_error")
CREDENTIALS = ("authentication_error", "billing_error", "permission_error")


class ClaudeModel:
    """The port `Model` over the Messages API, always streamed.

    `plain` is for servers that know only the API's core: no thinking, effort, cache markers or
    strict tools are asked for. `tries` counts the attempts at one answer, `backoff` is the first
    pause in seconds, `timeout` the longest silence of the server.
    """

    def __init__(
        self,
        api_key: str | None,
        base_url: str | None = None,
        *,
        plain: bool = False,
        tries: int = 4,
        backoff: float = 1.0,
        timeout: float = 300.0,
    ) -> None:
        if not api_key and not base_url:
            raise ConfigError(
                "ANTHROPIC_API_KEY is not set, so no model can be asked. Set it, or set"
                " ANTHROPIC_BASE_URL to a server that needs no key."
            )
        self._plain, self._tries, self._backoff = plain, tries, backoff
        self._key = api_key or ""
        self._base_url, self._timeout = base_url or "https://api.anthropic.com", timeout
        self._client: AsyncAnthropic | None = None

    async def answer(self, query: Query) -> Answer:
        """Return the model's answer; refusals and cut-off answers are told by `stop_reason`."""
        request = _request(query, plain=self._plain)
        started = time.monotonic()
        for attempt in range(1, self._tries + 1):
            try:
                message, request_id = await self._ask(request)
                break
            except TransientError as error:
                pause = error.retry_after
                if pause is None:
                    pause = self._backoff * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)
                if attempt == self._tries or pause > LONGEST_WAIT:
                    raise
                log.info("model call failed, again in %.1f s: %s", pause, error)
                await asyncio.sleep(pause)
        usage, whole = usage_of(message.usage), message.to_dict(mode="json", warnings=False)
        return Answer(
            content=whole["content"],  # type: ignore[arg-type]  # typed as a plain object
            stop_reason=str(message.stop_reason),
            usage=usage,
            cost_usd=cost_of(message.model, usage),
            model=message.model,
            request_id=request_id,
            seconds=time.monotonic() - started,
            category=str((message.stop_details and message.stop_details.category) or ""),
        )

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    async def _open(self) -> AsyncAnthropic:
        # A thread imports the SDK and the prices, for a second or so: the loop goes on meanwhile.
        for name in ("anthropic", "genai_prices"):
            await asyncio.to_thread(import_module, name)
        from anthropic import AsyncAnthropic, Timeout

        if self._client is None:
            # Always both, or the SDK looks for them in the environment. Its own retries are off:
            # they obey a Retry-After of any length, and they do not see a stream that breaks.
            self._client = AsyncAnthropic(
                api_key=self._key or "none",
                base_url=self._base_url,
                max_retries=0,
                timeout=Timeout(self._timeout, connect=10.0),
            )
        return self._client

    async def _ask(self, request: Mapping[str, Any]) -> tuple[Message, str | None]:
        client = self._client or await self._open()
        from anthropic import APIError

        try:
            async with client.messages.stream(**request) as stream:
                return await _read(stream), stream.request_id
        except APIError as error:
            raise _translate(error, self._key) from error


async def _read(stream: AsyncMessageStream[Any]) -> Message:
    """Return the whole message; TransientError when the stream breaks, in whatever way."""
    from anthropic import APIError

    arguments: dict[int, str] = defaultdict(str)
    try:
        async for event in stream:
            if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                arguments[event.index] += event.delta.partial_json
        message = await stream.get_final_message()
        if message.stop_reason == "tool_use":
            # The SDK takes JSON that is cut off as if it were whole: no call may run on that.
            for text in filter(None, arguments.values()):
                json.loads(text)
    except APIError:
        raise
    except Exception as error:
        # A server can break a stream in ways the SDK has no class for: ValueError for bad JSON,
        # transport errors, an assertion for a page that is no stream at all.
        raise TransientError(f"The model's answer is broken: {type(error).__name__}.") from error
    if message.stop_reason is None:
        raise TransientError("The model's answer broke off before its end.")
    return message


def _request(query: Query, *, plain: bool) -> dict[str, Any]:
    core = {"model": query.model, "max_tokens": query.max_tokens}
    if plain:
        tools = [{k: v for k, v in tool.items() if k != "strict"} for tool in query.tools]
        return {**core, "system": query.system, "tools": tools, "messages": query.messages}
    tools = [dict(tool) for tool in query.tools]
    common = [tool for tool in tools if not tool["name"].startswith("submit_")]
    if common:  # every pipeline begins with these; the system prompt's marker holds all of them
        common[-1]["cache_control"] = HOUR
    return {
        **core,
        "system": [{"type": "text", "text": query.system, "cache_control": HOUR}],
        "tools": tools,
        "messages": _mark_previous_tail(query.messages),
        "cache_control": MINUTES,
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": query.effort},
        **(_drop_unbound() if query.drop_unbound else {}),
    }


def _drop_unbound() -> dict[str, Any]:
    """Return what has a conversation go on whose head is not the one it was thought under.

    https://docs.claude.com/en/docs/build-with-claude/extended-thinking
    """
    binding = {"prefix_mismatch_behavior": "drop_block"}
    return {
        "thinking": {"type": "adaptive", "display": "summarized", "block_binding": binding},
        "extra_headers": {"anthropic-beta": "thinking-binding-controls-2026-08-01"},
    }


def _mark_previous_tail(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Mark the tail of the previous request when the new tail's marker cannot look back that far.

    Many parallel calls in a turn would otherwise miss the cache. The mark is set on a copy, and
    markers are no content, neither for the cache nor for signatures.
    """
    answers = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    if not answers:
        return list(messages)
    before, since = messages[answers[-1] - 1], messages[answers[-1] :]
    between = sum(len(m["content"]) for m in since if isinstance(m["content"], list))
    if between < LOOK_BACK - 1 or isinstance(before["content"], str):
        return list(messages)
    *blocks, block = before["content"]
    marked = {**before, "content": [*blocks, {**block, "cache_control": MINUTES}]}
    return [*messages[: answers[-1] - 1], marked, *since]


def _translate(error: APIError, key: str) -> FettleError:
    """Return the error of the class that says who must act; its text never holds the key."""
    from anthropic import APIStatusError

    if not isinstance(error, APIStatusError):
        return TransientError(f"The model's server is out of reach: {error.__cause__ or error}.")
    status, kind = error.status_code, str(error.type)
    said = str(error.api_message or error.message)
    said = said.replace(key, "[key]") if key else said
    text = f"{said[:500]} (status {status}, request {error.request_id or 'without id'})"
    spent = "spend_limit" in (error.error_code or "")
    if status in (401, 402, 403) or kind in CREDENTIALS or spent:
        return ConfigError(
            f"The model's server refuses our credentials: {text}. Check ANTHROPIC_API_KEY, the"
            " account's credit and limits, and ANTHROPIC_BASE_URL."
        )
    if status in (408, 409, 429) or status >= 500 or (status == 200 and kind not in REFUSALS):
        wait = error.response.headers.get("retry-after", "")
        kind_of = Overloaded if status in FULL or kind in NO_ROOM else TransientError
        return kind_of(
            f"The model's server is busy or broken: {text}.",
            retry_after=float(wait) if wait.isdecimal() else None,
        )
    if "prompt is too long" in said or status == 413 or kind == "request_too_large":
        return ContextFull(f"The conversation is longer than the model can read: {text}.")
    kind_of_refusal = PrefixChanged if "signature" in said and "thinking" in said else RunError
    return kind_of_refusal(
        f"The model's server does not accept our request: {text}. Trying again would not change"
        " that: look at the model's name, the size of the conversation, and the server's limits."
    )
