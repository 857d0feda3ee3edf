"""Suggestions applied in a real work tree: bytes, modes, links, and the commits that git has."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from agents.loop.budget import RunLimits
from agents.pipelines.address.suggestions.apply_suggestions import apply_suggestions
from agents.ports import Feedback, Thread, ThreadComment
from agents.requests import Person
from agents.run import Run, RunPorts, StageContext
from tests.app.git.conftest import git
from tests.fakes.reporter import RecordingReporter
from tests.fakes.requests import MARA, build_resolve_issue

NOOR = Person(id=5, login="noor")
FILES = {
    "run.sh": b"#!/bin/sh\necho one\r\nexit",
    "latin.txt": b"caf\xe9\nplain\n",
    "docs/a b.md": b"\xef\xbb\xbf# Title\ntext\n",
}


@dataclass
class MirrorSource:
    """As much of the port Source as the stage needs, over a real mirror."""

    estate: object
    base: str

    async def show(self, revision, path):
        return await self.estate.mirror.show(revision, path)

    async def open(self, base, policy, image=None):
        return await self.estate.open("0006-run", base, policy)


@dataclass
class Steps:
    """Keeps nothing: every stage is done."""

    async def step(self, name, work):
        return await work()


@pytest.fixture
async def start(estate):
    """The commit of a pull request with these files, a program and a link; fetched."""
    folder = estate.place / "somebody"
    for path, data in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    (folder / "run.sh").chmod(0o755)
    (folder / "link.txt").symlink_to("latin.txt")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "second")
    git(folder, "push", "-q", str(estate.upstream), "main")
    await estate.mirror.fetch(estate.url, None)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def begin(estate, start):
    def make():
        ports = RunPorts(
            model=None,
            journal=None,
            source=MirrorSource(estate, start),
            publisher=None,
            reporter=RecordingReporter(),
        )
        request = build_resolve_issue(
            number=31,
            title="Add",
            body="",
            author=MARA,
            label="bot:address",
            url="https://example.org/octo/lib/pull/31",
        )
        run = Run(
            StageContext(
                id="0006-run",
                request=request,
                ports=ports,
                steps=Steps(),
                conversations=(),
                models={},
                limits=RunLimits(usd=1, turns=1, minutes=1),
            )
        )
        run.context.update_state(trunk=start, base=start, start=start, head=start)
        return run

    return make


def thread(number, path, line, shown, new, *, by=MARA):
    said = ThreadComment(
        id=number,
        author=by,
        role="write",
        own=False,
        body=f"```suggestion\r\n{new}\r\n```",
        edited=False,
        at=datetime(2026, 3, 1, 9, number, tzinfo=UTC),
        url="https://example.org/octo/lib/pull/31#r",
    )
    return Thread(
        id=f"T{number}",
        root=number,
        path=path,
        line=line,
        outdated=False,
        hunk=f"@@ -0,0 +1,{line} @@\n+{shown}",
        said=(said,),
        url=said.url,
    )


FEEDBACK = Feedback(
    threads=(
        thread(1, "run.sh", 2, "echo one\r", "echo 1\r\necho 2"),
        thread(2, "run.sh", 3, "exit", "exit 0", by=NOOR),
        thread(3, "latin.txt", 2, "plain", "PLAIN"),
        thread(4, "latin.txt", 1, "caf\u00e9", "coffee"),
        thread(5, "docs/a b.md", 1, "# Title", "# A title", by=NOOR),
        thread(6, "link.txt", 1, "latin.txt", "/etc/passwd"),
        thread(7, "src", 1, "a", "b"),
    )
)


async def test_bytes_and_modes_stay_and_a_link_is_not_followed(begin, estate, start):
    run = begin()

    applied = await run.stage(apply_suggestions, FEEDBACK)

    show = estate.mirror.show
    assert await show(run.head, "run.sh") == b"#!/bin/sh\necho 1\r\necho 2\r\nexit 0"
    assert await show(run.head, "latin.txt") == b"caf\xe9\nPLAIN\n"
    assert await show(run.head, "docs/a b.md") == b"\xef\xbb\xbf# A title\ntext\n"
    assert await show(run.head, "link.txt") == b"latin.txt"
    listed = git(estate.mirror.gitdir, "ls-tree", run.head, "run.sh", "link.txt").split("\n")
    assert [line.split()[0] for line in listed] == ["120000", "100755"]
    assert sorted(applied.settled) == ["T1", "T2", "T3", "T5"]
    assert sorted(applied.left) == ["T4", "T6", "T7"]
    assert "differently" in applied.left["T4"]
    assert "file" in applied.left["T6"]


async def test_git_has_one_commit_for_each_author_with_their_changes_alone(begin, estate, start):
    run = begin()

    await run.stage(apply_suggestions, FEEDBACK)

    log = git(
        estate.mirror.gitdir,
        "log",
        "--format=%an|%s|%(trailers:key=Co-authored-by,valueonly,separator=;)",
        f"{start}..{run.head}",
    )
    assert log.split("\n") == [
        "fettle[bot]|Apply 2 suggestions by noor|noor <5+noor@users.noreply.github.com>",
        "fettle[bot]|Apply 2 suggestions by mara|mara <3+mara@users.noreply.github.com>",
    ]
    first = git(estate.mirror.gitdir, "rev-parse", f"{run.head}~1")
    assert await estate.mirror.show(first, "run.sh") == b"#!/bin/sh\necho 1\r\necho 2\r\nexit"
    assert await estate.mirror.list_changed_paths(start, first) == ["latin.txt", "run.sh"]


async def test_done_again_in_a_tree_that_a_killed_process_left_it_ends_the_same(
    begin, estate, start
):
    first = begin()
    await first.stage(apply_suggestions, FEEDBACK)
    tree = await first.context.tree(changing=True)
    await tree.write("run.sh", b"half writ")
    await tree.write("new.txt", b"left over\n")
    again = begin()

    await again.stage(apply_suggestions, FEEDBACK)

    assert again.head == first.head


async def test_what_is_written_comes_on_top_of_what_the_stage_left(begin, estate, start):
    run = begin()
    await run.context.write({"new/a.txt": b"a\n"})
    await run.context.write({"README.md": b"# Other\n"})

    commit = await run.context.commit("Write two files", credit=NOOR)

    assert await estate.mirror.list_changed_paths(start, commit) == ["README.md", "new/a.txt"]
    assert await run.context.commit("Nothing more") is None
