"""Fakes of the ports: a model that plays a list, files in a dict, steps that are remembered."""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agents.errors import Moved, ToolError
from agents.loop.budget import RunLimits
from agents.pipelines import PIPELINES
from agents.ports import (
    Answer,
    Approval,
    CommandResult,
    Feedback,
    Knowledge,
    Merged,
    Pictures,
    PullRequest,
    PullSnapshot,
    Remarks,
    SetupResult,
    Steer,
    SubIssue,
    Turn,
    Usage,
)
from agents.requests import Person, Repository, ResolveIssue
from agents.run import Ports, Run, StageContext, Standing


class Killed(BaseException):
    """The process dies here."""


def use(name, **arguments):
    """Return a tool call as the model makes it."""
    key = hashlib.sha256(f"{name}{arguments}".encode()).hexdigest()[:12]
    return {"type": "tool_use", "id": f"toolu_{key}", "name": name, "input": arguments}


def say(text):
    """Return a block of prose."""
    return {"type": "text", "text": text}


@dataclass
class ListModel:
    """The port Model: answers what the list says; an exception in it is raised."""

    answers: list
    asked: list = field(default_factory=list)

    async def answer(self, query):
        self.asked.append(
            {
                "model": query.model,
                "system": query.system,
                "tools": json.dumps(list(query.tools)),
                "messages": json.dumps(list(query.messages)),
            }
        )
        content = self.answers.pop(0)
        if isinstance(content, BaseException):
            raise content
        stop = "tool_use" if any(b["type"] == "tool_use" for b in content) else "end_turn"
        if content and content[0].get("stop"):
            stop, content = content[0]["stop"], content[1:]
        return Answer(content, stop, Usage(input=100, output=10), 0.01, query.model, "req", 0.1)


@dataclass
class MemoryJournal:
    """The port Journal, in memory; outlives a killed run like a database."""

    sessions: dict = field(default_factory=dict)
    others_today: float = 0.0

    async def turns(self, session):
        return [
            Turn(**{**vars(turn), "content": json.loads(text)})
            for turn, text in self.sessions.get(session, [])
        ]

    async def append(self, session, number, turn):
        entries = self.sessions.setdefault(session, [])
        assert number == len(entries), "two writers in one session"
        entries.append((turn, json.dumps(turn.content)))

    async def sum_usage(self):
        answers = [t for s in self.sessions.values() for t, _ in s if t.kind == "answer"]
        usage = sum((t.usage for t in answers), Usage())
        return usage, sum(t.cost_usd for t in answers), len(answers)

    async def spent_today(self):
        return (await self.sum_usage())[1] + self.others_today


@dataclass
class MemoryHistory:
    """Commits and trees of a repository, in memory; what a mirror is on disk."""

    objects: dict = field(default_factory=dict)
    commits: dict = field(default_factory=dict)
    merges: dict = field(default_factory=dict)
    """The second parent of each commit that has one."""

    def tree(self, files):
        key = hashlib.sha1(json.dumps(files, sort_keys=True).encode()).hexdigest()
        self.objects[key] = dict(files)
        return key

    def commit(self, tree, parent, message, merging=""):
        key = hashlib.sha1(f"{tree}{parent}{merging}{message}".encode()).hexdigest()
        self.commits[key] = (tree, parent, message)
        if merging:
            self.merges[key] = merging
        return key

    def ancestors(self, commit):
        """Return the commit and all that it is built on, the nearest first."""
        found = [commit]
        for each in found:
            parents = (self.commits[each][1], self.merges.get(each))
            found += [parent for parent in parents if parent and parent not in found]
        return found

    def fork(self, one, other):
        theirs = set(self.ancestors(other))
        return next(commit for commit in self.ancestors(one) if commit in theirs)

    def files(self, revision):
        tree = self.commits[revision][0] if revision in self.commits else revision
        return self.objects[tree]


def _patch(path, old, new, context):
    """Return the change of one file as git shows it."""
    head = f"diff --git a/{path} b/{path}\n"
    if old is None:
        head += "new file mode 100644\n"
    if new is None:
        head += "deleted file mode 100644\n"
    lines = difflib.unified_diff(
        (old or "").splitlines(),
        (new or "").splitlines(),
        "/dev/null" if old is None else f"a/{path}",
        "/dev/null" if new is None else f"b/{path}",
        n=context,
        lineterm="",
    )
    return head + "".join(f"{line}\n" for line in lines)


