"""The calls about alerts and advisories, made as an App makes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from app.simulator.github.gitdir import GitDir
from app.simulator.github.state.alerts import Affected

BASE = "/repos/forge/anvil"
ALERTS = f"{BASE}/dependabot/alerts"
JINJA = Affected("pip", "jinja2", ">= 3.0, < 3.1.4", "3.1.4", "medium")
OLDER = Affected("pip", "jinja2", "< 2.11.3", "2.11.3")
ORPHAN = Affected("npm", "@forge/orphan", "<= 4.0.0")
HERE = {"manifest_path": "poetry.lock", "scope": "development", "relationship": "transitive"}


async def raise_alerts(scene):
    """Find two dependencies vulnerable, one of them without a version that mends it."""
    github = scene.github
    known = github.publish_advisory(
        "GHSA-h75v-3vvj-5mfj",
        [JINJA, OLDER],
        severity="high",
        summary="Injection",
        description="Long",
        cve_id="CVE-2024-34064",
        references=["https://example.org/jinja"],
        cwes={"CWE-79": "Cross-site Scripting"},
    )
    unpatched = github.publish_advisory("GHSA-aaaa-bbbb-cccc", [ORPHAN], kind="unreviewed")
    first = await github.raise_alert(scene.repository, known, **HERE)
    github.advance_clock(timedelta(seconds=1))
    await github.raise_alert(
        scene.repository,
        unpatched,
        manifest_path="a/package-lock.json",
        scope=None,
        relationship=None,
    )
    return first


async def make_release_calls(scene):
    """Read the tags and releases of a repository: plain, annotated, absent."""
    git, call = GitDir(scene.repository.gitdir), scene.call
    who = {"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.com"}
    await git.run("tag", "v1.0.0", "main")
    await git.run("tag", "-a", "-m", "v1.1.0", "v1.1.0", "main", extra=who)
    scene.repository.releases["v1.0.0"] = datetime(2026, 1, 1, tzinfo=UTC)
    assert len(await call("GET", f"{BASE}/tags?per_page=1")) == 1
    await call("GET", f"{BASE}/git/ref/tags/v1.0.0")
    tag = (await call("GET", f"{BASE}/git/ref/tags/v1.1.0"))["object"]
    assert tag["type"] == "tag"
    about = await call("GET", f"{BASE}/git/tags/{tag['sha']}")
    assert about["object"]["type"] == "commit"
    await call("GET", f"{BASE}/git/tags/{'0' * 40}")
    await call("GET", f"{BASE}/releases/tags/v1.0.0")
    await call("GET", f"{BASE}/releases/tags/v1.1.0")


async def make_alert_calls(scene):
    """Make each of them, most in more than one way."""
    call, github = scene.call, scene.github
    await make_release_calls(scene)
    await raise_alerts(scene)
    for query in ("", "?per_page=1", "?state=open&ecosystem=pip&sort=updated&direction=asc"):
        await call("GET", f"{ALERTS}{query}")
    await call("GET", f"{ALERTS}?page=2")
    await call("GET", f"{ALERTS}?state=closed")
    await call("GET", f"{ALERTS}/1")
    await call("GET", f"{ALERTS}/77")
    body = {"state": "dismissed", "dismissed_reason": "not_used", "dismissed_comment": "So"}
    await call("PATCH", f"{ALERTS}/1", body)
    await call("PATCH", f"{ALERTS}/1", body)
    await call("PATCH", f"{ALERTS}/1", {"state": "open"})
    for query in ("", "?affects=jinja2@3.1.3,other", "?type=unreviewed&ecosystem=npm"):
        await call("GET", f"/advisories{query}")
    await call("GET", "/advisories?type=none")
    await call("GET", "/advisories/GHSA-h75v-3vvj-5mfj")
    github.withdraw_advisory(github.world.advisories["GHSA-AAAA-BBBB-CCCC"])
    await call("GET", "/advisories/GHSA-aaaa-bbbb-cccc")
    scene.repository.alerts_enabled = False
    await call("GET", ALERTS)
    scene.repository.alerts_enabled = True


async def make_bot_calls(scene):
    """Read what bots of others opened."""
    for bot in (scene.github.dependabot, scene.github.renovate):
        pull = await scene.github.bot_pull(
            scene.repository, bot, branch=f"{bot.id}/x", files={f"{bot.id}": "x"}, title="Bump"
        )
        await scene.call("GET", f"{BASE}/pulls/{pull.issue.number}")
        await scene.call("GET", f"{BASE}/pulls/{pull.issue.number}/commits")
        await scene.call("GET", f"{BASE}/activity?ref=refs/heads/{bot.id}/x")
