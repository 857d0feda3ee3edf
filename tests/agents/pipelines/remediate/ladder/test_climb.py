"""The ladder on a made-up index: which rung, why not a cheaper one, and nothing left behind."""

import json

import pytest

from agents.errors import ToolError
from agents.pipelines.remediate.ladder import NPM, Accepted, Fix, Level, Refusal, climb
from tests.agents.pipelines.remediate.ladder.conftest import (
    TERMS,
    MadeUpEcosystem,
    group,
    lay_index,
)

RELEASES = {
    "jinja2": ["3.1.3", "3.1.4", "3.1.5", "4.0.0"],
    "flask": ["3.0.3", "3.0.4", "3.1.0", "3.2.0", "4.0.0"],
    "app": ["1.0", "1.1"],
    "bystander": ["1.0", "2.0"],
}
OLD = ["3.1.3"]
ANY = ["3.1.3", "3.1.4", "3.1.5"]
ALERTS = group("jinja2", "< 3.1.4")


def versions(tree):
    return json.loads((tree.folder / "lock.json").read_text())["versions"]


async def climb_from(tree, ecosystem, *, alerts=ALERTS, **terms):
    """Climb; whatever comes of it, a refusal must leave nothing behind."""
    before = await tree.snapshot()
    result = await climb(tree, ecosystem, alerts, TERMS.model_copy(update=terms))
    after = await tree.snapshot()
    if isinstance(result, Refusal):
        assert after == before
    else:
        assert after == result.tree
    return result


async def test_the_lock_file_alone_is_moved_where_that_is_enough(tree):
    lay_index(tree, {"flask": "3.0.3", "jinja2": "3.1.3"}, {"flask": ["3.0.3"]})
    ecosystem = MadeUpEcosystem(RELEASES, {("flask", "3.0.3"): {"jinja2": ANY}})

    fix = await climb_from(tree, ecosystem)

    assert (fix.level, fix.files) == (Level.FLOAT, ("lock.json",))
    assert versions(tree) == {"flask": "3.0.3", "jinja2": "3.1.4"}
    assert [(t.old, t.new) for t in fix.targets] == [("3.1.3", "3.1.4")]
    assert [s.level for s in fix.steps] == [Level.FLOAT]


async def test_a_pin_of_the_repository_is_moved_next(tree):
    lay_index(tree, {"jinja2": "3.1.3"}, {"jinja2": OLD})

    fix = await climb_from(tree, MadeUpEcosystem(RELEASES))

    assert (fix.level, fix.files) == (Level.BUMP, ("lock.json", "wants.json"))
    assert [s.done for s in fix.steps] == [False, True]
    assert fix.steps[0].why == "`wants.json` pins jinja2 to 3.1.3, which is vulnerable itself."


async def test_then_its_upper_bound(tree):
    lay_index(tree, {"jinja2": "3.1.3"}, {"jinja2": ["3.1.2", "3.1.3"]})

    fix = await climb_from(tree, MadeUpEcosystem(RELEASES))

    assert fix.level is Level.WIDEN
    assert "bound" in fix.steps[1].why


async def test_then_the_smallest_release_of_a_parent_that_admits_it(tree):
    lay_index(tree, {"flask": "3.0.3", "jinja2": "3.1.3"}, {"flask": ["3.0.3"]})
    needs = {
        **{("flask", v): {"jinja2": OLD} for v in ("3.0.3", "3.0.4")},
        **{("flask", v): {"jinja2": ANY} for v in ("3.1.0", "3.2.0", "4.0.0")},
    }

    fix = await climb_from(tree, MadeUpEcosystem(RELEASES, needs))

    assert fix.level is Level.PARENT
    assert versions(tree) == {"flask": "3.1.0", "jinja2": "3.1.4"}
    assert [(m.name, m.forced) for m in fix.moves] == [("jinja2", False), ("flask", False)]
    assert "3.1.0" in fix.steps[-1].why


async def test_only_the_parent_that_is_in_the_way_moves(tree):
    lay_index(tree, {"flask": "3.0.3", "app": "1.0", "jinja2": "3.1.3"}, {})
    needs = {
        ("flask", "3.0.3"): {"jinja2": OLD}, ("flask", "3.2.0"): {"jinja2": ANY},
        **{("app", v): {"jinja2": ANY} for v in RELEASES["app"]},
    }  # fmt: skip
    releases = {**RELEASES, "flask": ["3.0.3", "3.2.0"]}

    fix = await climb_from(tree, MadeUpEcosystem(releases, needs))

    assert versions(tree) == {"flask": "3.2.0", "app": "1.0", "jinja2": "3.1.4"}
    assert fix.level is Level.PARENT


