"""Play somebody's CI: report check runs and statuses on a commit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from app.simulator.github.accounts import Account, Actor, App
from app.simulator.github.admin.apps import AppsAdmin
from app.simulator.github.gitdir import GitDir
from app.simulator.github.state.checks import ActionsRun, CheckRun, CommitStatus, PartResult
from app.simulator.github.state.world import Repository

ACTIONS = "github-actions"
HEADS = "refs/heads/"


class ChecksAdmin(AppsAdmin):
    """Acts as machines do. Each call returns when its webhooks are answered."""

    @property
    def actions_app(self) -> App:
        """Return the App that GitHub Actions is, registered when it is first needed."""
        found = next((each for each in self.world.apps.values() if each.slug == ACTIONS), None)
        if found:
            return found
        github = self.world.account("github") or self.create_organization("github")
        made = self.create_app(ACTIONS, owner=github, permissions={"checks": "write"}, events=())
        return self.world.apps[made.app_id]

    async def complete_check(
        self,
        repository: Repository,
        sha: str,
        *,
        name: str,
        conclusion: str,
        log: str | None = "",
        app: App | None = None,
        event: str = "push",
        by: Account | None = None,
        fork: Repository | None = None,
        branch: str | None = None,
        steps: Sequence[tuple[str, str]] = (),
    ) -> CheckRun:
        """Let a check have run on a commit: of Actions, or of an outside CI when `log` is None.

        `by` is whose doing it was, `branch` where the commit was then, `fork` where it came from.
        """
        if log is not None:
            result = PartResult(name, conclusion, log, tuple(steps))
            run = await self.complete_run(
                repository,
                sha,
                [result],
                name=name,
                app=app,
                event=event,
                by=by,
                fork=fork,
                branch=branch,
            )
            return run.latest[0].check
        checks, where = self.parts.checks, branch or await _branch_of(repository, sha)
        suite = checks.suite(repository, app or self.actions_app, sha, where)
        check = checks.begin(repository, suite, name)
        await checks.finish(repository, {check: conclusion}, Actor(by or repository.owner))
        await self.webhooks.wait_until_settled()
        return check

    async def complete_run(
        self,
        repository: Repository,
        sha: str,
        parts: Sequence[PartResult],
        *,
        name: str = "CI",
        app: App | None = None,
        event: str = "push",
        by: Account | None = None,
        fork: Repository | None = None,
        branch: str | None = None,
    ) -> ActionsRun:
        """Let a run of Actions with several parts have ended on a commit."""
        checks, where = self.parts.checks, branch or await _branch_of(fork or repository, sha)
        suite = checks.suite(repository, app or self.actions_app, sha, where, own=True)
        run = checks.begin_run(
            repository,
            suite,
            name=name,
            event=event,
            actor=by or repository.owner,
            head_repository=fork or repository,
        )
        await checks.finish_run(run, parts)
        await self.webhooks.wait_until_settled()
        return run

    async def finish_rerun(
        self, run: ActionsRun, conclusion: str = "success", log: str = ""
    ) -> None:
        """Let the parts end that somebody has had run again."""
        waiting = [each.check.name for each in run.latest if each.check.status == "queued"]
        results = [PartResult(name, conclusion, log) for name in waiting]
        await self.parts.checks.finish_run(run, results)
        await self.webhooks.wait_until_settled()

    async def set_status(
        self,
        repository: Repository,
        sha: str,
        state: Literal["error", "failure", "pending", "success"],
        *,
        by: Account,
        label: str = "ci/outside",
        description: str | None = None,
    ) -> CommitStatus:
        """Put a status on a commit."""
        status = CommitStatus(
            **self.world.birth(),
            sha=sha,
            state=state,
            label=label,
            description=description,
            target_url=None,
            creator=by,
        )
        await self.parts.checks.set_status(repository, status, Actor(by))
        await self.webhooks.wait_until_settled()
        return status


async def _branch_of(repository: Repository, sha: str) -> str | None:
    tips = await GitDir(repository.gitdir).refs(HEADS)
    return next((ref.removeprefix(HEADS) for ref, tip in tips.items() if tip == sha), None)
