"""Step 9: push exactly one commit to exactly one `bot/` branch, never over somebody's work."""

from __future__ import annotations

from agents.errors import RunError
from app.git.faults import GitFailed
from app.git.trusted import Git


async def push(
    git: Git, url: str, token: str | None, *, commit: str, ref: str, expected: str | None
) -> None:
    """Move `ref` there from `expected` to `commit`; it looks first, so it may be repeated."""
    now = await _remote_id(git, url, token, ref)
    if now == commit:
        return
    if now != expected:
        raise _moved(ref, now, expected)
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
        if "stale info" in str(error):
            raise _moved(ref, None, expected) from error
        raise RunError(f"GitHub did not take `{ref}`: {_reason(str(error))}") from error


async def _remote_id(git: Git, url: str, token: str | None, ref: str) -> str | None:
    listed = await git.network("ls-remote", "--end-of-options", url, ref, url=url, token=token)
    for line in listed.splitlines():
        oid, _, name = line.partition("\t")
        if name == ref:
            return oid
    return None


def _moved(ref: str, now: str | None, expected: str | None) -> RunError:
    return RunError(
        f"The branch `{ref.removeprefix('refs/heads/')}` is at {(now or 'another commit')[:12]}, "
        f"not at {expected[:12] if expected else 'no commit'}: somebody else changed it. Fettle "
        f"leaves it alone. Delete the branch to have the work done anew."
    )


def _reason(text: str) -> str:
    told = [line for line in text.splitlines() if "rejected" in line or "remote:" in line]
    return " ".join(told) or text
