"""Each key of the policy has a test in which it changes what happens. A new key needs its own."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from agents.policy.schema import leaves

ROOT = Path(__file__).resolve().parents[3]

HERE = "tests/agents/policy/test_keys_act.py"
ACCESS = "tests/handlers/access/test_policy.py"
REMEDIATE = "tests/agents/pipelines/remediate/test_pipeline.py"
MAJORS = "tests/agents/pipelines/remediate/majors/test_majors.py"
RECORD = "tests/agents/pipelines/resolve/decision/test_record_decision.py"
ATTENTION = "tests/app/github/pulls/test_attention.py"
LAYERS = "tests/agents/pipelines/resolve/test_layers.py"
IMAGE = "tests/agents/pipelines/stages/test_image.py"
TOOLSETS = "tests/agents/pipelines/test_toolsets.py"
A_RULE = f"{HERE}::test_a_rule_decides_on_what_it_names"
A_BUDGET = f"{HERE}::test_a_budget_ends_a_run"
A_TIER = "tests/app/policies/test_gate.py::test_each_tier_is_the_model_that_is_named"
A_TRIGGER = f"{ACCESS}::test_a_trigger_that_is_off_starts_nothing_and_no_other_is_held_up"
CHOSEN = (
    "tests/app/policies/test_gate.py"
    "::test_who_answers_and_how_hard_they_think_is_as_the_policy_says_else_as_the_operator_does"
)
ACTS = {
    "triggers.resolve": A_TRIGGER,
    "triggers.address": A_TRIGGER,
    "triggers.reviews": A_TRIGGER,
    "triggers.commands": A_TRIGGER,
    "triggers.alerts": A_TRIGGER,
    "who.role": f"{ACCESS}::test_who_may_and_never_below_write",
    "who.people": f"{ACCESS}::test_who_may_and_never_below_write",
    "models.strong": A_TIER,
    "models.judge": A_TIER,
    "models.fast": A_TIER,
    "models.effort": CHOSEN,
    "models.tiers": CHOSEN,
    "path": "tests/agents/pipelines/resolve/test_fast_path.py"
    "::test_one_step_goes_on_in_triages_conversation_and_each_stage_is_recorded",
    "quality[].name": f"{HERE}::test_quality_is_what_it_says",
    "quality[].run": f"{HERE}::test_quality_is_what_it_says",
    "quality[].timeout": "tests/app/git/stages/test_quality_stage.py"
    "::test_a_check_ends_when_the_policy_says",
    "protected_paths": "tests/agents/tools/gate/test_gate.py"
    "::test_the_repository_says_what_is_protected",
    "budget.usd": A_BUDGET,
    "budget.usd_per_day": A_BUDGET,
    "budget.turns": A_BUDGET,
    "budget.minutes": A_BUDGET,
    **{
        f"{kind}[].{key}": A_RULE
        for kind in ("ask", "deny")
        for key in ("tool", "command", "path", "host", "reason")
    },
    "web.hosts": "tests/agents/loop/test_consent_outside.py"
    "::test_once_outsiders_were_heard_what_carries_something_out_is_asked",
    "environment.image": f"{IMAGE}::test_the_policy_names_an_image_before_any_devcontainer",
    "environment.devcontainer": f"{IMAGE}::test_owners_can_do_without_their_devcontainer",
    "setup.run": f"{HERE}::test_set_up_runs_what_it_says_for_as_long_as_it_says",
    "setup.timeout": f"{HERE}::test_set_up_runs_what_it_says_for_as_long_as_it_says",
    "setup.second_look": "tests/agents/pipelines/stages/quality/test_second_look.py"
    "::test_owners_decide",
    "mcp[].server": f"{TOOLSETS}"
    "::test_the_servers_are_asked_once_and_their_tools_stand_in_their_place",
    "mcp[].tools": f"{TOOLSETS}"
    "::test_the_servers_are_asked_once_and_their_tools_stand_in_their_place",
    "mcp[].stages": f"{TOOLSETS}::test_another_stage_may_not_call_what_this_one_may",
    "approvals.days": "tests/flows/approvals/test_approvals.py"
    "::test_when_nobody_answers_the_run_ends_and_says_so",
    "approvals.dependencies": "tests/agents/tools/gate/test_known_installs.py"
    "::test_the_policy_says_whether_people_are_asked_for_new_dependencies",
    "answers.days": "tests/agents/pipelines/resolve/triage/test_comment_draft.py"
    "::test_owners_say_how_long_it_waits",
    "decisions.path": f"{RECORD}::test_where_the_log_may_not_be_written_the_issue_still_learns_why",
    "decisions.record": f"{RECORD}"
    "::test_where_the_log_may_not_be_written_the_issue_still_learns_why",
    "address.quiet_seconds": "tests/flows/address/test_address_batches.py"
    "::test_reviews_in_quick_succession_are_one_batch_of_what_was_submitted",
    "address.outsiders": "tests/agents/pipelines/address/test_material.py"
    "::test_what_outsiders_say_taints_where_the_policy_lets_it_in",
    "dashboard": "tests/app/board/test_dashboard.py"
    "::test_without_a_wish_there_is_none_and_taken_back_it_is_closed",
    "guidance": f"{ACCESS}::test_owners_can_do_without_proposals",
    "watch.hours": "tests/flows/resolve/test_watch_flow.py"
    "::test_what_git_alone_cannot_take_back_is_told_with_the_files",
    "checks.fix": "tests/agents/pipelines/checks/test_left_alone.py"
    "::test_what_is_not_fettles_to_mend_is_left_alone",
    "remediation.severities": "tests/app/alerts/test_admission.py"
    "::test_the_repositorys_own_policy_decides",
    "remediation.scope": f"{REMEDIATE}::test_the_policy_says_which_alerts_are_mended",
    "remediation.min_release_days": f"{REMEDIATE}::"
    "test_where_the_age_of_a_release_cannot_be_told_the_policy_holds_it_back",
    "remediation.group": "tests/agents/pipelines/remediate/test_companions.py"
    "::test_what_goes_its_own_way",
    "remediation.majors": f"{MAJORS}::test_the_policy_says_whether_majors_move",
    "remediation.overrides": f"{REMEDIATE}"
    "::test_the_policy_says_whether_and_for_how_long_something_is_overruled",
    "remediation.override_days": "tests/app/alerts/test_recheck_overrides.py"
    "::test_the_policy_says_how_long_one_that_is_needed_is_left_alone",
    "remediation.schedule": "tests/app/alerts/test_poll.py::test_the_policy_decides",
    "remediation.adapt": "tests/agents/pipelines/checks/test_adapt_update.py"
    "::test_without_a_word_of_the_owners_a_bots_update_is_left_alone",
    "remediation.assess": "tests/agents/pipelines/remediate/test_assess.py"
    "::test_the_policy_has_alerts_judged_that_nobody_asks_about",
    "remediation.models": "tests/app/policies/test_gate.py"
    "::test_whether_models_are_asked_about_alerts_is_as_the_policy_says",
    "remediation.tell_failures": "tests/app/github/alerts/test_tracking_issue.py"
    "::test_the_policy_may_want_failures_kept_quiet",
    "pull_requests.max_lines": f"{LAYERS}"
    "::test_each_step_that_fills_the_room_is_a_pull_request_on_the_one_before",
    "pull_requests.stack": f"{LAYERS}::test_where_it_cannot_be_divided_it_says_so_and_asks",
    "pull_requests.labels": f"{ATTENTION}::test_labels_assignees_and_reviewers_are_as_named",
    "pull_requests.assignees": f"{ATTENTION}::test_labels_assignees_and_reviewers_are_as_named",
    "pull_requests.reviewers": f"{ATTENTION}::test_labels_assignees_and_reviewers_are_as_named",
    "branches.folder": f"{HERE}::test_branches_lie_in_the_folder",
    "commits.signing": "tests/flows/resolve/test_signing_flow.py"
    "::test_who_wants_no_signatures_is_told_why_nothing_was_pushed",
    "commits.style": f"{HERE}::test_commits_and_titles_have_their_type",
}
"""The test in which each key acts: by its id."""


def test_every_key_has_its_test_and_no_other_is_listed():
    assert sorted(ACTS) == leaves()


@pytest.mark.parametrize("key", ACTS)
def test_that_test_asserts_and_its_file_speaks_of_the_key(key):
    path, _, name = ACTS[key].partition("::")
    text = (ROOT / path).read_text("utf-8")
    found = [
        each
        for each in ast.parse(text).body
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name == name
    ]
    assert len(found) == 1, f"{ACTS[key]} is no test"
    asserts = (ast.Assert, ast.With)
    assert any(isinstance(each, asserts) for each in ast.walk(found[0]))
    assert not any("skip" in ast.unparse(each) for each in found[0].decorator_list)
    word = key.rpartition(".")[2].rpartition("_")[2]
    assert word in text, f"{path} says nothing of `{word}`"


@pytest.mark.slow  # it starts another pytest where most of them are left out
def test_all_of_them_are_run_with_the_others(request):
    """Those that do not run beside this one are collected anew; a missing id is an error."""
    beside = {item.nodeid.partition("[")[0] for item in request.session.items}
    ids = sorted(set(ACTS.values()) - beside)
    if not ids:
        return
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *ids], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert all(each in done.stdout for each in ids)
