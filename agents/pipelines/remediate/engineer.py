"""Stage engineer: where the ladder fails, a model edits dependency files; code verifies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from agents.errors import ModelRefused
from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.remediate.clean_climb import (
    describe_advisories,
    find_new_advisories,
    find_objection,
)
from agents.pipelines.remediate.commit_text import format_message, format_subject
from agents.pipelines.remediate.dependency_files import (
    explain_unreadable_version,
    find_strange,
    find_version_objection,
    is_version,
)
from agents.pipelines.remediate.findings import known_ecosystem, make_terms
from agents.pipelines.remediate.frozen_locks import explain_recipe, find_locks
from agents.pipelines.remediate.ladder import Ecosystem, Group, Move, Stuck, Unfit, judge
from agents.pipelines.remediate.prompt_text import alerts_shown, name_shown
from agents.pipelines.remediate.work import Bump, Work
from agents.pipelines.stages.onboarding import describe_setup as told_of
from agents.pipelines.stages.onboarding import read_instructions
from agents.ports import SetupResult, WorkTree
from agents.run import StageContext, stage
from agents.text import one_line

STEPS_LIMIT = 6_000  # characters of why each rung was not enough
SUMMARY_LIMIT = 2_000

_LEFT = "Nothing is to be changed with `skipped`: put back {files}."
_WHY = "`skipped` needs `reason`: say what stands in the way, and what somebody could do."
_SUMMARY = "`changed` needs `summary`."
_TOLD = "Changed by an engineer, and checked by code: {files}."
_UNREAD = (
    "Fettle cannot read these files itself: that {version} is what gets installed is shown by the"
    " changed files, by the commands that accepted them, and by the repository's checks."
)


class DependencyFix(Submission, tool="submit_dependency_fix"):
    """Deliver the change of the dependency files: they are committed as they are now."""

    outcome: Literal["changed", "skipped"]
    """`skipped`: there is no safe way within what is permitted."""
    version: str = Field(max_length=60)
    """The version that the package is at now; empty when it was skipped, or is gone."""
    summary: str = Field(max_length=3_000)
    """What you changed and why that is enough, in two to six lines. Empty when it was skipped."""
    reason: str = Field(max_length=2_000)
    """For `skipped`: what stands in the way, and what somebody could do. Else empty."""


ENGINEER = Conversation(
    name="engineer",
    prompt=prompt_path(__file__, "engineer.md"),
    output=DependencyFix,
    capability=Capability.CHANGE,
    max_turns=50,
)


@stage
async def engineer(run: StageContext, work: Work, setup: SetupResult) -> Work:
    """Find a way where the ladder found none."""
    run.update_state(tainted=True)  # an advisory's text and foreign releases are anybody's
    checking = _Checking(run, work, await known_ecosystem(run, work.found.group))
    assert work.refusal is not None, "the ladder was asked first"
    if checking.ecosystem is None and (recipe := await _find_recipe(run, work, setup)):
        run.summarize("nothing could prove a change of its files")
        refusal = work.refusal.model_copy(update={"cause": "by_hand", "reason": recipe})
        return work.model_copy(update={"refusal": refusal})
    try:
        done = await run.converse(
            ENGINEER,
            objection=checking.objection,
            setup=told_of(run, setup),
            instructions=await read_instructions(run),
            package=name_shown(work, 100),
            directory=one_line(work.found.group.directory, 100) or "the repository's root",
            majors=(await make_terms(run)).majors,
            alerts=await alerts_shown(run, work.found),
            steps=run.fence(_steps(work), limit=STEPS_LIMIT),
            feedback=run.fence(work.feedback) if work.feedback else "",
        )
    except ModelRefused as refused:
        run.summarize("no model looked for one")
        return work.model_copy(update={"unsought": str(refused)})
    if done.outcome == "skipped":
        run.summarize(one_line(done.reason, 120))
        return work.model_copy(update={"skipped": done.reason})
    return await _commit_fix(run, work, done, await checking.bump(done))


@dataclass
class _Checking:
    """Holds what the engineer made against what code can check; the same checks as the ladder's."""

    run: StageContext
    work: Work
    ecosystem: Ecosystem | None
    made: Bump | None = field(default=None)

    async def objection(self, done: DependencyFix) -> str | None:
        """Return what speaks against a submission, for the model."""
        tree = self.run.at_work
        result = await tree.snapshot()
        changed = await tree.list_changed_paths(self.run.base, result)
        if done.outcome == "skipped":
            left = _LEFT.format(files=", ".join(changed[:10])) if changed else ""
            return left or (None if done.reason.strip() else _WHY)
        if not done.summary.strip():
            return _SUMMARY
        fault = find_strange(changed, self.ecosystem.files if self.ecosystem else ())
        self.ecosystem = await known_ecosystem(self.run, self.work.found.group)
        try:
            self.made = None if fault else await self._prove(tree, result, done)
        except (Stuck, Unfit) as stuck:
            fault = str(stuck)
        if fault:
            await tree.restore(result)
        return fault or None

    async def bump(self, done: DependencyFix) -> Bump:
        """Return what was proved; proved again where another process had done it."""
        if self.made is None:
            tree = await self.run.tree(self.run.left, changing=True)
            self.made = await self._prove(tree, await tree.snapshot(), done)
        return self.made

    async def _prove(self, tree: WorkTree, result: str, done: DependencyFix) -> Bump:
        """Return the change with its evidence. Raises Stuck with what speaks against it."""
        if self.ecosystem is None:
            return await self._check_claim(tree, result, done)
        group, allowed = self.work.found.group, await make_terms(self.run)
        await _refresh_lock(tree, self.ecosystem, group, done.version.strip())
        result = await tree.snapshot()
        # A new one: an ecosystem remembers the files that it was shown first.
        ecosystem = await known_ecosystem(self.run, group) or self.ecosystem
        proof = await judge(tree, ecosystem, group, allowed, (self.run.base, result))
        learnt = await find_new_advisories(self.run, ecosystem, group, proof.moves)
        if fault := find_objection(learnt):
            raise Stuck(fault)
        evidence, notes = describe_advisories(learnt)
        return Bump(
            by="engineer",
            moves=proof.moves,
            files=proof.files,
            evidence=(*proof.evidence, *evidence),
            notes=(*proof.notes, *notes),
            summary=done.summary[:SUMMARY_LIMIT],
            tree=proof.tree,
        )

    async def _check_claim(self, tree: WorkTree, result: str, done: DependencyFix) -> Bump:
        """Return a change of files that the ladder cannot read, checked as far as text goes."""
        changed = await tree.list_changed_paths(self.run.base, result)
        texts = {path: (await tree.show(result, path) or b"").decode(errors="replace")
                 for path in changed}  # fmt: skip
        group, [*versions] = self.work.found.group, self.work.found.vulnerable
        old, majors = (versions[-1] if versions else ""), (await make_terms(self.run)).majors
        if fault := find_version_objection(group, done.version.strip(), texts, old, majors=majors):
            raise Stuck(fault)
        move = Move(name=group.package, old=tuple(versions), new=(done.version.strip(),))
        return Bump(
            by="engineer",
            moves=(move,),
            files=tuple(changed),
            evidence=(_TOLD.format(files=", ".join(changed[:10])),),
            notes=(_UNREAD.format(version=done.version.strip()),),
            unread=tuple(changed),
            summary=done.summary[:SUMMARY_LIMIT],
            tree=result,
        )


