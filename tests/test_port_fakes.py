"""Ports have one set of fakes, in `tests/fakes/`: what a port asks for changes in one place."""

from __future__ import annotations

import ast

from tests.source_files import ROOT, Definition

FAKES, BENCH = "tests/fakes/", "tests/bench/"
OURS = {  # classes that look like a port, and why they are no fake of it
    "tests/agents/pipelines/remediate/ladder/conftest.py DiskTree": "real git and package managers",
    "tests/app/alerts/test_confirm_fixed.py DefaultBranchSource": "reads a real mirror",
    "tests/app/git/stages/test_guidance_stage.py SetUpFirst": "a real source, installed late",
    "tests/app/git/stages/test_suggestions_stage.py MirrorSource": "reads a real mirror",
    "tests/app/git/test_proof.py Repositories": "opens real work trees",
    "tests/app/runs/conductor/conftest.py Approvals": "over the real store",
    "tests/app/runs/test_retry_from_stage.py RetriedSteps": "over the real engine",
    "tests/attacks/naive.py NaiveBot": "a whole bot without ports, to be attacked",
}


def list_methods(found):
    return {
        part.name for part in found.body if isinstance(part, Definition) and part.name[0] != "_"
    }


def list_classes(folder):
    for path in sorted((ROOT / folder).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for part in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(part, ast.ClassDef):
                yield name, part


def find_fakes(classes, ports):
    """Yield classes of their own of whose methods most are those of one port, two at least."""
    for path, found in classes:
        methods = list_methods(found)
        shared = max(len(methods & port) for port in ports)
        if not found.bases and shared >= 2 and shared >= 0.6 * len(methods):
            yield f"{path} {found.name}"


def test_fakes_of_ports_are_shared():
    ports = [
        list_methods(found)
        for _, found in list_classes("agents/ports")
        if any(isinstance(base, ast.Name) and base.id == "Protocol" for base in found.bases)
    ]
    assert len(ports) > 15
    tests = [each for each in list_classes("tests") if not each[0].startswith((FAKES, BENCH))]
    assert {*find_fakes(tests, ports)} == {*OURS}, "lay it into tests/fakes, or inherit one"


def test_a_fake_beside_its_test_is_seen():
    made = ast.parse("class Said:\n def push(self): 1\n def comment(self): 2\n def more(self): 3")
    own = ast.parse("class Said(MemoryPublisher):\n def push(self): 1\n def comment(self): 2")
    classes = [("t.py", made.body[0]), ("u.py", own.body[0])]
    assert [*find_fakes(classes, [{"push", "comment", "stack"}])] == ["t.py Said"]
