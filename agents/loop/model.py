"""The Messages API client: one request to Claude, by whatever way its server is reached.

Caching: markers stand behind the common tools and behind the system prompt, which follows all
tools; how long they last is said by `cache_lifetime`. A five-minute marker moves along with the
tail. It is set on a copy of the last message: the journalled ones stay as they are, since thinking
blocks are signed over all before them and the API refuses a conversation that was edited. (Requests
can carry that marker themselves, but not on every cloud, nor through every gateway.)
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agents.errors import (
    ConfigError,
    ContextFull,
    FettleError,
    ModelClosed,
    Overloaded,
    PrefixChanged,
    RunError,
    TransientError,
)
from agents.loop.access import ModelAccess, hide, import_beside_loop, said_in
from agents.loop.cache_lifetime import MINUTES, CacheLifetimes
from agents.loop.model_names import CORE, apply_declared, find_known, read_capabilities
from agents.loop.prices import PriceList, usage_of
from agents.loop.retries import Retries
from agents.loop.turns import THOUGHTS
from agents.ports import Answer, Capabilities, Query, Usage

if TYPE_CHECKING:
    from anthropic import APIError, AsyncAnthropic, AsyncMessageStream
    from anthropic.types import Message
    from anthropic.types.beta import BetaMessage

# ruff: noqa: PLC0415 - the SDK has 3,000 modules and takes 40 MiB: it waits for the first question

Ask = Callable[[Mapping[str, Any]], Awaitable["tuple[Message | BetaMessage, str | None]"]]

LOOK_BACK = 20  # blocks that a cache marker looks back to find the entry of an earlier one
# An error event inside a stream comes with status 200: its type says what it means.
REFUSALS = ("invalid_request_error", "not_found_error", "request_too_large")
FULL, NO_ROOM = (429, 529), ("rate_limit_error", "overloaded_error")
BUSY = (408, 429, 503, 529)
BINDING_BETA, COMPACTION_BETA = "thinking-binding-controls-2026-08-01", "compact-2026-09-04"
LONGEST_SUMMARY = 16_000  # tokens
TOO_LONG = ("prompt is too long", "exceed context limit")
NO_CREDIT = "credit balance is too low"  # which is said as a request that is wrong
CREDENTIALS = ("authentication_error", "billing_error", "permission_error")


class ClaudeModel:
    """The port `Model` over the Messages API, always streamed.

    `access` is the way to a server that speaks it. `declared` says by a model's name, or `*` for
    all, what the operator knows better than the server and our table, `prices` what answers cost.
    `tries` counts the attempts at one answer, `backoff` is the first pause in seconds, `timeout`
    the longest silence of the server.
    """

    def __init__(
        self,
        access: ModelAccess,
        *,
        declared: Mapping[str, Mapping[str, Any]] | None = None,
        prices: PriceList | None = None,
        tries: int = 4,
        backoff: float = 1.0,
        timeout: float = 300.0,
    ) -> None:
        self._access, self._timeout = access, timeout
        self._retries = Retries(tries, backoff)
        self._declared, self._prices = declared or {}, prices or PriceList()
        self._capabilities: dict[str, Capabilities] = {}
        self._lifetimes = CacheLifetimes()
        self._client: AsyncAnthropic | None = None

    async def answer(self, query: Query) -> Answer:
        """Return the model's answer; refusals and cut-off answers are told by `stop_reason`."""
        request = _request(query, self._lifetimes.choose(query))
        started = time.monotonic()
        ask: Ask = self._compact if query.compact else self._ask
        message, request_id = await self._retries.repeat(lambda: ask(request))
        usage, whole = usage_of(message.usage), message.to_dict(mode="json", warnings=False)
        return Answer(
            content=whole["content"],  # type: ignore[arg-type]  # typed as a plain object
            stop_reason=str(message.stop_reason),
            usage=usage,
            cost_usd=self._cost(message.model, query.model, usage),
            model=message.model,
            request_id=request_id,
            seconds=time.monotonic() - started,
            category=str((message.stop_details and message.stop_details.category) or ""),
        )

    def _cost(self, answered: str, asked: str, usage: Usage) -> float:
        """Return the dollars by the name that the server says, else by the one that was asked."""
        costs = (self._prices.cost_of(name, usage) for name in (answered, asked))
        return next((cost for cost in costs if cost is not None), 0.0)

    async def capabilities(self, model: str) -> Capabilities:
        """Return what the model understands: its server says so, else our table; or the operator.

        Gateways have no such page, or another one: whatever they answer, the table holds then.
        Raises ConfigError for a key that is refused and a model without a price, too.
        """
        if model not in self._capabilities:
            await self._open()  # imports what knows the prices, beside the loop
            self._prices.require(model)
            known = find_known(model)
            try:
                found = await self._ask_about(model, known or CORE)
            except TransientError:
                if known is None:
                    raise
                return apply_declared(
                    known, self._declared, model
                )  # not kept: the next one asks again
            self._capabilities[model] = apply_declared(found, self._declared, model)
        return self._capabilities[model]

    async def _ask_about(self, model: str, otherwise: Capabilities) -> Capabilities:
        client = self._client or await self._open()
        from anthropic import AnthropicError, APIConnectionError, APIStatusError

        try:
            with self._translate_signing():
                said = await self._access.look_up(client, model)
        except APIConnectionError as error:
            raise _translate(error, self._access) from error
        except APIStatusError as error:
            if error.status_code in (*BUSY, *self._access.final):
                raise _translate(error, self._access) from error
            return otherwise
        except (AnthropicError, ValueError, AttributeError):  # a page of another kind
            return otherwise
        return read_capabilities(said, otherwise)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    async def _open(self) -> AsyncAnthropic:
        await import_beside_loop("genai_prices")
        if self._client is None:
            opened = await self._access.open(self._timeout)
            if self._client is None:
                self._client = opened
            else:  # several runs have begun at once
                await opened.close()
        return self._client

    async def _ask(self, request: Mapping[str, Any]) -> tuple[Message, str | None]:
        client = self._client or await self._open()
        with self._translate_errors():
            async with client.messages.stream(**request) as stream:
                return await _read(stream), stream.request_id

    async def _compact(self, request: Mapping[str, Any]) -> tuple[BetaMessage, str | None]:
        """Have the conversation summed up; such an answer is a single block.

        https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand
        """
        client = self._client or await self._open()
        with self._translate_errors():
            message = await client.beta.messages.create(
                **{**request, "max_tokens": min(request["max_tokens"], LONGEST_SUMMARY)},
                compaction={"type": "summarize"},
                timeout=self._timeout,
            )
        return message, message._request_id  # noqa: SLF001 - as the SDK documents it

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        from anthropic import APIError

        try:
            with self._translate_signing():
                yield
        except APIError as error:
            raise _translate(error, self._access) from error

    @contextmanager
    def _translate_signing(self) -> Iterator[None]:
        from anthropic import APIError

        try:
            yield
        except (APIError, FettleError):
            raise
        except Exception as error:  # what signs requests has errors of its own
            if remedy := self._access.explain(error):
                raise ConfigError(f"The model cannot be asked: {remedy}") from error
            raise


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


