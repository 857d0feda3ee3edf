"""Models behind chat completions: OpenAI's, and whatever server speaks the same API."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agents.errors import (
    ConfigError,
    ContextFull,
    FettleError,
    ModelClosed,
    Overloaded,
    RunError,
    TransientError,
)
from agents.loop.access import UnknownModel, hide, import_beside_loop, import_extra, names_model
from agents.loop.chat_messages import STOP_REASONS, to_blocks, to_request, to_usage
from agents.loop.compaction import CHARACTERS, measure_block
from agents.loop.model_names import CORE, apply_declared
from agents.loop.prices import PriceList
from agents.loop.retries import Retries
from agents.ports import Answer, Block, Capabilities, Query, Usage

if TYPE_CHECKING:
    from ssl import SSLContext

    from openai import APIError, AsyncOpenAI
    from openai.types.chat import ChatCompletion

# ruff: noqa: PLC0415 - an extra, and as large as the other SDK

log = logging.getLogger(__name__)

PREFIX = "openai:"
"""What our names of these models begin with, for prices and limits; servers do not see it."""
LIMITS = ("max_completion_tokens", "max_tokens")
"""What the limit on an answer is called: models that reason refuse the second, older servers know
only that."""
SETTINGS = "OPENAI_API_KEY, the account's credit and limits, and OPENAI_BASE_URL"
SPENT = "insufficient_quota"
TOO_LONG = ("context_length_exceeded", "maximum context length", "context window")


class ChatModel:
    """The port `Model` over chat completions, always streamed.

    Nothing is taken for granted but text and tools: `declared` says by a model's name, or `*`,
    what else it understands.
    """

    def __init__(
        self,
        api_key: str | None,
        base_url: str | None = None,
        *,
        declared: Mapping[str, Mapping[str, Any]] | None = None,
        prices: PriceList | None = None,
        tries: int = 4,
        backoff: float = 1.0,
        timeout: float = 300.0,
        trusted: SSLContext | None = None,
    ) -> None:
        if not (api_key or base_url):
            raise ConfigError(
                "OPENAI_API_KEY is not set, so no model whose name begins with `openai:` can be"
                " asked. Set it, or set OPENAI_BASE_URL to a server that needs no key."
            )
        self._key, self._base_url = api_key or "", base_url or "https://api.openai.com/v1"
        self._retries, self._timeout = Retries(tries, backoff), timeout
        self._declared, self._prices = declared or {}, prices or PriceList()
        self._limits: dict[str, str] = {}
        self._known: set[str] = set()
        self._untold: set[str] = set()
        self._trusted = trusted
        self._client: AsyncOpenAI | None = None

    async def capabilities(self, model: str) -> Capabilities:
        """Return what the operator says of it; no server of this API tells it.

        Raises ConfigError for a key that is refused, a model that its server does not know, and one
        without a price.
        """
        client = await self._open()
        self._prices.require(f"{PREFIX}{model}")
        if model not in self._known:
            await self._look_up(client, model)
        found = apply_declared(CORE, self._declared, model)
        return replace(found, adaptive_thinking=False, cache_markers=False)

    async def _look_up(self, client: AsyncOpenAI, model: str) -> None:
        """Ask for the model's page, which costs nothing and which many servers do not have."""
        from openai import APIError, APIStatusError, AuthenticationError, NotFoundError

        try:
            await client.models.retrieve(model)
        except AuthenticationError as error:
            raise _translate(error, [self._key]) from error
        except NotFoundError as error:
            if names_model(str(error.message), model):
                raise UnknownModel(model, str(error.message), SETTINGS, [self._key]) from error
        except APIStatusError:
            pass  # a key may be good for questions alone
        except (APIError, ValueError, AttributeError):
            return  # out of reach now, or a page of another kind
        self._known.add(model)

    async def answer(self, query: Query) -> Answer:
        """Return the model's answer; refusals and cut-off answers are told by `stop_reason`."""
        started = time.monotonic()
        said = await self._retries.repeat(lambda: self._ask(query))
        [choice] = said.choices[:1]
        content, usage = to_blocks(choice.message), to_usage(said.usage)
        if estimated := not usage.input:
            self._note_untold(query.model)
            usage = _estimate(query, content)
        reason = STOP_REASONS.get(choice.finish_reason, "end_turn")
        calls = any(block["type"] == "tool_use" for block in content)
        if choice.message.refusal and not calls:
            reason = "refusal"
        elif reason == "end_turn" and calls:  # some servers call, and say that they stopped
            reason = "tool_use"
        cost = self._prices.cost_of(f"{PREFIX}{query.model}", usage)
        return Answer(
            content=content,
            stop_reason=reason,
            usage=usage,
            cost_usd=cost or 0.0,
            model=said.model or query.model,
            request_id=said.id or None,
            seconds=time.monotonic() - started,
            estimated=estimated,
        )

    def _note_untold(self, model: str) -> None:
        """Say, once, that what answers cost is an estimate."""
        if model not in self._untold:
            self._untold.add(model)
            log.warning(
                "The server of the model %s does not say how many tokens it takes: they are"
                " estimated from the characters, and so is what they cost.",
                model,
            )

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    async def _open(self) -> AsyncOpenAI:
        await import_beside_loop("genai_prices")
        await import_extra("openai", "openai")
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Timeout

        if self._client is None:
            limit, trusted = Timeout(self._timeout, connect=10.0), self._trusted
            client = DefaultAsyncHttpxClient(verify=trusted, timeout=limit) if trusted else None
            self._client = AsyncOpenAI(  # its own retries are off, as those of the other SDK
                api_key=self._key or "none",
                base_url=self._base_url,
                max_retries=0,
                timeout=limit,
                http_client=client,
            )
        return self._client

    async def _ask(self, query: Query) -> ChatCompletion:
        client = self._client or await self._open()
        from openai import APIError, BadRequestError

        request, name = to_request(query), self._limits.get(query.model, LIMITS[0])
        most = min(query.max_tokens, query.capabilities.longest_answer)
        try:
            try:
                return await _stream(client, request | {name: most})
            except BadRequestError as error:
                other = LIMITS[1 - LIMITS.index(name)]
                if query.model in self._limits or name not in str(error.message):
                    raise
                said = await _stream(client, request | {other: most})
                self._limits[query.model] = other
                return said
        except APIError as error:
            raise _translate(error, [self._key]) from error


