"""Stages look_for_others, take_up: verify another bot's pull request instead of competing."""

from __future__ import annotations

from collections.abc import Sequence

from agents.errors import RunError
from agents.pipelines.remediate.findings import AlertGroup, known_ecosystem, make_terms
from agents.pipelines.remediate.fix import restore_base
from agents.pipelines.remediate.ladder import (
    Ecosystem,
    Group,
    Proof,
    Stuck,
    Terms,
    Unfit,
    judge,
    survey,
)
from agents.pipelines.remediate.work import BrokenPull, Bump
from agents.ports import Alerts, OtherPull, WorkTree
from agents.requests import Frozen, RemediateAlert
from agents.run import StageContext, stage
from agents.text import one_line

MOST = 4  # of the newest ones, that are looked at

_PEOPLE = "{who} has pushed to #{number} of {author}, so people are at it: Fettle leaves it alone."
_OURS = "#{number}, which Fettle opened before, mends it: it waits for somebody to merge it."
_DRAFT = (
    "#{number}, which Fettle opened before, is a draft about it: it waits for somebody to go on"
    " with it."
)
_FIRST = "#{number}, which Fettle opened before, is about the package: it comes first."
_UNPROVED = "#{number} of {author} does not mend it: {why}"


class Others(Frozen):
    """What others are at."""

    candidates: tuple[OtherPull, ...] = ()
    """Open pull requests that may mend it, newest first."""
    waits: str = ""
    """Why nothing is to be done; empty: something is."""
    adopted: OtherPull | None = None
    """The one that is taken up instead of making another one."""
    bump: Bump | None = None
    """What code proved of it."""
    left: BrokenPull | None = None
    """The one that was taken up and left, where it moves to another major version."""
    useless: tuple[int, ...] = ()
    """Those that were looked at and do not mend it."""
    why_not: tuple[str, ...] = ()
    """Why, one line each."""
    earlier: tuple[OtherPull, ...] = ()
    """Fettle's own about the same lock file, which nobody else has pushed to."""
    elsewhere: tuple[int, ...] = ()
    """Alerts of companions that others are at."""


@stage
async def look_for_others(run: StageContext, request: RemediateAlert, found: AlertGroup) -> Others:
    """Look whether somebody is at it already."""
    if run.ports.alerts is None:
        return Others()
    group = found.group
    every = await run.ports.alerts.find_open_pulls(group.ecosystem, group.package, group.directory)
    base = request.base_branch or request.repository.default_branch
    there = [each for each in every if each.base == base and not each.foreign]
    mine = [each for each in there if each.of_package or found.alerts & {*each.alerts}][:MOST]
    for pull in mine:
        if pull.pushed_by and not pull.own:
            who = one_line(", ".join(pull.pushed_by), 80)
            waits = _PEOPLE.format(who=who, number=pull.number, author=pull.author)
            run.summarize(one_line(waits, 120))
            return Others(waits=waits)
    ours = [pull for pull in mine if pull.own]
    if found.retire is not None and ours:  # with the override in place it proves nothing
        waits = _FIRST.format(number=ours[0].number)
        run.summarize(one_line(waits, 120))
        return Others(waits=waits)
    numbers = ", ".join(f"#{pull.number}" for pull in mine)
    run.summarize(numbers or "nobody else is at it")
    earlier = tuple(each for each in there if each.own and not each.pushed_by)
    elsewhere = await _list_elsewhere(run.ports.alerts, found, there, base)
    return Others(candidates=tuple(mine), earlier=earlier, elsewhere=elsewhere)


async def _list_elsewhere(
    alerts: Alerts, found: AlertGroup, there: Sequence[OtherPull], base: str
) -> tuple[int, ...]:
    """Return the companions' alerts that are for others: a bot's, or an own that has to stay.

    One of Fettle's own stays where people have pushed to it, or where it holds more than this run.
    """
    every = found.alerts.union(*(each.alerts for each in found.companions))
    own = [each for each in there if each.own]
    stay = [each for each in own if each.pushed_by or not every.issuperset(each.alerts)]
    held = {alert for pull in stay for alert in pull.alerts}
    for each in found.companions:
        group = each.group
        pulls = await alerts.find_open_pulls(group.ecosystem, group.package, group.directory)
        if any(pull.base == base and not (pull.foreign or pull.own) for pull in pulls):
            held |= each.alerts
    return tuple(sorted(held & every))


