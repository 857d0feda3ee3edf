"""The way to the models, as the settings name it: for runs and for `fettle doctor` alike."""

from __future__ import annotations

from typing import Any

from agents.loop.model import ClaudeModel
from agents.loop.no_model import NoModel
from agents.loop.prices import PriceList, read_prices
from app.config.settings import Settings


def open_model(settings: Settings, **options: Any) -> ClaudeModel | NoModel:
    """Return the client of the models. Raises ConfigError where there is no way to one."""
    if settings.models == "none":
        return NoModel()
    key, token = settings.anthropic_api_key, settings.anthropic_auth_token
    return ClaudeModel(
        key.get_secret_value() if key else None,
        settings.anthropic_base_url,
        token=token.get_secret_value() if token else None,
        declared={
            name: said.model_dump(exclude_none=True)
            for name, said in settings.model_capabilities.items()
        },
        prices=open_prices(settings),
        **options,
    )


def open_prices(settings: Settings) -> PriceList:
    """Return what models cost. Raises ConfigError for a file of prices that cannot be read."""
    return read_prices(settings.price_file) if settings.price_file else PriceList()


def can_ask(settings: Settings) -> bool:
    """Tell whether there is a way to a model at all."""
    return settings.models != "none" and bool(
        settings.anthropic_api_key or settings.anthropic_auth_token or settings.anthropic_base_url
    )


def asked_models(settings: Settings) -> list[str]:
    """Return the models that runs use, each once."""
    every = (
        settings.model,
        settings.model_judge or settings.model,
        settings.model_fast,
        settings.fallback_model or settings.model,
    )
    return list(dict.fromkeys(every))
