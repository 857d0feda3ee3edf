"""The life of an installation, from its webhooks on: labels, suspension, another name, the end."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager

import pytest

from app.store.installations import StoredInstallations, StoredLabels
from app.store.runs.runs import Runs
from tests.flows.approvals.test_approval_commands import RESET, questions, script
from tests.flows.conftest import LABEL
from tests.flows.scripted import SHORT
from tests.patience import PATIENCE

LABELS = {"bot:resolve", "bot:address", "bot:waiting"}
SLOW = {"bash": {"command": "sleep 60"}}


@pytest.fixture
def settled(make_place):
    """Return a place whose App hears of repositories, as app.yml has it."""

    @asynccontextmanager
    async def make(**given):
        async with make_place(**given) as place:
            [place.installation] = place.github.world.installations.values()
            yield place

    return make


async def wait_for_labels(place, repository):
    await place.wait_until(lambda: repository.labels.keys() >= LABELS)


async def wait_for_label_pass(place):
    """Wait until a pass over the repositories is done: it reads policies after the labels."""
    stored = StoredLabels(place.database())
    async with asyncio.timeout(PATIENCE):
        while await stored.list_due_installations(time.time()):
            await asyncio.sleep(0.02)


async def wait_for_record(read, name):
    async with asyncio.timeout(PATIENCE):
        while not getattr(await read(), name):
            await asyncio.sleep(0.02)


def at_work(place):
    """Tell whether the slow command runs: it is the first answer to this prompt."""
    return any(a.part == "# Implement step 1 of 1" and a.answered for a in place.model.requests)


def calls(place, since=0):
    """Return what was asked of GitHub since then, besides what the App asks about itself.

    A token that was used before may be given back at any moment.
    """
    asked = [(each.method, each.path) for each in place.github.requests[since:]]
    given_back = ("DELETE", "/api/v3/installation/token")
    return [each for each in asked if each != given_back and not each[1].startswith("/api/v3/app")]


async def ask_anew(place):
    """Have a run about another issue ask for a yes; return the question's id."""
    place.issue = await place.file("Sums are off", "`calc.add(2, 2)` gives 5.")
    place.model.play(script(RESET))
    await place.label()
    _, [ident] = await questions(place)
    await place.wait_for_parked()
    return ident


async def test_a_run_at_work_ends_with_a_suspension_and_one_that_waits_with_the_app(settled):
    async with settled(script=script(SLOW)) as place:
        await _find_labels(place)
        await place.label()
        await place.wait_until(lambda: at_work(place))
        said = len(place.issue.comments)
        await place.github.suspend(place.installation, place.people["mara"])
        outcome = await place.ends("cancelled")
        assert "the App was suspended" in outcome.text
        assert len(place.issue.comments) == said

        await place.github.unsuspend(place.installation)
        place.model.play(SHORT)
        await place.label_again("mara")
        runs = await place.all_over("cancelled", "done")
        assert len(runs) == 2
        assert len(place.pulls()) == 1

        # Where the App was removed, nothing is asked of GitHub any more.
        await ask_anew(place)
        await wait_for_label_pass(place)
        before = len(place.github.requests)
        await place.github.uninstall(place.installation, place.people["mara"])
        outcome = await place.ends("cancelled")
        assert "the App was taken away" in outcome.text
        assert calls(place, before) == []


async def _find_labels(place):
    """Labels are there soon after the App was given a repository."""
    await wait_for_labels(place, place.repository)  # installed before the server was there
    github, owner = place.github, place.repository.owner
    more = await github.create_repository(owner, "tools")
    theirs = github.create_label(more, LABEL, color="ff0000")
    await github.add_repositories(place.installation, [more], place.people["mara"])
    await wait_for_labels(place, more)
    assert more.labels[LABEL] is theirs
    assert theirs.color == "ff0000"
    assert more.labels["bot:address"].description


async def test_a_run_that_waits_outlives_a_suspension_an_archive_and_its_name(settled):
    async with settled(script=script(RESET)) as place:
        await place.label()
        _, [ident] = await questions(place)
        await place.wait_for_parked()
        stored, repository = StoredInstallations(place.database()), place.repository

        await place.github.suspend(place.installation, place.people["mara"])
        await wait_for_record(lambda: stored.installation(place.installation.id), "suspended_at")
        await place.github.unsuspend(place.installation)
        await place.github.archive_repository(repository)
        await wait_for_record(lambda: stored.repository(repository.id), "archived")
        await place.github.unarchive_repository(repository)

        await place.github.rename_repository(repository, "sums", place.people["mara"])
        imposter = await place.github.create_repository(repository.owner, "calc")
        await place.say("mara", f"/bot approve {ident}")
        assert (await place.wait_for_end()).kind == "pull_request"

        [pull] = place.pulls()
        assert pull.issue.repository.full_name == "octo-org/sums"
        assert not imposter.issues
        pushed = [path for method, path in calls(place) if path.endswith("git-receive-pack")]
        assert pushed
        assert all("/sums.git/" in path for path in pushed)
        database = place.database()
        assert len(await Runs(database).list_unfinished()) == 0

        # After a restart it goes on under another name too.
        ident = await ask_anew(place)
        await place.github.rename_account(repository.owner, "octo-two")
        await place.kill_and_restart()
        await place.say("mara", f"/bot approve {ident}")
        assert (await place.wait_for_end()).kind == "pull_request"
        pull = place.pulls()[-1]
        assert pull.issue.repository.full_name == "octo-two/sums"
        assert len(place.pulls()) == 2
