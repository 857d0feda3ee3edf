"""Once outsiders were heard, what carries something out is asked."""

from __future__ import annotations

from agents.policy import POLICY_PATH
from tests.agents.loop.consent_scene import FILES, NO, list_results, script
from tests.fakes.external import MemoryWeb

LISTED = {**FILES, POLICY_PATH: FILES[POLICY_PATH] + "web: {hosts: [docs.example.org]}\n"}
CARRIES = "https://docs.example.org/q?" + "a" * 64


async def test_once_outsiders_were_heard_what_carries_something_out_is_asked(
    make_world, request_, talk
):
    """The second fetch is asked although the first was not: the session had read a page by then."""
    use, approvals = talk.use, talk.Approvals([NO, NO])
    fetch = use("webfetch", url=CARRIES)
    world = make_world(LISTED, script(use, [fetch], [fetch]), approvals=approvals)
    world.web = MemoryWeb(text=None)

    await world.resolve(request_)

    assert [asking.rule for asking in approvals.askings] == ["web/carries"]
    assert "Nothing is there." in list_results(world)[0][0]["content"]
    assert "denied" in list_results(world)[1][0]["content"]


async def test_it_holds_for_the_stages_after_it(make_world, request_, talk):
    use, approvals = talk.use, talk.Approvals([NO])
    fetch = use("webfetch", url=CARRIES)
    answers = script(use, [fetch])
    answers.insert(0, [fetch])
    world = make_world(LISTED, answers, approvals=approvals)
    world.web = MemoryWeb(text=None)

    await world.resolve(request_)

    assert [asking.stage for asking in approvals.askings] == ["implement/1"]


async def test_a_request_of_somebody_who_may_not_write_is_heard_from_the_start(
    make_world, request_, talk
):
    use, approvals = talk.use, talk.Approvals([NO])
    answers = script(use)
    answers.insert(0, [use("webfetch", url=CARRIES)])
    world = make_world(LISTED, answers, approvals=approvals)
    world.web = MemoryWeb(text=None)
    world.tainted = True

    await world.resolve(request_)

    assert [asking.stage for asking in approvals.askings] == ["triage/1"]
