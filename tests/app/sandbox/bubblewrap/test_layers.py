"""Writable layers: what is written through one reaches neither the folder nor anything else."""

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from agents.errors import ConfigError
from app.sandbox import escape_probe
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.port import Mount, Sandbox, SandboxCommand

SANDBOX_UID = 58999


@pytest.fixture
def layer(open_folder, sandbox):
    """A folder of the sandbox's user with a file in it, to be seen through a layer."""
    below = open_folder / "below"
    (below / "deep").mkdir(parents=True)
    (below / "file").write_text("as it was\n")
    for path in (below, below / "deep", below / "file"):
        if os.geteuid() == 0:
            os.chown(path, *sandbox.owner)
    return Mount(below, "/layer", changes=open_folder / "changes")


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


async def test_the_folder_stays_and_the_changes_are_kept_beside_it(bash, layer):
    script = "cd /layer && echo new >>file && rm -r deep && mkdir made && mv file made/ && ls -R"
    result = await bash(script, mounts=(layer,))
    assert (result.exit_code, result.output) == (0, ".:\nmade\n\n./made:\nfile\n")
    assert names(layer.source) == ["deep", "file"]
    assert (layer.source / "file").read_text() == "as it was\n"
    again = await bash("cat /layer/made/file", mounts=(layer,))
    assert again.output == "as it was\nnew\n"


async def test_no_layer_shows_where_things_lie_on_this_machine(bash, layer, open_folder):
    result = await bash(
        "cat /proc/self/mounts /proc/self/mountinfo; ls /proc/1/fd", mounts=(layer,)
    )
    assert " overlay " in result.output
    assert f"upperdir={open_folder}" not in result.output
    assert str(layer.changes) not in result.output


async def test_a_layer_cannot_be_taken_off_or_mounted_anew(bash, layer):
    result = await bash(
        "umount /layer || mount -o remount,rw /layer || unshare -Ur true || echo held;"
        "grep CapEff /proc/self/status; ls /layer",
        mounts=(layer,),
    )
    assert "held" in result.output
    assert "CapEff:\t0000000000000000" in result.output


async def test_a_name_with_commas_is_a_name_and_no_option(bash, layer, open_folder, sandbox):
    named = open_folder / "a,lowerdir=:\\etc"
    layer.source.rename(named)
    result = await bash("echo new >/layer/x; ls /layer", mounts=(replace(layer, source=named),))
    assert result.output == "deep\nfile\nx\n"
    assert names(named) == ["deep", "file"]


async def test_a_link_in_the_place_of_the_folder_is_refused(sandbox, layer, open_folder):
    layer.source.rename(open_folder / "real")
    layer.source.symlink_to("/etc")
    with pytest.raises(ConfigError, match="layers: open"):
        await sandbox.run(SandboxCommand(("ls", "/layer"), "/", mounts=(layer,)))


@pytest.mark.parametrize("name", ["user.overlay.opaque", "user.overlay.redirect"])
async def test_nobody_inside_can_lead_a_layer_elsewhere(bash, layer, open_folder, name):
    """The kernel keeps its notes on a layer in attributes, which commands must not write."""
    (open_folder / "secret").mkdir()
    (open_folder / "secret" / "canary").write_text("seen")
    set_it = f"python3 -c \"import os; os.setxattr('/layer/deep', '{name}', b'/../secret')\""
    await bash(f"{set_it}; touch /layer/deep/x", mounts=(layer,))
    with suppress(OSError):
        os.setxattr(layer.source / "deep", name, b"/../secret")
    result = await bash("ls -R /layer", mounts=(layer,))
    assert "canary" not in result.output


@dataclass(frozen=True)
class Layered:
    """The sandbox with a layer in each command, for the attacks of the probe."""

    inner: Sandbox
    layer: Mount

    def __getattr__(self, name):
        return getattr(self.inner, name)

    async def run(self, command):
        return await self.inner.run(replace(command, mounts=(*command.mounts, self.layer)))


async def test_every_attack_of_the_probe_fails_with_a_layer_too(sandbox, layer):
    report = await escape_probe.attack(Layered(sandbox, layer))
    assert [probe.name for probe in report.probes if not probe.held] == []


async def test_a_time_out_ends_what_runs_on_a_layer(bash, layer, none_left):
    result = await bash("sleep 611.4 & sleep 611.4", mounts=(layer,), timeout=0.5)
    assert result.why == "timeout"
    assert await none_left("611.4")


async def test_where_layers_cannot_be_had_mounts_are_read_only_and_operators_are_told(
    layer, open_folder, sandbox
):
    plain = Bubblewrap(SANDBOX_UID, place=open_folder)
    plain._layers._faults[open_folder.stat().st_dev] = "layers: mount: Invalid argument"
    mounts = (Mount(layer.source, "/workspace", changes=layer.changes),)
    result = await plain.run(SandboxCommand(("sh", "-c", "touch x; ls"), mounts=mounts))
    assert "Read-only file system" in result.output
    assert result.output.endswith("deep\nfile\n")
    (note,) = [note for note in (await plain.probe()).notes if "read-only" in note]
    assert "layers: mount: Invalid argument" in note
    assert not [note for note in (await sandbox.probe()).notes if "read-only" in note]


async def test_a_folder_that_cannot_be_written_to_is_a_reason_and_no_crash(sandbox):
    fault = await sandbox._layers.find_fault(Path("/proc/self"))
    assert "nothing can be made in `/proc/self`" in fault


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, which drops to another user")
def test_an_ordinary_user_can_lay_layers_and_take_them_away(open_folder):
    program = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from app.git.worktree.run_folders import remove_tree\n"
        "from app.sandbox.port import Mount, SandboxCommand\n"
        "from app.sandbox.bubblewrap.backend import Bubblewrap\n"
        "at = Path(sys.argv[1])\n"
        "(at / 'below').mkdir()\n"
        "(at / 'below' / 'file').touch()\n"
        "layer = Mount(at / 'below', '/layer', changes=at / 'changes')\n"
        "script = 'rm /layer/file; mkdir /layer/new; chmod 0 /layer/new; ls /layer'\n"
        "command = SandboxCommand(('sh', '-c', script), '/', mounts=(layer,))\n"
        "print(asyncio.run(Bubblewrap(58999).run(command)).output.strip())\n"
        "print(*(path.name for path in (at / 'below').iterdir()))\n"
        "remove_tree(at / 'changes')\n"
        "print((at / 'changes').exists())\n"
    )
    own = open_folder / "own"
    own.mkdir()
    os.chown(own, 58998, 58998)
    root = Path(__file__).parents[4]
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    python = ["/usr/bin/python3", "-c", program, str(own)]
    done = subprocess.run(
        ["setpriv", "--reuid=58998", "--regid=58998", "--clear-groups", *python],
        cwd=root,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{root}:{packages}"},
        capture_output=True,
        text=True,
        check=False,
    )
    if "ModuleNotFoundError" in done.stderr or "Permission" in done.stderr:
        pytest.skip("/usr/bin/python3 cannot use this environment's packages as another user")
    assert done.stdout.split() == ["new", "file", "False"], done.stderr