@dataclass
class MemoryTree:
    """The port WorkTree over History. `commands` maps a command's text to what it does."""

    history: MemoryHistory
    files: dict
    commands: dict = field(default_factory=dict)
    ran: list = field(default_factory=list)
    installs: list = field(default_factory=list)
    """The commands that could read from package indexes."""
    permitted: list = field(default_factory=list)
    """The protected paths that each commit was let touch, each with what people said yes to."""

    async def read(self, path, *, limit=1_000_000):
        if path not in self.files:
            raise ToolError(f"{path} does not exist")
        return self.files[path].encode()

    async def write(self, path, data):
        self.files[path] = data.decode()

    async def run(self, argv, *, timeout, writable=True, max_output=64_000, network="none"):
        self.ran.append(argv[-1])
        if network != "none":
            self.installs.append(argv[-1])
        done = self.commands.get(argv[-1], (0, ""))
        if callable(done):
            done = done(self.files)
        if asyncio.iscoroutine(done):
            done = await done
        return CommandResult(done[0], "exit", done[1], 0.01)

    async def ask(self, argv, *, timeout, kits=(), max_output=64_000):
        return await self.run(argv, timeout=timeout)

    async def list_install_commands(self):
        return self.installs

    async def snapshot(self):
        return self.history.tree(
            {path: text for path, text in self.files.items() if not path.startswith("ignored/")}
        )

    async def restore(self, tree, *, pristine=False):
        kept = {} if pristine else {p: t for p, t in self.files.items() if p.startswith("ignored/")}
        self.files.clear()
        self.files.update(self.history.files(tree), **kept)

    async def commit(self, tree, parent, message, *, permitted=None, merging=""):
        trees = (permitted or {}).items()
        self.permitted.append({p: self.history.files(at).get(p) for p, at in trees})
        return self.history.commit(tree, parent, message, merging)

    async def diff(self, old, new, *, context=3):
        before, after = self.history.files(old), self.history.files(new)
        return "".join(
            _patch(path, before.get(path), after.get(path), context)
            for path in await self.list_changed_paths(old, new)
        )

    async def list_changed_paths(self, old, new):
        before, after = self.history.files(old), self.history.files(new)
        return sorted(p for p in before.keys() | after if before.get(p) != after.get(p))

    async def show(self, revision, path):
        text = self.history.files(revision).get(path)
        return None if text is None else text.encode()


@dataclass
class MemorySource:
    """The port Source over History."""

    history: MemoryHistory
    base: str
    commands: dict = field(default_factory=dict)
    opened: list = field(default_factory=list)
    bases: list = field(default_factory=list)
    """The commits that they were opened for."""
    branches: dict = field(default_factory=dict)
    pulls: dict = field(default_factory=dict)
    """The heads of pull requests of forks, by their numbers."""
    fork: str = ""
    installed: SetupResult = field(
        default_factory=lambda: SetupResult(source="found in the repository's files")
    )

    async def fetch(self):
        return self.base

    async def show(self, revision, path):
        text = self.history.files(revision).get(path)
        return None if text is None else text.encode()

    async def files(self, revision):
        return sorted(self.history.files(revision))

    async def branch(self, name):
        return self.branches.get(name)

    async def pull(self, number):
        return self.pulls.get(number)

    async def merge(self, ours, theirs):
        """Merge as git does, but by whole files: two changes of one file contradict each other."""
        fork = self.history.fork(ours, theirs)
        old, one, other = map(self.history.files, (fork, ours, theirs))
        files, conflicts = {}, []
        for path in sorted({*old, *one, *other}):
            before, mine, yours = old.get(path), one.get(path), other.get(path)
            chosen = yours if mine == before else mine
            if before not in (mine, yours) and mine != yours:
                conflicts.append(path)
                marked = f"<<<<<<< {ours}\n{mine}=======\n{yours}>>>>>>> {theirs}\n"
                chosen = (mine or yours) if None in (mine, yours) else marked
            if chosen is not None:
                files[path] = chosen
        return Merged(tree=self.history.tree(files), conflicts=tuple(conflicts))

    async def blend(self, old, new, paths):
        files, others = dict(self.history.files(old)), self.history.files(new)
        for path in paths:
            files.pop(path, None)
            if path in others:
                files[path] = others[path]
        return self.history.tree(files)

    async def message(self, commit):
        return self.history.commits[commit][2]

    async def fork_point(self, one, other):
        return self.fork or self.history.fork(one, other)

    async def commits(self, base, head):
        known = set(self.history.ancestors(base))
        new = [commit for commit in self.history.ancestors(head) if commit not in known]
        subjects = {commit: self.history.commits[commit][2].splitlines()[0] for commit in new}
        return [(commit, subjects[commit]) for commit in reversed(new)]

    async def set_up(self, base, policy):
        assert base not in self.bases, "the agent's files were there before its dependencies"
        return self.installed

    async def open(self, base, policy):
        tree = MemoryTree(self.history, dict(self.history.files(base)), self.commands)
        self.bases.append(base)
        self.opened.append(tree)
        return tree


