"""Histories are merged within the mirror: nothing runs, nothing is written out, nothing is lost."""

from __future__ import annotations

import os
import subprocess

import pytest

from agents.errors import RunError
from agents.policy import Policy
from app.git.mirror.merge import merge, overlay
from app.git.ref_names import tree_refs
from tests.app.git.conftest import git, make_repository

KEPT = tree_refs("run-1")


@pytest.fixture
def grow(estate):
    """Commit files, or their absence, straight into the mirror; as strangers' pushes come in."""

    def commit(parent, files, *, modes=()):
        index = {"GIT_INDEX_FILE": str(estate.place / "index")}
        folder = estate.mirror.gitdir
        git(folder, "read-tree", parent, **index)
        for path, text in files.items():
            if text is None:
                entry = f"0 {'0' * 40}\t{path}"
                subprocess.run(
                    ["git", "-C", folder, "update-index", "--index-info"],
                    env={**os.environ, **index},
                    input=entry.encode(),
                    check=True,
                )
                continue
            mode = dict(modes).get(path, "100644")
            oid = text if mode == "160000" else blob(folder, text)
            entry = f"{mode},{oid},{path}"
            git(folder, "update-index", "--add", "--replace", "--cacheinfo", entry, **index)
        tree = git(folder, "write-tree", **index)
        return git(folder, "commit-tree", "-p", parent, "-m", "theirs", tree)

    return commit


