"""A repository that names a container image, through the front door."""

from __future__ import annotations

import json

import pytest

from tests.fakes.container_engine import FakeContainerEngine
from tests.flows.conftest import CALC

NAME = "ghcr.io/acme/ci:1"
CHECK = "run-checks"
POLICY = f"""environment: {{image: "{NAME}"}}
setup: {{run: ["{CHECK} >vendor.txt"], second_look: false}}
quality: [{{name: tests, run: {CHECK}}}]
"""
DEVCONTAINER = f"""// of the default branch
{{"image": "{NAME}", "runArgs": ["--privileged"], "postCreateCommand": "touch created",}}
"""
FILES = CALC | {".github/fettle.yml": POLICY, ".gitignore": "vendor.txt\n"}
PROGRAM = "#!/bin/sh\nenv >seen.txt\nid -u\nexec python3 -B -m unittest -q\n"


@pytest.fixture
def engine(tmp_path):
    """An engine whose image has a program that is nowhere else."""
    made = FakeContainerEngine(tmp_path / "engine")
    made.hold()
    have_image(made, tmp_path, "one", PROGRAM)
    return made


def have_image(engine, folder, kind, program):
    """Have an image of that name with this program; return its id."""
    tools = folder / kind
    tools.mkdir()
    (tools / CHECK).write_text(program)
    (tools / CHECK).chmod(0o755)
    env = ["PATH=/opt/ci/bin:/usr/bin:/bin", "JAVA_HOME=/opt/jdk", "TOKEN=of-the-image"]
    return engine.add_image(NAME, env, files={"/opt/ci/bin": tools}, Labels={"maintainer": "acme"})


def settings(engine, **more):
    given = {"FETTLE_CONTAINER_ENGINE": str(engine.folder / "podman")}
    return given | {"FETTLE_ENVIRONMENT_IMAGES": "ghcr.io/acme/*"} | more


def images_used(engine):
    """Return which images containers were made of, by the words behind the options."""
    return {next(w for w in call[1:] if not w.startswith("-")) for call in engine.calls("create")}


async def test_the_run_is_in_the_image_that_is_named_and_stays_in_it_or_ends(
    make_place, engine, tmp_path
):
    """A devcontainer names it as well; its tag moves while a run is in it; then it is gone."""
    policy = POLICY.partition("\n")[2]
    named = FILES | {".github/fettle.yml": policy, ".devcontainer/devcontainer.json": DEVCONTAINER}
    first = have_id(engine)
    async with make_place(named, **settings(engine)) as place:
        await a_run_stays_in_it_when_its_tag_moves(place, engine, tmp_path)
        assert images_used(engine) == {first}
        await place.move(FILES)
        await an_image_that_is_gone_ends_the_run_and_says_so(place, engine)
        for call in engine.calls("create"):
            assert {"--network=none", "--pull=never", "--cap-drop=ALL", "--read-only"} <= set(call)
            assert "--privileged" not in call
            assert not [secret for secret in place.secrets() if secret in json.dumps(call)]
        assert engine.calls("pull") == []


async def a_run_stays_in_it_when_its_tag_moves(place, engine, folder):
    """In the one that a devcontainer of the default branch names, of which nothing else counts."""
    first = have_id(engine)
    await place.label_and_kill(2)
    have_image(engine, folder, "two", "#!/bin/sh\nexit 1\n")
    await place.server.start(place.app)
    await place.ends("pull_request")
    [pull] = place.pulls()
    assert not pull.draft, pull.issue.body
    assert f"ran in the image `{NAME}` (its id is `{first[:12]}`)" in pull.issue.body
    assert "which `.devcontainer/devcontainer.json` names" in pull.issue.body
    assert "`postCreateCommand`, `runArgs` had no effect" in pull.issue.body
    assert "created" not in await place.show(pull.head_sha, "")


async def an_image_that_is_gone_ends_the_run_and_says_so(place, engine):
    await place.label_and_kill(2)
    engine.drop(have_id(engine))
    await place.server.start(place.app)
    outcome = await place.wait_for_end()
    assert outcome.kind == "failed"
    assert f"This run began in the image `{NAME}`" in outcome.text
    assert "`/bot retry` begins anew" in outcome.text


async def test_what_is_not_used_is_told_with_what_would_change_that(make_place, engine):
    """Which images are allowed, and what keeps others out: test_images.py of dependencies."""
    other = {"FETTLE_ENVIRONMENT_IMAGES": "ghcr.io/acme/ci:2*,ghcr.io/acme/ci2"}
    async with make_place(FILES, **settings(engine, **other)) as place:
        await place.label()
        await place.ends("pull_request")
        [pull] = place.pulls()
        assert pull.draft, "its checks could not run"
        assert f"The image `{NAME}`, which `.github/fettle.yml` names, was not used" in (
            pull.issue.body
        )
        why = "allows no such image. They can, with FETTLE_ENVIRONMENT_IMAGES"
        assert why in pull.issue.body
        assert not engine.has_made_any()


def have_id(engine):
    return json.loads((engine.folder / "images").read_text())[NAME]["Id"]
