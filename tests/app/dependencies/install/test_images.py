"""Images that repositories name: which are used, what is kept apart, and what their runs see."""

import os

import pytest

from agents.errors import RunError, TransientError
from agents.policy import Policy
from agents.ports import RunImage
from app.config.settings import load_settings
from app.dependencies.start import make_set_ups
from app.secrets.redaction import Redactor
from tests.app.dependencies.install.conftest import bash
from tests.fakes.container_engine import FakeContainerEngine

NAME = "ghcr.io/acme/ci:1"
WANTED = RunImage(image=NAME, named_by=".github/fettle.yml")
SETUP = Policy.model_validate({"setup": {"run": ["word >vendor.txt", "id -u >>vendor.txt"]}})


@pytest.fixture
def engine(open_folder):
    made = FakeContainerEngine(open_folder / "engine")
    made.hold()
    return made


@pytest.fixture
def inside(ground, engine, open_folder):
    """Return what makes the source of a run on a machine with that engine.

    `known` keeps what one process of Fettle knows: it tries each image once.
    """
    ground.commit({".gitignore": "vendor.txt\n", "here.txt": "needle\n"})

    def make(run_id="run-1", allowed="ghcr.io/acme/*", sandbox=None, known=None, **more):
        values = {"FETTLE_DATA_DIR": str(open_folder), "FETTLE_ENVIRONMENT_IMAGES": allowed}
        values["FETTLE_CONTAINER_ENGINE"] = str(engine.folder / "podman")
        values["FETTLE_SANDBOX_UID"] = str(ground.sandbox.owner[0])
        settings = load_settings(values | {"ANTHROPIC_API_KEY": "x"} | more, serving=False)
        known = {} if known is None else known
        if "set_ups" not in known:
            known["set_ups"] = make_set_ups(settings, sandbox or ground.sandbox, Redactor())
        source = ground.source(run_id)
        source._furnisher = known["set_ups"].for_run("1", ground.mirror, run_id)
        return source

    return make


def have_image(engine, folder, word, *, without=(), **settings):
    """Have an image with a program that says this word, and is nowhere else; return its id."""
    tools = folder / f"tools-{word}"
    tools.mkdir()
    (tools / "word").write_text(f"#!/bin/sh\necho {word}\n")
    (tools / "word").chmod(0o755)
    env = ["PATH=/opt/ci/bin:/usr/bin:/bin"]
    return engine.add_image(NAME, env, files={"/opt/ci/bin": tools}, without=without, **settings)


async def test_what_one_image_had_installed_serves_no_other_and_not_the_machine(
    ground, inside, engine, open_folder
):
    said, known = {}, {}
    for word in ("first", "second"):
        have_image(engine, open_folder, word)
        image = await inside(known=known).find_image(WANTED)
        for again in (False, True):
            source = inside(f"run-{word}-{again}", known=known)
            result = await source.set_up(ground.base, SETUP, image)
            assert (result.problems, result.cached) == ((), again)
            tree = await source.open(ground.base, SETUP, image)
            said[image.id] = (await bash(tree, "cat vendor.txt; word")).output.split()
        assert said[image.id][::2] == [word, word]
    assert len(said) == 2
    own = await inside("run-own", known=known).set_up(ground.base, SETUP)
    assert "127" in own.problems[0], "the machine has no such program, whatever images have"


async def test_toolchains_are_looked_for_in_the_image(ground, inside, engine, open_folder):
    ground.commit({".ruby-version": "91.9.1\n"})
    problems, known = [], {}
    for word, version in (("with", "91.9.1"), ("without", "")):
        have_image(engine, open_folder, word)
        if version:
            ruby = open_folder / f"tools-{word}" / "ruby"
            ruby.write_text(f"#!/bin/sh\nprintf {version}\n")
            ruby.chmod(0o755)
        image = await inside(known=known).find_image(WANTED)
        result = await inside(f"run-{word}", known=known).set_up(ground.base, SETUP, image)
        problems.append(result.problems)
    assert problems[0] == ()
    assert f"Whoever makes the image `{NAME}` can add one." in problems[1][0]
    assert "FETTLE_TOOLCHAINS" not in problems[1][0]


