"""The file of a case: what is wrong in it is told, with its place; where sources come from."""

from __future__ import annotations

import hashlib
import tarfile

import pytest
import yaml

from agents.errors import ConfigError
from app.evaluation.case import find_cases, read_case
from app.evaluation.case_repository import make_repository
from app.evaluation.sources import fetch
from tests.app.evaluation.conftest import ABOUT, SOURCE, make_case, write
from tests.app.git.conftest import git

HASH = "0" * 64
PACKAGE = {"package": "parse", "version": "1.0", "sha256": HASH}


def change_case(**parts):
    judge = ABOUT["judge"] | parts.pop("judge", {})
    return ABOUT | {"judge": judge} | parts


WRONG = [
    (change_case(source={}), "source: name exactly one of `package`, `folder`, `archive`"),
    (change_case(source={"folder": "a", "archive": "b"}), "source: name exactly one"),
    (change_case(source={"package": "parse"}), "source: a package needs its `version`"),
    (change_case(source={"archive": "a.tar.gz"}), "source: an archive needs its `sha256`"),
    (change_case(source=PACKAGE | {"sha256": "00"}), "source.sha256: String should match"),
    (
        change_case(source=PACKAGE | {"version": 1.0}),
        "source.version: Input should be a valid string",
    ),
    (change_case(source=PACKAGE | {"package": "a --index-url=x"}), "source.package: String should"),
    (change_case(source=PACKAGE | {"version": "1\n--pre"}), "source.version: String should match"),
    (change_case(source=PACKAGE | {"leave_out": ["../x"]}), "leave_out.0: must be a path within"),
    (change_case(judge={"hidden": {}}), "judge.hidden: name either `take` or `folder`"),
    (
        change_case(judge={"hidden": {"take": ["/etc"]}}),
        "judge.hidden.take.0: must be a path within",
    ),
    (change_case(judge={"must_pass": []}), "judge.must_pass: Tuple should have at least 1 item"),
    (change_case(judge={"command": "make test"}), "judge: a command without `$REPORT` is one test"),
    (change_case(judge={"hidden": {"take": ["tests"]}}, cured=None), "takes from `cured`"),
    (change_case(surprise=1), "surprise: Extra inputs are not permitted"),
    (["a list"], "the file: Input should be a valid dictionary"),
]


@pytest.mark.parametrize(("about", "said"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_told_with_its_place(tmp_path, about, said):
    make_case(tmp_path / "calc", about=about)
    with pytest.raises(ConfigError) as told:
        read_case(tmp_path / "calc")
    assert f"- {said}" in str(told.value) or said in str(told.value)
    assert "case.yml is not valid:" in str(told.value)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("case.yml", b"a: [", "is not YAML"),
        ("case.yml", b"\xff\xfe", "is not"),
        ("issue.md", b"\xff", "is not UTF-8 text"),
        ("issue.md", b"\n\n", "has no title"),
    ],
)
def test_files_that_cannot_be_read_are_told(tmp_path, name, text, said):
    (make_case(tmp_path / "calc") / name).write_bytes(text)
    with pytest.raises(ConfigError, match=said):
        read_case(tmp_path / "calc")


def test_a_missing_issue_is_told(tmp_path):
    (make_case(tmp_path / "calc") / "issue.md").unlink()
    with pytest.raises(ConfigError, match=r"issue\.md cannot be read: No such file"):
        read_case(tmp_path / "calc")


def test_cases_are_found_by_name(tmp_path):
    for name in ("b", "a", "c"):
        make_case(tmp_path / name)
    assert find_cases(tmp_path) == [tmp_path / name for name in "abc"]
    assert find_cases(tmp_path, ("c",)) == [tmp_path / "c"]
    assert find_cases(tmp_path / "b") == [tmp_path / "b"]
    with pytest.raises(ConfigError, match=r"no case `d`.*a, b, c"):
        find_cases(tmp_path, ("d",))
    with pytest.raises(ConfigError, match="There is no case in"):
        find_cases(tmp_path / "a" / "source")


# --- sources ------------------------------------------------------------------------------------


def pack_case(folder):
    write(folder / "calc-1.0", SOURCE)
    with tarfile.open(folder / "calc.tar.gz", "w:gz") as archive:
        archive.add(folder / "calc-1.0", "calc-1.0")
    return hashlib.sha256((folder / "calc.tar.gz").read_bytes()).hexdigest()


async def test_an_archive_is_unpacked_once_without_its_outer_folder(tmp_path):
    (tmp_path / "calc").mkdir()
    source = {
        "archive": "calc.tar.gz",
        "sha256": pack_case(tmp_path / "calc"),
        "leave_out": ["tests"],
    }
    case = read_case(make_case(tmp_path / "calc", about=change_case(source=source)))
    (tmp_path / "cache").mkdir()
    fetched = await fetch(case, tmp_path / "cache")
    assert sorted(path.name for path in fetched.before.iterdir()) == ["calc.py"]
    (tmp_path / "calc" / "calc.tar.gz").unlink()
    assert (await fetch(case, tmp_path / "cache")).before == fetched.before


async def test_an_archive_that_is_another_is_refused(tmp_path):
    (tmp_path / "calc").mkdir()
    pack_case(tmp_path / "calc")
    source = {"archive": "calc.tar.gz", "sha256": HASH}
    case = read_case(make_case(tmp_path / "calc", about=change_case(source=source)))
    (tmp_path / "cache").mkdir()
    with pytest.raises(ConfigError, match="has not the `sha256`"):
        await fetch(case, tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["lock"]


async def test_without_an_index_it_says_what_to_check(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    case = read_case(make_case(tmp_path / "calc", about=change_case(source=PACKAGE)))
    (tmp_path / "cache").mkdir()
    with pytest.raises(ConfigError, match=r"`parse==1\.0` could not be fetched with pip"):
        await fetch(case, tmp_path / "cache")


@pytest.mark.parametrize("gone", ["source", "cured", "hidden"])
async def test_a_folder_that_is_missing_is_told(tmp_path, gone):
    folder = make_case(tmp_path / "calc")
    (folder / gone).rename(folder / "elsewhere")
    (tmp_path / "cache").mkdir()
    with pytest.raises(ConfigError, match="not there"):
        await fetch(read_case(folder), tmp_path / "cache")


async def test_the_repository_has_one_commit_with_all_files_and_no_history(tmp_path):
    folder = make_case(tmp_path / "calc")
    made_by_release = {".gitignore": "*.gen\n", "version.gen": "1", ".git/config": "[core]\n"}
    write(folder / "source", made_by_release)
    (tmp_path / "cache").mkdir()
    fetched = await fetch(read_case(folder), tmp_path / "cache")
    made = await make_repository(fetched, tmp_path / "repository")
    assert git(made.folder, "log", "--format=%H %s", "--all") == f"{made.base} calc"
    assert git(made.folder, "status", "--porcelain", "--ignored") == ""
    listed = git(made.folder, "ls-files").splitlines()
    assert listed == sorted([".github/fettle.yml", ".gitignore", "version.gen", *SOURCE])
    assert yaml.safe_load((made.folder / ".github/fettle.yml").read_text())["setup"] == {"run": []}
