"""What a run on GitHub is admitted as: by who may ask, and by who worded the request."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents.errors import RunError
from agents.policy import MissingPolicy
from agents.ports import Steer
from agents.requests import (
    Person,
)
from agents.run import Outcome, RunPorts
from app.github.transport.bot_identity import BotIdentity
from app.github.transport.errors import InstallationGone
from app.github.transport.installation_cache import Permit, UncachedInstallations
from app.policies.gate import PolicyGate
from app.wiring.github_run import GitHubRun
from tests.fakes.requests import (
    JONAS,
    MARA,
    build_address_review,
    build_fix_checks,
    build_remediate_alert,
    build_repository,
    build_resolve_issue,
)

ADA = Person(id=4, login="ada")
FETTLE = Person(id=77, login="fettle[bot]")
ROLES = {
    "mara": (3, "maintain"),
    "jonas": (2, "read"),
    "ada": (4, "write"),
    "renamed": (99, "write"),
}

PORTS = RunPorts(None, None, None, None, None)


class Client:
    """GitHub's answers about people and the issue."""

    def __init__(self, *labels):
        self.labels = labels
        self.asked = []

    async def getitem(self, path, where, *, named=False):
        self.asked.append(where["login"])
        ident, role = ROLES[where["login"]]
        return {"role_name": role, "permission": "", "user": {"id": ident, "type": "User"}}

    async def graphql(self, document, variables, *, named=False):
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


class StateReporter:
    """Says that the issue was seen; shows the newest state."""

    def __init__(self):
        self.did = []

    async def acknowledge(self):
        self.did.append("acknowledged")

    async def flush(self):
        self.did.append("flushed")

    async def finish(self, outcome):
        self.did.append(outcome.kind)


class RemovableSource:
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


class Batches:
    """What runs have dealt with."""

    def __init__(self, *covered):
        self.covered = covered

    async def covers(self, run_id, request):
        assert run_id == "r1"
        return request.kind in self.covered


class GitHub:
    """Hands out one client."""

    def __init__(self, client, installed=None):
        self.client = client
        self.installed = installed or UncachedInstallations()

    async def installation(self, *_):
        return self.client

    async def identity(self, client):
        assert client is self.client
        return BotIdentity(5, "fettle", FETTLE)


def equipment(author, client):
    wish = build_resolve_issue(author=author, body="")  # as the client shows it
    return make_equipment(wish, client)


def make_equipment(request, client, batches=None):
    github = GitHub(client)
    return GitHubRun(
        "r1",
        request,
        github,
        StateReporter(),
        RemovableSource(),
        PORTS,
        None,
        Questions(),
        batches or Batches(),
        PolicyGate(request, without_policy, frozenset()),
    )


async def without_policy():
    return MissingPolicy()


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


@pytest.mark.parametrize(
    ("asker", "rule"),
    [(MARA, None), (JONAS, "asker-may-write"), (Person(id=5, login="renamed"), "asker-may-write")],
    ids=["who may write", "a reader", "whose login is another's now"],
)
async def test_whoever_asks_again_about_an_alert_has_to_be_one_who_may_write(asker, rule):
    """The role may be another by now than when the command was read."""
    asked = build_remediate_alert(
        number=7,
        title="jinja2",
        asked_by=asker,
        url="https://example.org/octo/lib/security/dependabot/1",
        via="command",
    )
    client = Client()
    admission = await make_equipment(asked, client).admit()
    assert (admission.refusal.rule if admission.refusal else None) == rule
    assert client.asked
    assert admission.tainted  # who wrote the advisory is nobody's guess


class Installed(UncachedInstallations):
    """Knows what was granted, or that nothing is."""

    def __init__(self, permissions=None):
        self.permissions = permissions

    async def permit(self, installation_id, repository_ids):
        assert (installation_id, list(repository_ids)) == (1, [9])
        if self.permissions is None:
            raise InstallationGone("The App is not installed there any more.")
        return Permit(1, "octo", "https://example.org/settings/installations/1", self.permissions)


async def test_who_lacks_permissions_is_told_which_and_where_they_are_granted():
    given = equipment(MARA, Client("bot:resolve"))
    given.github.installed = Installed({"contents": "write", "issues": "write"})
    refusal = (await given.admit()).refusal
    assert refusal.rule == "permissions-granted"
    assert "`pull_requests: write`" in refusal.text
    assert "https://example.org/settings/installations/1" in refusal.text


async def test_whoever_may_not_ask_is_not_told_of_permissions():
    given = equipment(MARA, Client())
    given.github.installed = Installed({})
    assert (await given.admit()).refusal.rule == "label-on"


async def test_where_the_app_is_gone_nobody_is_told_anything():
    given = equipment(MARA, Client("bot:resolve"))
    given.github.installed = Installed()
    refusal = (await given.admit()).refusal
    assert (refusal.rule, refusal.silent) == ("installation-active", True)
    assert given.reporter.did == []


class Publicized(UncachedInstallations):
    """Knows that the repository was made public."""

    async def is_public(self, repository_id):
        return repository_id == 9


