"""Models of several providers behind one port: a model's name says who is asked.

`bedrock:us.anthropic.claude-opus-5-5-v1:0` is asked for at Amazon Bedrock; a name without one of
these prefixes belongs to the first provider.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from agents.loop.model_names import split_provider
from agents.ports import Answer, Capabilities, Model, Query


class ClosingModel(Model, Protocol):
    """A model whose connections can be closed."""

    async def close(self) -> None:
        """Close them."""
        ...


@dataclass(frozen=True)
class RoutedModel:
    """The port `Model` over several others, each opened when it is first asked."""

    ways: Mapping[str, Callable[[], ClosingModel]]
    """What opens the way to a provider; raises ConfigError where the settings lack something."""
    _open: dict[str, ClosingModel] = field(default_factory=dict)

    def check(self, models: Iterable[str]) -> None:
        """Raise ConfigError where there is no way to one of these models."""
        for model in models:
            self._reach(split_provider(model)[0])

    async def capabilities(self, model: str) -> Capabilities:
        """Return what the model understands, by its provider."""
        provider, name = split_provider(model)
        return await self._reach(provider).capabilities(name)

    async def answer(self, query: Query) -> Answer:
        """Return the answer of the provider's model."""
        provider, name = split_provider(query.model)
        return await self._reach(provider).answer(replace(query, model=name))

    async def close(self) -> None:
        """Close all connections."""
        for model in self._open.values():
            await model.close()

    def _reach(self, provider: str) -> ClosingModel:
        if provider not in self._open:
            self._open[provider] = self.ways[provider]()
        return self._open[provider]
