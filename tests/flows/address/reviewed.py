"""A pull request of Fettle's on the local GitHub, people who review it, and what a model answers.

A `Place` becomes one: what was said on its issue is said on the pull request from then on.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sqlalchemy import select

from agents.run import Outcome
from app.registration.manifest import app_manifest
from app.simulator.github.accounts import Actor
from app.simulator.github.gitdir import GitDir
from app.simulator.github.state.reviews import Inline
from app.simulator.model import Script
from app.store.tables import deliveries, runs, turns
from tests.flows.conftest import CHECK, PATIENCE
from tests.flows.scripted import evaluation, part

VERDICT = re.compile(r"key=thread-([a-z_]+) -->")
BRANCH = "bot/1-sums-0a0a0a"
REVIEWS = "pull_request_review"
UNNAMED = "address: {quiet_seconds: 0}\n"
POLICY = f"{UNNAMED}{CHECK}"
BASE = {
    ".github/fettle.yml": POLICY,
    "calc.py": "def add(a, b):\n    return a + b\n",
    "test_calc.py": (
        "import unittest\n\nimport calc\n\n\nclass Sums(unittest.TestCase):\n"
        "    def test_add(self):\n"
        "        self.assertEqual(calc.add(1, 1), 2)\n"
    ),
}
HEAD = {
    "calc.py": (
        "def add(a, b):\n    return a + b\n\n\n"
        "def sub(a, b):\n    return a - b\n\n\n"
        "def total(prices):\n    sum = 0\n"
        "    for i in range(len(prices)):\n        sum = add(sum, prices[i])\n"
        "    return sum\n\n\n"
        "def share(part, whole):\n    return 100 * part / whole\n"
    ),
    "words.py": (
        "UNITS = ['euro', 'cent']\n\n\n"
        "def price(cents):\n    return '%d.%02d' % (cents // 100, cents % 100)\n\n\n"
        "def line(name, cents):\n    return name + ': ' + price(cents)\n\n\n"
        "def receipt(lines):\n    return '\\n'.join(lines)\n"
    ),
}
"""What the pull request makes of it. Every line of it can be commented on."""


@dataclass(repr=False)
class Reviewed:
    """The pull request, and the place that it is in."""

    place: object
    pull: object

    @property
    def github(self):
        return self.place.github

    @property
    def people(self):
        return self.place.people

    @property
    def repository(self):
        return self.place.repository

    def listen(self, *, reviews=True):
        """Have the App hear of reviews from now on, if that is what app.yml asks for, or not."""
        wanted = app_manifest().default_events
        heard = (each for each in wanted if reviews or each != REVIEWS)
        self.github.world.apps[self.place.app.app_id].events[:] = heard

    async def review(self, who, body="", *comments, state="COMMENTED", **more):
        """Let somebody review; comments are (path, line, words), or Inlines."""
        inlines = [each if isinstance(each, Inline) else Inline(*each) for each in comments]
        return await self.github.submit_review(
            self.pull, self.people[who], body, state=state, comments=inlines, **more
        )

    async def commit(self, files, *, by="mara", branch=None):
        """Let somebody push to the pull request's branch, or to another; return the commit."""
        return await self.github.commit(
            self.repository,
            files,
            author=self.people[by],
            message=f"By {by}",
            branch=branch or self.pull.head,
        )

    async def opens(self, who, *, branch="feature", head_repository=None):
        """Have somebody open a pull request of their own; it takes the place of Fettle's."""
        person = self.people[who]
        await self.github.commit(
            head_repository or self.repository,
            HEAD,
            author=person,
            message="Say sums\n",
            branch=branch,
        )
        self.pull = await self.github.open_pull(
            self.repository,
            person,
            title="Say sums in words",
            head=branch,
            head_repository=head_repository,
        )
        self.place.issue = self.pull.issue
        return self.pull

    async def label(self, who="mara"):
        """Let Fettle in."""
        number = self.pull.issue.number
        return await self.github.label_issue(
            self.repository, number, "bot:address", self.people[who]
        )

    def thread(self, path, line):
        """Return the thread that was opened there."""
        place = (path, line)
        return next(t for t in self.pull.threads if (t.path, t.original_line) == place)

    def answers(self, thread):
        """Return what Fettle said in the thread."""
        bot = self.place.app.bot_login
        return [r.body for r in thread.remarks if r.author.account.login == bot]

    def verdicts(self):
        """Return Fettle's verdicts by the place of each thread of people, and if it is resolved."""
        bot = self.place.app.bot_login
        return {
            f"{thread.path}:{thread.original_line}": (
                [VERDICT.search(body)[1] for body in self.answers(thread)],
                thread.resolved,
            )
            for thread in self.pull.threads
            if thread.remarks[0].author.account.login != bot
        }

    def ledgers(self):
        """Return the summaries, oldest first."""
        return [body for body in self.place.comments() if "key=ledger" in body]

    def pushes(self):
        """Return how often Fettle pushed to the pull request's branch."""
        bot, ref = self.place.app.bot_login, f"refs/heads/{self.pull.head}"
        pushes = [each for each in self.repository.pushes if each.ref == ref and each.actor.app]
        return len([each for each in pushes if each.actor.account.login == bot])

    async def file(self, path):
        """Return a file as the pull request has it."""
        return await self.place.show(self.pull.head_sha, path)

    async def list_commits(self, commit):
        """Return the commits of the pull request's branch after that one, oldest first."""
        git = GitDir(self.repository.gitdir)
        return list(reversed(await git.commits(f"{commit}..{self.pull.head_sha}")))

    async def prompts(self):
        """Return all that the models were told and said, in one text."""
        ours = [run.id for run in await self.place.runs()]
        query = select(turns.c.content).where(turns.c.run_id.in_(ours)).order_by(turns.c.created_at)
        rows = await self._read(query)
        return "\n".join(str(json.loads(row.content)) for row in rows)

    async def all_over(self):
        """Wait until nothing that was sent is still to be worked on; return the ends' kinds."""
        waiting = select(deliveries.c.id).where(deliveries.c.state == "received")
        going = select(runs.c.id).where(runs.c.outcome.is_(None))
        async with asyncio.timeout(PATIENCE):
            while await self._read(waiting) or await self._read(going):
                await asyncio.sleep(0.05)
        return [kind for kind, _ in await self.ends()]

    async def ends(self):
        """Return how the runs ended, oldest first: kind and text of each."""
        query = select(runs.c.outcome).order_by(runs.c.created_at).offset(self.place.past)
        return [
            (outcome.kind, outcome.text)
            for row in await self._read(query)
            if (outcome := Outcome.model_validate_json(row.outcome))
        ]

    async def _read(self, query):
        database = self.place.database()
        return await database.read(lambda connection: connection.execute(query).all())


