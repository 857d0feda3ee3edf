"""pyproject.toml and setup.cfg without a lock file: the requirement decides, and is raised."""

from datetime import date

import pytest

from agents.pipelines.remediate.ladder import Fix, Level, Refusal, Unfit, climb, ecosystem_of
from agents.pipelines.remediate.ladder.python import setup_cfg
from agents.pipelines.remediate.ladder.python.unlocked import UnlockedPython
from tests.agents.pipelines.remediate.ladder.conftest import TERMS, group

PROJECT = """\
[project]
name = "shop"  # the looks of this file stay
version = "1.0"
dependencies = [
    "jinja2 >=3.0,<4",   # templates
    'tomli; python_version < "3.11"',
]
[project.optional-dependencies]
mail = ["Jinja2~=3.1.0"]
all = ["shop[mail]"]
"""
CFG = """\
[metadata]
name = shop
description =
    jinja2>=1
[options]
install_requires =
    # what renders
    jinja2>=3.0
    click<9; python_version > "3.8"

zip_safe = no
setup_requires = jinja2==3.1.0
[options.extras_require]
mail =
    jinja2[i18n]>=3.1, <4
[options.package_data]
shop =
    jinja2>=3.0
"""


def make_group(*manifests, **more):
    return group("jinja2", "< 3.1.4", manifests=manifests, **more)


async def test_a_floor_in_every_list_moves(real):
    real.lay({"pyproject.toml": PROJECT})
    wanted = make_group("pyproject.toml")

    fix = await climb(real, ecosystem_of(real.paths, wanted), wanted, TERMS)

    assert isinstance(fix, Fix), fix.reason
    assert (fix.level, fix.files, fix.notes) == (Level.BUMP, ("pyproject.toml",), ())
    expected = PROJECT.replace(">=3.0,<4", ">=3.1.4,<4").replace("~=3.1.0", "~=3.1.4")
    assert (real.folder / "pyproject.toml").read_text() == expected


async def test_an_upper_bound_moves_where_the_fix_lies_behind_it(real):
    real.lay({"setup.cfg": CFG.replace("jinja2>=3.0\n    click", "jinja2>=3.0,<3.1\n    click")})
    wanted = make_group("setup.cfg")

    fix = await climb(real, ecosystem_of(real.paths, wanted), wanted, TERMS)

    assert isinstance(fix, Fix), fix.reason
    assert fix.level == Level.WIDEN
    expected = CFG.replace("jinja2>=3.0\n    click", "jinja2>=3.1.4,<3.2\n    click")
    expected = expected.replace("jinja2==3.1.0", "jinja2==3.1.4").replace(">=3.1, <", ">=3.1.4, <")
    assert (real.folder / "setup.cfg").read_text() == expected


async def test_what_cannot_be_installed_together_is_no_fix(real):
    """flask 2.2.5 asks for a werkzeug of at least 2.2.2, and 2.3.2 for one of at least 2.3.3."""
    text = '[project]\nname = "shop"\nversion = "1"\ndependencies = [{}]\n'
    real.lay({"pyproject.toml": text.format('"flask==2.2.5", "werkzeug==2.2.3"')})
    wanted = group("flask", "< 2.3.2", manifests=["pyproject.toml"])

    refused = await climb(real, ecosystem_of(real.paths, wanted), wanted, TERMS)

    assert isinstance(refused, Refusal)
    said = "\n".join(step.why for step in refused.steps)
    assert "cannot be installed together any more: " in said
    assert "werkzeug" in said


@pytest.mark.parametrize(("day", "found"), [("2024-04-20", True), ("2024-04-01", False)])
async def test_nothing_younger_than_the_policy_wants_is_taken(real, day, found):
    """sqlparse 0.5.0 is of 2024-04-13."""
    real.lay({"pyproject.toml": PROJECT.replace("jinja2 >=3.0,<4", "sqlparse==0.4.4")})
    wanted = group("sqlparse", "< 0.5.0", manifests=["pyproject.toml"])
    days = (TERMS.today - date.fromisoformat(day)).days

    fix = await climb(
        real, ecosystem_of(real.paths, wanted), wanted, TERMS.model_copy(update={"min_days": days})
    )

    assert isinstance(fix, Fix) is found, fix
    if not found:
        assert f"0.5.0 was published after {day}" in fix.reason


def test_only_the_lists_of_requirements_are_read():
    assert [(at, wanted) for at, _, wanted in setup_cfg.list_lines(CFG)] == [
        (7, "jinja2>=3.0"),
        (8, 'click<9; python_version > "3.8"'),
        (11, "jinja2==3.1.0"),
        (14, "jinja2[i18n]>=3.1, <4"),
    ]
    assert setup_cfg.list_lines("[options]\ninstall_requires = file: requirements.txt\n") == [
        (1, 19, "file: requirements.txt")
    ]
    assert setup_cfg.list_lines("") == []


async def test_what_a_project_takes_from_elsewhere_is_not_asked_of_an_index(tree):
    text = PROJECT + '[tool.uv.sources]\njinja2 = { path = "../jinja" }\n'
    tree.lay({"pyproject.toml": text})
    locked = await UnlockedPython(("pyproject.toml",)).read(tree)
    assert [own.name for own in locked.own] == ["tomli"], "nor the project itself"


async def test_without_its_lock_a_project_of_poetry_is_not_guessed_at(tree):
    tree.lay({"pyproject.toml": '[tool.poetry.dependencies]\njinja2 = "^3.0"\n'})
    with pytest.raises(Unfit, match="poetry lock"):
        await UnlockedPython(("pyproject.toml",)).read(tree)


@pytest.mark.parametrize("lock", ["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock"])
def test_it_is_asked_only_where_no_lock_file_lies_beside(tree, lock):
    tree.lay({"pyproject.toml": PROJECT, "docs/pyproject.toml": PROJECT, f"docs/{lock}": ""})
    assert isinstance(ecosystem_of(tree.paths, make_group("pyproject.toml")), UnlockedPython)
    found = ecosystem_of(tree.paths, make_group("docs/pyproject.toml", directory="docs"))
    assert not isinstance(found, UnlockedPython)


async def test_a_requirement_that_cannot_be_raised_is_left_to_people(real):
    text = PROJECT.replace("jinja2 >=3.0,<4", "jinja2 >3.0,!=3.1.4,<4")
    real.lay({"pyproject.toml": text})
    wanted = make_group("pyproject.toml")
    refused = await climb(real, ecosystem_of(real.paths, wanted), wanted, TERMS)
    assert isinstance(refused, Refusal)
    assert (real.folder / "pyproject.toml").read_text() == text
