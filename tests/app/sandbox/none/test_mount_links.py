"""A mount within a mount becomes a link, whatever an agent put in its place."""

from pathlib import Path

import pytest

from agents.errors import RunError
from app.sandbox.none.mount_links import link_nested
from app.sandbox.port import Mount

OWNER = (58996, 58996)


@pytest.fixture
def mounts(tmp_path):
    for name in ("ws", "agent.git", "elsewhere"):
        (tmp_path / name).mkdir()
    return (
        Mount(tmp_path / "ws", "/workspace", writable=True),
        Mount(tmp_path / "agent.git", "/workspace/.git", writable=True),
    )


def empty(ws):
    (ws / ".git").mkdir()


def wrong(ws):
    (ws / ".git").symlink_to(ws.parent / "elsewhere")


@pytest.mark.parametrize("before", [lambda ws: None, empty, wrong])
def test_the_link_is_made(mounts, tmp_path, before):
    before(tmp_path / "ws")
    link_nested(mounts, OWNER)
    link_nested(mounts, OWNER)
    assert (tmp_path / "ws/.git").readlink() == tmp_path / "agent.git"


def a_file(ws):
    (ws / ".git").write_text("gitdir: x")


def a_full_folder(ws):
    (ws / ".git/x").mkdir(parents=True)


@pytest.mark.parametrize("before", [a_file, a_full_folder])
def test_what_an_agent_made_is_not_removed(mounts, tmp_path, before):
    before(tmp_path / "ws")
    with pytest.raises(RunError, match=r"/workspace/\.git"):
        link_nested(mounts, OWNER)


def test_no_link_on_the_way_is_followed(tmp_path, mounts):
    (tmp_path / "ws/deep").symlink_to(tmp_path / "elsewhere")
    inner = Mount(tmp_path / "agent.git", "/workspace/deep/below/it")
    with pytest.raises(RunError):
        link_nested((mounts[0], inner), OWNER)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_folders_on_the_way_are_made(tmp_path, mounts):
    inner = Mount(tmp_path / "agent.git", "/workspace/deep/below/it")
    link_nested((mounts[0], inner), OWNER)
    assert (tmp_path / "ws/deep/below/it").readlink() == Path(tmp_path / "agent.git")
