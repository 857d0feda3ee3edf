"""Overrides taken out again: what was put in goes, what people wrote stays, to the byte."""

import time

import pytest

from agents.pipelines.remediate.ladder import Stuck, Target, Unfit
from agents.pipelines.remediate.ladder.npm.adapter import Npm
from agents.pipelines.remediate.ladder.npm.override_removal import without_member
from agents.pipelines.remediate.ladder.pnpm.adapter import Pnpm
from agents.pipelines.remediate.ladder.pnpm.override_removal import without_overrides
from agents.pipelines.remediate.ladder.pnpm.yaml_text import with_entries
from agents.pipelines.remediate.ladder.python.pdm import Pdm
from agents.pipelines.remediate.ladder.python.uv import Uv

REASON = "GHSA-aaaa-bbbb-cccc: overrules other packages; look at it again by 2027-02-18"
TARGETS = [
    Target(name="@a/evil", old="1.0.0", new="1.0.1"),
    Target(name="@a/evil", old="2.0.0", new="2.1.0"),
]
KEY = "@a/evil@>=1.0.0 <1.0.1"
ENTRIES = {"evil@>=1.0.0 <1.0.1": "^1.0.1"}
RELEASES = {"jinja2": "3.1.4"}

PACKAGES = [
    '{\n  "name": "shop"\n}\n',
    '{\n\t"name": "shop",\n\t"overrides": {\n\t\t"other": "1"\n\t}\n}',
    '{"name": "shop", "overrides": {"other": "1"}}\n',
    '{\r\n  "name": "shop",\r\n  "pnpm": {\r\n    "x": []\r\n  }\r\n}\r\n',
    '{\n  "//overrides": {\n    "other": "because"\n  },\n  "name": "sh\\u00f6p"\n}\n',
    '{\n  "overrides": {"a": {"evil": "9"}},\n  "overrides": {"b": "2"}\n}\n',
]  # fmt: skip


@pytest.mark.parametrize("text", PACKAGES)
async def test_a_package_json_is_what_it_was(tree, text):
    tree.lay({"package.json": text})
    npm = Npm("package-lock.json")
    assert not await npm.has_override(tree, TARGETS, REASON)
    await npm.override(tree, TARGETS, REASON)
    assert await npm.has_override(tree, TARGETS, REASON)
    assert await npm.without_override(tree, TARGETS, REASON) == []
    assert (await tree.read("package.json")).decode() == text


@pytest.mark.parametrize("text", PACKAGES)
async def test_a_package_json_of_pnpm_is_what_it_was(tree, text):
    lock = "lockfileVersion: '6.0'\nimporters:\n  .: {}\n"
    tree.lay({"package.json": text, "pnpm-lock.yaml": lock})
    pnpm = Pnpm("", workspace=False)
    await pnpm.read(tree)
    await pnpm.override(tree, TARGETS, REASON)
    assert KEY in (await tree.read("package.json")).decode()
    assert await pnpm.without_override(tree, TARGETS, REASON) == []
    assert (await tree.read("package.json")).decode() == text


async def test_what_people_added_beside_it_stays(tree):
    npm = Npm("package-lock.json")
    tree.lay({"package.json": '{\n  "name": "shop"\n}\n'})
    await npm.override(tree, TARGETS[:1], REASON)
    text = (await tree.read("package.json")).decode()
    text = text.replace('"^1.0.1"\n', '"^1.0.1",\n    "mine": "3"\n').replace('"shop"', '"store"')
    tree.lay({"package.json": text})
    await npm.without_override(tree, TARGETS[:1], REASON)
    wanted = '{\n  "name": "store",\n  "overrides": {\n    "mine": "3"\n  }\n}\n'
    assert (await tree.read("package.json")).decode() == wanted


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"^1.0.1"', '"^1.0.2"'),
        (KEY, "@a/evil@<1.0.1"),
        ("2027-02-18", "2028-02-18, as we need it"),
        ('"//overrides"', '"//why"'),
        ('"overrides": {', '"overrides": {"@a/evil": "2",'),
        (f'    "{KEY}": "^1.0.1",\n', ""),
    ],
    ids=["value", "range", "reason", "moved", "another", "half"],
)
async def test_what_people_have_changed_is_theirs(tree, old, new):
    npm = Npm("package-lock.json")
    tree.lay({"package.json": '{\n  "name": "shop"\n}\n'})
    await npm.override(tree, TARGETS, REASON)
    text = (await tree.read("package.json")).decode()
    assert old in text
    tree.lay({"package.json": text.replace(old, new)})
    with pytest.raises(Stuck, match="theirs"):
        await npm.without_override(tree, TARGETS, REASON)
    assert (await tree.read("package.json")).decode() == text.replace(old, new)


