"""Real alerts with this machine's index: the exploit works before the ladder, and not after it."""

import json
import re
import subprocess
import tomllib

import pytest

from agents.pipelines.remediate.ladder import (
    Fix,
    Level,
    Locked,
    Stuck,
    Target,
    climb,
    ecosystem_of,
)
from agents.pipelines.remediate.ladder.python import index, pipenv
from agents.pipelines.remediate.ladder.python.poetry import Poetry
from agents.pipelines.remediate.ladder.python.provided_tools import BASE, Tool, call
from agents.pipelines.remediate.ladder.python.uv import Uv
from tests.agents.pipelines.remediate.ladder.conftest import TERMS, group

XMLATTR = "import jinja2; t = jinja2.Template(\"{{ {'x>y': '1'}|xmlattr }}\"); print(t.render())"
VULNERABLE = {
    "Jinja2-3.1.3-py3-none-any.whl": (
        "7d6d50dd97d52cbc355597bd845fabfbac3f551e1f99619e39a35ce8c0e370fa"
    ),
    "Jinja2-3.1.3.tar.gz": "ac8bd6544d4bb2c9792bf3a159e80bba8fda7f07e81bc3aed565432d5925ba90",
}
NESTED = """
import sys
import sqlparse
sys.setrecursionlimit(200)  # as deep as the default, it takes half a minute
try:
    sqlparse.parse('[' * 200 + ']' * 200)
except Exception as error:
    print(type(error).__name__)
"""
PROJECT = """\
[project]
name = "shop"  # the looks of this file stay
version = "1.0"
requires-python = ">=3.11"
dependencies = ["flask==3.0.3"{more}]
"""
POETRY = """\
[tool.poetry]
name = "shop"
version = "0.1.0"
description = ""
authors = ["Ada <ada@example.com>"]
package-mode = false

[tool.poetry.dependencies]
python = "^3.11"
flask = "3.0.3"   # pinned on purpose
{more}"""

PIPFILE = """\
[[source]]
url = "{index}"
verify_ssl = true
name = "near"

[packages]
flask = "==3.0.3"   # pinned on purpose
{more}
[dev-packages]
six = ">=1.15"
"""


async def script(tree, text, *, timeout=120):
    done = await tree.run(["bash", "-c", text], timeout=timeout)
    assert done.exit_code == 0, done.output
    return done.output


async def uses(tree, version, body):
    """Run a script with uv of that version first on PATH."""
    return await call(tree, Tool("uv", (f"uv{version}",)), body, seconds=120)


async def run_exploit(tree, requirement, code):
    """Return what the exploit prints with the package as it is locked."""
    folder = tree.folder.parent / requirement.partition(" ")[0]
    install = f"uv pip install -q --no-deps --target {folder} {requirement}"
    await call(tree, BASE, install, seconds=120)
    (folder / "exploit.py").write_text(code)
    return await script(tree, f"python3 {folder}/exploit.py 2>&1 || true")


def read_locked(tree, file, package="jinja2"):
    text = (tree.folder / file).read_text()
    if file.endswith(".txt"):
        return re.search(rf"^{package}==(\S+)", text, re.MULTILINE)[1]
    return next(p["version"] for p in tomllib.loads(text)["package"] if p["name"] == package)


def make_older(tree, file):
    """Have jinja2 3.1.3 in a lock file, as if that had been locked long ago."""
    lock = tree.folder / file
    files = "".join(f'    {{file = "{n}", hash = "sha256:{h}"}},\n' for n, h in VULNERABLE.items())
    entry = r'(name = "jinja2"\nversion = ")[^"]+(".*?\nfiles = \[\n).*?(?=\])'
    text, found = re.subn(entry, rf"\g<1>3.1.3\g<2>{files}", lock.read_text(), flags=re.DOTALL)
    assert found == 1
    lock.write_text(text)


def changes(tree, start, fix):
    """Return the lines that a fix took out and put in."""
    lines = tree.diff(start, fix.tree).splitlines()
    return [line for line in lines if re.match(r"[+-](?![+-]{2})", line)]


