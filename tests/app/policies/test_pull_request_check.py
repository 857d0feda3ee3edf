"""Pull requests that edit the policy: each gets one check run on its head, and is never obeyed."""

from __future__ import annotations

import json

import pytest

import handlers
from agents.errors import TransientError
from app.policies.pull_request_check import ProposedPolicies
from app.simulator.github.accounts import Actor
from app.simulator.github.gitdir import GitDir
from handlers.ignored import Ignored
from handlers.notifications import PullChanged, notice_of
from tests.app.github.conftest import key, scene, signer

__all__ = ["key", "scene", "signer"]  # fixtures

FILE = ".github/fettle.yml"
MODELS = frozenset({"claude-opus-5-5"})


class Proposals:
    """People's pull requests against the policy of a scene's repository."""

    def __init__(self, scene):
        self.scene = scene
        self.taker = ProposedPolicies(scene.github, scene.redactor, MODELS)
        self.number = 0

    async def base(self, text, path=FILE):
        people = self.scene.people
        server, repository = self.scene.server, self.scene.repository
        await server.commit(repository, {path: text}, author=people["ada"], message="x")

    async def propose(self, text, *, path=FILE, repository=None, by="ada"):
        """Open a pull request; return the notice of it."""
        server, home = self.scene.server, self.scene.repository
        self.number += 1
        branch, person = f"wish-{self.number}", self.scene.people[by]
        source = repository or home
        sha = await server.commit(
            source, {path: text}, author=person, message="Wish", branch=branch
        )
        opened = await server.parts.pulls.open(
            home,
            Actor(person),
            title="Wish",
            body="",
            head=branch,
            base="main",
            head_repository=source,
        )
        return PullChanged(
            installation_id=self.scene.installation.id,
            repository=self.scene.request.repository,
            number=opened.issue.number,
            head=sha,
            base=opened.base_sha,
        )

    async def take(self, notice):
        """Have it taken, from what the engine keeps of it."""
        kept = json.loads(json.dumps(notice.model_dump(mode="json")))
        return await self.taker.take(notice_of(kept), "n1")

    async def propose_and_check(self, text, **how):
        """Propose it, have it taken twice, and return the one check run."""
        notice = await self.propose(text, **how)
        first = await self.take(notice)
        assert await self.take(notice) == first
        [run] = self.runs(notice)
        assert first == {"policy": run.conclusion}
        return run

    def runs(self, notice):
        found = self.scene.repository.check_runs.values()
        return [each for each in found if each.head_sha == notice.head]

    def annotations(self):
        """Return what was said of lines, request by request."""
        sent = [
            json.loads(each.body)
            for each in self.scene.server.requests
            if each.method in ("POST", "PATCH") and "/check-runs" in each.path
        ]
        return [each["output"]["annotations"] for each in sent]


@pytest.fixture
def proposals(scene):
    return Proposals(scene)


async def test_a_change_is_told_in_words(proposals):
    await proposals.base("budget: {usd: 3}\ndeny: [{command: npm publish}]\n")
    run = await proposals.propose_and_check(
        "budget: {usd: 8}\ntriggers: {reviews: false}\nask: [{path: db/**}]\n"
    )

    assert (run.name, run.conclusion, run.output["title"]) == ("fettle policy", "success", "Valid")
    summary = run.output["summary"]
    assert "- `budget.usd`: `3` becomes `8`" in summary
    assert "- `triggers.reviews`: yes becomes no" in summary
    assert "- `ask` gets path `db/**`" in summary
    assert "- `deny` loses command `npm publish`" in summary
    assert "It holds once it is on `main`" in summary


async def test_faults_stand_at_their_lines(proposals):
    run = await proposals.propose_and_check("budget:\n  usd: 0\n  usb: 1\n")

    assert run.conclusion == "failure"
    assert run.annotations == 2
    [told] = proposals.annotations()
    assert [(each["path"], each["start_line"], each["start_column"]) for each in told] == [
        (FILE, 2, 8),
        (FILE, 3, 3),
    ]
    assert "Did you mean `usd`?" in told[1]["message"]


async def test_many_faults_take_several_requests_and_never_stand_there_twice(proposals):
    notice = await proposals.propose("".join(f"key{n}: 1\n" for n in range(120)))
    await proposals.take(notice)
    await proposals.take(notice)

    assert [len(each) for each in proposals.annotations()] == [50, 50, 20]
    assert proposals.runs(notice)[0].annotations == 120


async def test_what_a_crash_left_out_is_added(proposals):
    notice = await proposals.propose("".join(f"key{n}: 1\n" for n in range(60)))
    server = proposals.scene.server
    server.faults.status("PATCH", "/check-runs/", 500)
    with pytest.raises(TransientError):
        await proposals.take(notice)
    await proposals.take(notice)

    assert proposals.runs(notice)[0].annotations == 60


