"""A run asks on its issue, people answer in comments, and the same session goes on."""

from __future__ import annotations

import asyncio
import re

import yaml

from app.store.runs.approvals import StoredApprovals
from tests.flows.conftest import SCRIPT, write_policy
from tests.flows.keeping import ONE_LOOP
from tests.flows.scripted import CURE, SHORT_PARTS, step, usual

pytestmark = ONE_LOOP

ID = re.compile(r"/bot approve ([a-z0-9]+)`")
RESET = {"bash": {"command": "git reset --hard HEAD~1 || echo could not"}}
SHIP = {"bash": {"command": "printf yes > shipped.txt"}}
POLICY = yaml.safe_dump({"ask": [{"command": "printf yes*", "reason": "It ships."}]})


def script(*calls):
    """Return the short script, its step making these calls at once before it edits."""
    return usual(*SHORT_PARTS, step(list(calls), CURE))


async def questions(place, number=1):
    """Wait until so many questions are asked; return the comments and the ids, in order."""

    def list_questions():
        return [comment for comment in place.issue.comments if ID.search(comment.body)]

    await place.wait_until(lambda: len(list_questions()) >= number)
    return list_questions(), [ID.search(comment.body)[1] for comment in list_questions()]


async def say(place, who, body):
    return await place.github.comment(place.repository, place.issue.number, place.people[who], body)


async def state(place, ident):
    return await StoredApprovals(place.database()).get(ident)


def progress(place):
    [body] = [body for body in place.comments() if "key=progress" in body]
    return body


async def test_a_yes_of_who_may_write_lets_the_call_run_and_the_run_go_on(share_place):
    """Two calls are two questions, one comment may answer both; a no reaches the model, and why."""
    files = write_policy(POLICY)
    async with share_place(files=files, script=script(RESET, SHIP)) as place:
        await place.label()
        [question, other], [first, second] = await questions(place, 2)
        assert RESET["bash"]["command"] in question.body
        assert "`It ships.` (rule `policy/ask/1`;" in other.body
        await place.wait_until(lambda: "**Waiting for a decision.**" in progress(place))
        assert any(f"#issuecomment-{each.id})" in progress(place) for each in (question, other))
        await refuse_who_may_not_write(place, first)
        asked = len(place.model.requests)

        said = await say(place, "mara", f"Go on.\n\n/bot approve {first}")
        await asyncio.sleep(0.5)
        assert not place.pulls()
        assert (await state(place, second)).state == "waiting"
        await say(place, "mara", f"/bot deny {second} not before Monday\n/bot approve {first}")
        assert (await place.wait_for_end()).kind == "pull_request"

        assert len(place.model.requests) > asked
        assert "**Approved** by `mara`" in question.body
        assert RESET["bash"]["command"] in question.body
        assert [(face.user.login, face.content) for face in said.reactions] == [
            ("fettle[bot]", "+1")
        ]
        assert "**Done.**" in progress(place)
        assert (await state(place, first)).used_at is not None
        assert (await state(place, first)).state == "approved"
        assert (await state(place, second)).state == "denied"
        heard = await place.read_results("implement/1")
        assert "could not" in heard
        assert "mara denied this: not before Monday" in heard
        assert "**Denied** by `mara`" in other.body
        [pull] = place.pulls()
        assert len(await place.commits(pull)) == 1


async def refuse_who_may_not_write(place, ident):
    """See that others decide nothing, and that each of them is told why once."""
    for sender in ("eve", "jonas", "jonas"):
        said = await say(place, sender, f"/bot approve {ident}")
        await place.wait_until(lambda said=said: said.reactions)
        assert [face.content for face in said.reactions] == ["confused"]

    def refusals():
        return [body for body in place.comments() if "takes write access" in body]

    await place.wait_until(lambda: len(refusals()) == 2)
    assert (await state(place, ident)).state == "waiting"
    assert not place.pulls()


PROTECTED = "protected_paths: [migrations/]"


def write_script(folder):
    """Return the script of a run whose plan needs a protected path, and which changes it."""
    acts = yaml.safe_load(SCRIPT.read_text("utf-8"))
    turns = {act["when"]: act["turns"] for act in acts}
    turns["# Plan the steps"][0]["call"][0]["submit_plan"]["needs"] = ["migrations/*.sql"]
    write = {"write": {"path": "migrations/2.sql", "content": "select 2;\n"}}
    turns["# Implement step 1 of 2"].insert(0, {"call": [write]})
    file = folder / "script.yml"
    file.write_text(yaml.safe_dump(acts))
    return file


async def test_one_comment_grants_what_the_plan_needs(share_place, tmp_path):
    """A plan that needs something asks once; one comment grants it, for this run."""
    files = write_policy(PROTECTED) | {"migrations/1.sql": "select 1;\n"}
    async with share_place(files=files, script=write_script(tmp_path)) as place:
        await place.label()
        await place.wait_for_parked()
        asked = await place.wait_for_comment("/bot approve ")
        assert "migrations/*.sql" in asked
        assert "Add without one too many: In calc.py" in asked
        await place.kill_and_restart()  # who waits loses nothing
        command = re.search(r"/bot approve \w+(?: \w+)?", asked)[0]
        await place.say("mara", command)
        outcome = await place.ends("pull_request")

        [pull] = place.pulls()
        assert outcome.ready
        assert await place.show(pull.head_sha, "migrations/2.sql") == "select 2;\n"
        assert "- `migrations/*.sql`: used" in pull.issue.body
        assert len([body for body in place.comments() if "/bot approve " in body]) == 1