@stage
async def take_up(run: StageContext, found: AlertGroup, others: Others) -> Others:
    """Prove what others have made."""
    useless: list[int] = []
    why_not: list[str] = []
    for pull in others.candidates:
        bump = await _prove_pull(run, found, pull)
        if isinstance(bump, str):
            if not pull.of_package:
                continue
            useless.append(pull.number)
            why_not.append(_explain_unproved(pull, bump))
            continue
        if pull.own and not pull.pushed_by and await _is_outdated(run, pull, bump):
            continue
        if pull.own:
            waits = (_DRAFT if pull.draft else _OURS).format(number=pull.number)
            run.summarize(one_line(waits, 120))
            return Others(waits=waits)
        run.update_state(start=bump.commit, head=bump.commit, foundation=bump.commit)
        run.let_go()
        run.summarize(f"#{pull.number} mends it, as far as its files tell")
        seen = {"adopted": pull, "bump": bump, "useless": tuple(useless)}
        return others.model_copy(update={**seen, "why_not": tuple(why_not)})
    if len(useless) == len(others.candidates):
        run.summarize("none of them mends it")
    return others.model_copy(update={"useless": tuple(useless), "why_not": tuple(why_not)})


@stage
async def leave_it(run: StageContext, others: Others) -> Others:
    """Make a fix of our own after all."""
    restore_base(run)
    pull = others.adopted
    assert pull is not None, "one was taken up"
    why_not = _explain_unproved(pull, "checks that passed before fail with it.")
    seen = {"useless": (*others.useless, pull.number), "why_not": (*others.why_not, why_not)}
    if others.bump is not None and others.bump.major:
        left = BrokenPull(pull=pull, major=others.bump.major)
        others = others.model_copy(update={"left": left})
    return others.model_copy(update={"adopted": None, "bump": None, **seen})


def _explain_unproved(pull: OtherPull, why: str) -> str:
    return _UNPROVED.format(number=pull.number, author=one_line(pull.author, 60), why=why)


async def _is_outdated(run: StageContext, pull: OtherPull, bump: Bump) -> bool:
    """Return whether a file that it changes is another one by now where it is to be merged."""
    source = run.ports.source
    fork = await source.fork_point(run.base, bump.commit)
    for path in bump.files:
        if await source.show(fork, path) != await source.show(run.base, path):
            run.summarize(f"#{pull.number} is made anew: {one_line(path, 80)} has moved on")
            return True
    return False


async def _prove_pull(run: StageContext, found: AlertGroup, pull: OtherPull) -> Bump | str:
    """Return what code proves of a pull request, or why it does not mend it."""
    ecosystem = await known_ecosystem(run, found.group)
    if ecosystem is None:
        return "Fettle cannot read these lock files, so nothing can be proved of it."
    source = run.ports.source
    head = await source.branch(pull.branch)
    if head is None:
        return "its branch is gone."
    try:
        start = await source.fork_point(run.base, head)
        tree = await run.tree(changing=True)
        proof, major = await _judge_files(run, tree, ecosystem, found.group, (start, head))
    except (Stuck, Unfit, RunError) as fault:
        return str(fault)
    return Bump(
        major=major,
        by="other",
        moves=proof.moves,
        files=proof.files,
        evidence=proof.evidence,
        notes=proof.notes,
        tree=proof.tree,
        commit=head,
    )


async def _judge_files(
    run: StageContext, tree: WorkTree, ecosystem: Ecosystem, group: Group, files: tuple[str, str]
) -> tuple[Proof, str]:
    """Return what code proves, and the other major version that it moves to.

    One is taken up where the index offers nothing else and the policy has such fixes made. Raises
    Stuck, Unfit.
    """
    terms = await make_terms(run, group)
    try:
        return await judge(tree, ecosystem, group, terms, files), ""
    except Stuck:
        wanted = (await run.policy()).remediation.majors
        if terms.majors or wanted not in ("draft", "ask"):
            raise
        await tree.restore(files[0])
        if not await _is_major_left(tree, ecosystem, group, terms):
            raise
    proof = await judge(tree, ecosystem, group, terms.model_copy(update={"majors": True}), files)
    return proof, proof.moves[0].ends[1][-1] if proof.moves else ""


async def _is_major_left(tree: WorkTree, ecosystem: Ecosystem, group: Group, terms: Terms) -> bool:
    """Return whether a release of another major version is the only one that is safe."""
    try:
        await survey(tree, ecosystem, group, terms)
    except Unfit as unfit:
        return bool(unfit.major)
    return False
