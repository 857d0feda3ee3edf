"""The three real alerts, with the packages of this machine's own indexes: no token is spent."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import pytest

from agents.errors import ConfigError
from app.demo.alerts.case import real_cases
from app.demo.alerts.exploit_check import ExploitSandbox
from app.sandbox.path_permissions import make_passable, require_reach
from app.simulator.github.gitdir import GitDir
from app.simulator.github.state.alerts import Affected
from tests.app.conftest import sandbox
from tests.flows.forked import ForkedServer
from tests.flows.remediate.remedied import Remedied

__all__ = ["sandbox"]  # a fixture

PASSED_ON = ("PIP_", "UV_", "npm_config_", "NPM_CONFIG_", "SSL_CERT", "REQUESTS_CA", "NODE_EXTRA")
LEVELS = {
    "sqlparse": "own requirement names the new version",
    "jinja2": "Only the lock file changes",
    "minimist": "Only the lock file changes",
}
POLICY = "quality: []\nsetup: {run: []}\nremediation: {severities: [medium, high, critical]}\n"


class Stocked(ForkedServer):
    """A server that finds the kits of earlier ones: fetching them takes longer than all else."""

    kits: Path | None = None

    async def start(self, app):
        if self.kits is not None and not (self.data / "setups").exists():
            make_passable(self.data / "setups")
            (self.data / "setups" / "kits").symlink_to(self.kits)
        await super().start(app)


@pytest.fixture
def stocked(request, sandbox):
    """Make servers with kits that outlive this test, where sandboxes can reach them."""
    shared = request.config.cache.mkdir("kits")

    def make(*args, **more):
        server = Stocked(*args, **more)
        with contextlib.suppress(ConfigError):
            require_reach([shared], sandbox.owner)
            server.kits = shared
        return server

    return make


async def raise_alert(at, case):
    about = case.about
    affected = Affected(about.ecosystem, about.package, about.vulnerable, about.patched)
    words = {"severity": about.severity, "summary": about.summary, "cve_id": about.cve}
    return await at.raise_alert(
        affected, manifest=about.manifest, ghsa=about.ghsa, relationship=about.relationship, **words
    )


async def test_the_exploits_work_before_and_not_on_what_was_pushed(make_place, sandbox, stocked):
    cases = await real_cases()
    if len(cases) < 3:
        found = ", ".join(each.about.package for each in cases) or "none of them"
        pytest.skip(f"no index of this machine offers all three packages: {found}")
    files = {".github/fettle.yml": POLICY}
    for case in cases:
        files |= case.files
    settings = {n: v for n, v in os.environ.items() if n.startswith(PASSED_ON) or n == "HOME"}
    async with make_place(files, kind=stocked, **settings) as place:
        at = Remedied(place, None)
        await asyncio.gather(*(raise_alert(at, case) for case in cases))
        outcomes = await at.ends("pull_request", "pull_request", "pull_request")

        assert at.results(outcomes) == ["unverified"] * 3, "no check of these repositories counts"
        gitdir, folder = at.repository.gitdir, place.server.data.parent / "tries"
        make_passable(folder)
        lab = ExploitSandbox(sandbox, gitdir, folder)
        for case in cases:
            about, [pull] = case.about, [p for p in place.pulls() if case.about.package in p.head]
            assert LEVELS[about.package] in pull.issue.body
            assert about.ghsa in pull.issue.body
            assert f"| `{about.package}` |" in pull.issue.body
            changed = await GitDir(gitdir).run("diff", "--name-only", f"main..{pull.head}")
            assert changed.decode().split() == [about.manifest]
            assert await lab.shows(about, "main") == about.exploit.before
            assert await lab.shows(about, pull.head) == about.exploit.after
        assert place.model.requests == []
