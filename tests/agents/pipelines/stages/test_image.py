"""Which image a run is in: named by the default branch, looked up once, kept, and told."""

import pytest

from agents.pipelines.stages.onboarding import describe_setup, set_up
from agents.pipelines.stages.prepare import prepare
from agents.pipelines.stages.quality import format_setup_remarks
from agents.policy import POLICY_PATH, parse_policy
from agents.ports import RunImage, SetupProposal, SetupResult
from agents.run import RunState
from agents.run.environment import find_image
from agents.run.state import StageRecord

CI, OTHER = "ghcr.io/acme/ci:1", "ghcr.io/acme/other:1"
ID = "5e" * 32
DEVCONTAINER = ".devcontainer/devcontainer.json"
NAMED = f'{{"image": "{OTHER}", "remoteEnv": {{"TOKEN": "${{localEnv:TOKEN}}"}}}}'


@pytest.fixture
def begin(make_world, request_):
    """Return what begins a run on a repository of these files, and sets it up."""

    async def make(files, images=(CI, OTHER)):
        world = make_world({"README.md": "# It\n", **files}, [])
        world.source.images = dict.fromkeys(images, ID)
        run = world.run(request_)
        await run.stage(prepare)
        return world, run, await run.stage(set_up)

    return make


async def test_the_policy_names_an_image_before_any_devcontainer(begin):
    policy = f'environment: {{image: "{CI}"}}\n'
    world, run, setup = await begin({POLICY_PATH: policy, DEVCONTAINER: NAMED})
    assert [each.image for each in world.source.wanted] == [CI]
    assert world.source.used == [RunImage(image=CI, named_by=POLICY_PATH, id=ID)]
    assert f"ran in the image `{CI}` (its id is `{ID[:12]}`), which `{POLICY_PATH}` names" in (
        format_setup_remarks(setup)
    )
    await run.context.tree()
    assert world.source.used[-1] == setup.image
    assert f"Commands run in the container image `{CI}`" in describe_setup(run.context, setup)


async def test_a_devcontainer_names_one_and_says_what_of_it_has_no_effect(begin):
    _, _, setup = await begin({DEVCONTAINER: NAMED, ".devcontainer.json": "{}"})
    assert (setup.image.image, setup.image.named_by) == (OTHER, DEVCONTAINER)
    said = format_setup_remarks(setup)
    assert "`remoteEnv` had no effect" in said
    assert "TOKEN" not in said
    _, _, setup = await begin({".devcontainer.json": NAMED})
    assert setup.image.named_by == ".devcontainer.json"


async def test_owners_can_do_without_their_devcontainer(begin):
    policy = "environment: {devcontainer: false}\n"
    world, _, setup = await begin({POLICY_PATH: policy, DEVCONTAINER: NAMED})
    assert (setup.image, world.source.wanted, world.source.used) == (None, [], [None])
    assert format_setup_remarks(setup) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"build": {"dockerfile": "Dockerfile"}}', "Fettle builds none"),
        ('{"image": "--privileged"}', "is none, as in"),
        ('{"image": "@everyone <!-- x --> ghcr.io/a/b"}', "is none, as in"),
        ('{"image": "a/b", "image": "c/d"}', "stands there twice"),
        ("[" * 60_000, "more than"),
        ('{"a": "' + "x" * 300_000 + '"}', "more than"),
        ("\x00\xff{", "no JSON"),
    ],
)
async def test_a_devcontainer_that_names_none_is_told_in_words_of_ours(begin, text, why):
    world, _, setup = await begin({DEVCONTAINER: text})
    assert world.source.wanted == []
    said = format_setup_remarks(setup)
    assert said.startswith(f"`{DEVCONTAINER}` was not followed: ")
    assert why in said
    assert "everyone" not in said
    assert "Commands ran with what Fettle's machine has." in said


async def test_an_image_that_is_not_used_is_named_with_the_reason(begin):
    policy = f'environment: {{image: "{CI}"}}\n'
    _, run, setup = await begin({POLICY_PATH: policy}, images=())
    said = format_setup_remarks(setup)
    assert f"The image `{CI}`, which `{POLICY_PATH}` names, was not used: it is not here." in said
    assert "container image" not in describe_setup(run.context, setup)


async def test_a_run_keeps_its_image_over_kills_moved_tags_and_a_moved_branch(begin, request_):
    policy = f'environment: {{image: "{CI}"}}\n'
    world, _, setup = await begin({POLICY_PATH: policy})
    world.source.images = {CI: "00" * 32}
    world.source.bases.clear()
    again = world.run(request_)
    await again.stage(prepare)
    assert (await again.stage(set_up)).image == setup.image
    await again.context.stand_on(world.base)
    assert again.context.standing.image.id == ID
    assert len(world.source.wanted) == 1


async def test_a_run_that_began_without_stays_on_the_machine(begin, make_world, request_):
    """What an earlier version recorded of a stage says nothing of images."""
    record = StageRecord.model_validate({"standing": {"trunk": "a" * 40, "base": "a" * 40}})
    world = make_world({DEVCONTAINER: NAMED}, [])
    run = world.run(request_).context
    run.update_state(**record.standing.model_dump(include={"trunk", "base"}))
    await run.stand_on(world.base)
    assert run.standing.image is None
    assert world.source.wanted == []


async def test_what_the_branch_of_a_pull_request_names_does_not_count(make_world):
    world = make_world({"README.md": "# It\n"}, [])
    tree = await world.source.open(world.base, parse_policy(None))
    await tree.write(DEVCONTAINER, NAMED.encode())
    await tree.write(POLICY_PATH, f'environment: {{image: "{OTHER}"}}\n'.encode())
    head = await tree.commit(await tree.snapshot(), world.base, "theirs")
    assert await world.source.show(head, DEVCONTAINER)
    assert await find_image(world.source, world.base, parse_policy(None)) is None


def test_a_proposal_of_before_says_nothing_of_images():
    assert SetupProposal.model_validate({"reason": "x"}).image == ""
    assert SetupResult.model_validate({"source": "x"}).image is None
    assert RunState.model_validate({}).image is None