@asynccontextmanager
async def open_reviewed(make_place, script=None, *, base=BASE, head=HEAD, listening=True, **more):
    """Set up a place with Fettle's pull request in it."""
    async with make_place(files=base, script=script or Script.model_validate([]), **more) as place:
        ola = place.people.get("ola") or place.github.create_user("ola")
        place.people["ola"] = ola
        place.github.set_role(place.repository, ola, "write")
        app = place.github.world.apps[place.app.app_id]
        await place.github.commit(
            place.repository, head, author=app.bot, message="Say sums\n", branch=BRANCH
        )
        pull = await place.github.parts.pulls.open(
            place.repository,
            Actor(app.bot, app),
            title="Say sums in words",
            body="As asked.",
            head=BRANCH,
            base="main",
        )
        await place.github.webhooks.wait_until_settled()
        place.issue = pull.issue
        found = Reviewed(place, pull)
        found.listen(reviews=listening)
        yield found


# --- what the model answers -----------------------------------------------------------------------


def script(*parts):
    """Return a script of these parts; fresh eyes find changes good, unless one says otherwise."""
    judged = any(each["when"] == "# Evaluate" for each in parts)
    return Script.model_validate([*parts, *([] if judged else [evaluation("pass")])])


def sort(changes=(), answers=(), *calls, **more):
    """Return how the feedback is sorted: keys to change, and (key, kind) to answer."""
    items = [{"about": key, "change": f"Change it for {key}.", **more} for key in changes]
    left = [{"about": k, "kind": kind, "reply": f"About {k}: so it is."} for k, kind in answers]
    return part(
        "# Analyze the feedback",
        *calls,
        {"submit_analysis": {"action_items": items, "out_of_scope": left}},
    )


def make_changes(*calls):
    """Return an engineer who makes these calls, and is done."""
    done = {"summary": "Changed it.", "tried": "Ran the tests."}
    return part("# Make the changes of a review", *calls, {"submit_step": done})


def word_update(*replies, commits=(("Do as asked", ("calc.py",)),), summary="Have a look at it."):
    """Return the words of an update: replies are (key, verdict, number of the commit)."""
    told = [
        {"about": k, "verdict": v, "commit": n, "reply": f"Done for {k}."} for k, v, n in replies
    ]
    made = [{"subject": subject, "body": "", "files": list(files)} for subject, files in commits]
    update = {"commits": made, "replies": told, "summary": summary}
    return part("# Write the update", {"submit_update": update})


def edit(old, new, path="calc.py"):
    """Return a call of edit."""
    return {"edit": {"path": path, "old": old, "new": new}}


def suggestion(text):
    """Return a suggestion block."""
    return f"```suggestion\n{text}\n```"
