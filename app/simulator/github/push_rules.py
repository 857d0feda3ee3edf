"""Refuse pushes of Apps by branch protection, rulesets and the workflows permission."""

from __future__ import annotations

import tempfile

from app.simulator.github.gitdir import ZERO, GitDir, GitFailed
from app.simulator.github.state.world import Repository
from app.simulator.github.tokens import Token

FLUSH = b"0000"
WORKFLOWS = ".github/workflows"
NOTES = "refs/notes/"
"""Rulesets are about branches, tags or the files of a push; none is about notes.

https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/managing-rulesets/about-rulesets
"""


def refs_of(body: bytes) -> list[tuple[str, str, str]]:
    """Return (old sha, new sha, ref) of each command in a receive-pack request."""
    commands = []
    for line in _lines(body):
        old, new, ref = line.partition(b"\0")[0].decode(errors="replace").strip().split(" ", 2)
        commands.append((old, new, ref))
    return commands


async def push_refusal(repository: Repository, token: Token, body: bytes) -> str | None:
    """Return why an App may not push this, in GitHub's words; None when it may."""
    commands = refs_of(body)
    for _, _, ref in commands:
        if ref == f"refs/heads/{repository.default_branch}":
            return "protected branch hook declined"
        if not ref.startswith((repository.app_branches, NOTES)):
            return "push declined due to repository rule violations"
    if commands and not token.grants("workflows", "write"):
        return await _workflow_refusal(repository, commands, body)
    return None


def report(body: bytes, reason: str) -> bytes:
    """Return the answer that refuses every ref of a push."""
    lines = [_packet(b"unpack ok\n")]
    lines += [_packet(f"ng {ref} {reason}\n".encode()) for _, _, ref in refs_of(body)]
    plain = b"".join(lines) + FLUSH
    if b"side-band-64k" not in _capabilities(body):
        return plain
    words = f"error: GH013: {reason}\n".encode()
    return _packet(b"\x02" + words) + _packet(b"\x01" + plain) + FLUSH


async def _workflow_refusal(
    repository: Repository, commands: list[tuple[str, str, str]], body: bytes
) -> str | None:
    """Unpack into a quarantine and look at what the new commits touch."""
    git = GitDir(repository.gitdir)
    new = [sha for _, sha, _ in commands if sha != ZERO]
    pack = body[sum(len(line) + 4 for line in _raw_lines(body)) + len(FLUSH) :]
    with tempfile.TemporaryDirectory(dir=repository.gitdir) as quarantine:
        extra = {
            "GIT_OBJECT_DIRECTORY": quarantine,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(repository.gitdir / "objects"),
        }
        try:
            if pack:
                await git.run("index-pack", "--stdin", "--fix-thin", stdin=pack, extra=extra)
            span = ["--format=", "--name-only", "-m", *new, "--not", "--all", "--", WORKFLOWS]
            touched = (await git.run("log", *span, extra=extra)).decode().split() if new else []
        except GitFailed:
            return None  # a broken pack: receive-pack finds the words for it
    if not touched:
        return None
    return (
        f"refusing to allow a GitHub App to create or update workflow `{touched[0]}`"
        " without `workflows` permission"
    )


def _raw_lines(body: bytes) -> list[bytes]:
    lines, at = [], 0
    while (size := int(body[at : at + 4] or FLUSH, 16)) > len(FLUSH):
        lines.append(body[at + 4 : at + size])
        at += size
    return lines


def _lines(body: bytes) -> list[bytes]:
    return [line for line in _raw_lines(body) if not line.startswith((b"shallow ", b"push-cert"))]


def _capabilities(body: bytes) -> bytes:
    first = next(iter(_lines(body)), b"")
    return first.partition(b"\0")[2]


def _packet(data: bytes) -> bytes:
    return f"{len(data) + 4:04x}".encode() + data