@pytest.mark.parametrize("there", ["", '"x"', "[]", "7", '{"other": "1"}'])
async def test_where_it_is_gone_nothing_is_there(tree, there):
    text = f'{{"overrides": {there}}}' if there else "{}"
    tree.lay({"package.json": text})
    npm = Npm("package-lock.json")
    assert not await npm.has_override(tree, TARGETS, REASON)
    with pytest.raises(Stuck, match="nothing of the kind"):
        await npm.without_override(tree, TARGETS, REASON)


async def test_one_that_is_written_twice_is_not_taken_out_half(tree):
    npm, entry = Npm("package-lock.json"), f'"{KEY}": "^1.0.1"'
    both = f'{{"overrides": {{{entry}, {entry}}}, "//overrides": {{"{KEY}": "{REASON}"}}}}'
    tree.lay({"package.json": both})
    with pytest.raises(Stuck, match="members of the same name"):
        await npm.without_override(tree, TARGETS[:1], REASON)
    assert (await tree.read("package.json")).decode() == both


@pytest.mark.parametrize("text", ["[" * 90_000, "[]", "{", '{"a":' * 90_000, " " * 1_100_000])
async def test_a_package_json_that_is_a_bomb_is_refused(tree, text):
    tree.lay({"package.json": text})
    with pytest.raises(Unfit):
        await Npm("package-lock.json").without_override(tree, TARGETS, REASON)


def test_a_member_goes_from_everywhere():
    text = '{ "a" : 1 , "b":{"x":[1,"}"]},"c":3}'
    assert without_member(text, ("a",)) == '{ "b":{"x":[1,"}"]},"c":3}'
    assert without_member(text, ("b", "x")) == '{ "a" : 1,"c":3}'
    assert without_member(text, ("c",)) == '{ "a" : 1 , "b":{"x":[1,"}"]}}'
    assert without_member('{"b": {"x": 1}}', ("b", "x")) == "{}"


@pytest.mark.parametrize(
    "text",
    [
        "packages:\n  - a\n",
        "packages:\n  - a\n\n# why\noverrides:\n    other: 1.0.0 # mine\n",
        "overrides:\n  other: 1\nx: 1\n",
        "",
    ],
)
def test_a_workspace_file_is_what_it_was(text):
    assert without_overrides(text, "f", ENTRIES, REASON) is None
    added = with_entries(text, "overrides", ENTRIES, REASON)
    assert without_overrides(added, "f", ENTRIES, REASON) == text


@pytest.mark.parametrize(("old", "new"), [("^1.0.1", "^1.0.2"), ("2027", "2029"), ("  # G", "  #")])
def test_a_workspace_entry_that_people_changed_is_theirs(old, new):
    added = with_entries("packages:\n  - a\n", "overrides", ENTRIES, REASON).replace(old, new)
    with pytest.raises(Stuck, match="theirs"):
        without_overrides(added, "f", ENTRIES, REASON)


async def test_a_workspace_file_that_was_made_for_it_goes_with_it(tree):
    lock = "lockfileVersion: '9.0'\nimporters:\n  .: {}\n"
    tree.lay({"package.json": '{"packageManager": "pnpm@11.0.0"}', "pnpm-lock.yaml": lock})
    tree.environment = {"PATH": "/usr/bin:/bin"}
    pnpm = Pnpm("", workspace=False)
    await pnpm.read(tree)
    await pnpm.override(tree, TARGETS, REASON)
    assert (tree.folder / "pnpm-workspace.yaml").exists()
    assert await pnpm.without_override(tree, TARGETS, REASON) == ["pnpm-workspace.yaml"]
    assert not (tree.folder / "pnpm-workspace.yaml").exists()


UV, PDM = Uv.overrides, Pdm.overrides
PROJECTS = [
    '[project]\nname = "x"\n',
    '[project]\nname = "x"',
    '[project]\nname = "x"\n\n[tool.ruff]\nline-length = 1\n\n[dependency-groups]\ndev = []\n',
    "[tool.uv]\npackage = false # no\n",
    '[tool.uv]\noverride-dependencies = ["a>=1"] # c\nx = 1\n',
    '[tool.uv]\noverride-dependencies = [\n    "a>=1",\n    "jinja2-time>=2",  # why\n]\n',
    "[tool]\nuv = {package = false}\n",
    "tool.uv.package = false\n",
    '[tool.uv.sources]\na = {path = "x"}\n',
    '[tool.uv]\r\noverride-dependencies = [\r\n  "a>=1",\r\n]\r\n',
]  # fmt: skip
PDM_PROJECTS = [
    *PROJECTS[:3],
    "[tool.pdm]\ndistribution = false # no\n",
    "[tool.pdm.resolution]\nrespect-source-order = true\n\n[tool.pdm.scripts]\nx = 'y'\n",
    '[tool.pdm.resolution.overrides]\nother = "1"\n\n[build-system]\nrequires = []\n',
    '[tool.pdm.resolution.overrides]\njinja2-time = ">=2"  # why',
    '[[tool.pdm.source]]\nname = "own"\nurl = "https://index.example"\n',
    '[tool.pdm.resolution.overrides]\r\nother = "1"\r\n',
]  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "text"), [*((UV, t) for t in PROJECTS), *((PDM, t) for t in PDM_PROJECTS)]
)
def test_a_pyproject_is_what_it_was(tool, text):
    assert not tool.is_there(text, "f", RELEASES, REASON)
    added = tool.add(text, "f", RELEASES, REASON)
    assert tool.is_there(added, "f", RELEASES, REASON)
    assert tool.remove(added, "f", RELEASES, REASON) == text