@dataclass
class MemoryPublisher:
    """The port Publisher: remembers what was let out."""

    history: MemoryHistory = None
    branches: dict = field(default_factory=dict)
    """Where the branches on GitHub are, for everybody."""
    pushed: dict = field(default_factory=dict)
    pulls: dict = field(default_factory=dict)
    comments: dict = field(default_factory=dict)
    closes: tuple = ()

    async def push(self, branch, commit):
        now = self.branches.get(branch)
        if now and self.history and now not in self.history.ancestors(commit):
            raise Moved(f"{branch} is at {now}")
        self.pushed[branch] = self.branches[branch] = commit
        return f"url/{branch}"

    async def open_pull_request(self, *, branch, commit, title, body, draft, closes=()):
        self.closes = closes
        self.pulls[branch] = PullRequest(
            number=2,
            url="u",
            branch=branch,
            head=commit,
            base="main",
            title=title,
            body=body,
            draft=draft,
        )
        return self.pulls[branch]

    async def comment(self, key, body):
        self.comments[key] = body
        return f"url/{key}"


class SilentReporter:
    """The port Reporter: keeps what was told."""

    def __init__(self):
        self.told = []

    def stage_started(self, stage, title):
        self.told.append(("started", stage, title))

    def stage_finished(self, stage, summary):
        self.told.append(("finished", stage, summary))

    def tool_called(self, stage, tool, subject):
        self.told.append(("tool", stage, tool, subject))

    def report_spending(self, usage, cost_usd, answers):
        pass

    def report_parked(self, stage, approvals):
        self.told.append(("parked", stage, tuple(approvals)))

    def report_pause(self, stage, why):
        self.told.append(("paused", stage, why))


@dataclass
class MemoryApprovals:
    """The port Approvals: `answers` are decided in turn as soon as the run waits for them."""

    answers: list = field(default_factory=list)
    asked: dict = field(default_factory=dict)
    used_up: list = field(default_factory=list)

    async def ask(self, asking):
        key = (asking.session, asking.call_id)
        if key not in self.asked:
            ident = f"id{len(self.asked) + 1}"
            self.asked[key] = (asking, Approval(id=ident, state="waiting", binding=asking.binding))
        return self.asked[key][1]

    async def all_decided(self, ids):
        for key, (asking, approval) in self.asked.items():
            if approval.id in ids and approval.state == "waiting":
                said = self.answers.pop(0)
                if isinstance(said, BaseException):
                    raise said
                self.asked[key] = (asking, approval.model_copy(update=said))
        return True

    async def claim(self, ids):
        free = [ident for ident in ids if ident not in self.used_up]
        self.used_up += free
        return free

    @property
    def askings(self):
        return [asking for asking, _ in self.asked.values()]


@dataclass
class MemorySteering:
    """The port Steering: what people said, and a bell for who waits for a cancel."""

    steers: list = field(default_factory=list)
    bell: asyncio.Event = field(default_factory=asyncio.Event)

    def say(self, kind, words="", *, by="mara", via="comment", usd=0.0, url=""):
        self.steers.append(
            Steer(
                number=len(self.steers) + 1,
                kind=kind,
                words=words,
                usd=usd,
                by=by,
                role="maintain",
                via=via,
                url=url,
                at=1_767_225_600.0,
            )
        )
        self.bell.set()

    async def list_after(self, number=0):
        return [steer for steer in self.steers if steer.number > number]

    async def wait_for_cancel(self):
        while True:
            for steer in self.steers:
                if steer.kind == "cancel":
                    return steer
            self.bell.clear()
            await self.bell.wait()