@pytest.mark.parametrize(("via", "silent"), [("alert", True), ("command", False)])
async def test_attack_what_was_begun_in_private_does_not_go_on_in_public(via, silent):
    place = build_repository(private=True)
    request = build_remediate_alert(repository=place, number=31, asked_by=MARA, via=via)
    given = make_equipment(request, Client())
    given.github.installed = Publicized()
    refusal = (await given.admit()).refusal
    assert (refusal.rule, refusal.silent) == ("stays-private", silent)
    given.github.installed = UncachedInstallations()
    assert (await given.admit()).refusal is None


async def test_a_run_that_lost_its_ground_ends_without_a_word():
    given = equipment(MARA, Client())
    given.ports = replace(given.ports, steering=Lost())
    await given.finish(Outcome(kind="cancelled", text="Gone."))
    assert given.reporter.did == []
    assert given.source.discarded == [(False, False)]


class Lost:
    """The installation went away under the run."""

    async def list_after(self, number=0):
        return [Steer(number=1, kind="cancel", by="octo", via="installation", at=0.0)]


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


class WaitingTracker:
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
    given.ports = replace(PORTS, tracker=WaitingTracker())
    await given.finish(Outcome(kind=kind, text="So it ended."))
    assert not given.ports.tracker.labels


async def test_a_label_that_cannot_be_taken_off_hides_no_end():
    given = equipment(MARA, Client())
    given.ports = replace(PORTS, tracker=WaitingTracker(RunError("The App may not.")))
    await given.finish(Outcome(kind="failed", text="So it ended."))
    assert given.source.discarded == [(False, False)]


@pytest.mark.parametrize(
    ("kind", "forgotten"),
    [
        ("pull_request", True),
        ("comment", True),
        ("refused", True),
        ("covered", True),
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


# --- on pull requests -----------------------------------------------------------------------------


class PullClient(Client):
    """GitHub's answers about people, a pull request, and one review that asks for changes."""

    def __init__(self, author, *labels):
        super().__init__(*labels)
        self.author = author

    async def getitem(self, path, where, *, named=False):
        if "/reviews/" in path:
            return {"state": "CHANGES_REQUESTED", "body": "Not so."}
        if "/commits/" in path:
            return {"author": {"id": FETTLE.id}}
        return await super().getitem(path, where, named=named)

    async def graphql(self, document, variables, *, named=False):
        labels = [{"name": name} for name in self.labels]
        ada = {"__typename": "User", "login": "ada", "databaseId": 4}
        put_on = [{"actor": ada, "label": each} for each in labels]
        author = {"login": self.author.login, "databaseId": self.author.id}
        pull = {
            "__typename": "PullRequest",
            "state": "OPEN",
            "headRefOid": "a" * 40,
            "author": {"__typename": "User", **author},
            "labels": {"nodes": labels},
            "timelineItems": {"nodes": put_on},
        }
        return {"repository": {"databaseId": 9, "issueOrPullRequest": pull}}


@pytest.mark.parametrize(
    ("author", "tainted"),
    [(FETTLE, False), (ADA, False), (JONAS, True), (Person(id=5, login="renamed"), True)],
    ids=["Fettle", "somebody who may write", "a reader", "whose login is another's now"],
)
async def test_the_code_of_who_may_not_write_taints_the_run(author, tainted):
    """Whoever asks: the work tree of the pull request holds what its author has written."""
    given = make_equipment(build_address_review(review_id=7), PullClient(author, "bot:address"))
    admission = await given.admit()
    assert (admission.refusal, admission.tainted) == (None, tainted)
    assert given.reporter.did == ["acknowledged"]


@pytest.mark.parametrize(
    ("client", "covered"),
    [(PullClient(ADA), ()), (PullClient(FETTLE), ("address_review",))],
    ids=["a pull request that nobody let Fettle in to", "a review that was dealt with"],
)
async def test_of_what_is_passed_over_nobody_sees_anything(client, covered):
    given = make_equipment(build_address_review(review_id=7), client, Batches(*covered))
    admission = await given.admit()
    assert admission.refusal.silent
    assert admission.ending.kind == "covered"
    assert given.reporter.did == []


async def test_whoever_wrote_a_command_is_told_why_not():
    given = make_equipment(build_address_review(via="command", asked_by=JONAS), PullClient(FETTLE))
    admission = await given.admit()
    assert admission.ending.kind == "refused"
    assert given.reporter.did == ["acknowledged"]


async def test_checks_are_judged_without_anybody_who_asks():
    nobody = Person(id=0, login="failed checks")
    request = build_fix_checks(asked_by=nobody)
    client = PullClient(FETTLE)
    assert (await make_equipment(request, client).admit()).refusal is None
    assert client.asked == []
    covered = await make_equipment(request, client, Batches("fix_checks")).admit()
    assert covered.ending.rule == "not-covered"


class SpokenPlace:
    """Where a run spoke to people."""

    def __init__(self):
        self.left = []

    async def leave(self, outcome):
        self.left.append(outcome.kind)


async def test_where_it_spoke_to_people_is_left_last():
    given = equipment(MARA, Client())
    given.place = SpokenPlace()
    await given.finish(Outcome(kind="pull_request", text="Opened."))
    assert given.place.left == ["pull_request"]
    assert given.reporter.did == ["pull_request"]
