"""Proofs by code: of what the ladder did, and of what others made."""

import json

import pytest

from agents.pipelines.remediate.ladder import Accepted, Refusal, Stuck, climb, judge
from tests.agents.pipelines.remediate.ladder.conftest import (
    TERMS,
    MadeUpEcosystem,
    group,
    lay_index,
)

RELEASES = {"jinja2": ["3.1.3", "3.1.4", "3.1.5", "4.0.0"]}
ALERTS = group("jinja2", "< 3.1.4")
ACCEPTS = "`index check` accepted the files as they are (exit code 0)."


async def test_what_was_not_proved_is_no_evidence(tree):
    lay_index(tree, {"jinja2": "3.1.3"}, {})
    ecosystem = MadeUpEcosystem(RELEASES)

    proved = await climb(tree, ecosystem, ALERTS, TERMS)
    assert ACCEPTS in proved.evidence

    async def accept(*_):
        return Accepted(commands=("index check",), fetched=("jinja2 3.1.4",), notes=("Not all.",))

    lay_index(tree, {"jinja2": "3.1.3"}, {})
    ecosystem.verify_lock = accept
    noted = await climb(tree, ecosystem, ALERTS, TERMS)

    assert ACCEPTS in noted.evidence, "what was proved is said beside what was not"
    assert "Fetched, and held against the hashes in the lock file: jinja2 3.1.4." in noted.evidence
    assert noted.notes == ("Not all.",)


async def test_where_no_command_accepted_the_files_there_is_no_fix(tree):
    lay_index(tree, {"jinja2": "3.1.3"}, {})
    ecosystem = MadeUpEcosystem(RELEASES)

    async def prove_nothing(*_):
        return Accepted(notes=("That it installs could not be proved.",))

    ecosystem.verify_lock = prove_nothing
    refusal = await climb(tree, ecosystem, ALERTS, TERMS)

    assert isinstance(refusal, Refusal)
    assert "No command of index has accepted the files." in refusal.steps[0].why


async def prove_change(tree, after, **more):
    lay_index(tree, {"jinja2": "3.1.3"}, {})
    start = await tree.snapshot()
    tree.lay({"lock.json": json.dumps(after), **more})
    end = await tree.snapshot()
    return await judge(tree, MadeUpEcosystem(RELEASES), ALERTS, TERMS, (start, end)), end


async def test_what_others_made_is_held_against_the_same_checks(tree):
    proof, end = await prove_change(tree, {"versions": {"jinja2": "3.1.5"}})

    assert (proof.tree, proof.files) == (end, ("lock.json",))
    assert [(move.old, move.new) for move in proof.moves] == [(("3.1.3",), ("3.1.5",))]
    assert await tree.snapshot() == end, "the files are what was judged"


@pytest.mark.parametrize(
    ("after", "more", "fault"),
    [
        ({"versions": {"jinja2": "3.1.3"}, "x": 1}, {}, "still in a vulnerable range"),
        ({"versions": {"jinja2": "4.0.0"}}, {}, "another major version"),
        ({"versions": {"jinja2": "3.1.4"}}, {"app.py": "evil"}, "Files other than manifests"),
    ],
)
async def test_what_does_not_hold_is_said(tree, after, more, fault):
    with pytest.raises(Stuck, match=fault):
        await prove_change(tree, after, **more)


class DatedEcosystem(MadeUpEcosystem):
    """One whose index says when a release was published."""

    young = frozenset({("jinja2", "3.1.4"), ("flask", "3.0.4")})

    async def find_young(self, tree, releases, newest):
        assert str(newest) == "2026-11-13"
        return self.young.intersection(releases)


async def test_neither_the_fix_nor_what_moves_with_it_is_younger_than_the_policy_wants(tree):
    terms = TERMS.model_copy(update={"min_days": 7})
    lay_index(tree, {"jinja2": "3.1.3", "flask": "3.0.3"}, {})
    ecosystem = DatedEcosystem(RELEASES)
    fix = await climb(tree, ecosystem, ALERTS, terms)
    assert fix.moves[0].new == ("3.1.5",), "the smallest that is old enough"

    lay_index(tree, {"jinja2": "3.1.3", "flask": "3.0.3"}, {})
    ecosystem = DatedEcosystem(
        RELEASES, sabotage=lambda files: files["lock.json"]["versions"].update(flask="3.0.4")
    )
    refused = await climb(tree, ecosystem, ALERTS, terms)
    assert "published after 2026-11-13, or nobody says when: flask 3.0.4" in refused.steps[0].why
