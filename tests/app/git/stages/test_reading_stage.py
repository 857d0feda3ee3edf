"""A stage that only reads, in the real sandbox: whatever its commands try, the files stay."""

from __future__ import annotations

import hashlib

import pytest

from agents.errors import ToolError
from agents.policy import Policy
from agents.tools.base import Bench, Capability
from agents.tools.gate import gate

HOSTILE = [
    "echo a >> src/a.py; touch new; mkdir deep; chmod 777 README.md; exit 0",
    "cp /etc/os-release src/a.py; mv src/a.py src/c.py; ln -sf /etc/os-release README.md; exit 0",
    "rm -f README.md src/a.py; rm -rf build; truncate -s 0 src/b.py; exit 0",
    "python3 -c \"open('src/a.py', 'w').write('x')\"; exit 0",
    "bash -c 'exec 3>>src/a.py; echo a >&3'; tee src/b.py </dev/null; exit 0",
    "git commit -qam x --allow-empty; git checkout -q -b other; git add -A; git stash; exit 0",
    "cd src && sed -i s/A/B/ a.py; cd ..; cat /proc/mounts; : > a; exit 0",
    "python3 - <<'E'\nimport pathlib\npathlib.Path('src/a.py').write_text('')\nE\nexit 0",
]


def content(folder):
    """Return what the files are: names, modes, times, bytes."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        found.update(f"{path} {info.st_mode} {info.st_size} {info.st_mtime_ns}\n".encode())
        if path.is_file() and not path.is_symlink():
            found.update(path.read_bytes())
    return found.hexdigest()


@pytest.mark.parametrize("command", HOSTILE, ids=range(len(HOSTILE)))
async def test_hostile_commands_leave_the_tree_as_it_was(estate, command):
    tree = await estate.open()
    bench = Bench(tree=tree, capability=Capability.READ_ONLY, policy=Policy(), stage="triage")
    before, bytes_before = await tree.snapshot(), content(tree.files)

    told = await gate.call("bash", {"command": command}, bench=bench)

    assert told.startswith("exit code 0"), "the commands were really run"
    assert content(tree.files) == bytes_before
    assert await tree.snapshot() == before
    left = await gate.call("bash", {"command": "git status --short; git stash list"}, bench=bench)
    assert left.endswith("(no output)"), "the next command sees nothing of it either"


async def test_the_same_commands_do_change_a_tree_that_may_be_changed(estate):
    tree = await estate.open()
    bench = Bench(tree=tree, capability=Capability.CHANGE, policy=Policy(), stage="implement")
    before = await tree.snapshot()
    await gate.call("bash", {"command": HOSTILE[0]}, bench=bench)
    assert await tree.snapshot() != before


async def test_what_would_be_asked_about_elsewhere_is_refused(estate):
    tree = await estate.open()
    bench = Bench(tree=tree, capability=Capability.READ_ONLY, policy=Policy(), stage="triage")
    for command in ("rm -rf src", "git reset --hard", "echo a > AGENTS.md"):
        with pytest.raises(ToolError, match="stage/read-only"):
            await gate.call("bash", {"command": command}, bench=bench)
