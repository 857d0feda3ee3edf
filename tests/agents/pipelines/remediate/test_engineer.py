"""Where the ladder ends an engineer goes on; code checks the manifests and versions it claims."""

import json

import pytest

from agents.errors import BudgetExceeded, ModelRefused
from agents.pipelines.registry import PIPELINES
from agents.pipelines.remediate.ladder import Stuck, Unfit
from agents.ports import SetupCommand, SetupResult
from agents.remediation import result_of
from tests.agents.pipelines.remediate.conftest import STUCK, alert, engineers, lock


def make_setup(*commands, code=0):
    """Return a set-up by these commands, which ended so."""
    made = (SetupCommand(command=c, exit_code=code, seconds=1, output="") for c in commands)
    return SetupResult(source="found", commands=tuple(made))


async def test_where_the_ladder_ends_an_engineer_goes_on_and_a_judge_looks(scene, acts):
    answers = [*engineers(acts), acts.stands(), acts.sums_up()]
    place = scene(answers, needs=STUCK)

    outcome = await place.run()

    assert result_of(outcome.rule) == "fixed", outcome.text
    first = place.prompt(0)
    assert "Level 3: " in first, "it is told why each rung was not enough"
    assert "reach: yes. The code imports it" in first
    assert "An engineer (a model) changed the dependency files" in place.pull.body
    assert "Every copy of jinja2 (3.1.4) is outside" in place.told, "the same checks by code"
    assert "By a fresh model session" in place.pull.body
    assert "*A model's summary:* The bound was in the way, so it was moved" in place.pull.body


@pytest.mark.parametrize("error", [BudgetExceeded("$5 are used up"), ModelRefused("declined")])
async def test_a_fix_that_was_verified_is_published_without_a_models_summary(scene, acts, error):
    place = scene([*engineers(acts), acts.stands(), error], needs=STUCK)

    outcome = await place.run()

    assert result_of(outcome.rule) == "fixed", outcome.text
    assert "A model's summary" not in place.pull.body


async def test_the_judge_never_sees_what_the_engineer_said(scene, acts):
    said = "Trust me: everything about this was proved beyond doubt."
    answers = [engineers(acts)[0], acts.change(summary=said), acts.stands(), acts.sums_up()]
    place = scene(answers, needs=STUCK)

    await place.run()

    judged = place.world.model.asked[2]
    assert said not in judged["messages"]
    assert judged["model"] == "wise"
    assert '-{"flask"' in json.loads(judged["messages"])[0]["content"][0]["text"], "the diff"


async def test_an_engineer_who_claims_a_fix_and_did_nothing_is_not_believed(scene, acts):
    answers = [acts.change(), acts.skip("flask admits nothing newer.")]
    place = scene(answers, needs=STUCK)

    outcome = await place.run()

    assert place.refusal(1) == "No file changed, so nothing was fixed."
    assert result_of(outcome.rule) == "fix_failed"
    assert "flask admits nothing newer" in outcome.text
    assert not place.pushed


async def test_who_goes_on_claiming_ends_as_a_failed_fix(scene, acts):
    place = scene([acts.change(summary=f"Done {n}.") for n in range(10)], needs=STUCK)

    outcome = await place.run()

    assert result_of(outcome.rule) == "fix_failed"
    assert not place.pushed


SAME = lock(flask="3.0.3", jinja2="3.1.3", evil="1")


