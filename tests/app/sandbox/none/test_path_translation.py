"""Paths become the real ones where they are meant, and nowhere else; output is turned back."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.errors import ConfigError
from app.sandbox.mount_points import find_nested_mounts
from app.sandbox.none.path_translation import PathTranslation
from app.sandbox.port import Mount, SandboxCommand

MOUNTS = (
    Mount(Path("/srv/runs/1/ws"), "/workspace", writable=True),
    Mount(Path("/srv/runs/1/agent.git"), "/workspace/.git", writable=True),
    Mount(Path("/srv/mirror"), "/git"),
    Mount(Path("/srv/runs/1/q"), "/q", writable=True),
)
PATHS = PathTranslation(MOUNTS, Path("/scratch"))


@pytest.mark.parametrize(
    ("written", "real"),
    [
        ("/workspace", "/srv/runs/1/ws"),
        ("/workspace/a b", "/srv/runs/1/ws/a b"),
        ("cd /workspace && ls", "cd /srv/runs/1/ws && ls"),
        ("/workspace/.git/HEAD", "/srv/runs/1/agent.git/HEAD"),
        ("/workspace/.gitignore", "/srv/runs/1/ws/.gitignore"),
        ("cp /q/index '/q/x'", "cp /srv/runs/1/q/index '/srv/runs/1/q/x'"),
        ('>"/q/exclude";', '>"/srv/runs/1/q/exclude";'),
        ("A=/git/objects:/q", "A=/srv/mirror/objects:/srv/runs/1/q"),
        ("gcc -I/workspace/include x.c", "gcc -I/srv/runs/1/ws/include x.c"),
        ("-I/workspace/include", "-I/srv/runs/1/ws/include"),
        ("echo x >/tmp/a; ls $HOME /home/agent", "echo x >/scratch/tmp/a; ls $HOME /scratch/home"),
        # not these
        ("/workspaces", "/workspaces"),
        ("/workspace-old", "/workspace-old"),
        ("/var/tmp/x ./q a/q ${X}/q */q ~/q", "/var/tmp/x ./q a/q ${X}/q */q ~/q"),
        ("https://example.com/git/q", "https://example.com/git/q"),
        (r"sed 's|/\.git$||'", r"sed 's|/\.git$||'"),
        ("/gitlab /quit /q.txt", "/gitlab /quit /q.txt"),
    ],
)
def test_in_a_script(written, real):
    assert PATHS.translate_argv(SandboxCommand(("bash", "-c", "--", written))) == (
        "bash",
        "-c",
        "--",
        real,
    )
    assert PATHS.translate_argv(SandboxCommand(("/bin/sh", "-c", written, "sh", "x")))[2] == real


def test_elsewhere_the_machines_own_folders_stay():
    command = SandboxCommand(("cat", "/tmp/a", "/workspace/a", "/home/agent/x"))
    assert PATHS.translate_argv(command) == ("cat", "/tmp/a", "/srv/runs/1/ws/a", "/home/agent/x")


def test_variables_and_folder():
    given_ = {"GIT_DIR": "/git", "HOME": "/home/agent", "PATH": "/workspace/bin:/usr/bin"}
    assert PATHS.translate_environment(given_) == {
        "GIT_DIR": "/srv/mirror",
        "HOME": "/scratch/home",
        "PATH": "/srv/runs/1/ws/bin:/usr/bin",
    }


def test_without_mounts_nothing_is_replaced():
    command = SandboxCommand(("cat", "/workspace", ""))
    assert PathTranslation((), Path("/scratch")).translate_argv(command) == command.argv


@given(
    st.sampled_from(["/workspace", "/workspace/.git", "/git", "/q"]), st.text("ab/_", max_size=9)
)
def test_output_shows_what_was_written(target, rest):
    written = f"{target}/{rest}"
    assert PATHS.restore(PATHS.translate(written)) == written


def test_output_of_other_folders_stays():
    assert (
        PATHS.restore("/srv/runs/1/ws-other /srv/runs/12/ws")
        == "/srv/runs/1/ws-other /srv/runs/12/ws"
    )
    assert PATHS.restore("rootdir: /srv/runs/1/ws.") == "rootdir: /workspace."


@pytest.mark.parametrize(
    "path", ["/srv/my data", "/srv/$(id)", "/srv/a;b", "/srv/a'b", "/srv/a\nb"]
)
def test_a_path_that_a_shell_would_act_on_is_refused(path):
    with pytest.raises(ConfigError, match="FETTLE_DATA_DIR"):
        PathTranslation((Mount(Path(path), "/workspace"),), Path("/scratch"))


def test_mounts_within_mounts():
    ((mount, place),) = find_nested_mounts(MOUNTS)
    assert mount.target == "/workspace/.git"
    assert place == Path("/srv/runs/1/ws/.git")
