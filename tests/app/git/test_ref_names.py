"""Names that could become an option, another ref or another folder are refused."""

import pytest

from agents.errors import RunError
from app.git import ref_names as names


def test_commit_refs_depend_on_every_argument():
    refs = {
        names.commit_ref(*arguments)
        for arguments in [
            ("r", "t", "p", "m"),
            ("s", "t", "p", "m"),
            ("r", "u", "p", "m"),
            ("r", "t", "q", "m"),
            ("r", "t", "p", "n"),
            ("r", "tp", "", "m"),
        ]
    }
    assert len(refs) == 6
    assert names.commit_ref("r", "t", "p", "m") in refs


@pytest.mark.parametrize("run_id", ["", "../x", "a/b", "a b", ".", "a..b", "-x", "x.lock", "x\n"])
def test_run_ids_that_could_leave_are_refused(run_id):
    with pytest.raises(RunError):
        names.run_refs(run_id)


def test_ordinary_names_pass():
    assert names.own_branch("bot/issue-7_x.y/z") == "refs/heads/bot/issue-7_x.y/z"
    assert names.fetched_branch("feature/#1-ü") == "refs/remotes/origin/feature/#1-ü"
    assert names.run_refs("0123-abc_d.e") == "refs/fettle/runs/0123-abc_d.e"


@pytest.mark.parametrize("oid", ["", "HEAD", "a" * 39, "A" * 40, "a" * 41, "-" + "a" * 39])
def test_object_ids_are_whole(oid):
    with pytest.raises(RunError):
        names.object_id(oid)
