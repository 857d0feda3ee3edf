"""What a checkpoint of a run in the database costs: beside the same turn without one.

    python tests/bench/checkpoints.py [--rounds N] [--files N ...]

Each round changes two files of a repository and takes a snapshot, in turn on a work tree that keeps
its checkpoints in a database and on one that does not. What is added is the median over the rounds
of the one less the other in the same round; CPU the mean, which other work on this machine touches
less. Bytes are those of the rows. The last column is what
another machine takes to go on: to fetch the repository, and to import all checkpoints.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from agents.policy import Policy
from agents.requests import Person, Repository, ResolveIssue
from app.git import CommitIdentity, Mirror, RunObjects
from app.git.worktree import GitWorkTree, open_work_tree
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.store.database import Database
from app.store.runs import Runs, StoredCheckpoints

SANDBOX_UID = 58999
SIZES = (200, 2_000, 50_000)
AIM_MS = 15.0
LINES = 60
NOBODY = Person(id=1, login="nobody")


@dataclass
class CheckpointBench:
    """A repository of so many files, its mirror, and a database."""

    folder: Path
    files: int
    database: Database
    sandbox: Bubblewrap

    def make_repository(self) -> None:
        source = self.folder / "source"
        for number in range(self.files):
            path = source / f"part{number // 100}" / f"file{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"value_{number}_{n} = {n}\n" for n in range(LINES)))
        name = ("-c", "user.name=A", "-c", "user.email=a@b")
        for step in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "first")):
            subprocess.run(["git", "-C", str(source), *name, *step], check=True)

    def mirror(self, name: str) -> Mirror:
        gitdir = self.folder / name / "1.git"
        gitdir.parent.mkdir(mode=0o755, exist_ok=True)
        return Mirror(gitdir, group=self.sandbox.owner[1], allow_files=True)

    def objects(self, mirror: Mirror, run_id: str) -> RunObjects:
        return RunObjects(mirror, run_id, StoredCheckpoints(self.database, run_id))

    async def open(self, objects: RunObjects, run_id: str, base: str) -> GitWorkTree:
        return await open_work_tree(
            objects,
            self.folder / "runs",
            run_id,
            base,
            sandbox=self.sandbox,
            policy=Policy(),
            identity=CommitIdentity("Fettle", "fettle@localhost"),
        )

    async def measure(self, rounds: int) -> str:
        """Return the line of the table."""
        self.make_repository()
        mirror, url = self.mirror("mirrors"), f"file://{self.folder / 'source'}"
        await mirror.fetch(url, None)
        base = await mirror.head_of("main")
        kept = await self.open(self.objects(mirror, "kept"), "kept", base)
        bare = await self.open(RunObjects(mirror, "bare"), "bare", base)
        added, computed, without = [], [], []
        for turn in range(rounds + 1):
            took, used = {}, {}
            for name, tree in (("kept", kept), ("bare", bare))[:: 1 if turn % 2 else -1]:
                for file in (turn % self.files, (turn * 7 + 3) % self.files):
                    text = "".join(f"value_{turn}_{name}_{n} = {n}\n" for n in range(LINES))
                    await tree.write(f"part{file // 100}/file{file}.py", text.encode())
                began, before = time.perf_counter(), sum(os.times()[:4])
                await tree.snapshot()
                took[name] = (time.perf_counter() - began) * 1000
                used[name] = (sum(os.times()[:4]) - before) * 1000
            if turn:  # the first one reads the index
                computed.append(used["kept"] - used["bare"])
                added.append(took["kept"] - took["bare"])
                without.append(took["bare"])
        packs = await StoredCheckpoints(self.database, "kept").packs()
        began = time.perf_counter()
        elsewhere = self.mirror("elsewhere")
        await self.objects(elsewhere, "kept").restore(lambda: elsewhere.fetch(url, None))
        restored = time.perf_counter() - began
        size = statistics.median(map(len, packs))
        return (
            f"{self.files:>7} {statistics.median(without):>12.1f} {statistics.median(added):>9.1f}"
            f" {statistics.fmean(computed):>7.1f} {max(map(len, packs)):>11} {size:>9.0f}"
            f" {restored:>11.2f}"
        )


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--files", type=int, nargs="+", default=SIZES)
    options = parser.parse_args()
    print(f"aim: at most {AIM_MS:.0f} ms added to a turn that changed something")
    print("  files  snapshot ms  added ms  CPU ms  most bytes    median   restore s")
    for files in options.files:
        print(asyncio.run(_measure(files, options.rounds)), flush=True)


async def _measure(files: int, rounds: int) -> str:
    folder = Path(tempfile.mkdtemp(prefix="fettle-bench-"))
    folder.chmod(0o755)
    sandbox = Bubblewrap(SANDBOX_UID)
    await sandbox.probe()
    database = Database(f"sqlite:///{folder / 'fettle.db'}")
    try:
        database.migrate()
        place = Repository(id=1, owner="a", name="b", default_branch="main")
        asked = ResolveIssue(
            installation_id=1,
            repository=place,
            number=1,
            title="t",
            body="",
            author=NOBODY,
            asked_by=NOBODY,
            label="bot:resolve",
            url="",
        )
        await Runs(database).create("kept", asked)
        return await CheckpointBench(folder, files, database, sandbox).measure(rounds)
    finally:
        database.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
