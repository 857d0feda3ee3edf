"""One climb of the ladder at a time, beside the bare command with which people make that change.

No server, no checks of the repository, nothing published: the ladder with all of its proofs, in the
real sandbox. Each climb stands right after its bare command, so that a machine with other work to
do is as slow for both. Processor time says what either cost, whoever else was at work: that of this
process, and that of the commands; not what it takes to start a sandbox.
"""

from __future__ import annotations

import asyncio
import os
import re
import resource
import secrets
import shutil
import statistics
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from agents.pipelines.remediate.ladder import (
    Advisory,
    Fix,
    Group,
    Level,
    Terms,
    climb,
    ecosystem_of,
)
from agents.policy import Policy
from agents.ports import CommandResult, Kit
from app.demo.package_index.server import LocalIndex
from app.dependencies.cache import Store
from app.dependencies.index_access import IndexWays
from app.dependencies.indexes.finder import IndexFinder
from app.dependencies.indexes.operator_config import Operator
from app.dependencies.tool_kits import Kits, Loan
from app.git import CommitIdentity, Mirror, RunObjects
from app.git.worktree import GitWorkTree, open_work_tree, remove_tree
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.toolchains.choose import NOTHING_CHOSEN
from tests.bench.remediate.samples import BELOW, DIRECT, PARENT, Sample, Trouble
from tests.bench.remediate.tools import Tools

SANDBOX_UID = 58999
TERMS = Terms(today=date(2026, 11, 20))
NOBODY = CommitIdentity("Bench", "bench@localhost")
GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com")
AIMS = {"ladder": 2.5, "parent search": 3.0}
_TIMES = re.compile(r"FETTLE-TIMES\n(.*)\n(.*)\n?\Z")
_TIME = re.compile(r"([0-9]+)m([0-9.]+)s")


@dataclass(frozen=True)
class Cost:
    """What something took: seconds by the clock, and of processors."""

    clock: float
    processor: float


@dataclass(frozen=True)
class Climb:
    """One climb, and the bare command beside it."""

    manager: str
    kind: str
    """What of the ladder it measures, as in `AIMS`."""
    bare: Cost
    ladder: Cost
    fixed: bool
    questions: int
    """How often something was run in the sandbox."""


@dataclass
class Meter:
    """Measures what this process and the commands it starts take."""

    more: float = 0.0
    """Processor seconds of commands in sandboxes, which tell theirs themselves."""
    questions: int = 0

    @contextmanager
    def measure(self) -> Iterator[Callable[[], Cost]]:
        """Yield what returns the cost, once it is over."""
        began, before, more = time.monotonic(), _count_processor_seconds(), self.more
        found: list[Cost] = []
        yield lambda: found[0]
        used = _count_processor_seconds() - before + self.more - more
        found.append(Cost(time.monotonic() - began, used))


@dataclass
class MeteredTree:
    """A work tree whose questions to indexes tell how long processors worked for them."""

    tree: GitWorkTree
    meter: Meter

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tree, name)

    async def ask(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        kits: Sequence[Kit] = (),
        max_output: int = 64_000,
        shared_home: str = "",
    ) -> CommandResult:
        """Run a script as the work tree does, and take the time out of what it wrote.

        Of what runs in a sandbox that stays, `_count_staying` tells it.
        """
        self.meter.questions += 1
        how = {"timeout": timeout, "max_output": max_output, "shared_home": shared_home}
        ask = partial(self.tree.ask, kits=kits, **how)
        if shared_home and os.getuid() == 0:
            return await ask(argv)
        script = f"(\n{argv[-1]}\n)\ncode=$?\necho FETTLE-TIMES\ntimes\nexit $code"
        result = await ask([*argv[:-1], script])
        if found := _TIMES.search(result.output):
            told = _TIME.findall(found[0])
            self.meter.more += sum(int(minutes) * 60 + float(rest) for minutes, rest in told)
        return replace(result, output=_TIMES.sub("", result.output))

    async def converse(
        self, argv: Sequence[str], line: bytes, *, timeout: float, kits: Sequence[Kit] = ()
    ) -> bytes | None:
        """Ask a program that stays; at the end `_count_staying` says how long it worked."""
        self.meter.questions += 1
        return await self.tree.converse(argv, line, timeout=timeout, kits=kits)


