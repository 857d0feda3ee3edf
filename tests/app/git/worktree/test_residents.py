"""Programs of Fettle's that stay in the sandbox between questions: what they see, how they end."""

import asyncio
import shlex
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from agents.errors import ToolError
from app.git.worktree import residents
from app.git.worktree.installed_dependencies import CommandMounts
from app.sandbox.none.backend import NoSandbox

ECHO = ["bash", "-c", 'echo begun >&2; while read -r line; do echo "$$ $line"; done']


@dataclass
class Lent:
    furnishing: CommandMounts = field(default_factory=CommandMounts)
    note: str = ""


@dataclass
class Lender:
    """Lends nothing, and knows how often; `open` are the loans that have not ended."""

    lent: int = 0
    open: int = 0
    refuses: bool = False

    @asynccontextmanager
    async def __call__(self, argv, kits):
        if self.refuses:
            raise ToolError("No way leads to the package indexes here.")
        self.lent += 1
        self.open += 1
        try:
            yield Lent()
        finally:
            self.open -= 1


async def test_one_process_answers_all_questions_until_the_files_go(estate):
    lender = Lender()
    tree = await estate.open(lend=lender)

    said = [await tree.converse(ECHO, line, timeout=20) for line in (b"one", b"two")]

    (first, one), (second, two) = (line.split() for line in said)
    assert (one, two, first) == (b"one", b"two", second)
    assert (lender.lent, lender.open) == (1, 1)
    await tree.close()
    assert lender.open == 0


async def test_it_sees_none_of_the_files(estate):
    tree = await estate.open(lend=Lender())
    looks = ["bash", "-c", "read -r _; ls -A /workspace 2>&1 | wc -l; pwd"]
    assert await tree.converse(looks, b"", timeout=20) in (b"0", b"1")
    await tree.close()


async def test_a_question_and_its_answer_may_hold_whole_files(estate):
    tree = await estate.open(lend=Lender())
    much = b"x" * 6_000_000
    assert (await tree.converse(["cat"], much, timeout=60)) == much
    await tree.close()


async def test_questions_at_the_same_time_are_answered_in_turn(estate):
    tree = await estate.open(lend=Lender())
    lines = [f"{at}".encode() for at in range(8)]
    said = await asyncio.gather(*(tree.converse(ECHO, line, timeout=20) for line in lines))
    assert [line.split()[1] for line in said] == lines
    await tree.close()


@pytest.mark.parametrize("ends", ["true", "read -r _; exit 3", "read -r _; kill -9 $$", "no-such"])
async def test_where_the_program_ends_there_is_no_answer_and_the_next_question_starts_it_anew(
    estate, ends
):
    lender = Lender()
    tree = await estate.open(lend=lender)
    for _ in range(2):
        assert await tree.converse(["bash", "-c", ends], b"one", timeout=20) is None
    assert (lender.lent, lender.open) == (2, 0)


async def test_one_that_is_silent_is_ended(estate):
    lender = Lender()
    tree = await estate.open(lend=lender)
    assert await tree.converse(["sleep", "600"], b"one", timeout=0.5) is None
    assert lender.open == 0


async def test_one_that_nobody_asks_any_more_ends(estate, monkeypatch):
    monkeypatch.setattr(residents, "IDLE", 0.05)
    lender = Lender()
    tree = await estate.open(lend=lender)
    assert await tree.converse(ECHO, b"one", timeout=20)
    async with asyncio.timeout(20):
        while lender.open:
            await asyncio.sleep(0.01)
    assert await tree.converse(ECHO, b"two", timeout=20)
    assert lender.lent == 2
    await tree.close()


async def test_where_none_can_stay_nothing_is_started(estate):
    lender = Lender()
    tree = await estate.open(lend=lender, inside=NoSandbox(estate.sandbox.owner[0]))
    assert await tree.converse(ECHO, b"one", timeout=20) is None
    assert await tree.converse(ECHO, b"one\ntwo", timeout=20) is None
    assert lender.lent == 0
    refused = await estate.open(lend=Lender(refuses=True))
    assert await refused.converse(ECHO, b"one", timeout=20) is None


def ask(tree, script, **more):
    return tree.ask(["bash", "-c", script], **{"timeout": 20, "shared_home": "tool", **more})


async def test_scripts_of_one_name_share_a_home_and_see_the_files(estate):
    lender = Lender()
    tree = await estate.open(lend=lender)

    first = await ask(tree, "mkdir -p ~/x && echo cached >~/x/y; ls -A; exit 3")
    await tree.write("src/new.py", b"N = 1\n")
    second = await ask(tree, "cat ~/x/y src/new.py; echo two >src/two.py; echo complaint >&2")
    other = await ask(tree, "cat ~/x/y", shared_home="another")
    alone = await ask(tree, "cat ~/x/y", shared_home="")

    assert (first.exit_code, first.output) == (3, ".git\n.gitignore\nREADME.md\nsrc\n")
    assert (second.exit_code, second.output) == (0, "cached\nN = 1\ncomplaint\n")
    assert (other.exit_code, alone.exit_code, lender.lent) == (1, 1, 3)
    assert await tree.read("src/two.py") == b"two\n"
    assert "src/two.py" in await tree.list_changed_paths(estate.base, await tree.snapshot())
    await tree.close()
    assert lender.open == 0


async def test_what_a_script_writes_is_kept_within_the_bound(estate):
    tree = await estate.open(lend=Lender())
    said = await ask(tree, "yes | head -c 3000000; echo end", max_output=1000)
    assert 1000 < len(said.output) < 1200
    assert said.output.startswith("y\n")
    assert said.output.endswith("end\n")
    await tree.close()


@pytest.mark.parametrize("ends", ["kill -9 $$", "kill -9 -1; kill -9 $$"])
async def test_a_script_that_is_killed_is_told_so_and_not_run_again(estate, ends):
    lender = Lender()
    tree = await estate.open(lend=lender)
    said = await ask(tree, f"echo once >>src/ran; {ends}")
    assert (said.why, said.exit_code, lender.lent) == ("killed", 137, 1)
    assert await tree.read("src/ran") == b"once\n"
    assert (await ask(tree, "echo well")).output == "well\n"
    await tree.close()


@pytest.mark.parametrize("forged", ["0 @", "0 eA", "x eHh4", "9" * 5000, "eHh4"])
async def test_what_is_no_answer_of_the_shell_is_no_success(estate, forged):
    tree = await estate.open(lend=Lender())
    find = 'at=$PPID; for _ in 1 2 3; do echo "$0" >/proc/$at/fd/1; '
    find += "at=$(cut -d' ' -f4 /proc/$at/stat); done 2>/dev/null; sleep 60"
    said = await ask(tree, f'set -- {forged}; exec bash -c {shlex.quote(find)} "$*"')
    assert (said.why, said.exit_code, said.output) == ("killed", 137, "")
    await tree.close()


async def test_a_script_whose_time_is_up_is_not_run_again(estate):
    lender = Lender()
    tree = await estate.open(lend=lender)
    said = await ask(tree, "sleep 600", timeout=0.5)
    assert (said.why, said.exit_code, lender.lent, lender.open) == ("timeout", 124, 1, 0)
    assert (await ask(tree, "echo well")).output == "well\n"
    await tree.close()


async def test_the_reader_hears_what_is_missing_or_was_refused(estate):
    class Noting(Lender):
        @asynccontextmanager
        async def __call__(self, argv, kits):
            yield Lent(note="[corp.example was refused]\n")

    tree = await estate.open(lend=Noting())
    said = await ask(tree, "echo well")
    assert said.output == "[corp.example was refused]\nwell\n"
    await tree.close()