@pytest.mark.parametrize(
    ("tool", "line", "theirs"),
    [
        (UV, '    "jinja2>=3.1.4", # ', '    "b>=2", # mine\n'),
        (PDM, 'jinja2 = ">=3.1.4" # ', 'b = "2"\n'),
    ],
)
def test_a_pyproject_that_people_went_on_with_keeps_what_they_wrote(tool, line, theirs):
    added = tool.add('[project]\nname = "x"\n', "f", RELEASES, REASON)
    assert f"{line}{REASON}\n" in added
    went_on = added.replace(f"{REASON}\n", f"{REASON}\n{theirs}").replace('"x"', '"y"')
    left = tool.remove(went_on, "f", RELEASES, REASON)
    assert left == went_on.replace(f"{line}{REASON}\n", "")


@pytest.mark.parametrize(
    ("tool", "text", "old", "new"),
    [
        (UV, "[tool.uv]\nx = 1\n", ">=3.1.4", ">=3.1.5"),
        (UV, "[tool.uv]\nx = 1\n", "2027", "2029"),
        (UV, "[tool.uv]\nx = 1\n", "[\n", '[\n "Jinja2<4",\n'),
        (PDM, "[tool.pdm]\n", ">=3.1.4", "==3.1.4"),
        (PDM, "[tool.pdm]\n", "2027", "2029"),
        (PDM, "[tool.pdm]\n", "jinja2 =", "Jinja2 ="),
        (PDM, "[tool.pdm]\n", '">=3.1.4"', '["3.1.4"]'),
    ],
)
def test_an_override_in_a_pyproject_that_people_changed_is_theirs(tool, text, old, new):
    changed = tool.add(text, "f", RELEASES, REASON).replace(old, new, 1)
    with pytest.raises(Stuck, match="theirs"):
        tool.is_there(changed, "f", RELEASES, REASON)
    with pytest.raises(Stuck, match="already"):
        tool.add(changed, "f", RELEASES, REASON)


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        (UV, "tool = 1\n"),
        (UV, '[tool]\nuv = "x"\n'),
        (UV, "[tool.uv]\noverride-dependencies = 7\n"),
        (PDM, "[[tool.pdm]]\n"),
        (PDM, "[tool.pdm]\nresolution = 1\n"),
        (PDM, "[tool.pdm.resolution]\noverrides = []\n"),
        (PDM, '[tool.pdm.resolution]\noverrides = {a = "1"}\n'),
        (PDM, '[tool.pdm]\nresolution = {overrides = {a = "1"}}\n'),
    ],
)
def test_a_form_that_has_no_place_for_a_reason_is_left_as_it_is(tool, text):
    assert not tool.is_there(text, "f", RELEASES, REASON)
    with pytest.raises(Stuck, match="in a form that no entry with its reason"):
        tool.add(text, "f", RELEASES, REASON)


def test_the_same_words_in_a_text_are_not_the_entry():
    line = f'    "jinja2>=3.1.4", # {REASON}\n'
    text = f'[tool.uv]\nnote = """\n{line}"""\noverride-dependencies = ["jinja2>=3.1.4"]\n'
    assert UV.is_there(text, "f", RELEASES, REASON)  # as far as a glance tells
    with pytest.raises(Stuck, match="theirs"):
        UV.remove(text, "f", RELEASES, REASON)


@pytest.mark.parametrize("tool", [UV, PDM])
@pytest.mark.parametrize(
    "filler", ["# " + "[ ] " * 50_000, "x = [" + "[]," * 6_000 + "]", " " * 300_000]
)
def test_a_huge_pyproject_takes_no_time(tool, filler):
    text = tool.add("[tool.black]\n", "f", RELEASES, REASON) + f"\n[z]\n{filler}\n"
    begun = time.process_time()
    assert filler in tool.remove(text, "f", RELEASES, REASON)
    assert time.process_time() - begun < 20


def test_what_is_no_toml_is_refused():
    with pytest.raises(Unfit):
        UV.is_there("[[[", "f", RELEASES, REASON)
