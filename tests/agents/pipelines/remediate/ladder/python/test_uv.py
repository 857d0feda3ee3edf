"""uv's lock files: which indexes may write into them, and where uv runs."""

import subprocess

import pytest

from agents.pipelines.remediate.ladder.python.uv import Uv, find_index_limits
from agents.ports import CommandResult

USUAL, MINE = "https://index.example/simple", "https://mine.example/simple"


@pytest.mark.parametrize(
    ("locked", "further", "asked"),
    [
        ({USUAL}, f"mine={MINE}", ""),
        ({MINE}, f"mine={MINE}", f"mine={MINE}"),
        ({USUAL, MINE}, f"mine={MINE}", f"mine={MINE}"),
        ({USUAL, "https://near.example/simple/"}, f"mine={MINE}", ""),
        ({USUAL, "../../opt/index/simple"}, "file:///opt/index/simple", "file:///opt/index/simple"),
        (set(), MINE, MINE),
        ({USUAL, "../../srv/wheels"}, "/srv/wheels", "/srv/wheels"),
        ({"https://x'; echo oops; '*"}, MINE, ""),
        ({"https://*"}, MINE, ""),
    ],
)
def test_an_index_that_the_lock_file_does_not_know_writes_nothing_into_it(locked, further, asked):
    script = f'{find_index_limits(frozenset(locked))}echo "${{UV_INDEX-}}"'
    environment = {"PATH": "/usr/bin:/bin", "UV_INDEX": further}

    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == asked


async def test_all_that_is_asked_of_pip_and_uv_shares_one_sandbox(tree):
    lock = 'version = 1\n[[package]]\nname = "six"\nversion = "1.0"\n'
    lock += 'source = { registry = "https://corp.example/simple" }\n'
    tree.lay({"pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n', "uv.lock": lock})
    asked = []

    async def ask(argv, *, timeout, kits=(), max_output=0, shared_home=""):
        asked.append((shared_home, kits))
        output = "FETTLE[]\nhttps://corp.example/simple\nAvailable versions: 1.1\n"
        return CommandResult(0, "exit", output, 0.1)

    tree.ask = ask
    uv = Uv("")
    locked = await uv.read(tree)

    assert not await uv.find_other_index(tree, locked, "six")
    assert await uv.available(tree, "six") == ("1.1",)
    await uv.relock(tree, {"six": "1.1"})
    await uv.verify_lock(tree, locked, locked)

    [(home, kits)] = {(home, tuple(kits)) for home, kits in asked}
    assert (len(asked), bool(home)) == (4, True)
    assert [kit.name.partition("-")[0] for kit in kits] == ["uv"]
