"""From a signed review to pushed commits and answered threads, through the front door."""

from __future__ import annotations

from pathlib import Path

from app.local.model import load_script
from tests.flows.reviewed import (
    Inline,
    edit,
    making,
    reviewed,
    script,
    sorting,
    suggestion,
    wording,
)

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
        ("calc.py", 17, "Why in percent?"),
        ("words.py", 8, "nit: I would call it entry."),
        Inline("words.py", 1, suggestion("UNITS = ['euro', 'ct']")),
        Inline("words.py", 13, suggestion("    return '\\n'.join(lines) + '\\n'")),
        Inline("calc.py", 11, "Loop over the prices themselves."),
    )
    await at.review("jonas", STRANGE, ("calc.py", 1, STRANGE))
    await at.review(
        "mara",
        "Some remarks.",
        ("calc.py", 10, "This hides the builtin `sum`."),
        ("words.py", 5, "Wrong below zero: -5 gives -1.95."),
        ("words.py", 2, "Do we want other currencies one day?"),
        ("calc.py", 6, "A difference should never be negative."),
        ("words.py", 12, "Say what lines are."),
        Inline("words.py", 9, suggestion("    return f'{name}: {price(cents)}'")),
        state="CHANGES_REQUESTED",
    )


async def test_everything_that_people_say_is_answered(make_place):
    async with reviewed(make_place, MIXED, listening=False) as at:
        await say_everything(at)
        print([(t.path, t.line) for t in at.pull.threads])
        await at.commit(MORE)
        print([(t.path, t.line, t.original_line) for t in at.pull.threads])
        at.listen()
        await at.review("mara", "Some remarks.")
        await at.place.ends("comment")
        print(at.place.comments(), [(at.answers(thread), thread.resolved) for thread in at.pull.threads])
        assert 0
