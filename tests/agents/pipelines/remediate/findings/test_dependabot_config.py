"""What dependabot.yml says to ignore is left alone, and nothing else of it stops a fix."""

import pytest

from agents.pipelines.remediate.findings.dependabot_config import find_ignored
from tests.agents.pipelines.remediate.ladder.conftest import group

CONFIG = """\
version: 2
updates:
  - package-ecosystem: {ecosystem}
    {place}
    ignore:
      - {entry}
"""
JINJA = group("Jinja2", "< 3.1.4", directory="web")


class Files:
    def __init__(self, **files):
        self.files = files

    async def show(self, commit, path):
        return self.files.get(path.rpartition(".")[2])


async def read(text, about=JINJA):
    return await find_ignored(Files(yml=text.encode()), "c" * 40, about)


@pytest.mark.parametrize(
    ("change", "ignored"),
    [
        ({}, True),
        ({"entry": 'dependency-name: "jin*"'}, True),
        ({"entry": 'dependency-name: "*"'}, True),
        ({"entry": "dependency-name: flask"}, False),
        ({"entry": '{dependency-name: jinja2, versions: ["4.x"]}'}, False),
        (
            {"entry": '{dependency-name: jinja2, update-types: ["version-update:semver-major"]}'},
            False,
        ),
        ({"ecosystem": "uv"}, True),
        ({"ecosystem": "npm"}, False),
        ({"place": "directory: /web/"}, True),
        ({"place": "directory: web"}, True),
        ({"place": "directory: /"}, False),
        ({"place": 'directories: ["/api", "/w*"]'}, True),
        ({"place": 'directories: ["**/*"]'}, True),
        ({"place": 'directories: ["/web/**"]'}, True),
        ({"place": 'directories: ["/api/**"]'}, False),
        ({"place": 'directories: ["/*"]'}, True),
    ],
)
async def test_an_entry_counts_for_its_ecosystem_folder_and_whole_package(change, ignored):
    usual = {"ecosystem": "pip", "place": "directory: /web", "entry": "dependency-name: jinja2"}
    path, name = await read(CONFIG.format(**(usual | change)))
    assert bool(path) is bool(name) is ignored


@pytest.mark.parametrize(
    "text",
    [
        "", "- x", "updates: 7", "updates: [7]", "updates: [{ignore: 7}]", "{" * 50_000,
        "a: [", "\x00",
        "updates: [{package-ecosystem: [pip], directory: {}, ignore: [{dependency-name: jinja2}]}]",
        "a: &a [x]\nupdates: *a\n",
    ],
)  # fmt: skip
async def test_what_cannot_be_read_ignores_nothing(text):
    assert await read(text) == ("", "")


async def test_either_name_of_the_file_will_do():
    usual = {"ecosystem": "pip", "place": "directory: /web", "entry": "dependency-name: jinja2"}
    found = await find_ignored(Files(yaml=CONFIG.format(**usual).encode()), "c" * 40, JINJA)
    assert found == (".github/dependabot.yaml", "jinja2")
    assert await find_ignored(Files(), "c" * 40, JINJA) == ("", "")


async def test_a_star_stands_for_one_folder():
    far = JINJA.model_copy(update={"directory": "web/a"})
    for place, ignored in (("/web/*", True), ("/*", False), ("/web/**", True)):
        text = CONFIG.format(
            ecosystem="pip", place=f'directories: ["{place}"]', entry="dependency-name: jinja2"
        )
        path, _ = await find_ignored(Files(yaml=text.encode()), "c" * 40, far)
        assert bool(path) is ignored, place
