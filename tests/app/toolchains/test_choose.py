"""Toolchains out of what is there: the machine's, the operator's folders, and what is told else."""

import os
import shlex
import shutil
import stat
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from agents.errors import TransientError
from agents.policy import Policy
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.none.backend import NoSandbox
from app.toolchains.probe import see_tools
from tests.app.conftest import SANDBOX_UID
from tests.app.dependencies.install.conftest import bash, ground

__all__ = ["ground"]  # a fixture


def program(folder, text):
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text(f"#!/bin/sh\n{text}\n")
    folder.chmod(0o755)


def ruby(root, version):
    program(root / f"ruby-{version}/bin/ruby", f"echo {version}")


@pytest.fixture
def tools(ground):
    """A folder of the operator's with several versions side by side."""
    root = Path(tempfile.mkdtemp(prefix="fettle-test-", dir="/var/tmp"))  # /tmp is a run's own
    for version in ("91.2.5", "91.3.0", "92.0.1"):
        ruby(root, version)
    program(root / "jdk-91/bin/javac", "echo javac 91.0.2")
    program(root / "jdk-91/bin/java", "echo java")
    for folder, _, _ in os.walk(root):
        Path(folder).chmod(0o755)
    ground.toolchains = (root,)
    ground.sandbox = Bubblewrap(SANDBOX_UID, ground.toolchains)
    yield root
    shutil.rmtree(root)


async def test_of_several_versions_the_one_that_a_file_names_comes_first(ground, tools):
    ground.commit({".ruby-version": "91.2.5\n"})

    result, tree = await ground.run("true")
    done = await bash(tree, "ruby; command -v ruby")

    assert done.output.split() == ["91.2.5", f"{tools}/ruby-91.2.5/bin/ruby"]
    assert result.problems == result.notes == ()


async def test_set_up_commands_and_additions_see_it_too(ground, tools):
    ground.commit({"Gemfile": "ruby '~> 91.2'\n"})

    result, tree = await ground.run("ruby >made.txt; cat made.txt")
    done = await tree.run(["bash", "-c", "ruby; echo 1 >/setup/x"], timeout=30, network="indexes")

    assert result.commands[0].output == "91.3.0\n"
    assert done.output == "91.3.0\n"


async def test_a_jdk_is_named_by_java_home(ground, tools):
    ground.commit({".java-version": "91\n"})

    _, tree = await ground.run("true")
    done = await bash(tree, 'echo "$JAVA_HOME"; javac')

    assert done.output == f"{tools}/jdk-91\njavac 91.0.2\n"


async def test_without_the_wish_nothing_changes(ground, tools):
    _, tree = await ground.run("true")

    done = await bash(tree, "command -v ruby | grep -c tools")

    assert done.output == "0\n"


async def test_another_patch_is_used_and_told(ground, tools):
    ground.commit({".ruby-version": "91.3.9\n"})

    result, tree = await ground.run("true")

    assert (await bash(tree, "ruby")).output == "91.3.0\n"
    [note] = result.notes
    assert note.startswith("`.ruby-version` asks for ruby `91.3.9`; Ruby 91.3.0 is used, which is")


async def test_what_is_missing_is_told_with_who_can_change_it(ground, tools):
    ground.commit({".ruby-version": "93.1.0\n", "pyproject.toml": "[project]\nname = 'a'\n"})

    result, _ = await ground.run("true")

    [problem] = result.problems
    assert problem.startswith("`.ruby-version` asks for ruby `93.1.0`. Sandboxes here have ")
    assert "91.2.5, 91.3.0, 92.0.1 alone." in problem
    assert "An operator can put one into FETTLE_TOOLCHAINS." in problem
    assert "can change `.ruby-version` if another version does, too." in problem


async def test_hosts_that_would_help_are_named_and_not_asked(ground, tools):
    ground.commit({"pyproject.toml": "[project]\nrequires-python = '>=3.99'\n"})

    result, _ = await ground.run("true")

    [problem] = result.problems
    assert "`pyproject.toml` asks for python `>=3.99`. Sandboxes here have 3." in problem
    assert "fetch it with FETTLE_SETUP_HOSTS: releases.astral.sh." in problem
    assert not list(ground.place.glob("setups/kits/*"))


