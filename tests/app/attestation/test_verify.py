"""What was stated of a commit, held against a real repository; what its records become."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement

from agents.ports import Usage
from app.attestation import Evidence, SigningKeys, build_statement, seal_statement
from app.attestation.stages import list_stages
from app.attestation.statement import hash_bytes
from app.attestation.verify import list_checks, verify
from app.git.mirror.notes import NOTES
from app.git.objects import GitObjects
from app.git.user_clone import UserClone
from app.store.runs.history import KeptStep, KeptTurn
from tests.app.git.conftest import git, make_repository
from tests.fakes.requests import build_resolve_issue

KEYS = SigningKeys([Ed25519PrivateKey.generate()])
REQUEST = build_resolve_issue()
CHECK = {
    "name": "tests",
    "command": "pytest -q",
    "exit_code": 0,
    "seconds": 1.5,
    "output": "1 passed",
}


def step(name, output):
    return KeptStep(f"stage/{name}", 1.0, 2.0, {"output": output, "standing": {}})


def turn(number, kind, content):
    return KeptTurn("triage/1", number, "triage/1", kind, content, Usage(), 0.1, 1.0, None, 3.0)


@pytest.fixture
def evidence(tmp_path):
    """Return the records of a run that made the newest commit of a clone, and that clone."""
    clone = tmp_path / "clone"
    base = make_repository(clone, {"a.py": "A = 1\n"})
    (clone / "a.py").write_text("A = 2\n")
    git(clone, "commit", "-q", "-a", "-m", "Mend it\n\nFettle-Run: run-1")
    return clone, Evidence(
        run_id="run-1",
        request=REQUEST,
        version="0.1.0",
        commit=git(clone, "rev-parse", "HEAD"),
        tree=git(clone, "rev-parse", "HEAD^{tree}"),
        base=base,
        pull_request=9,
        policy=b"quality: []\n",
        signed={},
        stages=list_stages(
            [
                step("check_quality/1", {"runs": [{**CHECK, "exit_code": 1}]}),
                step("check_quality/1~1", {"runs": [CHECK]}),
                step("inspect/1", {"findings": []}),
                KeptStep("finish/1", 1.0, 2.0, True),
            ]
        ),
        turns=[
            turn(1, "head", [{"type": "head", "model": "claude-opus-5-5", "packed": "x"}]),
            turn(2, "answer", [{"type": "text", "text": "I see."}]),
        ],
        approvals=[],
        spent=(Usage(input=10, output=5), 0.25, 1),
    )


def attach(clone, commit, note):
    (clone / "note").write_bytes(note)
    blob = git(clone, "hash-object", "-w", "note")
    git(clone, "notes", f"--ref={NOTES}", "add", "-f", "-C", blob, commit)


async def attach_and_verify(clone, evidence, commit=None):
    attach(
        clone, commit or evidence.commit, seal_statement(build_statement(evidence), KEYS.current)
    )
    return await verify(GitObjects(UserClone(clone).git), commit or evidence.commit, KEYS.public)


def answers(found):
    return {each.what: each.answer for each in found.claims}


async def test_what_was_pushed_holds(evidence):
    found = await attach_and_verify(*evidence)
    assert found.verdict == "holds"
    assert set(answers(found).values()) == {"holds"}
    assert list(list_checks(found.statement)) == [("check_quality/1", "pytest -q", 0)]
    predicate = found.statement["predicate"]
    assert predicate["checks"][0]["log"] == hash_bytes(b"1 passed")
    assert predicate["policy"] == hash_bytes(b"quality: []\n")
    assert predicate["sessions"][0]["models"] == ["claude-opus-5-5"]
    assert predicate["cost"]["usd"] == 0.25


async def test_in_totos_own_package_takes_the_statement(evidence):
    statement = build_statement(evidence[1])
    parsed = Statement.copy_from_pb(json_format.ParseDict(statement, statement_pb2.Statement()))
    parsed.validate()
    assert json.dumps(statement) == json.dumps(build_statement(evidence[1]))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"commit": "1" * 40}, "The commit"),
        ({"tree": "2" * 40}, "Its files"),
        ({"run_id": "run-2"}, "The run that made it"),
    ],
)
async def test_what_differs_from_the_clone_does_not_hold(evidence, change, what):
    clone, told = evidence
    found = await attach_and_verify(clone, replace(told, **change), told.commit)
    assert found.verdict == "does not hold"
    assert answers(found)[what] == "does not hold"


async def test_a_statement_on_another_commit_does_not_hold(evidence):
    clone, told = evidence
    git(clone, "commit", "-q", "--allow-empty", "-m", "Mine\n\nFettle-Run: run-1")
    found = await attach_and_verify(clone, told, git(clone, "rev-parse", "HEAD"))
    assert answers(found)["The commit"] == "does not hold"
    assert answers(found)["Its files"] == "holds", "but for these"


async def test_a_base_that_is_absent_or_elsewhere_is_told_apart(evidence):
    clone, told = evidence
    found = await attach_and_verify(clone, replace(told, base="3" * 40))
    assert (found.verdict, answers(found)["What it was compared with"]) == ("cannot be told",) * 2
    git(clone, "checkout", "-q", "--orphan", "other")
    git(clone, "commit", "-q", "-m", "elsewhere")
    found = await attach_and_verify(
        clone, replace(told, base=git(clone, "rev-parse", "HEAD")), told.commit
    )
    assert answers(found)["What it was compared with"] == "does not hold"


async def test_nothing_stated_and_nothing_believed(evidence):
    clone, told = evidence
    objects = GitObjects(UserClone(clone).git)
    found = await verify(objects, told.commit, KEYS.public)
    assert (found.verdict, found.statement) == ("cannot be told", None)
    attach(clone, told.commit, b"looks fine to me\n")
    found = await verify(objects, told.commit, KEYS.public)
    assert (found.verdict, found.statement) == ("does not hold", None)
    unknown = build_statement(told) | {"predicateType": "urn:fettle:change:v9"}
    attach(clone, told.commit, seal_statement(unknown, KEYS.current))
    found = await verify(objects, told.commit, KEYS.public)
    assert (found.verdict, found.statement) == ("cannot be told", None)
