"""A change that touches what decides the set-up is checked in a set-up of its own."""

import pytest

from agents.pipelines.stages.quality import check_quality, measure_base
from agents.policy import Policy
from agents.ports import SetupCommand, SetupResult
from agents.tools.gate.grant import PlanGrant

SETUP = SetupResult(source="found in the repository's files")
BROKEN = SetupResult(
    source="found in the repository's files",
    commands=(SetupCommand(command="pip install -r x", exit_code=1, seconds=1, output="no"),),
    problems=("`pip install -r x` ended with exit code 1. It says: No matching distribution.",),
)
REFUSED = SetupResult(source="found", refused=("`npm ci` ended with exit code 1. So `npm i` was.",))
FILES = {
    ".github/fettle.yml": "quality: [{name: tests, run: make test}]\nsetup: {second_look: false}\n",
    "requirements.txt": "attrs\n",
    "test_it.py": "def test(): pass\n",
}


@pytest.fixture
def changed(make_world, request_):
    """Run the checks before a change of these files and with it; `installed`: what comes of it."""

    async def change(files, *, installed=None, base=FILES, setup=SETUP, approvals=None, **standing):
        seen = []
        world = make_world(base, (), commands={}, approvals=approvals)
        world.source.own_installed = installed
        run = world.run(request_)
        at = dict.fromkeys(("base", "trunk", "start", "head"), world.base)
        run.context.standing = run.context.standing.model_copy(update=standing | at)

        def test(_files):
            seen.append(world.source.opened[-1].set_up_for)
            return 0, "2 passed in 0.1s"

        world.commands["make test"] = test
        world.source.opened.clear()
        world.source.installed = setup
        await world.source.set_up(world.base, Policy())
        baseline = await measure_base.work(run.context, setup)
        tree = world.history.tree({k: v for k, v in (base | files).items() if v is not None})
        head = world.history.commit(tree, world.base, "change")
        run.context.update_state(head=head)
        quality = await run.stage(check_quality, baseline)
        return quality, ["base" if each == world.base else "head" for each in seen], world

    return change


async def test_checks_of_a_change_that_touches_no_manifest_have_what_was_there(changed):
    quality, seen, world = await changed({"calc.py": "x = 1\n"})

    assert (quality.verdict, seen, world.source.own_set_ups) == (
        "no worse",
        ["base", "base"],
        [],
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("requirements.txt", "attrs>=2\n"),
        ("requirements.txt", None),
        ("package.json", "{}"),
        (".python-version", "3.12\n"),
        ("go.mod", ""),
    ],
)
async def test_checks_of_a_change_that_touches_one_have_what_it_asks_for(changed, path, text):
    quality, seen, world = await changed({path: text})

    assert (quality.verdict, seen) == ("no worse", ["base", "head"])
    assert world.source.own_set_ups == [quality.commit]
    assert quality.own_setup.files == (path,)


@pytest.mark.parametrize("installed", [BROKEN, REFUSED])
async def test_what_cannot_be_installed_as_the_change_asks_for_it_leaves_the_verdict_open(
    changed, installed
):
    quality, _, _ = await changed({"requirements.txt": "attrs>=99\n"}, installed=installed)

    assert quality.verdict == "unknown"
    [reason] = quality.untold
    assert reason.startswith("set up with the change: ")
    assert "ended with exit code 1" in reason


async def test_what_could_not_be_installed_before_either_is_not_held_against_the_change(changed):
    other = BROKEN.problems[0].replace("No matching distribution", "timed out")
    setup = SETUP.model_copy(update={"problems": (other,)})
    quality, _, _ = await changed({"go.mod": ""}, installed=BROKEN, setup=setup)

    assert quality.verdict == "no worse", "the policy named the checks, and they ran"


async def test_compiled_sources_are_compiled_anew_where_the_set_up_compiles_them(changed):
    setup = SETUP.model_copy(update={"compiled": True})
    for compiled, expected in ((True, "head"), (False, "base")):
        made = setup if compiled else SETUP
        quality, seen, _ = await changed({"fast.c": "int x;\n"}, setup=made)
        assert quality.verdict == "no worse"
        assert seen == ["base", expected]


