"""What a change loosens: people are asked, told in the pull request, and what they refuse goes."""

from __future__ import annotations

import json

import pytest

from agents.analysis.weakening.finding import make_finding
from agents.errors import ToolError, Unanswered
from agents.pipelines.stages.inspect_weakening import Inspection, inspect, put_back
from agents.pipelines.stages.weakening_text import ASKED, format_section, list_questions
from agents.text import publish

TEST = "def test_sum():\n    assert add(1, 1) == 2\n"
MORE = "\n\ndef test_zero():\n    assert add(0, 0) == 0\n"
FILES = {"lib.py": "def add(a, b): ...\n", "tests/test_lib.py": TEST + MORE}
YES = {"state": "approved", "decided_by": "mara"}
NO = {"state": "denied", "decided_by": "mara", "reason": "test_zero is needed"}


@pytest.fixture
def changed(make_world, request_):
    """A run whose head has these files, besides those of its base."""

    async def make(files, answers=(), without=(), **more):
        world = make_world(FILES, answers, **more)
        kept = {path: text for path, text in FILES.items() if path not in without}
        tree = world.history.tree({**kept, **files})
        head = world.history.commit(tree, world.base, "work")
        run = world.run(request_)
        run.context.standing = run.context.standing.model_copy(
            update={"base": world.base, "trunk": world.base, "start": world.base, "head": head}
        )
        return world, run

    return make


LESS = {"tests/test_lib.py": TEST}


async def test_honest_work_asks_nobody_and_says_nothing(changed, talk):
    approvals = talk.Approvals([])
    _, run = await changed({"tests/test_more.py": TEST}, approvals=approvals)

    inspection = await run.stage(inspect)

    assert inspection == Inspection(commit=run.head)
    assert inspection.accepted
    assert not inspection.denied
    assert inspection.section == ""
    assert approvals.askings == []


async def test_people_see_what_is_loosened_and_their_yes_is_written_down(changed, talk):
    approvals = talk.Approvals([YES])
    _, run = await changed(LESS, approvals=approvals)

    inspection = await run.stage(inspect)

    [asking] = approvals.askings
    assert asking.arguments == {
        "changes": "tests/test_lib.py:5: test removed: test_zero",
        "in all": "1",
    }
    assert (asking.rule, asking.head) == ("change/loosened", run.head)
    assert inspection.accepted
    assert inspection.section == (
        "**mara approved this (approval id1)**\n\n"
        "- `tests/test_lib.py:5`: test removed: `test_zero`"
    )


async def test_people_are_asked_about_tests_that_ran_no_more(changed, talk):
    approvals = talk.Approvals([YES])
    _, run = await changed({}, approvals=approvals)
    lost = make_finding("tests/cases.json", 0, "removed", "3 tests fewer ran (6 → 3) in tests")

    inspection = await run.stage(inspect, (lost,))

    [asking] = approvals.askings
    assert asking.arguments["changes"] == f"tests/cases.json: test removed: {lost.text}"
    assert inspection.accepted


async def test_an_expectation_is_pointed_out_and_asked_of_nobody(changed, talk):
    approvals = talk.Approvals([])
    new = {"tests/test_lib.py": TEST.replace("== 2", "== 3") + MORE}
    _, run = await changed(new, approvals=approvals)

    inspection = await run.stage(inspect)

    assert inspection.accepted
    assert approvals.askings == []
    assert inspection.section.startswith("To look at, though nobody was asked:\n\n- `tests/")
    assert "expectation changed: `assert add(1,1)==2 → assert add(1,1)==3`" in inspection.section


async def test_without_anybody_to_ask_it_is_not_approved(changed):
    _, run = await changed(LESS)

    inspection = await run.stage(inspect)

    assert not inspection.accepted
    assert not inspection.denied
    assert "**Not approved: nobody could be asked**" in inspection.section


async def test_nobody_answers_in_time(changed, talk):
    approvals = talk.Approvals([{"state": "expired"}])
    _, run = await changed(LESS, approvals=approvals)

    with pytest.raises(Unanswered, match="loosen tests or checks"):
        await run.stage(inspect)


async def test_a_word_that_no_longer_holds_is_no_yes(changed, talk):
    approvals = talk.Approvals([{"state": "void", "reason": "the branch moved"}])
    _, run = await changed(LESS, approvals=approvals)

    inspection = await run.stage(inspect)

    assert not inspection.accepted
    assert "no longer holds: the branch moved" in inspection.section


