"""Yarn's resolutions: what is written for whom, what is refused, and how lock files are read."""

import json
import re

import pytest

from agents.pipelines.remediate.ladder import Locked, Own, Stuck, Target, Unfit
from agents.pipelines.remediate.ladder.npm.aim import Aim
from agents.pipelines.remediate.ladder.npm.manifest import overridden_package
from agents.pipelines.remediate.ladder.yarn import classic_lock, lock, override_entries
from agents.pipelines.remediate.ladder.yarn.adapter import Yarn
from agents.pipelines.remediate.ladder.yarn.resolutions import list_resolutions

TARGETS = [
    Target(name="evil", old="1.0.0", new="1.0.1"),
    Target(name="evil", old="2.0.0", new="2.1.0"),
]
REASON = "GHSA-aaaa-bbbb-cccc: overrules other packages; look at it again by 2027-02-18"


def entry(descriptors, version, **asks):
    name = descriptors.split("@")[0]
    return {"version": version, "resolution": f"{name}@npm:{version}", "dependencies": asks}


def read(entries, manifest=None):
    resolutions = list_resolutions(manifest or {}, "package.json")
    return Locked(entries=lock.entries_of(entries, "yarn.lock", resolutions))


def plan(entries):
    return override_entries.plan_entries(entries, read(entries), Aim.from_targets(TARGETS))


def test_each_range_is_written_as_those_write_it_who_ask_and_what_admits_the_fix_is_not():
    entries = {
        "__metadata": {"version": "6"},
        "a@npm:1": entry("a", "1.0.0", evil="1.0.0"),
        "b@npm:1": entry("b", "1.0.0", evil="npm:1.0.0", other="1.0.0"),
        "c@npm:1": entry("c", "1.0.0", evil=">=2.0.0 <2.0.5"),
        "d@npm:1": entry("d", "1.0.0", evil="^1.0.0"),
        "evil@npm:1.0.0, evil@npm:^1.0.0": entry("evil", "1.0.0"),
        "evil@npm:>=2.0.0 <2.0.5": entry("evil", "2.0.0"),
        "evil@npm:^3.0.0": entry("evil", "3.0.0"),
    }
    assert plan(entries) == {
        "evil@1.0.0": "^1.0.1",
        "evil@npm:1.0.0": "^1.0.1",
        "evil@>=2.0.0 <2.0.5": "^2.1.0",
    }


@pytest.mark.parametrize(
    "descriptor",
    [
        "evil@npm:1.0.0/left",
        "evil@npm:1.0.0@npm:1.0.0/left",
        "evil@npm:../../left",
        "wolf@npm:evil@1.0.0",
        "evil@patch:evil@npm%3A1.0.0#~builtin<x>",
    ],
)
def test_a_range_that_would_mean_another_package_is_not_overruled(descriptor):
    """A lock file could have Fettle overrule whatever it likes."""
    entries = {descriptor: entry("evil", "1.0.0")}
    with pytest.raises(Stuck, match=r"cannot be written in Yarn's `resolutions`"):
        plan(entries)


def test_what_admits_the_fix_needs_no_override():
    with pytest.raises(Stuck, match="nothing to overrule"):
        plan({"evil@npm:^1.0.0": entry("evil", "1.0.0")})


CLASSIC = """\
evil@1.0.0, evil@^1.0.0:
  version "1.0.0"

evil@^2.0.0:
  version "2.5.0"

"{parent}@1":
  version "1.0.0"
  dependencies:
    evil "1.0.0"

"{other}@2":
  version "2.0.0"
  dependencies:
    evil "{asks}"
"""


def plan_classic(text, *own, **workspaces):
    blocks = classic_lock.read_blocks(text, "yarn.lock")
    aim = Aim.from_targets(TARGETS)
    return override_entries.plan_classic_entries(blocks, own, aim, workspaces)


@pytest.mark.parametrize(
    ("other", "asks", "wanted"),
    [
        ("b", "^2.0.0", ["**/a/evil"]),
        ("b", "1.0.0", ["**/a/evil", "**/b/evil"]),
        ("@x/b", "1.0.0", ["**/a/evil", "**/@x/b/evil"]),
        ("a", "^1.0.0", ["**/a/evil"]),
        ("b", "^1.0.0", ["**/a/evil"]),
    ],
)
def test_yarn_1_overrules_what_those_ask_for_who_need_a_vulnerable_copy(other, asks, wanted):
    text = CLASSIC.format(parent="a", other=other, asks=asks)
    assert plan_classic(text) == dict.fromkeys(wanted, "^1.0.1")


