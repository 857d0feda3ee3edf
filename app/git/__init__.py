"""Git, always run through one hardened runner."""

from __future__ import annotations

from app.git.environment import CommitIdentity
from app.git.errors import GitFailed, GitRefused
from app.git.git_runner import OUTPUT_LIMIT, Git
from app.git.locks import file_lock
from app.git.mirror.garbage_collect import last_used, let_go, mirror_ids, remove_mirror, runs_kept
from app.git.mirror.mirror import Mirror, Mirrors
from app.git.objects import GitObjects, TreeChange
from app.git.ref_names import (
    BRANCH_PREFIX,
    FETCHED,
    RUN_REFS,
    any_branch,
    aside_ref,
    branch_ref,
    commit_ref,
    object_id,
    own_branch,
    pull_ref,
    require_revision,
    run_refs,
    signed_ref,
    tree_refs,
)
from app.git.run_objects import RunObjects
from app.git.user_clone import CheckedOutHead, UserClone

__all__ = [
    "BRANCH_PREFIX",
    "FETCHED",
    "OUTPUT_LIMIT",
    "RUN_REFS",
    "CheckedOutHead",
    "CommitIdentity",
    "Git",
    "GitFailed",
    "GitObjects",
    "GitRefused",
    "Mirror",
    "Mirrors",
    "RunObjects",
    "TreeChange",
    "UserClone",
    "any_branch",
    "aside_ref",
    "branch_ref",
    "commit_ref",
    "file_lock",
    "last_used",
    "let_go",
    "mirror_ids",
    "object_id",
    "own_branch",
    "pull_ref",
    "remove_mirror",
    "require_revision",
    "run_refs",
    "runs_kept",
    "signed_ref",
    "tree_refs",
]
