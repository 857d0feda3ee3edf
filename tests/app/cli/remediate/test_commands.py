"""`fettle scan` and `fettle remediate` on the local GitHub, as an operator gives them."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from agents.errors import ConfigError
from app.operator.remediation_report import Report
from app.store.database import Database
from app.store.runs.history import History
from tests.app.cli.remediate.remediation_scene import FILES, PATIENCE, lock, part, shop

__all__ = ["shop"]  # a fixture
NAME = "octo-org/shop"
ADAPTED = {"summary": "render() is called template() now.", "tried": "check: 3 passed"}
EDIT = {"edit": {"path": "app.py", "old": "import jinja2", "new": "import jinja2  # new"}}
ADAPT = part("# Adapt the code", EDIT, {"submit_adaptation": ADAPTED})
WHY = "I ran it, and it failed in app.py."
FALLS = {"passed": False, "issues": [], "feedback": "Use template() in app.py.", "reasoning": WHY}
VERIFY = part("# Verify the update", {"submit_verification": FALLS})


async def test_a_scan_tells_of_each_group_and_changes_nothing(shop):
    await shop.repository("shop", ["sqlparse", "jinja2", "stuck"])
    await shop.install()

    done = await shop.run("scan", NAME, severity="high")

    assert done.code == 0, done.err
    assert list(done.groups) == ["stuck", "jinja2", "sqlparse"], "the most severe first"
    assert [each["result"] for each in done.groups.values()] == [
        *("nothing_to_do", "scanned", "scanned")
    ]
    assert done.groups["jinja2"]["found"]["triage"][0]["affected"] == "yes"
    assert done.groups["stuck"]["text"] == "No alert of it is high."
    assert done.json["totals"]["results"] == {"scanned": 2, "nothing_to_do": 1}
    assert "[2/3] jinja2 (pip)" in done.err
    assert not shop.pulls("shop")
    assert "\x1b" not in done.out + done.err
    assert shop.app.private_key.splitlines()[1] not in done.out + done.err


async def test_packages_of_one_lock_file_become_one_pull_request_or_one_each(shop):
    await shop.repository("shop", ["jinja2", "sqlparse"])
    policy = FILES[".github/fettle.yml"] + "remediation: {group: package}\n"
    await shop.repository("apart", ["jinja2", "sqlparse"], {".github/fettle.yml": policy})
    await shop.install()

    done = await shop.run("remediate", NAME)

    assert done.code == 0, done.err
    jinja, sqlparse = done.groups["jinja2"], done.groups["sqlparse"]
    assert (jinja["result"], jinja["level"], jinja["made_by"]) == ("fixed", 0, "ladder")
    assert (jinja["moved"], jinja["along"]) == (["jinja2 3.1.3 -> 3.1.4"], ["sqlparse"])
    assert jinja["branch"].startswith("bot/deps-jinja2-")
    [pull] = shop.pulls("shop")
    assert pull.issue.title == "Update jinja2 from 3.1.3 to 3.1.4 and sqlparse"
    assert jinja["url"].endswith(f"/pull/{pull.issue.number}")
    assert (sqlparse["result"], sqlparse["run"]) == ("fixed", jinja["run"])
    assert sqlparse["text"] == f"It went along with jinja2: {jinja['url']}"
    assert done.json["totals"]["tokens"] == 0

    # Where the policy groups by package, each is mended after the other.
    done = await shop.run("remediate", "octo-org/apart")

    assert done.code == 0, done.err
    assert {pull.issue.title for pull in shop.pulls("apart")} == {
        "Update jinja2 from 3.1.3 to 3.1.4",
        "Update sqlparse from 1.4.4 to 1.5.0",
    }


async def test_options_reach_the_run(shop):
    await shop.repository("shop", ["jinja2", "sqlparse"])
    await shop.install()

    done = await shop.run("remediate", NAME, alerts=[1], no_pr=True, skip_verify=True)
    assert done.code == 0
    assert list(done.groups) == ["jinja2"]
    assert not shop.pulls("shop")

    done = await shop.run("remediate", NAME, packages=["SQLparse"], branch="deps/sqlparse")
    assert (done.code, list(done.groups)) == (0, ["sqlparse"])
    assert [pull.head for pull in shop.pulls("shop")] == ["bot/deps/sqlparse"]

    done = await shop.run("remediate", NAME, packages=["jinja2"], dry_run=True)
    assert [each["result"] for each in done.groups.values()] == ["scanned"]


SLIPS = [
    ({"alerts": [99]}, "has no open alert #99"),
    ({"packages": ["django"]}, "has no open alert about `django`"),
    ({"branch": "one"}, "--branch names one branch"),
    ({"branch": "a b"}, "cannot be the name of the branch"),
    ({"severity": "grave"}, "is no severity"),
    ({"org": "octo-org"}, "one of them"),
    ({"base": "gone", "from_scan": "scan"}, "has no branch `gone`"),
]


async def test_a_slip_of_the_pen_and_a_scan_of_something_else_are_told(shop):
    repository = await shop.repository("shop", ["jinja2", "sqlparse"])
    await shop.repository("other", ["jinja2"])
    await shop.install()
    file = shop.root / "scan.json"
    file.write_text((await shop.run("scan", NAME)).out)
    for slip, told in SLIPS:
        typed = dict(slip)
        if "from_scan" in typed:
            typed |= {"from_scan": file}
        with pytest.raises(ConfigError, match=told):
            await shop.run("remediate", NAME, **typed)

    # A scan of what stands no more.
    somebody = shop.github.create_user("mara")
    shop.github.set_role(repository, somebody, "write")
    await shop.github.commit(repository, {"app.py": "pass\n"}, author=somebody, message="m")
    with pytest.raises(ConfigError, match=r"stands at .* now\. Scan again"):
        await shop.run("remediate", NAME, from_scan=file)

    # A scan of another repository.
    file.write_text((await shop.run("scan", "octo-org/other")).out)
    with pytest.raises(ConfigError, match="is about octo-org/other, and not about octo-org/shop"):
        await shop.run("remediate", NAME, from_scan=file)
    file.write_text(file.read_text().replace('"octo-org/other"', '"octo-org/shop"', 1))
    with pytest.raises(ConfigError, match="it is of another repository"):
        await shop.run("remediate", NAME, from_scan=file)


# --- how it ends --------------------------------------------------------------------------------


async def test_each_ending_has_its_code_and_the_worst_counts(shop):
    failing = {"check.sh": "! grep -q 3.1.4 lock.json\n"}
    await shop.play(ADAPT, VERIFY)
    await shop.repository("stuck", ["stuck"])
    await shop.repository("fails", ["jinja2"], failing)
    await shop.repository("calm", [])
    await shop.repository("safe", ["jinja2"], {"lock.json": lock(jinja2="3.1.4")})
    await shop.repository("broken", ["jinja2"], {".github/fettle.yml": "qualitee: []\n"})
    await shop.repository("good", ["jinja2"])
    await shop.install()
    for name, code in {"stuck": 4, "fails": 5, "safe": 3}.items():
        done = await shop.run("remediate", f"octo-org/{name}", max_iterations=1)
        assert (name, done.code) == (name, code), done.err

    done = await shop.run(
        "remediate", org="octo-org", no_pr=True, packages=["jinja2"], max_iterations=1
    )

    assert done.code == 6
    endings = {name.partition("/")[2]: result for (name, _), result in done.results.items()}
    assert endings == {
        "broken": "infra_error",
        "fails": "verify_failed",
        "good": "fixed",
        "safe": "nothing_to_do",
    }
    assert [each["repository"] for each in done.json["repositories"]] == sorted(
        f"octo-org/{name}" for name in shop.repositories
    )


async def test_one_repository_that_fails_does_not_stop_the_rest(shop):
    for name in ("a", "b", "c", "d"):
        await shop.repository(name, ["jinja2"])
    await shop.install()
    shop.repositories["b"].alerts_enabled = False
    shop.repositories["c"].default_branch = "gone"

    done = await shop.run("remediate", org="octo-org", shape="markdown")

    assert "octo-org/a (1 of 4)" in done.err
    assert "octo-org/d (4 of 4)" in done.err
    assert done.out.count("| `jinja2 (pip)` |") == 3
    assert "## `octo-org/b`\n\nDependabot alerts are switched off" in done.out
    assert "4 repositories" in done.out
    assert [len(shop.pulls(name)) for name in ("a", "b", "d")] == [1, 0, 1]
    assert done.code == 6


async def test_alerts_that_are_switched_off_are_an_error_where_they_were_asked_for(shop):
    await shop.repository("shop")
    await shop.install()
    shop.repositories["shop"].alerts_enabled = False
    done = await shop.run("scan", NAME)
    assert done.code == 6
    assert "switched off" in done.json["repositories"][0]["error"]


@pytest.mark.parametrize("account", ["org", "user"])
async def test_an_account_without_the_app_is_told(shop, account):
    await shop.repository("shop")
    with pytest.raises(ConfigError, match="has to be installed"):
        await shop.run("scan", **{account: "octo-org"})


# --- what was found before ----------------------------------------------------------------------


async def read_steps(shop, run_id):
    """Return what each stage of the run gave to the next: the engine's own record."""
    database = Database(shop.server.database_url)
    try:
        steps = await History(database).steps(run_id)
        return [(s.name, s.record.get("output")) for s in steps if s.name.startswith("stage/")]
    finally:
        database.close()


