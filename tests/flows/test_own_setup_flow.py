"""A change that adds a dependency is set up by its own files, through the front door."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import pytest

from app.demo.package_index.releases import Release
from tests.flows.conftest import CALC
from tests.flows.scripted import SHORT_PARTS, bash, part, step, usual

POLICY = (
    "setup: {run: [pip install -r requirements.txt], second_look: false}\n"
    "quality: [{name: tests, run: python3 -B -m unittest -q}]\n"
)
FILES = CALC | {"requirements.txt": "# nothing yet\n", ".github/fettle.yml": POLICY}
SUM = "import small\n\n\ndef add(a, b):\n    return a + b + small.NOTHING\n"
TEST = CALC["test_calc.py"] + (
    "\n    def test_sum(self):\n        self.assertEqual(calc.add(1, 1), 2)\n"
)


@pytest.fixture
def index():
    """A folder with one package, where sandboxes may see it: not below /dev."""
    with tempfile.TemporaryDirectory(prefix="fettle-index-", dir="/var/tmp") as folder:
        release = Release("pip", "small", "1.0", files={"small.py": "NOTHING = 0\n"})
        Path(folder).chmod(0o755)
        (Path(folder) / release.file).write_bytes(release.data)
        yield {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": folder, "PIP_CONFIG_FILE": os.devnull}


async def agree(place, issue):
    """Say yes to the package that the run asks for on its issue."""

    def find_question():
        asked = (re.search(r"/bot approve [a-z0-9]+", each.body) for each in issue.comments)
        return next((each[0] for each in asked if each), None)

    await place.wait_until(find_question)
    await place.wait_for_parked()
    await place.say("mara", find_question(), issue)


def make_script(requirement, *more):
    write = [
        {"write": {"path": "requirements.txt", "content": f"{requirement}\n"}},
        {"write": {"path": "calc.py", "content": SUM}},
        {"write": {"path": "test_calc.py", "content": TEST}},
    ]
    proof = "python3 -B -m unittest -q test_calc"
    return usual(*SHORT_PARTS, step(*write, bash("true"), proof=proof), *more)


async def test_what_the_change_adds_is_installed_or_its_absence_makes_a_draft(make_place, index):
    async with make_place(FILES, script=make_script("small==1.0"), **index) as place:
        await place.label()
        await agree(place, place.issue)
        await place.ends("pull_request")

        [pull] = place.pulls()
        assert not pull.draft, pull.issue.body
        assert "The change touches `requirements.txt`, so its checks ran with" in pull.issue.body

        fix = part("# Fix the checks", *[{"submit_fix": {"summary": "It is right as it is."}}] * 3)
        place.model.play(make_script("nobody-has-this", fix))
        other = await place.file("It adds one too many, still", "`calc.add(2, 2)` gives 5.")
        await place.label(issue=other)
        await agree(place, other)
        await place.all_done(2)

        _, draft = place.pulls()
        assert draft.draft
        assert "`pip install -r requirements.txt` ended with exit code 1" in draft.issue.body
        assert "nobody-has-this" in draft.issue.body