async def test_a_pull_request_that_does_not_touch_it_costs_two_requests_and_says_nothing(proposals):
    await proposals.base("budget: {usd: 3}\n")
    notice = await proposals.propose("x = 1\n", path="a.py")
    assert await proposals.take(notice) == {"policy": "not touched"}
    assert not proposals.runs(notice)
    asked = [each for each in proposals.scene.server.requests if "/contents" in each.path]
    assert len(asked) == 2


async def test_a_branch_that_lies_behind_its_base_does_not_touch_it(proposals):
    await proposals.base("budget: {usd: 3}\n")
    notice = await proposals.propose("x = 1\n", path="a.py")
    await proposals.base("budget: {usd: 4}\n")
    head = (await GitDir(proposals.scene.repository.gitdir).refs())["refs/heads/main"]
    later = notice.model_copy(update={"base": head})

    assert await proposals.take(later) == {"policy": "not touched"}


async def test_taken_away_it_is_said_what_holds_instead(proposals):
    await proposals.base("budget: {usd: 3}\n")
    run = await proposals.propose_and_check(None)

    assert run.conclusion == "success"
    assert "The policy is taken away" in run.output["summary"]
    assert "`budget.usd`: `3` becomes `5`" in run.output["summary"]


async def test_what_is_called_nearly_so_is_told(proposals):
    run = await proposals.propose_and_check("budget: {usd: 3}\n", path=".github/fettle.yaml")

    assert run.conclusion == "failure"
    assert "it has to be called `.github/fettle.yml`" in run.output["summary"]


async def test_a_model_that_the_operator_does_not_allow_is_told(proposals):
    run = await proposals.propose_and_check("models: {strong: gold-9, fast: claude-opus-5-5}\n")

    assert run.conclusion == "failure"
    assert "does not allow `gold-9`" in run.output["summary"]


async def test_a_forks_proposal_is_looked_at_as_well(proposals):
    scene = proposals.scene
    fork = await scene.server.fork_repository(scene.repository, scene.people["mallory"])
    run = await proposals.propose_and_check("budgt: 1\n", repository=fork, by="mallory")
    assert run.conclusion == "failure"


HOSTILE = [
    'deny: [{command: "`@ada ![x](//evil.example/p.png) <img src=//evil.example>`"}]\n',
    'web: {hosts: ["[free](https://evil.example) closes #1 \\u202e"]}\n',
    '"`@ada closes #1 [x](https://evil.example)`": 1\n',
    "a: &a [x]\nb: *a\n",
    "[" * 60_000,
    "#" * 900_000,
    "!!python/object/apply:os.system [touch /tmp/x]\n",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_what_is_proposed_is_never_obeyed_and_its_words_never_act(proposals, text):
    run = await proposals.propose_and_check(text)

    said = run.output["title"] + run.output["summary"]
    assert "\u202e" not in said
    acting = "".join(said.split("`")[::2])
    assert not any(each in acting for each in ("@ada", "closes #1", "](", "<img", "evil.example"))
    assert all(len(each["message"]) < 400 for each in proposals.annotations()[0])


# --- from the door --------------------------------------------------------------------------------


def route_delivered(delivered, event):
    return handlers.route(event, delivered)


def payload(action, **more):
    repository = {
        "id": 9,
        "name": "parse",
        "owner": {"login": "ada"},
        "default_branch": "main",
    }
    return {"action": action, "repository": repository, "installation": {"id": 3}, **more}


def pull(action, **sender):
    commits = {"head": {"sha": "a" * 40}, "base": {"sha": "b" * 40}}
    page = {"number": 7, "title": "x", "html_url": "https://example.org/7"}
    return payload(action, pull_request={**page, **commits}, **sender)


@pytest.mark.parametrize("action", ["opened", "synchronize", "reopened", "ready_for_review"])
def test_new_commits_are_told_of_whoever_made_them(action):
    sender = {"sender": {"id": 49699333, "login": "dependabot[bot]", "type": "Bot"}}
    delivered = pull(action, **sender)
    assert handlers.ROUTES["pull_request", action].people_only is False
    told = route_delivered(delivered, "pull_request")
    assert (told.number, told.head, told.base, told.again) == (7, "a" * 40, "b" * 40, False)


@pytest.mark.parametrize(
    ("ident", "number"), [("policy/7", 7), ("policy/0", None), ("k3f9", None), (None, None)]
)
def test_a_check_of_ours_is_made_again_when_somebody_wants_it(ident, number):
    check = {"id": 5, "external_id": ident, "head_sha": "a" * 40}
    told = route_delivered(payload("rerequested", check_run=check), "check_run")
    if number is None:
        assert isinstance(told, Ignored)
    else:
        assert (told.number, told.head, told.base, told.again) == (7, "a" * 40, "", True)


async def test_made_again_it_is_the_same_check_run(proposals):
    notice = await proposals.propose("budget: {usd: 2}\n")
    await proposals.take(notice)
    await proposals.take(notice.model_copy(update={"base": "", "again": True}))

    assert len(proposals.runs(notice)) == 1
    assert len(proposals.scene.calls("PATCH", "")) == 1