async def climb_from(tree, alerts, terms=TERMS):
    ecosystem = ecosystem_of(tree.paths, alerts)
    return await climb(tree, ecosystem, alerts, terms)


async def test_sqlparse_pinned_in_requirements(real, led_to_index):
    real.environment |= led_to_index  # which may be several
    real.lay({"requirements.txt": "# what we need\nsqlparse==0.4.4  # for the admin\nsix>=1.0\n"})
    alerts = group("sqlparse", "< 0.5.0", manifests=["requirements.txt"])
    assert "RecursionError" in await run_exploit(real, "sqlparse==0.4.4", NESTED)

    fix = await climb_from(real, alerts)

    assert isinstance(fix, Fix), fix
    assert fix.level is Level.BUMP
    text = (real.folder / "requirements.txt").read_text()
    assert text == "# what we need\nsqlparse==0.5.0  # for the admin\nsix>=1.0\n"
    assert "SQLParseError" in await run_exploit(real, "sqlparse==0.5.0", NESTED)
    assert fix.files == ("requirements.txt",)
    assert fix.moves[0].delta == "minor"


async def test_jinja2_locked_by_poetry_below_flask(real):
    real.lay({"pyproject.toml": POETRY.format(more="")})
    poetry = Poetry("")
    poetry._release = "2.1.4"
    await poetry._call(real, "poetry lock --no-interaction")
    make_older(real, "poetry.lock")
    start = await real.snapshot()
    assert "x&gt;y" in await run_exploit(real, "jinja2==3.1.3 markupsafe", XMLATTR)

    fix = await climb_from(real, group("Jinja2", "< 3.1.4", manifests=["poetry.lock"]))

    assert isinstance(fix, Fix), fix
    assert fix.level is Level.FLOAT
    assert fix.files == ("poetry.lock",)
    assert read_locked(real, "poetry.lock") == "3.1.4"
    assert fix.forced == ()
    assert len(changes(real, start, fix)) == 6
    version = read_locked(real, "poetry.lock")
    assert "ValueError" in await run_exploit(real, f"jinja2=={version} markupsafe", XMLATTR)


def lay_what_pdm_would_run(tree):
    """Have a hook and a plugin in the project; return the file that they would write."""
    owned = tree.folder.parent / "owned"
    version = subprocess.run(
        ["/usr/bin/python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    project = (tree.folder / "pyproject.toml").read_text()
    hooks = "".join(f'{when}_lock = "touch {owned}"\n' for when in ("pre", "post"))
    plugin = f".pdm-plugins/lib/python{version}/site-packages/evil.pth"
    tree.lay({"pyproject.toml": f"{project}\n[tool.pdm.scripts]\n{hooks}"})
    tree.lay({plugin: f"import pathlib; pathlib.Path({str(owned)!r}).touch()\n"})
    return owned


@pytest.mark.parametrize("release", [">=2.17,<2.29", ">=2.29,<3"])
async def test_jinja2_locked_by_pdm_below_flask(real, release):
    pdm = Tool("pdm", (f"pdm[locked]{release}",))
    real.lay({"pyproject.toml": PROJECT.format(more="")})
    await call(real, pdm, "PDM_USE_VENV=false pdm lock -q", seconds=120)
    make_older(real, "pdm.lock")
    owned = lay_what_pdm_would_run(real)
    start = await real.snapshot()
    assert "x&gt;y" in await run_exploit(real, "jinja2==3.1.3 markupsafe", XMLATTR)

    fix = await climb_from(real, group("jinja2", "< 3.1.4", manifests=["pdm.lock"]))

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files, fix.forced) == (Level.FLOAT, ("pdm.lock",), ())
    assert len(changes(real, start, fix)) == 6
    assert not owned.exists(), "neither a hook of the project nor a plugin in its folder ran"
    version = read_locked(real, "pdm.lock")
    assert "ValueError" in await run_exploit(real, f"jinja2=={version} markupsafe", XMLATTR)


async def test_what_people_overrule_with_in_pdm_moves_where_it_is_vulnerable(real):
    mine = '[tool.pdm.resolution.overrides]\nJinja2 = "==3.1.3"  # held\n'
    real.lay({"pyproject.toml": f"{PROJECT.format(more='')}\n{mine}"})
    pdm = Tool("pdm", ("pdm[locked]>=2.29,<3",))
    await call(real, pdm, "PDM_USE_VENV=false pdm lock -q", seconds=120)

    fix = await climb_from(real, group("jinja2", "< 3.1.4", manifests=["pdm.lock"]))

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files) == (Level.BUMP, ("pdm.lock", "pyproject.toml"))
    assert mine.replace("3.1.3", "3.1.4") in (real.folder / "pyproject.toml").read_text()
    assert read_locked(real, "pdm.lock") == "3.1.4"


