"""Fakes of the ports Source and WorkTree: commits and files in dicts."""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import json
from dataclasses import dataclass, field

from agents.errors import ToolError
from agents.ports import CommandResult, Merged, SetupResult


@dataclass
class MemoryHistory:
    """Commits and trees of a repository, in memory; what a mirror is on disk."""

    objects: dict = field(default_factory=dict)
    commits: dict = field(default_factory=dict)
    merges: dict = field(default_factory=dict)
    """The second parent of each commit that has one."""

    def tree(self, files):
        key = hashlib.sha1(json.dumps(files, sort_keys=True).encode()).hexdigest()
        self.objects[key] = dict(files)
        return key

    def commit(self, tree, parent, message, merging=""):
        key = hashlib.sha1(f"{tree}{parent}{merging}{message}".encode()).hexdigest()
        self.commits[key] = (tree, parent, message)
        if merging:
            self.merges[key] = merging
        return key

    def ancestors(self, commit):
        """Return the commit and all that it is built on, the nearest first."""
        found = [commit]
        for each in found:
            parents = (self.commits[each][1], self.merges.get(each))
            found += [parent for parent in parents if parent and parent not in found]
        return found

    def fork(self, one, other):
        theirs = set(self.ancestors(other))
        return next(commit for commit in self.ancestors(one) if commit in theirs)

    def files(self, revision):
        tree = self.commits[revision][0] if revision in self.commits else revision
        return self.objects[tree]


def _patch(path, old, new, context):
    """Return the change of one file as git shows it."""
    head = f"diff --git a/{path} b/{path}\n"
    if old is None:
        head += "new file mode 100644\n"
    if new is None:
        head += "deleted file mode 100644\n"
    lines = difflib.unified_diff(
        (old or "").splitlines(),
        (new or "").splitlines(),
        "/dev/null" if old is None else f"a/{path}",
        "/dev/null" if new is None else f"b/{path}",
        n=context,
        lineterm="",
    )
    return head + "".join(f"{line}\n" for line in lines)


@dataclass
class MemoryTree:
    """The port WorkTree over History. `commands` maps a command's text to what it does."""

    history: MemoryHistory
    files: dict
    commands: dict = field(default_factory=dict)
    ran: list = field(default_factory=list)
    installs: list = field(default_factory=list)
    """The commands that could read from package indexes."""
    permitted: list = field(default_factory=list)
    """The protected paths that each commit was let touch, each with what people said yes to."""
    set_up_for: str = ""
    """The commit whose dependencies its commands see."""
    moved_actions: list = field(default_factory=list)
    """The actions whose uses code has moved in a commit, and nothing else."""

    async def read(self, path, *, limit=1_000_000):
        if path not in self.files:
            raise ToolError(f"{path} does not exist")
        return self.files[path].encode()

    async def write(self, path, data):
        self.files[path] = data.decode()

    async def run(self, argv, *, timeout, writable=True, max_output=64_000, network="none"):
        self.ran.append(argv[-1])
        if network != "none":
            self.installs.append(argv[-1])
        done = self.commands.get(argv[-1], (0, ""))
        if callable(done):
            done = done(self.files)
        if asyncio.iscoroutine(done):
            done = await done
        said, why = done[1], done[2] if len(done) > 2 else "exit"
        return CommandResult(done[0], why, said, 0.01)

    async def ask(self, argv, *, timeout, kits=(), max_output=64_000, shared_home=""):
        return await self.run(argv, timeout=timeout)

    async def converse(self, argv, line, *, timeout, kits=()):
        return None  # nothing stays here

    async def use_set_up(self, commit):
        self.set_up_for = commit

    async def list_install_commands(self):
        return self.installs

    async def snapshot(self):
        return self.history.tree(
            {path: text for path, text in self.files.items() if not path.startswith("ignored/")}
        )

    async def restore(self, tree, *, pristine=False):
        kept = {} if pristine else {p: t for p, t in self.files.items() if p.startswith("ignored/")}
        self.files.clear()
        self.files.update(self.history.files(tree), **kept)

    async def commit(
        self,
        tree,
        parent,
        message,
        *,
        permitted=None,
        merging="",
        proposes_policy=False,
        moves_action="",
    ):
        self.moved_actions += [moves_action] if moves_action else []
        trees = (permitted or {}).items()
        self.permitted.append({p: self.history.files(at).get(p) for p, at in trees})
        return self.history.commit(tree, parent, message, merging)

    async def diff(self, old, new, *, context=3):
        before, after = self.history.files(old), self.history.files(new)
        return "".join(
            _patch(path, before.get(path), after.get(path), context)
            for path in await self.list_changed_paths(old, new)
        )

    async def list_changed_paths(self, old, new):
        before, after = self.history.files(old), self.history.files(new)
        return sorted(p for p in before.keys() | after if before.get(p) != after.get(p))

    async def show(self, revision, path):
        text = self.history.files(revision).get(path)
        return None if text is None else text.encode()