async def test_what_is_refused_is_put_back_and_nobody_is_asked_twice(changed, talk):
    approvals = talk.Approvals([NO])
    back = [
        [talk.use("write", path="tests/test_lib.py", content=TEST + MORE)],
        [talk.use("submit_fix", summary="It is there again.")],
    ]
    world, run = await changed(LESS, back, approvals=approvals)
    run.context.standing = run.context.standing.model_copy(
        update={"sessions": {"implement": "implement/1"}}
    )

    inspection = await run.stage(inspect)
    assert inspection.denied
    assert not inspection.accepted
    await run.stage(put_back, inspection)
    again = await run.stage(inspect, (), inspection)

    prompt = json.loads(world.model.asked[0]["messages"])[0]["content"]
    assert "# Put back\\n" in str(prompt)
    assert "tests/test_lib.py:5: test removed: test_zero" in str(prompt)
    assert "test_zero is needed" in str(prompt)
    assert world.history.commits[run.head][2].startswith("Put back what was not accepted\n")
    assert world.history.files(run.head) == FILES
    assert again.accepted
    assert again.section == ""
    assert len(approvals.askings) == 1


async def test_what_stays_away_after_a_no_stays_refused(changed, talk):
    approvals = talk.Approvals([NO])
    answers = [[talk.use("submit_fix", summary="It cannot be put back.")]]
    _, run = await changed(LESS, answers, approvals=approvals)
    run.context.standing = run.context.standing.model_copy(
        update={"sessions": {"implement": "implement/1"}}
    )

    inspection = await run.stage(inspect)
    await run.stage(put_back, inspection)
    again = await run.stage(inspect, (), inspection)

    assert not again.accepted
    assert len(approvals.askings) == 1
    assert "**Not approved: mara said no (approval id1): test_zero is needed**" in again.section


async def test_settings_are_read_whole(changed):
    before = "[tool.ruff]\nignore = ['A']\n"
    _, run = await changed({"pyproject.toml": before})

    inspection = await run.stage(inspect)

    assert [each.what for each in inspection.findings] == ["settings of checks changed"]


class Squeamish:
    """Approvals that show no question with a secret in it, as the real ones do."""

    def __init__(self, inner, secret):
        self.inner, self.secret = inner, secret

    async def ask(self, asking):
        if self.secret in json.dumps(asking.arguments):
            raise ToolError("it holds a secret")
        return await self.inner.ask(asking)

    def __getattr__(self, name):
        return getattr(self.inner, name)


async def test_a_line_that_must_not_be_shown_is_asked_about_by_count(changed, talk):
    inner = talk.Approvals([YES])
    new = {"tests/test_lib.py": TEST.replace("== 2", "in (1, 'ghs_1')") + MORE}
    _, run = await changed(new, approvals=Squeamish(inner, "ghs_1"))

    inspection = await run.stage(inspect)

    assert inner.askings[0].arguments == {
        "changes by file": "tests/test_lib.py: assertion weakened (1)",
        "in all": "1",
    }
    assert inspection.accepted


async def test_a_question_that_cannot_be_shown_at_all_is_not_approved(changed, talk):
    _, run = await changed(LESS, approvals=Squeamish(talk.Approvals([]), "in all"))

    inspection = await run.stage(inspect)

    assert not inspection.accepted
    assert "nobody could be asked: it holds a secret" in inspection.section


# --- words --------------------------------------------------------------------------------------


def make_findings(count, folders=1, text="x"):
    return [
        make_finding(f"d{n % folders}/tests/test_{n}.py", n, "removed", f"test_{n} {text}")
        for n in range(count)
    ]


def test_a_long_question_counts_and_hides_nothing():
    asked = list(list_questions(make_findings(400, text="y" * 150)))

    assert [next(iter(question)) for question in asked] == [
        "changes by file",
        "changes by folder",
        "changes by kind",
    ]
    assert asked[0]["changes by file"].count("\n") == 399
    assert asked[1]["changes by folder"] == "d0: test removed (400)"
    assert all(question["in all"] == "400" for question in asked)
    assert all(len(str(question)) < 2 * ASKED for question in asked)


def test_a_huge_question_is_asked_all_the_same():
    asked = list(list_questions(make_findings(9_000, folders=3_000)))

    assert asked == [{"changes by kind": "test removed (9000)", "in all": "9000"}] or all(
        len(str(question)) < 2 * ASKED for question in asked
    )
    assert asked[-1] == {"changes by kind": "test removed (9000)", "in all": "9000"}


def test_a_pull_request_names_the_first_and_counts_the_rest():
    text = format_section(make_findings(40), "mara approved this")

    assert text.count("test removed: `") == 20
    assert "- and 20 more:" in text
    assert "  - `d0/tests/test_39.py: test removed (1)`" in text


@pytest.mark.parametrize(
    "text",
    ["`x` @everyone", "fixes #9", "![i](https://evil.example/x.png)", "<!-- x", "a\n```\n/bot go"],
)
def test_what_stands_in_the_repository_acts_on_nothing(text):
    shown = format_section(
        [make_finding("tests/test_a.py", 1, "removed", text)], f"mara approved: {text}"
    )

    verdict, _, listed = shown.partition("\n\n")
    assert listed.count("`") == 4
    assert "@everyone" not in verdict
    assert "fixes #9" not in verdict
    assert "evil.example" not in verdict
    assert "\n" not in verdict
    assert publish(shown) == shown
