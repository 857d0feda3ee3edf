"""Read and write one bare repository through the git program, in a clean environment."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cachetools import LRUCache

ZERO = "0" * 40
_ID = re.compile(r"[0-9a-f]{40}")
COMMIT_FORMAT = "%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B%x1e"

SERVED = """\
[core]
	repositoryformatversion = 0
	bare = true
[http]
	receivepack = true
[uploadpack]
	allowFilter = true
	allowAnySHA1InWant = true
[receive]
	autogc = false
[gc]
	auto = 0
"""
"""What lets others push, and fetch parts; `git config` would take a process for each line."""

SIGNATURE = "-----BEGIN PGP SIGNATURE-----\n\nof the local GitHub\n-----END PGP SIGNATURE-----"
"""Nobody's key made it: who made a commit, this GitHub remembers by its id."""


_lasting: LRUCache[tuple[Path, tuple[str, ...]], bytes] = LRUCache(2**24, getsizeof=len)
"""What git said of whole ids, which never changes; in bytes."""


class GitFailed(Exception):
    """Git ended with an error; the text is what it said."""


@dataclass(frozen=True)
class Signature:
    """Who made a commit and when."""

    name: str
    email: str
    date: str


@dataclass(frozen=True)
class Commit:
    """One commit as git keeps it."""

    sha: str
    tree: str
    parents: list[str]
    author: Signature
    committer: Signature
    message: str

    @property
    def title(self) -> str:
        """Return the first line."""
        return self.message.partition("\n")[0]


@dataclass(frozen=True)
class TreeEntry:
    """A file or folder of a commit."""

    mode: str
    kind: str
    sha: str
    size: int | None
    path: str


def git_environment(gitdir: Path) -> dict[str, str]:
    """Return all that git may know of this machine."""
    return {
        "PATH": os.defpath,
        "HOME": str(gitdir),
        "LC_ALL": "C.UTF-8",
        "GIT_DIR": str(gitdir),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
    }