async def test_an_override_of_pdm_gets_past_what_others_ask_and_goes_without_a_trace(real):
    """No release of flake8's third major admits a mccabe after 0.6."""
    pdm = Tool("pdm", ("pdm[locked]>=2.29,<3",))
    real.lay({"pyproject.toml": PROJECT.replace("flask==3.0.3", "flake8==3.9.2").format(more="")})
    await call(real, pdm, "PDM_USE_VENV=false pdm lock -q --update-reuse", seconds=120)
    about = group("mccabe", "< 0.7.0", manifests=["pdm.lock"])
    start = await real.snapshot()

    fix = await climb_from(real, about, TERMS.model_copy(update={"overrides": True}))

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files) == (Level.OVERRIDE, ("pdm.lock", "pyproject.toml"))
    assert [(move.name, move.new) for move in fix.moves] == [("mccabe", ("0.7.0",))]
    line = f'mccabe = ">=0.7.0" # {fix.overruled.reason}\n'
    assert (
        f"[tool.pdm.resolution.overrides]\n{line}" in (real.folder / "pyproject.toml").read_text()
    )
    ecosystem = ecosystem_of(real.paths, about)
    assert (await ecosystem.read(real)).parents("mccabe") == ("flake8",)

    await ecosystem.without_override(real, fix.targets, fix.overruled.reason)
    await ecosystem.relock(real, {})
    assert await real.list_changed_paths(start, await real.snapshot()) == []


async def lock_by_pipenv(tree, **more):
    """Have a Pipfile with the index that pip is led to, and its lock file."""
    near = tree.environment["PIPENV_PYPI_MIRROR"]
    lines = "".join(f'{name} = "{spec}"\n' for name, spec in more.items())
    tree.lay({"Pipfile": PIPFILE.format(index=near, more=lines)})
    body = 'PIP_SRC=$HOME/src PIPENV_NOSPIN=1 VIRTUAL_ENV="$tool" pipenv lock >/dev/null 2>&1'
    await call(tree, pipenv.TOOL, body, seconds=120)


async def test_jinja2_locked_by_pipenv_below_flask_or_pinned(real):
    """A lock file without what is needed is refused."""
    await lock_by_pipenv(real, jinja2="==3.1.3", werkzeug="==3.0.2")
    start = await real.snapshot()
    await move_what_pipenv_locked(real)
    await real.restore(start)
    await refuse_what_lacks_something(real)
    await real.restore(start)
    await move_pin_in_pipfile(real, start)


async def move_what_pipenv_locked(real):
    lock = json.loads((real.folder / "Pipfile.lock").read_text())
    for name in ("jinja2", "werkzeug"):
        del lock["default"][name]["index"]
    text = (real.folder / "Pipfile").read_text()
    real.lay({"Pipfile": re.sub("(?m)^(jinja2|werkzeug).*\n", "", text)})
    real.lay({"Pipfile.lock": f"{json.dumps(lock, indent=4, sort_keys=True)}\n"})
    start = await real.snapshot()

    fix = await climb_from(real, group("jinja2", "< 3.1.4", manifests=["Pipfile.lock"]))

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files, fix.forced) == (Level.FLOAT, ("Pipfile.lock",), ())
    assert len(changes(real, start, fix)) == 8, "two hashes, a version, the manifest's hash"
    after = json.loads((real.folder / "Pipfile.lock").read_text())
    assert after["default"]["jinja2"]["version"] == "==3.1.4"
    assert after["default"]["werkzeug"] == lock["default"]["werkzeug"]
    assert after["_meta"]["sources"] == lock["_meta"]["sources"]