def _estimate(query: Query, content: Sequence[Block]) -> Usage:
    """Return about how many tokens were read and written: rather too many than too few."""
    fixed = len(query.system) + len(json.dumps(list(query.tools)))
    told = [message["content"] for message in query.messages]
    plain = sum(len(each) for each in told if isinstance(each, str))
    blocks = [block for each in told if not isinstance(each, str) for block in each]
    read = fixed + plain + sum(map(measure_block, blocks))
    return Usage(input=read // CHARACTERS, output=sum(map(measure_block, content)) // CHARACTERS)


async def _stream(client: AsyncOpenAI, request: Mapping[str, Any]) -> ChatCompletion:
    """Return the whole answer; TransientError when the stream breaks, in whatever way."""
    from openai import APIError
    from openai.lib.streaming.chat import ChatCompletionStreamState

    state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
    stream = await client.chat.completions.create(**request)
    try:
        async with stream:
            async for chunk in stream:
                state.handle_chunk(chunk)
        said = state.current_completion_snapshot
    except APIError:
        raise
    except Exception as error:
        # Servers break streams in ways that the SDK has no class for: bad JSON, no chunk at all.
        raise TransientError(f"The model's answer is broken: {type(error).__name__}.") from error
    if not said.choices or said.choices[0].finish_reason is None:
        raise TransientError("The model's answer broke off before its end.")
    return said


def _translate(error: APIError, secrets: Sequence[str]) -> FettleError:
    """Return the error of the class that says who must act; its text never holds a secret."""
    from openai import APIStatusError

    said = hide(str(error.message), secrets)
    if not isinstance(error, APIStatusError):
        return TransientError(f"The model's server is out of reach or broke off: {said[:500]}.")
    status, text = error.status_code, f"{said[:500]} (status {error.status_code})"
    if status in (401, 402, 403) or error.code == SPENT:
        return ModelClosed(f"The model's server refuses our credentials: {text}. Check {SETTINGS}.")
    if status in (408, 409, 429) or status >= 500:
        wait = error.response.headers.get("retry-after", "")
        kind = Overloaded if status in (429, 503) else TransientError
        return kind(
            f"The model's server is busy or broken: {text}.",
            retry_after=float(wait) if wait.isdecimal() else None,
        )
    if status == 413 or any(words in f"{error.code} {said}" for words in TOO_LONG):
        return ContextFull(f"The conversation is longer than the model can read: {text}.")
    return RunError(
        f"The model's server does not accept our request: {text}. Trying again would not change"
        " that: look at the model's name and the server's limits. Where the server does not know a"
        " part of the request, say so in FETTLE_MODEL_CAPABILITIES."
    )
