"""What set-up commands leave is there for later runs: in the tree, in HOME, in /setup."""

import os

import pytest

from agents.policy import Policy
from app.dependencies.index_access import IndexWays
from app.dependencies.indexes.finder import IndexFinder
from app.dependencies.indexes.operator_config import Operator
from tests.app.dependencies.install.conftest import bash, wheel

DETECT = Policy()


async def test_what_was_installed_is_seen_where_it_was_made(ground):
    result, tree = await ground.run(
        "mkdir -p node_modules/.bin && echo echo hello >node_modules/.bin/greet",
        "chmod +x node_modules/.bin/greet",
        "mkdir -p ~/.local/bin ~/.cache/browsers && touch ~/.cache/browsers/one",
        "echo echo bye >~/.local/bin/part && chmod +x ~/.local/bin/part",
        "mkdir /setup/data && echo 7 >/setup/data/number; echo made >made.txt",
    )

    seen = await bash(tree, "greet; part; cat /setup/data/number made.txt; ls ~/.cache/browsers")

    assert result.problems == ()
    assert seen.output.split() == ["hello", "bye", "7", "made", "one"]


async def test_python_is_installed_from_the_operators_index_and_the_project_from_the_tree(
    ground, index
):
    served = await index("localhost", tls=False)
    name, data = wheel("demo_dep", "1.0", {"demo_dep.py": "VALUE = 41\n"})
    served.page("/simple/demo-dep/", f'<a href="/files/{name}">{name}</a>')
    served.page(f"/files/{name}", data)
    ground.indexes(PIP_INDEX_URL=f"{served.url}/simple")
    ground.commit({
        "requirements.txt": "demo-dep==1.0\n",
        "pyproject.toml": (
            '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        ),
        "backend.py": BACKEND,
        "calc.py": "V = 1\n",
    })  # fmt: skip

    result, tree = await ground.run(policy=DETECT)
    await tree.write("calc.py", b"V = 2\n")
    look = (
        "cd / && python3 -c 'import calc, demo_dep, sys; print(calc.V, demo_dep.VALUE, sys.prefix)'"
    )
    seen = await bash(tree, look)

    assert result.problems == ()
    assert not result.cached
    assert [c.command for c in result.commands] == [
        "python3 -m venv /setup/venv",
        "pip install -r requirements.txt",
        "pip install -e .",
    ]
    assert seen.output.strip() == "2 41 /setup/venv"

    asked = len(served.asked)
    again, other = await ground.run(policy=DETECT, run_id="run-2")

    assert again.cached
    assert len(served.asked) == asked
    assert (await bash(other, look)).output.strip() == "1 41 /setup/venv"


BACKEND = '''
"""A build backend that needs no other package: its editable wheel is one path."""

import zipfile


def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "calc-1.0-py3-none-any.whl"
    files = {
        "calc.pth": "/workspace\\n",
        "calc-1.0.dist-info/METADATA": "Metadata-Version: 2.1\\nName: calc\\nVersion: 1.0\\n",
        "calc-1.0.dist-info/WHEEL":
            "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        "calc-1.0.dist-info/RECORD": "calc.pth,,\\n",
    }
    with zipfile.ZipFile(f"{folder}/{name}", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return name
'''


async def test_what_no_index_has_keeps_nothing_else_away_and_is_said(ground, index):
    """Somebody else's package of a private one's name, in an older version, is not taken for it."""
    served = await index("localhost", tls=False)
    for package in ("demo_dep", "acme_private"):
        name, data = wheel(package, "1.0", {f"{package}.py": "VALUE = 41\n"})
        served.page(f"/files/{name}", data)
        served.page(f"/simple/{package.replace('_', '-')}/", f'<a href="/files/{name}">{name}</a>')
    ground.indexes(PIP_INDEX_URL=f"{served.url}/simple")
    checked = "on: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{run: mypy .}]}}\n"
    needs = "acme-private>=3\nnot-there\ndemo-dep==1.0\n"
    ground.commit({"requirements.txt": needs, ".github/workflows/ci.yml": checked})

    result, tree = await ground.run(policy=DETECT)

    look = "cd / && python3 -c 'import demo_dep; print(demo_dep.VALUE)'; python3 -c 'import {}'"
    seen = await bash(tree, look.format("acme_private"))
    assert seen.output.startswith("41\n")
    assert "No module named 'acme_private'" in seen.output
    said = (
        "`{}` is left out: no index that is in reach has it as the repository's files ask for it."
    )
    assert result.problems == (said.format("acme-private"), said.format("not-there"))


async def test_what_people_have_run_is_run_as_they_wrote_it(ground, index):
    served = await index("localhost", tls=False)
    ground.indexes(PIP_INDEX_URL=f"{served.url}/simple")
    result, _ = await ground.run("pip install acme-private six")
    pips = [each.command for each in result.commands if each.command.startswith("pip ")]
    assert pips == ["pip install acme-private six"]
    assert len(result.problems) == 1


async def test_nothing_of_it_is_ever_committed(ground):
    _, tree = await ground.run("mkdir node_modules .venv; touch node_modules/a .venv/b made.txt")

    seen = await bash(tree, "ls node_modules .venv made.txt")
    snapshot = await tree.snapshot()

    assert seen.exit_code == 0, seen.output
    assert await tree.list_changed_paths(ground.base, snapshot) == []


async def test_a_single_ignored_file_is_each_runs_own_and_comes_back(ground):
    _, tree = await ground.run("echo installed >made.txt")

    await bash(tree, "echo changed >made.txt")
    changed = await tree.read("made.txt")
    await tree.restore(ground.base, pristine=True)
    _, other = await ground.run("echo installed >made.txt", run_id="run-2")

    assert changed == b"changed\n"
    assert await tree.read("made.txt") == b"installed\n"
    assert await other.read("made.txt") == b"installed\n"


async def test_what_is_installed_can_be_read_by_tools_of_ours(ground):
    _, tree = await ground.run("mkdir -p node_modules/a && echo '{}' >node_modules/a/package.json")

    assert await tree.read("node_modules/a/package.json") == b"{}\n"


async def test_folders_that_tools_write_to_are_each_runs_own(ground):
    make = "mkdir -p node_modules/a"
    _, one = await ground.run(make)
    _, two = await ground.run(make, run_id="run-2")

    wrote = await bash(one, "echo x >node_modules/.cache/x && ls node_modules/.cache")
    assert wrote.output.strip() == "x"
    assert (await bash(two, "ls -A node_modules/.cache")).output.strip() == ""
    await one.restore(ground.base, pristine=True)
    assert (await bash(one, "ls -A node_modules/.cache")).output.strip() == ""


async def test_what_builds_write_to_is_not_kept_and_that_is_said(ground):
    ground.commit({".gitignore": "target/\n"})

    result, tree = await ground.run("mkdir target && touch target/x")

    assert (await bash(tree, "mkdir target && touch target/x")).exit_code == 0
    assert result.notes == ("Installing also made `target/`, which runs do not see.",)


async def test_without_anything_to_install_nothing_is_started(ground):
    result, tree = await ground.run(policy=DETECT)

    assert result.commands == ()
    assert result.problems == ()
    assert ground.entries() == []
    assert (await bash(tree, "env")).output.count("UV_OFFLINE") == 0


async def test_what_the_machine_brings_stays_importable(ground):
    tool = ground.place / "toolchain"
    packages = tool / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "brought.py").write_text("")
    for name in ("python3.11", "python3.12", "python3.13"):
        (tool / "lib" / name).mkdir(exist_ok=True)
    ground.toolchains = (tool,)

    make = "mkdir -p /setup/venv/lib/python3.11/site-packages /setup/venv/lib/python3.12"
    await ground.run(f"{make} && ln -s /etc /setup/venv/lib/python3.12/site-packages")

    kept = ground.entries()[0] / "setup" / "venv" / "lib" / "python3.11" / "site-packages"
    assert (kept / "zz-toolchains.pth").read_text() == f"{packages}\n"


