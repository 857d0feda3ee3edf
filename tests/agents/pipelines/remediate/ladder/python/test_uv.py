"""uv's lock files: which indexes may write into them."""

import subprocess

import pytest

from agents.pipelines.remediate.ladder.python.uv import find_index_limits

USUAL, MINE = "https://index.example/simple", "https://mine.example/simple"


@pytest.mark.parametrize(
    ("locked", "further", "asked"),
    [
        ({USUAL}, f"mine={MINE}", ""),
        ({MINE}, f"mine={MINE}", f"mine={MINE}"),
        ({USUAL, MINE}, f"mine={MINE}", f"mine={MINE}"),
        ({USUAL, "https://near.example/simple/"}, f"mine={MINE}", ""),
        (set(), MINE, MINE),
        ({"x'; echo oops; '*"}, MINE, ""),
        ({"*"}, MINE, ""),
    ],
)
def test_an_index_that_the_lock_file_does_not_know_writes_nothing_into_it(locked, further, asked):
    script = f'{find_index_limits(frozenset(locked))}echo "${{UV_INDEX-}}"'
    environment = {"PATH": "/usr/bin:/bin", "UV_INDEX": further}

    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == asked