@dataclass
class MemoryTracker:
    """The port Tracker: the issue's surroundings as they are set."""

    parts: tuple = ()
    made: list = field(default_factory=list)
    labels: set = field(default_factory=set)
    linked_issues: tuple = ()
    shown: Pictures = field(default_factory=Pictures)
    earlier: object = None
    said: Remarks = field(default_factory=Remarks)
    said_before: str = ""

    async def sub_issues(self):
        return self.parts

    async def create_sub_issues(self, key, wanted):
        self.made += wanted
        self.parts = tuple(
            SubIssue(
                number=40 + number,
                title=part.title,
                body=part.body,
                state="open",
                author="fettle[bot]",
                author_may_write=True,
            )
            for number, part in enumerate(wanted, 1)
        )
        return self.parts

    async def label(self, name, *, on, description=""):
        (self.labels.add if on else self.labels.discard)(name)

    async def find_linked(self, text, *, limit):
        return self.linked_issues[:limit]

    async def pictures(self, text):
        return self.shown

    async def earlier_pull_request(self):
        return self.earlier

    async def discussion(self):
        return self.said_before

    async def remarks(self, *, after=0):
        return self.said


@dataclass
class MemoryReviewing:
    """The port Reviewing over plain lists; its pull request's head is where its branch is."""

    is_now: PullSnapshot
    feedback_: Feedback = field(default_factory=Feedback)
    of_writers: Feedback = None
    """What is left of it where outsiders are not read; None: the same."""
    earlier: list = field(default_factory=list)
    """The batches of earlier runs."""
    branches: dict = field(default_factory=dict)
    """Those of the source; the world sees to it."""
    replies: dict = field(default_factory=dict)
    """Verdict and text by thread id, in the order in which they were posted."""
    resolved: list = field(default_factory=list)
    stays_open: dict = field(default_factory=dict)
    """Why, by thread id, GitHub resolves a thread for nobody."""
    requested: list = field(default_factory=list)
    unasked: set = field(default_factory=set)
    """Logins of whom GitHub asks for no review."""
    suggested: dict = field(default_factory=dict)
    """Text and suggestions of reviews by key."""
    dealt: list = field(default_factory=list)
    """What this run has dealt with: the later word stands."""

    async def pull(self):
        head = self.branches.get(self.is_now.branch, self.is_now.head)
        return self.is_now.model_copy(update={"head": head})

    async def feedback(self, *, outsiders=False):
        return self.feedback_ if outsiders else self.of_writers or self.feedback_

    async def reply(self, thread, verdict, body):
        self.replies.setdefault(thread.id, (verdict, body))
        return f"url/reply-{thread.id}"

    async def resolve(self, thread):
        why = self.stays_open.get(thread.id, "")
        if not why and thread.id not in self.resolved:
            self.resolved.append(thread.id)
        return why

    async def ask_again(self, reviewers):
        asked = [each.login for each in reviewers if each.login not in self.unasked]
        self.requested += [login for login in asked if login not in self.requested]
        return tuple(asked)

    async def suggest(self, key, body, suggested):
        self.suggested.setdefault(key, (body, tuple(suggested)))
        return f"url/{key}"

    async def dealt_with(self, batch):
        self.dealt[:] = [batch]

    async def batches(self):
        return tuple(self.earlier)


@dataclass
class MemoryChecking:
    """The port Checking: what is said of each commit; `later` is said from the next look on."""

    said: dict = field(default_factory=dict)
    """Checks by commit."""
    later: list = field(default_factory=list)
    logs: dict = field(default_factory=dict)
    """The whole text by the check's name."""
    looked: list = field(default_factory=list)

    async def list_checks(self, commit):
        self.looked.append(commit)
        checks = tuple(self.said.get(commit, ()))
        if self.later:
            self.said.update(self.later.pop(0))
        return checks

    async def log(self, check, *, limit):
        return self.logs.get(check.name, "[no log can be read]")[-limit:]


@dataclass
class MemoryAlerts:
    """The port Alerts over plain lists."""

    advisories: tuple = ()
    closed: dict = field(default_factory=dict)
    """What has become of alerts, by number; the others are open."""
    pulls: tuple = ()
    database: tuple = ()
    """The advisories that GitHub knows beside the alerts."""
    complete: bool = True
    numbers: tuple = ()
    """Alerts that are not open any more."""
    said: dict = field(default_factory=dict)
    """What was said on pull requests, by number and key."""
    asked: list = field(default_factory=list)

    async def open(self, ecosystem, package):
        self.asked.append(("open", ecosystem, package))
        return self.advisories

    async def find_by_numbers(self, alerts):
        return tuple(each for each in self.numbers if each.alert in alerts)

    async def state(self, alert):
        return self.closed.get(alert, "open")

    async def find_open_pulls(self, ecosystem, package, directory):
        return self.pulls

    async def find_published(self, ecosystem, versions):
        self.asked.append(("known", *sorted(versions)))
        names = {name for name, _ in versions}
        found = tuple(each for each in self.database if each.package in names)
        return Knowledge(complete=self.complete, advisories=found)

    async def say(self, pull, key, body):
        self.said[pull, key] = body
        return f"url/pull-{pull}"


