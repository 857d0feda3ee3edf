"""The tables of the store. Migrations live beside it; a test holds both to the same shape."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData()

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", String(80), primary_key=True),  # X-GitHub-Delivery
    Column("run_id", String(100), nullable=False),  # sortable: lanes keep the order of arrival
    Column("event", String(60), nullable=False),
    Column("action", String(60), nullable=False),
    Column("installation_id", BigInteger),
    Column("digest", String(64), nullable=False, unique=True),  # HMAC of the body: same body, once
    Column("body", LargeBinary, nullable=False),  # the raw bytes that were signed, as an LZ4 frame
    Column("state", String(12), nullable=False),  # received | dispatched | ignored | failed
    Column("note", Text),  # why it was ignored, or how it failed
    Column("received_at", Float, nullable=False),  # unix seconds
)
Index("deliveries_waiting", deliveries.c.state, deliveries.c.run_id)

runs = Table(
    "runs",
    metadata,
    Column("id", String(100), primary_key=True),
    Column("lane", String(200), nullable=False),
    Column("kind", String(40), nullable=False),
    Column("request", Text, nullable=False),  # JSON of agents.requests
    Column("installation_id", BigInteger, nullable=False),
    Column("repository_id", BigInteger, nullable=False),
    Column("repository", String(200), nullable=False),  # owner/name as of the request
    Column("number", Integer, nullable=False),
    Column("asked_by", String(60), nullable=False),
    Column(
        "state", String(12), nullable=False
    ),  # queued | running | parked | done | refused | cancelled | failed | covered
    Column("stage", String(60)),
    Column("outcome", Text),  # JSON of agents.run.Outcome
    Column("comment_id", BigInteger),  # the sticky progress comment
    Column("starts", Integer, nullable=False, server_default="0"),  # in a row without any progress
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
)
Index("runs_by_lane", runs.c.lane, runs.c.created_at)
Index("runs_by_state", runs.c.state)
Index("runs_by_repository", runs.c.repository_id, runs.c.state, runs.c.updated_at)

approvals = Table(
    "approvals",
    metadata,
    Column("id", String(16), primary_key=True),  # follows from run and call: asked once
    Column("run_id", String(100), ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("call_id", String(120), nullable=False),
    Column("session", String(60), nullable=False),
    Column("stage", String(60), nullable=False),
    Column("tool", String(128), nullable=False),
    Column("arguments", Text, nullable=False),  # JSON, the whole call
    Column("rule", String(120), nullable=False),
    Column("reason", Text, nullable=False),
    Column("head", String(64), nullable=False),
    Column("binding", String(64), nullable=False),  # hash of tool, arguments and head
    Column("branch", String(250)),  # on GitHub, when the run works on one: it must not move
    Column("state", String(12), nullable=False),  # waiting | approved | denied | expired | void
    Column("asked_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("comment_id", BigInteger),  # the comment that asks
    Column("decided_at", Float),
    Column("decided_by_id", BigInteger),  # GitHub account; null for the operator's terminal
    Column("decided_by", String(80)),  # login at that time, or the operator's user name
    Column("decided_via", String(12)),  # comment | button | terminal
    Column("decision_reason", Text),
    Column("used_at", Float),  # its call was about to run
)
Index("approvals_by_run", approvals.c.run_id)
Index("approvals_waiting", approvals.c.state, approvals.c.expires_at)
Index("approvals_decided", approvals.c.decided_at)

steers = Table(
    "steers",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),  # in the order of arrival
    Column("run_id", String(100), ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("key", String(120), nullable=False, unique=True),  # said once, kept once
    Column("kind", String(10), nullable=False),  # cancel | go | budget | remark
    Column("words", Text, nullable=False),
    Column("usd", Float, nullable=False),
    Column("by_id", BigInteger),  # GitHub account; null for the operator's terminal
    Column("by", String(80), nullable=False),
    Column("role", String(60), nullable=False),
    # comment | label | issue | pull_request | terminal
    Column("via", String(12), nullable=False),
    Column("url", Text, nullable=False),
    Column("at", Float, nullable=False),  # unix seconds
)
Index("steers_by_run", steers.c.run_id, steers.c.number)
Index("steers_recent", steers.c.at)

batches = Table(
    "batches",
    metadata,
    Column("run_id", String(100), ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("repository_id", BigInteger, nullable=False),
    Column("number", Integer, nullable=False),  # of the pull request
    Column("kind", String(12), nullable=False),  # reviews | checks | update
    Column("head", String(64), nullable=False),  # the commit that was reviewed, or failed
    Column("pushed", String(64), nullable=False),  # the commit that answers it; else empty
    Column("reviews", Text, nullable=False),  # JSON: ids of the reviews that are answered
    Column("newest_remark", BigInteger, nullable=False),  # id of a comment
    Column("kept_back", Boolean, nullable=False),  # what was said still waits for an answer
    Column("at", Float, nullable=False),  # unix seconds
)
Index("batches_of_pull", batches.c.repository_id, batches.c.number, batches.c.at)

sweeps = Table(
    "sweeps",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("holder", String(200), nullable=False),  # worker whose turn it is, or was
    Column("held_until", Float, nullable=False),  # unix seconds
    Column("mark", Float, nullable=False),  # by GitHub's clock: whatever came before was read
    Column("top", Float, nullable=False),  # what the mark becomes when the reading is through
    Column("cursor", Text, nullable=False),  # where the reading goes on; empty: none is under way
)

missed = Table(
    "missed",
    metadata,
    Column("guid", String(80), primary_key=True),  # X-GitHub-Delivery
    Column("delivery_id", BigInteger, nullable=False),  # GitHub's id of one attempt
    Column("event", String(60), nullable=False),
    Column("action", String(60), nullable=False),
    Column("repository_id", BigInteger),
    Column("state", String(12), nullable=False),  # failed | arrived | gone
    Column("delivered_at", Float, nullable=False),  # the oldest attempt known; GitHub's clock
    Column("asks", Integer, nullable=False),  # redeliveries that Fettle asked for
    Column("next_at", Float, nullable=False),  # not asked again before
)
Index("missed_due", missed.c.state, missed.c.next_at)

turns = Table(
    "turns",
    metadata,
    Column("run_id", String(100), ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("session", String(60), primary_key=True),  # like implement/2
    Column("number", Integer, primary_key=True),  # 0-based; the key refuses a second writer
    Column("stage", String(60), nullable=False),
    Column("kind", String(10), nullable=False),  # prompt | answer | results | remark
    Column("content", Text, nullable=False),  # JSON as sent, byte for byte
    Column("stop_reason", String(40)),
    Column("usage", Text, nullable=False),  # JSON of agents.ports.Usage
    Column("cost_usd", Float, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("tree", String(64)),  # work tree after these results; null when unchanged
    Column("created_at", Float, nullable=False),
)
Index("turns_spent", turns.c.run_id, turns.c.created_at, turns.c.cost_usd)