def _request(query: Query, lifetime: Mapping[str, str]) -> dict[str, Any]:
    can = query.capabilities
    tools = [dict(tool) for tool in query.tools]
    request: dict[str, Any] = {
        "model": query.model,
        "max_tokens": min(query.max_tokens, can.longest_answer),
        "system": query.system,
        "tools": tools,
        "messages": query.messages,
    }
    if not can.strict_tools:
        for tool in tools:
            tool.pop("strict", None)
    if can.cache_markers:
        common = [tool for tool in tools if not tool["name"].startswith("submit_")]
        if common:  # every pipeline begins with these; the system prompt's marker holds all
            common[-1]["cache_control"] = lifetime
        request["system"] = [{"type": "text", "text": query.system, "cache_control": lifetime}]
        request["messages"] = _mark_tails(query.messages)
    if can.effort:
        request["output_config"] = {"effort": query.effort}
    if not can.adaptive_thinking:
        return request | {"messages": _leave_out_thoughts(request["messages"])}
    request["thinking"] = {"type": "adaptive", "display": "summarized"}
    if query.drop_unbound:
        request |= _drop_unbound()
    betas = [BINDING_BETA] if query.drop_unbound else []
    if query.compact or _is_compacted(query.messages):
        betas.append(COMPACTION_BETA)
    return request | ({"extra_headers": {"anthropic-beta": ",".join(betas)}} if betas else {})


