"""Everything an agent can write to get its code run by git: none of it runs outside the sandbox.

Each vector is written by a command in the sandbox. Then Fettle does all it ever does with git,
and the marker must not be there. Then a bot that runs git naively does the same work: there the
marker must appear, or the vector proves nothing.
"""

import asyncio
import os
import subprocess

import pytest

from agents.policy import Policy

# In these scripts $EVIL is a command that leaves the marker. The folder is the work tree.
HOOK = 'printf "#!/bin/sh\\n$EVIL\\n" >.git/hooks/{0}; chmod +x .git/hooks/{0}'
HOOKS = "mkdir -p .git/hooks; "
REMOTE = "git config remote.origin.url {0}; git config remote.origin.fetch '+refs/heads/*:refs/x/*'"
ATTRIBUTE = "echo '* {0}' >.gitattributes; "
NESTED = (
    "mkdir -p lib; cd lib; git init -q; git config user.email a@b; git config user.name a;"
    "echo 1 >f; git add f; git commit -qm 1; "
)

VECTORS = {
    "hook pre-commit": HOOKS + HOOK.format("pre-commit"),
    "hook commit-msg": HOOKS + HOOK.format("commit-msg"),
    "hook post-index-change": HOOKS + HOOK.format("post-index-change"),
    "hook reference-transaction": HOOKS + HOOK.format("reference-transaction"),
    "hook pre-push": HOOKS + HOOK.format("pre-push") + "; " + REMOTE.format("$THERE"),
    "hook post-checkout": HOOKS + HOOK.format("post-checkout"),
    "core.hooksPath": "mkdir -p h; printf '#!/bin/sh\\n'\"$EVIL\" >h/pre-commit;"
    " chmod +x h/pre-commit;"
    " git config core.hooksPath h",
    "core.fsmonitor": 'git config core.fsmonitor "$EVIL; false"',
    "include.path": 'git config -f evil.inc core.fsmonitor "$EVIL; false";'
    " git config include.path ../ws/evil.inc",
    "config.worktree": "git config extensions.worktreeConfig true;"
    ' git config --worktree core.fsmonitor "$EVIL; false"',
    "core.sshCommand": REMOTE.format("ssh://x/y") + '; git config core.sshCommand "$EVIL; false"',
    "url.insteadOf": REMOTE.format("https://github.com/o/r")
    + "; git config protocol.ext.allow always;"
    ' git config "url.ext::sh -c ${EVIL// /% };%S.insteadOf" https://github.com/',
    "remote.url": "git config protocol.ext.allow always;"
    ' git config remote.origin.url "ext::sh -c ${EVIL// /% }"',
    "remote.uploadpack": REMOTE.format("/elsewhere.git")
    + '; git config remote.origin.uploadpack "$EVIL; false"',
    "remote.receivepack": REMOTE.format("/elsewhere.git")
    + '; git config remote.origin.receivepack "$EVIL; false"',
    "core.alternateRefsCommand": REMOTE.format("$THERE")
    + '; git config core.alternateRefsCommand "$EVIL; true"',
    "commondir": "rm -f .git/commondir; cp -r .git/. evil; git config -f evil/config core.fsmonitor"
    ' "$EVIL; false"; echo "$WS/evil" >.git/commondir',
    "credential.helper": REMOTE.format("$ASKING")
    + '; git config credential.helper "!$EVIL; false"',
    "credential.url.helper": REMOTE.format("$ASKING")
    + '; git config "credential.$ASKING.helper" "!$EVIL; false"',
    "core.askPass": REMOTE.format("$ASKING")
    + '; printf "#!/bin/sh\\n$EVIL\\n" >ask; chmod +x ask; git config core.askPass "$WS/ask"',
    "filter.clean": ATTRIBUTE.format("filter=evil")
    + 'git config filter.evil.clean "$EVIL; cat"; echo x >new',
    "filter.process": ATTRIBUTE.format("filter=evil")
    + 'git config filter.evil.process "$EVIL; false"; echo x >new',
    "filter by info/attributes": "mkdir -p .git/info; echo '* filter=evil' >.git/info/attributes;"
    ' git config filter.evil.clean "$EVIL; cat"; echo x >new',
    "filter.smudge": ATTRIBUTE.format("filter=evil")
    + 'git config filter.evil.smudge "$EVIL; cat"; rm -f src/a.py',
    "diff.external": 'git config diff.external "$EVIL; true"; echo x >>src/a.py',
    "diff.command": ATTRIBUTE.format("diff=evil")
    + 'git config diff.evil.command "$EVIL; true"; echo x >>src/a.py',
    "diff.textconv": ATTRIBUTE.format("diff=evil")
    + 'git config diff.evil.textconv "$EVIL; cat"; echo x >>src/a.py',
    "merge.driver": ATTRIBUTE.format("merge=evil") + 'git config merge.evil.driver "$EVIL; true";'
    "git checkout -q -b other; echo 1 >src/a.py; git add -A; git commit -qm o;"
    "git checkout -q work; echo 2 >src/a.py; git add -A; git commit -qm w",
    "gpg.program": 'printf "#!/bin/sh\\n$EVIL\\n" >gpg; chmod +x gpg;'
    ' git config gpg.program "$WS/gpg"; git config commit.gpgSign true',
    "gpg.ssh.program": 'printf "#!/bin/sh\\n$EVIL\\n" >gpg; chmod +x gpg;'
    ' git config gpg.ssh.program "$WS/gpg"; git config gpg.format ssh;'
    " git config user.signingKey key::ssh-ed25519; git config commit.gpgSign true",
    "log.showSignature": 'printf "#!/bin/sh\\n$EVIL\\n" >gpg; chmod +x gpg;'
    ' git config gpg.program "$WS/gpg"; git config log.showSignature true;'
    " git cat-file commit HEAD | sed 's/^committer.*/&\\ngpgsig -----BEGIN PGP SIGNATURE-----\\n"
    " x\\n -----END PGP SIGNATURE-----/' | git hash-object -t commit -w --stdin >.git/forged;"
    " cp .git/forged .git/refs/heads/work",
    "tar.command": 'git config tar.tar.gz.command "$EVIL; cat"',
    "trailer.command": 'git config trailer.x.command "$EVIL; echo"; git config trailer.x.key X',
    "core.editor": 'git config core.editor "$EVIL; true"',
    "sequence.editor": 'git config sequence.editor "$EVIL; true"',
    "core.pager": 'git config pager.log true; git config core.pager "$EVIL; cat"',
    "core.gitProxy": REMOTE.format("git://x/y")
    + '; printf "#!/bin/sh\\n$EVIL\\n" >px; chmod +x px; git config core.gitProxy "$WS/px"',
    "alias that shadows nothing": 'git config alias.st "!$EVIL"',
    "nested repository with a monitor": NESTED + 'git config core.fsmonitor "$EVIL; false"',
    "nested repository with a filter": NESTED + "echo '* filter=evil' >.git/info/attributes;"
    ' git config filter.evil.clean "$EVIL; cat"; echo changed >f',
    "nested repository that .gitmodules wants watched": NESTED
    + "echo '* filter=evil' >.git/info/attributes; git config filter.evil.clean \"$EVIL; cat\";"
    ' echo changed >f; cd ..; printf \'[submodule "lib"]\\n path = lib\\n url = x\\n'
    " ignore = none\\n' >.gitmodules",
    "bare repository in a folder": "mkdir -p bare; cd bare; git init -q --bare .;"
    ' git config core.fsmonitor "$EVIL; false"; git config core.worktree .;'
    " git config core.bare false",
    "git file that leads into the tree": "rm -rf x gd; mkdir x; cd x;"
    " git init -q --separate-git-dir ../gd;"
    " echo 'gitdir: ../gd' >.git; touch f;"
    ' git --git-dir=../gd config core.fsmonitor "$EVIL; false"',
}

