"""Repositories with open alerts on the local GitHub, and the command line beside them."""

from __future__ import annotations

import asyncio
import logging
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import structlog

from agents.pipelines.remediate.ladder import finders
from app.cli.remediate.commands import RemediationArguments
from app.cli.remediate.execute import run
from app.config.settings import load_settings
from app.operator.open_alerts import open_alerts
from app.operator.remediation_requests import RemediationOptions
from app.operator.repositories import repository_at
from app.operator.submit import hand_over
from app.secrets.redaction import Redactor
from app.simulator.github import LocalGitHub
from app.simulator.github.admin.apps import PERMISSIONS
from app.simulator.github.state.alerts import Affected
from app.simulator.model import LocalModel
from app.simulator.model.script import Script
from app.store.database import Database
from app.wiring.serve import open_github
from tests.agents.pipelines.remediate.conftest import lock
from tests.agents.pipelines.remediate.ladder.conftest import MadeUpEcosystem
from tests.app.clone import conftest as clone
from tests.flows.forked import ForkedServer
from tests.patience import PATIENCE

RELEASES = {
    "jinja2": ["3.1.3", "3.1.4"],
    "sqlparse": ["1.4.4", "1.5.0"],
    "stuck": ["1.0.0"],
    "painter": ["1.0.0", "2.0.0"],
}
CHECK = "test -f lock.json\n"
FILES = {
    ".github/fettle.yml": "quality: [{name: unit, run: 'sh check.sh'}]\nsetup: {run: []}\n",
    "check.sh": CHECK,
    "app.py": "import jinja2\n",
    "lock.json": lock(jinja2="3.1.3", sqlparse="1.4.4", stuck="1.0.0"),
    "wants.json": "{}",
}
JINJA, SQLPARSE, STUCK = "GHSA-h75v-3vvj-5mfj", "GHSA-2m57-hf25-phgg", "GHSA-aaaa-bbbb-cccc"
PAINTER = "GHSA-dddd-eeee-ffff"
ABOUT = {
    "jinja2": (JINJA, "< 3.1.4", "3.1.4", "high"),
    "sqlparse": (SQLPARSE, "< 1.5.0", "1.5.0", "high"),
    "stuck": (STUCK, "<= 1.0.0", None, "critical"),
    "painter": (PAINTER, "< 2.0.0", "2.0.0", "high"),
}


def part(when, *calls):
    return {"when": when, "turns": [{"call": [call]} for call in calls]}


