"""The sections of the policy: what owners allow, and how they want things done."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from agents.policy.images import parse_image

T = TypeVar("T", bound=str)


def _readable(pattern: str) -> str:
    """Return the pattern. Raises ValueError for one without a file: it would protect nothing."""
    if not pattern.strip(" /") or pattern.startswith(("#", "!")):
        raise ValueError("names no file: each pattern stands by itself, without `!` and `#`")
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - 7 MB that a server at rest can do without

    try:
        GitIgnoreSpec.from_lines([pattern])
    except (ValueError, re.error) as error:
        raise ValueError("is no pattern as in .gitignore") from error
    return pattern


def _known_image(text: str) -> str:
    """Return the image as it is written; raises for what is none."""
    parse_image(text)
    return text


Login = Annotated[str, Field(pattern=r"^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?$")]
ModelName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^\S+$")]
Folder = Annotated[str, Field(max_length=30, pattern=r"^[a-z0-9]+(?:[._-][a-z0-9]+)*$")]
PathPattern = Annotated[str, AfterValidator(_readable)]
ImageName = Annotated[str, AfterValidator(_known_image)]


class Strict(BaseModel):
    """Owners' settings: an unknown key is an error, not a silent wish."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False
    )


class Triggers(Strict):
    """What starts work here. What is switched off is refused, in words where a person asked.

    Whether failing checks do is said by `checks.fix`. What the operator of Fettle asks for on
    their own machine is not held up by any of these.
    """

    resolve: bool = True
    """The label `bot:resolve` on an issue."""
    address: bool = True
    """The label `bot:address` on a pull request: it has reviews addressed that are there already.
    Those to come are addressed by `reviews`."""
    reviews: bool = True
    """A submitted review of a pull request that Fettle opened, or that carries `bot:address`."""
    commands: bool = True
    """The comments `/bot retry`, `/bot address` and `/bot update`. Others start nothing: they
    steer or answer what is under way, and always count."""
    alerts: bool = True
    """Alerts about vulnerable dependencies, when they are raised and when they are looked through;
    which ones is said by `remediation.severities`."""


class Who(Strict):
    """Who may start work, approve, give a run more to spend, and steer it by comments.

    Whatever stands here, it takes write access. Whoever has that may always deny an approval, and
    cancel a run.
    """

    role: Literal["write", "maintain", "admin"] = "write"
    """The least role."""
    people: tuple[Login, ...] = Field(default=(), max_length=100)
    """Logins of people who may although their role is lower than that."""


Effort = Literal["low", "medium", "high"]
"""How hard a model thinks before it answers."""
SessionName = Literal[
    "triage",
    "implement",
    "evaluation",
    "analyze_feedback",
    "engineer",
    "verify",
    "adapt",
    "assess",
    "summarize",
    "find_lessons",
    "second_look",
    "comment_draft",
    "craft_decision_pr",
    "infeasible_comment",
    "eval_comment",
    "craft_pr",
    "craft_draft_pr",
    "craft_update",
]
"""Conversations that begin, and those that write words at the end of another one."""
AnySession = SessionName | Literal["*"]
"""`*` is all that are not named."""
JUDGES = ("evaluation", "verify")
Tier = Literal["strong", "fast", "judge"]
"""Which of the models answers."""
WorkPath = Literal["whole", "fast"]
"""How an issue becomes a change."""


class Models(Strict):
    """Which models runs here use, out of those that the operator allows. Absent: the operator's."""

    strong: ModelName | None = None
    """Writes code."""
    judge: ModelName | None = None
    """Judges changes. Name one that is as strong as `strong`, or stronger."""
    fast: ModelName | None = None
    """Sorts, and writes prose."""
    effort: dict[AnySession, Effort] = Field(default_factory=dict)
    """How hard models think, by the conversation: `{"*": medium, evaluation: high}`. Absent: the
    operator's."""
    tiers: dict[SessionName, Tier] = Field(default_factory=dict)
    """Which of the three answers, by the conversation: `{craft_pr: strong}`. Absent: the
    operator's. Those that judge are never `fast`."""

    @field_validator("tiers")
    @classmethod
    def _judge_well(cls, tiers: dict[SessionName, Tier]) -> dict[SessionName, Tier]:
        return no_fast_judge(tiers)

    @property
    def named(self) -> dict[str, str]:
        """Return those that are named, by tier."""
        return self.model_dump(exclude_none=True, exclude={"effort", "tiers"})

    @property
    def efforts(self) -> dict[str, Effort]:
        """Return how hard models think, by conversation."""
        return {str(name): effort for name, effort in self.effort.items()}

    @property
    def chosen_tiers(self) -> dict[str, Tier]:
        """Return which of the models answers, by conversation."""
        return {str(name): tier for name, tier in self.tiers.items()}