def blob(folder, text):
    done = subprocess.run(
        ["git", "-C", folder, "hash-object", "-w", "--stdin"],
        input=text.encode(),
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().strip()


def list_files(estate, tree):
    return set(git(estate.mirror.gitdir, "ls-tree", "-r", "--name-only", tree).splitlines())


def collect(mirror):
    """Throw away whatever no ref leads to."""
    git(mirror.gitdir, "reflog", "expire", "--expire=now", "--all")
    git(mirror.gitdir, "gc", "--quiet", "--prune=now")


# --- merging --------------------------------------------------------------------------------------


async def test_two_histories_become_one_tree(estate, grow):
    ours = grow(estate.base, {"src/a.py": "A = 10\n"})
    theirs = grow(estate.base, {"src/b.py": "B = 20\n", "README.md": None, "new.py": "N = 1\n"})
    made = await estate.mirror.merge(ours, theirs, KEPT)
    assert made.conflicts == ()
    assert await estate.mirror.show(made.tree, "src/a.py") == b"A = 10\n"
    assert await estate.mirror.show(made.tree, "src/b.py") == b"B = 20\n"
    assert list_files(estate, made.tree) == {".gitignore", "new.py", "src/a.py", "src/b.py"}
    collect(estate.mirror)
    assert await estate.mirror.show(made.tree, "new.py") == b"N = 1\n"


async def test_a_rename_is_followed(estate, grow):
    lines = "".join(f"line {n}\n" for n in range(50))
    base = grow(estate.base, {"old.py": lines})
    ours = grow(base, {"old.py": None, "new.py": lines})
    theirs = grow(base, {"old.py": lines.replace("line 7\n", "seven\n")})
    made = await estate.mirror.merge(ours, theirs, KEPT)
    assert made.conflicts == ()
    assert b"seven\n" in await estate.mirror.show(made.tree, "new.py")


async def test_what_was_changed_can_be_put_on_a_branch_that_was_rewritten(estate, grow):
    """Only the changes are: what was taken off the branch meanwhile does not come back."""
    seen = grow(estate.base, {"src/a.py": "A = 10\n", "gone.py": "1\n"})
    ours = grow(seen, {"src/b.py": "B = 20\n"})
    rewritten = grow(estate.base, {"src/a.py": "A = 30\n"})
    made = await estate.mirror.merge(rewritten, ours, KEPT, base=seen)
    assert made.conflicts == ()
    assert await estate.mirror.show(made.tree, "src/a.py") == b"A = 30\n"
    assert await estate.mirror.show(made.tree, "src/b.py") == b"B = 20\n"
    assert "gone.py" not in list_files(estate, made.tree)


async def test_contradictions_are_named_and_marked(estate, grow):
    ours = grow(estate.base, {"src/a.py": "A = 10\n", "src/b.py": None, "ok.py": "1\n"})
    theirs = grow(estate.base, {"src/a.py": "A = 20\n", "src/b.py": "B = 3\n"})
    made = await estate.mirror.merge(ours, theirs, KEPT)
    assert set(made.conflicts) == {"src/a.py", "src/b.py"}
    marked = await estate.mirror.show(made.tree, "src/a.py")
    assert marked == f"<<<<<<< {ours}\nA = 10\n=======\nA = 20\n>>>>>>> {theirs}\n".encode()
    assert await estate.mirror.show(made.tree, "ok.py") == b"1\n"


async def test_a_commit_merged_into_its_own_continuation_changes_nothing(estate, grow):
    later = grow(estate.base, {"new.py": "N = 1\n"})
    for ours, theirs in ((later, estate.base), (estate.base, later), (later, later)):
        made = await estate.mirror.merge(ours, theirs, KEPT)
        assert made.tree == git(estate.mirror.gitdir, "rev-parse", f"{later}^{{tree}}")


async def test_histories_with_nothing_in_common_are_refused_in_words(estate, grow, place):
    other = make_repository(place / "other", {"x": "y\n"})
    await estate.mirror.fetch_branch(f"file://{place}/other", None, "main", "refs/fettle/other")
    with pytest.raises(RunError, match=r"unrelated histories.*Merge them by hand, then ask again"):
        await estate.mirror.merge(estate.base, other, KEPT)


async def test_only_whole_ids_are_merged(estate):
    for hostile in ("--upload-pack=x", "HEAD", "main", f"{estate.base}^", ""):
        with pytest.raises(RunError, match="not the full id of a git object"):
            await estate.mirror.merge(estate.base, hostile, KEPT)
        with pytest.raises(RunError, match="not the full id of a git object"):
            await estate.mirror.merge(hostile, estate.base, KEPT)


# --- what strangers put into trees ----------------------------------------------------------------


async def test_a_merge_driver_that_a_tree_names_does_not_run(estate, grow, place):
    marker = place / "ran"
    git(estate.mirror.gitdir, "config", "merge.evil.driver", f"touch {marker}; true")
    base = grow(estate.base, {".gitattributes": "* merge=evil\n"})
    ours, theirs = grow(base, {"src/a.py": "A = 10\n"}), grow(base, {"src/a.py": "A = 20\n"})
    made = await estate.mirror.merge(ours, theirs, KEPT)
    assert made.conflicts == ("src/a.py",)
    assert not marker.exists()
    # The same merge in a work tree, as a bot does it that knows no better, runs the driver.
    naive = place / "naive"
    git(place, "clone", "-q", "--no-checkout", str(estate.mirror.gitdir), str(naive))
    git(naive, "fetch", "-q", str(estate.mirror.gitdir), ours, theirs)
    git(naive, "config", "merge.evil.driver", f"touch {marker}; true")
    git(naive, "checkout", "-q", ours)
    git(naive, "merge", "-q", theirs)
    assert marker.exists()


async def test_links_nested_repositories_and_look_alikes_are_merged_as_names(estate, grow):
    outside = {"link": "/etc/passwd", "src/a.py": "A = 10\n", "lib": "1" * 40, "A.txt": "big\n"}
    ours = grow(estate.base, outside, modes=[("link", "120000"), ("lib", "160000")])
    others = {"link": "/etc/shadow", "lib": "2" * 40, "a.txt": "small\n"}
    theirs = grow(estate.base, others, modes=[("link", "120000"), ("lib", "160000")])
    made = await estate.mirror.merge(ours, theirs, KEPT)
    assert set(made.conflicts) == {"link", "lib"}
    assert {"A.txt", "a.txt"} <= list_files(estate, made.tree)
    assert await estate.mirror.show(made.tree, "link") in (b"/etc/passwd", b"/etc/shadow")


async def test_a_file_where_the_other_side_has_a_folder(estate, grow):
    ours = grow(estate.base, {"thing": "a file\n"})
    theirs = grow(estate.base, {"thing/inner": "within a folder\n"})
    made = await estate.mirror.merge(ours, theirs, KEPT)
    assert made.conflicts
    assert "thing/inner" in list_files(estate, made.tree)


async def test_a_name_that_is_no_text_is_shown_as_well_as_it_can_be(estate, grow):
    ours = grow(estate.base, {"caf\udce9": "one\n"})
    theirs = grow(estate.base, {"caf\udce9": "two\n"})
    made = await estate.mirror.merge(ours, theirs, KEPT)
    assert made.conflicts == ("caf\ufffd",)


def bomb(estate, depth, width):
    """Return a tree of `width ** depth` files that takes a few hundred bytes to send."""
    folder = estate.mirror.gitdir
    entry = f"100644 blob {blob(folder, 'x')}"
    for level in range(depth):
        lines = "".join(f"{entry}\t{name}{level}\n" for name in "abcdefghij"[:width])
        done = subprocess.run(
            ["git", "-C", folder, "mktree"], input=lines.encode(), capture_output=True, check=True
        )
        entry = f"040000 tree {done.stdout.decode().strip()}"
    return entry.split()[-1]


async def test_a_tree_of_too_many_files_is_not_even_begun(estate, grow, monkeypatch):
    monkeypatch.setattr("app.git.mirror.merge.MOST_FILES", 5)
    theirs = grow(estate.base, {f"{number}.py": "x" for number in range(3)})
    for pair in ((estate.base, theirs), (theirs, estate.base)):
        with pytest.raises(RunError, match="has 7 files"):
            await estate.mirror.merge(*pair, KEPT)


async def test_a_billion_files_of_the_past_exhaust_no_memory(estate, monkeypatch):
    """Both sides have left them behind, but git looks at what they left."""
    monkeypatch.setattr("app.git.mirror.merge._MEMORY", 300_000_000)
    folder = estate.mirror.gitdir
    huge = huge_commit(estate, bomb(estate, depth=9, width=10))
    plain = git(folder, "rev-parse", f"{estate.base}^{{tree}}")
    ours, theirs = (
        git(folder, "commit-tree", "-p", huge, "-m", words, plain) for words in ("a", "b")
    )
    with pytest.raises(RunError, match=r"[Oo]ut of memory.*by hand"):
        await estate.mirror.merge(ours, theirs, KEPT)


def huge_commit(estate, tree):
    return git(estate.mirror.gitdir, "commit-tree", "-p", estate.base, "-m", "huge", tree)


# --- parts of another tree ------------------------------------------------------------------------


async def test_some_paths_are_taken_from_another_tree(estate, grow):
    other = grow(
        estate.base,
        {"src/a.py": "A = 10\n", "src/b.py": None, "new.py": "N\n", "README.md": "# Other\n"},
        modes=[("new.py", "100755")],
    )
    paths = ["src/b.py", "new.py", "src/a.py", "no/such/path"]
    tree = await estate.mirror.overlay(estate.base, other, paths, KEPT)
    assert list_files(estate, tree) == {".gitignore", "README.md", "new.py", "src/a.py"}
    assert await estate.mirror.show(tree, "src/a.py") == b"A = 10\n"
    assert await estate.mirror.show(tree, "README.md") == b"# Sample\n"
    assert "100755" in git(estate.mirror.gitdir, "ls-tree", tree, "new.py")
    collect(estate.mirror)
    assert await estate.mirror.resolve(tree)


async def test_nothing_taken_is_the_old_tree(estate, grow):
    other = grow(estate.base, {"src/a.py": "A = 10\n"})
    tree = await estate.mirror.overlay(estate.base, other, [], KEPT)
    assert tree == git(estate.mirror.gitdir, "rev-parse", f"{estate.base}^{{tree}}")


async def test_a_folder_gives_way_to_a_file_and_back(estate, grow):
    other = grow(estate.base, {"src/a.py": None, "src/b.py": None, "src": "a file now\n"})
    every = ["src", "src/a.py", "src/b.py"]
    for paths in (every, every[::-1]):
        assert await estate.mirror.overlay(estate.base, other, paths, KEPT) == git(
            estate.mirror.gitdir, "rev-parse", f"{other}^{{tree}}"
        )
        assert await estate.mirror.overlay(other, estate.base, paths, KEPT) == git(
            estate.mirror.gitdir, "rev-parse", f"{estate.base}^{{tree}}"
        )


async def test_paths_are_names_and_never_patterns_or_options(estate, grow):
    odd = {"*": "star\n", "-x": "dash\n", ":(top)src": "magic\n", "a\nb": "lines\n"}
    other = grow(estate.base, {**odd, "src/a.py": "A = 10\n"})
    tree = await estate.mirror.overlay(estate.base, other, ["*", "-x", ":(top)src", "a\nb"], KEPT)
    assert await estate.mirror.list_changed_paths(estate.base, tree) == sorted(odd)


# --- the commit that says so ----------------------------------------------------------------------


async def test_a_merge_is_committed_once_with_both_parents(estate, grow):
    ours = grow(estate.base, {"src/a.py": "A = 10\n"})
    theirs = grow(estate.base, {"src/b.py": "B = 20\n"})
    tree = await estate.open(base=ours)
    made = await estate.mirror.merge(ours, theirs, KEPT)
    commit = await tree.commit(made.tree, ours, "Merge main", merging=theirs)
    assert git(estate.mirror.gitdir, "log", "-1", "--format=%P", commit) == f"{ours} {theirs}"
    assert await tree.commit(made.tree, ours, "Merge main", merging=theirs) == commit
    plain = await tree.commit(made.tree, ours, "Merge main")
    assert git(estate.mirror.gitdir, "log", "-1", "--format=%P", plain) == ours
    seen = await tree.run(["git", "log", "-1", "--format=%s", commit], timeout=30)
    assert seen.output == "Merge main\n"


PIPELINE = ".github/workflows/ci.yml"
OWNERS = ".github/CODEOWNERS"


async def test_what_the_other_branch_brings_along_is_not_the_runs_doing(estate, grow):
    ours = grow(estate.base, {"src/a.py": "A = 10\n"})
    brought = {PIPELINE: "on: push\n", "lib": "1" * 40}
    theirs = grow(estate.base, brought, modes=[("lib", "160000")])
    tree = await estate.open(base=ours)
    made = await estate.mirror.merge(ours, theirs, KEPT)
    assert await tree.commit(made.tree, ours, "Merge main", merging=theirs)
    with pytest.raises(RunError, match=r"ci\.yml"):
        await tree.commit(made.tree, ours, "Not a merge")


async def test_what_a_merge_changes_beside_is_judged_like_any_change(estate, grow):
    ours = grow(estate.base, {OWNERS: "* @ada\n"})
    theirs = grow(estate.base, {"src/b.py": "B = 20\n"})
    made = await estate.mirror.merge(ours, theirs, KEPT)
    tree = await estate.open(base=ours)
    for files in ({OWNERS: "* @eve\n"}, {OWNERS: None}):
        slipped = grow(theirs, {"src/b.py": "B = 20\n", OWNERS: "* @ada\n", **files})
        with pytest.raises(RunError, match=r"CODEOWNERS.*nobody approved"):
            await tree.commit(f"{await tree_of(estate, slipped)}", ours, "m", merging=theirs)
    assert await tree.commit(made.tree, ours, "m", merging=theirs)


async def test_a_contradiction_in_a_protected_file_needs_people(estate, grow):
    base = grow(estate.base, {OWNERS: "* @ada\n"})
    ours = grow(base, {OWNERS: "* @bob\n"})
    theirs = grow(base, {OWNERS: "* @eve\n"})
    made = await estate.mirror.merge(ours, theirs, KEPT)
    assert made.conflicts == (OWNERS,)
    tree = await estate.open(base=ours)
    for chosen in (made.tree, await tree_of(estate, theirs)):
        with pytest.raises(RunError, match=r"CODEOWNERS.*nobody approved"):
            await tree.commit(chosen, ours, "m", merging=theirs)
    kept = await tree_of(estate, ours)
    assert await tree.commit(kept, ours, "m", merging=theirs)
    assert await tree.commit(
        await tree_of(estate, theirs), ours, "m", merging=theirs, permitted={OWNERS: theirs}
    )
    free = await estate.open(base=ours, policy=Policy(protected_paths=[]))
    assert await free.commit(await tree_of(estate, theirs), ours, "m", merging=theirs)


async def tree_of(estate, commit):
    return git(estate.mirror.gitdir, "rev-parse", f"{commit}^{{tree}}")


async def test_functions_need_no_lock(estate, grow):
    """The judging of a commit merges again, while its mirror may be in use."""
    ours = grow(estate.base, {"src/a.py": "A = 10\n"})
    async with estate.mirror.lock():
        tree, paths = await merge(estate.mirror, ours, estate.base)
        assert (tree, paths) == (await tree_of(estate, ours), [])
        assert await overlay(estate.mirror, estate.base, ours, ["src/a.py"]) == tree