async def _find_recipe(run: StageContext, work: Work, setup: SetupResult) -> str:
    """Return what people can do where no change of their files could be proved; else nothing."""
    group = work.found.group
    paths = await run.ports.source.files(run.base)
    locks = find_locks(paths, group)
    return explain_recipe(locks or set(group.manifests).intersection(paths), setup, group)


async def _refresh_lock(tree: WorkTree, ecosystem: Ecosystem, group: Group, version: str) -> None:
    """Have the lock file made anew for the manifests as they are: the model has no way to do that.

    Raises Stuck. Where the package is said to be gone, the lock file is judged as it is.
    """
    if not version:
        return
    if not is_version(ecosystem.scheme, version):
        raise Stuck(explain_unreadable_version(version))
    await ecosystem.read(tree)
    await ecosystem.relock(tree, {ecosystem.name_of(group.package): version})


async def _commit_fix(run: StageContext, work: Work, done: DependencyFix, bump: Bump) -> Work:
    await run.tree(bump.tree)
    group = work.found.group
    commit = await run.commit(
        format_subject(group, bump.moves), format_message(group, done.summary)
    )
    assert commit is not None, "a fix changes something: that was checked"
    run.update_state(foundation=commit)
    run.let_go()
    run.summarize(f"changed: {commit[:10]}")
    return work.model_copy(update={"bump": bump.model_copy(update={"commit": commit})})


def _steps(work: Work) -> str:
    assert work.refusal is not None, "the ladder was asked first"
    steps = [f"Level {step.level:d}: {step.why}" for step in work.refusal.steps]
    return "\n".join([work.refusal.reason, *steps])
