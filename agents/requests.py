"""Typed requests: what can be asked of Fettle. `handlers/` builds them, a pipeline fulfils them."""

from __future__ import annotations

import hashlib
import posixpath
import re
from datetime import date
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, RootModel

_ON_REPOSITORY = re.compile(r"/(?:(?:issues|pull)/[0-9]+|security/dependabot(?:/[0-9]+)?|pulls)$")

Severity = Literal["low", "medium", "high", "critical"]
"""How bad an advisory says that it is, in GitHub's words."""

ACTIONS = "actions"
"""GitHub's name of the ecosystem of actions, which workflows use."""

WAITING_LABEL = "bot:waiting"
"""The label that a run's issue carries while the run waits for people."""
WAITING_DESCRIPTION = "Fettle asked something and waits for an answer"


class Frozen(BaseModel):
    """A plain value: immutable, and strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Person(Frozen):
    """A GitHub account. Decisions use the id; the login is for display, it can be renamed."""

    id: int
    login: str


class Repository(Frozen):
    """A repository. The id outlives renames and transfers; owner and name are for URLs."""

    id: int
    owner: str
    name: str
    default_branch: str
    private: bool = False

    @property
    def full_name(self) -> str:
        """Return `owner/name`."""
        return f"{self.owner}/{self.name}"

    @property
    def key(self) -> str:
        """Return what lanes are named after: the id; the name of what is not on GitHub."""
        return str(self.id) if self.id else self.full_name


class Again(Frozen):
    """An earlier run whose work is taken up by a new one."""

    run_id: str
    stage: str = ""
    """What it did before `implement`, or before `implement/2`, is kept; empty: all is anew."""


class RequestBase(Frozen):
    """What every request says: where it is about, who asks, and what it is called there."""

    installation_id: int
    repository: Repository
    number: int
    """The number of the issue or pull request; 0 for a wish that is not on GitHub."""
    title: str
    author: Person
    """Who opened it."""
    asked_by: Person
    url: str
    """The page of the issue or pull request."""
    again: Again | None = None

    @property
    def repository_url(self) -> str:
        """Return the page of the repository; empty for a wish that is not on GitHub."""
        return _ON_REPOSITORY.sub("", self.url) if _ON_REPOSITORY.search(self.url) else ""

    @property
    def unasked(self) -> bool:
        """Return whether no person asked for it, but an alert or the clock."""
        return False

    @property
    def initiator(self) -> str:
        """Return the login of who asked for it, or `fettle`: for the record."""
        return "fettle" if self.unasked else self.asked_by.login

    @property
    def reference(self) -> str:
        """Return what people call it: `owner/repo#n`, or just `repo` where it has no number."""
        name = self.repository.full_name
        return f"{name}#{self.number}" if self.number else self.repository.name

    @property
    def lane(self) -> str:
        """Return the queue key: one live run for each issue, whatever its repository is called."""
        return f"{self.repository.key}#{self.number}"


class ResolveIssue(RequestBase):
    """Turn this issue into a pull request.

    Title and body are those of the signed delivery: what a person saw when they asked, not
    what somebody edits in afterwards.
    """

    kind: Literal["resolve_issue"] = "resolve_issue"
    body: str
    label: str
    """The label that asks for it; also what people are told to set when they want it again."""
    via: Literal["label", "command", "terminal"] = "label"
    """How it was asked for: by the label, by `/bot retry`, by the operator on the machine."""

    @property
    def text(self) -> str:
        """Return the issue in its author's words: untrusted, to be cleaned and fenced."""
        return f"{self.title}\n\n{self.body}"


class AddressReview(RequestBase):
    """Do on this pull request what its reviews ask for, and answer each of their threads."""

    kind: Literal["address_review"] = "address_review"
    review_id: int = 0
    """The review whose submission asks; 0 where people asked in another way."""
    submitted_at: float = 0.0
    """When that was, in unix seconds: texts count as they stood then, however late the delivery."""
    via: Literal["review", "label", "command", "terminal"] = "review"


class UpdateBranch(RequestBase):
    """Merge the base branch into this pull request, and see that it still works."""

    kind: Literal["update_branch"] = "update_branch"
    via: Literal["command", "terminal", "merge"] = "command"
    """`merge`: somebody merged a pull request of Fettle's that this one stands on, or overlaps."""


class FixChecks(RequestBase):
    """Mend the checks that fail on what Fettle pushed to this pull request.

    Nobody asks for it but the repository's policy, unless somebody wants it tried once more:
    `asked_by` has the id 0 then, and so has `author`, of whom a delivery about checks says nothing.
    """

    kind: Literal["fix_checks"] = "fix_checks"
    head: str
    """The commit on which they fail."""
    branch: str = ""
    """The branch that it is the head of, as the delivery says."""
    via: Literal["checks", "command", "terminal"] = "checks"


