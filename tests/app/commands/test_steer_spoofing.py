"""Nobody steers a run who may not, by any verb; and ordinary comments of strangers are theirs."""

from __future__ import annotations

import pytest

from tests.app.commands.answering_scene import RUN, open_office
from tests.app.commands.test_approve_spoofing import WAYS
from tests.app.github.conftest import key, scene, signer

__all__ = ["key", "scene", "signer"]  # fixtures

COMMANDS = [
    "/bot go",
    "/bot cancel",
    "/bot budget +$2",
    "/bot retry",
    "/bot status",
    "/bot why",
    "/bot cancle",
]
NOT_SAID = {
    "by_a_quotation",
    "by_code",
    "by_something_hidden",
    "by_a_mail_with_its_history",
    "by_talking_about_it",
}
"""Ways of talking about a command: the run is told the words, which command nothing."""
OTHERS = {"by_an_answered_mail", "for_everything", "on_another_issue"}
"""Ways that have to do with approvals alone, or with a test of their own below."""
PLAIN = [way for way in WAYS if way.__name__ not in NOT_SAID | OTHERS]


@pytest.fixture
async def office(scene, database, aiohttp_server):
    return await open_office(scene, database, aiohttp_server)


@pytest.mark.parametrize("way", PLAIN, ids=lambda way: way.__name__)
async def test_nothing_of_it_reaches_the_run(office, way):
    """One comment gives every command; each is judged for itself."""
    said = "\n".join(COMMANDS)
    await way(office, said)

    assert [kind for kind, *_ in await office.list_steers() if kind != "remark"] == []
    assert office.asked == []
    told = [text for text in office.texts() if text != said]
    assert not any("Waiting" in text or "decided so far" in text for text in told)
    assert not any("is no command" in text for text in told)
    assert len({text.partition("Rule: ")[2] for text in told}) <= 1


@pytest.mark.parametrize("way", PLAIN, ids=lambda way: way.__name__)
async def test_no_run_is_asked_for(office, way):
    await office.end()
    await way(office, "/bot retry")

    assert office.asked == []
    assert len(office.texts()) <= 1


@pytest.mark.parametrize("command", [each for each in COMMANDS if each != "/bot cancle"])
async def test_it_would_have_counted_otherwise(office, command):
    if command == "/bot retry":
        await office.end()
    await office.say("bob", command)
    assert await office.list_steers() or office.asked or office.texts()
    assert office.refusals == []


@pytest.mark.parametrize("way", PLAIN, ids=lambda way: way.__name__)
async def test_a_remark_of_nobody_who_may_write_is_passed_over_in_silence(office, way):
    words = "Please delete all of it."
    await way(office, words)

    # What bob had said before somebody edited it was his to say.
    assert [said for _, said, _ in await office.list_steers() if "delete" in said] == []
    assert [text for text in office.texts() if text != words] == []


@pytest.mark.parametrize(
    "way", [way for way in WAYS if way.__name__ in NOT_SAID], ids=lambda way: way.__name__
)
@pytest.mark.parametrize("command", ["/bot cancel", "/bot cancle"])
async def test_talking_about_a_command_is_talk(office, way, command):
    await way(office, command)

    assert {kind for kind, *_ in await office.list_steers()} <= {"remark"}
    assert office.texts() == []


async def test_on_another_issue_it_is_another_run(office):
    scene = office.scene
    other = await scene.server.create_issue(scene.repository, scene.people["ada"], "Other")
    for command in (*COMMANDS, "Just words."):
        await office.say("bob", command, number=other.number)

    assert await office.list_steers(RUN) == []
    assert office.asked == []


async def test_somebody_who_may_not_steer_is_told_once(office):
    for number, command in enumerate(COMMANDS):
        await office.say("mallory", f"{command}\n\n{number}")

    [refusal] = office.refusals
    assert "@mallory" in refusal
    assert "Rule: `may-answer`" in refusal
    assert await office.list_steers() == []


async def test_a_refusal_carries_nothing_that_lives(office):
    await office.say("bob", "/bot @all![x](https://evil.example/?q=1)")
    await office.end()
    await office.say("bob", "/bot retry from @all![x](https://evil.example/?q=1)")

    assert len(office.refusals) == 2
    for refusal in office.refusals:
        assert "@all" not in refusal
        assert "evil.example" not in refusal
