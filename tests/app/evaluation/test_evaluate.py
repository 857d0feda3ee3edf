"""`fettle eval` as a person runs it: what counts as solved, what it prints, how it ends."""

from __future__ import annotations

import asyncio
import json

import pytest
from aiohttp import ClientSession, web

from app.simulator.model import LocalModel
from app.simulator.model.script import Script
from tests.app.clone.conftest import GOOD, WORDS, part
from tests.app.evaluation.conftest import (
    ABOUT,
    CURE,
    HIDDEN,
    MARKER,
    fettle_eval,
    fork_eval,
    make_case,
    results,
    step,
)
from tests.app.git.conftest import git

LOOSE = {
    "write": {
        "path": "tests/test_sign.py",
        "content": "def test_positive():\n    pass\n\n\ndef test_sum():\n    pass\n",
    }
}
NOTHING = part(
    "# Triage",
    {"submit_triage": {"decision": "decline", "kind": "bug", "reasoning": "No.", "detail": "No."}},
)
DRAFT = part("# Write the draft pull request", {"submit_pull_request": WORDS})
KEPT = part("# Put back", {"submit_fix": {"summary": "I would rather not."}})
ASKS = {"bash": {"command": "touch calc.py"}}
GREEN_ALREADY = ABOUT | {"judge": ABOUT["judge"] | {"must_pass": ["test_sign::test_positive"]}}


@pytest.fixture(scope="module")
def evaluated(session_place):
    """One evaluation of many cases, most of which end badly."""
    cases = session_place / "cases"
    make_case(cases / "idle", [NOTHING])
    make_case(cases / "cheat", [*step(ASKS, LOOSE), KEPT, DRAFT])
    make_case(cases / "green", [*GOOD], GREEN_ALREADY)
    make_case(cases / "mute")
    (make_case(cases / "typo", [*GOOD]) / "case.yml").write_text("sauce: {folder: source}\n")
    return fork_eval(session_place, cases, "--script", "--json", "--jobs", 2)


def test_without_a_pull_request_nothing_is_solved(evaluated):
    idle = results(evaluated[1])["idle"]
    assert (idle["state"], idle["outcome"]) == ("not solved", "comment")
    assert idle["why"][0].startswith("no pull request: ")


def test_whoever_edits_the_tests_has_not_solved_it(evaluated):
    cheat = results(evaluated[1])["cheat"]
    assert cheat["state"] == "not solved"
    assert cheat["failing_checks"] == [], "its own view of the tests is green"
    assert "hidden tests fail: `test_sum::test_sum`" in cheat["why"]


def test_what_wants_a_yes_is_denied_and_the_run_goes_on(evaluated):
    cheat = results(evaluated[1])["cheat"]
    assert (cheat["denied"], cheat["outcome"]) == (2, "pull_request")
    assert "wanted a person's yes: 2" in evaluated[2]


def test_broken_cases_say_why_and_stop_no_other(evaluated):
    code, out, _ = evaluated
    found = results(out)
    assert code == 2
    assert {name for name, each in found.items() if each["state"] == "broken"} == {
        "green",
        "mute",
        "typo",
    }
    assert "passes before anything was changed" in found["green"]["why"][0]
    assert "script.yml" in found["mute"]["why"][0]
    assert "- source: Field required\n" in found["typo"]["why"][0]
    assert "- sauce: Extra inputs are not permitted" in found["typo"]["why"][0]


def test_the_total_adds_up(evaluated):
    told = json.loads(evaluated[1])
    total, single = told["total"], told["results"]
    assert told["model"] == "script"
    assert (total["attempts"], total["solved"], total["broken"]) == (5, 0, 3)
    assert total["turns"] == sum(each["turns"] for each in single)
    assert total["usd"] == pytest.approx(sum(each["usd"] for each in single), abs=0.001)


def test_the_table_has_a_row_for_each_and_a_total(evaluated):
    rows = {line.split()[0]: line for line in evaluated[2].splitlines() if line.strip()}
    assert rows["case"].split() == [
        *("case", "solved", "cost", "turns", "minutes", "from", "cache", "draft", "why")
    ]
    assert rows["idle"].split()[:2] == ["idle", "no"]
    assert rows["cheat"].split()[:2] == ["cheat", "no"]
    assert rows["green"].split()[:2] == ["green", "?"]
    assert rows["total"].split()[:2] == ["total", "0/5"]


