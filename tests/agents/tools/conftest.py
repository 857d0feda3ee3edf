"""A work tree that is a plain folder, and a bench with it, for the tests of the tools."""

from __future__ import annotations

import pytest

from agents.policy import Policy, Toolset, Web
from agents.ports import ToolEffects
from agents.tools.base import Bench, Capability
from tests.fakes.work_trees import FolderTree

READING, ACTING = (
    ToolEffects(only_reads=True, outside=True),
    ToolEffects(only_reads=False, outside=True),
)
ARGUMENTS = {
    "bash": {"command": "make"},
    "edit": {"path": "a.py", "old": "a", "new": "b"},
    "gh": {"verb": "issue", "number": 7},
    "glob": {"pattern": "*"},
    "grep": {"pattern": "a"},
    "read": {"path": "a.py"},
    "webfetch": {"url": "https://docs.example.org/guide"},
    "write": {"path": "a.py", "content": ""},
}


LISTED = Policy(web=Web(hosts=("docs.example.org",)), mcp=(Toolset(server="tracker"),))


@pytest.fixture
def tree(tmp_path):
    return FolderTree(tmp_path)


@pytest.fixture
def bench(tree):
    return Bench(tree=tree, capability=Capability.CHANGE, policy=Policy())


@pytest.fixture
def reading(tree):
    return Bench(tree=tree, capability=Capability.READ_ONLY, policy=Policy())


@pytest.fixture
def put(tree):
    """Write a file of the work tree: text or bytes."""

    def write(path, content):
        file = tree.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    return write