class MergedChange(RequestBase):
    """What is said of a pull request of Fettle's that was merged."""

    merged: str
    """The commit of the base branch that the merge made, or the last of several."""
    base_branch: str


class RevertChange(MergedChange):
    """Make a pull request that takes back what this one changed when it was merged."""

    kind: Literal["revert_change"] = "revert_change"
    via: Literal["command", "terminal"] = "command"


class SuspectMerge(MergedChange):
    """Something broke after the merge: take it back so, if that began with it and ends without."""

    kind: Literal["suspect_merge"] = "suspect_merge"
    merged_at: float
    """When that was, in unix seconds."""
    via: Literal["watch"] = "watch"

    @property
    def unasked(self) -> bool:
        """Return whether no person asked for it."""
        return True


class AlertSummary(Frozen):
    """What is said of one open alert: enough to hold it against the policy."""

    alert: int
    severity: Severity
    scope: Literal["runtime", "development", ""] = ""
    """Who needs the package; empty: GitHub does not say, which counts as runtime."""


def folder_of_manifest(ecosystem: str, manifest: str) -> str:
    """Return the folder of a file that an alert names; empty for the repository's root.

    Workflows use actions for the repository as a whole, wherever the file lies; Dependabot says so,
    too: https://docs.github.com/code-security/dependabot/working-with-dependabot/dependabot-options-reference
    """
    return "" if ecosystem == ACTIONS else posixpath.dirname(manifest.strip("/"))


def lane_of_alerts(repository: Repository, ecosystem: str, directory: str, package: str) -> str:
    """Return the queue key for the alerts about one package of one folder."""
    parts = (ecosystem, directory.strip("/"), package)
    if len(lane := "!".join((repository.key, *parts))) <= 200 and lane.count("!") == 3:
        return lane
    digest = hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()
    return f"{repository.key}!{digest[:48]}"


class Overruled(Frozen):
    """An override as it was written: enough to know it again to the letter."""

    versions: tuple[tuple[str, str], ...]
    """Each vulnerable version of the package, and the one that took its place."""
    reason: str
    """What was written beside the entry."""
    until: date
    """The day on which somebody has to look at it again."""


class Retire(Overruled):
    """The wish to do without an override."""

    run_id: str
    """The run that made it."""
    days: int = Field(gt=0, le=3650)
    """After so many it is looked at again, if it is needed still."""


class RemediateAlert(RequestBase):
    """Move one package out of the vulnerable ranges of its open alerts, in one folder.

    `number` is 0: an alert is no issue; only who asks again with a command does so on one, which
    Fettle had opened to ask people something. `title` stands where people can read it, so it says
    no more than which package it is about; `asked_by` has the id 0 where nobody but the alert asks.
    """

    kind: Literal["remediate_alert"] = "remediate_alert"
    ecosystem: str
    """GitHub's name for it, like `pip` or `npm`."""
    package: str
    directory: str = ""
    """The folder of the manifest; empty for the repository's root."""
    alerts: tuple[int, ...] = ()
    """The alerts that were asked for by number, whatever their severity; none: the policy says."""
    told: tuple[AlertSummary, ...] = ()
    """The alerts that ask for it, if any of them is worth a run to the policy."""
    severities: tuple[Severity, ...] = ()
    """The ones asked for; none: those of the policy."""
    base_branch: str = ""
    """The branch to mend; empty: the default branch."""
    branch: str = ""
    """The name of the branch for the fix; empty: made from the package's name and the run."""
    dry_run: bool = False
    """Look and report, and change nothing."""
    no_pr: bool = False
    """Make and check the fix, and publish nothing."""
    skip_verify: bool = False
    """Do without the model's look at the result; what code checks is checked all the same."""
    assess: bool = False
    """Have a model judge what code cannot tell about the reach of an alert."""
    max_iterations: int = Field(default=3, ge=1, le=10)
    """How often a fix may be made, each time with what was wrong with the one before."""
    scan: dict[str, object] | None = None
    """What an earlier scan found, as it was handed out; None: the run scans for itself."""
    retire: Retire | None = None
    """The override of the package to do without, if that is what is asked; `alerts` are those
    that it was made for."""
    via: Literal["alert", "schedule", "command", "terminal"] = "alert"
    together: bool = False
    """Nobody chose this package: others of its lock file may go along, as with alerts."""

    @property
    def unasked(self) -> bool:
        """Return whether no person asked for it, but an alert or the clock."""
        return self.via in ("alert", "schedule")

    @property
    def lane(self) -> str:
        """Return the queue key: one live run for each package of each folder."""
        return lane_of_alerts(self.repository, self.ecosystem, self.directory, self.package)

    @property
    def reference(self) -> str:
        """Return what people call it: `package in owner/repo`, with its folder."""
        folder = self.directory.strip("/")
        where = f"{self.repository.full_name}/{folder}" if folder else self.repository.full_name
        return f"{self.package} in {where}"