async def test_the_indexes_of_this_machine_serve_a_set_up(ground):
    finder = IndexFinder(Operator(dict(os.environ)), ground.sandbox.owner, conceal=print)
    ground.open_way = IndexWays(finder, ground.sandbox.owner).open
    ground.commit({"requirements.txt": "idna\n"})

    result, tree = await ground.run(policy=DETECT)

    if result.problems:
        output = result.commands[-1].output if result.commands else ""
        pytest.skip(f"no package could be had from this machine's index: {output[-300:]}")
    assert (await bash(tree, "python3 -c 'import idna'")).exit_code == 0


async def test_files_of_the_commit_that_commands_change_are_named(ground):
    names = ("same", "touched", "edited", "gone", "longer", "linked", "kept/a", "moved/b")
    ground.commit({name: f"{name}\n" for name in names})
    result, tree = await ground.run(
        "echo same >same; touch touched; chmod +x touched",
        "sed -i s/e/f/ edited && touch -d @0 edited; rm gone; echo more >>longer",
        "ln -sf /etc/passwd linked; mv moved elsewhere && ln -s elsewhere moved",
        "mkdir -p node_modules && echo 1 >node_modules/x; echo new >untracked",
    )
    assert result.problems == ()
    assert sorted(result.changed) == ["edited", "gone", "linked", "longer", "moved/b"]
    assert await tree.read("edited") == b"edited\n", "it was a copy of theirs"
    again, _ = await ground.run("true", run_id="run-2")
    assert again.changed == ()


async def test_a_run_that_is_set_up_otherwise_sees_what_that_installs(ground):
    """And another time what the first had installed, whichever it asks for."""
    one, two = (
        Policy.model_validate(
            {"setup": {"run": [f"mkdir -p node_modules && touch node_modules/{n}"]}}
        )
        for n in ("one", "two")
    )
    source = ground.source()
    for policy, name in ((one, "one"), (two, "two"), (one, "one")):
        await source.set_up(ground.base, policy)
        tree = await source.open(ground.base, policy)
        seen = await bash(tree, "ls node_modules")
        assert seen.output.split() == [name]
