"""The database's tables. Migrations live beside this file; a test holds both to one shape.

Texts of people, models and tools are in encrypted columns, which no query searches.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    false,
)

from app.store.encryption.columns import SealedBytes, SealedText

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
    Column("body", SealedBytes, nullable=False),  # the raw bytes that were signed, as an LZ4 frame
    Column("state", String(12), nullable=False),  # received | dispatched | ignored | failed
    Column("note", SealedText),  # why it was ignored, or how it failed
    Column("received_at", Float, nullable=False),  # unix seconds
)
Index("deliveries_waiting", deliveries.c.state, deliveries.c.run_id)

runs = Table(
    "runs",
    metadata,
    Column("id", String(100), primary_key=True),
    Column("lane", String(200), nullable=False),
    Column("kind", String(40), nullable=False),
    Column("request", SealedText, nullable=False),  # JSON of agents.requests
    Column("installation_id", BigInteger, nullable=False),
    Column("repository_id", BigInteger, nullable=False),
    Column("repository", String(200), nullable=False),  # owner/name by now
    Column("number", Integer, nullable=False),
    Column("asked_by", String(60), nullable=False),
    Column(
        "state", String(12), nullable=False
    ),  # queued | running | parked | done | refused | cancelled | failed | covered
    Column("stage", String(60)),
    Column("outcome", SealedText),  # JSON of agents.run.Outcome
    Column("comment_id", BigInteger),  # the sticky progress comment
    Column("starts", Integer, nullable=False, server_default="0"),  # in a row without any progress
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    Column("ended_as", String(16)),  # kind of the outcome, readable without it
    Column("kept_usd", Float),  # what it cost, once its turns are deleted
    Column("kept_answers", Integer),
    Column("emptied_at", Float),  # its texts are gone since then; unix seconds
    Column("holder", String(200)),  # the worker that it was last begun on, or taken up
    Column("moved_at", Float),  # when another worker than before took it up; unix seconds
    Column("unasked", Boolean, nullable=False, server_default=false()),  # the clock's, no person's
    Column("queued_at", Float),  # since when it waits for a place, or waited; unix seconds
    Column("admitted_at", Float),  # when it was last given a place; unix seconds
    Column("told_place", Integer),  # in the queue, as people were told; 0: it needs no place
    Column("told_at", Float),  # when; in the future: somebody is about to
    Column("waits", String(12)),  # for what it is parked: approval | answer | pause
    Column("wake_at", Float),  # when that is over by itself; unix seconds
    Column("heard", Integer),  # number of the last steer that it knew of when it was parked
    Column("put_off_at", Float),  # since when its step is put off, as something it needs is away
)
Index("runs_by_lane", runs.c.lane, runs.c.created_at)
Index("runs_by_state", runs.c.state)
Index("runs_in_order", runs.c.created_at)
Index("runs_ended", runs.c.updated_at, runs.c.ended_as)
Index("runs_by_kind", runs.c.kind, runs.c.ended_as)
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
    Column("arguments", SealedText, nullable=False),  # JSON, the whole call
    Column("rule", String(120), nullable=False),
    Column("reason", SealedText, nullable=False),
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
    Column("decided_via", String(12)),  # comment | button | terminal | page
    Column("decision_reason", SealedText),
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
    Column("words", SealedText, nullable=False),
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

flaky_tests = Table(  # no key of `runs`: on clones they outlive the run and its database
    "flaky_tests",
    metadata,
    Column("run_id", String(100), primary_key=True),
    Column("repository_id", BigInteger, nullable=False),
    Column("seen", SealedText, nullable=False),  # JSON of agents.ports.FlakySighting, a list
    Column("at", Float, nullable=False),  # unix seconds
)
Index("flaky_tests_of_repository", flaky_tests.c.repository_id, flaky_tests.c.at)

found_setups = Table(
    "found_setups",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    Column("proposal", SealedText, nullable=False),  # JSON of agents.ports.SetupProposal
    Column("helps", Boolean, nullable=False),  # else it was asked for in vain
    Column("at", Float, nullable=False),  # unix seconds
    Column("number", Integer),  # of the pull request that offers it, or did; 0: there is none
)

ended_pulls = Table(
    "ended_pulls",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),  # of a pull request of ours
    Column("branch", String(255), nullable=False),  # that it was for
    Column("merged", Boolean, nullable=False),  # else it was closed
    Column("commit", String(64), nullable=False),  # that the merge made there
    Column("ended_at", Float, nullable=False),  # unix seconds
    Column("looks", Integer, nullable=False),  # how often something that broke was looked into
    Column("head", String(64), nullable=False),  # the commit on which checks failed last
    Column("notice", String(100), nullable=False),  # by which it was looked at last
)

told_alerts = Table(
    "told_alerts",
    metadata,
    Column("ask_id", String(100), primary_key=True),  # run id of the delivery that told of it
    Column("run_id", String(100), ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("alert", Integer, nullable=False),  # 0: the run takes no further ones
    Column("severity", String(10), nullable=False),
    Column("scope", String(12), nullable=False),
    Column("at", Float, nullable=False),  # unix seconds
)
Index("told_alerts_of_run", told_alerts.c.run_id)

remediations = Table(
    "remediations",
    metadata,
    Column("run_id", String(100), ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("lane", String(200), nullable=False),
    Column("repository_id", BigInteger, nullable=False),
    Column("number", Integer, nullable=False),  # of its pull request; 0: none
    Column("base", String(255), nullable=False),  # the branch that was mended
    # over: no pull request | open | closed | merged: waits for GitHub | fixed
    Column("state", String(12), nullable=False),
    Column("declined", Boolean, nullable=False),  # people ended it, or closed its pull request
    Column("found", Text, nullable=False),  # JSON: a mark of what each of its alerts said
    Column("open_alerts", Text, nullable=False),  # JSON: numbers of those not yet closed
    Column("commit", String(64), nullable=False),  # that was looked at; empty: it never got there
    Column("ended_at", Float, nullable=False),  # unix seconds, as all times here
    Column("merged_at", Float),
    Column("looked_at", Float, nullable=False),  # when GitHub was last asked about it
    Column("told_at", Float),  # when people were told why the alerts are still open
    Column("settled_at", Float),  # when the last of its alerts was closed
    Column("retires", String(100)),  # the run whose override it was to do without; else a fix
    Column("overruled", Text),  # JSON: the override that its fix made, if it did
    Column("override_until", Float),  # when that is looked at next; none: it is over
)
Index("remediations_of_lane", remediations.c.lane, remediations.c.ended_at)
Index("remediations_of_pull", remediations.c.repository_id, remediations.c.number)
Index("remediations_by_state", remediations.c.state, remediations.c.looked_at)
Index("remediations_overruled", remediations.c.override_until)

proposals = Table(
    "proposals",
    metadata,
    Column("run_id", String(100), ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("repository_id", BigInteger, nullable=False),
    Column("number", Integer, nullable=False),  # of the pull request that proposes it
    Column("lines", SealedText, nullable=False),  # JSON: what is proposed, a text each
    Column("used", Text, nullable=False),  # JSON: by what the evidence behind it is known
    Column("at", Float, nullable=False),  # unix seconds
)
Index("proposals_of_repository", proposals.c.repository_id, proposals.c.at)

alert_looks = Table(
    "alert_looks",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Float, nullable=False),  # when its open alerts were last looked at; unix seconds
    Column("next_at", Float, nullable=False),  # not again before
)
Index("alert_looks_due", alert_looks.c.next_at)

sweeps = Table(
    "sweeps",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("holder", String(200), nullable=False),  # worker whose turn it is, or was
    Column("held_until", Float, nullable=False),  # unix seconds
    Column("mark", Float, nullable=False),  # by GitHub's clock: whatever came before was read
    Column("top", Float, nullable=False),  # what the mark becomes when the reading is through
    Column("cursor", Text, nullable=False),  # where the reading goes on; empty: none is under way
    Column("done_at", Float, nullable=False, server_default="0"),  # when a pass was last through
)

seals = Table(
    "seals",
    metadata,
    Column("fingerprint", String(32), primary_key=True),  # of a key that rows are sealed with
    Column("worker", String(200), primary_key=True),  # who began to; empty: somebody's terminal
    Column("at", Float, nullable=False),  # unix seconds
)

installations = Table(
    "installations",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("account_id", BigInteger, nullable=False),
    Column("account", String(100), nullable=False),  # login by now
    Column("url", Text, nullable=False),  # the page where its owners accept permissions
    Column("permissions", Text, nullable=False),  # JSON: what they have granted
    Column("since", Float, nullable=False),  # unix seconds
    Column("suspended_at", Float),
    Column("removed_at", Float),
    Column("synced_at", Float, nullable=False),  # when its repositories were last read; 0: never
)

repositories = Table(
    "repositories",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("installation_id", BigInteger, nullable=False),
    Column("full_name", String(200), nullable=False),  # owner/name by now
    Column("former", Text, nullable=False),  # JSON: what it was called before
    Column("former_installations", Text, nullable=False),  # JSON: by which it was reached before
    Column("default_branch", String(255), nullable=False),
    Column("private", Boolean, nullable=False),
    Column("archived", Boolean, nullable=False),
    Column("since", Float, nullable=False),
    Column("removed_at", Float),  # the App cannot reach it since then
    Column("labels_due", Float),  # when to see that its labels are there; null: they are
    Column("labels_at", Float),  # when that was last done
    Column("labels_made", Integer, nullable=False),  # how many were made then
    Column("policy_problem", SealedText),  # why its policy cannot be read, as last seen
)
Index("repositories_of_installation", repositories.c.installation_id)
Index("repositories_without_labels", repositories.c.labels_due)

owners = Table(
    "owners",
    metadata,
    Column("login", String(100), primary_key=True),  # as in FETTLE_OWNERS, in lower case
    Column("account_id", BigInteger, nullable=False),  # whose it was when it was first seen
)

missed = Table(
    "missed",
    metadata,
    Column("guid", String(80), primary_key=True),  # X-GitHub-Delivery
    Column("delivery_id", BigInteger, nullable=False),  # GitHub's id of one attempt
    Column("event", String(60), nullable=False),
    Column("action", String(60), nullable=False),
    Column("repository_id", BigInteger),
    Column("state", String(12), nullable=False),  # failed | arrived | gone | lost
    Column("delivered_at", Float, nullable=False),  # the oldest attempt known; GitHub's clock
    Column("asks", Integer, nullable=False),  # redeliveries that Fettle asked for
    Column("next_at", Float, nullable=False),  # not asked again before
    Column("run_id", String(100)),  # what a lost one was called, once that is known
)
Index("missed_due", missed.c.state, missed.c.next_at)

turns = Table(
    "turns",
    metadata,
    Column("run_id", String(100), ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("session", String(60), primary_key=True),  # like implement/2
    Column("number", Integer, primary_key=True),  # 0-based; the key refuses a second writer
    Column("stage", String(60), nullable=False),
    Column("kind", String(10), nullable=False),  # `Turn.kind`
    Column("content", SealedText, nullable=False),  # JSON as sent, byte for byte
    Column("stop_reason", String(40)),
    Column("usage", Text, nullable=False),  # JSON of agents.ports.Usage
    Column("cost_usd", Float, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("tree", String(64)),  # work tree after these results; null when unchanged
    Column("created_at", Float, nullable=False),
    Column("rulings", Text),  # JSON: the gate's word on each call, by its id; null: not kept
    Column("model", String(120)),  # who gave the answer; null: not kept
)
Index("turns_spent", turns.c.run_id, turns.c.created_at, turns.c.cost_usd)

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("run_id", String(100), ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),  # 0-based, in the order in which they were made
    Column("refs", Text, nullable=False),  # JSON: object ids by ref; an empty id takes the ref away
    Column("size", Integer, nullable=False),  # bytes of the pack
    Column("pack", SealedBytes, nullable=False),  # thin; empty: GitHub has what the refs name
)

workers = Table(
    "workers",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("session", String(32), nullable=False),  # of one process; empty: it was fenced off
    Column("host", String(200), nullable=False),
    Column("started", Float, nullable=False),  # by the database's clock, in unix seconds
    Column("seen", Float, nullable=False),  # likewise; 0: it has stopped in good order
)

contractions = Table(
    "contractions",
    metadata,
    Column("revision", String(32), primary_key=True),  # of a migration that took something away
)

audit = Table(
    "audit",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),  # 1, 2, 3: without a gap
    Column("at", Float, nullable=False),  # unix seconds
    Column("kind", String(40), nullable=False),
    Column("repository_id", BigInteger, index=True),
    Column("content", Text),  # JSON of the act; null once its repository was forgotten
    Column("digest", String(64), nullable=False),  # SHA-256 of the content
    Column("previous", String(64), nullable=False),  # the hash of the entry before
    Column("hash", String(64), nullable=False),  # SHA-256 over all of this
)
Index("audit_by_kind", audit.c.kind, audit.c.number)

page_logins = Table(
    "page_logins",
    metadata,
    Column("digest", String(64), primary_key=True),  # SHA-256 of the code, or of the cookie
    Column("kind", String(8), nullable=False),  # code | session
    Column("name", String(80), nullable=False),  # the operator's, as decisions are signed
    Column("expires_at", Float, nullable=False),  # unix seconds
)

boards = Table(
    "boards",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    Column("number", Integer, nullable=False),  # of the dashboard issue; 0: there is none
    Column("digest", String(64), nullable=False),  # SHA-256 of its text as last written
    Column("looked_at", Float, nullable=False),  # unix seconds
)

api_tokens = Table(
    "api_tokens",
    metadata,
    Column("digest", String(64), primary_key=True),  # SHA-256 of the token
    Column("name", String(60), nullable=False, unique=True),
    Column("repositories", Text, nullable=False),  # JSON: their ids; null: all of them
    Column("rights", Text, nullable=False),  # JSON: `TokenRight`s
    Column("made_by", String(80), nullable=False),
    Column("made_at", Float, nullable=False),  # unix seconds
    Column("expires_at", Float, nullable=False),
    Column("used_at", Float),  # to the hour; null: never
)
