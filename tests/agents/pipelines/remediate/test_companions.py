"""One pull request for a lock file: other packages with alerts go along, if they hold."""

import json

import pytest

from agents.loop.no_model import NoModel
from agents.pipelines.remediate.ladder import finders
from agents.remediation import result_of
from tests.agents.pipelines.remediate.conftest import URL, alert, lock, make_other_pull
from tests.agents.pipelines.remediate.ladder.conftest import MadeUpEcosystem, advisory

RELEASES = {
    "jinja2": ["3.1.3", "3.1.4", "3.1.5", "4.0.0"],
    "flask": ["3.0.3", "3.0.4", "3.1.0", "4.0.0"],
    "click": ["8.1.0", "8.1.1", "9.0.0"],
}
FILES = {"lock.json": lock(flask="3.0.3", jinja2="3.1.3", click="8.1.0"), "wants.json": "{}"}
ALONE = {"flask": "3.0.3", "jinja2": "3.1.4", "click": "8.1.0"}
BEFORE = json.loads(FILES["lock.json"])["versions"]


def make_advisory(package, vulnerable, number, **more):
    values = {"ghsa_id": f"GHSA-{package:.>4.4}-bbbb-cccc", "severity": "high"} | more
    return advisory(package, vulnerable, alert=number, manifest="lock.json", **values)


FLASK = make_advisory("flask", "< 3.0.4", 6, severity="critical")
CLICK = make_advisory("click", "< 8.1.1", 7)


@pytest.fixture
def several(scene):
    """A scene with alerts about more than one package of its lock file."""

    def make(*others, answers=(), **more):
        values = {"releases": RELEASES, "files": FILES, "wants": {}} | more
        place = scene(answers, **values)
        place.world.alerts.others = others
        return place

    return make


def versions(place):
    return json.loads(place.files["lock.json"])["versions"]


async def test_what_is_vulnerable_in_the_same_lock_file_goes_along_commit_by_commit(several):
    place = several(FLASK, CLICK)

    outcome = await place.run()

    assert (outcome.kind, result_of(outcome.rule)) == ("pull_request", "fixed")
    assert versions(place) == {"flask": "3.0.4", "jinja2": "3.1.4", "click": "8.1.1"}
    assert place.pull.title == "Update jinja2 from 3.1.3 to 3.1.4 and 2 more packages"
    subjects = [each.partition("\n")[0] for each in place.messages]
    assert subjects == [
        "Update jinja2 from 3.1.3 to 3.1.4",
        "Update flask from 3.0.3 to 3.0.4",  # the worst first
        "Update click from 8.1.0 to 8.1.1",
    ]
    assert "- `flask` `3.0.3`: Critical severity" in place.pull.body
    assert f"[Alert 7]({URL}/security/dependabot/7)" in place.pull.body
    assert "| `click` | `8.1.0` | `8.1.1` | patch |" in place.pull.body
    assert "Every copy of click (8.1.1) is outside of the ranges of 1 alert." in place.told
    assert "Small: each package alone moved a small step" in place.pull.body
    assert place.world.model.asked == []


@pytest.mark.parametrize(
    ("others", "more"),
    [
        ((FLASK,), {"policy": "remediation: {group: package}\n"}),
        ((make_advisory("flask", "< 3.0.4", 6, severity="low"),), {}),  # the policy leaves it alone
        ((FLASK.model_copy(update={"undisclosed": True}),), {}),  # it must not be given away
        ((FLASK,), {"advisories": [alert(undisclosed=True)]}),  # nor may the first one
        ((FLASK.model_copy(update={"manifest": "web/lock.json"}),), {}),
        ((make_advisory("flask", "< 3.0.1", 6),), {}),  # it is safe
    ],
)
async def test_what_goes_its_own_way(several, others, more):
    place = several(*others, **more)
    await place.run()
    assert versions(place) == ALONE
    assert "flask" not in place.pull.title


async def test_what_people_ask_for_by_name_is_about_that_package_alone(several):
    place = several(FLASK)
    await place.run(via="command")
    assert versions(place) == ALONE