@dataclass(frozen=True)
class Site:
    """What climbs share: a sandbox, and the way from it to the loopback index."""

    folder: Path
    sandbox: Bubblewrap
    kits: Kits

    @classmethod
    def make(cls, folder: Path, index: LocalIndex) -> Site:
        """Return one whose files lie in this folder."""
        folder.mkdir()
        folder.chmod(0o711)
        sandbox = Bubblewrap(SANDBOX_UID, place=folder)
        environ = {**index.environment, "PATH": os.environ["PATH"], "HOME": str(folder)}
        finder = IndexFinder(Operator(environ), sandbox.owner, conceal=lambda _: None)
        ways = partial(IndexWays(finder, sandbox.owner).open, reading_alone=True)
        store = Store(folder / "setups", sandbox.owner[1])
        return cls(folder, sandbox, Kits(store, sandbox, ways, "bench", finder.origins))

    async def open(self, name: str, files: Mapping[str, str]) -> GitWorkTree:
        """Return a work tree with these files."""
        source = self.folder / "sources" / name
        for path, text in files.items():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            (source / path).write_text(text)
        for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "One"]):
            _git(source, *command)
        gitdir = self.folder / "mirrors" / f"{name}.git"
        mirror = Mirror(gitdir, group=self.sandbox.owner[1], allow_files=True)
        await mirror.fetch(f"file://{source}/.git", None)
        return await open_work_tree(
            RunObjects(mirror, name),
            self.folder / "runs",
            name,
            _git(source, "rev-parse", "HEAD"),
            sandbox=self.sandbox,
            policy=Policy(),
            identity=NOBODY,
            lend=self._lend,
        )

    @asynccontextmanager
    async def _lend(self, argv: Sequence[str], kits: Sequence[Kit]) -> AsyncIterator[Loan]:
        scratch = self.folder / f"scratch-{secrets.token_hex(4)}"
        owner = self.sandbox.owner
        lent = self.kits.lend(scratch, argv, kits, owner=owner, toolchains=NOTHING_CHOSEN)
        try:
            async with lent as loan:
                yield loan
        finally:
            await asyncio.to_thread(remove_tree, scratch)


@dataclass
class Climbs:
    """Climbs one at a time, each beside its bare command."""

    tools: Tools
    index: LocalIndex
    folder: Path
    lock: Callable[[Sample], Mapping[str, str]]
    """Lays a repository as its people made it, in a world where the fix is not out yet."""
    meter: Meter = field(default_factory=Meter)

    async def measure(self, managers: Sequence[str], rounds: int) -> list[Climb]:
        """Return what climbs took; the first of each, which fetches the tools, does not count."""
        site, found = Site.make(self.folder, self.index), []
        for manager in managers:
            for trouble in (DIRECT, BELOW, PARENT):
                sample = Sample(f"one-{manager}-{trouble.name}", manager, (trouble,))
                if not self.tools.bare(sample, trouble):
                    continue
                files = await asyncio.to_thread(self.lock, sample)
                for turn in range(rounds + 1):
                    made = await self._climb(site, sample, trouble, files, turn)
                    found += [made] if turn else []
        return found

    async def _climb(
        self, site: Site, sample: Sample, trouble: Trouble, files: Mapping[str, str], turn: int
    ) -> Climb:
        name = f"{sample.name}-{turn}"
        place = site.folder / "bare" / name
        place.mkdir(parents=True)
        for path, text in files.items():
            (place / path).write_text(text)
        command = self.tools.bare(sample, trouble)
        with self.meter.measure() as bare:
            await asyncio.to_thread(self.tools.run, command, place, self.index)
        tree = MeteredTree(await site.open(name, files), self.meter)
        group = _group(sample, trouble, files)
        ecosystem = ecosystem_of(frozenset(files), group)
        assert ecosystem is not None, "every manager of the samples is known"
        before = self.meter.questions
        with self.meter.measure() as ladder:
            fix = await climb(tree, ecosystem, group, TERMS)
            self.meter.more += _count_staying(site.sandbox.owner[0])
        await tree.close()
        shutil.rmtree(place)
        fixed = isinstance(fix, Fix)
        searched = isinstance(fix, Fix) and fix.level is Level.PARENT
        kind = "parent search" if searched else "ladder"
        questions = self.meter.questions - before
        return Climb(sample.manager, kind, bare(), ladder(), fixed, questions)


def print_climbs(climbs: Sequence[Climb]) -> None:
    """Print what the ladder takes, to a bare command."""
    print("one climb at a time, to its bare command: by the clock, and in processor time")
    for kind, aim in AIMS.items():
        for manager in dict.fromkeys(each.manager for each in climbs):
            of_both = [each for each in climbs if (each.kind, each.manager) == (kind, manager)]
            if of_both:
                _print_row(f"{kind}, {manager}", of_both)
        every = [each for each in climbs if each.kind == kind]
        if every:
            _print_row(f"{kind}, all", every, f", aim {aim}")


def _print_row(title: str, climbs: Sequence[Climb], more: str = "") -> None:
    clock = statistics.median(each.ladder.clock / each.bare.clock for each in climbs)
    bare = sum(each.bare.processor for each in climbs)
    processor = sum(each.ladder.processor for each in climbs) / bare if bare else 0.0
    fixed = sum(each.fixed for each in climbs)
    questions = sum(each.questions for each in climbs) / len(climbs)
    words = f"{fixed} of {len(climbs)} mended, {questions:.0f} questions each{more}"
    print(f"  {title:26} {clock:5.1f} x {processor:5.1f} x  {words}")


def _count_processor_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def _count_staying(uid: int) -> float:
    """Return the processor seconds of what still runs as this user, and of what it waited for."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if uid != os.getuid() and stat.stat().st_uid == uid:
                ticks += sum(map(int, stat.read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _group(sample: Sample, trouble: Trouble, files: Mapping[str, str]) -> Group:
    about = {"severity": "high", "ecosystem": sample.kind, "package": trouble.name}
    advisories = [
        Advisory(ghsa_id=f"GHSA-aaaa-bbbb-ccc{at}", vulnerable=each, **about)
        for at, each in enumerate(trouble.vulnerable, 2)
    ]
    return Group(
        repository="octo-org/one",
        ecosystem=sample.kind,
        package=trouble.name,
        manifests=tuple(files),
        advisories=tuple(advisories),
    )


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [*GIT, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()
