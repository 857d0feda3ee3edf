"""What a change opens is pointed out: hosts, switches, and packages with their licences."""

from __future__ import annotations

import json

import pytest

from agents.pipelines.stages.inspect_weakening import inspect

BEFORE = {"a.py": "U = 'https://known.acme.dev'\n", "b.py": "B = 1\n"}
PROJECT = '[project]\nname = "calc"\ndependencies = [{}]\n'


@pytest.fixture
def inspected(make_world, request_):
    """Have a change inspected; return what is pointed out, and the commands that looked."""

    async def look(before, after, answer=(0, "")):
        world = make_world(before, ())
        head = world.history.commit(world.history.tree(after), world.base, "work")
        run = world.run(request_)
        stands = dict.fromkeys(("base", "trunk", "start"), world.base)
        run.context.standing = run.context.standing.model_copy(update={**stands, "head": head})
        world.source.commands = SameAnswer(answer)
        return await run.stage(inspect), world.source.commands.asked

    return look


class SameAnswer(dict):
    """Gives each command this answer."""

    def __init__(self, answer):
        super().__init__()
        self.answer, self.asked = answer, []

    def get(self, command, _default=None):
        self.asked.append(command)
        return self.answer


async def test_new_hosts_and_switches_are_named_and_known_ones_are_not(inspected):
    after = BEFORE | {
        "b.py": "get('https://known.acme.dev/x')\nget('https://new.acme.dev', verify=False)\n"
    }
    inspection, asked = await inspected(BEFORE, after)
    assert inspection.accepted
    assert inspection.title == "What the change opens"
    assert "`b.py:2`: new address on the network: `new.acme.dev`" in inspection.section
    assert "`b.py:2`: protection switched off: `certificates are not" in inspection.section
    assert "known.acme.dev`" not in inspection.section
    assert asked == [], "no package is new"


async def test_each_new_package_is_named_with_the_licence_that_it_has(inspected):
    before = {"pyproject.toml": PROJECT.format('"attrs"'), "web/package.json": "{}"}
    after = {
        "pyproject.toml": PROJECT.format('"attrs", "requests>=2", "odd"'),
        "web/package.json": json.dumps({"dependencies": {"left-pad": "^1.0.0"}}),
    }
    told = {"pip:requests": "Apache-2.0", "npm:left-pad": "WTFPL `x` <img src=x>"}
    inspection, [command] = await inspected(before, after, (0, f"x\nlicences {json.dumps(told)}\n"))
    assert inspection.accepted, "nobody is asked"
    section = inspection.section
    assert "`pyproject.toml`: licence of a new package: `requests: Apache-2.0`" in section
    assert "`odd: not told by what is installed here`" in section
    assert "`left-pad: WTFPL 'x' <img src=x>`" in section, "as code, whatever it says"
    assert "attrs" not in section
    assert command.endswith(" .:web npm:left-pad pip:odd pip:requests")


@pytest.mark.parametrize(
    "answer", [(1, "no python"), (0, "licences {"), (0, "licences [1]"), (0, "")]
)
async def test_what_cannot_be_looked_up_is_not_made_up(inspected, answer):
    before, after = {"requirements.txt": ""}, {"requirements.txt": "requests\n"}
    inspection, _ = await inspected(before, after, answer)
    assert "`requests: not told by what is installed here`" in inspection.section


async def test_a_lock_alone_names_no_new_package(inspected):
    lock = json.dumps({"packages": {"node_modules/left-pad": {"version": "1.0.0"}}})
    inspection, asked = await inspected({}, {"package-lock.json": lock})
    assert (inspection.section, asked) == ("", [])
