"""What a decision's record takes of a real work tree that a hostile session left behind."""

from __future__ import annotations

import pytest

from agents.pipelines.resolve.decision.log import find_log
from agents.pipelines.resolve.decision.record_decision import log_alone
from agents.policy import Policy
from agents.tools.base import Bench, Capability
from agents.tools.gate import gate

WRITE = "mkdir -p docs/decisions; echo 'No decimals.' > docs/decisions/0001-no-decimals.md"
ELSEWHERE = [
    f"{WRITE}; echo 'A = 666' > src/a.py; touch src/new.py; chmod +x README.md; exit 0",
    f"{WRITE}; mkdir docs/decisions/0001-a.md; echo x > docs/decisions/0001-a.md/b.md; exit 0",
    f"{WRITE}; cp src/a.py docs/decisions/a.py; echo x > docs/0001-no.md; exit 0",
    f"{WRITE}; mv src/b.py docs/decisions/b.py; echo '*' > .gitattributes; exit 0",
]
NOTHING = [
    "mkdir -p docs; ln -s ../src docs/decisions; echo x > src/0001-no-decimals.md; exit 0",
    "mkdir -p docs/decisions; cd docs/decisions; git init -q 0001-no-decimals.md; exit 0",
    "mkdir -p docs/decisions; head -c 200000 /dev/zero > docs/decisions/0001-no.md; exit 0",
]


async def keep_after(estate, command):
    """Return what is kept after this command, and the paths of the commit made of it."""
    tree = await estate.open()
    bench = Bench(tree=tree, capability=Capability.CHANGE, policy=Policy(), stage="record")
    told = await gate.call("bash", {"command": command}, bench=bench)
    assert told.startswith("exit code 0"), "the command was really run"
    left = await tree.snapshot()
    await tree.restore(estate.base)
    present = ["README.md", "src/a.py", "src/b.py", ".gitignore"]
    texts = await log_alone(tree, estate.base, left, find_log(present), present)
    for path, text in texts.items():
        await tree.write(path, text)
    return texts, await tree.list_changed_paths(estate.base, await tree.snapshot())


@pytest.mark.parametrize("command", ELSEWHERE, ids=range(len(ELSEWHERE)))
async def test_the_record_is_kept_and_nothing_beside_it(estate, command):
    texts, changed = await keep_after(estate, command)

    assert texts == {"docs/decisions/0001-no-decimals.md": b"No decimals.\n"}
    assert changed == ["docs/decisions/0001-no-decimals.md"]


@pytest.mark.parametrize("command", NOTHING, ids=range(len(NOTHING)))
async def test_what_is_no_record_is_not_kept(estate, command):
    assert await keep_after(estate, command) == ({}, [])


async def test_a_link_in_the_place_of_the_record_becomes_a_file_that_says_where_it_led(estate):
    link = "mkdir -p docs/decisions; ln -s /etc/passwd docs/decisions/0001-no-decimals.md; exit 0"

    texts, changed = await keep_after(estate, link)

    assert texts == {"docs/decisions/0001-no-decimals.md": b"/etc/passwd"}
    assert changed == list(texts)