async def test_a_new_package_is_not_installed_where_the_policy_wants_none(changed):
    policy = FILES[".github/fettle.yml"] + "approvals: {dependencies: refuse}\n"
    base = FILES | {".github/fettle.yml": policy}
    quality, seen, world = await changed({"requirements.txt": "attrs\nleft-pad\n"}, base=base)

    assert seen == ["base", "base"]
    assert not world.source.own_set_ups
    [reason] = quality.untold
    assert "`left-pad`" in reason
    assert "`approvals.dependencies`" in reason
    moved, seen, _ = await changed({"requirements.txt": "attrs>=2\n"}, base=base)
    assert (moved.verdict, seen) == ("no worse", ["base", "head"]), "it is no new one"


YES, NO = {"state": "approved", "decided_by": "mara"}, {"state": "denied", "decided_by": "mara"}
NEW = {"requirements.txt": "attrs\nleft-pad\n"}


async def test_a_new_package_takes_a_yes(changed, talk):
    for answer, verdict, expected in ((YES, "no worse", "head"), (NO, "unknown", "base")):
        people = talk.Approvals([answer])
        quality, seen, _ = await changed(NEW, approvals=people)
        [asking] = people.askings
        assert asking.rule == "dependency/new"
        assert asking.arguments == {"install": ["left-pad"], "named in": ["requirements.txt"]}
        assert (quality.verdict, seen) == (verdict, ["base", expected])
    assert "because mara said no" in quality.untold[0]

    nobody, seen, _ = await changed(NEW)
    assert seen == ["base", "base"]
    assert "because nobody could be asked" in nobody.untold[0]


async def test_what_people_agreed_to_is_not_asked_for_again(changed, talk):
    for known in (
        {"grant": PlanGrant(run="0006-run", packages=("pip:left-pad",))},
        {"packages": {"left-pad": "approved"}},
    ):
        quality, seen, _ = await changed(NEW, approvals=talk.Approvals(), **known)
        assert (quality.verdict, seen) == ("no worse", ["base", "head"])


async def test_of_other_manifests_what_names_a_package_is_asked_for(changed, talk):
    base = FILES | {"Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\n'}
    serde = base["Cargo.toml"] + '[dependencies]\nserde = "1"\n'
    people = talk.Approvals([YES])
    await changed({"Cargo.toml": serde}, base=base, approvals=people)
    assert people.askings[0].arguments["install"] == ["serde"]

    moved = base["Cargo.toml"].replace('"0.1.0"', '"0.2.0"\ndescription = "Another summary"')
    quality, seen, _ = await changed({"Cargo.toml": moved}, base=base)
    assert (quality.verdict, seen) == ("no worse", ["base", "head"])


async def test_of_manifests_that_nobody_reads_each_new_word_is_asked_for(changed, talk):
    more = "gradle/more.gradle"
    base = FILES | {"build.gradle": "version = '0.1.0'\n", more: ""}
    people = talk.Approvals([YES])
    await changed({more: "other 'one'\n"}, base=base, approvals=people)
    assert people.askings[0].arguments["install"] == ["other", "one"]


async def test_plugins_that_are_scripts_of_the_repositorys_own_builds_take_no_yes(changed, talk):
    own = "build-logic/src/main/kotlin/acme.base.gradle.kts"
    base = FILES | {"build.gradle.kts": "plugins {\n}\n", own: "", "acme.other.gradle.kts": ""}
    wanted = {"build.gradle.kts": 'plugins {\n  id("acme.base")\n}\n'}
    quality, seen, _ = await changed(wanted, base=base)
    assert (quality.verdict, seen) == ("no worse", ["base", "head"])

    people = talk.Approvals([YES])
    other = {"build.gradle.kts": 'plugins {\n  id("acme.base")\n  id("acme.other")\n}\n'}
    await changed(other, base=base, approvals=people)
    assert people.askings[0].arguments["install"] == ["acme.other"]
