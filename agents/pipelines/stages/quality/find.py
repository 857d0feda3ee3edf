"""The checks of a repository that can run in its sandbox: from its policy, else from its files."""

from __future__ import annotations

import asyncio
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agents.analysis.languages import (
    SuggestedCheck,
    find_folder,
    list_read_paths,
    list_suggestions,
)
from agents.analysis.repository_files import RepositoryFiles
from agents.analysis.service_start import explain_unavailable, wrap_with_services
from agents.analysis.services import (
    Service,
    UnstartedService,
    find_services,
    list_service_paths,
)
from agents.analysis.workflows.checks import (
    HOOKS,
    HOOKS_SUBJECT,
    list_ci_checks,
    list_ci_paths,
    list_hooks,
    list_left_out,
)
from agents.pipelines.stages.quality.results import BY_POLICY, RepositoryCheck
from agents.ports import WorkTree
from agents.run import StageContext
from agents.text import code_span

SERVICE_TIMEOUT = 120.0  # seconds for one server to start
_NOT_STARTED = "{kind}, which {source} names, did not start in the sandbox"
_ALL = "{name} (all)"
_TESTS = re.compile(r"\btests\b")
_DJANGO, _NPM = "manage.py test", "npm tests"
MOST_STAND_INS = 3
_LINTS = re.compile(r"\b(?:lint|types|format|vet)\b")
_DETECTED = "found in the repository's files"
_LEFT_OUT = "; {count} more commands of its workflows are left out: `quality` can name them"
_NOT_HERE = "; {commands} is left out: only its settings are there, not its program"
_NO_HOOKS = "; pre-commit's hooks are left out: what they need is not in the sandbox"


@dataclass(frozen=True)
class FoundChecks:
    """The checks of a repository, and what there is to say of those that are not among them."""

    checks: tuple[RepositoryCheck, ...]
    missing: tuple[str, ...] = ()
    """The commands of those that cannot run."""
    guessed: frozenset[str] = frozenset()
    """Those of them that nobody named."""
    source: str = BY_POLICY
    """Who named them, for people."""
    besides: frozenset[str] = frozenset()
    """Guessed commands of whole suites, of which workflows run parts."""
    families: Mapping[str, str] = field(default_factory=dict)
    """By its command, what a check is about that runs all of it, as far as anybody can tell."""
    left_out: tuple[SuggestedCheck, ...] = ()
    """Commands of workflows' tests that are too many."""
    stand_ins: Mapping[str, tuple[SuggestedCheck, ...]] = field(default_factory=dict)
    """By its command, what may run in the place of a check that runs no test here."""

    def list_left_out(self, commands: Iterable[str]) -> tuple[str, ...]:
        """Return what is left out, and not part of what one of these commands runs."""
        whole = {self.families.get(each, "") for each in commands}
        return tuple(each.check.run for each in self.left_out if each.family not in whole)


@dataclass
class _Choice:
    """The candidates that are taken, and those that cannot run."""

    whole: dict[str, SuggestedCheck] = field(default_factory=dict)
    parts: dict[str, SuggestedCheck] = field(default_factory=dict)
    missing: dict[str, SuggestedCheck] = field(default_factory=dict)
    taken: list[SuggestedCheck] = field(default_factory=list)

    def is_served(self, candidate: SuggestedCheck) -> bool:
        """Return whether another command does what this one would do."""
        subject, family = candidate.subject, candidate.family or candidate.subject
        if subject in (self.parts if candidate.partial else self.whole):
            return True
        blocked = subject in self.missing and not self.missing[subject].partial
        return not candidate.source and not blocked and family in self._list_families()

    def take(self, candidate: SuggestedCheck, *, runs: bool) -> None:
        """Keep a candidate, by whether it can run."""
        if not runs:
            self.missing.setdefault(candidate.subject, candidate)
            return
        named = candidate if candidate.partial else self._name(candidate)
        (self.parts if candidate.partial else self.whole)[candidate.subject] = named
        self.taken.append(named)

    def list_missing(self) -> list[SuggestedCheck]:
        """Return what cannot run and has nothing in its place."""
        return [each for each in self.missing.values() if not self._has_other(each)]

    def list_besides(self) -> frozenset[str]:
        """Return the guessed commands of what workflows run in parts."""
        return frozenset(
            each.check.run
            for subject, each in self.whole.items()
            if subject in self.parts and not each.source
        )

    def _has_other(self, gone: SuggestedCheck) -> bool:
        if gone.partial:
            served = gone.family in self._list_families()
        else:
            served = not gone.source and gone.subject in self.parts
        return served or gone.subject in self.whole

    def _list_families(self) -> set[str]:
        return {each.family or each.subject for each in self.whole.values()}

    def _name(self, check: SuggestedCheck) -> SuggestedCheck:
        """Return it with another name than a part of it has."""
        if check.subject not in self.parts:
            return check
        named = check.check.model_copy(update={"name": _ALL.format(name=check.check.name)})
        return replace(check, check=named)


