"""From a signed review to pushed commits and answered threads, through the front door."""

from __future__ import annotations

import re
from pathlib import Path

from app.simulator.model import load_script
from tests.flows.address.reviewed import (
    BASE,
    UNNAMED,
    edit,
    make_changes,
    open_reviewed,
    script,
    sort,
    suggestion,
    word_update,
)
from tests.flows.keeping import ONE_LOOP

pytestmark = ONE_LOOP

MIXED = load_script(Path(__file__).with_name("address.yml"))
MORE = {
    "calc.py": (
        "def add(a, b):\n    return a + b\n\n\n"
        "def sub(a, b):\n    return a - b\n\n\n"
        "def total(prices):\n    sum = 0\n"
        "    for each in prices:\n        sum = add(sum, each)\n"
        "    return sum\n\n\n"
        "def share(part, whole):\n    return 100 * part / whole\n"
    ),
    "words.py": (
        "UNITS = ['euro', 'cents']\n\n\n"
        "def price(cents):\n    return '%d.%02d' % (cents // 100, cents % 100)\n\n\n"
        "def line(name, cents):\n    return name + ': ' + price(cents)\n\n\n"
        "def receipt(lines):\n    return '\\n'.join(lines)\n"
    ),
}
STRANGE = "STRANGERS SAY SO"


async def say_everything(at):
    """Have twelve threads opened by three people, one of them an outsider; the last review asks."""
    await at.review(
        "ola",
        "",
        ("calc.py", 11, "Loop over the prices themselves."),
        ("calc.py", 17, "Why in percent?"),
        ("words.py", 1, suggestion("UNITS = ['euro', 'ct']")),
        ("words.py", 8, "nit: I would call it entry."),
        ("words.py", 12, "Say what lines are."),
        ("words.py", 13, suggestion("    return '\\n'.join(lines) + '\\n'")),
    )
    await at.review("jonas", STRANGE, ("calc.py", 1, STRANGE))
    await at.commit(MORE)
    await at.github.resolve_thread(at.thread("words.py", 12), at.people["mara"])
    at.listen()
    await at.review(
        "mara",
        "Some remarks.",
        ("calc.py", 6, "A difference should never be negative."),
        ("calc.py", 10, "This hides the builtin `sum`."),
        ("words.py", 2, "Do we want other currencies one day?"),
        ("words.py", 5, "Wrong below zero: -5 gives -1.95."),
        ("words.py", 9, suggestion("    return f'{name}: {price(cents)}'")),
        state="CHANGES_REQUESTED",
    )


async def test_everything_that_people_say_is_answered(share_place, rest_referee, webhook_referee):
    found = BASE | {".github/fettle.yml": UNNAMED}  # that it has a check is found out
    async with open_reviewed(share_place, MIXED, base=found, listening=False) as at:
        await say_everything(at)
        pushed_by_mara = at.pull.head_sha
        await at.place.ends("comment")

        assert at.verdicts() == {
            "calc.py:1": ([], False),  # an outsider's
            "calc.py:6": (["disagree"], False),
            "calc.py:10": (["fixed"], True),
            "calc.py:11": (["answered"], False),
            "calc.py:17": (["answered"], False),
            "words.py:1": (["needs_human"], False),
            "words.py:2": (["needs_human"], False),
            "words.py:5": (["fixed"], True),
            "words.py:8": (["disagree"], False),
            "words.py:9": (["fixed"], True),
            "words.py:12": ([], True),  # resolved by somebody before
            "words.py:13": (["fixed"], True),
        }
        commits = {c.title: c.message for c in await at.list_commits(pushed_by_mara)}
        credited = {title: re.findall("Co-authored-by: (.*) <", m) for title, m in commits.items()}
        assert credited == {
            "Apply ola's suggestion in words.py": ["ola"],
            "Apply mara's suggestion in words.py": ["mara"],
            "Name the total without hiding a builtin": ["mara"],
            "Say prices below zero": ["mara"],
        }
        assert "f'{name}: {price(cents)}'" in await at.file("words.py")
        assert "whole = add(whole, each)" in await at.file("calc.py")
        assert STRANGE not in await at.prompts()
        [ledger] = at.ledgers()
        assert "10 threads, 1 review: 4 fixed, 3 answered" in ledger
        assert "100 % answered" in ledger
        assert "2 comments by people without write access, or by bots, were not read." in ledger
        assert sorted(each.login for each in at.pull.requested) == ["mara", "ola"]
        assert "**Done.**" in at.place.progress()
        assert [r.content for r in at.pull.issue.reactions] == ["eyes"]

        called = [e for e in at.github.requests if e.path.startswith("/api/v3/")]
        assert rest_referee.problems(called) == []
        assert webhook_referee.problems(at.github.webhooks.log) == []


