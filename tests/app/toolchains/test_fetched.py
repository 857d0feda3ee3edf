"""Toolchains that package indexes serve: real ones, through the set-up proxy of this machine."""

import shutil

import pytest

from agents.policy import Policy
from app.demo.package_index.releases import Release
from app.sandbox.port import Mount, SandboxCommand
from app.toolchains.probe import see_kit
from app.toolchains.recipes import UV, list_recipes
from tests.app.dependencies.install.conftest import bash
from tests.app.toolchains.conftest import list_refused

has_npm = pytest.mark.skipif(
    not str(shutil.which("npm")).startswith("/usr/"), reason="sandboxes see no npm here"
)
OTHER_NODE = "22"
"""Another release of Node.js than this machine's."""


@pytest.fixture
async def open_index(index, online):
    """An index of Python's that holds nothing but what a test puts there."""
    return await index("localhost", tls=False)


@has_npm
async def test_another_node_comes_from_the_registry_and_nobody_can_change_it(online):
    """Another repository shares what was fetched for the first."""
    ground = await online(index="npm")
    files = {".nvmrc": f"{OTHER_NODE}\n", "package.json": '{"packageManager": "pnpm@9.1.0"}'}
    ground.commit(files)

    result, tree = await ground.run("node --version; npm --version; pnpm --version")
    before = [_state(kit) for kit in _kits(ground)]
    done = await bash(
        tree,
        'node --version; pnpm --version; for p in node pnpm; do d=$(command -v "$p"); '
        'echo evil >"$d"; rm -rf "${d%/*}"; chmod 777 "${d%/*}"; done; echo done',
    )

    assert result.problems == ()
    assert result.commands[0].output.startswith(f"v{OTHER_NODE}.")
    assert result.commands[0].output.endswith("\n9.1.0\n")
    assert done.output.startswith(f"v{OTHER_NODE}.")
    assert done.output.endswith("done\n")
    assert [_state(kit) for kit in _kits(ground)] == before

    made = len(ground.ways)
    other = ground.set_ups().for_run("2", ground.mirror, "run-2")
    mounts = await other.find_mounts(ground.base, _policy())

    shared = [mount.target for mount in mounts.mounts]
    for tool in ("pnpm-9-1-0-", "node-22-"):
        assert any(target.startswith(f"/kits/{tool}") for target in shared)
    assert [_state(kit) for kit in _kits(ground)] == before
    assert len(ground.ways) == made + 1  # its own set-up's, and none for a kit


async def test_go_comes_from_pythons_index(online, bring):
    ground = await online()
    await bring(UV)
    ground.commit({"go.mod": "module a\n\ngo 1.25\n", "a.go": "package a\n"})

    result, tree = await ground.run("go version")

    assert result.problems == ()
    assert result.commands[0].output.startswith("go version go1.25.")
    assert (await bash(tree, "go tool compile -p a -o /dev/null a.go")).exit_code == 0


async def test_without_npm_node_comes_from_pythons_index_with_an_npm_of_its_own(online, bring):
    ground = await online()
    await bring(UV)
    recipe = next(each for each in list_recipes("node", OTHER_NODE) if UV in each.kit.needs)

    entry = await ground.set_ups().kits.provide(recipe.kit)
    mount = Mount(entry.folder / "kit", f"/kits/{recipe.kit.name}")
    seen, *_ = await see_kit(ground.sandbox, "node", (mount,), "")
    argv = ("bash", "-c", f"PATH={seen.folder}:/usr/bin:/bin; node --version; npm --version")
    done = await ground.sandbox.run(SandboxCommand(argv, folder="/", mounts=(mount,)))

    assert seen.version.startswith(f"{OTHER_NODE}.")
    assert done.output.startswith(f"v{seen.version}\n10.")


async def test_a_file_with_another_checksum_than_the_index_names_is_not_taken(online, open_index):
    release = Release("pip", "pip", "99.0", files={"pip/__init__.py": ""})
    page = f"<a href='/{release.file}#sha256={'0' * 64}'>{release.file}</a>"
    for name in ("pip", "uv"):
        open_index.page(f"/simple/{name}/", page.replace("pip-", f"{name}-"))
    open_index.page(f"/{release.file}", release.data)
    url = f"{open_index.url}/simple"
    ground = await online(
        PIP_INDEX_URL=url, PIP_EXTRA_INDEX_URL="", PIP_FIND_LINKS="", PIP_CONFIG_FILE="/dev/null"
    )
    ground.commit({"go.mod": "module a\n\ngo 1.25\n"})

    result, _ = await ground.run("true")

    [problem] = result.problems
    assert problem.startswith("`go.mod` asks for go `>=1.25`. Sandboxes here have")
    assert "FETTLE_SETUP_HOSTS: mise-versions.jdx.dev, dl.google.com." in problem
    assert list_refused(ground) == set()
    assert _kits(ground) == []


def _kits(ground):
    return sorted(path.parent for path in ground.place.glob("setups/kits/*/manifest.json"))


def _policy():

    return Policy.model_validate({"setup": {"run": ["pnpm --version"]}})


def _state(folder):
    return sorted(
        (str(path), path.lstat().st_mode, path.lstat().st_uid, path.lstat().st_size)
        for path in folder.rglob("*")
        if path.name != "manifest.json"
    )