def no_fast_judge(tiers: dict[T, Tier]) -> dict[T, Tier]:
    """Return them unless one has the fast model judge a change. Raises ValueError."""
    for name, tier in tiers.items():
        if name in JUDGES and tier == "fast":
            raise ValueError(f"`{name}` judges changes: `strong` or `judge`")
    return tiers


class Branches(Strict):
    """How branches are named. All of them lie below `bot/`, and that cannot be changed."""

    folder: Folder | None = None
    """A word that stands behind `bot/`: with `team` a branch is called `bot/team/12-words-3f9a1c`.
    Small letters and digits."""


class Commits(Strict):
    """How commits are worded and signed."""

    style: Literal["plain", "conventional"] = "plain"
    """`conventional`: their first lines, and the titles of pull requests, begin with a type, like
    `fix: ` (www.conventionalcommits.org)."""
    signing: Literal["when_required", "github", "none"] = "when_required"
    """`github`: GitHub makes each commit that is pushed, signs it and shows it as verified.
    `when_required`: only where the repository takes no others."""


LabelName = Annotated[
    str, Field(min_length=1, max_length=50, pattern=r"^[^\s,](?:[^,\n]*[^\s,])?$")
]
Reviewer = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,99})?$")
]


class PullRequests(Strict):
    """How large Fettle's pull requests are, and before whom they are brought.

    What people change stays.
    """

    max_lines: int = Field(default=400, ge=0, le=1_000_000)
    """How many changed lines people want to read at a time: lock files and generated ones are not
    counted. Plans aim at it; a change that is larger is divided. 0: it may be any size."""
    stack: bool = True
    """Whether what is larger becomes several pull requests, each on top of the one before it and
    green by itself; if not, it stays one that says so."""

    labels: tuple[LabelName, ...] = Field(default=(), max_length=20)
    """Put on each of them; those that the repository lacks are made."""
    assignees: tuple[Login, ...] = Field(default=(), max_length=10)
    """Logins of those who are assigned."""
    reviewers: tuple[Reviewer, ...] = Field(default=(), max_length=15)
    """Logins, and teams like `org/team`, who are asked for a review once it is no draft. Code
    owners are asked by GitHub itself."""


class Check(Strict):
    """One quality tool: a command of the repository whose exit code counts."""

    name: str
    """What people call it, like `tests`."""
    run: str
    """The command, for bash, in the repository's root."""
    timeout: float = Field(default=900, gt=0, le=7200)
    """Seconds after which it is stopped and counts as failed."""


class Budget(Strict):
    """What one run may use up at most."""

    usd: float = Field(default=5.0, gt=0)
    """Dollars for the model. People can give one run more, up to the operator's limit."""
    usd_per_day: float = Field(default=50.0, gt=0)
    """Dollars that all runs on the repository may spend between one midnight UTC and the next."""
    turns: int = Field(default=150, gt=0)
    """Answers of the model."""
    minutes: float = Field(default=120, gt=0)
    """Time at work; waiting for a place, a person or a restart does not count."""


class Rule(Strict):
    """Calls that a person must approve (`ask`), or that are refused (`deny`).

    A call matches when everything that the rule names matches; it must name something.
    """

    tool: str | None = None
    """Pattern of the tool's name, like `bash` or `mcp_*`."""
    command: str | None = None
    """Pattern of one simple command as the shell would run it, like `make deploy*`."""
    path: PathPattern | None = None
    """Pattern, as in .gitignore, of a file that the call would change."""
    host: str | None = None
    """Pattern of a host that the call would talk to."""
    reason: str = ""
    """Why, for whoever has to decide, and for the model."""

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not (self.tool or self.command or self.path or self.host):
            raise ValueError("name at least one of `tool`, `command`, `path`, `host`")
        return self


class Web(Strict):
    """What the tool `webfetch` may read without asking."""

    hosts: tuple[str, ...] = ()
    """Host names, or patterns like `*.readthedocs.io`."""


class Setup(Strict):
    """How the repository's dependencies are installed before the agent begins."""

    run: tuple[str, ...] | None = None
    """Commands for bash, in the repository's root, with network to package indexes alone.
    Absent: found by looking at the repository. Empty: nothing is installed."""
    second_look: bool = True
    """Whether the fast model may propose such commands where `run` is absent, and a check cannot
    run with what was found. They are tried in a sandbox, hold for that run if they help, and are
    offered for this file in a pull request."""
    timeout: float = Field(default=900, gt=0, le=7200)
    """Seconds for all of them."""


class Environment(Strict):
    """Where the repository's commands run: set-up, checks and the model's own."""

    image: ImageName | None = None
    """A container image, like `ghcr.io/acme/ci:1`. It is used where the operator allows it and has
    fetched it; what keeps it from being used is told. Absent: that of a devcontainer, else what
    the machine has."""
    devcontainer: bool = True
    """Whether `image` in `.devcontainer/devcontainer.json` or `.devcontainer.json` is such an
    image, where none stands here. Nothing else of those files is followed."""