@dataclass
class MemorySteps:
    """The port Steps: a step's JSON is kept, so a second Run replays it."""

    kept: dict = field(default_factory=dict)
    names: list = field(default_factory=list)
    meanwhile: object = lambda name, until: None
    """What happens while a run waits."""

    async def wait(self, name, over, *, until=None):
        self.names.append(name)
        if name not in self.kept:
            self.meanwhile(name, until)
            assert await over(), "nobody decides"
            self.kept[name] = None

    async def step(self, name, work):
        self.names.append(name)
        if name not in self.kept:
            self.kept[name] = json.dumps(await work())
        return json.loads(self.kept[name])

    async def boundary(self):
        pass


@dataclass
class World:
    """Everything that outlives a run's process."""

    history: MemoryHistory
    base: str
    model: ListModel
    journal: MemoryJournal = field(default_factory=MemoryJournal)
    publisher: MemoryPublisher = field(default_factory=MemoryPublisher)
    steps: MemorySteps = field(default_factory=MemorySteps)
    reporter: SilentReporter = field(default_factory=SilentReporter)
    approvals: MemoryApprovals = None
    web: object = None
    toolsets: object = None
    tracker: object = None
    steering: object = None
    reviewing: object = None
    checking: object = None
    alerts: object = None
    tainted: bool = False
    commands: dict = field(default_factory=dict)
    limits: RunLimits = field(default_factory=lambda: RunLimits(usd=5, turns=100, minutes=60))
    now: float = 1000.0
    wall: float = 1_767_225_600.0
    source: MemorySource = None

    def __post_init__(self):
        self.source = MemorySource(self.history, self.base, self.commands)
        self.publisher.history, self.publisher.branches = self.history, self.source.branches
        if self.reviewing is not None:
            self.reviewing.branches = self.source.branches

    def run(self, request):
        """Return a run as a fresh process makes it."""
        return Run(
            StageContext(
                id="0006-run",
                request=request,
                ports=Ports(
                    model=self.model,
                    journal=self.journal,
                    source=self.source,
                    publisher=self.publisher,
                    reporter=self.reporter,
                    approvals=self.approvals,
                    web=self.web,
                    toolsets=self.toolsets,
                    tracker=self.tracker,
                    steering=self.steering,
                    reviewing=self.reviewing,
                    checking=self.checking,
                    alerts=self.alerts,
                ),
                steps=self.steps,
                conversations=PIPELINES[type(request)].conversations,
                models={"strong": "big", "judge": "wise", "fast": "small"},
                limits=self.limits,
                clock=lambda: self.now,
                wall=lambda: self.wall,
                standing=Standing(tainted=self.tainted),
            )
        )

    async def resolve(self, request):
        """Run the pipeline of this request."""
        return await PIPELINES[type(request)].work(self.run(request), request)


@pytest.fixture
def request_():
    """An issue that somebody labelled."""
    return ResolveIssue(
        installation_id=1,
        repository=Repository(id=9, owner="octo", name="lib", default_branch="main"),
        number=7,
        title="It adds wrong",
        body="`add(1, 1)` gives 3.",
        author=Person(id=2, login="jonas"),
        asked_by=Person(id=3, login="mara"),
        label="bot:resolve",
        url="https://example.org/7",
    )


@pytest.fixture
def make_world():
    """A repository with these files, and a model that gives these answers."""

    def make(files, answers, **more):
        history = MemoryHistory()
        base = history.commit(history.tree(files), "", "start")
        return World(history, base, ListModel(list(answers)), **more)

    return make


@pytest.fixture
def talk():
    """The words of a scripted model."""
    words = {"use": staticmethod(use), "say": staticmethod(say), "Killed": Killed}
    words |= {"Approvals": MemoryApprovals}
    words |= {"Steering": MemorySteering, "Tracker": MemoryTracker}
    words |= {"Reviewing": MemoryReviewing, "Checking": MemoryChecking}
    words |= {"Alerts": MemoryAlerts}
    return type("Talk", (), words)


@pytest.fixture
def prompts():
    """The folder of the pipelines, where the prompts lie."""
    return Path(__file__).parents[2] / "agents" / "pipelines"
