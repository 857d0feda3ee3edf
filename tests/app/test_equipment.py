"""What a run on GitHub is admitted as: by who may ask, and by who worded the request."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents.errors import RunError
from agents.requests import Person, Repository, ResolveIssue
from agents.run import Outcome, Ports
from app.equipment import GitHubEquipment

MARA, JONAS, ADA = (
    Person(id=3, login="mara"),
    Person(id=2, login="jonas"),
    Person(id=4, login="ada"),
)
ROLES = {
    "mara": (3, "maintain"),
    "jonas": (2, "read"),
    "ada": (4, "write"),
    "renamed": (99, "write"),
}

PORTS = Ports(None, None, None, None, None, None)


class Client:
    """GitHub's answers about people and the issue."""

    def __init__(self, *labels):
        self.labels = labels
        self.asked = []

    async def getitem(self, path, where):
        self.asked.append(where["login"])
        ident, role = ROLES[where["login"]]
        return {"role_name": role, "permission": "", "user": {"id": ident, "type": "User"}}

    async def graphql(self, document, variables):
        issue = {
            "__typename": "Issue",
            "state": "OPEN",
            "title": "It adds wrong",
            "body": "",
            "labels": {"nodes": [{"name": name} for name in self.labels]},
            "timelineItems": {"nodes": []},
            "editor": None,
        }
        return {"repository": {"databaseId": 9, "issueOrPullRequest": issue}}


class Reporter:
    """Says that the issue was seen; shows the newest state."""

    def __init__(self):
        self.did = []

    async def acknowledge(self):
        self.did.append("acknowledged")

    async def flush(self):
        self.did.append("flushed")

    async def finish(self, outcome):
        self.did.append(outcome.kind)


class Source:
    """A repository whose work tree can be removed."""

    def __init__(self):
        self.discarded = []

    async def discard(self, *, forget, parked=False):
        self.discarded.append((forget, parked))


class Questions:
    """What a run asks."""

    def __init__(self):
        self.open = True

    async def withdraw(self):
        self.open = False


class GitHub:
    """Hands out one client."""

    def __init__(self, client):
        self.client = client

    async def installation(self, *_):
        return self.client


def equipment(author, client):
    wish = ResolveIssue(
        installation_id=1,
        repository=Repository(id=9, owner="octo", name="lib", default_branch="main"),
        number=7,
        title="It adds wrong",
        body="",
        author=author,
        asked_by=MARA,
        label="bot:resolve",
        url="https://example.org/7",
    )
    return GitHubEquipment(wish, GitHub(client), Reporter(), Source(), PORTS, Questions())


@pytest.mark.parametrize(
    ("author", "tainted"),
    [(MARA, False), (ADA, False), (JONAS, True), (Person(id=5, login="renamed"), True)],
    ids=["the asker", "somebody who may write", "a reader", "whose login is another's now"],
)
async def test_the_words_of_who_may_not_write_taint_the_run(author, tainted):
    given = equipment(author, Client("bot:resolve"))
    admission = await given.admit()
    assert (admission.refusal, admission.tainted) == (None, tainted)
    assert given.reporter.did == ["acknowledged"]


async def test_about_the_author_of_what_is_refused_nothing_is_asked():
    client = Client()
    admission = await equipment(JONAS, client).admit()
    assert admission.refusal.rule == "label-on"
    assert client.asked == ["mara"]


async def test_at_rest_it_holds_no_files_and_people_see_that_it_waits():
    given = equipment(MARA, Client())
    await given.rest()
    assert given.reporter.did == ["flushed"]
    assert given.source.discarded == [(False, True)]


class Tracker:
    """An issue that says that it waits for an answer; `error` stands in the way."""

    def __init__(self, error=None):
        self.labels = {"bot:waiting"}
        self.error = error

    async def label(self, name, *, on, description=""):
        if self.error:
            raise self.error
        (self.labels.add if on else self.labels.discard)(name)


@pytest.mark.parametrize("kind", ["cancelled", "failed"])
async def test_an_issue_whose_run_was_withdrawn_waits_for_no_answer(kind):
    """Which ends it without another stage, for example when somebody edits the issue."""
    given = equipment(MARA, Client())
    given.ports = replace(PORTS, tracker=Tracker())
    await given.finish(Outcome(kind=kind, text="So it ended."))
    assert not given.ports.tracker.labels


async def test_a_label_that_cannot_be_taken_off_hides_no_end():
    given = equipment(MARA, Client())
    given.ports = replace(PORTS, tracker=Tracker(RunError("The App may not.")))
    await given.finish(Outcome(kind="failed", text="So it ended."))
    assert given.source.discarded == [(False, False)]


@pytest.mark.parametrize(
    ("kind", "forgotten"),
    [
        ("pull_request", True),
        ("comment", True),
        ("refused", True),
        ("cancelled", False),
        ("failed", False),
    ],
)
async def test_at_the_end_questions_are_withdrawn_and_unfinished_work_is_kept(kind, forgotten):
    given = equipment(MARA, Client())
    await given.finish(Outcome(kind=kind, text="So it ended."))
    assert given.reporter.did == [kind]
    assert not given.questions.open
    assert given.source.discarded == [(forgotten, False)]