class InformedEcosystem(MadeUpEcosystem):
    """Its index says what each release asks for; `says` are the words of it that are not true."""

    says = ()

    async def list_admitting(self, tree, parent, package, version):
        every = self.releases[parent]
        admitting = [v for v in every if version in self.needs[parent, v].get(package, [version])]
        return [*admitting, *self.says]


@pytest.mark.parametrize("says", [(), ("3.0.4",)])
async def test_what_releases_say_of_themselves_is_tried_first_and_believed_in_nothing(tree, says):
    lay_index(tree, {"flask": "3.0.3", "jinja2": "3.1.3"}, {"flask": ["3.0.3"]})
    needs = {("flask", v): {"jinja2": OLD} for v in ("3.0.3", "3.0.4", "3.1.0")}
    needs |= {("flask", v): {"jinja2": ANY} for v in ("3.2.0", "4.0.0")}
    ecosystem = InformedEcosystem(RELEASES, needs)
    ecosystem.says = says

    fix = await climb_from(tree, ecosystem, majors=True)

    assert fix.level is Level.PARENT
    assert versions(tree) == {"flask": "3.2.0", "jinja2": "3.1.4"}
    once = 2  # for the lock file alone, and for the release that says of itself that it will do
    assert (ecosystem.resolved == once) is not bool(says)


@pytest.mark.parametrize("permitted", [False, True])
async def test_an_override_needs_permission_and_says_why_and_until_when(tree, permitted):
    lay_index(tree, {"flask": "3.0.3", "jinja2": "3.1.3"}, {"flask": ["3.0.3"]})
    ecosystem = MadeUpEcosystem(
        {**RELEASES, "flask": ["3.0.3"]}, {("flask", "3.0.3"): {"jinja2": OLD}}
    )

    result = await climb_from(tree, ecosystem, overrides=permitted)

    if not permitted:
        assert (result.cause, len(result.steps)) == ("no_rung", 5)
        assert "policy" in result.steps[-1].why
        return
    assert result.level is Level.OVERRIDE
    reason = json.loads((tree.folder / "lock.json").read_text())["over"]["jinja2"]
    assert reason.startswith("GHSA-aaaa-bbbb-ccc2: ")
    assert reason.endswith("2027-02-18")


async def test_the_search_among_parents_ends(tree):
    lay_index(tree, {"flask": "1.0", "jinja2": "3.1.3"}, {})
    many = ["1.0", *(f"1.{n}" for n in range(1, 60))]
    needs = {("flask", v): {"jinja2": OLD if v != "1.59" else ANY} for v in many}

    result = await climb_from(tree, MadeUpEcosystem({**RELEASES, "flask": many}, needs), tries=3)

    assert isinstance(result, Refusal)
    assert "3 tries" in result.steps[3].why


async def test_majors_need_permission(tree):
    lay_index(tree, {"jinja2": "3.1.3"}, {})
    alerts = group("jinja2", "< 4.0.0")

    refusal = await climb_from(tree, MadeUpEcosystem(RELEASES), alerts=alerts)
    fix = await climb_from(tree, MadeUpEcosystem(RELEASES), alerts=alerts, majors=True)

    assert refusal.cause == "no_release"
    assert "4.0.0 is of another" in refusal.reason
    assert versions(tree) == {"jinja2": "4.0.0"}
    assert fix.moves[0].delta == "major"


async def test_what_was_yanked_is_passed_over(tree):
    lay_index(tree, {"jinja2": "3.1.3"}, {})

    await climb_from(tree, MadeUpEcosystem(RELEASES, yanked=(("jinja2", "3.1.4"),)))

    assert versions(tree) == {"jinja2": "3.1.5"}


async def test_all_open_alerts_count(tree):
    lay_index(tree, {"jinja2": "3.1.3"}, {})

    await climb_from(tree, MadeUpEcosystem(RELEASES), alerts=group("jinja2", "< 3.1.4", "= 3.1.4"))

    assert versions(tree) == {"jinja2": "3.1.5"}