async def find_checks(run: StageContext) -> FoundChecks:
    """Return the checks that can run, the commands of those that cannot, and who named them."""
    policy = await run.policy()
    if policy.quality is not None:
        return FoundChecks(tuple(RepositoryCheck(**dict(each)) for each in policy.quality))
    files = await _files(run)
    candidates = await asyncio.to_thread(_list_candidates, files)
    choice = await _choose(run, candidates)
    choice.missing.pop(HOOKS_SUBJECT, None)
    gone, taken = choice.list_missing(), choice.taken
    stand_ins = {e.check.run: _list_stand_ins(e, candidates) for e in choice.whole.values()}
    left_out = await asyncio.to_thread(list_left_out, files)
    remarks = [_LEFT_OUT.format(count=len(left_out))] if left_out else []
    if unused := [code_span(each.check.run) for each in gone if _is_guessed_linter(each)]:
        remarks.append(_NOT_HERE.format(commands=", ".join(unused)))
    if HOOKS in files.paths and HOOKS_SUBJECT not in choice.whole:
        remarks.append(_NO_HOOKS)
    return FoundChecks(
        checks=tuple(RepositoryCheck(**dict(e.check), named=bool(e.source)) for e in taken),
        missing=tuple(each.check.run for each in gone if not _is_guessed_linter(each)),
        guessed=frozenset(each.check.run for each in gone if not each.source),
        source="".join((_describe_source(taken), *remarks)),
        besides=choice.list_besides(),
        families={e.check.run: e.family or e.subject for e in choice.whole.values()},
        left_out=tuple(each for each in left_out if _TESTS.search(each.subject)),
        stand_ins=stand_ins,
    )


async def list_stand_ins(
    run: StageContext, found: FoundChecks, command: str
) -> list[RepositoryCheck]:
    """Return the checks that can run and may do so in the place of this one, the best first."""
    tree = await run.tree(run.base)
    likely = found.stand_ins.get(command, ())[:MOST_STAND_INS]
    runs = [each for each in likely if await _available(tree, each)]
    return [RepositoryCheck(**dict(each.check), named=False) for each in runs]


def _list_stand_ins(
    chosen: SuggestedCheck, candidates: Sequence[SuggestedCheck]
) -> tuple[SuggestedCheck, ...]:
    """Return the guesses that may stand in for a workflow's tests, Django's own, or npm's.

    Django's may be none, and npm's may be about what a build has to make first.

    Nothing does for pytest, which says nothing where something is not installed: unittest would
    find a part of the tests, and be content with it.
    """
    replaced = chosen.source or _DJANGO in chosen.check.run or chosen.subject.startswith(_NPM)
    if not replaced or not _TESTS.search(chosen.subject):
        return ()
    return tuple(
        each
        for each in candidates
        if each.subject == chosen.subject
        and not each.source
        and each.check.run != chosen.check.run
        and not ("pytest" in chosen.check.run and "unittest" in each.check.run)
    )


async def _choose(run: StageContext, candidates: Iterable[SuggestedCheck]) -> _Choice:
    tree = await run.tree(run.base)
    choice = _Choice()
    probed: dict[str, bool] = {}
    for candidate in candidates:
        if choice.is_served(candidate):
            continue
        if candidate.available not in probed:
            probed[candidate.available] = await _available(tree, candidate)
        choice.take(candidate, runs=probed[candidate.available])
    return choice


async def find_running_services(
    run: StageContext,
) -> tuple[tuple[Service, ...], tuple[UnstartedService, ...]]:
    """Return the servers that start here of those that the repository names, and why others do not.

    What the repository's default branch says counts, also for what others changed since.
    """
    source = run.ports.source
    read = await asyncio.to_thread(list_service_paths, await source.files(run.base))
    texts = await run.read_texts(run.base, read)
    found = await asyncio.to_thread(find_services, texts)
    starting: list[Service] = []
    unstarted = list(found.unstarted)
    for service in found.services:
        tree = await run.tree()
        result = await tree.run(wrap_with_services(["true"], [service]), timeout=SERVICE_TIMEOUT)
        why = explain_unavailable(result, [service])
        if why or result.exit_code:
            reason = why or _NOT_STARTED.format(kind=service.kind, source=service.source)
            unstarted.append(UnstartedService(source=service.source, reason=reason))
        else:
            starting.append(service)
    return tuple(starting), tuple(unstarted)


def order_by_touched(commands: Sequence[str], changed: Iterable[str]) -> list[int]:
    """Return the places of these commands, those of the folders that a change touches first."""
    folders = [find_folder(command) for command in commands]
    nearest = {_find_nearest(path, folders) for path in changed}
    return sorted(range(len(commands)), key=lambda at: folders[at] not in nearest)


def _find_nearest(path: str, folders: Sequence[str]) -> str:
    """Return the deepest of these folders that the path lies in; empty for the root."""
    parent = posixpath.dirname(path)
    while parent and parent not in folders:
        parent = posixpath.dirname(parent)
    return parent


def _list_candidates(files: RepositoryFiles) -> list[SuggestedCheck]:
    """Return what maintainers run themselves before what the files merely suggest."""
    return [*list_ci_checks(files), *list_suggestions(files), *list_hooks(files)]


def _is_guessed_linter(check: SuggestedCheck) -> bool:
    """Return whether settings alone suggest it, which say that somebody lints, not that CI does.

    Editors and hooks do, with a program of their own: that it is not here says nothing of a change.
    """
    return not check.source and bool(_LINTS.search(check.subject))


def _describe_source(checks: Iterable[SuggestedCheck]) -> str:
    named = dict.fromkeys(f"`{each.source}`" for each in checks if each.source)
    return f"{_DETECTED}, of them {', '.join(named)}" if named else _DETECTED


async def _files(run: StageContext) -> RepositoryFiles:
    source = run.ports.source
    paths = frozenset(await source.files(run.base))
    read = {*await asyncio.to_thread(list_read_paths, paths), *list_ci_paths(paths)}
    return RepositoryFiles(paths, await run.read_texts(run.base, sorted(read)))


async def _available(tree: WorkTree, candidate: SuggestedCheck) -> bool:
    result = await tree.run(["bash", "-c", candidate.available], timeout=30, writable=False)
    return result.exit_code == 0
