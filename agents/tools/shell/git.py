"""Which files and commits a git command changes or throws away, and what it sends or fetches.

The repository's `.git` in the sandbox is a throw-away, and what a run commits is taken from its
files. So commits made there are harmless; files that a command takes back are not.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from agents.tools.paths import ROOT
from agents.tools.shell.command import Command, could_be
from agents.tools.shell.options import (
    find_values,
    first_operand,
    has_option,
    list_operands,
    word_set,
)
from agents.tools.shell.places import is_build_output, is_one_file, is_scratch
from agents.tools.shell.variables import UNKNOWN

_GLOBAL = word_set(
    "-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env"
)
_ENDINGS = ("--abort", "--continue", "--quit", "--skip", "--show-current-patch", "--edit-todo")
_PUSHES = ("push", "send-pack", "send-email", "http-push", "request-pull", "imap-send")
_FETCHES = ("fetch", "pull", "clone", "ls-remote", "fetch-pack", "http-fetch", "svn", "p4")
_REWRITES = ("filter-branch", "filter-repo", "replace", "prune", "update-ref", "fast-import")
_SECRETS = ("credential", "credential-store", "credential-cache")


@dataclass(frozen=True)
class GitCommand:
    """One git command."""

    verb: str
    words: tuple[str, ...]
    """What follows the verb."""
    folder: str = ""
    """Where it is told to work."""
    settings: tuple[str, ...] = ()
    """What `-c` sets, lower case."""
    elsewhere: bool = False
    """It is told which repository, or which work tree, it is about."""

    @classmethod
    def parse(cls, command: Command) -> GitCommand:
        """Return the command without git's own options."""
        words = command.words[1:]
        at = first_operand(words, _GLOBAL)
        verb = words[at] if at < len(words) else ""
        if UNKNOWN in verb:
            verb = next((name for name in _SUBCOMMANDS if could_be(verb, name)), UNKNOWN)
        folder = next(find_values(words[:at], "-C"), "")
        settings = tuple(value.lower() for value in find_values(words[:at], "-c"))
        elsewhere = has_option(words[:at], "", "--git-dir", "--work-tree")
        return cls(verb, tuple(words[at + 1 :]), folder, settings, elsewhere)

    @property
    def operands(self) -> list[str]:
        """Return what is no option."""
        return list_operands(
            self.words, word_set("-m -b -B -s --source -n --depth --branch -o --format")
        )

    def rule(self, place: str = ROOT) -> str | None:
        """Return the id of the gate's rule that the command is under, or None.

        `place` is where it works: a repository in a scratch place may be treated as one likes.
        """
        return None if self._plays(place) else self._rule()

    def _plays(self, place: str) -> bool:
        """Return whether it is about a repository in a scratch place, and no other."""
        remote = "".join(self.operands[:1])
        if self.verb == "push" and is_scratch(remote):
            return True
        scratch = is_scratch(place) and not self.elsewhere
        sends = self.verb in ("push", "fetch", "pull")
        return scratch and ":" not in remote if sends else scratch and bool(self.loses())

    def _rule(self) -> str | None:
        if self.verb in _PUSHES or (self.verb == "lfs" and "push" in self.words):
            return "git/push"
        if self.verb == UNKNOWN or self.verb in _SECRETS:
            return "shell/unclear" if self.verb == UNKNOWN else "secrets/files"
        if self._fetches():
            return "network/submodules" if self.verb == "submodule" else "network/none"
        return self.loses()

    def changed_paths(self) -> Iterator[str]:
        """Yield the paths that the command writes."""
        if self.verb in ("checkout", "restore", "mv") and not self._makes_branch():
            yield from self._pathspec()

    def removed_paths(self) -> Iterator[str]:
        """Yield the paths that the command deletes."""
        if self.verb == "rm" and not has_option(self.words, "n", "--cached", "--dry-run"):
            yield from self._pathspec()

    def _pathspec(self) -> list[str]:
        given = self.operands
        if "--" in self.words:
            given = list(self.words[self.words.index("--") + 1 :])
        return [posixpath.join(self.folder, path) for path in given]

    def _makes_branch(self) -> bool:
        return self.verb == "checkout" and has_option(self.words, "b", "--orphan")

    def _fetches(self) -> bool:
        given = self.operands
        if self.verb in ("clone", "fetch", "pull", "ls-remote"):
            local = (".", "/", "file://")
            named_here = self.verb == "clone" and not set(given[:1] and given[0]) & {":", UNKNOWN}
            return not (given and (given[0].startswith(local) or named_here))
        if self.verb in ("remote", "submodule", "lfs"):
            verbs = {"remote": ("update", "prune"), "submodule": ("update", "add"),
                     "lfs": ("fetch", "pull")}  # fmt: skip
            return bool(given) and given[0] in verbs[self.verb]
        return self.verb in _FETCHES or (
            self.verb == "archive" and has_option(self.words, "", "--remote")
        )

    def loses(self) -> str | None:
        """Return the rule about work that the command would lose, in commits or in files."""
        rehearsed = self.verb == "prune" and has_option(self.words, "n", "--dry-run")
        if (self.verb in _REWRITES and not rehearsed) or (
            (rewrites := _REWRITING.get(self.verb)) and rewrites(self)
        ):
            return "git/rewrites"
        discards = _DISCARDING.get(self.verb)
        return "git/discards" if discards and discards(self) else None

    def is_forced(self) -> bool:
        """Return whether it is told to do it all the same."""
        return has_option(self.words, "f", "--force")

    def takes_back_all(self) -> bool:
        """Return whether more than files that are named one by one go back to a commit."""
        staged = has_option(self.words, "S", "--staged") and not has_option(
            self.words, "W", "--worktree"
        )
        given = self._pathspec()
        if self.verb == "checkout" and "--" not in self.words:
            given = [path for path in given if path in _ALL or path.endswith("/")] + given[1:]
        many = any(path in _ALL or not is_one_file(path) for path in given)
        return many and not self._makes_branch() and not (self.verb == "restore" and staged)


