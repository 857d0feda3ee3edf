"""Lock files of PDM and Pipenv: which are left alone, and what their tools are given."""

import hashlib
import json
import tomllib

import pytest

from agents.pipelines.remediate.ladder import Stuck, ecosystem_of
from tests.agents.pipelines.remediate.ladder.conftest import group
from tests.agents.pipelines.remediate.ladder.test_hostile import (
    PDM,
    PIPENV,
    PROJECT,
    Answers,
    refuse_climb,
)


@pytest.mark.parametrize(
    ("form", "more", "said"),
    [
        ("4.4", "", "Lock again with PDM 2.17 or newer"),
        ("", "", "has the format (none)"),
        ("9" * 99, "", "no release of PDM that Fettle runs writes"),
        ("4.5.0", '[[metadata.targets]]\nplatform = "linux"\n', "for several platforms"),
    ],
)
async def test_a_lock_file_that_pdm_here_would_write_otherwise_is_left_alone(
    tree, form, more, said
):
    files = {"pdm.lock": PDM.format(form=form, more=more), "pyproject.toml": PROJECT}
    refusal = await refuse_climb(tree, files, group("sqlparse", "< 0.5.0", manifests=["pdm.lock"]))
    assert refusal.cause == "unsupported"
    assert said in refusal.reason
    assert tree.ran == []


@pytest.mark.parametrize(
    ("lock", "said"),
    [
        ("[" * 100_000, "no lock file of Pipenv"),
        ("{}", "it has no `_meta`"),
        (json.dumps(PIPENV | {"x": {"sqlparse": {"version": "==1; touch x"}}}), "no valid name or"),
        (json.dumps(PIPENV | {"x": {"--index-url=x": {"version": "==1"}}}), "no valid name or"),
        (json.dumps(PIPENV | {"x": {f"a{n}": {} for n in range(20_001)}}), "over 20000 packages"),
    ],
)
async def test_a_lock_file_of_pipenv_that_is_none_runs_nothing(tree, lock, said):
    files = {"Pipfile.lock": lock, "Pipfile": '[packages]\nsqlparse = "*"\n'}
    about = group("sqlparse", "< 0.5.0", manifests=["Pipfile.lock"])
    refusal = await refuse_climb(tree, files, about)
    assert refusal.cause == "unsafe"
    assert said in refusal.reason
    assert tree.ran == []


async def test_where_a_lock_file_does_not_say_who_needs_whom_no_parent_is_looked_for(tree):
    def refuse_to_lock(tree, script):
        return (1, "no solution") if "pipenv lock" in script else Answers()(tree, script)

    tree.answers = refuse_to_lock
    files = {"Pipfile.lock": json.dumps(PIPENV), "Pipfile": '[packages]\nflask = "*"\n'}
    about = group("sqlparse", "< 0.5.0", manifests=["Pipfile.lock"])
    refusal = await refuse_climb(tree, files, about)
    said = "Pipenv's lock file does not say which package needs which, so no parent can be moved."
    assert said in [step.why for step in refusal.steps]


async def test_a_lock_file_of_pipenv_may_be_larger_than_what_a_command_may_print(tree):
    lock = json.loads(json.dumps(PIPENV))
    lock["default"] |= {
        f"p{n}": {"version": "==1", "hashes": [f"sha256:{n:064}"]} for n in range(9_000)
    }
    new = json.loads(json.dumps(lock))
    new["default"]["sqlparse"] = {"version": "==0.5.0", "hashes": ["sha256:new"], "index": "own"}
    tree.lay({"Pipfile.lock": json.dumps(lock), "Pipfile": '[packages]\nsqlparse = "*"\n'})

    def locks(tree, script):
        if "pipenv lock" in script:
            tree.lay({"Pipfile.lock": json.dumps(new)})
            return 0, ""
        return 0, "0123\n"

    tree.answers = locks
    pipenv = ecosystem_of(tree.paths, group("sqlparse", "< 1", manifests=["Pipfile.lock"]))
    await pipenv.relock(tree, {"sqlparse": "0.5.0"})

    text = (tree.folder / "Pipfile.lock").read_text()
    assert len(text) > 900_000
    after = json.loads(text)
    assert after["default"] == new["default"]
    assert after["_meta"]["hash"] == {"sha256": "0123"}


