"""What must not be committed is refused, with words for people."""

import pytest

from agents.errors import RunError
from agents.policy import Policy
from app.git.objects import TreeChange
from app.git.worktree.change_limits import ChangeLimits, require_harmless

ZERO = "0" * 40


class FewObjects:
    """The changes and the blobs of one test."""

    def __init__(self, *changes, blobs=None, altered=(), links=None, before=None):
        self._links = links or {}
        self._links_before = before or {}
        self._changes = list(changes)
        self._blobs = blobs or {}
        self._altered = list(altered)

    async def changes(self, old, new):
        return self._changes

    async def list_changed_paths(self, old, new):
        assert (old, new) == ("approved", "n")
        return self._altered

    async def links(self, tree):
        here = self._links if tree == "n" else self._links_before
        self._blobs |= {f"{tree}:{path}": target.encode() for path, target in here.items()}
        return {path: f"{tree}:{path}" for path in here}

    async def sizes(self, oids):
        return [len(self._blobs.get(oid, b"x")) for oid in oids]

    async def blob(self, oid):
        return self._blobs[oid]


def make_addition(path, mode="100644"):
    return TreeChange("000000", mode, "1" * 40, path)


async def judge(objects, policy=None, permitted=None, **limits):
    bounds = ChangeLimits(**limits)
    await require_harmless(objects, policy or Policy(), "o", "n", bounds, permitted=permitted)


@pytest.mark.parametrize(
    "path",
    [
        ".github/workflows/ci.yml",
        ".GitHub/Workflows/ci.yml",
        ".github/workf\u200clows/ci.yml",
        ".github/actions/x/action.yml",
        ".github/fettle.yml",
        "CODEOWNERS",
        "docs/CODEOWNERS",
        ".github/codeowners",
        ".gitmodules",
        "AGENTS.md",
        "sub/CLAUDE.md",
        ".cursor/rules",
        ".mcp.json",
        ".claude/settings.json",
    ],
)
async def test_protected_paths(path):
    with pytest.raises(RunError, match="protects"):
        await judge(FewObjects(make_addition(path)))
    with pytest.raises(RunError, match="protects"):
        await judge(FewObjects(TreeChange("100644", "000000", ZERO, path)))


async def test_what_people_said_yes_to_and_nothing_beside_it():
    yes = {"docs/CODEOWNERS": "approved"}
    await judge(FewObjects(make_addition("docs/CODEOWNERS"), altered=["other.py"]), permitted=yes)
    with pytest.raises(RunError, match="nobody approved the file as it is now"):
        await judge(
            FewObjects(make_addition("docs/CODEOWNERS"), altered=["docs/CODEOWNERS"]), permitted=yes
        )
    for path in ("CODEOWNERS", "docs/codeowners", "docs/CODEOWNERS/CODEOWNERS"):
        with pytest.raises(RunError, match="protects"):
            await judge(FewObjects(make_addition(path)), permitted=yes)
    with pytest.raises(RunError, match="which git itself"):
        await judge(FewObjects(make_addition(".git/config")), permitted={".git/config": "approved"})


@pytest.mark.parametrize(
    "path", [".github/workflows/ci.yml", ".GitHub/Workflows/ci.yml", ".github/fettle.yml"]
)
async def test_no_yes_opens_workflows_and_policy(path):
    for listed in ((), (path,), ("db/**",)):
        with pytest.raises(RunError, match=r"no policy and no approval opens"):
            await judge(
                FewObjects(make_addition(path)),
                Policy(protected_paths=listed),
                permitted={path: "approved"},
            )


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        "sub/.git/hooks/x",
        ".GIT/config",
        ".g\u200cit/config",
        "a/.Git",
        "git~1/config",
        "GIT~1",
        ".git./x",
        ".git /x",
        ".git::$INDEX_ALLOCATION/x",
        "a\\.git\\config",
    ],
)
async def test_names_like_git(path):
    with pytest.raises(RunError, match="git itself would act on"):
        await judge(FewObjects(make_addition(path)))


@pytest.mark.parametrize(
    "path", [".gitignore", ".gitattributes", "git/x", "digit", ".github/x.yml"]
)
async def test_names_that_only_look_alike_pass(path):
    await judge(FewObjects(make_addition(path)))


@pytest.mark.parametrize(
    "target",
    [
        "/etc/passwd",
        "../..",
        "../../x",
        "a/../../../x",
        "../.git/config",
        "../.GIT",
        "",
        "x" * 5000,
    ],
)
async def test_links_that_leave(target):
    objects = FewObjects(make_addition("dir/link", "120000"), links={"dir/link": target})
    with pytest.raises(RunError, match="leaves the repository"):
        await judge(objects)


@pytest.mark.parametrize("target", ["a.py", "../src/a.py", "./x", "..", "deep/er"])
async def test_links_that_stay(target):
    await judge(FewObjects(make_addition("dir/link", "120000"), links={"dir/link": target}))


@pytest.mark.parametrize(
    ("links", "before"),
    [
        ({"a": "deep/er", "b": "a/../../../x"}, {}),
        ({"up": ".", "b": "up/../x"}, {}),
        ({"a/up": "..", "b": "a/up/../x"}, {}),
        ({"UP": ".", "b": "up/../x"}, {}),
        ({"a": "b", "b": "c", "c": "/etc"}, {}),
        ({"d": ".", "old": "d/../x"}, {"old": "d/../x"}),
        ({"g": ".", "b": "g/.git/hooks"}, {}),
    ],
    ids=["folder", "root", "parent", "case", "chain", "old link by a new one", "git"],
)
async def test_links_that_leave_by_way_of_links(links, before):
    objects = FewObjects(make_addition("b", "120000"), links=links, before=before)
    with pytest.raises(RunError, match="leaves the repository"):
        await judge(objects)


@pytest.mark.parametrize(
    "links",
    [{"a/b": "..", "c": "a/b/x"}, {"a": "b", "b": "a"}, {"a": "b/c/../..", "b": "d"}],
)
async def test_links_by_way_of_links_that_stay(links):
    await judge(FewObjects(make_addition("c", "120000"), links=links))


async def test_a_link_that_always_left_is_its_owners_affair():
    stays = {"old": "/usr/share/dict", "c": "a.py"}
    await judge(FewObjects(make_addition("c", "120000"), links=stays, before={"old": stays["old"]}))
    with pytest.raises(RunError, match="`old` to"):
        await judge(FewObjects(make_addition("c", "120000"), links=stays, before={"old": "/usr"}))


async def test_nested_repositories():
    for change in (make_addition("lib", "160000"), TreeChange("160000", "000000", ZERO, "lib")):
        with pytest.raises(RunError, match="submodules"):
            await judge(FewObjects(change))


async def test_odd_modes():
    with pytest.raises(RunError, match="mode 100664"):
        await judge(FewObjects(make_addition("x", "100664")))


async def test_limits():
    with pytest.raises(RunError, match="2 files"):
        await judge(FewObjects(make_addition("a"), make_addition("b")), files=1)
    big = FewObjects(make_addition("a"), blobs={"1" * 40: b"xx"})
    with pytest.raises(RunError, match="`a` has"):
        await judge(big, file_size=1)
    with pytest.raises(RunError, match="together"):
        await judge(big, total_size=1)


async def test_deletions_and_ordinary_changes_pass():
    await judge(
        FewObjects(TreeChange("100644", "000000", ZERO, "gone"), make_addition("x", "100755"))
    )
