"""What the tests of remediate share: a repository with a made-up lock file, and its alerts."""

import json

import pytest

from agents.pipelines.remediate.ladder import finders
from agents.policy import POLICY_PATH
from agents.ports import OtherPull
from tests.agents.pipelines.remediate.ladder.conftest import MadeUpEcosystem, advisory
from tests.fakes.requests import build_remediate_alert, build_repository

RELEASES = {
    "jinja2": ["3.1.3", "3.1.4", "3.1.5", "4.0.0"],
    "flask": ["3.0.3", "3.0.4", "3.1.0", "4.0.0"],
}
QUALITY = "quality: [{name: tests, run: check}]\n"
CODE = "import jinja2\n\nprint(jinja2.render('x'))\n"
GHSA = "GHSA-aaaa-bbbb-cccc"
URL = "https://github.example/octo/shop"


def alert(vulnerable="< 3.1.4", number=5, **more):
    values = {"alert": number, "manifest": "lock.json", "cve_id": "CVE-2024-34064"}
    return advisory("jinja2", vulnerable, **(values | more))


def make_other_pull(number=12, head="", **more):
    values = {
        "url": f"{URL}/pull/{number}",
        "title": "Bump jinja2",
        "branch": f"dependabot/pip/jinja2-{number}",
        "base": "main",
        "author": "dependabot[bot]",
    }
    return OtherPull(number=number, head=head, **(values | more))


class AlertedRepository:
    """A repository that needs jinja2, with alerts about it."""

    def __init__(self, world, request, index):
        self.world, self.request, self.index = world, request, index
        self.history, self.base = world.history, world.base

    async def run(self, **more):
        self.request = self.request.model_copy(update=more)
        return await self.world.resolve(self.request)

    def branch(self, name, files, on=None, subject="Bump jinja2"):
        """Put a commit with these files on a branch, as another bot would."""
        tree = self.history.tree({**self.history.files(self.base), **files})
        commit = self.history.commit(tree, on or self.base, subject)
        self.world.source.branches[name] = commit
        return commit

    @property
    def pushed(self):
        return self.world.publisher.pushed

    @property
    def files(self):
        [head] = self.pushed.values()
        return self.history.files(head)

    @property
    def pull(self):
        [pull] = self.world.publisher.pulls.values()
        return pull

    @property
    def told(self):
        """The pull request's text with what is folded below it."""
        return f"{self.pull.body}\n\n{self.world.publisher.evidence}"

    @property
    def messages(self):
        """The messages of the commits that were let out, oldest first."""
        found, [head] = [], self.pushed.values()
        while head != self.base:
            _, parent, message = self.history.commits[head]
            found.insert(0, message)
            head = parent
        return found

    def prompt(self, number):
        """Return the first message of the session in which the model was asked this."""
        return json.loads(self.world.model.asked[number]["messages"])[0]["content"][0]["text"]

    def refusal(self, number):
        [block] = json.loads(self.world.model.asked[number]["messages"])[-1]["content"]
        assert block["is_error"]
        return block["content"]


def lock(**versions):
    return json.dumps({"versions": versions})


@pytest.fixture
def scene(make_world, talk, monkeypatch):
    def make(
        answers=(), *, advisories=None, policy="", wants=None, needs=None, releases=None,
        files=None, check=None, known=True, **more,
    ):  # fmt: skip
        index = MadeUpEcosystem(releases or RELEASES, needs or {})
        monkeypatch.setattr(
            finders, "FINDERS", (lambda paths, group: index,) if known else ()
        )  # the ladder's own files are tried elsewhere
        repository = {
            "lock.json": lock(flask="3.0.3", jinja2="3.1.3"),
            "wants.json": json.dumps(wants if wants is not None else {"flask": ["3.0.3"]}),
            "app.py": CODE,
            POLICY_PATH: QUALITY + policy,
        }
        alerts = more.pop("alerts", None) or talk.Alerts()
        alerts.advisories = tuple(advisories if advisories is not None else [alert()])
        commands = {"check": check or (0, "3 passed")}
        world = make_world(
            repository | (files or {}), answers, alerts=alerts, commands=commands, **more
        )
        request = build_remediate_alert(
            repository=build_repository(name="shop"), url=f"{URL}/security/dependabot/5"
        )
        return AlertedRepository(world, request, index)

    return make


class RemediateActs:
    """What a model does, in one word."""

    def __init__(self, use):
        self.use = use

    def write(self, path, content):
        return [self.use("write", path=path, content=content)]

    def change(self, version="3.1.4", summary="The bound was in the way."):
        return [
            self.use(
                "submit_dependency_fix",
                outcome="changed", version=version, summary=summary, reason="",
            )
        ]  # fmt: skip

    def skip(self, reason="No release admits it."):
        return [
            self.use(
                "submit_dependency_fix", outcome="skipped", version="", summary="", reason=reason
            )
        ]

    def adapt(self, summary="render() is called template() now."):
        return [self.use("submit_adaptation", summary=summary, tried="check: 3 passed")]

    def stands(self, reasoning="I looked at every import of it, and all is right."):
        return [
            self.use(
                "submit_verification", passed=True, issues=[], feedback="", reasoning=reasoning
            )
        ]

    def falls(self, feedback="Use template() in app.py as well."):
        issue = {
            "category": "breaking", "severity": "high", "suggestion": "Use template().",
            "description": "app.py:3 calls render(), which is gone.",
        }  # fmt: skip
        return [
            self.use(
                "submit_verification",
                passed=False, issues=[issue], feedback=feedback,
                reasoning="I ran it, and it failed in app.py.",
            )
        ]  # fmt: skip

    def sums_up(self, text="The bound was in the way, so it was moved; look at app.py."):
        return [self.use("submit_summary", text=text)]


@pytest.fixture
def acts(talk):
    return RemediateActs(talk.use)


STUCK = {("flask", v): {"jinja2": ["3.1.3"]} for v in ("3.0.3", "3.0.4", "3.1.0")}
"""No release of flask admits the fix, so the ladder ends."""


def fail_after_move(files):
    """A check that fails once jinja2 has moved, until the code follows."""
    moved = "3.1.3" not in files["lock.json"]
    return (1, "FAILED test_app") if moved and "template" not in files["app.py"] else (0, "ok")


def engineers(acts):
    """What an engineer does where the ladder ended: flask goes, since nothing needs it."""
    return [
        [*acts.write("wants.json", "{}"), *acts.write("lock.json", lock(jinja2="3.1.4"))],
        acts.change(),
    ]


ADAPTED = "import jinja2\n\nprint(jinja2.template('x'))\n"
