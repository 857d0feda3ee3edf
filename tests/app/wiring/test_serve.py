"""What a server has read while nobody asks anything of it, and what ends it besides a signal."""

import asyncio
import subprocess
import sys

import pytest

from agents.errors import FettleError
from app.wiring.serve import LOST, _dispatch_while_held, _wait_for_stop


class Held:
    """An engine with a lease, which may be lost."""

    def __init__(self):
        self.lost = asyncio.Event()


class EndsByItself:
    """A dispatcher that stops although nobody asked it to."""

    async def run(self):
        return


class NeverEnds:
    """A dispatcher as it should be."""

    async def run(self):
        await asyncio.Event().wait()


async def test_a_dispatcher_that_ends_by_itself_is_not_told_as_a_lost_lease():
    dispatching = asyncio.create_task(_dispatch_while_held(EndsByItself(), Held()))

    with pytest.raises(FettleError, match="The dispatcher stopped by itself"):
        await _wait_for_stop(asyncio.Event(), dispatching)


async def test_a_lost_lease_ends_the_server_in_words():
    engine = Held()
    dispatching = asyncio.create_task(_dispatch_while_held(NeverEnds(), engine))
    engine.lost.set()

    with pytest.raises(FettleError) as caught:
        await _wait_for_stop(asyncio.Event(), dispatching)

    assert str(caught.value) == LOST


@pytest.mark.parametrize(
    "module",
    [
        "agents.analysis.languages",
        "agents.analysis.weakening",
        "agents.pipelines",
        "agents.tools.registry",
        "anthropic",
        "app.dependencies",
        "app.wiring.run_ports",
        "pathspec",
        "securesystemslib",
        "tree_sitter",
        "unidiff",
    ],
)
def test_what_only_runs_work_with_is_read_when_the_first_one_comes(module, loaded_to_serve):
    assert "app.wiring.serve" in loaded_to_serve
    assert module not in loaded_to_serve


@pytest.fixture(scope="module")
def loaded_to_serve():
    """Return the names of the modules that a server loads before it starts."""
    check = "import sys, app.wiring.serve; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True, timeout=120
    )
    return set(done.stdout.split())
