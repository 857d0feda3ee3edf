"""Tokens of an answer and what they cost: the operator's prices, else the list of genai-prices."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from agents.errors import ConfigError
from agents.loop.model_names import split_provider, strip_affixes
from agents.ports import Usage
from agents.requests import Frozen

MILLION = 1_000_000
Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ModelPrice(Frozen):
    """Dollars for a million tokens of each kind."""

    input: Dollars
    output: Dollars
    cache_read: Dollars | None = None
    """Absent: that of the input, as for the next two."""
    cache_write_5m: Dollars | None = None
    cache_write_1h: Dollars | None = None

    def cost_of(self, usage: Usage) -> float:
        """Return the dollars for these tokens."""
        kinds = (
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write_5m, self.cache_write_5m),
            (usage.cache_write_1h, self.cache_write_1h),
        )
        return sum(n * (self.input if price is None else price) for n, price in kinds) / MILLION


_FILE: TypeAdapter[dict[str, ModelPrice]] = TypeAdapter(dict[str, ModelPrice])


@dataclass(frozen=True)
class PriceList:
    """What answers of models cost."""

    own: Mapping[str, ModelPrice] = field(default_factory=dict)
    """The operator's prices by a model's name, or `*` for all that have no other."""

    def cost_of(self, model: str, usage: Usage) -> float | None:
        """Return the dollars; None for a model whose price nobody knows.

        A guess that is too high would stop runs early, and 0 would let them spend all they want.
        """
        provider, name = split_provider(model)
        names = (model, name, strip_affixes(name))
        own = next((self.own[each] for each in names if each in self.own), None)
        maker = "openai" if provider == "openai" else "anthropic"
        listed = _find_listed(strip_affixes(name), usage, maker) if own is None else None
        own = own or (self.own.get("*") if listed is None else None)
        return listed if own is None else own.cost_of(usage)

    def require(self, model: str) -> None:
        """Raise ConfigError where no price is known for the model."""
        if self.cost_of(model, Usage()) is None:
            raise ConfigError(
                f"No price is known for the model `{model}`, so no limit in dollars could hold."
                " Say in the file that FETTLE_PRICE_FILE names what it costs (0 where it costs"
                " nothing), or name another model."
            )


def read_prices(path: Path) -> PriceList:
    """Return the prices of an operator's file: TOML, a table for each model. Raises ConfigError."""
    try:
        return PriceList(_FILE.validate_python(tomllib.loads(path.read_text("utf-8"))))
    except OSError as error:
        why = str(error.strerror)
    except ValidationError as error:
        fault = error.errors()[0]
        why = f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
    except ValueError as error:
        why = str(error)
    raise ConfigError(
        f"The prices in the file that FETTLE_PRICE_FILE names cannot be read: {why}. It is TOML,"
        ' with dollars for a million tokens: a line `["a-model"]`, then `input = 2.0` and'
        " `output = 10.0`, and where they differ `cache_read`, `cache_write_5m` and"
        " `cache_write_1h`."
    )


def usage_of(reported: Any) -> Usage:
    """Return the Messages API's `usage` in our terms.

    Cache writes of a server that does not tell their lifetimes count as five-minute ones. What it
    took to sum a conversation up is told beside the rest, not in it.
    https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand
    """
    beside = [
        usage_of(each)
        for each in getattr(reported, "iterations", None) or ()
        if getattr(each, "type", "") == "compaction"
    ]
    hour = reported.cache_creation.ephemeral_1h_input_tokens if reported.cache_creation else 0
    told = Usage(
        input=reported.input_tokens,
        output=reported.output_tokens,
        cache_write_5m=max((reported.cache_creation_input_tokens or 0) - hour, 0),
        cache_write_1h=hour,
        cache_read=reported.cache_read_input_tokens or 0,
    )
    return sum(beside, told)


def _find_listed(model: str, usage: Usage, maker: str) -> float | None:
    """Return the dollars at its maker's list prices; None for a model that has none there."""
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
        price = genai_prices.calc_price(tokens, model, provider_id=maker)
    except LookupError:
        return None
    return float(price.total_price)
