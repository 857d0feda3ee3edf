"""Run an installation plan in a sandbox of its own that reaches only package indexes."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import structlog

from agents.analysis.failure_cause import add_cause, shorten_cause
from agents.analysis.languages import TOOLS, VENV, InstallPlan, InstallRecipe
from agents.analysis.languages.unavailable import find_unavailable
from agents.errors import RunError, ToolError
from agents.policy import Policy
from agents.ports import CommandResult, SetupCommand, SetupResult
from agents.text import plain_output, printable
from app.dependencies.cache_entry import Leavings, Manifest, take_over
from app.dependencies.layout import INSTALLING, PLACE, SCRATCH, WORKING
from app.git import CommitIdentity, Mirror, RunObjects
from app.git.worktree import (
    CommandMounts,
    GitWorkTree,
    open_file,
    open_work_tree,
    read_file,
    remove_tree,
)
from app.sandbox.port import HOME, Mount, Sandbox, SandboxCommand
from app.secrets.redaction import Redactor
from app.toolchains.choose import NOTHING_CHOSEN, ToolchainChoice

_NOBODY = CommitIdentity("Fettle", "fettle@localhost")
_OUTPUT_KEPT = 6_000
_PROBE_SECONDS = 60.0
WARM_SECONDS = 300.0
"""For one command that fills compilers' caches, at most."""
FIRST_ON_PATH = (f"{VENV}/bin", f"{TOOLS}/bin", f"{HOME}/.local/bin", f"{HOME}/.cargo/bin")
"""Folders of programs that come first on PATH while something is installed."""
PLACES = {"setup": PLACE, "home": HOME, "tmp": SCRATCH}
"""The folders of what is being built, and where its sandbox sees them."""

_REFUSED = (
    "The set-up asked for what is no package index of this machine, and was refused: {hosts}. An "
    "operator can allow more hosts with FETTLE_SETUP_HOSTS."
)
_FAILED = {
    "exit": "`{command}` ended with exit code {code}.",
    "timeout": "`{command}` was stopped: {share}.",
    "output": "`{command}` was stopped: it wrote far too much.",
    "killed": "`{command}` was killed: out of memory, processor time or disk, or by a signal.",
}
_ALL_TIME = "the set-up took longer than its {timeout:.0f} s"
_SHARE = "it had used up its share of the set-up's {timeout:.0f} s"
_CAUSE = " It says: {cause}."
_SECOND_WAY = (
    "{problem} So {way} was used instead: what it installs may differ from what the "
    "repository's files name."
)
_LEFT_OUT = (
    "`{name}` is left out: no index that is in reach has it as the repository's files ask for it."
)
_NEEDLESS = "{problem} No check of the repository needs that, so it is held against nothing."
_MOST_UNAVAILABLE = 8
_MOST_CHANGED = 50  # files that are named
_WORTH_A_TRY = 2.0  # seconds that have to be left
log = structlog.get_logger()


class Way(Protocol):
    """Access from a sandbox to the package indexes."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the variables that lead tools to their indexes."""
        ...

    @property
    def mounts(self) -> Sequence[Mount]:
        """Return the mounts of indexes that are local folders."""
        ...

    def wrap(self, command: SandboxCommand) -> SandboxCommand:
        """Return the command with the access added."""
        ...

    def list_refusals(self) -> Sequence[str]:
        """Return the refused requests with their reasons."""
        ...


OpenWay = Callable[[Mapping[str, str]], AbstractAsyncContextManager[Way]]
"""Opens the way for these tools, of each a package that it will ask for."""

Origins = Callable[[Mapping[str, str]], Awaitable[Sequence[str]]]
"""Tells where these tools get packages from here; what came from elsewhere is not used again."""


