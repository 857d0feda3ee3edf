"""The check run "fettle": once for a commit, its annotations in portions, nobody blocked by it."""

from __future__ import annotations

import pytest

from app.github.checks.verdict import PlacedNote, Verdict, show_verdict
from app.github.transport import OutgoingText
from app.simulator.github.gitdir import GitDir
from tests.app.github.conftest import key, scene, signer

__all__ = ["key", "scene", "signer"]  # fixtures


@pytest.fixture
def show(scene):
    """Show a verdict on the newest commit; return its check runs as GitHub keeps them."""

    async def show(**changes):
        [head] = (await GitDir(scene.repository.gitdir).refs("refs/heads/main")).values()
        wording = OutgoingText(scene.github.urls, scene.request, scene.redactor)
        verdict = Verdict(**{"ready": True, "title": "Ready", "summary": "Checked."} | changes)
        await show_verdict(scene.github, scene.request, wording, head, verdict)
        return list(scene.repository.check_runs.values())

    return show


async def test_it_is_there_once_with_its_page(show):
    [run] = await show(url="https://fettle.example/runs/r1")
    assert (run.name, run.conclusion, run.status) == ("fettle", "success", "completed")
    assert run.details_url == "https://fettle.example/runs/r1"
    assert len(await show(title="Another")) == 1
    assert run.output["title"] == "Ready"


async def test_what_is_not_ready_blocks_nobody(show):
    [run] = await show(ready=False)
    assert run.conclusion == "neutral"


async def test_only_what_is_not_ready_offers_another_try(show, scene):
    [run] = await show(ready=False)
    number = scene.request.number
    [button] = run.buttons
    assert (button["label"], button["identifier"]) == ("Try again", f"retry:{number}")
    assert run.external_id == f"verdict/{number}"
    scene.repository.check_runs.clear()
    [run] = await show()
    assert run.buttons == []


async def test_many_notes_come_in_portions_that_github_takes(show):
    notes = [PlacedNote("a.py", n, "notice", "new address", f"h{n}.dev") for n in range(1, 121)]
    [run] = await show(notes=notes)
    assert run.annotations == 120


async def test_who_was_ended_between_two_portions_sends_only_the_rest(show):
    notes = [PlacedNote("a.py", n, "notice", "new address", f"h{n}.dev") for n in range(1, 121)]
    [run] = await show(notes=notes[:50])
    assert run.annotations == 50
    [run] = await show(notes=notes)
    assert run.annotations == 120
    [run] = await show(notes=notes)
    assert run.annotations == 120


async def test_hostile_words_do_nothing_there(show, scene):
    token = "ghp_" + "A1b2" * 9
    note = PlacedNote("a.py", 1, "warning", "x", f"@everyone {token}")
    [run] = await show(summary=f"@ada ![x](https://evil.example/{token}) Fixes #1", notes=[note])
    assert token not in run.output["summary"]
    assert "https://evil.example" not in run.output["summary"].replace("`", "")
    sent = [e.body for e in scene.server.requests if e.path.endswith("/check-runs")]
    assert sent
    assert not any(token.encode() in body for body in sent)
