"""Kits: made once, lent to every run, and out of reach of all that runs with them."""

from pathlib import Path

import pytest

from agents.errors import ToolError
from agents.policy import Policy
from agents.ports import Kit
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.none.backend import NoSandbox
from tests.app.conftest import SANDBOX_UID
from tests.app.dependencies.install.conftest import bash
from tests.app.dependencies.install.test_add_package import served
from tests.app.dependencies.install.test_hostile import REACH, _state

__all__ = ["served"]  # a fixture
MODULES = Policy.model_validate({"setup": {"run": ["mkdir -p node_modules/a /setup/b"]}})
BASE = Kit(name="base", script='cp /usr/bin/env "$KIT/say" && pwd >"$KIT/saw"')
TOOL = Kit(name="tool", script='cat "$KITS/base/saw" && echo 7 >"$KIT/release"', needs=(BASE,))


async def ask(tree, script, *kits, timeout=30):
    return await tree.ask(["bash", "-c", script], timeout=timeout, kits=kits)


def _list_children():
    """Return the ids of the processes that this one has started, and that have not ended."""
    told = Path("/proc/self/task").glob("*/children")
    return {each for path in told for each in path.read_text().split()}


def kits(ground):
    """Return the folders of the kits that were made."""
    return sorted(p.parent for p in ground.place.glob("setups/kits/*/manifest.json"))


async def test_a_kit_is_made_once_and_lent_with_what_it_needs(ground, served):
    _, one = await ground.run(policy=MODULES)
    _, two = await ground.run(policy=MODULES, run_id="run-2")

    said = [await ask(tree, 'cat "$KITS/tool/release"; ls "$KITS"', TOOL) for tree in (one, two)]

    assert [done.output for done in said] == ["7\nbase\ntool\n"] * 2
    assert len(kits(ground)) == 2


async def test_what_is_lent_stays_while_other_commands_of_the_run_begin_and_end(ground, served):
    _, tree = await ground.run(policy=MODULES)
    stays = {"timeout": 20, "kits": [BASE], "shared_home": "tool"}

    await tree.ask(["bash", "-c", 'echo kept >"$TMPDIR/kept"'], **stays)
    await ask(tree, "true", TOOL)
    done = await tree.ask(["bash", "-c", 'cat "$TMPDIR/kept"; ls "$KITS"'], **stays)

    assert done.output == "kept\nbase\n"
    await tree.close()
    assert not list(ground.place.glob("setups/*/adding-*"))


async def test_what_stays_ends_when_the_files_of_its_run_go(ground, served):
    source = ground.source()
    await source.set_up(ground.base, MODULES)
    tree = await source.open(ground.base, MODULES)
    before = _list_children()
    await tree.ask(["bash", "-c", "true"], timeout=20, kits=[BASE], shared_home="tool")
    assert _list_children() > before

    await source.discard(forget=False)

    assert _list_children() == before


async def test_who_makes_one_sees_nothing_of_a_repository(ground, served):
    ground.commit({"secret.txt": "hunter2"})
    _, tree = await ground.run(policy=MODULES)
    nosy = Kit(
        name="nosy", script='cat /workspace/secret.txt "$KIT"/../../secret.txt; ls /workspace'
    )

    done = await ask(tree, "true", nosy)

    assert "hunter2" not in done.output
    assert done.output.startswith("[Fettle's nosy could not be made here: ")
    assert kits(ground) == []


async def test_nobody_who_is_lent_a_kit_can_change_it(ground, served):
    _, tree = await ground.run(policy=MODULES)
    await ask(tree, "true", BASE)
    [kit] = kits(ground)
    before = _state(kit)

    done = await ask(
        tree,
        'cd "$KITS/base"; echo evil >say; echo evil >new; rm -f say; chmod 777 . say; '
        "mv ../base ../x; ln -sf /etc/passwd saw; echo done",
        BASE,
    )  # fmt: skip

    assert done.output.endswith("done\n")
    assert _state(kit) == before


async def test_nothing_that_is_asked_leaves_a_trace_beside_the_files(ground, served):
    _, tree = await ground.run(policy=MODULES)
    before = [_state(entry) for entry in ground.entries()]

    done = await ask(
        tree,
        "mkdir -p node_modules/a ~/.local/bin; echo evil | tee node_modules/a/x ~/.local/bin/ls"
        ' "$TMPDIR/x" made.txt changed.py; ls /setup',
    )

    assert "evil" in done.output
    assert "tmp" in done.output.split("evil")[-1]
    assert "b" not in done.output.split("evil")[-1].split()
    later = await bash(
        tree, "cat node_modules/a/x ~/.local/bin/ls /setup/tmp/x 2>&1; cat changed.py"
    )
    assert later.output.count("evil") == 1
    assert await tree.list_install_commands() == ()
    assert [_state(entry) for entry in ground.entries()] == before
    assert not list(ground.place.glob("setups/*/adding-*"))


async def test_whoever_asks_reaches_the_indexes_and_nothing_else(ground, served, canary):
    _, tree = await ground.run(policy=MODULES)
    places = [("127.0.0.1", canary.port), ("203.0.113.5", 443), ("example.com", 443)]
    evil = Kit(name="evil", script=f"{REACH.format(places=places)}; exit 1")

    done = await ask(tree, REACH.format(places=places), evil)

    assert canary.visits == 0
    assert "REACHED" not in done.output
    assert done.output.count("\nno ") >= 3


async def test_one_that_cannot_be_made_is_said_so_and_is_not_tried_at_every_command(ground, served):
    _, tree = await ground.run(policy=MODULES)
    broken = Kit(name="broken", script='echo "half" >"$KIT/x"; echo no disk; exit 4')

    first = await ask(tree, 'test -e "$KITS/broken" || echo missing', broken)
    again = await ask(tree, "true", broken)

    assert first.output == "[Fettle's broken could not be made here: no disk]\nmissing\n"
    assert "no disk" in again.output
    assert kits(ground) == []


async def test_without_a_sandbox_that_holds_nobody_asks(ground):
    set_ups = ground.set_ups(sandbox=NoSandbox(SANDBOX_UID))
    lending = set_ups.for_run("1", ground.mirror, "run-1")
    with pytest.raises(ToolError, match="indexes alone"):
        async with lending.lend_kits("", ground.sandbox, ["true"], []):
            pass


async def test_whoever_asks_has_the_toolchain_that_the_repository_wants(ground, served):
    for version in (20, 99):
        program = ground.place / f"node-{version}" / "bin" / "node"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\necho v{version}.0.0\n")
        program.chmod(0o755)
        ground.toolchains += (program.parent.parent,)
    ground.sandbox = Bubblewrap(SANDBOX_UID, ground.toolchains)
    ground.commit({".nvmrc": "99\n"})
    _, tree = await ground.run(policy=MODULES)

    own = await bash(tree, "node --version")
    asked = await ask(tree, "node --version; cat $KITS/tool/release", TOOL)

    assert (own.output, asked.output) == ("v99.0.0\n", "v99.0.0\n7\n")
