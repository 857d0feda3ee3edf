"""Alerts: listed by cursor, dismissed by those who may, and told of as they come and go."""

from datetime import timedelta

import pytest

from app.simulator.github.answers import ApiError
from tests.app.simulator.github.alerting import (
    JINJA,
    MAY,
    MINIMIST,
    advisory,
    caller,
    install_listener,
)

ALERTS = "/repos/forge/anvil/dependabot/alerts"


@pytest.fixture
async def warden(scene, aiohttp_server):
    """Return an installation that may see alerts, and what its App is told."""
    return await install_listener(scene, aiohttp_server, "dependabot_alert")


async def raise_alerts(scene, count):
    """Raise alerts, a minute apart."""
    weak = advisory(scene)
    made = []
    for number in range(count):
        scene.github.advance_clock(timedelta(minutes=1))
        path = f"part{number}/requirements.txt"
        made.append(await scene.github.raise_alert(scene.repository, weak, manifest_path=path))
    return made


async def test_an_alert_is_told_of_and_read(scene, warden):
    installation, told = warden
    weak = advisory(scene, severity="critical", cve_id="CVE-2024-34064", summary="Injection")
    alert = await scene.github.raise_alert(
        scene.repository, weak, manifest_path="poetry.lock", relationship="transitive"
    )
    [payload] = told.list_payloads("dependabot_alert")
    assert (payload["action"], payload["sender"]["id"]) == ("created", 9919)
    assert payload["installation"]["id"] == installation.id
    read = (await caller(scene, installation)("GET", f"{ALERTS}/{alert.number}")).json
    assert read == payload["alert"]
    assert (read["number"], read["state"]) == (1, "open")
    assert read["dependency"]["package"] == {"ecosystem": "pip", "name": "Jinja2"}
    assert read["dependency"]["relationship"] == "transitive"
    range_ = read["security_vulnerability"]
    assert range_["first_patched_version"] == {"identifier": "3.1.4"}
    assert (range_["severity"], range_["vulnerable_version_range"]) == ("critical", "< 3.1.4")
    assert read["security_advisory"]["cve_id"] == "CVE-2024-34064"


async def test_the_list_has_cursors_and_no_page_numbers(scene, warden):
    call = caller(scene, warden[0])
    await raise_alerts(scene, 5)
    first = await call("GET", f"{ALERTS}?per_page=2&state=open")
    assert [each["number"] for each in first.json] == [5, 4]
    assert 'rel="prev"' not in first.headers["Link"]
    assert f"/repositories/{scene.repository.id}/dependabot/alerts?" in first.headers["Link"]
    second = await call("GET", link(first, "next"))
    assert [each["number"] for each in second.json] == [3, 2]
    back = await call("GET", link(second, "prev"))
    assert [each["number"] for each in back.json] == [5, 4]
    last = await call("GET", link(second, "next"))
    assert [each["number"] for each in last.json] == [1]
    assert 'rel="next"' not in last.headers["Link"]
    assert "state=open" in link(last, "prev")
    assert "Link" not in (await call("GET", ALERTS)).headers
    for query in ("page=2", "after=nonsense", "before=Y3Vyc29yfHh8eQ=="):
        assert (await call("GET", f"{ALERTS}?{query}")).status == 400


async def test_a_cursor_holds_its_place_when_alerts_vanish_from_the_list(scene, warden):
    call, alerts = caller(scene, warden[0]), await raise_alerts(scene, 4)
    first = await call("GET", f"{ALERTS}?per_page=2&state=open&direction=asc")
    assert [each["number"] for each in first.json] == [1, 2]
    await scene.github.fix_alert(alerts[1])
    second = await call("GET", link(first, "next"))
    assert [each["number"] for each in second.json] == [3, 4]


def link(answer, rel):
    links = dict(reversed(each.split("; rel=")) for each in answer.headers["Link"].split(", "))
    return links[f'"{rel}"'].strip("<>")


async def test_the_list_is_filtered(scene, warden):
    call, repository = caller(scene, warden[0]), scene.repository
    one = advisory(scene)
    other = advisory(scene, MINIMIST, "GHSA-xvch-5gv4-984h", severity="critical")
    await scene.github.raise_alert(repository, one, manifest_path="a.txt")
    await scene.github.raise_alert(
        repository, other, manifest_path="b/package-lock.json", scope="development"
    )
    fixed = await scene.github.raise_alert(repository, one, manifest_path="c.txt")
    await scene.github.fix_alert(fixed)
    for query, numbers in {
        "state=open": [2, 1],
        "state=fixed,dismissed": [3],
        "severity=critical": [2],
        "ecosystem=pip": [3, 1],
        "package=minimist,left-pad": [2],
        "manifest=b/package-lock.json": [2],
        "scope=development": [2],
        "sort=updated&direction=asc&state=open": [1, 2],
    }.items():
        answer = await call("GET", f"{ALERTS}?{query}")
        assert [each["number"] for each in answer.json] == numbers, query
    for query in ("state=closed", "scope=all", "sort=number"):
        assert (await call("GET", f"{ALERTS}?{query}")).status == 422