async def test_another_major_version_or_an_override_is_left_for_a_run_of_its_own(several):
    place = several(
        make_advisory("flask", "< 4.0.0", 6), CLICK, policy="remediation: {overrides: true}\n"
    )

    await place.run()

    assert versions(place) == {"flask": "3.0.3", "jinja2": "3.1.4", "click": "8.1.1"}
    assert place.pull.title == "Update jinja2 from 3.1.3 to 3.1.4 and click"
    assert "- flask is left out: The index offers no release of flask" in place.pull.body


@pytest.mark.parametrize("asked", ["jinja2", "flask"])
async def test_another_major_version_that_breaks_a_check_makes_no_draft_of_the_rest(several, asked):
    def check(files):
        moved = json.loads(files["lock.json"])["versions"]["flask"] == "4.0.0"
        return (1, "ValueError: no route\n") if moved else (0, "ok")

    major = make_advisory("flask", "< 4.0.0", 6)
    files = FILES | {"wants.json": json.dumps({"flask": ["3.0.3"]})}
    place = several(major, CLICK, files=files, check=check)
    place.world.model = NoModel()
    if asked == "flask":
        place.world.alerts.advisories, place.world.alerts.others = (major,), (alert(), CLICK)

    outcome = await place.run(package=asked)

    if asked == "jinja2":
        assert (result_of(outcome.rule), place.pull.draft) == ("fixed", False)
        assert versions(place) == {"flask": "3.0.3", "jinja2": "3.1.4", "click": "8.1.1"}
    else:
        assert result_of(outcome.rule) == "unverified", outcome.text
        assert place.pull.draft
        assert versions(place) == {"flask": "4.0.0", "jinja2": "3.1.3", "click": "8.1.0"}
        assert "    ValueError: no route" in place.pull.body
        assert "jinja2 is left out: somebody has to look at the move of flask" in place.pull.body


async def test_where_checks_fail_with_all_of_them_it_goes_on_alone_without_a_token(several):
    def check(files):
        moved = json.loads(files["lock.json"])["versions"]
        return (1, "FAILED test_click") if moved["click"] != "8.1.0" else (0, "ok")

    place = several(FLASK, CLICK, check=check)

    outcome = await place.run()

    assert result_of(outcome.rule) == "fixed"
    assert versions(place) == ALONE
    assert place.pull.title == "Update jinja2 from 3.1.3 to 3.1.4"
    left = "- flask, click: made together with this one at first, and left out then, since"
    assert f"{left} together they did not stand. The check `tests`" in place.pull.body
    assert place.world.model.asked == []


def require(**wants):
    """Return files with requirements of the repository's own: more than one version is a bound."""
    return FILES | {"wants.json": json.dumps(wants)}


@pytest.mark.parametrize("model", [True, False])
async def test_what_needs_a_look_is_left_for_a_pull_request_of_its_own(several, model):
    place = several(FLASK, CLICK, files=require(flask=["3.0.2", "3.0.3"]))
    if not model:
        place.world.model = NoModel()

    outcome = await place.run()

    assert (result_of(outcome.rule), place.pull.draft) == ("fixed", False)
    assert versions(place) == ALONE | {"click": "8.1.1"}
    assert "- flask is left out: somebody has to look at its move" in place.pull.body
    assert not model or place.world.model.asked == []


async def test_what_needs_a_look_takes_nothing_along(several, acts):
    place = several(
        FLASK,
        CLICK,
        files=require(jinja2=["3.1.2", "3.1.3"]),
        answers=[acts.stands(), acts.sums_up()],
    )

    await place.run()

    assert versions(place) == ALONE
    assert "- flask is left out: somebody has to look at the move of jinja2" in place.pull.body
    assert "- flask: 3.0.3 to 3.0.4" not in place.prompt(0)  # nobody looks at what is not in it