class ProposalRequest(RequestBase):
    """Something to propose that nobody asks for: `number` and the id of `asked_by` are 0."""

    via: Literal["clock"] = "clock"
    _lane: ClassVar[str]

    @property
    def unasked(self) -> bool:
        """Return whether no person asked for it."""
        return True

    @property
    def lane(self) -> str:
        """Return the queue key: one live run of the kind for each repository."""
        return f"{self.repository.key}/{self._lane}"


class ProposeGuidance(ProposalRequest):
    """Propose to write down what people said more than once, so that they need not again."""

    kind: Literal["propose_guidance"] = "propose_guidance"
    _lane = "guidance"


class OfferSetup(ProposalRequest):
    """Offer the owners set-up commands that a model found, for the repository's policy."""

    kind: Literal["offer_setup"] = "offer_setup"
    _lane = "setup"


def name_asker(via: str, asked_by: Person) -> str:
    """Return who asked for something, as people on GitHub read it."""
    return "the operator of Fettle" if via == "terminal" else f"@{asked_by.login}"


class ShownSubject(Frozen):
    """An issue as a signed delivery showed it: what a person saw when they asked."""

    title: str
    body: str
    author: Person
    url: str


Verb = Literal[
    "approve", "deny", "go", "cancel", "status", "why", "retry", "budget", "address", "update",
    "undo", "remark", "unknown",
]  # fmt: skip


class Command(Frozen):
    """Do what a person wants of Fettle besides a run: `/bot approve k3f9`, or a plain comment."""

    kind: Literal["command"] = "command"
    installation_id: int
    repository: Repository
    number: int
    """The issue or pull request where it was said."""
    verb: Verb
    """`remark` is a comment without any command, `unknown` a command that there is not."""
    approval: str = ""
    """For `approve` and `deny`: the id of what is answered, as it was typed."""
    stage: str = ""
    """For `retry`: where to begin, as it was typed."""
    usd: float | None = None
    """For `budget`: how many dollars more; None when no amount could be read."""
    words: str = ""
    """What else was said: a reason, an answer, a remark; for `unknown` the word that was typed."""
    asked_by: Person
    via: Literal[
        "comment",
        "button",
        "page",
        "terminal",
        "label",
        "relabel",
        "issue",
        "pull_request",
        "board",
    ]
    """How: by taking the label off, by closing the issue or pull request, a run is cancelled; by
    putting the label on again, the runs before."""
    comment_id: int | None = None
    """The comment that says it; None for everything else."""
    digest: str = ""
    """SHA-256 of that comment as it was delivered: it must still read so."""
    check_run_id: int | None = None
    """The check run whose button it was; None for everything else."""
    url: str
    issue: ShownSubject | None = None
    """For `retry`, `address`, `update` and `undo`: the issue that they stand on; None where it is a
    pull request, or nobody's any more."""
    pull_request: ShownSubject | None = None
    """For the same: the pull request that they stand on; None as above."""

    @property
    def lane(self) -> str:
        """Return the queue key: commands never wait for the run they are about."""
        return f"{self.repository.key}#{self.number}/commands"

    @property
    def asker(self) -> str:
        """Return who asked, as people read it; an operator has no account at GitHub."""
        return name_asker(self.via, self.asked_by)

    @property
    def for_live_runs(self) -> bool:
        """Return whether it means nothing, to anybody, unless a run is under way."""
        return self.verb == "remark" or self.via in ("label", "relabel", "issue", "pull_request")


OnPull = AddressReview | UpdateBranch | FixChecks
"""What can be asked about an open pull request."""

OnMerge = RevertChange | SuspectMerge
"""What can be asked about a merged one."""

Request = Annotated[
    ResolveIssue | OnPull | OnMerge | RemediateAlert | ProposeGuidance | OfferSetup,
    Field(discriminator="kind"),
]
"""What starts a run."""


class _Any(RootModel[Request]):
    """A request of any kind."""


def request_of(value: object) -> Request:
    """Return the request that was dumped to this plain value; pydantic.ValidationError if none.

    What a newer version added to it is left out: workers of two versions share the queue.
    """
    return _Any.model_validate(value, extra="ignore").root


def command_of(value: object) -> Command:
    """Return the command that was dumped to this plain value; pydantic.ValidationError if none."""
    return Command.model_validate(value, extra="ignore")


RUN_KINDS: frozenset[str] = frozenset(
    each.model_fields["kind"].default for each in get_args(get_args(Request)[0])
)
"""The kinds of requests that this version knows; a newer one may queue others."""

REVERSALS: frozenset[str] = frozenset(
    each.model_fields["kind"].default for each in get_args(OnMerge)
)
"""Those of them that take back what was merged."""
