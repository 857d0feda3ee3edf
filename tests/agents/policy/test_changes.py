"""What a change of the policy comes to, in lines that cannot act."""

from __future__ import annotations

import pytest

from agents.policy import Policy, parse_policy
from agents.policy.changes import MOST, describe_changes


def describe(old, new):
    return describe_changes(parse_policy(old.encode()), parse_policy(new.encode()))


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("{}", "{}", []),
        ("{}", "budget: {usd: 5}", []),
        ("budget: {usd: 3}", "budget: {usd: 2.5}", ["`budget.usd`: `3` becomes `2.5`"]),
        ("{}", "triggers: {reviews: false}", ["`triggers.reviews`: yes becomes no"]),
        (
            "{}",
            "decisions: {path: log.md}",
            ["`decisions.path`: what is there by itself becomes `log.md`"],
        ),
        (
            "quality: []",
            "quality: [{name: t, run: x}]",
            ["`quality` gets name `t`, run `x`"],
        ),
        ("{}", "quality: []", ["`quality`: what is there by itself becomes nothing"]),
        (
            "web: {hosts: [a, b]}",
            "web: {hosts: [b, c]}",
            ["`web.hosts` loses `a`", "`web.hosts` gets `c`"],
        ),
        (
            "deny: [{tool: a}, {tool: b}]",
            "deny: [{tool: b}, {tool: a}]",
            ["`deny` is in another order"],
        ),
        (
            "{}",
            "commits: {style: conventional}",
            ["`commits.style`: `plain` becomes `conventional`"],
        ),
    ],
    ids=range(10),
)
def test_each_change_is_a_line(old, new, lines):
    assert describe(old, new) == lines


def test_of_very_many_some_are_told():
    hosts = ", ".join(f"h{n}" for n in range(100))
    found = describe("{}", f"web: {{hosts: [{hosts}]}}")
    assert len(found) == MOST + 1
    assert found[-1] == "and 60 more"


def test_words_of_the_file_stay_in_their_quotes_and_are_short():
    [line] = describe_changes(
        Policy(), parse_policy(b'deny: [{command: "`@all` ' + b"x" * 500 + b'"}]')
    )
    assert line.count("`") == 4
    assert len(line) < 100