async def test_commands_are_the_runs_user_in_the_image_and_git_and_searches_are_not_in_it(
    ground, inside, engine, open_folder
):
    have_image(engine, open_folder, "word", without=("git", "rg"))
    source = inside()
    image = await source.find_image(WANTED)
    assert image.id
    assert (await source.set_up(ground.base, SETUP, image)).problems == ()
    tree = await source.open(ground.base, SETUP, image)
    word, user = (await bash(tree, "cat vendor.txt")).output.split()
    assert (word, user == "0") == ("word", False)
    assert (await bash(tree, "git status")).exit_code in (126, 127)
    assert "needle" in (await tree.run(["rg", "needle"], timeout=60)).output
    result = await bash(tree, "id -u >made.txt; echo $PATH; cat /etc/passwd")
    assert result.output.startswith("/opt/ci/bin:/usr/bin:/bin:/usr/local/bin\n")
    assert "root:x:0:0" in result.output
    assert int(await tree.read("made.txt")) == (tree.files / "made.txt").stat().st_uid
    assert (tree.files / "made.txt").stat().st_uid == ground.sandbox.for_run(
        tree.files.parent
    ).owner[0]
    assert await tree.list_changed_paths(ground.base, await tree.snapshot()) == ["made.txt"]
    users = {o for call in engine.calls("create") for o in call if o.startswith("--user=")}
    assert "--user=0:0" not in users or os.geteuid() == 0
    await source.discard(forget=True)


async def test_a_run_goes_on_in_the_image_that_it_began_in(ground, inside, engine, open_folder):
    have_image(engine, open_folder, "before")
    image = await inside().find_image(WANTED)
    moved = have_image(engine, open_folder, "after")
    tree = await inside().open(ground.base, Policy(), image)
    assert (await bash(tree, "word")).output == "before\n"
    assert (await inside().find_image(WANTED)).id == moved
    with pytest.raises(RunError, match="and the operator of Fettle allows no such image"):
        await inside(allowed="ghcr.io/other/*").open(ground.base, Policy(), image)
    with pytest.raises(RunError, match="allows no such image"):
        await inside(allowed="").open(ground.base, Policy(), image)
    with pytest.raises(RunError, match="allows no such image"):
        await inside(allowed="ghcr.io/acme/ci:2*,ghcr.io/acme/ci2").open(
            ground.base, Policy(), image
        )
    engine.drop(image.id)
    with pytest.raises(RunError, match="no longer on the machine"):
        await inside().set_up(ground.base, Policy(), image)
    (engine.folder / "podman").write_text("#!/bin/sh\nexit 125\n")
    with pytest.raises(TransientError, match="no container engine answers"):
        await inside().set_up(ground.base, Policy(), image)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"without": ("perl",)}, "it has no /usr/bin/perl. Whoever makes the image"),
        ({"without": ("bash",)}, "it has no bash. Whoever makes the image"),
        ({"without": ("timeout",)}, "has no `env`, `timeout` or `sh`. Whoever makes the image"),
        ({"Labels": {"fettle.sandbox": "true"}}, "it carries labels of Fettle's own"),
        ({"Volumes": {"/workspace/a": {}}}, "it declares volumes"),
    ],
)
async def test_an_image_that_does_not_fit_says_what_it_lacks(
    inside, engine, open_folder, settings, why
):
    have_image(engine, open_folder, "word", **settings)
    found = await inside().find_image(WANTED)
    assert not found.id
    assert why in found.why_not


async def test_what_keeps_an_image_from_being_used_is_named_with_who_can_change_it(
    ground, inside, engine, open_folder
):
    found = await inside().find_image(WANTED)
    assert (
        "it is not on Fettle's machine, and Fettle fetches none. The operator can" in found.why_not
    )
    assert f"`podman pull {NAME}`" in found.why_not
    have_image(engine, open_folder, "word")
    (engine.folder / "refuses").write_text("newuidmap: not found")
    found = await inside().find_image(WANTED)
    assert "Fettle's user has no range of user ids" in found.why_not
    assert "usermod" in found.why_not
    (engine.folder / "refuses").unlink()
    (engine.folder / "holds").unlink()
    assert "do not hold what they should" in (await inside().find_image(WANTED)).why_not
    (engine.folder / "podman").write_text("#!/bin/sh\nexit 125\n")
    assert "no container engine answers" in (await inside().find_image(WANTED)).why_not
    assert not [call for call in engine.calls("create") if "pull" in call[0]]


async def test_without_a_sandbox_there_is_no_image_either(inside, engine, open_folder):
    class Unheld:
        level, name, owner = "none", "none", (os.geteuid(), os.getegid())

    have_image(engine, open_folder, "word")
    found = await inside(sandbox=Unheld()).find_image(WANTED)
    assert "run without a sandbox" in found.why_not
    assert not engine.has_made_any()