# --- what a run gets to see ---------------------------------------------------------------------

SEARCH = (
    "grep -rhs 'seen-by-''all' . ; grep -rhs 'hidden-''4f1c7a' . /tmp /home /git /run /report /etc;"
    " git log --all -p | grep 'hidden-''4f1c7a'; git cat-file --batch-all-objects --batch-check"
    " --unordered | cut -d' ' -f1 | git cat-file --batch | grep -a 'hidden-''4f1c7a'; ls / ; true"
)


async def test_a_real_model_solves_it_without_ever_seeing_the_hidden_tests(place):
    script = step({"bash": {"command": SEARCH}}, CURE)
    make_case(place / "cases" / "calc")
    model = await LocalModel.start(Script.model_validate(script))
    bodies = []

    async def passed_on(request):
        bodies.append(await request.read())
        headers = {k: v for k, v in request.headers.items() if k.lower() != "host"}
        target = model.url + request.path_qs
        async with (
            ClientSession() as session,
            session.post(target, data=bodies[-1], headers=headers) as answer,
        ):
            kind = answer.headers["content-type"]
            return web.Response(
                body=await answer.read(), status=answer.status, headers={"content-type": kind}
            )

    application = web.Application(client_max_size=10**8)
    application.router.add_post("/{path:.*}", passed_on)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        code, out, err = await asyncio.to_thread(
            fettle_eval, place, place / "cases", "--yes", "--json", ANTHROPIC_BASE_URL=url
        )
    finally:
        await runner.cleanup()
        await model.stop()

    [result] = json.loads(out)["results"]
    assert (code, result["state"]) == (0, "solved"), err
    _check_solved(result)
    assert "1 case, with claude" in err
    assert "at the very most" in err
    said = b"\n".join(bodies)
    assert b"seen-by-all" in said, "the search finds what is there"
    assert b"test_sum" not in said
    assert MARKER.encode() not in said
    assert MARKER in HIDDEN["tests/test_sum.py"]
    repository = f"{result['kept']}/calc"
    branch = git(repository, "log", "-p", "--format=%B", result["branch"])
    assert "seen-by-all" in branch
    assert MARKER not in branch
    assert git(repository, "log", "--all", "--oneline", "--", "tests/test_sum.py") == ""
    data = [path for path in (place / "data/evaluation/runs").rglob("*") if path.is_file()]
    assert not [path for path in data if MARKER.encode() in path.read_bytes()]


def _check_solved(result):
    assert result["tests"] == {"test_sum::test_sum": {"before": "failed", "after": "passed"}}
    assert (result["outcome"], result["draft"], result["lost"]) == ("pull_request", False, [])
    assert result["turns"] >= 8
    assert result["usd"] > 0
    assert 0 < result["cache_read_share"] < 1
    assert "Plan the steps" in result["stages"]
    assert (result["failed_stage"], result["failing_checks"], result["denied"]) == (None, [], 0)


# --- before money is spent ----------------------------------------------------------------------


def test_without_a_model_it_says_what_to_set(place):
    make_case(place / "calc")
    code, out, err = fettle_eval(place, place / "calc")
    assert (code, out) == (2, "")
    assert "Set ANTHROPIC_API_KEY" in err
    assert "`--script`" in err


def test_it_spends_nothing_when_nobody_can_be_asked(place):
    make_case(place / "calc")
    code, out, err = fettle_eval(
        place, place / "calc", "--repeat", 3, ANTHROPIC_API_KEY="k", FETTLE_RUN_BUDGET_USD="2"
    )
    assert (code, out) == (2, "")
    assert "1 case, 3 attempts at each" in err
    assert "$6.00 at the very most" in err
    assert "Say `--yes`" in err
    assert not (place / "data").exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [(("calc", "--case", "nope"), "no case `nope`"), (("nowhere",), "There is no case in")],
)
def test_a_case_that_is_not_there_is_told(place, args, said):
    make_case(place / "calc")
    code, _, err = fettle_eval(place, place / args[0], *args[1:], "--script")
    assert code == 2
    assert said in err
