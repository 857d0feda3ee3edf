"""What a repository's owners allow and want: `.github/fettle.yml` of the default branch."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, Self

import yaml
from pathspec import GitIgnoreSpec
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from agents.errors import PolicyInvalid

POLICY_PATH = ".github/fettle.yml"
FAULTS_SHOWN = 5

PROTECTED_PATHS = (
    ".github/workflows/**",
    ".github/actions/**",
    ".github/fettle.yml",
    "**/CODEOWNERS",
    ".gitmodules",
    "**/AGENTS.md",
    "**/CLAUDE.md",
)


NEVER = (".github/workflows/**", ".github/fettle.yml")
"""Of those, the ones that no approval opens, nor any list of the owners: the App may not push the
first, and what a run may do is not for a run to change."""


class Strict(BaseModel):
    """Owners' settings: an unknown key is an error, not a silent wish."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


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
    path: str | None = None
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
    timeout: float = Field(default=900, gt=0, le=7200)
    """Seconds for all of them."""


class Toolset(Strict):
    """Which tools of one configured MCP server runs on this repository may use."""

    server: str
    """The name that the operator gave the server."""
    tools: tuple[str, ...] = ("*",)
    """Patterns of its tools' names."""
    stages: tuple[str, ...] = ("*",)
    """Patterns of the stages that may call them, like `triage`."""


class ApprovalTerms(Strict):
    """How long people have to answer."""

    days: float = Field(default=7, gt=0, le=90)
    """After that the run ends with a report; its work is kept."""


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


class Remediation(Strict):
    """Which alerts about vulnerable dependencies are mended, and how far a fix may go.

    It says what a run may do; no alert starts one yet.
    """

    severities: tuple[Literal["low", "medium", "high", "critical"], ...] = ("critical", "high")
    """Which ones start a run; with one that does, all alerts of its package are mended.
    None: no alert starts one."""
    scope: Literal["runtime", "all"] = "all"
    """Whether alerts about packages that only development needs start a run as well."""
    majors: bool = False
    """Whether a package may move to another major version without a person's yes."""
    overrides: bool = False
    """Whether an entry may overrule what other packages ask for, where nothing else helps."""
    override_days: int = Field(default=90, gt=0, le=3650)
    """After so many days an override says of itself that somebody has to look at it again."""


class Policy(Strict):
    """The whole file. Every key is optional."""

    quality: tuple[Check, ...] | None = None
    """The commands that must pass. Absent: found by looking at the repository."""
    protected_paths: tuple[str, ...] = PROTECTED_PATHS
    """Patterns, as in .gitignore, of files that no run may change; workflows and this file never
    need listing."""
    budget: Budget = Budget()
    """Limits of one run; the operator's limits hold as well."""
    ask: tuple[Rule, ...] = ()
    """Calls that wait for a person's yes, beside those that always do."""
    deny: tuple[Rule, ...] = ()
    """Calls that are refused, beside those that always are."""
    web: Web = Web()
    """What may be read on the web."""
    setup: Setup = Setup()
    """How dependencies are installed."""
    mcp: tuple[Toolset, ...] = ()
    """Tools of other servers, out of those that the operator configured. Absent: none."""
    approvals: ApprovalTerms = ApprovalTerms()
    """How approvals work here."""
    answers: Answers = Answers()
    """How questions about an issue work here."""
    decisions: Decisions = Decisions()
    """Where decisions are recorded."""
    address: Address = Address()
    """How reviews are addressed."""
    checks: Checks = Checks()
    """What happens when checks fail on what Fettle pushed."""
    remediation: Remediation = Remediation()
    """How vulnerable dependencies are mended."""

    def protects(self, path: str) -> str | None:
        """Return the pattern that protects this path, or None. Case does not matter."""
        return next((p for p in self.protection if matches_path(p.lower(), path.lower())), None)

    @property
    def protection(self) -> tuple[str, ...]:
        """Return the patterns of all protected paths: those that hold by themselves come first."""
        return (*NEVER, *self.protected_paths)


def matches_path(pattern: str, path: str) -> bool:
    """Return whether a path of the repository matches a pattern as in .gitignore."""
    return bool(_spec(pattern).match_file(path))


@lru_cache(maxsize=512)
def _spec(pattern: str) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines([pattern])


def parse_policy(text: bytes | None) -> Policy:
    """Return the policy in that file's bytes; None means no file, so all defaults.

    Raises PolicyInvalid, whose text says where the file is wrong.
    """
    if text is None:
        return Policy()
    try:
        return Policy.model_validate(yaml.safe_load(text) or {})
    except ValidationError as error:
        faults = "; ".join(
            f"`{'.'.join(map(str, e['loc'])) or 'file'}`: {e['msg']}"
            for e in error.errors(include_url=False)[:FAULTS_SHOWN]
        )
        raise PolicyInvalid(f"`{POLICY_PATH}` is not valid: {faults}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # it reads dates and numbers, too
        raise PolicyInvalid(f"`{POLICY_PATH}` is not YAML: {error}") from error


def rule_lines(text: bytes) -> dict[str, int]:
    """Return the line of the policy file at which each rule under `ask` and `deny` begins.

    The keys are the ids that the gate names them by, like `policy/deny/2`.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        return {}
    return {
        f"policy/{key.value}/{number}": rule.start_mark.line + 1
        for key, value in root.value
        if key.value in ("ask", "deny")
        for number, rule in enumerate(value.value, 1)
    }
