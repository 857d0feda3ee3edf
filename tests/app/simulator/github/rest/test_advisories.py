"""The database of advisories: found by package and version, read by anybody."""

from datetime import timedelta

from app.simulator.github.state.alerts import Affected
from tests.app.simulator.github.alerting import JINJA, MINIMIST, advisory

PARSER = Affected("npm", "@forge/parser", "= 2.0.0")


async def names(call, query):
    answer = await call("GET", f"/advisories?{query}")
    assert answer.status == 200, answer.json
    return [each["ghsa_id"][-1] for each in answer.json]


async def test_advisories_are_found_by_what_they_affect(scene):
    call = scene.call()
    for ghsa, affected in {"GHSA-1": JINJA, "GHSA-2": MINIMIST, "GHSA-3": PARSER}.items():
        scene.github.advance_clock(timedelta(minutes=1))
        advisory(scene, affected, ghsa, kind="malware" if affected is PARSER else "reviewed")
    for query, found in {
        "": ["2", "1"],
        "affects=jinja2@3.1.3": ["1"],
        "affects=jinja2@3.1.4,minimist@1.2.5": ["2"],
        "affects[]=jinja2@3.1.3&affects[]=minimist": ["2", "1"],
        "affects=jinja2&ecosystem=npm": [],
        "ecosystem=npm": ["2"],
        "type=malware&affects=@forge/parser@2.0.0": ["3"],
        "type=malware&affects=@forge/parser": ["3"],
        "type=malware&affects=@forge/parser@2.0.1": [],
        "ghsa_id=GHSA-1": ["1"],
        "is_withdrawn=true": [],
        "direction=asc": ["1", "2"],
    }.items():
        assert await names(call, query) == found, query
    many = ",".join(f"p{n}" for n in range(1001))
    assert (await call("GET", f"/advisories?affects={many}")).status == 422
    assert (await call("GET", "/advisories?ecosystem=debian")).status == 422


async def test_advisories_come_in_pages(scene):
    call = scene.call()
    for number in range(3):
        advisory(scene, JINJA, f"GHSA-{number}")
    first = await call("GET", "/advisories?per_page=2&affects=jinja2")
    url = first.headers["Link"].partition(">")[0].strip("<")
    second = await call("GET", url)
    shown = [each["ghsa_id"] for each in first.json + second.json]
    assert shown == ["GHSA-2", "GHSA-1", "GHSA-0"]


async def test_a_withdrawn_advisory_says_so(scene):
    call = scene.call()
    weak = advisory(scene)
    scene.github.withdraw_advisory(weak)
    shown = (await call("GET", f"/advisories/{weak.ghsa_id}")).json
    assert shown["withdrawn_at"]
    assert shown["vulnerabilities"][0]["first_patched_version"] == "3.1.4"
    assert len((await call("GET", "/advisories?is_withdrawn=true")).json) == 1
    assert (await call("GET", "/advisories/GHSA-none")).status == 404


async def test_anybody_may_read_but_not_with_a_false_credential(scene):
    advisory(scene)
    assert len((await scene.with_credential(None)("GET", "/advisories")).json) == 1
    assert (await scene.with_credential("ghs_false")("GET", "/advisories")).status == 401