async def refuse_what_lacks_something(real):
    ecosystem = ecosystem_of(real.paths, group("jinja2", "< 9", manifests=["Pipfile.lock"]))
    whole = await ecosystem.read(real)
    accepted = await ecosystem.verify_lock(real, whole, whole)
    assert accepted.commands == ("pipenv verify", "uv pip compile")
    lock = json.loads((real.folder / "Pipfile.lock").read_text())
    del lock["default"]["markupsafe"]
    real.lay({"Pipfile.lock": json.dumps(lock)})
    with pytest.raises(Stuck, match="lacks what is needed by what it locks: markupsafe"):
        await ecosystem.verify_lock(real, whole, await ecosystem.read(real))


async def move_pin_in_pipfile(real, start):
    """The file keeps its looks."""
    text = (real.folder / "Pipfile").read_text()

    fix = await climb_from(real, group("jinja2", "< 3.1.4", manifests=["Pipfile"]))

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files) == (Level.BUMP, ("Pipfile", "Pipfile.lock"))
    after = (real.folder / "Pipfile").read_text()
    assert after == text.replace('"==3.1.3"', '"==3.1.4"')
    assert len(changes(real, start, fix)) == 10
    sync = "PIPENV_VENV_IN_PROJECT=1 pipenv sync 2>&1 && .venv/bin/python -c"
    look = "import importlib.metadata as found; print('jinja2', found.version('jinja2'))"
    installed = await call(real, pipenv.TOOL, f'{sync} "{look}"', seconds=200)
    assert installed.endswith("jinja2 3.1.4\n")


@pytest.mark.parametrize("release", ["==0.7.22", ">=0.13"])
async def test_jinja2_locked_by_uv_below_flask(real, release):
    real.lay({"pyproject.toml": PROJECT.format(more=', "jinja2==3.1.3"')})
    await uses(real, release, "uv lock -q")
    real.lay({"pyproject.toml": PROJECT.format(more="")})
    await uses(real, release, "uv lock -q")
    start = await real.snapshot()
    assert "x&gt;y" in await run_exploit(real, "jinja2==3.1.3 markupsafe", XMLATTR)

    fix = await climb_from(real, group("jinja2", "< 3.1.4", manifests=["uv.lock"]))

    assert isinstance(fix, Fix), fix
    assert fix.level is Level.FLOAT
    assert fix.files == ("uv.lock",)
    assert fix.forced == ()
    assert len(changes(real, start, fix)) == 6
    version = read_locked(real, "uv.lock")
    assert "ValueError" in await run_exploit(real, f"jinja2=={version} markupsafe", XMLATTR)


async def test_a_pin_in_pyproject_moves_and_the_file_keeps_its_looks(real):
    real.lay(
        {"pyproject.toml": PROJECT.format(more=", \"jinja2[i18n]==3.1.3 ; python_version>'3'\"")}
    )
    await uses(real, ">=0.13", "uv lock -q")
    text = (real.folder / "pyproject.toml").read_text()

    fix = await climb_from(real, group("jinja2", "< 3.1.4", manifests=["pyproject.toml"]))

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files) == (Level.BUMP, ("pyproject.toml", "uv.lock"))
    after = (real.folder / "pyproject.toml").read_text()
    assert after == text.replace("jinja2[i18n]==3.1.3 ;", "jinja2[i18n]==3.1.4 ;")
    assert read_locked(real, "uv.lock") == "3.1.4"