@pytest.mark.parametrize(
    ("resolved", "said"),
    [
        ((0, "flask==3.0.3\nItsDangerous==2.2.0\n"), "lacks what is needed by what it locks: its"),
        ((0, "flask==3.0.3\nsqlparse==0.4.4\n"), ""),
        ((1, "no wheel of odd"), ""),
    ],
)
async def test_a_lock_file_of_pipenv_with_an_entry_taken_out_is_no_proof(tree, resolved, said):
    """Pipenv installs what is there, and `pipenv verify` looks at the Pipfile's hash alone."""
    lock = json.loads(json.dumps(PIPENV))
    lock["default"] = {"flask": {"version": "==3.0.3"}, "sqlparse": {"version": "==0.4.4"}}
    tree.lay({"Pipfile.lock": json.dumps(lock), "Pipfile": '[packages]\nflask = "*"\n'})
    given = []

    def resolve(tree, script):
        if "uv pip compile" not in script:
            return 0, ""
        given.append((tree.folder / ".fettle-locked.txt").read_text())
        return resolved

    tree.answers = resolve
    pipenv = ecosystem_of(tree.paths, group("sqlparse", "< 1", manifests=["Pipfile.lock"]))
    locked = await pipenv.read(tree)
    if said:
        with pytest.raises(Stuck, match=said):
            await pipenv.verify_lock(tree, locked, locked)
    else:
        accepted = await pipenv.verify_lock(tree, locked, locked)
        assert accepted.commands[0] == "pipenv verify"
        told = ("could not be told: no wheel of odd" in str(accepted.notes)) is bool(resolved[0])
        assert told
    assert given == ["flask==3.0.3\nsqlparse==0.4.4\n"]


async def test_pipenv_is_given_nothing_of_what_comes_from_elsewhere_and_no_line_of_a_marker(tree):
    """It would build the one, and read the other as a requirement."""
    more = {
        "evil": {"git": "https://evil.example/x.git", "ref": "main"},
        "here": {"path": ".", "editable": True},
        "six": {"version": "==1.16.0", "markers": "os_name == 'nt'\n--index-url https://evil"},
    }
    lock = json.loads(json.dumps(PIPENV))
    lock["default"] |= more
    given = []

    def watch(tree, script):
        given.extend(p.read_text() for p in tree.folder.glob(".fettle-Pipfile"))
        return 1, "no"

    tree.lay({"Pipfile.lock": json.dumps(lock), "Pipfile": '[packages]\nsqlparse = "*"\n'})
    tree.answers = watch
    pipenv = ecosystem_of(tree.paths, group("sqlparse", "< 1", manifests=["Pipfile.lock"]))
    with pytest.raises(Stuck):
        await pipenv.relock(tree, {"sqlparse": "0.5.0"})
    assert [tomllib.loads(text)["packages"] for text in given] == [
        {"sqlparse": {"version": "==0.5.0"}, "six": {"version": "==1.16.0"}},
        {"sqlparse": {"version": "==0.5.0"}},
    ]


@pytest.mark.parametrize("canonical", [True, False])
async def test_the_hash_is_that_of_the_pipenv_that_wrote_the_lock_file(tree, canonical):
    """Newer ones write the names their canonical way before they hash; `pipenv verify` is one."""
    pipfile = '[packages]\nSQL_Parse = "==0.4.4"\n[docs]\n"Other.One" = "*"\n'

    def digest(text):
        return hashlib.sha256(json.dumps(tomllib.loads(text)).encode()).hexdigest()

    def write(text):
        named = text.replace("SQL_Parse", "sql-parse").replace("Other.One", "other-one")
        return named if canonical else text

    lock = json.loads(json.dumps(PIPENV))
    lock["_meta"]["hash"]["sha256"] = digest(write(pipfile))
    verified = []

    def answer(tree, script):
        if "plette" in script:
            return 0, f"{digest((tree.folder / '.fettle-Pipfile').read_text())}\n"
        if "pipenv verify" in script:
            verified.append(script)
        return (0, "") if "pipenv lock" in script or "uv pip compile" not in script else (1, "")

    tree.lay({"Pipfile.lock": json.dumps(lock), "Pipfile": pipfile})
    tree.answers = answer
    pipenv = ecosystem_of(tree.paths, group("sql-parse", "< 1", manifests=["Pipfile.lock"]))
    locked = await pipenv.read(tree)
    changed = pipfile.replace("0.4.4", "0.5.0")
    tree.lay({"Pipfile": changed})

    await pipenv.relock(tree, {"sql-parse": "0.5.0"})

    after = json.loads((tree.folder / "Pipfile.lock").read_text())
    assert after["_meta"]["hash"]["sha256"] == digest(write(changed))
    accepted = await pipenv.verify_lock(tree, locked, locked)
    assert ("pipenv verify" in accepted.commands, bool(verified)) == (canonical, canonical)
