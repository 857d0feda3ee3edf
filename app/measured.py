"""Ports with a stopwatch: how long models and commands took, for the metrics."""

from __future__ import annotations

from agents.ports import Answer, Model, Query
from app.metrics import Metrics


class MeasuredModel:
    """The port `Model`, with what it cost and how long it took counted."""

    def __init__(self, model: Model, metrics: Metrics) -> None:
        self._model = model
        self._metrics = metrics

    async def answer(self, query: Query) -> Answer:
        """Return the model's answer."""
        answer = await self._model.answer(query)
        self._metrics.model_seconds.inc(answer.seconds)
        self._metrics.model_usd.inc(answer.cost_usd)
        return answer
