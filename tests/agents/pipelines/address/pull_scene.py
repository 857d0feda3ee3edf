"""What reviewers said on a pull request, and what a model does that does as they ask."""

from datetime import UTC, datetime

from agents.ports import Feedback, ReviewText, Thread, ThreadComment
from agents.requests import Person
from tests.fakes.requests import MARA

OLA = Person(id=4, login="ola")
AT = datetime(2025, 12, 31, 12, tzinfo=UTC)  # long before the world's clock: nobody is sending
CODE = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n"
POLICY = "quality:\n  - {name: tests, run: check}\n"
FILES = {"lib.py": CODE, "more.py": "x = 1\n", ".github/fettle.yml": POLICY}
BRANCH = "bot/7-add-0a0a0a"
HUNK = (
    "@@ -0,0 +1,6 @@\n+def add(a, b):\n+    return a + b\n+\n+\n+def sub(a, b):\n+    return a - b"
)
SUGGESTION = "```suggestion\n    return b + a\n```"


def say(body, number=1, author=MARA, *, own=False, verdict=""):
    return ThreadComment(
        id=number,
        author=author,
        role="" if own else "maintain",
        own=own,
        verdict=verdict,
        body=body,
        edited=False,
        at=AT,
        url=f"https://example.org/octo/lib/pull/31#discussion_r{number}",
    )


def thread(ident, *words, path="lib.py", line=2, **more):
    spoken = [say(each, n) if isinstance(each, str) else each for n, each in enumerate(words, 1)]
    hunk = "\n".join(HUNK.splitlines()[: line + 1])
    return Thread(
        **{
            "id": ident,
            "root": 1,
            "path": path,
            "line": line,
            "original_line": line,
            "outdated": False,
            "hunk": hunk,
            "said": spoken,
            "url": f"https://example.org/octo/lib/pull/31#{ident}",
            **more,
        }
    )


def review(ident, body):
    return ReviewText(
        id=ident,
        author=OLA,
        role="write",
        state="changes_requested",
        body=body,
        edited=False,
        at=AT,
        url="https://example.org/octo/lib/pull/31#r",
    )


def feedback(*threads, **more):
    given = {"reviewers": (MARA,), "covered": (1, 2), "newest_at": AT, **more}
    return Feedback(threads=threads, **given)


class AddressActs:
    """What a model does in each stage."""

    def __init__(self, use):
        self.use = use

    def analyse(self, changes=(), answers=()):
        items = [{"about": key, "change": f"Change it for {key}."} for key in changes]
        left = [{"about": k, "kind": kind, "reply": f"About {k}: so it is."} for k, kind in answers]
        return [self.use("submit_analysis", action_items=items, out_of_scope=left)]

    def change(self, path="lib.py", old="a + b", new="b + a"):
        return [self.use("edit", path=path, old=old, new=new)]

    def submit(self):
        return [self.use("submit_step", summary="Changed it.", tried="ran it")]

    def verdict(self, verdict="pass", **more):
        given = {"flaws": (), "missing": "", "criteria": (), **more}
        return [self.use("submit_evaluation", verdict=verdict, reasoning="I looked.", **given)]

    def fix(self):
        return [self.use("submit_fix", summary="mended")]

    def update(
        self, *replies, commits=(("Turn the sum around", ("lib.py",)),), summary="Have a look."
    ):
        told = [
            {"about": k, "verdict": v, "commit": n, "reply": f"Done for {k}."}
            for k, v, n in replies
        ]
        made = [{"subject": s, "body": "", "files": list(files)} for s, files in commits]
        return [self.use("submit_update", commits=made, replies=told, summary=summary)]


def straight(acts):
    """Return the answers of a model that does what one thread asks for."""
    return [
        acts.analyse(["t1"]),
        acts.change(),
        acts.submit(),
        acts.verdict(),
        acts.update(("t1", "fixed", 1)),
    ]


def subjects(world, head, since=None):
    found = []
    while head != (since or world.head):
        _, head, message = world.history.commits[head]
        found.insert(0, message.splitlines()[0])
    return found


def move(world, files, parent=None):
    """Push somebody's commit to the branch."""
    theirs = world.history.tree({**FILES, **files})
    world.source.branches[BRANCH] = world.history.commit(theirs, parent or world.head, "Theirs\n")
    return world.source.branches[BRANCH]


FORK = {"foreign": True, "why_not": "its branch lies in a fork.", "author_may_write": False}
