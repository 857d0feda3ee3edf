"""The claim: one process for a file, one for a name on a server, free again with its end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agents.errors import ConfigError
from app.store.process_lock import Claim

HOLDER = """
import asyncio, sys
from app.store.process_lock import Claim
asyncio.run(Claim(sys.argv[1], "one").take())
print("taken", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(store_url):
    """A process that holds the claim until it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, store_url],
        env={"PYTHONPATH": str(Path(__file__).parents[3])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"taken\n"
        yield process
        process.kill()


async def test_another_process_is_refused_with_a_remedy_until_the_first_is_gone(store_url, holder):
    remedy = "FETTLE_WORKER" if "postgresql" in store_url else "FETTLE_DATA_DIR"
    with pytest.raises(ConfigError, match=remedy) as raised:
        await Claim(store_url, "one", patience=0).take()
    assert store_url.rpartition("@")[0] not in str(raised.value) or "@" not in store_url
    holder.kill()
    holder.wait()
    after = Claim(store_url, "one", patience=10)
    await after.take()
    await after.release()


async def test_what_was_given_back_can_be_taken_again(store_url):
    first, second = (Claim(store_url, "one", patience=0) for _ in range(2))
    await first.take()
    with pytest.raises(ConfigError):
        await second.take()
    await first.release()
    await first.release()
    patient = Claim(store_url, "one")  # PostgreSQL may still have to notice the end
    await patient.take()
    await patient.release()


async def test_workers_of_different_names_share_a_server(postgresql_url):
    first, second = Claim(postgresql_url, "one"), Claim(postgresql_url, "two")
    await first.take()
    await second.take()
    await first.release()
    await second.release()


async def test_different_names_do_not_share_a_file(sqlite_url):
    first = Claim(sqlite_url, "one")
    await first.take()
    with pytest.raises(ConfigError):
        await Claim(sqlite_url, "two").take()
    await first.release()
