"""A change that is larger than people want to read is divided between its commits, where it can be.

Each part is checked by itself; the last one stands for the whole.
"""

from __future__ import annotations

import pytest

from agents.errors import TransientError
from agents.policy import POLICY_PATH
from tests.agents.pipelines.resolve.conftest import messages_of

POLICY = "quality: [{{name: tests, run: check}}]\npull_requests: {{max_lines: 6{more}}}\n"
TITLES = ("Read sizes", "Write sizes", "Say how it is done")
BODY = "".join(f"line {n}\n" for n in range(5))


@pytest.fixture
def divided(make, acts):
    """Make a world in which three steps add five lines each, a file a step."""

    def world(*, more="", check=(0, ""), titles=TITLES, **given):
        made = []
        for number, title in enumerate(titles):
            made += [acts.change(f"part{number}.py", BODY), acts.step(f"{title}: all of it.")]
        plan = [{"title": each, "brief": "Do it in a file of its own."} for each in titles]
        answers = [
            acts.triage(),
            [acts.use("submit_plan", steps=plan)],
            *made,
            acts.docs(),
            acts.verdict(),
            acts.text(),
        ]
        files = {POLICY_PATH: POLICY.format(more=more), "lib.py": "x = 1\n"}
        return make(answers, files=files, commands={"check": check}, **given)

    return world


async def test_each_step_that_fills_the_room_is_a_pull_request_on_the_one_before(divided, request_):
    world = divided()
    outcome = await world.resolve(request_)

    first, second, last = world.publisher.pulls.values()
    assert [(each.branch.rpartition("-")[0], each.base) for each in (first, second)] == [
        ("bot/7-add-right-part-1", "main"),
        ("bot/7-add-right-part-2", first.branch),
    ]
    assert (outcome.pull_request, last.base) == (last, second.branch)
    assert [each.title for each in (first, second, last)] == [
        "Read sizes (1 of 3)",
        "Write sizes (2 of 3)",
        "Add right, always (3 of 3)",
    ]
    assert outcome.lower == (first, second)
    assert "pull request #4, on top of #2, #3: Add right, always (3 of 3)." in outcome.text
    assert world.publisher.stacked == [2, 3, 4]
    assert world.publisher.closes == (7,)
    assert not any(each.draft for each in (first, second, last))
    assert "1. #2: Read sizes (5 lines)\n2. this one: Write sizes (5 lines)" in second.body
    assert "3. #4: Say how it is done (5 lines)" in first.body
    assert "**Write sizes.** Write sizes: all of it." in second.body
    assert "### Size" in last.body
    assert "2. #3: Write sizes (5 lines)\n3. this one: Say how it is done" in last.body
    assert "### Cost" not in first.body
    commits = await world.source.commits(world.base, last.head)
    assert [each.head for each in (first, second, last)] == [commit for commit, _ in commits]
    assert [n for n in world.steps.names if "layer" in n] == [
        "stage/plan_layers/1",
        "stage/check_layer/1",
        "stage/check_layer/2",
    ]


async def test_a_part_that_is_not_green_by_itself_is_read_with_the_next(divided, request_):
    def check(files):
        alone = "part0.py" in files and "part1.py" not in files
        return (1, "FAILED test_x") if alone else (0, "")

    world = divided(check=check)
    outcome = await world.resolve(request_)

    [lower] = outcome.lower
    assert lower.title == "Read sizes (1 of 2)"
    assert "this one: Read sizes (10 lines)" in lower.body
    assert "**Write sizes.**" in lower.body


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"more": ", stack: false"}, "`pull_requests.stack` is off"),
        ({"titles": TITLES[:1]}, None),
        ({"check": lambda files: (1, "no") if 0 < len(files) - 2 < 3 else (0, "")}, "by itself"),
    ],
)
async def test_where_it_cannot_be_divided_it_says_so_and_asks(divided, request_, given, why):
    world = divided(**given)
    outcome = await world.resolve(request_)

    assert not outcome.lower
    [pull] = world.publisher.pulls.values()
    assert pull.base == "main"
    if why is None:
        assert "### Size" not in pull.body
    else:
        assert "15 lines change here, lock files and generated ones not counted" in pull.body
        assert why in pull.body
        assert "divide the issue into sub-issues" in pull.body


async def test_one_large_commit_says_that_it_is_one(make, acts, request_):
    policy = "quality: [{name: tests, run: check}]\npull_requests: {max_lines: 3}\n"
    world = make(
        [acts.triage(), acts.plan(), acts.change(content=BODY), *acts.straight()[2:]],
        files={POLICY_PATH: policy, "lib.py": "x = 1\n"},
    )
    outcome = await world.resolve(request_)

    assert "because it is one commit" in outcome.pull_request.body
    assert outcome.ready


async def test_plans_aim_at_it_from_the_start(divided, make, acts, request_):
    world = divided()
    await world.resolve(request_)
    assert "at most 6 changed lines" in messages_of(world, 1)

    world = divided(more=", stack: false")
    await world.resolve(request_)
    assert "no limit to the size" in messages_of(world, 1)


async def test_a_process_that_dies_between_two_of_them_opens_each_once(divided, request_):
    world = divided()
    publisher, opened = world.publisher, []
    whole = publisher.open_pull_request

    async def open_pull_request(**given):
        opened.append(given["branch"])
        if len(opened) in {2, 4, 6}:
            raise TransientError("GitHub is away")
        return await whole(**given)

    publisher.open_pull_request = open_pull_request
    for _ in range(3):
        with pytest.raises(TransientError):
            await world.resolve(request_)
    outcome = await world.resolve(request_)

    assert [each.number for each in (*outcome.lower, outcome.pull_request)] == [2, 3, 4]
    assert len(publisher.pulls) == 3