@dataclass
class Shop:
    """All of it on loopback; no server is started."""

    root: Path
    github: LocalGitHub
    server: ForkedServer
    app: object
    owner: object
    capsys: object
    monkeypatch: object
    repositories: dict = field(default_factory=dict)
    model: LocalModel | None = None

    async def repository(self, name, packages=("jinja2",), files=None, alerts=True):
        """Make a repository with an alert about each of these packages."""
        source = self.root / f"source-{name}"
        for path, text in (FILES | (files or {})).items():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            (source / path).write_text(text)
        made = await self.github.create_repository(self.owner, name, source=source)
        self.repositories[name] = made
        for package in packages if alerts else ():
            await self.alert(made, package)
        return made

    async def alert(self, repository, package, manifest="lock.json", **more):
        ghsa, vulnerable, patched, severity = ABOUT[package]
        known = self.github.world.advisories.get(ghsa.upper())
        advisory = known or self.github.publish_advisory(
            ghsa,
            [Affected("pip", package, vulnerable, patched, severity)],
            severity=severity,
            summary=f"{package} \x1b[31mis\u202e weak",
        )
        return await self.github.raise_alert(repository, advisory, manifest_path=manifest, **more)

    async def install(self, names=None):
        chosen = [self.repositories[each] for each in names or self.repositories]
        await self.github.install(self.app.app_id, chosen)

    def settings(self, **more):
        """Give the process the variables of the server's operator."""
        environment = {**self.server.environment(self.app), **more}
        key = Path(environment["FETTLE_PRIVATE_KEY_FILE"])
        key.parent.mkdir(mode=0o711, exist_ok=True)
        key.touch(mode=0o600)
        key.write_text(self.app.private_key)
        environment.pop("PATH")
        for name, value in environment.items():
            self.monkeypatch.setenv(name, value)

    async def run(self, command, place=None, **typed):
        """Do what the command does, in this process; return its code, output and errors."""
        known = {"org", "user", "alerts", "severity", "packages", "from_scan", "model", "shape"}
        of_said = {name: typed.pop(name) for name in known & set(typed)}
        said = RemediationArguments(
            place=place,
            org=of_said.get("org"),
            user=of_said.get("user"),
            alerts=of_said.get("alerts", []),
            severity=of_said.get("severity"),
            packages=of_said.get("packages", []),
            from_scan=of_said.get("from_scan"),
            model=of_said.get("model", ""),
            shape=of_said.get("shape", "json"),
        )
        self.capsys.readouterr()
        async with asyncio.timeout(PATIENCE):
            code = await run(command, said, typed)
        out, err = self.capsys.readouterr()
        return Done(code, out, err)

    async def request(self, repository, **options):
        """Return what the command would ask for about jinja2."""
        settings, redactor = load_settings(), Redactor()
        async with open_github(settings, redactor) as github:
            installed = await repository_at(github, self.owner.login, repository.name)
            [group] = await open_alerts(github, installed, redactor.clean)
        return RemediationOptions("remediate", **options).request(
            group, installed.repository, installation_id=installed.installation_id, url="http://x"
        )

    async def hand_over(self, request):
        """Have it wait in the inbox, as another command leaves it; return the id of its run."""
        database = Database(self.server.database_url)
        try:
            await asyncio.to_thread(database.migrate)
            return await hand_over(database, request)
        finally:
            database.close()

    async def play(self, *script):
        """Have a model play these parts."""
        self.model = await LocalModel.start(Script.model_validate(script))
        self.server.model_url = self.model.url
        self.settings()

    def pulls(self, name):
        issues = self.repositories[name].issues.values()
        return [issue.pull for issue in issues if issue.pull is not None]

    @property
    def mirrors(self):
        return sorted((self.server.data / "mirrors").glob("*.git"))


class Done(clone.Done):
    """How the command ended, which reports on repositories."""

    @property
    def groups(self):
        """The groups of the only repository, by package."""
        [repository] = self.json["repositories"]
        return {group["package"]: group for group in repository["groups"]}

    @property
    def results(self):
        """The result of each group, by repository and package."""
        return {
            (each["repository"], group["package"]): group["result"]
            for each in self.json["repositories"]
            for group in each["groups"]
        }


@pytest.fixture
async def shop(capsys, monkeypatch):
    """A GitHub without repositories, and nobody who works on it."""
    monkeypatch.setattr(finders, "FINDERS", (lambda paths, group: MadeUpEcosystem(RELEASES),))
    root = Path(tempfile.mkdtemp(prefix="fettle-alerts-"))
    root.chmod(0o711)  # sandboxes are another user and must get through; pytest's may not
    monkeypatch.setenv("HOME", str(root / "home"))
    (root / "here").mkdir()
    monkeypatch.chdir(root / "here")
    github = await LocalGitHub.start(root / "github")
    server = ForkedServer(root / "fettle", github.url, "http://127.0.0.1:9")
    app = github.create_app("fettle", permissions={**PERMISSIONS, "vulnerability_alerts": "read"})
    owner = github.create_organization("octo-org")
    made = Shop(root, github, server, app, owner, capsys, monkeypatch)
    made.settings()
    handlers = logging.getLogger().handlers[:]
    yield made
    logging.getLogger().handlers = handlers  # a run sends the log to a file
    structlog.reset_defaults()
    await github.stop()
    if made.model is not None:
        await made.model.stop()
    shutil.rmtree(root, ignore_errors=True)