def test_yarn_1_knows_a_parent_by_the_name_that_it_is_installed_under():
    assert plan_classic(CLASSIC.format(parent="mine@npm:a", other="b", asks="^2.0.0")) == {
        "**/mine/evil": "^1.0.1"
    }


@pytest.mark.parametrize(("name", "said"), [("part", ["**/a/evil", "**/part/evil"]), ("*", None)])
def test_yarn_1_overrules_what_a_workspace_asks_for(name, said):
    text = CLASSIC.format(parent="a", other="b", asks="^2.0.0")
    own = Own(name="evil", spec="1.0.0", file="part")
    if said is None:
        with pytest.raises(Stuck, match=r"`\*/evil` leads to a vulnerable copy"):
            plan_classic(text, own, part=name)
    else:
        assert plan_classic(text, own, part=name) == dict.fromkeys(said, "^1.0.1")


@pytest.mark.parametrize(
    ("parent", "other", "asks", "own", "why"),
    [
        ("a", "a", "^2.0.0", [], "overrules what a asks for in all of its releases"),
        ("a", "@x/a", "^2.0.0", [], "overrules what a asks for in all of its releases"),
        ("*", "b", "^2.0.0", [], "`*/evil` leads to a vulnerable copy"),
        ("(a|b)", "b", "^2.0.0", [], "`(a|b)/evil` leads to a vulnerable copy"),
        ("a", "b", "^2.0.0", ["1.0.0"], "`package.json` asks for evil `1.0.0`"),
    ],
)
def test_what_yarn_1_cannot_overrule_alone_is_left_with_a_reason(parent, other, asks, own, why):
    asked = [Own(name="evil", spec=spec, file="package.json") for spec in own]
    with pytest.raises(Stuck, match=re.escape(why)):
        plan_classic(CLASSIC.format(parent=parent, other=other, asks=asks), *asked)


def test_another_name_of_the_package_is_not_overruled_by_yarn_1():
    text = CLASSIC.format(parent="a", other="b", asks="^2.0.0")
    with pytest.raises(Stuck, match=r"`wolf@npm:evil@1\.0\.0` leads to a vulnerable copy"):
        plan_classic(text.replace("evil@1.0.0, ", '"wolf@npm:evil@1.0.0", '))


@pytest.mark.parametrize(
    ("resolutions", "parents"),
    [
        ({"evil@npm:^1.0.0": "1.0.1"}, {"1.0.1": {"a", "b"}}),
        ({"evil@^1.0.0": "npm:1.0.1"}, {"1.0.1": {"a", "b"}}),
        ({"a/evil": "1.0.1", "evil": "2.1.0"}, {"1.0.1": {"a"}, "2.1.0": {"b"}}),
        ({"a@npm:1.0.0/evil@^1.0.0": "1.0.1"}, {"1.0.1": {"a"}, "1.0.0": {"b"}}),
        ({"a@npm:2.0.0/evil": "1.0.1", "x/evil": "2.1.0"}, {"1.0.0": {"a", "b"}}),
        ({"evil": "7.0.0"}, {"1.0.0": {"a", "b"}}),  # not locked yet
        ({"evil": 7, "a//evil": "1", "": "1", "@": "1", "**/evil": "1.0.1"}, {"1.0.0": {"a", "b"}}),
        (["evil"], {"1.0.0": {"a", "b"}}),
        ("evil", {"1.0.0": {"a", "b"}}),
    ],
)
def test_who_needs_whom_follows_the_resolutions(resolutions, parents):
    entries = {
        "a@npm:1": entry("a", "1.0.0", evil="npm:^1.0.0"),
        "b@npm:1": entry("b", "1.0.0", evil="npm:^1.0.0"),
        "evil@npm:^1.0.0": entry("evil", "1.0.0"),
        "evil@npm:1.0.1": entry("evil", "1.0.1"),
        "evil@npm:2.1.0": entry("evil", "2.1.0"),
    }
    locked = read(entries, {"resolutions": resolutions})
    found = {copy.version: set(copy.parents) for copy in locked.copies("evil") if copy.parents}
    assert found == parents
    assert locked.entries[0].asks == {"evil": "^1.0.0"}, "which is said where it is needed still"


def test_more_resolutions_than_anybody_has_are_refused():
    with pytest.raises(Unfit, match="more than 500 resolutions"):
        list_resolutions({"resolutions": {f"a{n}": "1" for n in range(501)}}, "package.json")


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("evil@npm:1.0.0", "evil"),
        ("evil@npm:>1.0.0", "evil"),
        ("evil@1||>2", "evil"),
        ("@a/evil@npm:^1", "@a/evil"),
        ("b@1/evil", "evil"),
        ("@x/b@npm:1/@a/evil@2", "@a/evil"),
        ("**/b/@a/evil", "@a/evil"),
        ("b@1>evil@2", "evil"),
        ("evil@https://index.example/left", "evil"),
        ("/", "/"),
        ("", ""),
    ],
)
def test_which_package_a_key_is_about(key, name):
    assert overridden_package(key) == name


