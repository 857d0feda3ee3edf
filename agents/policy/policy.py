"""The whole policy: every key of `.github/fettle.yml`, and its default."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from agents.policy.sections import (
    Address,
    Answers,
    ApprovalTerms,
    Branches,
    Budget,
    Check,
    Checks,
    Commits,
    Decisions,
    Environment,
    Models,
    PathPattern,
    PullRequests,
    Remediation,
    Rule,
    Setup,
    Strict,
    Toolset,
    Triggers,
    WatchTerms,
    Web,
    Who,
    WorkPath,
)

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

POLICY_PATH = ".github/fettle.yml"

PROTECTED_PATHS = (
    ".github/workflows/**",
    ".github/actions/**",
    ".github/fettle.yml",
    "**/CODEOWNERS",
    ".gitmodules",
    "**/AGENTS.md",
    "**/CLAUDE.md",
    # what tells other agents and editors what to do, or to run
    "**/.cursor/rules",
    "**/.cursorrules",
    "**/.windsurfrules",
    "**/GEMINI.md",
    "**/.claude/**",
    "**/.mcp.json",
    ".github/copilot-instructions.md",
    ".github/instructions/**",
    "**/.devcontainer/**",
    "**/.devcontainer.json",
    "**/.vscode/tasks.json",
    "**/.vscode/launch.json",
    "**/.vscode/settings.json",
    "**/AGENT.md",
    "**/.clinerules",
    "**/.roo/**",
    "**/.kiro/**",
    "**/.codex/**",
    "**/.gemini/**",
    "**/.junie/**",
    "**/.continue/**",
    "**/.aider.conf.yml",
    "**/opencode.json",
    ".github/prompts/**",
    ".github/agents/**",
    ".github/chatmodes/**",
    "**/.idea/runConfigurations/**",
    "**/.zed/tasks.json",
    "**/.envrc",
    ".husky/**",
    "**/lefthook.yml",
    # what runs in other places than GitHub's workflows, with the secrets of those
    "**/.gitlab-ci.yml",
    "**/.circleci/**",
    "**/.buildkite/**",
    "**/.travis.yml",
    "**/Jenkinsfile",
    "**/azure-pipelines.yml",
    "**/bitbucket-pipelines.yml",
    "**/appveyor.yml",
    "**/.drone.yml",
    "**/cloudbuild.yaml",
    "**/buildspec.yml",
    # what deploys, and what installs from where
    "**/netlify.toml",
    "**/vercel.json",
    "**/fly.toml",
    "**/render.yaml",
    "**/railway.json",
    "**/railway.toml",
    "**/wrangler.toml",
    "**/wrangler.jsonc",
    "**/firebase.json",
    "**/amplify.yml",
    "**/heroku.yml",
    "**/Procfile",
    "**/.yarnrc",
    "**/.pnpmfile.cjs",
    "**/bunfig.toml",
    "**/.cargo/config",
    "**/.cargo/config.toml",
    "**/.bundle/config",
    "**/.mvn/**",
    "**/nuget.config",
    "**/gradle-wrapper.jar",
    "**/.npmrc",
    "**/.yarnrc.yml",
    "**/pip.conf",
    "**/.pypirc",
    "**/renovate.json",
    "**/renovate.json5",
    "**/.renovaterc",
    "**/.renovaterc.json",
    "**/.mergify.yml",
)

NEVER = (".github/workflows/**", ".github/fettle.yml")
"""Of those, the ones that no approval opens, nor any list of the owners: what runs with a
repository's secrets, and what a run may do, is not for a run to change. Of workflows, code alone
moves the refs of an action (`moves_action` of `WorkTree.commit`)."""


class Policy(Strict):
    """What Fettle may do in a repository, and how. Every key is optional."""

    triggers: Triggers = Triggers()
    """What starts work here."""
    who: Who = Who()
    """Who may start work, approve, and steer what is under way."""
    models: Models = Models()
    """Which models are used."""
    path: WorkPath | None = None
    """How an issue becomes a change: `whole`, each stage by itself, or `fast`, where whoever has
    understood the issue goes on to make a change of one step. Absent: the operator's."""
    quality: tuple[Check, ...] | None = None
    """The commands that must pass. Absent: found by looking at the repository."""
    protected_paths: tuple[PathPattern, ...] = PROTECTED_PATHS
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
    environment: Environment = Environment()
    """Where commands run."""
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
    watch: WatchTerms = WatchTerms()
    """What happens after the merge of what Fettle changed."""
    dashboard: Literal["none", "show", "decide"] = "none"
    """show: an issue of Fettle's lists what waits for a decision and, in private repositories, what
    became of alerts; a box has an alert looked at again. decide: a box approves what waits, too.
    GitHub does not say whether somebody ticked a box by hand, or an app with their token."""
    guidance: Literal["monthly", "never"] = "monthly"
    """How often Fettle may propose, in a pull request, to write down what people said more than
    once: lines for the instructions to contributors, rules for this file."""
    remediation: Remediation = Remediation()
    """How vulnerable dependencies are mended."""
    branches: Branches = Branches()
    """How branches are named."""
    commits: Commits = Commits()
    """How commits are worded."""
    pull_requests: PullRequests = PullRequests()
    """Before whom pull requests are brought."""

    def protects(self, path: str) -> str | None:
        """Return the pattern that protects this path, or None. Case does not matter."""
        return next((p for p in self.protection if matches_path(p.lower(), path.lower())), None)

    @property
    def protection(self) -> tuple[str, ...]:
        """Return the patterns of all protected paths: those that hold by themselves come first."""
        return (*NEVER, *self.protected_paths)


def is_for_people_alone(path: str) -> bool:
    """Return whether only people change the path, or a folder that holds it, whoever says yes."""
    low = path.lower()
    return any(matches_path(never, low) or never.startswith(f"{low}/") for never in NEVER)


def matches_path(pattern: str, path: str) -> bool:
    """Return whether a path of the repository matches a pattern as in .gitignore."""
    readable = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return bool(_spec(pattern).match_file(readable))


@lru_cache(maxsize=512)
def _spec(pattern: str) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec as Spec  # noqa: PLC0415 - 7 MB, and no server at rest asks

    # matched in linear time, whatever pattern somebody wrote: https://github.com/google/re2/wiki
    return Spec.from_lines([pattern], backend="re2")