HARMLESS_EVEN_TO_THE_NAIVE = {"alias that shadows nothing"}
"""Git does not obey these by itself; they stay in, in case a later git does."""

NAIVE = """
exec >/dev/null 2>&1 </dev/null
stop() { [ ! -e "$MARKER" ] || exit; }
echo more >>src/b.py
git status; git status; stop
git diff; git diff-files; stop
git add -A; git add -A; git status; stop
git commit -m step; git commit --amend; stop
git log -p; git log -1 --show-signature; script -qc "git log -1" /dev/null; stop
git fetch origin; git push origin HEAD:refs/heads/x; stop
git checkout -f HEAD -- .; git checkout -q -B again; stop
git merge --no-edit other; git merge --abort; stop
git archive --format=tar.gz HEAD; echo text | git interpret-trailers --trailer X=1; stop
git rebase -i HEAD~1; stop
unset GIT_DIR GIT_WORK_TREE
for folder in lib bare x; do (cd $folder && git status && git add -A); done
"""


@pytest.fixture
def marker(place):
    folder = place / "marker"
    folder.mkdir()
    folder.chmod(0o777)
    return folder / "hit"


def naive_bot(estate, run, marker):
    """Work in the agent's tree as bots do, as the user who owns it; tell whether that hit."""
    run_folder = estate.place / "runs" / run
    home = estate.place / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[safe]\n\tdirectory = *\n")
    uid, gid = estate.sandbox.owner
    drop = ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups"]
    subprocess.run(
        [*(drop if os.geteuid() == 0 else []), "sh", "-c", NAIVE],
        cwd=run_folder / "ws",
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "MARKER": str(marker),
            "GIT_DIR": str(run_folder / "agent.git"),
            "GIT_WORK_TREE": str(run_folder / "ws"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(estate.mirror.objects),
            "GIT_TERMINAL_PROMPT": "0",
        },
        timeout=60,
        check=False,
        start_new_session=True,
    )
    return marker.exists()