class GitDir:
    """One bare repository."""

    def __init__(self, path: Path) -> None:
        self.path = path

    async def run(
        self, *args: str, stdin: bytes = b"", extra: Mapping[str, str] | None = None
    ) -> bytes:
        """Run git, return its output; GitFailed with what it said."""
        process = await asyncio.create_subprocess_exec(
            "git",
            "-c",
            "core.quotePath=false",
            *args,
            env=git_environment(self.path) | dict(extra or {}),
            cwd=self.path,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate(stdin)
        if process.returncode:
            raise GitFailed(err.decode(errors="replace").strip())
        return out

    async def text(self, *args: str) -> str:
        """Run git, return its output as text without the last line break."""
        return _text(await self.run(*args))

    async def ask(self, ids: Sequence[str], *args: str) -> bytes:
        """Return what git says: of whole ids alone, and nothing else that moves, it is asked once.

        `ids` are all the revisions among `args`.
        """
        if not all(map(_ID.fullmatch, ids)):
            return await self.run(*args)
        if (self.path, args) not in _lasting:
            said = await self.run(*args)
            if len(said) > _lasting.maxsize // 16:
                return said
            _lasting[self.path, args] = said
        return _lasting[self.path, args]

    async def create(self, default_branch: str) -> None:
        """Make the repository on disk, as `git init` would.

        https://git-scm.com/docs/gitrepository-layout
        """
        for folder in ("objects", "refs/heads"):
            (self.path / folder).mkdir(parents=True)
        (self.path / "HEAD").write_text(f"ref: refs/heads/{default_branch}\n", encoding="utf-8")
        (self.path / "config").write_text(SERVED, encoding="utf-8")

    async def refs(self, prefix: str = "refs/heads/") -> dict[str, str]:
        """Return sha by full ref name, in their order, from the files that git keeps them in.

        https://git-scm.com/docs/gitrepository-layout
        """
        found = _loose_refs(self.path)
        packed = self.path / "packed-refs"  # read later: git writes it before it takes away others
        lines = packed.read_text("utf-8").splitlines() if packed.exists() else []
        pairs = [line.split(" ", 1) for line in lines if line[0] not in "#^"]
        found = {name: sha for sha, name in pairs} | found
        return {name: found[name] for name in sorted(found) if name.startswith(prefix)}

    async def commits_of(self, prefix: str) -> dict[str, str]:
        """Return the commit of each ref, also of those that lead to it by a tag of its own."""
        lines = (await self.text("ls-remote", "--quiet", ".", f"{prefix}*")).splitlines()
        pairs = [line.split("\t") for line in lines]  # what a tag leads to comes after it
        return {ref.removesuffix("^{}"): sha for sha, ref in pairs}

    async def resolve(self, revision: str) -> str | None:
        """Return the commit that a sha, branch or ref names; a branch wins over other readings."""
        branch = f"refs/heads/{revision}"
        if found := (await self.refs(branch)).get(branch):
            return found
        flags = ("--verify", "--quiet", "--end-of-options")
        try:
            return _text(await self.ask([revision], "rev-parse", *flags, f"{revision}^{{commit}}"))
        except GitFailed:
            return None

    async def update_ref(self, ref: str, sha: str) -> None:
        """Point a ref at a commit, or delete it when sha is all zeros."""
        if sha == ZERO:
            await self.run("update-ref", "-d", "--end-of-options", ref)
        else:
            await self.run("update-ref", "--end-of-options", ref, sha)

    async def merge_base(self, base: str, head: str) -> str | None:
        """Return where two histories part, or None when they never met."""
        try:
            return _text(await self.ask([base, head], "merge-base", base, head))
        except GitFailed:
            return None

    async def merged_tree(self, base: str, head: str) -> str | None:
        """Return the tree that merging makes, or None for a conflict."""
        try:
            return _text(await self.ask([base, head], "merge-tree", "--write-tree", base, head))
        except GitFailed:
            return None

    async def fetch(self, source: Path, sha: str, ref: str) -> None:
        """Take a commit over from another repository of this GitHub, under a ref."""
        await self.run("fetch", "--quiet", "--no-tags", str(source), f"+{sha}:{ref}")

    async def copy_from(self, source: Path, default_branch: str) -> None:
        """Make the repository on disk with all branches of another one."""
        await self.create(default_branch)
        await self.run("fetch", "--quiet", str(source), "+refs/heads/*:refs/heads/*")

    async def commits(self, *revisions: str, limit: int = 250) -> list[Commit]:
        """Return commits, newest first; revisions as for `git log`."""
        how = (f"--format={COMMIT_FORMAT}", f"--max-count={limit}")
        log = await self.ask(revisions, "log", *how, *revisions, "--")
        records = log.decode(errors="replace").split("\x1e")
        return [_commit(record.lstrip("\n")) for record in records if record.strip()]

    async def entries(self, revision: str, path: str) -> list[TreeEntry]:
        """Return what a path of a commit is: itself, or with a trailing `/` what it holds."""
        within = ("--", path) if path else ()
        args = ("ls-tree", "-z", "--long", "--full-tree", revision, *within)
        out = (await self.ask([revision], *args)).decode()
        return [_entry(record) for record in out.split("\0") if record]

    async def kinds_of(self, shas: Sequence[str]) -> list[str]:
        """Return what kind of object each whole id names; empty where there is none."""
        asked = "\n".join(sha if _ID.fullmatch(sha) else ZERO for sha in shas)
        out = await self.run("cat-file", "--batch-check=%(objecttype)", stdin=asked.encode())
        return [line if " " not in line else "" for line in out.decode().splitlines()]

    async def tree_of(self, commit: str) -> str:
        """Return the id of a commit's whole tree."""
        return _text(await self.ask([commit], "rev-parse", "--verify", f"{commit}^{{tree}}"))

    async def blob(self, sha: str) -> bytes:
        """Return a file's bytes."""
        return await self.ask([sha], "cat-file", "blob", sha)

    async def diff(self, old: str, new: str, *more: str) -> str:
        """Return the unified diff."""
        flags = ("--no-color", "--no-ext-diff", "--no-textconv", "--find-renames", "--full-index")
        return _text(await self.ask([old, new], "diff", *flags, *more, old, new, "--"))

    async def empty_tree(self) -> str:
        """Return the id of the tree without files."""
        return (await self.run("hash-object", "-w", "-t", "tree", "--stdin")).decode().strip()

    async def commit_tree(
        self,
        tree: str,
        parents: Sequence[str],
        message: str,
        author: Signature,
    ) -> str:
        """Make a commit that its author has committed; return its id."""
        identity = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in (
                ("NAME", author.name),
                ("EMAIL", author.email),
                ("DATE", author.date),
            )
        }
        parent_args = [arg for parent in parents for arg in ("-p", parent)]
        out = await self.run(
            "commit-tree", tree, *parent_args, stdin=message.encode(), extra=identity
        )
        return out.decode().strip()

    async def signed_commit(
        self, tree: str, parents: Sequence[str], message: str, people: tuple[Signature, Signature]
    ) -> str:
        """Make a commit that has a signature in its head; return its id.

        https://git-scm.com/docs/signature-format
        """
        author, committer = (
            f"{each.name} <{each.email}> {_git_time(each.date)}" for each in people
        )
        lines = [f"tree {tree}", *(f"parent {each}" for each in parents), f"author {author}"]
        lines += [f"committer {committer}", "gpgsig " + SIGNATURE.replace("\n", "\n "), "", message]
        whole = "\n".join(lines).encode()
        out = await self.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=whole)
        return out.decode().strip()

    async def commit_files(
        self,
        branch: str,
        parent: str | None,
        files: Mapping[str, bytes | None],
        message: str,
        people: tuple[Signature, Signature],
    ) -> str:
        """Commit these files on top of `parent`, or remove those that are None; return the id.

        `people` are author and committer. One process does it all, and moves the branch.
        https://git-scm.com/docs/git-fast-import
        """
        head = [f"commit refs/heads/{branch}\nmark :1\n".encode()]
        head += [
            f"{role} {who.name} <{who.email}> {_git_time(who.date)}\n".encode()
            for role, who in zip(("author", "committer"), people, strict=True)
        ]
        head += [_data(message.encode()), f"from {parent}\n".encode() if parent else b""]
        changes = [
            b"D %s\n" % _quote(path) if data is None else _file(path, data)
            for path, data in files.items()
        ]
        stream = b"".join([*head, *changes, b"get-mark :1\ndone\n"])
        flags = ("--quiet", "--force", "--done")
        packed = ("-c", "fastimport.unpackLimit=0")
        return (await self.run(*packed, "fast-import", *flags, stdin=stream)).decode().strip()

    async def tree_of_folder(self, folder: Path) -> str:
        """Store every file of a folder; return the tree id."""
        with tempfile.TemporaryDirectory() as scratch:
            extra = {"GIT_INDEX_FILE": f"{scratch}/index", "GIT_WORK_TREE": "."}
            place = _absolute(folder)
            await self.run("-C", place, "add", "--all", "--force", ".", extra=extra)
            return (await self.run("write-tree", extra=extra)).decode().strip()


