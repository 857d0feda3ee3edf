"""The policy of a repository: `.github/fettle.yml` on its default branch."""

from __future__ import annotations

from agents.policy.additions import add_setup, add_to_policy
from agents.policy.changes import describe_changes
from agents.policy.document import PolicyFault
from agents.policy.lookup import (
    FolderEntry,
    Found,
    InvalidPolicy,
    MissingPolicy,
    PinnedPolicy,
    PolicyOrigin,
    ValidPolicy,
    found_in,
    listed_policy,
)
from agents.policy.parse import examine, list_faults, parse_policy, rule_lines
from agents.policy.policy import (
    NEVER,
    POLICY_PATH,
    PROTECTED_PATHS,
    Policy,
    is_for_people_alone,
    matches_path,
)
from agents.policy.sections import (
    Budget,
    Check,
    Effort,
    Models,
    PullRequests,
    Remediation,
    Rule,
    Setup,
    Tier,
    Toolset,
    Web,
    Who,
    WorkPath,
)

__all__ = [
    "NEVER",
    "POLICY_PATH",
    "PROTECTED_PATHS",
    "Budget",
    "Check",
    "Effort",
    "FolderEntry",
    "Found",
    "InvalidPolicy",
    "MissingPolicy",
    "Models",
    "PinnedPolicy",
    "Policy",
    "PolicyFault",
    "PolicyOrigin",
    "PullRequests",
    "Remediation",
    "Rule",
    "Setup",
    "Tier",
    "Toolset",
    "ValidPolicy",
    "Web",
    "Who",
    "WorkPath",
    "add_setup",
    "add_to_policy",
    "describe_changes",
    "examine",
    "found_in",
    "is_for_people_alone",
    "list_faults",
    "listed_policy",
    "matches_path",
    "parse_policy",
    "rule_lines",
]
