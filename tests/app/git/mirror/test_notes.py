"""Notes on commits: put there once, beside those of others, whoever is faster."""

from __future__ import annotations

import pytest

from agents.errors import RunError
from app.git.git_runner import Git
from app.git.mirror import notes
from app.git.mirror.notes import NOTES, fetch_notes, publish_note, read_note
from tests.app.git.conftest import BOT, git


async def publish(estate, text, commit=None):
    await estate.mirror.publish_note(estate.url, None, commit or estate.base, text, BOT)


def upstream(estate, *args):
    return git(estate.upstream, *args)


async def test_a_note_is_in_the_repository_and_again_is_nothing_new(estate):
    await publish(estate, b"one\n")
    first = upstream(estate, "rev-parse", NOTES)
    await publish(estate, b"one\n")
    assert upstream(estate, "rev-parse", NOTES) == first
    assert upstream(estate, "notes", f"--ref={NOTES}", "show", estate.base) == "one"
    await publish(estate, b"two\n")
    assert await read_note(estate.mirror.git, estate.base) == b"two\n"
    assert await read_note(estate.mirror.git, "1" * 40) is None


async def test_what_is_here_already_is_not_fetched(estate):
    asked = []

    class WatchedGit(Git):
        async def network(self, *args, **more):
            asked.append(args[0])
            return await super().network(*args, **more)

    watched = WatchedGit(estate.mirror.gitdir, allow_files=True)
    await publish(estate, b"one\n")
    await fetch_notes(watched, estate.url)
    assert asked == ["ls-remote"]
    upstream(estate, "notes", f"--ref={NOTES}", "add", "-f", "-m", "theirs", estate.base)
    await fetch_notes(watched, estate.url)
    assert asked[1:] == ["ls-remote", "fetch"]
    assert await read_note(watched, estate.base) == b"theirs\n"


async def test_what_others_wrote_meanwhile_stays(estate, monkeypatch):
    other = git(estate.place / "somebody", "commit-tree", "-m", "x", f"{estate.base}^{{tree}}")
    git(estate.place / "somebody", "push", "-q", str(estate.upstream), f"{other}:refs/heads/other")
    pushes = []
    push = notes._push

    async def push_late(git_, url, token, there):
        if not pushes:  # somebody is faster, once
            upstream(estate, "notes", f"--ref={NOTES}", "add", "-m", "theirs", other)
        pushes.append(there)
        await push(git_, url, token, there)

    monkeypatch.setattr(notes, "_push", push_late)
    await publish(estate, b"ours\n")
    assert len(pushes) == 2
    assert upstream(estate, "notes", f"--ref={NOTES}", "show", other) == "theirs"
    assert upstream(estate, "notes", f"--ref={NOTES}", "show", estate.base) == "ours"
    await fetch_notes(estate.mirror.git, estate.url)
    assert await read_note(estate.mirror.git, other) == b"theirs\n"


async def test_a_repository_that_takes_no_notes_is_told_in_words(estate):
    hook = estate.upstream / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(RunError, match="did not take `refs/notes/fettle`"):
        await publish(estate, b"one\n")
    with pytest.raises(RunError):
        await publish_note(estate.mirror.git, estate.url, None, commit="x", note=b"", identity=BOT)
