"""Git notes on commits: what was stated of each, beside the history and in no branch.

https://git-scm.com/docs/git-notes
"""

from __future__ import annotations

from agents.errors import Moved, RunError
from app.git.environment import CommitIdentity
from app.git.errors import GitFailed
from app.git.git_runner import Git
from app.git.mirror.push import remote_id
from app.git.objects import GitObjects
from app.git.ref_names import object_id

NOTES = "refs/notes/fettle"
"""Where they are kept, here and in the repository."""
_TRIES = 5


async def read_note(git: Git, commit: str) -> bytes | None:
    """Return the note on this commit; None where there is none."""
    try:
        listed = await git.local("notes", f"--ref={NOTES}", "list", object_id(commit))
    except GitFailed:
        return None
    return await GitObjects(git).blob(listed.decode().strip())


async def fetch_notes(git: Git, url: str, token: str | None = None) -> None:
    """Bring here what the repository has; nothing, where it has none."""
    await _fetch(git, url, token, await remote_id(git, url, token, NOTES))


async def publish_note(
    git: Git, url: str, token: str | None, *, commit: str, note: bytes, identity: CommitIdentity
) -> None:
    """Put the note on the commit, in the repository too; one that is there already stays.

    What others have put there meanwhile is kept. The caller holds the mirror. Raises Moved where
    somebody else was faster each time.
    """
    for _ in range(_TRIES):
        there = await remote_id(git, url, token, NOTES)
        await _fetch(git, url, token, there)
        if await read_note(git, commit) == note:
            return
        blob = (await git.local("hash-object", "-w", "--stdin", stdin=note)).decode().strip()
        await git.local(
            *("notes", f"--ref={NOTES}", "add", "-f", "-C", blob, object_id(commit)),
            environment=identity.environment(),
        )
        try:
            await _push(git, url, token, there)
        except GitFailed as error:
            if await remote_id(git, url, token, NOTES) == there:
                raise RunError(
                    f"GitHub did not take `{NOTES}`, in which signed statements are kept. Let the"
                    " App bypass the rule that protects it, or allow this ref."
                ) from error
        else:
            return
    raise Moved(f"Others have written to `{NOTES}` each time that Fettle was about to.")


async def _fetch(git: Git, url: str, token: str | None, there: str | None) -> None:
    if there is None:
        await git.local("update-ref", "-d", NOTES)
        return
    if there == await GitObjects(git).resolve(NOTES):
        return
    await git.network(
        *("fetch", "--no-tags", "--no-write-fetch-head", "--quiet", "--end-of-options"),
        *(url, f"+{NOTES}:{NOTES}"),
        url=url,
        token=token,
    )


async def _push(git: Git, url: str, token: str | None, there: str | None) -> None:
    await git.network(
        *("push", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags"),
        *("--no-recurse-submodules", f"--force-with-lease={NOTES}:{there or ''}"),
        *("--end-of-options", url, f"{NOTES}:{NOTES}"),
        url=url,
        token=token,
    )