async def test_what_another_package_held_goes_along_where_no_requirement_changes(several):
    needs = {("click", "8.1.0"): {"flask": ["3.0.3"]}, ("click", "8.1.1"): {"flask": ["3.0.4"]}}
    place = several(FLASK, needs=needs)

    outcome = await place.run()

    assert result_of(outcome.rule) == "fixed"
    assert versions(place) == {"flask": "3.0.4", "jinja2": "3.1.4", "click": "8.1.1"}
    assert place.world.model.asked == []
    assert "No requirement of the repository changed" in place.told
    assert "Small: all that moved, within what the repository asks for" in place.pull.body


async def test_a_parent_whose_requirement_had_to_change_is_looked_at(several, acts):
    needs = {("click", "8.1.0"): {"flask": ["3.0.3"]}, ("click", "8.1.1"): {"flask": ["3.0.4"]}}
    place = several(FLASK, needs=needs, files=require(click=["8.1.0"]))
    await place.run()
    assert versions(place) == ALONE
    assert "- flask is left out: somebody has to look at its move" in place.pull.body


async def test_a_model_judges_the_reach_of_all_of_them_in_one_conversation(several, acts, talk):
    said = {"affected": "no", "evidence": ["app.py:1 renders its own text"], "risk": "low"}
    judged = [
        {"ghsa_id": each.ghsa_id, "why": "Nothing outside gets there.", **said}
        for each in (alert(), FLASK)
    ]
    answers = [[talk.use("submit_assessment", judged=judged)]]
    place = several(FLASK, policy="remediation: {assess: always}\n", answers=answers)

    await place.run()

    told = place.prompt(0)
    assert f"Asked about: {alert().ghsa_id}, {FLASK.ghsa_id}" in told
    line = "No. Nothing outside gets there. `app.py:1`. (a model's judgement)"
    assert f"- {line}\n- `flask`: {line}" in place.pull.body


async def test_what_others_are_at_is_left_to_them(several):
    place = several(FLASK, CLICK)
    bot = make_other_pull(11, title="Bump flask", branch="dependabot/pip/flask-3.0.4")
    ours = make_other_pull(12, own=True, of_package=False, alerts=(7,), pushed_by=("mara",))
    place.world.alerts.pulls = (ours,)
    place.world.alerts.pulls_of["flask"] = (bot,)

    await place.run()

    assert versions(place) == ALONE
    left = "is left out: another pull request is about it already."
    assert f"- flask {left}" in place.pull.body
    assert f"- click {left}" in place.pull.body
    assert place.world.alerts.closed_pulls == []


def make_own(place, number, alerts, **versions):
    """Have an open pull request of Fettle's, made earlier by a run about another package."""
    branch, files = f"bot/deps-{number}", {"lock.json": lock(**{**BEFORE, **versions})}
    head = place.branch(branch, files)
    return make_other_pull(number, head, own=True, of_package=False, alerts=alerts, branch=branch)


async def test_an_earlier_one_of_its_own_is_made_anew_by_what_holds_all_of_it(several):
    place = several(FLASK, CLICK)
    smaller = make_own(place, 12, (6,), flask="3.0.4")
    larger = make_own(place, 13, (7, 99), click="8.1.1")
    place.world.alerts.pulls = (smaller, larger)

    outcome = await place.run()

    assert versions(place) == {"flask": "3.0.4", "jinja2": "3.1.4", "click": "8.1.0"}
    assert list(place.pushed) == [smaller.branch]
    assert outcome.text.startswith("Made anew: pull request")
    assert "Made anew on `main`" in place.world.alerts.said[12, "renewed"]
    assert "Made instead" not in place.pull.body
    assert place.world.alerts.closed_pulls == []


async def test_of_several_earlier_ones_the_newest_is_made_anew_and_the_others_closed(several):
    place = several(FLASK, CLICK)
    pulls = make_own(place, 13, (7,), click="8.1.1"), make_own(place, 12, (6,), flask="3.0.4")
    place.world.alerts.pulls = pulls

    await place.run()

    assert list(place.pushed) == [pulls[0].branch]
    assert place.world.alerts.closed_pulls == [12]
    assert "takes the place of this one" in place.world.alerts.said[12, "replaced"]
    assert "Made instead of #12." in place.pull.body


