"""Token usage of an answer, and its cost by the list prices of genai-prices."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

from agents.ports import Usage

log = logging.getLogger(__name__)


def usage_of(reported: Any) -> Usage:
    """Return the Messages API's `usage` in our terms.

    Cache writes of a server that does not tell their lifetimes count as five-minute ones.
    """
    hour = reported.cache_creation.ephemeral_1h_input_tokens if reported.cache_creation else 0
    return Usage(
        input=reported.input_tokens,
        output=reported.output_tokens,
        cache_write_5m=max((reported.cache_creation_input_tokens or 0) - hour, 0),
        cache_write_1h=hour,
        cache_read=reported.cache_read_input_tokens or 0,
    )


def cost_of(model: str, usage: Usage) -> float:
    """Return the dollars at Anthropic's list prices; 0 for a model that has none there.

    A guessed price would stop runs for money that nobody spends; the limits on turns and minutes
    hold all the same.
    """
    import genai_prices  # noqa: PLC0415 - a megabyte that a server at rest does without

    writes = usage.cache_write_5m + usage.cache_write_1h
    tokens = genai_prices.Usage(
        input_tokens=usage.input + writes + usage.cache_read,
        cache_write_tokens=writes,
        cache_write_1h_tokens=usage.cache_write_1h,
        cache_read_tokens=usage.cache_read,
        output_tokens=usage.output,
    )
    try:
        price = genai_prices.calc_price(tokens, model, provider_id="anthropic")
    except LookupError:
        _warn_once(model)
        return 0.0
    return float(price.total_price)


@cache
def _warn_once(model: str) -> None:
    log.warning("no list price is known for model %s: its answers count as $0", model)
