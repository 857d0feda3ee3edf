"""Patterns for names that become refs, arguments or folders; stricter than git's own."""

from __future__ import annotations

import hashlib
import re

from agents.errors import RunError

BRANCH_PREFIX = "bot/"
RUN_REFS = "refs/fettle/runs"
FETCHED = "refs/remotes/origin"
ASIDE = "refs/fettle/aside"

_OWN_BRANCH = re.compile(r"bot/[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LONGEST_BRANCH = 250
_NO_REF = re.compile(
    r"[\x00-\x20\x7f\ud800-\udfff~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|^[-/.]|[/.]$|^$"
)


def own_branch(branch: str) -> str:
    """Return the full ref of a branch that Fettle may write to, or raise RunError."""
    if not _OWN_BRANCH.fullmatch(branch) or _NO_REF.search(branch):
        raise RunError(
            f"Fettle writes branches named `{BRANCH_PREFIX}...` only, of letters, digits and "
            f"`._/-`; `{branch!r}` is none. Nothing was pushed."
        )
    return f"refs/heads/{branch}"


def pushed_branch(branch: str, of_pull: str | None) -> str:
    """Return the full ref of a branch to push to, or raise RunError.

    Allowed are Fettle's own branches, and `of_pull`: the branch of the run's pull request, as
    GitHub named it a moment ago.
    """
    return any_branch(branch) if branch == of_pull else own_branch(branch)


def any_branch(branch: str) -> str:
    """Return the full ref of any branch, for reading, or raise RunError.

    https://git-scm.com/docs/git-check-ref-format
    """
    if _NO_REF.search(branch) or len(branch) > _LONGEST_BRANCH:
        raise RunError(f"`{branch!r}` cannot be the name of a branch. Rename it, then ask again.")
    return f"refs/heads/{branch}"


def fetched_branch(branch: str) -> str:
    """Return the ref under which a mirror keeps a fetched branch, or raise RunError."""
    return f"{FETCHED}/{any_branch(branch).removeprefix('refs/heads/')}"


def run_refs(run_id: str) -> str:
    """Return the folder of a run's hidden refs. Raises RunError for a malformed run id."""
    if not _RUN_ID.fullmatch(run_id) or _NO_REF.search(run_id):
        raise RunError(f"`{run_id!r}` cannot be the id of a run.")
    return f"{RUN_REFS}/{run_id}"


def branch_ref(run_id: str, branch: str) -> str:
    """Return the hidden ref under which a run keeps a branch as it last saw it.

    The name is a digest: `a` and `a/b` can both be branches over time, but not refs at once.
    """
    digest = hashlib.sha256(any_branch(branch).encode()).hexdigest()
    return f"{run_refs(run_id)}/branches/{digest}"


def pull_head(number: int) -> str:
    """Return the ref under which GitHub offers a pull request's head, forks included.

    https://docs.github.com/pull-requests/collaborating-with-pull-requests/reviewing-changes-in-pull-requests/checking-out-pull-requests-locally
    """
    return f"refs/pull/{int(number)}/head"


def pull_ref(run_id: str, number: int) -> str:
    """Return the hidden ref under which a run keeps a pull request's head as it last saw it."""
    return f"{run_refs(run_id)}/pulls/{int(number)}"


def tree_refs(run_id: str) -> str:
    """Return the folder of hidden refs for the trees that a run made, each by its id."""
    return f"{run_refs(run_id)}/trees"


def commit_ref(run_id: str, tree: str, parent: str, message: str, merging: str = "") -> str:
    """Return the hidden ref that remembers the commit made of exactly these parts."""
    parents = f"{parent} {merging}" if merging else parent
    digest = hashlib.sha256(f"{tree}\0{parents}\0{message}".encode()).hexdigest()
    return f"{run_refs(run_id)}/commits/{digest}"


def signed_ref(run_id: str, commit: str) -> str:
    """Return the hidden ref that remembers the signed commit in the place of a run's own."""
    return f"{run_refs(run_id)}/signed/{object_id(commit)}"


def aside_ref(run_id: str) -> str:
    """Return the ref, no branch, under which a repository has a run's commits for a moment."""
    return f"{ASIDE}/{hashlib.sha256(run_refs(run_id).encode()).hexdigest()[:16]}"


def is_object_id(name: str) -> bool:
    """Tell whether this is the whole id of an object, which names the same one for ever."""
    return _OBJECT_ID.fullmatch(name) is not None


def object_id(text: str) -> str:
    """Return the text if it is a full object id, or raise RunError."""
    if not _OBJECT_ID.fullmatch(text):
        raise RunError(f"`{text!r}` is not the full id of a git object.")
    return text


def require_revision(text: str) -> str:
    """Return the text if it is an object id or full ref, or raise: no option, range or search."""
    if text.startswith("refs/") and not _NO_REF.search(text):
        return text
    return object_id(text)