@dataclass
class _Record:
    """What happened, recipe by recipe."""

    until: float
    timeout: float
    commands: list[SetupCommand] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    warms: list[str] = field(default_factory=list)
    """What fills compilers' caches, now that all it needs is there."""
    locked: bool = True
    """Whether all that was installed is what lock files name."""

    @property
    def left(self) -> float:
        """Return the seconds that are left for all recipes."""
        return self.until - time.monotonic()

    def add_problems(self, recipe: InstallRecipe, outcome: _Outcome) -> None:
        """Keep what went wrong, each thing once; of what no check needs, nothing is missing."""
        new = dict.fromkeys((*outcome.problems, *outcome.left_out))
        if recipe.needless:
            self.notes += [_NEEDLESS.format(problem=each) for each in new]
        else:
            self.problems += [each for each in new if each not in self.problems]

    def add_way(self, recipe: InstallRecipe) -> None:
        """Keep whether lock files name what this way of installing installs."""
        self.locked = self.locked and recipe.locked


@dataclass(frozen=True)
class _Outcome:
    """How the commands of one recipe ended."""

    problems: tuple[str, ...] = ()
    out_of_time: bool = False
    left_out: tuple[str, ...] = ()
    """What is missing although all commands have succeeded in the end."""


@dataclass(frozen=True)
class Builder:
    """Installs dependencies on this machine."""

    sandbox: Sandbox
    toolchains: Sequence[Path]
    redactor: Redactor
    open_way: OpenWay
    place: Callable[[Sandbox], Sandbox] | None = None
    """Returns where commands run as the user of a sandbox, where that is in an image: git is run in
    the machine's own."""

    async def build(
        self,
        mirror: Mirror,
        folder: Path,
        base: str,
        plan: InstallPlan,
        toolchains: ToolchainChoice = NOTHING_CHOSEN,
    ) -> Manifest:
        """Run the plan on a checkout of `base`, keep the result in `folder`, and report on it.

        A failed recipe does not stop the others, and a slow one does not take their time.
        """
        run = folder / "run" / checkout_of(folder)
        own = replace(self, sandbox=self.sandbox.for_run(run))
        try:
            return await own.build_here(mirror, folder, base, plan, toolchains)
        finally:
            self.sandbox.release(run)

    async def build_here(
        self,
        mirror: Mirror,
        folder: Path,
        base: str,
        plan: InstallPlan,
        toolchains: ToolchainChoice,
    ) -> Manifest:
        """Do it as the user of this very sandbox."""
        for name in PLACES:
            create_owned_folder(folder / name, self.sandbox.owner)
        began = time.monotonic()
        record = _Record(began + plan.timeout, plan.timeout, notes=[*plan.notes])
        async with self.open_way(plan.tools) as way:
            offline = asyncio.Event()
            tree = await self._checkout(mirror, folder, base, way, toolchains, offline=offline)
            try:
                blobs = await mirror.blobs(base) if plan.watched else {}
                before = await asyncio.to_thread(_mark, tree.files, blobs)
                await self._follow_all(tree, plan.recipes, record)
                offline.set()
                await self._warm(tree, record)
                changed = await _list_changed(mirror, tree, blobs, before)
                leavings = await self._taken_over(folder, tree)
            finally:
                await tree.close()
            if refused := way.list_refusals():
                record.notes.append(_REFUSED.format(hosts="; ".join(refused)))
        await asyncio.to_thread(_remove, folder / "run", folder / "tmp")
        result = SetupResult(
            source=plan.source,
            commands=tuple(record.commands),
            problems=tuple(record.problems),
            notes=tuple(map(printable, (*record.notes, *leavings.notes))),
            seconds=round(time.monotonic() - began, 1),
            changed=changed,
            refused=tuple(map(printable, record.refused)),
        )
        return Manifest(
            result=result,
            base=base,
            locked=record.locked,
            made=time.time(),
            size=leavings.size,
            within=tuple(leavings.within),
            scratch=tuple(leavings.scratch),
            copies=tuple(leavings.copies),
            home=tuple(leavings.home),
            path=tuple(leavings.path),
        )

    async def _checkout(
        self,
        mirror: Mirror,
        folder: Path,
        base: str,
        way: Way,
        toolchains: ToolchainChoice,
        *,
        offline: asyncio.Event,
    ) -> GitWorkTree:
        mounts = tuple(Mount(folder / at, to, writable=True) for at, to in PLACES.items())
        installing = CommandMounts(
            mounts=(*mounts, *way.mounts),
            environment={**INSTALLING, **way.environment},
            path=FIRST_ON_PATH,
            wrap=way.wrap,
        )
        warming = CommandMounts(  # as runs will have it, whose compilers are to find what is there
            mounts=mounts, environment={**WORKING, "TMPDIR": SCRATCH}, path=FIRST_ON_PATH
        )

        async def furnish(_: str) -> CommandMounts:
            return toolchains.extend(warming if offline.is_set() else installing)

        return await open_work_tree(
            RunObjects(mirror, checkout_of(folder)),
            folder / "run",
            checkout_of(folder),
            base,
            sandbox=self.sandbox,
            inside=self.place(self.sandbox) if self.place else None,
            policy=Policy(),
            identity=_NOBODY,
            furnish=furnish,
        )

    async def _taken_over(self, folder: Path, tree: GitWorkTree) -> Leavings:
        ignored = await tree.list_ignored()
        try:
            return await asyncio.to_thread(take_over, folder, tree.files, ignored, self.toolchains)
        except RecursionError as error:
            raise RunError("What the set-up made is nested too deep to be kept.") from error

    async def _follow_all(
        self, tree: GitWorkTree, recipes: Sequence[InstallRecipe], record: _Record
    ) -> None:
        """Follow each recipe for its share of the time; then, with what is left, those stopped."""
        stopped: list[tuple[InstallRecipe, _Outcome]] = []
        for number, recipe in enumerate(recipes):
            waiting = len(recipes) - number
            outcome = await self._follow(tree, recipe, record, record.left / waiting)
            if outcome.out_of_time and waiting > 1:
                stopped.append((recipe, outcome))
            else:
                record.add_problems(recipe, outcome)
        for number, (recipe, outcome) in enumerate(stopped):
            seconds = record.left / (len(stopped) - number)
            if seconds > _WORTH_A_TRY:
                outcome = await self._follow(tree, recipe, record, seconds)  # noqa: PLW2901 the last one counts
            record.add_problems(recipe, outcome)

    async def _follow(
        self, tree: GitWorkTree, recipe: InstallRecipe, record: _Record, seconds: float
    ) -> _Outcome:
        """Follow a recipe; where a command of it fails, its second way."""
        until = time.monotonic() + seconds
        chosen = await _available(tree, recipe)
        if chosen is None:
            record.add_way(recipe)
            return _Outcome((f"{recipe.missing}.",))
        outcome = await self._run_all(tree, chosen, record, until)
        second = chosen.otherwise
        if not outcome.problems or outcome.out_of_time or second is None:
            record.add_way(chosen)
            return outcome
        other = await self._follow(tree, second, record, until - time.monotonic())
        if other.problems:
            more = other.problems if second.kind != chosen.kind else ()
            return _Outcome((*outcome.problems, *more), other.out_of_time)
        first = outcome.problems[0]
        way = f"`{second.commands[-1]}`" if second.kind == chosen.kind else second.kind
        record.notes.append(_SECOND_WAY.format(problem=first, way=way))
        record.refused.append(record.notes[-1])
        return other

    async def _run_all(
        self, tree: GitWorkTree, recipe: InstallRecipe, record: _Record, until: float
    ) -> _Outcome:
        problems: list[str] = []
        missing: list[str] = []
        for number, command in enumerate(recipe.commands):
            result = await self._run(tree, command, record, until)
            if recipe.leaves_out and result.exit_code:
                result, left_out = await self._install_rest(tree, command, result, record, until)
                missing += left_out
            if result.exit_code:
                problems.append(self._describe_failure(command, result, record))
                timed_out = result.why == "timeout"
                if timed_out or number == 0 or not recipe.carries_on:
                    return _Outcome(tuple(problems), timed_out, tuple(missing))
        if not problems:
            record.warms.extend(recipe.warms)
        return _Outcome(tuple(problems), left_out=tuple(missing))

    async def _warm(self, tree: GitWorkTree, record: _Record) -> None:
        """Fill compilers' caches with what is left of the time."""
        for command in dict.fromkeys(record.warms):
            if (seconds := min(record.left, WARM_SECONDS)) > _WORTH_A_TRY:
                ended = await tree.run(["bash", "-c", command], timeout=seconds)
                log.info("caches filled", why=ended.why, seconds=round(ended.seconds, 1))

    async def _run(
        self, tree: GitWorkTree, command: str, record: _Record, until: float
    ) -> CommandResult:
        seconds = max(until - time.monotonic(), 1.0)
        result = await tree.run(["bash", "-c", command], timeout=seconds)
        record.commands.append(self._to_setup_command(command, result))
        return result

    async def _install_rest(
        self, tree: GitWorkTree, command: str, failed: CommandResult, record: _Record, until: float
    ) -> tuple[CommandResult, list[str]]:
        """Install what can be had, where the output says what cannot.

        Returns how that ended, and what is missing then.
        """
        result, gone = failed, list[str]()
        while len(gone) < _MOST_UNAVAILABLE:
            found = find_unavailable(command, self._clean(result), gone)
            if found is None:
                break
            gone.append(found.name)
            for command in found.commands:  # noqa: PLR1704 the last one is tried again
                result = await self._run(tree, command, record, until)
            if not result.exit_code:
                return result, [_LEFT_OUT.format(name=name) for name in gone]
        return failed, []

    def _describe_failure(self, command: str, result: CommandResult, record: _Record) -> str:
        over = record.left < _WORTH_A_TRY
        text = _FAILED.get(result.why, _FAILED["killed"]).format(
            command=command,
            code=result.exit_code,
            share=(_ALL_TIME if over else _SHARE).format(timeout=record.timeout),
        )
        cause = shorten_cause(self._clean(result)) if result.why == "exit" else ""
        return text + (_CAUSE.format(cause=cause.rstrip(".")) if cause else "")

    def _clean(self, result: CommandResult) -> str:
        return printable(plain_output(self.redactor.clean(result.output)))

    def _to_setup_command(self, command: str, result: CommandResult) -> SetupCommand:
        """Return what is kept of a command; of one that failed, its cause stands at the end."""
        written = self._clean(result)
        output = written[-_OUTPUT_KEPT:]
        output = add_cause(output, written) if result.exit_code else output
        return SetupCommand(
            command=command,
            exit_code=result.exit_code,
            seconds=round(result.seconds, 1),
            output=output,
        )