@pytest.mark.parametrize(
    ("written", "version", "fault"),
    [
        (("app.py", "x = 1\n"), "3.1.4", "Only manifests and lock files may change in this stage"),
        (("lock.json", SAME), "", "still in a vulnerable range"),
        (("lock.json", SAME), "3.1.4", "flask 3.0.3 does not admit jinja2"),
        (("lock.json", SAME), "3.1.4 --index-url x", "3.1.4 --index-url x is no version"),
        (("lock.json", lock(flask="4.0.0", jinja2="3.1.4")), "3.1.4", "another major version"),
        (("lock.json", lock(jinja2="3.0.0")), "3.0.0", "back to an older version"),
        (
            (
                "lock.json",
                json.dumps({"versions": {"jinja2": "3.1.4"}, "source": {"jinja2": "evil.example"}}),
            ),
            "3.1.4",
            "would come from evil.example instead of",
        ),
        (
            (
                "lock.json",
                json.dumps({"versions": {"jinja2": "3.1.4"}, "hashes": {"jinja2": []}}),
            ),
            "3.1.4",
            "has no hash in the lock file",
        ),
    ],
)
async def test_what_code_finds_wrong_goes_back_to_the_engineer(
    scene, acts, written, version, fault
):
    path, content = written
    answers = [
        [*acts.write("wants.json", "{}"), *acts.write(path, content)],
        acts.change(version),
        RuntimeError("asked again"),
    ]
    place = scene(answers, needs=STUCK)

    with pytest.raises(RuntimeError, match="asked again"):
        await place.run()

    assert fault in place.refusal(2)
    [tree] = place.world.source.opened
    assert tree.files[path] == content, "what was made is left as it was, to go on from"


async def test_the_lock_file_is_made_anew_from_the_manifests_that_an_engineer_changed(scene, acts):
    answers = [
        acts.write("wants.json", json.dumps({"jinja2": ["3.1.4", "3.1.5"]})),
        acts.change("3.1.5"),
        acts.stands(),
        acts.sums_up(),
    ]
    files = {"lock.json": lock(jinja2="3.1.3")}
    releases = {"jinja2": ["3.1.3", "3.1.5"]}
    place = scene(answers, files=files, wants={"jinja2": ["3.1.2", "3.1.3"]}, releases=releases)

    async def refuse_resolve(*_, **__):
        raise Stuck("It is held back.")

    place.index.require = refuse_resolve
    outcome = await place.run()

    assert result_of(outcome.rule) == "fixed", outcome.text
    assert json.loads(place.files["lock.json"])["versions"]["jinja2"] == "3.1.5"
    assert place.world.publisher.pulls[place.pull.branch].title.endswith("from 3.1.3 to 3.1.5")


async def test_an_engineers_fix_that_brings_in_an_advisory_goes_back(scene, acts):
    place = scene([*engineers(acts), RuntimeError("asked again")], needs=STUCK)
    place.world.alerts.database = (alert("= 3.1.4", 0, ghsa="GHSA-new1-new1-new1"),)

    with pytest.raises(RuntimeError, match="asked again"):
        await place.run()

    assert "GHSA-new1-new1-new1 affect" in place.refusal(2)


async def test_files_that_the_ladder_cannot_read_are_an_engineers_too(scene, acts):
    files = {"go.mod": "require example.com/jinja2 v3.1.3\n"}
    answers = [
        acts.write("go.mod", "require example.com/jinja2 v3.1.4\n"),
        acts.change("v3.1.4"),
        acts.stands(),
        acts.sums_up(),
    ]
    place = scene(answers, files=files, known=False)
    place.world.source.installed = make_setup("go mod download")
    alerts = [alert(ecosystem="go", manifest="go.mod")]
    place.world.alerts.advisories = tuple(alerts)

    outcome = await place.run(ecosystem="go")

    assert result_of(outcome.rule) == "fixed", outcome.text
    assert "shown by the changed files" in outcome.report
    said = "`go mod download` found a solution of what `go.mod` asks for (exit code 0)."
    assert said in place.told


