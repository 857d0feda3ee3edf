"""The process of the bench `parked`: the real engine, runner, session and store; the rest is faked.

    python tests/bench/parked/runs.py FOLDER

It takes commands line by line on standard input and answers each with one line of JSON.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from agents.loop.budget import RunLimits
from agents.policy import POLICY_PATH
from agents.ports import Answer, Capabilities, CommandResult, SetupResult, Usage
from agents.run import RunPorts
from app.clone.ask_person import CloneApprovals
from app.observability.logging import configure_logging
from app.runs.admission import Admission
from app.runs.conductor import RunConductor
from app.runs.engine import Engine
from app.runs.queue import RunQueue
from app.runs.reaper import Reaper
from app.runs.wakeup import WakeupPoller
from app.secrets.redaction import Redactor
from app.store.database import Database
from app.store.runs.approvals import StoredApprovals
from app.store.runs.places import RunPlaces
from app.store.runs.runs import Runs, count_by_state
from app.store.runs.turns import StoredJournal
from tests.fakes.requests import build_resolve_issue

POLICY = b"ask: [{command: 'deploy*'}]\nsetup: {run: []}\n"
THOUGHT = "I have read the code and would like to see what the deployment says. " * 8
COMMIT = "c" * 40


class Model:
    """Asks for one call that needs a yes, then ends the run with an answer."""

    async def capabilities(self, model):
        """Understand everything."""
        return Capabilities()

    async def answer(self, query):
        """Answer by how far the conversation is."""
        if len(query.messages) < 2:
            call = ("bash", {"command": "deploy --dry-run"})
        else:
            words = {"reasoning": "It is unclear.", "detail": "What should it print?"}
            call = ("submit_triage", {"decision": "ask", "kind": "bug", **words})
        block = {"type": "tool_use", "id": "toolu_1", "name": call[0], "input": call[1]}
        content = [{"type": "text", "text": THOUGHT}, block]
        return Answer(content, "tool_use", Usage(input=9000), 0.01, "m", None, 0.1)


class OneFileSource:
    """A repository of one file, and its work tree."""

    async def fetch(self):
        """Return the newest commit."""
        return COMMIT

    async def show(self, _revision, path):
        """Return the policy."""
        return POLICY if path == POLICY_PATH else None

    async def files(self, _revision):
        """Return all paths."""
        return [POLICY_PATH]

    async def set_up(self, _base, _policy, _image=None, *, own=False):
        """Install nothing."""
        return SetupResult(source="nothing")

    async def open(self, _base, _policy, _image=None):
        """Return the work tree."""
        return self

    async def restore(self, _tree, *, pristine=False):
        """Do nothing."""

    async def run(self, _argv, **_):
        """Run nothing."""
        return CommandResult(0, "exit", "deployed", 0.1)


class SilentOutlet:
    """Tells nobody, publishes nothing."""

    def __getattr__(self, name):
        """Take every report."""
        return self._take

    def _take(self, *_):
        pass

    async def comment(self, _key, _body):
        """Say nothing."""
        return "url"


@dataclass
class ParkedEquipment:
    """What one run is given."""

    ports: RunPorts
    retry: None = None

    async def admit(self):
        """Let it run."""
        return Admission(tainted=False)

    async def recover(self):
        """Do nothing: everything is here."""

    async def rest(self):
        """Do nothing."""

    async def finish(self, _outcome):
        """Do nothing."""

    async def close(self):
        """Do nothing."""


class Parked:
    """The process's runs."""

    def __init__(self, folder):
        url = f"sqlite:///{folder / 'fettle.db'}"
        self.database = Database(url)
        self.database.migrate()
        self.runs = Runs(self.database)
        self.approvals = StoredApprovals(self.database)
        self.ended = {}
        self.conductor = RunConductor(
            self.runs,
            self.equip,
            models={"strong": "m", "fast": "m", "judge": "m"},
            limits=RunLimits(usd=9, turns=99, minutes=99),
            noreply="localhost",
            worker="bench",
            holds=(places := RunPlaces(self.database, "bench", places=8)).holds,
        )
        self.engine = Engine(url, executor="bench", put_off=self.runs.put_off)
        self.queue = RunQueue(self.database, self.engine, places)

    async def conduct(self, run_id, request, steps):
        """Conduct the run, and note when it ended."""
        outcome = await self.conductor.conduct(run_id, request, steps)
        self.ended[run_id] = time.time()
        return outcome

    async def equip(self, run_id, _request):
        """Give the run what it works with."""
        source, silent = OneFileSource(), SilentOutlet()
        journal = StoredJournal(self.database, run_id)
        approvals = CloneApprovals(self.approvals, run_id)
        return ParkedEquipment(RunPorts(Model(), journal, source, silent, silent, approvals))

    async def park(self, first, number):
        """Submit so many runs, and wait until all of them wait for people."""
        began, wanted = time.monotonic(), await self.count_parked() + number
        for n in range(first, first + number):
            await self.queue.submit(f"{n:05}-run", wish(n))
        await self.wait(wanted)
        return {"seconds": time.monotonic() - began}

    async def wait(self, number):
        """Wait until so many runs wait for people; return the CPU time of the process so far."""
        while await self.count_parked() < number or self.engine.is_conducting():
            await asyncio.sleep(0.02)
        return {"cpu": time.process_time()}

    async def idle(self, seconds):
        """Return the share of a core that waiting takes."""
        began = time.process_time()
        await asyncio.sleep(seconds)
        return {"share": (time.process_time() - began) / seconds}

    async def memory(self):
        """Return the bytes in use, once what is free is given back."""
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return {"bytes": pages * resource.getpagesize()}

    async def ends(self):
        """Return when each run ended, in unix seconds."""
        return self.ended

    async def count_parked(self):
        """Return how many runs wait for people."""
        return (await self.database.read(count_by_state)).get("parked", 0)


def wish(number):
    """Return an issue that somebody labelled."""
    return build_resolve_issue(
        number=number + 1,
        title="It adds one too many",
        body="`add(1, 1)` gives 3 and should give 2. " * 20,
    )


async def main(folder):
    """Serve the commands until standard input ends."""
    configure_logging(style="json", level="error", cleaner=Redactor())
    parked = Parked(folder)
    queue = parked.queue
    await parked.engine.launch(parked.conduct, freed=queue.ring)
    waking = WakeupPoller(
        parked.approvals, lambda _run: queue.ring(), needed=lambda: queue.has_parked
    )
    looking = [
        asyncio.create_task(waking.run()),
        asyncio.create_task(queue.run()),
        asyncio.create_task(Reaper(parked.conductor, parked.engine).run()),
    ]
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        name, *numbers = line.split()
        print(json.dumps(await getattr(parked, name)(*map(int, numbers))), flush=True)
    for each in looking:
        each.cancel()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