async def test_more_threads_than_a_page_holds_are_each_answered_once(share_place):
    number = 104
    lines = {"long.py": "".join(f"x{n} = {n}\n" for n in range(1, number + 1))}
    every = script(sort((), [(f"t{n}", "question") for n in range(1, number + 1)]))
    async with open_reviewed(share_place, every, head=lines) as at:
        await at.review("mara", "", *[("long.py", n, "Why?") for n in range(1, number + 1)])
        await at.place.ends("comment")

        assert list(at.verdicts().values()) == [(["answered"], False)] * number
        assert at.pushes() == 0
        [ledger] = at.ledgers()
        assert f"{number} threads: {number} answered; 100 % answered." in ledger


async def test_who_contradict_each_other_are_asked_and_an_answer_is_applied_by_code(share_place):
    """No model is needed: nobody answers here for one."""
    async with open_reviewed(share_place, listening=False) as at:
        await at.review("mara", "", ("words.py", 1, suggestion("UNITS = ['euro', 'ct']")))
        at.listen()
        await at.review("ola", "", ("words.py", 1, suggestion("UNITS = ['EUR', 'cent']")))
        await at.all_over()
        mara, ola = (t for t in at.pull.threads if t.path == "words.py")
        assert [len(at.answers(each)) for each in (mara, ola)] == [1, 1]
        assert "An answer here settles it: `take mara`" in at.answers(mara)[0]
        assert at.pushes() == 0

        await at.github.reply(mara, at.people["mara"], "Okay, take ola's.")
        await at.all_over()

        assert "UNITS = ['EUR', 'cent']" in await at.file("words.py")
        assert (mara.resolved, ola.resolved, at.pushes()) == (True, True, 1)
        for each in (mara, ola):
            assert "that `ola`'s suggestion is the one to take" in at.answers(each)[1]


async def test_each_thread_is_answered_in_its_own_language_by_code_as_well(share_place):
    """The German one asks for a change, the Japanese one has a suggestion that needs no model."""
    told = script(
        sort(["t1"], language="de"),
        make_changes(edit("range(len(prices))", "range(0, len(prices))")),
        word_update(("t1", "fixed", 1)),
    )
    async with open_reviewed(share_place, told, listening=False) as at:
        ours = "ここはこちらにしてください。\n\n" + suggestion("UNITS = ['EUR', 'cent']")
        await at.review("ola", "", ("words.py", 1, ours))
        at.listen()
        theirs = suggestion("UNITS = ['euro', 'ct']")
        await at.review("mara", "", ("calc.py", 11, "Fang bei null an."), ("words.py", 1, theirs))
        await at.place.ends("comment")

        [german] = at.answers(at.thread("calc.py", 11))
        assert "**Behoben** in [`" in german
        assert "Done for t1." in german
        japanese, english = (at.answers(t)[0] for t in at.pull.threads if t.path == "words.py")
        assert "**人の判断が必要**" in japanese
        assert "`take ola`" in japanese
        assert "**Needs a person**" in english
        assert "**Fixed**" in at.ledgers()[0], "one table is for everybody"
