"""Refuse pushes of Apps by branch protection, rulesets and the workflows permission."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from app.simulator.github.gitdir import ZERO, GitDir, GitFailed
from app.simulator.github.state.world import Repository
from app.simulator.github.tokens import Token

FLUSH = b"0000"
WORKFLOWS = ".github/workflows"
HIDDEN = ("refs/notes/", "refs/fettle/")
"""Rulesets are about branches, tags or the files of a push; none is about other refs.

https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/managing-rulesets/about-rulesets
"""
HEADS = "refs/heads/"
UNSIGNED = "Commits must have verified signatures."
_TOUCHED = ("--format=", "--name-only", "-m")
_SIGNED = ("--format=%H|%G?|%GS|%ce",)
"""Id, whether the signature is good, whose key that is, and the committer's address."""


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
        if not ref.startswith((repository.app_branches, *HIDDEN)):
            return "push declined due to repository rule violations"
    if not commands:
        return None
    if not token.grants("workflows", "write"):
        touched = await _look_at_new(repository, commands, body, _TOUCHED, WORKFLOWS)
        if touched:
            return (
                "refusing to allow a GitHub App to create or update workflow"
                f" `{touched[0]}` without `workflows` permission"
            )
    if repository.requires_signatures and any(HEADS in ref for _, _, ref in commands):
        keys = "".join(f"{line}\n" for line in repository.signing_keys)
        made = await _look_at_new(repository, commands, body, _SIGNED, keys=keys)
        verified = {each.split("|")[0] for each in made if _is_verified(each, keys)}
        repository.signed.update(verified)
        if not repository.signed.issuperset(each.split("|")[0] for each in made):
            return UNSIGNED
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


async def _look_at_new(
    repository: Repository,
    commands: list[tuple[str, str, str]],
    body: bytes,
    shown: tuple[str, ...],
    path: str = "",
    *,
    keys: str = "",
) -> list[str]:
    """Unpack into a quarantine, and return what git's log shows of the new commits."""
    git = GitDir(repository.gitdir)
    new = [sha for _, sha, _ in commands if sha != ZERO]
    pack = body[sum(len(line) + 4 for line in _raw_lines(body)) + len(FLUSH) :]
    with tempfile.TemporaryDirectory(dir=repository.gitdir) as quarantine:
        allowed = Path(quarantine, "allowed-signers")
        await asyncio.to_thread(allowed.write_text, keys)
        extra = {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "gpg.ssh.allowedSignersFile",
            "GIT_CONFIG_VALUE_0": str(allowed),
            "GIT_OBJECT_DIRECTORY": quarantine,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(repository.gitdir / "objects"),
        }
        try:
            if pack:
                await git.run("index-pack", "--stdin", "--fix-thin", stdin=pack, extra=extra)
            reached = ["--branches", "--tags"]
            span = [*shown, *new, "--not", *reached, "--", *filter(None, [path])]
            return (await git.run("log", *span, extra=extra)).decode().split() if new else []
        except GitFailed:
            return []  # a broken pack: receive-pack finds the words for it


def _is_verified(shown: str, keys: str) -> bool:
    """Return whether a commit is signed by a key of the account that is its committer.

    https://docs.github.com/authentication/troubleshooting-commit-signature-verification
    """
    _, judged, whose, committer = shown.split("|")
    return bool(keys) and judged == "G" and whose == committer


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