async def test_contradicting_files_of_a_folder_are_told_and_the_first_is_followed(ground, tools):
    ground.commit({".ruby-version": "91.2.5", "Gemfile": "ruby '~> 92.0'\n"})

    result, tree = await ground.run("true")

    assert (await bash(tree, "ruby")).output == "91.2.5\n"
    [note] = result.notes
    assert note.startswith("`Gemfile` asks for ruby `~> 92.0`, which contradicts `.ruby-version`.")


@pytest.mark.parametrize("folder", ["web", "a b/*", "$(touch x)", "-n", "x'; touch y; '"])
async def test_a_folder_that_asks_for_another_version_has_it_and_the_rest_has_not(
    ground, tools, folder
):
    ground.commit({".ruby-version": "91.2.5", f"{folder}/.ruby-version": "92.0.1", "c/d": ""})
    place = shlex.quote(f"./{folder}")
    asked = f"ruby; (cd {place} && ruby && mkdir -p deep && cd deep && sh -c ruby); cd c && ruby"

    result, tree = await ground.run(asked)
    done = await bash(tree, f"{asked}; cd ..; ls -d x y; ls c; rm -rf $(dirname $(type -P ruby))")

    assert result.problems == result.notes == ()
    expected = ["91.2.5", "92.0.1", "92.0.1", "91.2.5"]
    assert result.commands[0].output.split() == expected
    assert done.output.split()[:4] == expected
    assert "x\n" not in done.output.replace("'x'", "")
    assert (await bash(tree, "ruby")).output == "91.2.5\n"


async def test_what_one_folder_asks_for_in_vain_is_told(ground, tools):
    files = {".ruby-version": "91.2.5", "web/.ruby-version": "93.1.0", "web/.java-version": "93"}
    ground.commit({**files, ".java-version": "91"})

    result, _ = await ground.run("cd web; ruby")

    [problem], [note] = result.problems, result.notes
    assert problem.startswith("`web/.ruby-version` asks for ruby `93.1.0`.")
    assert note.startswith("`web/.java-version` asks for java `93`, which the rest of the repo")
    assert result.commands[0].output == "91.2.5\n"


async def test_what_was_installed_for_another_version_does_not_serve(ground, tools):
    ground.commit({".ruby-version": "91.2.5"})
    await ground.run("ruby")
    ruby(tools, "91.2.5-p1")
    program(tools / "ruby-91.2.5/bin/ruby", "echo 91.2.6")
    ground.commit({".ruby-version": "91.2"})

    result, _ = await ground.run("ruby", run_id="run-2")

    assert result.commands[0].output == "91.2.6\n"
    assert len(ground.entries()) == 2


async def test_a_python_beside_the_default_one_gets_its_plain_names(ground, tools):
    found = sorted(Path("/usr/bin").glob("python3.[0-9]*[0-9]"))
    if not found:
        pytest.skip("no Python of the system's")
    program(tools / "bin/python3", "echo 3.1.0")  # comes first on every sandbox's PATH
    line = found[0].name.removeprefix("python")
    ground.commit({".python-version": line, "setup.py": "import setuptools; setuptools.setup()"})

    result, tree = await ground.run("python3 -c 'import venv; venv.create(\"/setup/venv\")'")
    said = f"python3 --version; python{line} --version; python3 -c 'import sys; print(sys.prefix)'"
    done = await bash(tree, said)

    assert result.problems == ()
    assert [word[: len(line)] for word in done.output.split()[1:4:2]] == [line, line]
    assert done.output.splitlines()[-1] == "/setup/venv"


async def test_a_run_never_goes_on_with_other_tools_than_it_began_with(ground, tools):
    program(tools / "bin/python3", "echo 3.1.0")  # so that the machine's own needs a kit
    [line, *_] = sorted(path.name[6:] for path in Path("/usr/bin").glob("python3.[0-9]*[0-9]"))
    ground.commit({".python-version": line})
    set_ups, broken = ground.set_ups(), []

    async def provide(kit):
        return "[no way]" if broken else await set_ups.kits.provide(kit)

    toolchains = replace(set_ups.toolchains, provide=provide)
    run = replace(set_ups, toolchains=toolchains).for_run("1", ground.mirror, "run-1")
    await ground._fetch()
    before = await run.find_mounts(ground.base, Policy())
    for kit in ground.place.glob("setups/kits/*-ok-*"):
        shutil.rmtree(kit)

    broken.append(True)
    with pytest.raises(TransientError, match="gone from this machine"):
        await run.find_mounts(ground.base, Policy())
    broken.clear()
    again = await run.find_mounts(ground.base, Policy())

    assert "/kits/python-links-" in before.path[0]
    assert again.path == before.path


