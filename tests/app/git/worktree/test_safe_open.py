"""Reading and writing an agent's files never leaves its tree."""

import os
import stat
from pathlib import Path

import pytest

from agents.errors import ToolError
from app.git.worktree.safe_open import is_absent, make_folder, read_file, take_out, write_file

US = (os.geteuid(), os.getegid())


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("A = 1\n")
    (root / "folder").mkdir()
    (tmp_path / "secret").write_text("secret")
    (root / "link").symlink_to("../secret")
    (root / "absolute").symlink_to(tmp_path / "secret")
    (root / "through").symlink_to("..")
    (root / "inner").symlink_to("src/a.py")
    (root / "magic").symlink_to("/proc/self/root")
    os.mkfifo(root / "fifo")
    return root


ESCAPES = [
    "link",
    "absolute",
    "through/secret",
    "through/tree/src/a.py",
    "../secret",
    "src/../../secret",
    "/etc/passwd",
    "magic/etc/passwd",
    "inner",
    "fifo",
    "folder",
    "",
    ".",
    "src//a.py",
    "src/a.py/x",
    ".git/config",
    ".GIT/config",
    "src/.git/hooks/x",
    "a\0b",
]


@pytest.mark.parametrize("path", [*ESCAPES, "nosuch", "no/such"])
def test_read_refuses(tree, path):
    with pytest.raises(ToolError):
        read_file(tree, path, 1000)


@pytest.mark.parametrize("path", ESCAPES)
def test_write_refuses(tree, path):
    with pytest.raises(ToolError):
        write_file(tree, path, b"owned", US)
    assert (tree.parent / "secret").read_text() == "secret"
    assert (tree / "src" / "a.py").read_text() == "A = 1\n"
    assert not list(tree.rglob(".fettle-*"))


def test_read(tree):
    assert read_file(tree, "src/a.py", 6) == b"A = 1\n"
    with pytest.raises(ToolError, match="more than 5"):
        read_file(tree, "src/a.py", 5)


def test_a_file_that_lies_about_its_size_stays_within_the_limit():
    """Files of /proc say that they are empty."""
    with pytest.raises(ToolError, match="more than 10"):
        read_file(Path("/proc", str(os.getpid())), "status", 10)


def test_write_makes_folders_and_keeps_the_mode(tree):
    write_file(tree, "new/deep/file.sh", b"1", US)
    path = tree / "new" / "deep" / "file.sh"
    assert path.read_bytes() == b"1"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    path.chmod(0o755)
    write_file(tree, "new/deep/file.sh", b"2", US)
    assert path.read_bytes() == b"2"
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


def test_write_never_keeps_setuid(tree):
    (tree / "src" / "a.py").chmod(0o4755)
    write_file(tree, "src/a.py", b"x", US)
    assert stat.S_IMODE((tree / "src" / "a.py").stat().st_mode) == 0o755


def test_write_replaces_a_hard_link_instead_of_writing_through_it(tree):
    outside = tree.parent / "outside"
    outside.write_text("theirs")
    os.link(outside, tree / "hard")
    write_file(tree, "hard", b"ours", US)
    assert outside.read_text() == "theirs"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, which may give files away")
def test_what_is_written_belongs_to_the_sandboxs_user(tree):
    write_file(tree, "x/y/z", b"1", (58999, 58999))
    for path in ("x", "x/y", "x/y/z"):
        assert (tree / path).stat().st_uid == 58999


@pytest.mark.parametrize(
    "path", ["through/new", "through", "link", "src/a.py", "src/a.py/new", "../new", ".git/new"]
)
def test_no_folder_is_made_through_a_link_or_over_something_else(tree, path):
    with pytest.raises(ToolError):
        make_folder(tree, path, US)

    assert sorted(path.name for path in tree.parent.iterdir()) == ["secret", "tree"]


def test_a_folder_is_made_with_those_above_it_and_may_be_there(tree):
    make_folder(tree, "a/b/c", US)
    make_folder(tree, "a/b/c", US)

    assert (tree / "a" / "b" / "c").is_dir()


def test_absent_is_what_no_folder_of_ours_holds(tree):
    assert is_absent(tree, "x")
    assert is_absent(tree, "no/such/folder")
    assert not is_absent(tree, "link")
    assert not is_absent(tree, "src/a.py")
    with pytest.raises(ToolError):
        is_absent(tree, "through/secret")


def test_what_is_taken_out_is_moved_as_it_is_and_never_followed(tree, tmp_path):
    mode = take_out(tree, "absolute", tmp_path / "taken")

    assert stat.S_ISLNK(mode)
    assert (tmp_path / "taken").is_symlink()
    for path in ("through/secret", "../secret", "absolute", "no/such"):
        with pytest.raises(ToolError):
            take_out(tree, path, tmp_path / "other")
    assert (tmp_path / "secret").read_text() == "secret"
