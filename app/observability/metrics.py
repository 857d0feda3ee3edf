"""Metrics for Prometheus, and a model port that counts its seconds and dollars."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from sqlalchemy import Connection

from agents.ports import Answer, Capabilities, Model, Query
from app.observability.tracing import CLIENT, span
from app.store.database import Database
from app.store.deliveries import oldest_waiting
from app.store.metric_queries import (
    count_by_outcome,
    count_missed,
    count_remediations,
    count_waiting,
    find_midnight,
    last_done,
    oldest_parked,
    spent_since,
)
from app.store.runs import count_by_state

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

OUTCOMES = {
    "accepted": "stored, to be dispatched",
    "duplicate": "stored before",
    "unhandled": "no handler for event and action",
    "foreign": "about an account that is not in FETTLE_OWNERS",
    "from_bot": "caused by Fettle or another bot",
    "passed": "checks that have not failed",
    "pong": "answer to a ping",
    "refused": "not acceptable, 4xx",
    "full": "not taken now, 503",
}


class Metrics:
    """The metrics of the process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        deliveries = Counter(
            "fettle_deliveries",
            "Webhook deliveries by outcome.",
            ["outcome"],
            registry=self.registry,
        )
        self.count = {outcome: deliveries.labels(outcome).inc for outcome in OUTCOMES}
        """Functions that count one more delivery of that outcome."""
        self.depth = self._gauge("inbox_depth", "Deliveries that wait for dispatch.")
        self.oldest = self._gauge("inbox_oldest_seconds", "How long the first of them has waited.")
        self.lag = self._gauge("loop_lag_seconds", "How late the event loop was at most lately.")
        self.model_seconds = Counter(
            "fettle_model_seconds", "Time that models took to answer.", registry=self.registry
        )
        self.model_usd = Counter(
            "fettle_model_usd", "Dollars that models cost.", registry=self.registry
        )
        self.bait = Counter(
            "fettle_bait_taken",
            "Runs that were ended for what was laid out as bait.",
            registry=self.registry,
        )
        self.command_seconds = Counter(
            "fettle_command_seconds",
            "Time that commands of repositories and agents took.",
            registry=self.registry,
        )
        self.runs = Gauge("fettle_runs", "Runs by state.", ["state"], registry=self.registry)
        self.ended = self._gauge("runs_ended", "Runs that ended, by outcome.", "kind", "outcome")
        self.remediations = self._gauge(
            "remediations", "Runs about alerts that ended, by what became of them.", "state"
        )
        self.parked = self._gauge("parked_oldest_seconds", "How long the first run has waited.")
        self.approvals = self._gauge("approvals_waiting", "Calls that wait for a decision.")
        self.today = self._gauge("spent_today_usd", "Dollars that models cost since 00:00 UTC.")
        self.missed = self._gauge("missed_deliveries", "Deliveries that did not arrive.", "state")
        self.sweeps = self._gauge(
            "sweep_done_timestamp_seconds", "When a sweep was last through.", "sweep"
        )
        self.left = self._gauge(
            "github_requests_left", "Requests left of the hour, as last heard.", "installation"
        )
        self._looks: list[Callable[[Connection], None]] = [
            self._look_at_inbox,
            self._look_at_runs,
            self._look_at_sweeps,
        ]

    def _gauge(self, name: str, words: str, *labels: str) -> Gauge:
        return Gauge(f"fettle_{name}", words, labels, registry=self.registry)

    def at_scrape(self, look: Callable[[Connection], None]) -> None:
        """Call `look` at each scrape, to set gauges from the database."""
        self._looks.append(look)

    def count_requests_left(self, find: Callable[[], Mapping[int, int]]) -> None:
        """Have `find` return what is left of the hour's requests, by installation."""

        def look(_connection: Connection) -> None:
            self.left.clear()  # installations come and go
            for installation, left in find().items():
                self.left.labels(str(installation)).set(left)

        self.at_scrape(look)

    async def text(self, database: Database) -> bytes:
        """Return all metrics in Prometheus' text format. Raises TransientError.

        https://prometheus.io/docs/instrumenting/exposition_formats/
        """
        await database.read(self._look)
        return generate_latest(self.registry)

    def _look(self, connection: Connection) -> None:
        for look in self._looks:
            look(connection)

    def _look_at_inbox(self, connection: Connection) -> None:
        since = oldest_waiting(connection)
        self.oldest.set(max(0.0, time.time() - since) if since is not None else 0.0)

    def _look_at_runs(self, connection: Connection) -> None:
        self.runs.clear()  # a state that no run is in any more must not keep its last number
        for state, number in count_by_state(connection).items():
            self.runs.labels(state).set(number)
        self.ended.clear()
        for (kind, outcome), number in count_by_outcome(connection).items():
            self.ended.labels(kind, outcome).set(number)
        for state, number in count_remediations(connection).items():
            self.remediations.labels(state).set(number)
        since = oldest_parked(connection)
        self.parked.set(max(0.0, time.time() - since) if since is not None else 0.0)
        self.approvals.set(count_waiting(connection))
        self.today.set(spent_since(connection, find_midnight()))

    def _look_at_sweeps(self, connection: Connection) -> None:
        self.missed.clear()
        for state, number in count_missed(connection).items():
            self.missed.labels(state).set(number)
        for name, at in last_done(connection).items():
            self.sweeps.labels(name).set(at)


class InstrumentedModel:
    """The port `Model` with metrics of its seconds and dollars."""

    def __init__(self, model: Model, metrics: Metrics) -> None:
        self._model = model
        self._metrics = metrics

    async def capabilities(self, model: str) -> Capabilities:
        """Return what the model understands."""
        return await self._model.capabilities(model)

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
