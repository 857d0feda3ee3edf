"""Read commits, trees and files of a bare repository with git's plumbing commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.errors import RunError
from app.git.errors import GitFailed
from app.git.git_runner import Git
from app.git.ref_names import is_object_id, object_id, require_revision

KEPT_ANSWERS, KEPT_BYTES = 64, 65_536
"""So many answers about a repository are kept, each of so many bytes at most."""
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none")


@dataclass(frozen=True)
class TreeChange:
    """One path that differs between two trees; modes are git's octal text, 000000 is absent."""

    old_mode: str
    mode: str
    oid: str
    path: str


@dataclass(frozen=True)
class CommitParts:
    """What a commit is made of."""

    tree: str
    parents: tuple[str, ...]
    author: str
    """As git writes it: `Name <email> seconds zone`."""
    message: str
    signed: bool


class GitObjects:
    """The objects of one repository, read-only."""

    def __init__(self, git: Git) -> None:
        self.git = git
        self._answers: dict[tuple[str, ...], bytes] = {}

    async def _ask(self, *how: str, names: Sequence[str]) -> bytes:
        """Ask git what lies in trees or commits: stages ask the same, and an id names one thing.

        What a ref names changes, so a question with one is asked each time.
        """
        asked = (*how, *map(require_revision, names))
        if (known := self._answers.get(asked)) is not None:
            return known
        answer = await self.git.local(*asked)
        if len(answer) <= KEPT_BYTES and all(map(is_object_id, names)):
            self._answers[asked] = answer
            if len(self._answers) > KEPT_ANSWERS:
                del self._answers[next(iter(self._answers))]
        return answer

    async def resolve(self, name: str) -> str | None:
        """Return the object id that an id or full ref names, or None."""
        try:
            found = await self.git.local(
                "rev-parse", "--verify", "--quiet", f"{require_revision(name)}^{{}}"
            )
        except GitFailed:
            return None
        return found.decode().strip()

    async def tree_of(self, commit: str) -> str:
        """Return the id of the commit's tree. Raises GitFailed where there is no such commit."""
        found = await self.git.local("rev-parse", "--verify", f"{object_id(commit)}^{{tree}}")
        return found.decode().strip()

    async def holds(self, oid: str) -> bool:
        """Tell whether the object is here."""
        try:
            await self.git.local("cat-file", "-e", object_id(oid))
        except GitFailed:
            return False
        return True

    async def continues(self, commit: str, earlier: str) -> bool:
        """Tell whether `commit` is `earlier` or a descendant of it; the mirror must have both."""
        if not (await self.holds(earlier) and await self.holds(commit)):
            return False
        try:
            await self.git.local(
                "merge-base", "--is-ancestor", object_id(earlier), object_id(commit)
            )
        except GitFailed as error:
            if error.code != 1:
                raise
            return False
        return True

    async def fork_point(self, one: str, other: str) -> str:
        """Return the merge base of two commits. Raises RunError when there is none.

        https://git-scm.com/docs/git-merge-base
        """
        try:
            found = await self.git.local("merge-base", object_id(one), object_id(other))
        except GitFailed as error:
            if error.code != 1:
                raise
            raise RunError(
                f"{one[:12]} and {other[:12]} have no commit in common: the one is not built on the"
                f" history of the other, so no change between them can be named. Start a new branch"
                f" from the default branch, then ask again."
            ) from error
        return found.decode().strip()

    async def show(self, name: str, path: str) -> bytes | None:
        """Return a file of a commit or tree, or None when there is no such file."""
        if not path or "\n" in path or ".." in path.split("/"):
            return None
        asked = f"{require_revision(name)}:{path}\n".encode()
        answer = await self.git.local("cat-file", "--batch", stdin=asked)
        head, _, rest = answer.partition(b"\n")
        fields = head.rsplit(b" ", 2)
        if len(fields) != 3 or fields[1] != b"blob":
            return None
        return rest[: int(fields[2])]

    async def paths(self, name: str) -> list[str]:
        """Return the paths of all files of a commit or tree."""
        how = ("ls-tree", "-r", "-z", "--name-only", "--full-tree")
        listed = await self._ask(*how, names=[name])
        return listed.decode("utf-8", "surrogateescape").split("\0")[:-1]

    async def blobs(self, name: str) -> dict[str, str]:
        """Return the object id of each file of a commit or tree, by its path."""
        listed = await self._ask("ls-tree", "-r", "-z", "--full-tree", names=[name])
        entries = listed.decode("utf-8", "surrogateescape").split("\0")[:-1]
        parts = (entry.partition("\t") for entry in entries)
        return {path: about.rsplit(" ", 1)[1] for about, _, path in parts}

    async def links(self, name: str) -> dict[str, str]:
        """Return the object id of each symbolic link of a commit or tree, by its path."""
        listed = await self._ask("ls-tree", "-r", "-z", "--full-tree", names=[name])
        entries = listed.decode("utf-8", "surrogateescape").split("\0")[:-1]
        parts = (entry.partition("\t") for entry in entries)
        return {
            path: about.rsplit(" ", 1)[1] for about, _, path in parts if about.startswith("120000")
        }

    async def mentions(self, name: str, text: str) -> bool:
        """Tell whether any text file of a commit or tree holds these words."""
        words = ("grep", "-q", "-I", "-F", "--no-textconv", "-e", text)
        try:
            await self.git.local(*words, require_revision(name), "--")
        except GitFailed as error:
            if error.code != 1:
                raise
            return False
        return True

    async def message(self, commit: str) -> str:
        """Return the whole message of a commit."""
        whole = await self._ask("cat-file", "commit", names=[object_id(commit)])
        return whole.partition(b"\n\n")[2].decode("utf-8", "replace")

    async def parts_of(self, commit: str) -> CommitParts:
        """Return what the commit is made of."""
        whole = await self._ask("cat-file", "commit", names=[object_id(commit)])
        head, _, message = whole.decode("utf-8", "replace").partition("\n\n")
        fields = [line.partition(" ")[::2] for line in head.split("\n")]
        return CommitParts(
            tree=dict(fields)["tree"],
            parents=tuple(value for name, value in fields if name == "parent"),
            author=dict(fields)["author"],
            message=message,
            signed=any(name.startswith("gpgsig") for name, _ in fields),
        )

    async def list_commits(self, head: str, *beyond: str) -> list[str]:
        """Return the ids of the commits that lead to `head` alone, parents first."""
        without = (f"^{object_id(each)}" for each in beyond)
        how = ("rev-list", "--reverse", "--topo-order", object_id(head))
        return (await self.git.local(*how, *without)).decode().split()

    async def log(self, base: str, head: str) -> list[tuple[str, str]]:
        """Return id and subject of the commits after `base` up to `head`, oldest first."""
        listed = await self.git.local(
            "rev-list",
            "--reverse",
            "--no-commit-header",
            "--format=%H%x09%s",
            object_id(head),
            f"^{object_id(base)}",
        )
        lines = [line.partition("\t") for line in listed.decode("utf-8", "replace").split("\n")]
        return [(commit, subject) for commit, _, subject in lines if commit]

    async def diff(self, old: str, new: str, *, context: int = 3) -> str:
        """Return the unified diff between two commits or trees."""
        kind = ("-p", "-r", "--find-renames", f"--unified={int(context)}", *_PLAIN)
        text = await self._ask("diff-tree", *kind, "--end-of-options", names=[old, new])
        return text.decode("utf-8", "replace")

    async def changes(self, old: str, new: str) -> list[TreeChange]:
        """Return the differences of two commits or trees by path; renames count as two paths."""
        kind = ("-r", "-z", "--raw", "--no-renames", "--full-index", *_PLAIN)
        raw = await self._ask("diff-tree", *kind, "--end-of-options", names=[old, new])
        fields = raw.decode("utf-8", "surrogateescape").split("\0")[:-1]
        return [_change(fields[at], fields[at + 1]) for at in range(0, len(fields), 2)]

    async def list_changed_paths(self, old: str, new: str) -> list[str]:
        """Return the paths that differ between two commits or trees."""
        return [change.path for change in await self.changes(old, new)]

    async def sizes(self, oids: list[str]) -> list[int]:
        """Return the sizes of these objects, in bytes."""
        if not oids:
            return []
        asked = "\n".join(oids).encode() + b"\n"
        answer = await self.git.local(
            "cat-file", "--batch-check=%(objectsize)", "--buffer", stdin=asked
        )
        return [int(line) for line in answer.split()]

    async def blob(self, oid: str) -> bytes:
        """Return the bytes of a blob."""
        return await self._ask("cat-file", "blob", names=[object_id(oid)])

    async def require_checkout_size(self, tree: str, *, files: int, total: int) -> None:
        """Raise RunError when checking out this tree would fill the disk: a git bomb.

        `total` is in bytes; trees that share subtrees can describe far more files than they store.
        """
        try:
            listing = await self.git.local(
                "ls-tree", "-r", "-l", "-z", "--full-tree", require_revision(tree), timeout=60
            )
        except GitFailed:
            raise
        except RunError as error:
            raise RunError(f"The repository has too many files to check out: {error}") from error
        entries = listing.split(b"\0")[:-1]
        size = sum(_listed_size(entry) for entry in entries)
        if len(entries) > files or size > total:
            raise RunError(
                f"The repository has {len(entries)} files of {size / 1e6:.0f} MB together; Fettle "
                f"checks out at most {files} files of {total / 1e6:.0f} MB."
            )


def _change(meta: str, path: str) -> TreeChange:
    old_mode, mode, _, oid, _ = meta.removeprefix(":").split(" ")
    return TreeChange(old_mode, mode, oid, path)


def _listed_size(entry: bytes) -> int:
    size = entry.partition(b"\t")[0].split()[3]
    return 0 if size == b"-" else int(size)
