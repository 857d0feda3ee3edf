"""What a server has read while nobody asks anything of it."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module", ["agents.pipelines", "agents.tools.registry", "anthropic", "pathspec", "tree_sitter"]
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