async def test_a_run_cannot_change_what_all_share(ground, tools):
    ground.commit({".ruby-version": "91.2.5\n"})
    _, tree = await ground.run("true")
    for path in (tools, *tools.rglob("*")):  # an operator's mistake
        path.chmod(0o777)
        if os.geteuid() == 0:
            os.chown(path, *ground.sandbox.owner)
    before = sorted((p, p.stat().st_mtime_ns, p.stat().st_mode) for p in tools.rglob("*"))

    done = await bash(
        tree,
        'cd "$(dirname "$(command -v ruby)")"; echo evil >ruby; echo evil >node; rm -f ruby; '
        "chmod 777 . ruby; mv ../../ruby-91.2.5 ../../x; ln -s /etc/passwd y; echo done",
    )

    assert done.output.endswith("done\n")
    assert before == sorted((p, p.stat().st_mtime_ns, p.stat().st_mode) for p in tools.rglob("*"))
    assert stat.S_ISREG((tools / "ruby-91.2.5/bin/ruby").lstat().st_mode)


@pytest.mark.parametrize(
    "text", ["$(touch {0})", "91.2.5; touch {0}", "91.2.5\\ntouch {0}", "../../{0}", "`touch {0}`"]
)
async def test_no_text_of_a_version_file_is_run(ground, tools, text):
    mark = ground.place / "touched"
    said = text.format(mark)
    files = {".ruby-version": said, "package.json": f'{{"engines": {{"node": "{said}"}}}}'}
    ground.commit({**files, "mise.toml": f"[tools]\nruby = '{said}'\n"})

    result, tree = await ground.run("true")

    assert "which is no version that Fettle can look for" in result.problems[0]
    assert "Whoever maintains the repository can name a released version" in result.problems[0]
    assert not mark.exists()
    assert "touched" not in (await bash(tree, "ls / /tmp /workspace")).output


async def test_without_a_sandbox_what_is_there_is_found_and_nothing_is_fetched(ground, tools):
    ground.sandbox = NoSandbox(SANDBOX_UID, ground.toolchains)
    files = {".ruby-version": "91.2.5\n", ".node-version": "93.1.0\n"}
    ground.commit(files)
    set_ups = ground.set_ups().for_run("1", ground.mirror, "run-1")
    await ground._fetch()

    mounts = await set_ups.find_mounts(ground.base, Policy())
    result = await set_ups.set_up(ground.base, Policy())

    assert mounts.path == (f"{tools}/ruby-91.2.5/bin",)
    assert result.problems[0].startswith("`.node-version` asks for node `93.1.0`.")
    assert ground.entries() == []


async def test_a_program_of_several_names_is_one_unless_its_name_decides(ground, tools):
    """As that of what leads to versions of Python does."""
    program(tools / "one/bin/python3.98", "echo 3.98.1")
    program(tools / "many/bin/shim", "echo 3.${0##*.}.7")
    for folder, name, target in (
        ("one", "python3", "python3.98"),
        ("many", "python3.96", "shim"),
        ("many", "python3.97", "shim"),
    ):
        (tools / folder / "bin" / name).symlink_to(target)

    for folder in ("one", "one/bin", "many", "many/bin"):
        (tools / folder).chmod(0o755)

    seen = await see_tools(ground.sandbox, ["python"], [str(tools)])

    own = {each.program.removeprefix(f"{tools}/"): each.version for each in seen}
    assert own["one/bin/python3"] == own["one/bin/python3.98"] == "3.98.1"
    assert own["many/bin/python3.96"] == "3.96.7"
    assert own["many/bin/python3.97"] == "3.97.7"
