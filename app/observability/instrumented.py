"""Ports with a stopwatch: how long models and commands took, for the metrics."""

from __future__ import annotations

from agents.ports import Answer, Model, Query
from app.observability.metrics import Metrics
from app.observability.tracing import CLIENT, span


class InstrumentedModel:
    """The port `Model`, with what it cost and how long it took counted."""

    def __init__(self, model: Model, metrics: Metrics) -> None:
        self._model = model
        self._metrics = metrics

    async def answer(self, query: Query) -> Answer:
        """Return the model's answer."""
        with span(f"model {query.model}", kind=CLIENT, gen_ai__request__model=query.model) as note:
            answer = await self._model.answer(query)
            note(
                gen_ai__usage__input_tokens=answer.usage.input,
                gen_ai__usage__output_tokens=answer.usage.output,
                fettle__usd=answer.cost_usd,
            )
        self._metrics.model_seconds.inc(answer.seconds)
        self._metrics.model_usd.inc(answer.cost_usd)
        return answer