class Toolset(Strict):
    """Which tools of one configured MCP server runs on this repository may use."""

    server: str
    """The name that the operator gave the server."""
    tools: tuple[str, ...] = ("*",)
    """Patterns of its tools' names."""
    stages: tuple[str, ...] = ("*",)
    """Patterns of the stages that may call them, like `triage`."""


class ApprovalTerms(Strict):
    """How long people have to answer, and what they are asked."""

    days: float = Field(default=7, gt=0, le=90)
    """After that the run ends with a report; its work is kept."""
    dependencies: Literal["ask", "refuse"] = "ask"
    """What becomes of a command that installs a package which the default branch does not name:
    a person is asked, or it is refused at once and the run goes on without it."""


class Answers(Strict):
    """How long a run waits for an answer when it asked something about its issue."""

    days: float = Field(default=14, gt=0, le=90)
    """After that it ends; asking for it again starts afresh."""


class Decisions(Strict):
    """Where decisions are recorded, such as why an issue was declined."""

    path: str | None = None
    """A Markdown file, or a folder with one file for each decision. Absent: found by looking."""
    record: bool = True
    """Whether they are recorded at all; if not, a comment on the issue says why."""


class Address(Strict):
    """How reviews are addressed."""

    quiet_seconds: float = Field(default=15, ge=0, le=300)
    """A batch begins once nobody has submitted a review for so long: people send several."""
    outsiders: bool = False
    """Whether what people without write access say in a review is read as well. What a run then
    does is held to the stricter rules for text by strangers."""


class Checks(Strict):
    """What happens when other programs' checks fail on what Fettle pushed."""

    fix: bool = False
    """Whether Fettle mends them: once for each commit, at most twice in a row."""


class WatchTerms(Strict):
    """How long Fettle watches over what it changed once that is merged."""

    hours: int = Field(default=48, ge=0, le=168)
    """Where checks fail on the default branch meanwhile, or an issue of somebody who may write
    names the change, the checks of the repository say whether it began with it. If so, a pull
    request that takes it back is made and checked. Nothing is merged. 0: not at all."""


class Remediation(Strict):
    """Which alerts about vulnerable dependencies are mended, and how far a fix may go."""

    severities: tuple[Literal["low", "medium", "high", "critical"], ...] = ("critical", "high")
    """Which ones start a run; with one that does, all alerts of its package are mended.
    None: no alert starts one."""
    scope: Literal["runtime", "all"] = "all"
    """Whether alerts about packages that only development needs start a run as well."""
    schedule: Literal["daily", "weekly", "never"] = "daily"
    """How often all open alerts are looked at, besides what GitHub tells of at once: those that it
    never told of, and those whose fix failed, once something has changed or a release may be
    there."""
    group: Literal["lockfile", "package"] = "lockfile"
    """What one pull request is about: all packages of a lock file that code can move together and
    nobody has to look at, or one package. Groups for security updates in `dependabot.yml` divide a
    lock file further. What people ask for by name is about that package alone."""
    majors: Literal["allow", "draft", "ask", "never"] = "draft"
    """What becomes of a fix by another major version, once it is made and checked: a pull request
    like any other (`allow`), a draft, one that a person says yes to first (`ask`), or none. Those
    of packages that only development needs, and those that every requirement admits, are like any
    other. `true` and `false` mean `allow` and `ask`."""
    min_release_days: int = Field(default=0, ge=0, le=365)
    """How many days ago a release must have been published, the fix's and every other that moves
    with it; 0: it may be new. What does not say when that was is not taken."""
    overrides: bool = False
    """Whether an entry may overrule what other packages ask for, where nothing else helps."""
    override_days: int = Field(default=90, gt=0, le=3650)
    """After so many days an override is looked at again: Fettle tries to do without it, and opens a
    pull request that removes it, or leaves it for as many days more where it is needed still."""
    adapt: bool = False
    """Whether code is adapted where checks fail newly on a pull request of Dependabot or Renovate:
    a commit on its branch, once for each of the bot's, at most twice in a row; where that branch
    takes no push, a pull request on top of it."""
    assess: Literal["never", "unclear", "always"] = "never"
    """Of which alerts a model judges whether the code reaches what is vulnerable: of none, of those
    where code cannot tell, or of all. Its words stand in the pull request, marked as a model's."""
    models: Literal["all", "none"] = "all"
    """Whether models are asked about alerts. With `none` what code mends and proves is published,
    as a draft where somebody has to look, and the rest ends in words."""
    tell_failures: bool = True
    """Whether an issue says so when no fix was found. What a person has to decide is asked in one
    in any case."""

    @field_validator("majors", mode="before")
    @classmethod
    def _read_older_words(cls, value: object) -> object:
        """Take what policies said while it was a yes or a no."""
        return {True: "allow", False: "ask"}[value] if isinstance(value, bool) else value