@dataclass
class MemorySource:
    """The port Source over History."""

    history: MemoryHistory
    base: str
    commands: dict = field(default_factory=dict)
    opened: list = field(default_factory=list)
    bases: list = field(default_factory=list)
    """The commits that they were opened for."""
    branches: dict = field(default_factory=dict)
    pulls: dict = field(default_factory=dict)
    """The heads of pull requests of forks, by their numbers."""
    fork: str = ""
    installed: SetupResult = field(
        default_factory=lambda: SetupResult(source="found in the repository's files")
    )
    by_commands: dict = field(default_factory=dict)
    """What comes of the policy's own set-up commands."""
    set_up_by: tuple = ()
    """The commands that made what the newest work tree is given."""
    tried: list = field(default_factory=list)
    """The policy's set-up commands that were run, in order."""
    set_up_before: set = field(default_factory=set)
    own_set_ups: list = field(default_factory=list)
    """The run's own commits that were set up."""
    own_installed: SetupResult = None
    """What comes of that; None: the same as of any other."""
    images: dict = field(default_factory=dict)
    """The ids of the images that are here, by their names."""
    wanted: list = field(default_factory=list)
    """The images that were asked for."""
    used: list = field(default_factory=list)
    """What each set-up was run in, and each work tree opened in."""

    async def fetch(self):
        return self.base

    async def show(self, revision, path):
        text = self.history.files(revision).get(path)
        return None if text is None else text.encode()

    async def files(self, revision):
        return sorted(self.history.files(revision))

    async def mentions(self, revision, text):
        return any(text in each for each in self.history.files(revision).values())

    async def branch(self, name):
        return self.branches.get(name)

    async def pull(self, number):
        return self.pulls.get(number)

    async def merge(self, ours, theirs, *, base=""):
        """Merge as git does, but by whole files: two changes of one file contradict each other."""
        fork = base or self.history.fork(ours, theirs)
        old, one, other = map(self.history.files, (fork, ours, theirs))
        files, conflicts = {}, []
        for path in sorted({*old, *one, *other}):
            before, mine, yours = old.get(path), one.get(path), other.get(path)
            chosen = yours if mine == before else mine
            if before not in (mine, yours) and mine != yours:
                conflicts.append(path)
                marked = f"<<<<<<< {ours}\n{mine}=======\n{yours}>>>>>>> {theirs}\n"
                chosen = (mine or yours) if None in (mine, yours) else marked
            if chosen is not None:
                files[path] = chosen
        return Merged(tree=self.history.tree(files), conflicts=tuple(conflicts))

    async def overlay(self, old, new, paths):
        files, others = dict(self.history.files(old)), self.history.files(new)
        for path in paths:
            files.pop(path, None)
            if path in others:
                files[path] = others[path]
        return self.history.tree(files)

    async def parents(self, commit):
        history = self.history
        return tuple(filter(None, (history.commits[commit][1], history.merges.get(commit))))

    async def message(self, commit):
        return self.history.commits[commit][2]

    async def fork_point(self, one, other):
        return self.fork or self.history.fork(one, other)

    async def commits(self, base, head):
        known = set(self.history.ancestors(base))
        new = [commit for commit in self.history.ancestors(head) if commit not in known]
        subjects = {commit: self.history.commits[commit][2].splitlines()[0] for commit in new}
        return [(commit, subjects[commit]) for commit in reversed(new)]

    async def find_image(self, wanted):
        self.wanted.append(wanted)
        known = self.images.get(wanted.image)
        return wanted.model_copy(update={"id": known} if known else {"why_not": "it is not here"})

    async def set_up(self, base, policy, image=None, *, own=False):
        self.used.append(image)
        if own:
            self.own_set_ups.append(base)
            return self.own_installed or self.installed
        if policy.setup.run is not None:
            self.tried.append(policy.setup.run)
            return self.by_commands.get(policy.setup.run, self.installed)
        known = base in self.set_up_before
        assert known or base not in self.bases, "the agent's files were there before"
        self.set_up_before.add(base)
        return self.installed

    async def open(self, base, policy, image=None):
        self.used.append(image)
        self.set_up_by = policy.setup.run or ()
        files = dict(self.history.files(base))
        tree = MemoryTree(self.history, files, self.commands, set_up_for=base)
        self.bases.append(base)
        self.opened.append(tree)
        return tree
