"""Change what CI reports on a commit: check runs, workflow runs, statuses."""

from __future__ import annotations

from collections.abc import Sequence

from app.simulator.github.accounts import Account, Actor, App
from app.simulator.github.changes.issues import Announce
from app.simulator.github.gitdir import Commit, GitDir
from app.simulator.github.schemas.actions import run_json, started_json
from app.simulator.github.schemas.checks import check_suite_json, suite_check_run_json
from app.simulator.github.schemas.git import commit_json, short_branch_json, status_json
from app.simulator.github.state.checks import (
    FAILED,
    ActionsRun,
    CheckRun,
    CheckSuite,
    CommitStatus,
    PartResult,
    RunPart,
)
from app.simulator.github.state.world import Repository, World

HEADS = "refs/heads/"


class CheckChanges:
    """Changes of check runs and all that is above and below them."""

    def __init__(self, world: World, announce: Announce) -> None:
        self._world = world
        self._announce = announce

    def suite(
        self, repository: Repository, app: App, sha: str, branch: str | None, *, own: bool = False
    ) -> CheckSuite:
        """Return the App's suite on a commit, made when missing or when it is to be its `own`."""
        found = [each for each in repository.suites.values() if each.app is app]
        here = [each for each in found if each.head_sha == sha]
        if here and not own:
            return here[0]
        birth = self._world.birth()
        made = CheckSuite(**birth, app=app, head_sha=sha, head_branch=branch)
        repository.suites[made.id] = made
        return made

    def begin(self, repository: Repository, suite: CheckSuite, name: str) -> CheckRun:
        """Put a check run into its suite, telling nobody."""
        run = CheckRun(
            **self._world.birth(),
            app=suite.app,
            suite=suite,
            name=name,
            head_sha=suite.head_sha,
            status="queued",
            conclusion=None,
            external_id="",
            details_url=None,
            started_at=self._world.get_time(),
            completed_at=None,
            output={},
        )
        repository.check_runs[run.id] = run
        suite.runs.append(run)
        return run

    async def finish(
        self, repository: Repository, checks: dict[CheckRun, str], actor: Actor
    ) -> None:
        """Let check runs of one suite end, and the suite with them when none is left."""
        for check, conclusion in checks.items():
            self.tell(repository, check, "created", actor)
            check.status, check.conclusion = "completed", conclusion
            check.completed_at = self._world.get_time()
            self.tell(repository, check, "completed", actor)
        await self.tell_suite(repository, next(iter(checks)).suite, actor)

    async def tell_suite(self, repository: Repository, suite: CheckSuite, actor: Actor) -> None:
        """Announce that a suite has ended, if it has."""
        if suite.status == "completed":
            commit = await _commit(repository, suite.head_sha)
            shape = check_suite_json(self._world, repository, suite, commit)
            payload = {"action": "completed", "check_suite": shape}
            self._announce(repository, "check_suite", actor, payload)

    def tell(self, repository: Repository, check: CheckRun, action: str, actor: Actor) -> None:
        """Announce a check run's beginning or end, to its own App as well."""
        shape = suite_check_run_json(self._world, repository, check)
        payload = {"action": action, "check_run": shape}
        self._announce(repository, "check_run", actor, payload)

    def begin_run(
        self,
        repository: Repository,
        suite: CheckSuite,
        *,
        name: str,
        event: str,
        actor: Account,
        head_repository: Repository,
    ) -> ActionsRun:
        """Start a run of Actions that has no part yet."""
        run = ActionsRun(
            **self._world.birth(),
            repository=repository,
            suite=suite,
            name=name,
            number=1 + sum(each.name == name for each in repository.runs.values()),
            event=event,
            actor=actor,
            head_repository=head_repository,
        )
        repository.runs[run.id] = run
        return run

    async def finish_run(self, run: ActionsRun, results: Sequence[PartResult]) -> None:
        """Let parts of a run end: those that wait under these names, or new ones."""
        repository, ended = run.repository, {}
        waiting = {each.check.name: each for each in run.latest if each.check.status == "queued"}
        for result in results:
            part = waiting.get(result.name) or self.add_part(run, result.name)
            part.steps, part.log = result.steps or _steps(result.conclusion), result.log
            ended[part.check] = result.conclusion
        actor = Actor(run.actor)
        await self.finish(repository, ended, actor)
        if run.suite.status == "completed":
            commit = await _commit(repository, run.suite.head_sha)
            shape = run_json(self._world, run, commit)
            told = {"workflow": started_json(self._world, run), "workflow_run": shape}
            self._announce(repository, "workflow_run", actor, {"action": "completed"} | told)

    def add_part(self, run: ActionsRun, name: str) -> RunPart:
        """Put another part into a run."""
        check = self.begin(run.repository, run.suite, name)
        part = run.parts[check.id] = RunPart(check, run.attempt, (), "")
        return part

    def rerun_failed(self, run: ActionsRun) -> None:
        """Begin another attempt with what has failed."""
        failed = [each.check.name for each in run.latest if each.check.conclusion in FAILED]
        run.attempt += 1
        for name in failed:
            self.add_part(run, name)

    async def set_status(self, repository: Repository, status: CommitStatus, actor: Actor) -> None:
        """Put a status on a commit."""
        repository.statuses.append(status)
        commit = await _commit(repository, status.sha)
        tips = await GitDir(repository.gitdir).refs(HEADS)
        here = [ref.removeprefix(HEADS) for ref, sha in tips.items() if sha == status.sha]
        shape = status_json(self._world, repository, status)
        kept = ("id", "state", "description", "target_url", "context", "created_at", "updated_at")
        payload = {name: shape[name] for name in kept} | {
            "sha": status.sha,
            "name": repository.full_name,
            "commit": commit_json(self._world, repository, commit),
            "branches": [
                short_branch_json(self._world, repository, each, status.sha) for each in here
            ],
        }
        self._announce(repository, "status", actor, payload)


def _steps(conclusion: str) -> tuple[tuple[str, str], ...]:
    return (("Set up", "success"), ("Run the checks", conclusion))


async def _commit(repository: Repository, sha: str) -> Commit:
    [found] = await GitDir(repository.gitdir).commits(sha, limit=1)
    return found
