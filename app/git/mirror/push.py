"""Push exactly one commit to exactly one branch, and never overwrite somebody's work."""

from __future__ import annotations

import re

import structlog

from agents.errors import Moved, PushRefused, SignaturesRequired
from agents.text import code_span
from app.git.errors import GitFailed
from app.git.git_runner import Git

log = structlog.get_logger()


async def push(
    git: Git, url: str, token: str | None, *, commit: str, ref: str, expected: str | None
) -> None:
    """Move the remote `ref` from `expected` to `commit`.

    May be repeated: git looks where the ref is, and leaves it alone if it is there already.
    https://git-scm.com/docs/git-push#Documentation/git-push.txt---force-with-lease
    """
    lease = f"--force-with-lease={ref}:{expected or ''}"
    try:
        await _push(git, url, token, f"{commit}:{ref}", lease)
    except GitFailed as error:
        now = await remote_id(git, url, token, ref)
        if now == commit:
            return
        if now != expected:
            raise _branch_moved_error(ref, _place(now), expected) from error
        if "stale info" in str(error):  # it moved, and is back by now
            raise _branch_moved_error(ref, "another commit", expected) from error
        raise _refusal(ref.removeprefix("refs/heads/"), str(error)) from error


async def push_hidden_ref(git: Git, url: str, token: str | None, *, commit: str, ref: str) -> None:
    """Push the commit to a ref outside of refs/heads/, with force. Raises PushRefused."""
    try:
        await _push(git, url, token, f"+{commit}:{ref}")
    except GitFailed as error:
        raise _refusal(ref, str(error)) from error


async def delete_hidden_ref(git: Git, url: str, token: str | None, ref: str) -> None:
    """Delete a ref outside of refs/heads/, if it is there; a refusal is logged."""
    if await remote_id(git, url, token, ref) is None:
        return
    try:
        await _push(git, url, token, f":{ref}")
    except GitFailed as error:  # what is signed is signed: no reason to push nothing
        log.warning("a ref set aside stays", ref=ref, said=str(error))


async def _push(git: Git, url: str, token: str | None, change: str, *options: str) -> None:
    quiet = ("--porcelain", "--no-verify", "--no-signed", "--no-follow-tags")
    await git.network(
        *("push", *quiet, "--no-recurse-submodules", *options, "--end-of-options", url, change),
        url=url,
        token=token,
    )


def _refusal(branch: str, said: str) -> PushRefused:
    log.warning("push refused", branch=branch, said=said)
    kind = SignaturesRequired if re.search(_SIGNATURES, said) else PushRefused
    return kind(describe_refusal(branch, said), KEPT)


async def remote_id(git: Git, url: str, token: str | None, ref: str) -> str | None:
    """Return the remote ref's object id, or None when there is no such ref."""
    listed = await git.network("ls-remote", "--end-of-options", url, ref, url=url, token=token)
    for line in listed.splitlines():
        oid, _, name = line.partition("\t")
        if name == ref:
            return oid
    return None


def _branch_moved_error(ref: str, now: str, expected: str | None) -> Moved:
    return Moved(
        f"The branch `{ref.removeprefix('refs/heads/')}` is at {now}, not at {_place(expected)}: "
        f"somebody else changed it while Fettle was at work. Nothing was overwritten. Ask again, "
        f"and the work is done on what is there now."
    )


def _place(commit: str | None) -> str:
    return commit[:12] if commit else "no commit"


def describe_refusal(branch: str, said: str) -> str:
    """Return who refused a push, by which rule, and what helps.

    `said`: what git printed.
    https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository
    """
    who, remedy = next(
        ((who, remedy) for pattern, who, remedy in _RULES if re.search(pattern, said)), _UNKNOWN
    )
    if not branch.startswith("bot/"):  # of people's own, or an updater's, pull request
        remedy = remedy.replace(_OURS, f"the branch {code_span(branch)}")
    listed = list(_RULE.finditer(said)) or list(_SAID.finditer(said))
    rules = dict.fromkeys(found[1].strip() for found in listed)
    named = "; ".join(
        f"`{each[:LONGEST_RULE].replace('`', '')}`" for each in list(rules)[:MOST_RULES]
    )
    by = f"{who} ({named})" if named else who
    return f"GitHub did not take the branch {code_span(branch)}: {by}. {remedy}"


LONGEST_RULE = 160
MOST_RULES = 5
KEPT = (
    "The commits are not lost: Fettle keeps them in its database, and `/bot retry from <stage>`"
    " goes on with them."
)
_SIGNATURES = r"verified signatures|signed commits|[Ss]ignatures? (?:is|are) required"
_UNKNOWN = ("it was refused", "GitHub did not say by which rule; your administrators may know it.")
_OURS = "the branches `bot/**`"
_EXEMPT = (
    f"Let {_OURS} be an exception, or let the App bypass the rule: in the repository's"
    " settings, under {where}."
)
_RULES = (
    (
        r"GITHUB PUSH PROTECTION|GH009|contain secrets",
        "its protection of secrets found one in a commit",
        "Somebody has to see whether it is one: nothing is published before.",
    ),
    (
        r"without `?workflows`? permission",
        "the App may not change workflows",
        "Grant it the permission to write workflows, or make that part of the change by hand.",
    ),
    (r"GH001|Large files detected", "a file is larger than GitHub takes", "Leave it out."),
    (
        _SIGNATURES,
        "it takes signed commits only, and Fettle's are not",
        "Say `commits: {signing: github}` in `.github/fettle.yml`: GitHub then signs them; an"
        " Enterprise Server may not. "
        + _EXEMPT.format(where="Rules or Branches, Require signed commits"),
    ),
    (
        r"GH006|protected branch",
        "its branch protection refused it",
        _EXEMPT.format(where="Branches"),
    ),
    (
        r"GH013|repository rule violations",
        "a ruleset refused it",
        _EXEMPT.format(where="Rules, Rulesets"),
    ),
    (
        r"pre-receive hook declined",
        "a hook of the server refused it",
        "Its administrators know the rule.",
    ),
)
"""What git's words have in them, who refused, and the remedy; the first that fits."""
_RULE = re.compile(r"^remote:\s*(?:error:\s*)?[-*•]\s+(.+)$", re.MULTILINE)
"""GitHub lists the rules that were broken, one a line."""
_SAID = re.compile(r"^remote:\s*(?:error:\s*)?(?!\s|GH\d|Review all)(\S.+)$", re.MULTILINE)
"""A hook of an Enterprise Server says it in its own words."""
