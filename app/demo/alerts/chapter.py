"""Chapter three of the demo: Dependabot alerts arrive and are remediated."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.config.settings import process_environment
from app.demo.alerts.case import AlertCase, PreparedAlertCase, made_up_case, real_cases
from app.demo.alerts.exploit_check import ExploitSandbox
from app.demo.scene import Scene
from app.simulator.github.state.alerts import Affected, Alert
from app.simulator.github.state.world import Pull, Repository
from app.store.database import Database
from app.store.runs import History, KeptRun, StoredJournal

REPOSITORY = "tools"
_POLICY = (
    "# Nothing to install and no checks: what is shown here is the update itself.\n"
    "setup: {run: []}\nquality: []\nremediation: {severities: [medium, high, critical]}\n"
)
_PASSED_ON = ("PIP_", "UV_", "npm_config_", "NPM_CONFIG_", "SSL_CERT_", "REQUESTS_CA", "NODE_EXTRA")


@dataclass(frozen=True)
class AlertOutcome:
    """One alert, and what became of it."""

    package: str
    advisory: str
    manifest: str
    number: int
    """The pull request; 0 without one."""
    title: str
    by: str
    """What moved: the lock file alone, or more; empty without a fix."""
    exploit: dict[str, str]
    """What the program printed with what was locked `before`, and `after`; and what is `safe`."""
    tokens: int
    outcome: str

    @property
    def whole(self) -> bool:
        """Return whether the attack worked before and does not any more, for no token."""
        before, after, safe = (self.exploit[each] for each in ("before", "after", "safe"))
        return bool(self.number) and before != safe and after == safe and self.tokens == 0


@dataclass(frozen=True)
class AlertsResult:
    """What came of all alerts."""

    mended: list[AlertOutcome]
    made_up: bool
    """No index of this machine has the real packages, so others took their place."""
    seconds: float
    """From the first alert to the last pull request."""
    cost_usd: float

    @property
    def whole(self) -> bool:
        """Return whether each of them was mended."""
        return bool(self.mended) and all(each.whole for each in self.mended)


@dataclass
class Chapter:
    """What the chapter is about, before it begins."""

    cases: Sequence[PreparedAlertCase]
    made_up: bool
    repository: Repository | None = None
    alerts: list[tuple[AlertCase, Alert]] = field(default_factory=list)

    @classmethod
    async def find(cls) -> Chapter:
        """Return one with the cases that this machine has packages for."""
        found = await real_cases()
        if found:
            return cls(found, made_up=False)
        made_up = made_up_case()
        return cls([made_up] if made_up else [], made_up=True)

    async def set(self, scene: Scene, place: Path) -> None:
        """Make the repository, and let the App see it."""
        source = place / "alerts"
        files = {path: text for case in self.cases for path, text in case.files.items()}
        for path, text in {**files, ".github/fettle.yml": _POLICY}.items():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            (source / path).write_text(text, "utf-8")
        made = scene.github.create_repository(scene.repository.owner, REPOSITORY, source=source)
        self.repository = await made
        [installation] = scene.github.world.installations.values()
        await scene.github.add_repositories(installation, [self.repository])

    async def begin(self, scene: Scene) -> None:
        """Have GitHub find the alerts, all at once: it sends a signed webhook for each."""
        assert self.repository is not None, "it was made before"
        for each in self.cases:
            about = each.about
            advisory = scene.github.publish_advisory(
                about.ghsa,
                [Affected(about.ecosystem, about.package, about.vulnerable, about.patched)],
                severity=about.severity,
                summary=about.summary,
                cve_id=about.cve or None,
            )
            alert = await scene.github.raise_alert(
                self.repository,
                advisory,
                manifest_path=about.manifest,
                relationship=about.relationship,
            )
            self.alerts.append((about, alert))

    def pulls(self) -> list[Pull]:
        """Return the repository's pull requests, oldest first."""
        issues = self.repository.issues.values() if self.repository else ()
        return [issue.pull for issue in issues if issue.pull is not None]

    async def runs(self, database: Database) -> list[KeptRun]:
        """Return the runs that are over, oldest first."""
        assert self.repository is not None, "it was made before"
        found = await History(database).newest(50, repository=self.repository.full_name)
        return [run for run in reversed(found) if run.outcome is not None]

    async def collect(
        self, database: Database, laboratory: ExploitSandbox, seconds: float
    ) -> AlertsResult:
        """Try each exploit, before and after, and gather what became of the alerts."""
        runs = await self.runs(database)
        tried = (self._record_case(case, runs, database, laboratory) for case, _ in self.alerts)
        mended = await asyncio.gather(*tried)
        cost = sum(run.usd for run in runs)
        return AlertsResult([*mended], self.made_up, round(seconds, 2), round(cost, 4))

    async def _record_case(
        self,
        case: AlertCase,
        runs: Sequence[KeptRun],
        database: Database,
        laboratory: ExploitSandbox,
    ) -> AlertOutcome:
        run = next((run for run in runs if _package_of(run) == case.package), None)
        details = run.outcome.details if run and run.outcome else {}
        made = run.outcome.pull_request if run and run.outcome else None
        pull = next((p for p in self.pulls() if made and p.issue.number == made.number), None)
        usage, _, _ = await StoredJournal(database, run.id).sum_usage() if run else (None, 0.0, 0)
        exploit = {"safe": case.exploit.after, "before": await laboratory.shows(case, "main")}
        exploit["after"] = await laboratory.shows(case, pull.head_sha) if pull else ""
        return AlertOutcome(
            package=case.package,
            advisory=case.ghsa,
            manifest=case.manifest,
            number=pull.issue.number if pull else 0,
            title=pull.issue.title if pull else "",
            by=_list_changed_files(details),
            exploit=exploit,
            tokens=sum(usage.model_dump().values()) if usage else 0,
            outcome=run.outcome.text if run and run.outcome else "No run has ended.",
        )


def passed_on() -> dict[str, str]:
    """Return the variables that say which package indexes this machine uses."""
    environ = process_environment()
    return {n: text for n, text in environ.items() if n.startswith(_PASSED_ON) or n == "HOME"}


def _package_of(run: KeptRun) -> str:
    details: Mapping[str, Any] = run.outcome.details if run.outcome else {}
    found = details.get("found", details)
    return str(found.get("group", {}).get("package", ""))


def _list_changed_files(details: Mapping[str, Any]) -> str:
    bump = details.get("bump") or {}
    files = [str(file).rsplit("/", 1)[-1] for file in bump.get("files", ())]
    return f"{' and '.join(files)} alone" if files else ""