@pytest.mark.parametrize("locked", [{"flask": "3.0.3"}, {"jinja2": "3.1.5"}])
async def test_nothing_is_done_where_nothing_is_vulnerable(tree, locked):
    lay_index(tree, locked, {})
    ecosystem = MadeUpEcosystem(RELEASES)

    result = await climb_from(tree, ecosystem)

    assert result.cause == "nothing_to_do"
    assert ecosystem.resolved == 0


def move_source(files):
    files["lock.json"]["source"] = {"jinja2": "evil.example"}


def remove_hashes(files):
    files["lock.json"]["hashes"] = {"jinja2": []}


def swap_hash(files):
    files["lock.json"]["hashes"] = {"bystander": ["sha256:other"]}


def downgrade(files):
    files["lock.json"]["versions"]["bystander"] = "0.9"


def major(files):
    files["lock.json"]["versions"]["bystander"] = "2.0"


def crowd(files):
    files["lock.json"]["versions"] |= {f"new{n}": "1.0" for n in range(13)}


def source_code(files):
    files["shop.py"] = "import os"


def no_number(files):
    files["lock.json"]["versions"]["jinja2"] = "latest"


@pytest.mark.parametrize(
    ("sabotage", "words"),
    [
        (move_source, "evil.example"),
        (remove_hashes, "no hash"),
        (swap_hash, "hashes of bystander"),
        (downgrade, "older version"), (major, "another major"), (crowd, "13 other packages"),
        (source_code, "shop.py"), (no_number, "still in a vulnerable range"),
    ],
)  # fmt: skip
async def test_nothing_that_a_resolver_did_is_believed(tree, sabotage, words):
    lay_index(tree, {"jinja2": "3.1.3", "bystander": "1.0"}, {})

    result = await climb_from(tree, MadeUpEcosystem(RELEASES, sabotage=sabotage))

    assert isinstance(result, Refusal), result
    assert words in result.steps[0].why


async def test_what_moves_without_being_named_is_listed(tree):
    lay_index(tree, {"jinja2": "3.1.3", "bystander": "1.0"}, {})

    def move_bystander(files):
        files["lock.json"]["versions"]["bystander"] = "1.5"

    fix = await climb_from(tree, MadeUpEcosystem(RELEASES, sabotage=move_bystander))

    assert [m.name for m in fix.forced] == ["bystander"]
    assert any("bystander" in line for line in fix.evidence)


async def test_files_that_a_proof_leaves_behind_are_no_part_of_the_fix(tree):
    lay_index(tree, {"jinja2": "3.1.3"}, {})

    class Messy(MadeUpEcosystem):
        async def verify_lock(self, tree, before, after):
            await tree.write("left.txt", b"x")
            return Accepted(commands=("index check",), notes=("a note",))

    fix = await climb_from(tree, Messy(RELEASES))

    assert isinstance(fix, Fix)
    assert fix.notes == ("a note",)
    assert not (tree.folder / "left.txt").exists()


async def test_an_outage_is_not_called_a_refusal(tree):
    lay_index(tree, {"jinja2": "3.1.3"}, {})

    class BrokenEcosystem(MadeUpEcosystem):
        async def relock(self, tree, pins, free=()):
            raise ToolError("the disk is full")

    with pytest.raises(ToolError):
        await climb(tree, BrokenEcosystem(RELEASES), ALERTS, TERMS)


async def test_reverse_paths_end_where_packages_need_each_other(tree):
    lay_index(tree, {"jinja2": "3.1.3", "flask": "3.0.3", "app": "1.0"}, {"app": ["1.0"]})
    needs = {
        ("app", "1.0"): {"flask": ["3.0.3"]}, ("flask", "3.0.3"): {"jinja2": ANY},
        ("jinja2", "3.1.3"): {"flask": ["3.0.3"]},
    }  # fmt: skip

    [copy] = (await MadeUpEcosystem(RELEASES, needs).read(tree)).copies("jinja2")

    assert copy.paths == (("app", "flask", "jinja2"),)
    assert copy.parents == ("flask",)


def test_npm_versions_are_ordered_as_npm_does():
    assert NPM.order(["1.10.0", "1.9.0", "x"])[-2:] == ["1.9.0", "1.10.0"]
