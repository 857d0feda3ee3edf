"""The way to the models, as the settings name it: for runs and for `fettle doctor` alike."""

from __future__ import annotations

from collections.abc import Callable
from ssl import SSLContext
from typing import Any

from pydantic import SecretStr

from agents.loop.access import AnthropicAccess, BedrockAccess, VertexAccess
from agents.loop.chat_model import ChatModel
from agents.loop.model import ClaudeModel
from agents.loop.model_names import split_provider
from agents.loop.no_model import NoModel
from agents.loop.prices import PriceList, read_prices
from agents.loop.routed_model import ClosingModel, RoutedModel
from app.config.load import list_keyless
from app.config.settings import Settings


def open_model(settings: Settings, **options: Any) -> RoutedModel | NoModel:
    """Return the client of the models. Raises ConfigError where there is no way to one."""
    if settings.models == "none":
        return NoModel()
    prices = open_prices(settings)

    def gather(provider: str) -> dict[str, Any]:
        return {"declared": list_declared(settings, provider), "prices": prices, **options}

    key, url = _reveal(settings.openai_api_key), settings.openai_base_url
    ways: dict[str, Callable[[], ClosingModel]] = {
        "anthropic": lambda: ClaudeModel(_reach_anthropic(settings), **gather("anthropic")),
        "bedrock": lambda: ClaudeModel(_reach_bedrock(settings), **gather("bedrock")),
        "vertex": lambda: ClaudeModel(_reach_vertex(settings), **gather("vertex")),
        "openai": lambda: ChatModel(key, url, trusted=_find_trust(settings), **gather("openai")),
    }
    routed = RoutedModel(ways)
    routed.check(asked_models(settings))
    return routed


def list_declared(settings: Settings, provider: str) -> dict[str, dict[str, Any]]:
    """Return what the operator says of a provider's models, by their names there, and of all."""
    found = {}
    for named, said in settings.model_capabilities.items():
        whose, name = split_provider(named)
        if named == "*" or whose == provider:
            found[name] = said.model_dump(exclude_none=True)
    return found


def _reach_anthropic(settings: Settings) -> AnthropicAccess:
    key, token = settings.anthropic_api_key, settings.anthropic_auth_token
    return AnthropicAccess(
        _reveal(key) or "",
        settings.anthropic_base_url,
        _reveal(token) or "",
        _find_trust(settings),
    )


def _reach_bedrock(settings: Settings) -> BedrockAccess:
    return BedrockAccess(
        region=settings.aws_region,
        key_id=settings.aws_access_key_id,
        secret_key=_reveal(settings.aws_secret_access_key),
        session_token=_reveal(settings.aws_session_token),
        token=_reveal(settings.aws_bearer_token_bedrock),
        base_url=settings.bedrock_url,
        trusted=_find_trust(settings),
    )


def _reach_vertex(settings: Settings) -> VertexAccess:
    return VertexAccess(
        settings.vertex_project,
        settings.vertex_region,
        settings.vertex_url,
        _find_trust(settings),
    )


def _find_trust(settings: Settings) -> SSLContext | None:
    """Return whom TLS trusts; None: the library's own authorities."""
    return settings.outbound.trusted if settings.ca_file else None


def _reveal(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret else None


def open_prices(settings: Settings) -> PriceList:
    """Return what models cost. Raises ConfigError for a file of prices that cannot be read."""
    return read_prices(settings.price_file) if settings.price_file else PriceList()


def can_ask(settings: Settings) -> bool:
    """Tell whether there is a way to a model at all.

    The clouds find credentials in places of their own: whether they do shows the first question.
    """
    return settings.models != "none" and not any(list_keyless(settings.model_dump()))


def asked_models(settings: Settings) -> list[str]:
    """Return the models that runs use, each once."""
    every = (
        settings.model,
        settings.model_judge or settings.model,
        settings.model_fast,
        settings.fallback_model or settings.model,
    )
    return list(dict.fromkeys(every))