@pytest.mark.parametrize("vector", VECTORS)
async def test_nothing_of_the_agent_runs_outside(estate, server, marker, vector):
    tree = await estate.open("r", policy=Policy(protected_paths=()))
    ws = estate.place / "runs" / "r" / "ws"
    variables = (
        f"EVIL='touch {marker}'; WS={ws}; ASKING={server.url}/upstream.git;"
        f" THERE={estate.upstream}; "
    )
    written = await tree.run(["bash", "-c", variables + VECTORS[vector]], timeout=20)
    assert written.exit_code == 0, written.output
    await tree.write("src/b.py", b"B = 3\n")

    await tree.snapshot()
    await tree.write("src/b.py", b"B = 4\n")
    state = await tree.snapshot()
    assert "B = 4" in await tree.diff(estate.base, state)
    assert await tree.show(state, "src/b.py") == b"B = 4\n"
    commit = await tree.commit(state, estate.base, "Step 1/1")
    await estate.mirror.push(estate.url, None, commit, "bot/r", None)
    await tree.restore(commit)
    assert not marker.exists(), f"{vector} ran outside the sandbox"

    if vector not in HARMLESS_EVEN_TO_THE_NAIVE:
        again = await tree.run(["bash", "-c", variables + VECTORS[vector]], timeout=20)
        assert again.why == "exit"
        hit = await asyncio.to_thread(naive_bot, estate, "r", marker)
        assert hit, f"{vector} hurts nobody, so it proves nothing"


async def test_the_token_does_not_follow_the_agents_rewrites(estate, server, place):
    """The agent sends fetches elsewhere; nobody but the right host hears the token."""
    tree = await estate.open("r")
    rewrite = f"git config 'url.{server.url}/evil/.insteadOf' {server.url}/;"
    proxy = "git config http.proxy http://127.0.0.1:9; git config http.extraHeader 'X-Evil: 1'"
    await tree.run(["bash", "-c", rewrite + proxy], timeout=20)
    await tree.write("f", b"1")
    commit = await tree.commit(await tree.snapshot(), estate.base, "m")
    url = f"{server.url}/upstream.git"
    await estate.mirror.push(url, server.token, commit, "bot/r", None)
    assert not any("evil" in line for line in server.seen)


async def test_a_hostile_filter_inside_finds_nothing(estate, place):
    """Where git does run on the agent's files, a nested filter has no token and no way out."""
    (place / "secret").write_text("canary")
    tree = await estate.open("r")
    loot = "{ env; cat /proc/*/environ; ls -d /tree/../*; cat %s; } >>/q/loot 2>&1; cat"
    await tree.run(
        [
            "bash",
            "-c",
            NESTED + "echo '* filter=evil' >.git/info/attributes;"
            f"git config filter.evil.clean '{loot % (place / 'secret')}'; echo changed >f;",
        ],
        timeout=20,
    )
    await tree.write("f", b"1")
    await tree.snapshot()
    found = place / "runs" / "r" / "q" / "loot"
    text = found.read_text() if found.exists() else ""
    assert "canary" not in text
    assert str(place) not in text.replace(str(place / "secret"), "")


async def test_a_forged_quarantine_reads_no_other_repository(estate, place):
    """Only a pack crosses over, so links planted in the quarantine lead nowhere."""
    tree = await estate.open("r")
    quarantine = place / "runs" / "r" / "q"
    (place / "other").mkdir()
    (place / "other" / "pack").write_bytes(b"PACK of somebody else")
    await tree.write("f", b"1")
    (quarantine / "objects" / "info").mkdir(exist_ok=True)
    (quarantine / "objects" / "info" / "alternates").write_text(f"{place}/other\n")
    state = await tree.snapshot()
    assert await tree.list_changed_paths(estate.base, state) == ["f"]


@pytest.mark.parametrize(
    "destruction",
    [
        "rm -rf .git; mkdir .git; git init -q .",
        "mv .git away; ln -s /etc .git",
        "umount .git; rmdir .git",
        "find .git -delete; echo 'gitdir: /workspace/gd' >.git/gitdir; git init -q --bare gd",
    ],
)
async def test_a_destroyed_git_directory_hurts_the_agent_alone(estate, destruction):
    """Work goes on, and what is committed is the files: no `.git` of the agent's making."""
    tree = await estate.open("r")
    await tree.run(["bash", "-c", destruction], timeout=20)
    await tree.write("src/b.py", b"B = 5\n")
    state = await tree.snapshot()
    assert await tree.show(state, "src/b.py") == b"B = 5\n"
    changed = await tree.list_changed_paths(estate.base, state)
    assert not [path for path in changed if ".git" in path.split("/")]
    commit = await tree.commit(state, estate.base, "Step 1/1")
    await tree.restore(commit)
    assert await tree.read("src/b.py") == b"B = 5\n"
