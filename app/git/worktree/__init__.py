"""The disposable files of one run: read, changed in the sandbox, and recorded."""

from __future__ import annotations

from app.git.worktree.installed_dependencies import (
    CommandMounts,
    DependencyCopy,
    DependencyInstaller,
    LentTools,
)
from app.git.worktree.run_folders import built_for, lay_out, remove_tree
from app.git.worktree.run_repository import GitSource
from app.git.worktree.safe_open import (
    NoSuchPath,
    is_absent,
    make_folder,
    open_file,
    read_file,
    take_out,
    write_file,
)
from app.git.worktree.untrusted_git import RunFolders
from app.git.worktree.worktree import GitWorkTree, open_work_tree

__all__ = [
    "CommandMounts",
    "DependencyCopy",
    "DependencyInstaller",
    "GitSource",
    "GitWorkTree",
    "LentTools",
    "NoSuchPath",
    "RunFolders",
    "built_for",
    "is_absent",
    "lay_out",
    "make_folder",
    "open_file",
    "open_work_tree",
    "read_file",
    "remove_tree",
    "take_out",
    "write_file",
]