def checkout_of(folder: Path) -> str:
    """Return the id of the checkout that is being built in this folder."""
    return f"setup-{folder.name}"


async def _available(tree: GitWorkTree, recipe: InstallRecipe) -> InstallRecipe | None:
    """Return the recipe, or the one instead of it, whichever this machine has programs for."""
    tried: InstallRecipe | None = recipe
    while tried is not None:
        probe = await tree.run(["bash", "-c", tried.available], timeout=_PROBE_SECONDS)
        if probe.exit_code == 0:
            return tried
        tried = tried.instead
    return None


_Marks = Mapping[str, tuple[int, ...]]
"""What tells whether somebody wrote to a file, by its path."""


def _mark(root: Path, paths: Iterable[str]) -> _Marks:
    """Return the marks of the regular files among these paths; the kernel keeps the last one."""
    marks: dict[str, tuple[int, ...]] = {}
    for path in paths:
        with suppress(ToolError), open_file(root, path) as file:
            about = os.fstat(file)
            marks[path] = (about.st_mode, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
    return marks


async def _list_changed(
    mirror: Mirror, tree: GitWorkTree, blobs: Mapping[str, str], before: _Marks
) -> tuple[str, ...]:
    """Return the files of the commit that hold something else now, or are gone."""
    after = await asyncio.to_thread(_mark, tree.files, before)
    changed = []
    for path in (path for path, mark in before.items() if after.get(path) != mark):
        data, now = await mirror.blob(blobs[path]), None
        with suppress(ToolError):  # gone, longer, or no file any more
            now = await asyncio.to_thread(read_file, tree.files, path, len(data))
        if now != data:
            changed.append(printable(path))
        if len(changed) == _MOST_CHANGED:
            break
    return tuple(changed)


def create_owned_folder(folder: Path, owner: tuple[int, int]) -> None:
    """Create a folder that belongs to the sandbox's user."""
    folder.mkdir()
    folder.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(folder, *owner)


def _remove(*folders: Path) -> None:
    for folder in folders:
        remove_tree(folder)