def _text(output: bytes) -> str:
    return output.decode(errors="replace").rstrip("\n")


def _loose_refs(gitdir: Path) -> dict[str, str]:
    """Return the refs that are a file each."""
    found = {}
    for file in (gitdir / "refs").rglob("*"):
        try:
            said = file.read_text("utf-8").strip()
        except (FileNotFoundError, IsADirectoryError):  # a folder, or gone meanwhile
            continue
        if _ID.fullmatch(said) and file.suffix != ".lock":
            found[file.relative_to(gitdir).as_posix()] = said
    return found


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def _file(path: str, data: bytes) -> bytes:
    return b"M 100644 inline %s\n%s" % (_quote(path), _data(data))


def _quote(path: str) -> bytes:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'.encode()


def _git_time(date: str) -> str:
    """Return a date as git stores it: seconds, and the zone."""
    at = datetime.fromisoformat(date)
    return f"{int(at.timestamp())} {at.strftime('%z')}"


def signature(name: str, email: str, at: datetime) -> Signature:
    """Return the signature of somebody at a time."""
    return Signature(name, email, at.isoformat())


def _absolute(folder: Path) -> str:
    return str(folder.resolve())


def _commit(record: str) -> Commit:
    sha, tree, parents, *people, message = record.split("\0")
    return Commit(
        sha=sha,
        tree=tree,
        parents=parents.split(),
        author=Signature(*people[:3]),
        committer=Signature(*people[3:]),
        message=message.rstrip("\n"),
    )


def _entry(record: str) -> TreeEntry:
    meta, path = record.split("\t", 1)
    mode, kind, sha, size = meta.split()
    return TreeEntry(mode, kind, sha, None if size == "-" else int(size), path)
