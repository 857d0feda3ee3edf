"""The one change of workflows that is committed: code moved refs of one action, nothing else."""

import pytest

from agents.errors import RunError
from agents.policy import parse_policy
from app.git.objects import TreeChange
from app.git.worktree.change_limits import ChangeLimits, require_harmless

CI = ".github/workflows/ci.yml"
ACTION = "actions/checkout"
ONE, TWO = "1" * 40, "2" * 40
TEXT = f"""\
on: [push]
jobs:
  test:
    steps:
      - uses: actions/checkout@v4.1.2
      - uses: actions/checkout@{ONE}  # v4.1.2
      - uses: actions/cache@v3.0.1
      - run: |
          make
          # uses: actions/checkout@v4.1.2
"""
MOVED = TEXT.replace("- uses: actions/checkout@v4.1.2", "- uses: actions/checkout@v4.1.3").replace(
    f"{ONE}  # v4.1.2", f"{TWO}  # v4.1.3"
)


class FileChanges:
    """Two trees of files, each change with its modes."""

    def __init__(self, old, new, modes=("100644", "100644")):
        self.old, self.new, self.modes = old, new, modes

    async def changes(self, old, new):
        paths = sorted(self.old.keys() | self.new.keys())
        changed = [path for path in paths if self.old.get(path) != self.new.get(path)]
        old, new = self.modes
        return [
            TreeChange(
                old if path in self.old else "000000",
                new if path in self.new else "000000",
                path,
                path,
            )
            for path in changed
        ]

    async def sizes(self, oids):
        return [len(self.new[oid].encode()) for oid in oids]

    async def blob(self, oid):
        return self.new[oid].encode()

    async def show(self, revision, path):
        text = self.old.get(path)
        return None if text is None else text.encode("utf-8", "surrogateescape")


async def judge(old, new, *, policy=b"", action=ACTION, modes=("100644", "100644"), files=CI):
    objects = FileChanges({files: old}, {files: new}, modes)
    limits = ChangeLimits()
    await require_harmless(objects, parse_policy(policy), "o", "n", limits, moves_action=action)


@pytest.mark.parametrize("file", [CI, ".github/actions/x/action.yml", "action.yaml"])
async def test_refs_of_the_action_alone_are_let_through(file):
    await judge(TEXT, MOVED, files=file)


async def test_without_the_word_of_the_code_that_made_it_nothing_is():
    with pytest.raises(RunError, match="no policy and no approval opens that to a run"):
        await judge(TEXT, MOVED, action="")


@pytest.mark.parametrize(
    "attack",
    [
        lambda text: text.replace("          make\n", "          make evil\n"),
        lambda text: text.replace("# uses: actions/checkout@v4.1.2", "# uses: actions/checkout@v9"),
        lambda text: text.replace("actions/cache@v3.0.1", "actions/cache@v3.0.2"),
        lambda text: text.replace("actions/checkout@v4.1.3", "evil/checkout@v4.1.3"),
        lambda text: text.replace("checkout@v4.1.3", "checkout/evil@v4.1.3"),
        lambda text: text.replace("@v4.1.3", "@v4.1.3 # and so on"),
        lambda text: text.replace("@v4.1.3", "@v4.1.3\n        env: {A: b}"),
        lambda text: text.replace("@v4.1.3", "@$(id)"),
        lambda text: text.replace("@v4.1.3", "@main"),
        lambda text: text.replace("@v4.1.3", "@${{ github.event.issue.title }}"),
        lambda text: text.replace("checkout@v4.1.3", '"checkout@v4.1.3"'),
        lambda text: text.replace(TWO, "v4.1.3"),
        lambda text: text.replace(TWO, "2" * 39),
        lambda text: text.replace("  # v4.1.3", " # v4.1.3"),
        lambda text: text.replace("# v4.1.3", "# v4.1.3 [skip checks]"),
        lambda text: text.replace("on: [push]", "on: [pull_request_target]"),
        lambda text: text.replace("      - uses: actions/cache@v3.0.1\n", ""),
        lambda text: text + "      - uses: actions/checkout@v4.1.3\n",
        lambda text: text + "---\nx: 1\n",
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text + "{[",
    ],
)
async def test_whatever_else_differs_is_refused(attack):
    new = attack(MOVED)
    assert new != MOVED
    with pytest.raises(RunError, match="code may change nothing there but which release"):
        await judge(TEXT, new)


@pytest.mark.parametrize(
    ("files", "old", "new", "modes"),
    [
        ("app.py", "uses = 1\n", "uses = 2\n", ("100644", "100644")),
        (".github/fettle.yml", "{}", "{deny: []}", ("100644", "100644")),
        (".github/workflows/x/ci.yml", TEXT, MOVED, ("100644", "100644")),
        (".GitHub/workflows/ci.yml", TEXT, MOVED, ("100644", "100644")),
        (CI, TEXT, MOVED, ("100644", "120000")),
        (CI, TEXT, MOVED, ("100644", "100755")),
        (CI, "x" * 1_000_001, MOVED, ("100644", "100644")),
        (CI, "\udcff", MOVED, ("100644", "100644")),
    ],
)
async def test_other_files_and_forms_are_refused(files, old, new, modes):
    with pytest.raises(RunError, match="Nothing was committed: change it by hand"):
        await judge(old, new, files=files, modes=modes)


async def test_a_new_workflow_and_one_that_is_gone_are_refused():
    for old, new in (({}, {CI: MOVED}), ({CI: TEXT}, {})):
        with pytest.raises(RunError, match="no file that stays a workflow"):
            await require_harmless(
                FileChanges(old, new), parse_policy(None), "o", "n", ChangeLimits(),
                moves_action=ACTION,
            )  # fmt: skip


async def test_another_change_beside_it_is_refused_as_a_whole():
    objects = FileChanges({CI: TEXT, "app.py": "a"}, {CI: MOVED, "app.py": "b"})
    with pytest.raises(RunError, match=r"The change touches `app\.py`"):
        await require_harmless(
            objects, parse_policy(None), "o", "n", ChangeLimits(), moves_action=ACTION
        )


async def test_what_owners_protect_beside_the_usual_paths_stays_theirs():
    with pytest.raises(RunError, match=r"`/\.github/workflows/ci\.yml` in `protected_paths`"):
        await judge(TEXT, MOVED, policy=b"protected_paths: [/.github/workflows/ci.yml]\n")
    await judge(TEXT, MOVED, policy=b"protected_paths: ['.github/workflows/**']\n")