async def test_who_may_not_is_told_which_permission_is_missing(scene, warden):
    await raise_alerts(scene, 1)
    lacking = caller(scene, warden[0], contents="read")
    refused = await lacking("GET", ALERTS)
    assert refused.status == 403
    assert refused.json["message"] == "Resource not accessible by integration"
    assert refused.headers["X-Accepted-GitHub-Permissions"] == "vulnerability_alerts=read"
    reading = caller(scene, warden[0], vulnerability_alerts="read")
    body = {"state": "dismissed", "dismissed_reason": "not_used"}
    assert (await reading("PATCH", f"{ALERTS}/1", body)).status == 403
    assert (await reading("GET", f"{ALERTS}/2")).status == 404
    scene.repository.alerts_enabled = False
    off = await reading("GET", ALERTS)
    assert off.status == 403
    assert off.json["message"] == "Dependabot alerts are disabled for this repository."


async def test_an_app_dismisses_and_reopens(scene, warden):
    call, told = caller(scene, warden[0]), warden[1]
    [alert] = await raise_alerts(scene, 1)
    path, comment = f"{ALERTS}/1", "Nobody reaches it"
    assert (await call("PATCH", path, {"state": "dismissed"})).status == 422
    long = {"state": "dismissed", "dismissed_reason": "not_used", "dismissed_comment": "x" * 281}
    assert (await call("PATCH", path, long)).status == 422
    done = await call("PATCH", path, long | {"dismissed_comment": comment})
    assert (done.json["state"], done.json["dismissed_comment"]) == ("dismissed", comment)
    assert done.json["dismissed_by"]["login"] == "warden[bot]"
    await scene.github.webhooks.wait_until_settled()
    assert (await call("PATCH", path, {"state": "open"})).json["dismissed_at"] is None
    await scene.github.webhooks.wait_until_settled()
    await scene.github.fix_alert(alert)
    assert (await call("PATCH", path, {"state": "open"})).status == 409
    assert told.actions("dependabot_alert") == ["created", "dismissed", "reopened", "fixed"]


async def test_alerts_go_and_come_back_by_themselves(scene, warden):
    told = warden[1]
    [alert] = await raise_alerts(scene, 1)
    await scene.github.auto_dismiss_alert(alert)
    assert alert.auto_dismissed_at
    await scene.github.auto_reopen_alert(alert)
    await scene.github.fix_alert(alert)
    await scene.github.reintroduce_alert(alert)
    await scene.github.dismiss_alert(alert, scene.ada, reason="no_bandwidth")
    with pytest.raises(ApiError):
        await scene.github.dismiss_alert(alert, scene.ada)
    await scene.github.reopen_alert(alert, scene.ada)
    assert told.actions("dependabot_alert") == [
        "created",
        "auto_dismissed",
        "auto_reopened",
        "fixed",
        "reintroduced",
        "dismissed",
        "reopened",
    ]
    assert told.list_payloads("dependabot_alert")[-1]["sender"]["id"] == scene.ada.id


async def test_a_merge_fixes_an_alert_when_somebody_looks(scene, warden):
    github, repository, told = scene.github, scene.repository, warden[1]

    async def still_vulnerable(repository, alert):
        text = await github.file(repository, alert.manifest_path)
        versions = [line.partition(b"==")[2].decode() for line in (text or b"").splitlines()]
        return any(alert.affected.holds(version) for version in versions)

    await github.commit(
        repository, {"requirements.txt": "Jinja2==3.1.3\n"}, author=scene.ada, message="Old"
    )
    alert = await github.raise_alert(repository, advisory(scene), manifest_path="requirements.txt")
    mended = {"requirements.txt": "Jinja2==3.1.6\n"}
    await github.commit(repository, mended, author=scene.ada, message="New", branch="bot/new")
    pull = await github.open_pull(repository, scene.ada, title="Mend", head="bot/new")
    await github.merge_pull(pull, scene.ada)
    assert alert.state == "open"  # nobody looked
    assert await github.rescan(repository, still_vulnerable) == [alert]
    assert (alert.state, bool(alert.fixed_at)) == ("fixed", True)
    assert await github.rescan(repository, still_vulnerable) == []

    github.still_vulnerable = still_vulnerable
    old = {"requirements.txt": "Jinja2==3.1.3\n"}
    await github.commit(repository, old, author=scene.ada, message="Back", branch="bot/new")
    assert alert.state == "fixed"
    await github.commit(repository, old, author=scene.ada, message="Back")
    assert alert.state == "open"
    assert told.actions("dependabot_alert") == ["created", "fixed", "reintroduced"]


async def test_only_who_may_see_alerts_hears_of_them(scene, aiohttp_server):
    without = {"contents": "read", "metadata": "read"}
    installation, told = await install_listener(
        scene, aiohttp_server, "dependabot_alert", permissions=without
    )
    await raise_alerts(scene, 1)
    assert told.list_payloads("dependabot_alert") == []
    scene.github.ask_permissions(installation.app.id, MAY)
    await raise_alerts(scene, 1)
    assert told.list_payloads("dependabot_alert") == []
    await scene.github.accept_permissions(installation)
    await raise_alerts(scene, 1)
    assert told.actions("dependabot_alert") == ["created"]


def test_ranges_are_read_as_their_ecosystem_writes_versions():
    assert JINJA.holds("3.1.3")
    assert JINJA.holds("3.1.4rc1")
    assert not JINJA.holds("3.1.4")
    assert MINIMIST.holds("1.2.5")
    assert not MINIMIST.holds("0.0.10")
    assert not MINIMIST.holds("latest")