@pytest.mark.parametrize(
    ("setup", "why"),
    [((), "its tool did not run here"), (("mvn test",), "`mvn test` ended with exit code 1")],
)
async def test_a_manifest_whose_tool_found_no_solution_is_never_published(scene, acts, setup, why):
    """Before the change it did: so a model is asked, and its word is not enough."""
    answers = [acts.write("pom.xml", "<version>3.1.4</version>"), acts.change()]
    place = scene(answers, files={"pom.xml": "<version>3.1.3</version>"}, known=False)
    place.world.alerts.advisories = (alert(ecosystem="maven", manifest="pom.xml"),)
    results = iter([make_setup("mvn --batch-mode test")])

    async def set_up(base, policy, image=None, *, own=False):
        place.world.source.bases.append(base)
        return next(results, make_setup(*setup, code=1))

    place.world.source.set_up = set_up
    outcome = await place.run(ecosystem="maven", max_iterations=1)

    assert result_of(outcome.rule) == "verify_failed"
    assert why in outcome.text
    assert not place.pushed


async def test_where_no_command_could_prove_a_manifest_no_model_is_asked(scene):
    place = scene(files={"pom.xml": "<version>3.1.3</version>"}, known=False)
    about = {"first_patched": "3.1.4", "ecosystem": "maven", "manifest": "pom.xml"}
    place.world.alerts.advisories = (alert().model_copy(update=about),)

    outcome = await place.run(ecosystem="maven")

    assert result_of(outcome.rule) == "by_hand"
    assert "its tool did not run here" in outcome.text
    assert "-DdepVersion=3.1.4" in outcome.text, "the recipe names the version"
    assert "`jinja2` has to be at 3.1.4 or newer" in outcome.text
    assert place.world.model.asked == []


@pytest.mark.parametrize(
    ("version", "fault"),
    [
        ("3.1.3", "3.1.3 is in a vulnerable range"),
        ("3.1.9", "stands in none of the changed files"),
        ("not a version!", "is no version"),
        ("", "is no version"),
    ],
)
async def test_a_version_that_is_only_claimed_is_not_believed(scene, acts, version, fault):
    files = {"go.mod": "require example.com/jinja2 v3.1.3\n"}
    change = acts.write("go.mod", "require example.com/jinja2 v3.1.4\n")
    place = scene([change, acts.change(version), RuntimeError("again")], files=files, known=False)
    place.world.source.installed = make_setup("go mod download")
    place.world.alerts.advisories = (alert(ecosystem="go", manifest="go.mod"),)

    with pytest.raises(RuntimeError, match="again"):
        await place.run(ecosystem="go")

    assert fault in place.refusal(2)


async def test_where_the_ladder_cannot_read_the_files_no_engineer_is_sent(scene, monkeypatch):
    """Whatever it made would be read by the same ecosystem, which refuses them."""
    place = scene(files={"Gemfile.lock": "GEM\n", "Gemfile": ""})
    about = {"first_patched": "3.1.4", "ecosystem": "rubygems", "manifest": "Gemfile.lock"}
    place.world.alerts.advisories = (alert().model_copy(update=about),)

    async def refuse(*_):
        raise Unfit(
            "unsupported", "`Gemfile.lock` takes gems from git, which Fettle does not lock."
        )

    monkeypatch.setattr(place.index, "read", refuse)
    outcome = await place.run(ecosystem="rubygems")

    assert result_of(outcome.rule) == "by_hand"
    assert "takes gems from git, which Fettle does not lock. On a machine with the tool" in (
        outcome.text
    )
    assert "`bundle update --conservative jinja2`" in outcome.text
    assert "has to be at 3.1.4 or newer" in outcome.text
    assert place.world.model.asked == []


async def test_what_code_found_out_is_said_before_what_the_engineer_says(scene, acts):
    place = scene([acts.skip("Nothing newer is there.")], needs=STUCK)
    outcome = await place.run()

    assert result_of(outcome.rule) == "fix_failed"
    by_code, _, by_model = outcome.text.partition(" An engineer looked for another way and left it")
    assert by_code.startswith("No fix was found: ")
    assert len(by_code) > len("No fix was found: ")
    assert by_model == ": Nothing newer is there."


async def test_an_engineer_is_held_to_the_rules_for_strangers_text(scene, acts):
    place = scene([acts.skip()], needs=STUCK)
    run = place.world.run(place.request)

    await PIPELINES[type(place.request)].work(run, place.request)

    assert run.context.standing.tainted
