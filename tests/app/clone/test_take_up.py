"""A run on a clone that failed or was cut short: it is kept, goes on, or makes room for another."""

from __future__ import annotations

import asyncio
import json
import os
import stat

import pytest

from agents.errors import Cancelled, ConfigError
from app.clone.run import ONCE_MORE, RESUMES, CloneRequest
from tests.app.clone.conftest import DOCS, GOOD, JUDGE, PLAN, PULL, ROOT, STEP, TRIAGE, git
from tests.fakes.requests import build_remediate_alert


async def test_a_run_that_fails_keeps_its_commits_and_its_conversation(bench, calc):
    await bench.play(
        (TRIAGE, PLAN, STEP, JUDGE, DOCS)
    )  # to the rest the model answers with an error

    done = await bench.resolve(calc)

    assert done.exit_code == 1
    assert done.branch.startswith("bot/unfinished-")
    assert git(calc, "rev-parse", done.branch) == done.commits[-1][0]
    assert done.branch in done.text
    [kept] = bench.list_folders()
    assert done.kept == kept
    assert str(kept) in done.text
    assert {path.name for path in kept.iterdir()} >= {"run.db", "run.log"}
    assert {stat.S_IMODE((kept / name).stat().st_mode) for name in ("run.db", "run.log")} == {0o600}
    assert "outcome=failed" in (kept / "run.log").read_text()

    await bench.play(GOOD)  # what failed is over: the same question begins anew
    again = await bench.resolve(calc)
    assert again.exit_code == 0, again.text
    assert bench.told[-2:] == [ONCE_MORE + RESUMES, bench.told[-1]]
    assert bench.told[-1].startswith("Working on")
    assert bench.list_folders() == [kept]
    [done] = bench.list_done()
    assert done.name == f"done-{again.run_id}"
    assert not (done / "mirror.git").exists()


async def test_a_run_that_failed_goes_on_where_it_failed_and_pays_nothing_twice(bench, calc):
    with pytest.raises(ConfigError, match="none can go on"):
        await bench.resolve(calc, again="resume")
    await bench.play((TRIAGE, PLAN, STEP, DOCS))  # the judge's server answers with an error
    failed = await bench.resolve(calc)
    assert (failed.exit_code, bench.list_folders()) == (1, [failed.kept])
    asked = len(bench.model.requests)
    still = await bench.resolve(calc, again="resume")
    assert still.exit_code == 1, "what is still wrong fails again"
    assert len(bench.model.requests) == asked + 1, "the judge alone was asked"

    await bench.play(GOOD)
    done = await bench.resolve(calc, again="resume")

    assert done.exit_code == 0, done.text
    assert {each.part for each in bench.model.requests} == {"# Evaluate", PULL["when"]}
    assert done.run_id == f"{failed.run_id}-3"
    assert bench.told[-1].startswith("Going on with the failed run at")
    assert [path.name for path in bench.list_done()] == [f"done-{failed.run_id}"]
    assert f"Branch `{done.branch}` at commit `{done.commits[-1][0][:12]}`" in done.text
    assert f"Run `{done.run_id}`" in done.text
    told = json.loads(done.json())
    assert (told["run"], told["commit"]) == (done.run_id, done.commits[-1][0])


async def test_a_run_that_was_cut_short_can_be_left_for_a_new_one(bench, calc):
    await bench.play(GOOD, latency=0.2)
    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(1.0, stop.set)
    with pytest.raises(Cancelled):
        await bench.resolve(calc, stop=stop)
    [left] = bench.list_folders()
    await bench.play(GOOD)

    done = await bench.resolve(calc, again="fresh")

    assert done.exit_code == 0, done.text
    assert [path.name for path in bench.list_folders()] == [f"failed-{left.name}"]


async def test_runs_retry_takes_up_a_run_on_a_clone_from_a_stage_on(bench, calc):
    async def retry(folder, *more):
        return await bench.call(folder, "runs", "retry", *more)

    await bench.play((TRIAGE, PLAN, STEP, DOCS))  # the judge's server answers with an error
    failed = await bench.resolve(calc)
    ident = failed.run_id
    await bench.play(GOOD)

    elsewhere = await retry(bench.place, ident)
    assert elsewhere.code == 2
    assert "Traceback" not in elsewhere.err

    done = await retry(calc, ident, "--from", "implement", "--json")
    assert done.code == 0, done.err
    assert done.json["run"] == f"{ident}-2"
    asked = {each.part for each in bench.model.requests}
    assert asked == {STEP["when"], DOCS["when"], JUDGE["when"], PULL["when"]}

    told = await retry(calc, f"{ident}-2", "--from", "implement")
    assert told.code == 2
    assert "ended well" in told.err
    git(calc, "commit", "-q", "--allow-empty", "-m", "second")
    moved = await retry(calc, f"{ident}-2")
    assert moved.code == 2
    assert "another clone or another commit" in moved.err


async def test_whoever_sits_at_the_terminal_is_asked_whether_it_goes_on(bench, calc):
    await bench.play((TRIAGE, PLAN, STEP, DOCS))  # the judge's server answers with an error
    failed = await bench.resolve(calc)
    await bench.play(GOOD)
    keyboard, terminal = os.openpty()
    try:
        os.write(keyboard, b"go\n")
        typed = os.ttyname(terminal)
        done = await bench.call(ROOT, "resolve", calc, "--issue", bench.issue(), typed=typed)
    finally:
        os.close(keyboard)
        os.close(terminal)
    assert done.code == 0, done.err
    assert "Go on there, or begin anew?" in done.err
    assert f"Run `{failed.run_id}-2`" in done.out, "an output that is piped names the run, too"
    assert {each.part for each in bench.model.requests} == {"# Evaluate", PULL["when"]}


async def test_what_cannot_be_resumed_says_nothing_of_resuming(bench):
    """`fettle remediate` has no such option: it looks at the alerts as they are now."""
    wish = CloneRequest("Mend it", "", bench.told.append, None, request=build_remediate_alert())
    assert await wish.choose_again() == "fresh"
    assert bench.told == [ONCE_MORE]