async def test_beside_a_draft_the_earlier_one_stays_as_it_is(several):
    blind = {"check": (127, "check: command not found"), "policy": "setup: {second_look: false}\n"}
    place = several(FLASK, **blind)
    earlier = make_own(place, 12, (6,), flask="3.0.4")
    place.world.alerts.pulls = (earlier,)

    await place.run()

    assert place.pull.draft
    assert earlier.branch not in place.pushed
    assert place.world.alerts.closed_pulls == []


async def test_a_draft_of_its_own_is_made_anew_as_a_draft_and_not_doubled(several):
    place = several(advisories=[alert("< 4.0.0")], files=require(jinja2=["3.1.3"]))
    place.world.source.base = place.branch(
        "main", {"lock.json": lock(**BEFORE | {"click": "9.0.0"})}, subject="Update click"
    )
    ready = make_own(place, 11, (5,)).model_copy(update={"of_package": True})
    drafts = [make_own(place, n, (5,), jinja2="4.0.0") for n in (13, 12)]
    drafts = [each.model_copy(update={"of_package": True, "draft": True}) for each in drafts]
    place.world.alerts.pulls = (*drafts, ready)

    outcome = await place.run(skip_verify=True)

    assert place.pull.draft
    assert list(place.pushed) == [drafts[0].branch]
    assert outcome.text.startswith("Made anew: draft pull request")
    assert (13, "renewed") in place.world.alerts.said
    assert place.world.alerts.closed_pulls == [12], "what may be merged as it is stays"


async def test_a_draft_that_people_have_pushed_to_is_left_to_them(several):
    place = several(advisories=[alert("< 4.0.0")], files=require(jinja2=["3.1.3"]))
    files = {"lock.json": lock(**BEFORE | {"click": "9.0.0"})}
    theirs = make_own(place, 12, (5,), jinja2="4.0.0").model_copy(
        update={"of_package": True, "draft": True, "pushed_by": ("mara",)}
    )
    place.world.source.base = place.branch("main", files, subject="Update click")
    place.world.alerts.pulls = (theirs,)

    outcome = await place.run(skip_verify=True)

    assert (outcome.kind, place.pushed) == ("covered", {})


@pytest.mark.parametrize(("moved", "kind"), [(True, "pull_request"), (False, "covered")])
async def test_its_own_is_made_anew_once_the_lock_file_it_changes_has_moved(several, moved, kind):
    place = several()
    head = place.branch("bot/a", {"lock.json": lock(**BEFORE | {"jinja2": "3.1.4"})})
    if moved:
        files = {"lock.json": lock(**BEFORE | {"click": "9.0.0"})}
        place.world.source.base = place.branch("main", files, subject="Update click")
    ours = make_other_pull(12, head, own=True, alerts=(5,), branch="bot/a")
    place.world.alerts.pulls = (ours,)

    outcome = await place.run()

    assert outcome.kind == kind
    assert list(place.pushed) == (["bot/a"] if moved else [])


async def test_one_of_its_own_that_holds_the_fix_already_is_not_doubled(several):
    place = several(FLASK)
    files = {"lock.json": lock(flask="3.0.4", jinja2="3.1.4", click="8.1.0")}
    ours = make_other_pull(12, own=True, of_package=False, alerts=(5, 6), branch="bot/a")
    place.branch(ours.branch, files)
    place.world.alerts.pulls = (ours,)

    outcome = await place.run()

    assert outcome.kind == "covered"
    assert "#12" in outcome.text
    assert not place.pushed


async def test_groups_of_dependabot_divide_the_lock_file(several):
    config = (
        "version: 2\nupdates:\n- package-ecosystem: pip\n  directory: /\n  groups:\n"
        "    web: {applies-to: security-updates, patterns: [j*, fl*], exclude-patterns: [fla*]}\n"
        "    tools: {applies-to: version-updates, patterns: ['*']}\n"
        "    rest: {applies-to: security-updates, patterns: [click]}\n"
    )
    place = several(FLASK, CLICK, files=FILES | {".github/dependabot.yml": config})
    await place.run()
    assert versions(place) == ALONE

    together = config.replace("exclude-patterns: [fla*]", "exclude-patterns: [x]")
    place = several(FLASK, CLICK, files=FILES | {".github/dependabot.yml": together})
    await place.run()
    assert versions(place) == ALONE | {"flask": "3.0.4"}


