"""Commits that GitHub makes again and signs: the same files, messages and parents as the run's."""

from __future__ import annotations

import random
import subprocess
from functools import partial

import pytest

from agents.errors import RunError, SignaturesRequired
from app.git import RunObjects, aside_ref
from app.git.commit_key import CommitKey
from app.github.pulls.signed_commits import CommitSigner
from app.simulator.github.gitdir import GitDir
from tests.fakes.commit_key import EMAIL, make_commit_key

CHANGES = 500
EACH = 5
"""Changes of a commit."""
BRANCH = "bot/1-signed"


@pytest.fixture
def sign_by(scene, mirror):
    """Return what makes the signer of a run, as each process that works on it has one."""
    return lambda: CommitSigner(scene.github, RunObjects(mirror, "run-1"), scene.request, "run-1")


def git(mirror, *args, said=b""):
    command = ["git", "-C", mirror.gitdir, "-c", "user.name=x", "-c", "user.email=x@x", *args]
    return subprocess.run(command, input=said, capture_output=True, check=True).stdout.decode()


def make_history(mirror, base, changes):
    """Make so many changes of all kinds on the base; return the newest commit."""
    dice, files, lines = random.Random(20), {}, []
    for mark in range(1, changes // EACH + 1):
        message = f"Änderung {mark}\n\nCo-authored-by: Ola <ola@example.com>\nFettle-Run: r\n"
        lines += ["commit refs/heads/made", f"mark :{mark}"]
        lines += [f"committer x <x@x> {1700000000 + mark} +0000"]
        lines += [f"data {len(message.encode())}\n{message}"]
        lines += [f"from {base}" if mark == 1 else f"from :{mark - 1}"]
        if mark % 20 == 0:  # what a branch had made meanwhile
            lines += [f"merge :{mark - 8}"]
        lines += [make_change(dice, files, f"{mark}-{number}") for number in range(EACH)] + [""]
    git(mirror, "fast-import", "--quiet", said="\n".join(lines).encode())
    return git(mirror, "rev-parse", "refs/heads/made").strip()


def make_change(dice, files, mark):
    """Return one change for git's fast-import, and note what it does to the files' modes."""
    kind = dice.choice(("100644", "100755", "120000", "160000", "rename", "delete", "mode"))
    path = f"f{dice.randrange(5)}/d{dice.randrange(20)}/n ü{mark}.txt"
    old = dice.choice([name for name, mode in files.items() if mode[:3] == "100"] or [""])
    if kind == "rename" and old:
        files[path] = files.pop(old)
        return f'R "{old}" "{path}"'
    if kind == "delete" and old:
        del files[old]
        return f"D {old}"
    if kind == "160000":
        files[path] = kind
        return f"M 160000 {dice.randrange(1, 16**40):040x} {path}"
    if kind == "mode" and old:
        path, kind = old, "100644" if files[old] == "100755" else "100755"
    files[path] = mode = kind if kind in ("100755", "120000") else "100644"
    text = f"text {mark}\n" * dice.randrange(1, 4)
    return f"M {mode} inline {path}\ndata {len(text)}\n{text}"


async def test_five_hundred_changes_of_all_kinds_are_the_same_but_for_the_signature(
    scene, mirror, sign_by
):
    base = await mirror.head_of("main")
    head = make_history(mirror, base, CHANGES)

    signed = await sign_by().sign(base, head)

    assert len(signed) == CHANGES // EACH
    differing = [
        commit
        for commit, made in signed.items()
        if (one := await mirror.parts_of(commit)).signed
        or not (other := await mirror.parts_of(made)).signed
        or (one.tree, one.message.strip()) != (other.tree, other.message.strip())
        or tuple(signed.get(each, each) for each in one.parents) != other.parents
    ]
    assert differing == []
    assert scene.repository.signed.issuperset(signed.values())
    assert aside_ref("run-1") not in await GitDir(scene.repository.gitdir).refs("refs/")
    asked = len(scene.server.requests)
    assert await sign_by().sign(base, head) == signed
    assert len(scene.server.requests) == asked, "what is signed is not signed again"


async def test_what_others_merge_in_stays_theirs(scene, mirror, commits, sign_by):
    base, theirs, _ = commits
    ours = git(mirror, "commit-tree", f"{base}^{{tree}}", "-p", base, "-m", "Ours").strip()
    merge = ("commit-tree", f"{base}^{{tree}}", "-p", ours, "-p", theirs, "-m", "Merge")
    head = git(mirror, *merge).strip()

    signed = await sign_by().sign(base, head, merging=theirs)

    assert set(signed) == {ours, head}
    assert (await mirror.parts_of(signed[head])).parents == (signed[ours], theirs)


async def test_where_github_signs_nothing_nothing_is_left(scene, mirror, commits, sign_by):
    scene.repository.signs = False

    assert await sign_by().sign(commits[0], commits[-1]) == {}
    assert not await sign_by().has_signed(commits[-1])
    assert aside_ref("run-1") not in await GitDir(scene.repository.gitdir).refs("refs/")


@pytest.fixture
def sign_by_key(scene, mirror, tmp_path):
    """Return what makes the signer of an operator with a key, whom GitHub knows."""
    path, allowed = make_commit_key(tmp_path)
    scene.repository.signs = False
    scene.repository.signing_keys.append(allowed)
    key = CommitKey(path, "Fettle Keys", EMAIL)
    objects = partial(RunObjects, mirror, "run-1")
    return lambda: CommitSigner(scene.github, objects(), scene.request, "run-1", key=key)


async def test_by_the_operators_key_they_are_the_same_as_well(
    scene, mirror, publisher, sign_by_key, tmp_path
):
    base = await mirror.head_of("main")
    head = make_history(mirror, base, 100)
    scene.repository.requires_signatures = True
    with pytest.raises(SignaturesRequired):
        await publisher.push(BRANCH, head)

    signed = await sign_by_key().sign(base, head)

    for commit, made in signed.items():
        one, other = await mirror.parts_of(commit), await mirror.parts_of(made)
        assert not one.signed
        assert (other.signed, other.tree, other.author) == (True, one.tree, one.author)
        assert other.message.strip() == one.message.strip()
        assert other.parents == tuple(signed.get(each, each) for each in one.parents)
    (tmp_path / "allowed").write_text(f"{scene.repository.signing_keys[0]}\n")
    allowed = ("-c", f"gpg.ssh.allowedSignersFile={tmp_path / 'allowed'}")
    git(mirror, *allowed, "verify-commit", *signed.values())
    await publisher.push(BRANCH, signed[head])
    assert await sign_by_key().sign(base, head) == signed


async def test_a_power_cut_while_the_key_signs_makes_none_twice(mirror, commits, sign_by_key):
    first = await sign_by_key().sign(commits[0], commits[-1])
    for ref in await mirror.list_refs("refs/fettle/run-1"):
        await mirror.git.local("update-ref", "-d", ref)

    assert await sign_by_key().sign(commits[0], commits[-1]) == first


async def test_another_key_than_the_accounts_is_not_taken(
    scene, publisher, commits, sign_by_key, tmp_path
):
    (tmp_path / "other").mkdir()
    scene.repository.signing_keys[:] = [make_commit_key(tmp_path / "other")[1]]
    scene.repository.requires_signatures = True
    signed = await sign_by_key().sign(commits[0], commits[-1])
    with pytest.raises(SignaturesRequired):
        await publisher.push(BRANCH, signed[commits[-1]])


async def test_a_commit_that_is_another_than_was_asked_for_is_not_used(
    scene, mirror, commits, sign_by, monkeypatch
):
    signer = sign_by()
    post = signer._post_all

    async def make_others(client, missing, signed):
        made = await post(client, missing, signed)
        first, last = made
        return {first: made[last], last: made[first]}

    monkeypatch.setattr(signer, "_post_all", make_others)
    with pytest.raises(RunError, match="made another commit than it was asked for"):
        await signer.sign(commits[0], commits[-1])
    assert not await signer.has_signed(commits[-1])


async def test_a_repository_that_demands_signatures_takes_these_alone(
    scene, mirror, publisher, commits, sign_by
):
    scene.repository.requires_signatures = True
    with pytest.raises(SignaturesRequired, match=r"signed commits only.*signing: github"):
        await publisher.push(BRANCH, commits[-1])

    signed = await sign_by().sign(commits[0], commits[-1])
    await publisher.push(BRANCH, signed[commits[-1]])

    refs = await GitDir(scene.repository.gitdir).refs()
    assert refs[f"refs/heads/{BRANCH}"] == signed[commits[-1]]
