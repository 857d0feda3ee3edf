"""What the tests of runs on a clone share: a clone, a scripted model, and the command itself."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import shutil
import signal
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import structlog
from rich.console import Console

from agents.text import split_title
from app.cli.progress import TerminalProgress
from app.clone.preconditions import start_at
from app.clone.resolve import resolve_clone
from app.clone.run import CloneRequest
from app.config.settings import load_settings
from app.secrets.redaction import Redactor
from app.simulator.model import LocalModel
from app.simulator.model.script import Script
from tests.app.git.conftest import git
from tests.flows.forked import call_fettle
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[3]
CALC = {
    "calc.py": "def add(a, b):\n    return a + b + 1\n",
    ".github/fettle.yml": "quality:\n  - {name: sums, run: python3 -B check.py}\n",
    "check.py": "import calc\nassert calc.add(0, 0) < 2\n",
    "sub/notes.txt": "a folder inside\n",
}
ISSUE = "# It adds one too many\n\n`calc.add(1, 1)` gives 3 and should give 2.\n"


def part(when, *calls):
    return {"when": when, "turns": [{"call": [call]} for call in calls]}


TRIAGE = part(
    "# Triage",
    {"read": {"path": "calc.py"}},
    {
        "submit_triage": {
            "decision": "action_direct",
            "kind": "feature",
            "reasoning": "Ran it, add(1, 1) printed 3.",
            "detail": "calc.py, add() returns a + b + 1. Remove the one.",
        }
    },
)
STEP_TO_DO = {
    "title": "Add without one too many",
    "brief": "In calc.py, add() must return a + b. Keep everything else.",
}
PLAN = part(
    "# Plan the steps",
    {"submit_plan": {"steps": [STEP_TO_DO]}},
)
STEP = part(
    "# Implement step 1 of 1",
    {"edit": {"path": "calc.py", "old": "a + b + 1", "new": "a + b"}},
    {"submit_step": {"summary": "add() added one too many.", "tried": "Ran it."}},
)
JUDGE = part("# Evaluate", {"submit_evaluation": {"verdict": "pass", "reasoning": "Ran it."}})
DOCS = part(
    "# Review the documentation",
    {"submit_docs": {"changed": False, "summary": "Nothing describes the sum."}},
)
WORDS = {
    "branch": "add-without-one",
    "title": "Add without one too many",
    "why": "The sum was one too large, because of a constant without a reason.",
    "rejected": "",
    "notes": "",
}
PULL = part("# Write the pull request", {"submit_pull_request": WORDS})
GOOD = (TRIAGE, PLAN, STEP, JUDGE, DOCS, PULL)


def make_clone(folder, files=None, *, source=None):
    """Make a repository with one commit."""
    if source is not None:
        shutil.copytree(source, folder)
    for name, text in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


@dataclass
class Done:
    """How the command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@dataclass
class Bench:
    """A place to run the command in, as a person with these settings would."""

    place: Path
    model: LocalModel | None = None
    told: list[str] = field(default_factory=list)
    shown: io.StringIO = field(default_factory=io.StringIO)

    @property
    def data(self):
        return self.place / "data"

    def list_folders(self):
        """Return the folders of runs that are not done."""
        found = sorted((self.data / "clones").glob("*"))
        return [path for path in found if not path.name.startswith("done-")]

    def list_done(self):
        """Return the folders of runs that are done."""
        return sorted((self.data / "clones").glob("done-*"))

    def issue(self, text=ISSUE):
        file = self.place / "issue.md"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    async def play(self, script, latency=0.0):
        """Have the model play these parts, or this file, from now on."""
        if self.model is not None:
            await self.model.stop()
        script = script if isinstance(script, Path) else Script.model_validate(script)
        self.model = await LocalModel.start(script, latency=latency)
        return self.model

    def settings(self, **more):
        """Return the variables that the command is given."""
        return {
            "FETTLE_DATA_DIR": str(self.data),
            "ANTHROPIC_BASE_URL": self.model.url if self.model else "",
            **more,
        }

    async def resolve(self, path, text=ISSUE, stop=None, decide=None, again=None, **more):
        """Do what the command does, in this process: the start of another takes seconds."""
        settings = load_settings(self.settings(**more), serving=False)
        progress = TerminalProgress(Console(file=self.shown))
        wish = CloneRequest(*split_title(text), self.told.append, progress, decide, again=again)
        return await resolve_clone(
            settings, Redactor(), await start_at(path), wish, stop or asyncio.Event()
        )

    async def start(self, *args, **more):
        """Start the command as a process of its own."""
        settings = {"PATH": os.environ["PATH"], "HOME": str(self.place), **self.settings(**more)}
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "app", "resolve", *map(str, args)),
            env={"PYTHONPATH": str(ROOT), **settings},
            cwd=ROOT,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def call(self, folder, *args, typed=os.devnull, **more):
        """Run a command in a folder where nothing but its output is looked at: it is forked."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.place), **self.settings(**more)}
        called = call_fettle(*args, environment=environment, folder=folder, typed=typed)
        return Done(*await called)

    async def end(self, process):
        try:
            async with asyncio.timeout(PATIENCE):
                out, err = await process.communicate()
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
                await process.wait()
        return Done(process.returncode, out.decode(), err.decode())


@pytest.fixture
async def bench():
    """A place that the sandbox's user may pass through; pytest's own is closed to all but us."""
    place = Path(tempfile.mkdtemp(prefix="fettle-clone-"))
    place.chmod(0o711)
    made = Bench(place)
    handlers = logging.getLogger().handlers[:]
    yield made
    logging.getLogger().handlers = handlers  # a run sends the log to its folder
    structlog.reset_defaults()
    if made.model is not None:
        await made.model.stop()
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def calc(bench):
    """A clone of a small repository with a bug."""
    return make_clone(bench.place / "calc", CALC)
