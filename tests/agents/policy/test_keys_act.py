"""What keys of the policy do to runs: those whose effect no test of a stage shows by itself."""

from __future__ import annotations

import pytest

from agents.analysis.languages.registry import make_plan
from agents.analysis.repository_files import RepositoryFiles
from agents.errors import BudgetExceeded
from agents.loop.budget import RunLimits, Spent
from agents.policy import POLICY_PATH, parse_policy
from agents.run.naming import to_conventional
from agents.tools.gate.policy_rules import owners_word
from agents.tools.registry import tool_named
from tests.agents.pipelines.resolve.test_pipeline import (
    CHECK,
    FILES,
    run_checks,
    story,
    subjects,
    submit_pull_request,
)

WIDE = RunLimits(usd=100, turns=1000, minutes=1000, usd_per_day=100)


async def resolve_under(make_world, talk, request, policy):
    """Resolve an issue under this policy; return the world and the pull request."""
    answers = [*story(talk.use, talk.say), submit_pull_request(talk.use)]
    commands = {CHECK: run_checks, "own": run_checks}
    world = make_world({**FILES, POLICY_PATH: policy}, answers, commands=commands)
    outcome = await world.resolve(request)
    return world, outcome.pull_request


@pytest.mark.parametrize(
    ("folder", "start"), [("", "bot/7-add-without-one-"), ("team", "bot/team/7-add-without-one-")]
)
async def test_branches_lie_in_the_folder(make_world, talk, request_, folder, start):
    policy = f"branches: {{folder: {folder}}}\n" if folder else "{}"
    world, pull = await resolve_under(make_world, talk, request_, policy)
    assert pull.branch.startswith(start)
    assert list(world.publisher.pushed) == [pull.branch]


async def test_commits_and_titles_have_their_type(make_world, talk, request_):
    world, pull = await resolve_under(
        make_world, talk, request_, "commits: {style: conventional}\n"
    )
    assert subjects(world, pull.head) == [
        "feat: step 1/2: Add without one",
        "feat: step 2/2: Test the sum",
    ]
    assert pull.title == "feat: add without one"


@pytest.mark.parametrize(
    ("subject", "said", "expected"),
    [
        ("Add a parser", {"about": "feature"}, "feat: add a parser"),
        ("Add a parser", {"about": "bug"}, "fix: add a parser"),
        ("Add a parser", {}, "fix: add a parser"),
        ("API keys are read", {"about": "feature"}, "feat: API keys are read"),
        ("A test", {"stage": "prove_again"}, "test: a test"),
        ("Update documentation", {"stage": "docs_review"}, "docs: update documentation"),
        ("Update jinja2", {"request": "remediate_alert"}, "fix(deps): update jinja2"),
        ("fix(parser)!: read it", {"about": "feature"}, "fix(parser)!: read it"),
        ("Merge main into x", {}, "Merge main into x"),
    ],
)
def test_a_type_is_what_the_change_is_about(subject, said, expected):
    about = {"request": "resolve_issue", "stage": "implement", "about": "", **said}
    assert to_conventional(subject, **about) == expected
    assert to_conventional(expected, **about) == expected


async def test_quality_is_what_it_says(make_world, talk, request_):
    policy = "quality: [{name: ours, run: own, timeout: 61}]\n"
    world, pull = await resolve_under(make_world, talk, request_, policy)
    assert CHECK not in pull.body
    assert "`own` | passed (exit 0" in pull.body
    assert "ours" in pull.body
    kept = str(world.steps.kept)
    assert '"timeout": 61' in kept or "'timeout': 61" in kept


@pytest.mark.parametrize(
    ("key", "spent"),
    [
        ("usd: 2", Spent(2.5, 1, 1.0, 2.5)),
        ("turns: 2", Spent(0.1, 3, 1.0, 0.1)),
        ("minutes: 2", Spent(0.1, 1, 2.5, 0.1)),
        ("usd_per_day: 2", Spent(0.1, 1, 1.0, 2.5)),
    ],
    ids=["usd", "turns", "minutes", "usd_per_day"],
)
def test_a_budget_ends_a_run(key, spent):
    budget = parse_policy(f"budget: {{{key}}}".encode()).budget
    spent.check(WIDE.limit_to(parse_policy(None).budget))
    with pytest.raises(BudgetExceeded):
        spent.check(WIDE.limit_to(budget))


def test_set_up_runs_what_it_says_for_as_long_as_it_says():
    policy = parse_policy(b"setup: {run: [make deps], timeout: 61}")
    plan = make_plan(RepositoryFiles(frozenset({"requirements.txt"}), {}), policy)
    assert [step for recipe in plan.recipes for step in recipe.commands] == ["make deps"]
    assert plan.timeout == 61


@pytest.mark.parametrize("kind", ["ask", "deny"])
@pytest.mark.parametrize(
    "rule",
    [
        "{tool: 'ba*'}",
        "{command: 'make deploy*'}",
        "{path: 'db/**'}",
        "{host: '*.example.net'}",
        "{tool: bash, reason: Never on Fridays.}",
    ],
    ids=["tool", "command", "path", "host", "reason"],
)
def test_a_rule_decides_on_what_it_names(kind, rule):
    policy = parse_policy(f"{kind}: [{rule}]".encode())
    script = "make deploy-prod; touch db/a; curl https://a.example.net/"
    word = owners_word(policy, tool_named("bash").model_validate({"command": script}))
    assert (word.decision, word.id) == (kind, f"policy/{kind}/1")
    assert ("Fridays" in word.reason) is ("reason" in rule)
    other = tool_named("read").model_validate({"path": "a.py"})
    assert owners_word(policy, other) is None
