"""Push exactly one commit to exactly one branch, and never overwrite somebody's work."""

from __future__ import annotations

from agents.errors import Moved, RunError
from app.git.errors import GitFailed
from app.git.git_runner import Git


async def push(
    git: Git, url: str, token: str | None, *, commit: str, ref: str, expected: str | None
) -> None:
    """Move the remote `ref` from `expected` to `commit`. May be repeated, since it looks first.

    https://git-scm.com/docs/git-push#Documentation/git-push.txt---force-with-lease
    """
    now = await remote_id(git, url, token, ref)
    if now == commit:
        return
    if now != expected:
        raise _branch_moved_error(ref, _place(now), expected)
    lease = f"--force-with-lease={ref}:{expected or ''}"
    quiet = ("--porcelain", "--no-verify", "--no-signed", "--no-follow-tags")
    try:
        await git.network(
            "push",
            *quiet,
            "--no-recurse-submodules",
            lease,
            "--end-of-options",
            url,
            f"{commit}:{ref}",
            url=url,
            token=token,
        )
    except GitFailed as error:
        now = await remote_id(git, url, token, ref)  # it may have moved since we looked
        if now == commit:
            return
        if now != expected:
            raise _branch_moved_error(ref, _place(now), expected) from error
        if "stale info" in str(error):  # it moved, and is back by now
            raise _branch_moved_error(ref, "another commit", expected) from error
        raise RunError(f"GitHub did not take `{ref}`: {_reason(str(error))}") from error


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


def _reason(text: str) -> str:
    told = [line for line in text.splitlines() if "rejected" in line or "remote:" in line]
    return " ".join(told) or text
