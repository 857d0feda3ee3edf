"""Metrics for Prometheus, and a model port that counts its seconds and dollars."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
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
    last_done,
    list_workers,
    oldest_by_state,
    spent_since,
)
from app.store.runs import count_by_state, find_midnight

SHORT = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
CALLS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
WORK = (0.5, 1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)
RUNS = (30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 28_800.0, 86_400.0)
"""Upper bounds of histograms, in seconds."""

BLAMED = {
    "operator": "the operator: settings, keys, prices, the sandbox",
    "sender": "whoever sends deliveries that are none",
    "service": "nobody, for now: another service was away or slow; it is tried again",
    "person": "whoever asked: the run ended without a result, and says why",
    "maintainer": "the maintainers of Fettle: a mistake of its own, whose traceback is in the log",
}
"""Who must act on an error."""

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
        self._count_work()
        self._measure_time()
        self.errors = Counter(
            "fettle_errors", "Errors, by who must act.", ["who"], registry=self.registry
        )
        self.blame = {who: self.errors.labels(who).inc for who in BLAMED}
        """Functions that count one more error on which these must act."""
        self.ages = self._gauge("runs_oldest_seconds", "How long the first has been so.", "state")
        self.seen = self._gauge(
            "worker_seen_timestamp_seconds", "When a worker last said that it is there.", "worker"
        )
        self.held = self._gauge("worker_runs", "Runs that a worker has at work.", "worker")
        self.disk = self._gauge("disk_free_bytes", "Bytes that are free for Fettle's data.")
        ProcessCollector(registry=self.registry)
        self._looks: list[Callable[[Connection], None]] = [
            self._look_at_inbox,
            self._look_at_runs,
            self._look_at_sweeps,
            self._look_at_workers,
        ]

    def _count_work(self) -> None:
        """Add what is counted in the database at each scrape."""
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

    def _measure_time(self) -> None:
        """Add the histograms: how long things take, and how long people wait."""
        self.acknowledged = self._histogram(
            "acknowledge", "From a delivery's arrival to its answer.", SHORT
        )
        self.queued = self._histogram("queue_wait", "How long runs waited for a place.", RUNS)
        self.stages = self._histogram("stage", "How long stages worked.", WORK, "stage")
        self.took = self._histogram(
            "run", "From a request to the end of its run, waits included.", RUNS, "outcome"
        )
        self.answers = self._histogram("model_answer", "How long models took to answer.", WORK)
        self.commands = self._histogram("sandbox_command", "How long commands took.", WORK)
        self.calls = self._histogram(
            "github_call", "How long GitHub took to answer, by class of status.", CALLS, "status"
        )

    def _histogram(
        self, name: str, words: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        name = f"fettle_{name}_duration_seconds"
        return Histogram(name, words, labels, buckets=buckets, registry=self.registry)

    def stage_worked(self, step: str, seconds: float) -> None:
        """Note how long a step of a run took, if it is a stage: `stage/implement/2~1`."""
        kind, _, occurrence = step.partition("/")
        if kind == "stage":
            self.stages.labels(occurrence.partition("/")[0]).observe(seconds)

    def run_ended(self, outcome: str, seconds: float) -> None:
        """Note how long ago a run that ended in this way was asked for, in seconds."""
        self.took.labels(outcome).observe(seconds)
        if outcome == "failed":
            self.blame["person"]()

    def github_answered(self, status: int, seconds: float) -> None:
        """Note how long GitHub took; 0: it did not answer."""
        self.calls.labels(f"{status // 100}xx" if status else "none").observe(seconds)

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
        now = time.time()
        for state, since in oldest_by_state(connection).items():
            age = max(0.0, now - since) if since is not None else 0.0
            self.ages.labels(state).set(age)
            if state == "parked":
                self.parked.set(age)
        self.approvals.set(count_waiting(connection))
        self.today.set(spent_since(connection, find_midnight()))

    def _look_at_sweeps(self, connection: Connection) -> None:
        self.missed.clear()
        for state, number in count_missed(connection).items():
            self.missed.labels(state).set(number)
        for name, at in last_done(connection).items():
            self.sweeps.labels(name).set(at)

    def _look_at_workers(self, connection: Connection) -> None:
        self.seen.clear()  # those that were taken over are no more
        self.held.clear()
        for name, seen, number in list_workers(connection):
            self.seen.labels(name).set(seen)
            self.held.labels(name).set(number)


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
        self._metrics.answers.observe(answer.seconds)
        self._metrics.model_usd.inc(answer.cost_usd)
        return answer