def test_a_new_range_leads_to_the_target_that_it_admits():
    aim = Aim.from_targets(TARGETS)
    assert aim.choose_release("evil", "^1.0.1", "2.1.0") == "1.0.1"
    assert aim.choose_release("evil", "^2.1.0", "2.1.0") == "2.1.0"
    assert aim.choose_release("evil", "^1.0.0", "2.1.0") == "1.0.1"
    assert aim.choose_release("parent", "^3.0.0", "3.1.0") == "3.1.0"


LOCK = """\
__metadata:
  version: 8

"a@npm:1":
  version: 1.0.0
  resolution: "a@npm:1.0.0"
  dependencies:
    evil: "npm:1.0.0"
  linkType: hard

"evil@npm:1.0.0":
  version: 1.0.0
  resolution: "evil@npm:1.0.0"
  linkType: hard
"""
PACKAGES = [
    '{\n  "name": "shop"\n}\n',
    '{\n\t"name": "shop",\n\t"resolutions": {\n\t\t"other": "1"\n\t}\n}',
    '{"resolutions": {"evil/other": "1"}, "//overrides": {"other": "because"}}\n',
    '{\r\n  "name": "shop",\r\n  "resolutions": {\r\n    "a": "1"\r\n  }\r\n}\r\n',
]


async def override(tree, text=PACKAGES[0]):
    tree.lay({"yarn.lock": LOCK})
    (tree.folder / "package.json").write_bytes(text.encode())
    yarn = Yarn("")
    await yarn.override(tree, TARGETS, REASON)
    return yarn


@pytest.mark.parametrize("text", PACKAGES)
async def test_a_package_json_of_yarn_is_what_it_was(tree, text):
    yarn = await override(tree, text)
    there = json.loads(await tree.read("package.json"))
    assert there["resolutions"]["evil@npm:1.0.0"] == "^1.0.1"
    assert there["//overrides"]["evil@npm:1.0.0"] == REASON
    assert await yarn.has_override(tree, TARGETS, REASON)
    assert await yarn.without_override(tree, TARGETS, REASON) == []
    assert (await tree.read("package.json")).decode() == text
    assert not await yarn.has_override(tree, TARGETS, REASON)
    with pytest.raises(Stuck, match="nothing of the kind"):
        await yarn.without_override(tree, TARGETS, REASON)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"^1.0.1"', '"^1.0.2"'),
        ('"^1.0.1"', '["^1.0.1"]'),
        ('evil@npm:1.0.0": "^', 'evil@npm:^1.0.0": "^'),
        ("2027-02-18", "2028-02-18, as we need it"),
        ('"//overrides"', '"//why"'),
        ('"resolutions": {', '"resolutions": {"b/evil": "2",'),
    ],
    ids=["value", "list", "range", "reason", "moved", "another"],
)
async def test_a_resolution_that_people_have_changed_is_theirs(tree, old, new):
    yarn = await override(tree)
    text = (await tree.read("package.json")).decode()
    assert old in text
    tree.lay({"package.json": text.replace(old, new)})
    with pytest.raises(Stuck, match="theirs"):
        await yarn.without_override(tree, TARGETS, REASON)
    assert (await tree.read("package.json")).decode() == text.replace(old, new)


@pytest.mark.parametrize(
    ("there", "why"),
    [
        ("[]", "something else than an object"),
        ('"evil"', "something else than an object"),
        ("null", "something else than an object"),
        ('{"evil": "1.0.0"}', "overrides evil already"),
        ('{"**/a/evil": "1.0.0"}', "overrides evil already"),
        ('{"a@npm:1/evil@npm:>0.1": "1.0.0"}', "overrides evil already"),
    ],
)
async def test_what_people_wrote_into_resolutions_is_not_overruled(tree, there, why):
    text = f'{{"resolutions": {there}}}'
    with pytest.raises(Stuck, match=why):
        await override(tree, text)
    assert (await tree.read("package.json")).decode() == text


@pytest.mark.parametrize("there", ["[]", '"evil"', "null", "7"])
async def test_where_resolutions_are_no_object_nothing_is_there(tree, there):
    yarn = await override(tree)
    reasons = f'{{"resolutions": {there}, "//overrides": {{"left": "{REASON}"}}}}'
    tree.lay({"package.json": reasons})
    assert not await yarn.has_override(tree, TARGETS, REASON)