async def test_an_override_of_uv_carries_its_reason(real):

    real.lay({"pyproject.toml": PROJECT.format(more=', "jinja2==3.1.3"')})
    await uses(real, ">=0.13", "uv lock -q")
    ecosystem = ecosystem_of(real.paths, group("jinja2", "< 3.1.4", manifests=["uv.lock"]))
    await ecosystem.read(real)

    target = Target(name="jinja2", old="3.1.3", new="3.1.4")
    await ecosystem.override(real, [target], "GHSA-x; look again by 2027-01-01")
    await ecosystem.relock(real, {"jinja2": "3.1.4"})

    text = (real.folder / "pyproject.toml").read_text()
    assert '"jinja2>=3.1.4", # GHSA-x; look again by 2027-01-01\n' in text
    assert read_locked(real, "uv.lock") == "3.1.4"


@pytest.mark.parametrize("made_by", ["uv", "pip-compile"])
async def test_a_compiled_file_is_compiled_again(real, made_by):
    tool, body = {
        "uv": (BASE, "uv pip compile -q --generate-hashes main.in -o main.txt >/dev/null"),
        "pip-compile": (
            Tool("pip-compile", ("pip-tools>=7.4",), found=False),
            "pip-compile -q --generate-hashes --no-emit-find-links --no-emit-index-url main.in",
        ),
    }[made_by]
    real.lay({"main.in": "sqlparse==0.4.4\n"})
    await call(real, tool, body, seconds=120)
    start = await real.snapshot()

    fix = await climb_from(real, group("sqlparse", "< 0.5.0", manifests=["main.txt"]))

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files) == (Level.BUMP, ("main.in", "main.txt"))
    assert read_locked(real, "main.txt", "sqlparse") == "0.5.0"
    assert len(changes(real, start, fix)) == 8
    text = (real.folder / "main.txt").read_text()
    assert text.count("--hash=sha256:") == 2, "of the wheel, and of the source"
    assert "--only-binary" not in text


async def test_hashes_of_a_pin_come_from_the_index(real):
    real.lay({"requirements.txt": f"sqlparse==0.4.4 \\\n    --hash=sha256:{'0' * 64}\n"})

    fix = await climb_from(real, group("sqlparse", "< 0.5.0", manifests=["requirements.txt"]))

    assert isinstance(fix, Fix), fix
    text = (real.folder / "requirements.txt").read_text()
    assert re.fullmatch(r"sqlparse==0\.5\.0( \\\n    --hash=sha256:[0-9a-f]{64}){2}\n", text), text


async def test_nothing_of_the_repository_is_loaded_by_what_asks_the_index(real):
    trap = f"open({str(real.folder.parent / 'pwned')!r}, 'w')\n"
    names = ("json.py", "random.py", "ssl.py", "pip/__init__.py", "sitecustomize.py")
    await call(real, BASE, "true", seconds=300)  # which is made elsewhere, not among its files
    real.lay(dict.fromkeys(names, trap))

    offered = await index.ask_offer(real, "sqlparse", 60)
    assert "0.5.0" in offered.versions
    assert offered.yanked is not None
    assert await index.objection(real, "sqlparse", "0.5.0", 60) == ""
    settings = '[project]\nname = "shop"\n[[tool.uv.index]]\nurl = "https://corp.example/simple"\n'
    real.lay({"pyproject.toml": settings, "uv.lock": "version = 1\n"})
    assert await Uv("").find_other_index(real, Locked(entries=()), "sqlparse") == "corp.example"

    assert not (real.folder.parent / "pwned").exists()


async def test_an_environment_that_the_repository_brings_along_is_not_run(real):
    uv = Tool("uv", ("uv>=0.13",))
    await call(real, uv, "true", seconds=300)
    trap = f'#!/bin/sh\ntouch {real.folder.parent}/pwned\nexec /usr/bin/python3 "$@"\n'
    programs = (".venv/bin/python", ".venv/bin/python3")
    real.lay({
        **dict.fromkeys(programs, trap),
        ".venv/pyvenv.cfg": "home = /usr/bin\nversion = 3.11\n",
        "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\nrequires-python = ">=3.9"\n',
    })  # fmt: skip
    for program in programs:
        (real.folder / program).chmod(0o755)

    await call(real, uv, "uv lock --no-build", seconds=60)
    assert await index.hashes(real, "sqlparse", "0.5.0", 60)

    assert not (real.folder.parent / "pwned").exists()