def _is_compacted(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a block stands first that a server summed the conversation up in."""
    return bool(messages) and messages[0]["role"] == "assistant"


def _leave_out_thoughts(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Leave out what another model thought: one that does not think this way cannot read it."""
    left = [
        {**message, "content": [b for b in message["content"] if b["type"] not in THOUGHTS]}
        if message["role"] == "assistant" and not isinstance(message["content"], str)
        else message
        for message in messages
    ]
    return [message for message in left if message["content"]]


def _drop_unbound() -> dict[str, Any]:
    """Return what has a conversation go on whose head is not the one it was thought under.

    https://docs.claude.com/en/docs/build-with-claude/extended-thinking
    """
    binding = {"prefix_mismatch_behavior": "drop_block"}
    return {"thinking": {"type": "adaptive", "display": "summarized", "block_binding": binding}}


def _mark_tails(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Mark the tail, and that of the previous request when the mark cannot look back that far.

    Many parallel calls in a turn would otherwise miss the cache. Marks are set on copies, and they
    are no content, neither for the cache nor for signatures.
    https://docs.claude.com/en/docs/build-with-claude/prompt-caching
    """
    marked = [*messages[:-1], _mark(messages[-1])]
    answers = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    if answers:
        since = messages[answers[-1] :]
        between = sum(len(m["content"]) for m in since if isinstance(m["content"], list))
        if between >= LOOK_BACK - 1:
            marked[answers[-1] - 1] = _mark(messages[answers[-1] - 1])
    return marked


def _mark(message: Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(message["content"], str):
        return message
    *blocks, block = message["content"]
    if block["type"] in THOUGHTS:  # of an answer that paused: they take no mark
        return message
    return {**message, "content": [*blocks, {**block, "cache_control": MINUTES}]}


def _translate(error: APIError, access: ModelAccess) -> FettleError:
    """Return the error of the class that says who must act; its text never holds a secret."""
    from anthropic import APIStatusError

    if not isinstance(error, APIStatusError):
        return TransientError(f"The model's server is out of reach: {error.__cause__ or error}.")
    status, kind = error.status_code, str(error.type)
    said = hide(said_in(error), access.secrets)
    text = f"{said[:500]} (status {status}, request {error.request_id or 'without id'})"
    spent = "spend_limit" in (error.error_code or "") or NO_CREDIT in said.lower()
    if status in (401, 402, 403) or kind in CREDENTIALS or spent:
        return ModelClosed(
            f"The model's server refuses our credentials: {text}. Check {access.settings}."
        )
    if status in (408, 409, 429) or status >= 500 or (status == 200 and kind not in REFUSALS):
        wait = error.response.headers.get("retry-after", "")
        kind_of = Overloaded if status in FULL or kind in NO_ROOM else TransientError
        return kind_of(
            f"The model's server is busy or broken: {text}.",
            retry_after=float(wait) if wait.isdecimal() else None,
        )
    if any(words in said for words in TOO_LONG) or status == 413 or kind == "request_too_large":
        return ContextFull(f"The conversation is longer than the model can read: {text}.")
    kind_of_refusal = PrefixChanged if "signature" in said and "thinking" in said else RunError
    return kind_of_refusal(
        f"The model's server does not accept our request: {text}. Trying again would not change"
        " that: look at the model's name and the server's limits. Where the server does not know a"
        " part of the request, say so in FETTLE_MODEL_CAPABILITIES."
    )