def plain(value, base):
    """Return a value without what differs from run to run: how long it took, commits it made."""
    if isinstance(value, list):
        return [plain(each, base) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {k: v for k, v in value.items() if k not in ("seconds", "text")}
    return {k: plain(v, base) for k, v in kept.items() if k != "commit" or v == base}


async def test_what_a_scan_wrote_is_what_all_later_stages_are_given(shop):
    await shop.repository("shop", ["jinja2"])
    await shop.install()
    direct = await shop.run("remediate", NAME, no_pr=True)
    scanned = await shop.run("scan", NAME)
    file = shop.root / "scan.json"
    file.write_text(scanned.out)
    assert Report.model_validate_json(scanned.out).as_json == scanned.out.strip()

    handed_in = await shop.run("remediate", NAME, from_scan=file, no_pr=True)

    assert handed_in.code == 0
    ours, theirs = (done.groups["jinja2"] for done in (direct, handed_in))
    assert ours["found"] == theirs["found"] == scanned.groups["jinja2"]["found"]
    one, other = [(await read_steps(shop, each["run"])) for each in (ours, theirs)]
    assert [name for name, _ in one] == [name for name, _ in other]
    base = ours["found"]["commit"]
    assert [plain(each, base) for _, each in one] == [plain(each, base) for _, each in other]
    assert sum("found" in (output or {}) for _, output in one) == 2, "each stage is handed it"


# --- who does the work, and who leaves ----------------------------------------------------------


async def test_a_server_at_work_takes_the_runs(shop):
    files = {"requirements.txt": "sqlparse==1.4.4\n", ".github/fettle.yml": "{}\n"}
    repository = await shop.repository("shop", [], files)
    await shop.alert(repository, "sqlparse", manifest="requirements.txt")
    await shop.install()
    await shop.server.start(shop.app)
    try:
        with pytest.raises(ConfigError, match="its own FETTLE_MODEL decides"):
            await shop.run("scan", NAME, model="other")
        done = await shop.run("scan", NAME)
    finally:
        await shop.server.stop()
    assert done.code == 0, done.err
    assert "the server does the work" in done.err
    assert done.groups["sqlparse"]["found"]["tool"] == "pip"


async def test_ctrl_c_leaves_a_report_of_what_was_done(shop):
    await shop.repository("a", ["jinja2"])
    await shop.repository("b", ["jinja2"], {"check.sh": "sleep 5\n"})
    await shop.repository("c", ["jinja2"])
    await shop.install()

    working = asyncio.create_task(shop.run("remediate", org="octo-org", no_pr=True))
    said = ""
    async with asyncio.timeout(PATIENCE):
        while "Run the checks" not in said.partition("octo-org/b")[2]:
            said += shop.capsys.readouterr().err
            await asyncio.sleep(0.1)
    os.kill(os.getpid(), signal.SIGINT)
    done = await working

    assert done.code == 130
    assert done.json["complete"] is False
    assert done.results == {("octo-org/a", "jinja2"): "fixed"}
    assert "The same command goes on from there" in done.err


async def test_ctrl_c_is_heard_while_github_does_not_answer(shop):
    await shop.repository("a", [])
    await shop.repository("b", ["jinja2"])
    await shop.install()
    asked = asyncio.Event()

    async def hang(_):
        asked.set()
        await asyncio.sleep(PATIENCE)

    shop.github.faults.call_before("GET", "/repos/octo-org/b/dependabot/alerts", hang)

    working = asyncio.create_task(shop.run("scan", org="octo-org"))
    async with asyncio.timeout(PATIENCE / 2):
        await asked.wait()
        os.kill(os.getpid(), signal.SIGINT)
        done = await working

    assert (done.code, done.json["complete"]) == (130, False)
    assert [each["repository"] for each in done.json["repositories"]] == ["octo-org/a"]


async def test_what_is_under_way_is_followed_and_what_was_asked_otherwise_is_left_alone(shop):
    """A run that was handed over by another command waits in the lane."""
    repository = await shop.repository("shop", ["jinja2"])
    await shop.install()
    asked = await shop.request(repository, no_pr=True)
    first = await shop.hand_over(asked)
    other = await shop.run("scan", NAME)
    assert other.groups["jinja2"]["result"] == "nothing_to_do"
    assert f"fettle runs show {first[:16]}" in other.groups["jinja2"]["text"]
    second = await shop.hand_over(asked)
    same = await shop.run("remediate", NAME, no_pr=True)
    assert same.groups["jinja2"]["run"] == second