@pytest.mark.parametrize(
    ("group", "along"),
    [
        ("{applies-to: security-updates, dependency-type: production}", False),
        ("{applies-to: security-updates}", True),
        ("{applies-to: version-updates, patterns: [jinja2]}", True),
        ("{patterns: [jinja2]}", True),
    ],
    ids=["of one kind", "of all", "for new versions", "for new versions by default"],
)
async def test_groups_divide_by_kind_and_only_those_for_security_do(several, group, along):
    config = (
        "version: 2\nupdates:\n- package-ecosystem: pip\n  directory: /\n"
        f"  groups:\n    some: {group}\n"
    )
    development = FLASK.model_copy(update={"scope": "development"})
    place = several(development, files=FILES | {".github/dependabot.yml": config})

    await place.run()

    assert versions(place) == ALONE | ({"flask": "3.0.4"} if along else {})


async def test_what_moved_with_the_first_one_is_told_and_makes_no_commit_of_its_own(several):
    needs = {("jinja2", "3.1.3"): {"click": ["8.1.0"]}, ("jinja2", "3.1.4"): {"click": ["8.1.1"]}}
    place = several(CLICK, needs=needs)
    place.index.back = {"click": "8.1.1"}

    await place.run()

    assert versions(place)["click"] == "8.1.1"
    assert len(place.messages) == 1
    assert "- `click` `8.1.0`: High severity" in place.pull.body


async def test_a_cooldown_of_dependabots_holds_for_no_security_fix(several):
    """https://docs.github.com/code-security/dependabot/working-with-dependabot/dependabot-options-reference#cooldown-"""
    config = (
        "version: 2\nupdates:\n- package-ecosystem: pip\n  directory: /\n"
        "  cooldown: {default-days: 90}\n"
    )
    place = several(FLASK, files=FILES | {".github/dependabot.yml": config})
    await place.run()
    assert versions(place) == ALONE | {"flask": "3.0.4"}


@pytest.mark.parametrize(("asked", "mended"), [((), "lock.json"), ((9,), "wants.json")])
async def test_files_of_several_tools_in_one_folder_are_mended_one_after_the_other(
    scene, monkeypatch, asked, mended
):
    class Other(MadeUpEcosystem):
        """Another tool, with a file of its own in the same folder."""

    place = scene(advisories=[alert(), alert(number=9, manifest="wants.json")])
    found = {("lock.json",): MadeUpEcosystem(RELEASES), ("wants.json",): Other(RELEASES)}
    one_tool = (lambda paths, group: found.get(group.manifests),)
    monkeypatch.setattr(finders, "FINDERS", one_tool)

    await place.run(alerts=asked)

    [left] = {"lock.json", "wants.json"} - {mended}
    assert f"- `{left}`: of another tool, so jinja2 there is left for a run" in place.pull.body
    numbers = {"lock.json": 5, "wants.json": 9}
    assert f"[Alert {numbers[mended]}]" in place.pull.body
    assert f"[Alert {numbers[left]}]" not in place.pull.body


async def test_of_what_goes_along_the_other_tools_file_is_told_as_well(several, monkeypatch):
    place = several(FLASK, FLASK.model_copy(update={"alert": 9, "manifest": "other.txt"}))
    one_tool = MadeUpEcosystem(RELEASES)
    found = {("lock.json",): one_tool}
    monkeypatch.setattr(finders, "FINDERS", (lambda paths, group: found.get(group.manifests),))

    await place.run()

    assert versions(place) == {"flask": "3.0.4", "jinja2": "3.1.4", "click": "8.1.0"}
    assert "- `other.txt`: of another tool, so flask there is left" in place.pull.body