def _loses_branch(git: GitCommand) -> bool:
    words = git.words
    deleted = has_option(words, "D") or (has_option(words, "d", "--delete") and git.is_forced())
    return deleted or has_option(words, "MC") or (git.is_forced() and bool(git.operands))


def _cleans(git: GitCommand) -> bool:
    """Return whether untracked files go; `-X` takes only what is ignored, which is build output."""
    words = git.words
    told = git.is_forced() or has_option(words, "i", "--interactive")
    free = any(setting in _UNFORCED for setting in git.settings)
    made = bool(git.operands) and all(map(is_build_output, git.operands))
    return not made and not has_option(words, "nX", "--dry-run") and (told or free)


_UNFORCED = [f"clean.requireforce={no}" for no in ("false", "no", "off", "0")]
_ALL = (".", "./", "*", ":/", ":", ROOT)
_REWRITING: Mapping[str, Callable[[GitCommand], bool]] = {
    "rebase": lambda git: not any(word in _ENDINGS for word in git.words),
    "branch": _loses_branch,
    "checkout": lambda git: has_option(git.words, "B"),
    "switch": lambda git: has_option(git.words, "C", "--force-create"),
    "tag": lambda git: has_option(git.words, "df", "--delete", "--force"),
    "reflog": lambda git: git.words[:1] in (("expire",), ("delete",)),
    "gc": lambda git: has_option(git.words, "", "--prune", "--aggressive"),
    "symbolic-ref": lambda git: len(git.operands) > 1 or has_option(git.words, "d", "--delete"),
}
_DISCARDING: Mapping[str, Callable[[GitCommand], bool]] = {
    "reset": lambda git: (
        has_option(git.words, "", "--hard", "--merge", "--keep") or UNKNOWN in git.words
    ),
    "clean": _cleans,
    "checkout": lambda git: git.is_forced() or git.takes_back_all(),
    "restore": lambda git: git.takes_back_all(),
    "checkout-index": lambda git: git.is_forced(),
    "switch": lambda git: git.is_forced() or has_option(git.words, "", "--discard-changes"),
    "stash": lambda git: git.words[:1] in (("drop",), ("clear",)),
    "worktree": lambda git: (
        git.words[:1] == ("remove",)
        and git.is_forced()
        and not all(map(is_scratch, git.operands[1:]))
    ),
    "read-tree": lambda git: has_option(git.words, "u", "--reset"),
}
_SUBCOMMANDS = (*_PUSHES, *_FETCHES, *_REWRITES, *_SECRETS, *_REWRITING, *_DISCARDING,
                "remote", "submodule", "lfs", "archive", "rm", "mv")  # fmt: skip
