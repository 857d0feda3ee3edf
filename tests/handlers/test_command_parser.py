"""What is a command, and what only talks about one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.command_parser import (
    MOST,
    parse_amount,
    parse_commands,
    parse_first_stage,
    strip_commands,
)

YES = [
    "/bot approve k3f9x2",
    "/bot approve k3f9x2\n",
    "/bot approve k3f9x2\r\n",
    "\n\n/bot approve k3f9x2",
    "   /bot approve k3f9x2",
    "/bot   approve \t k3f9x2   ",
    "/BOT Approve K3F9X2",
    "/bot approve `k3f9x2`",
    "/bot approve k3f9x2.",
    "/bot approve: k3f9x2",
    "/bot approve #k3f9x2",
    "I looked at it.\n/bot approve k3f9x2",
    "I looked at it.\n\n/bot approve k3f9x2\n\nThanks!",
    "I looked at it.  \n/bot approve k3f9x2",
    "> shall I?\n\n/bot approve k3f9x2",
    "```\ngit reset\n```\n/bot approve k3f9x2",
    "- a list\n\n/bot approve k3f9x2",
    "<!-- hidden -->\n/bot approve k3f9x2",
    "<details>\n\ntalk\n\n</details>\n\n/bot approve k3f9x2",
    "<br>\n\n/bot approve k3f9x2",
    "<div><![x]></div>\n\n/bot approve k3f9x2",
    "# Heading\n/bot approve k3f9x2",
    "Use `/bot deny` for no.\n/bot approve k3f9x2",
    "/bot approve k3f9x2\n\nOn Sun, Nov 22, 2026 somebody wrote:\n/bot approve zzzzzz",
    "/bot approve k3f9x2\n--\nMara",
    "\ue000 /bot\n/bot approve k3f9x2",
]
NO = [
    "",
    "approve",
    "approved!",
    "/bots approve k3f9x2",
    "/bot/approve k3f9x2",
    "/bot: approve k3f9x2",
    "bot approve k3f9x2",
    "@fettle /bot approve k3f9x2",
    "Please /bot approve k3f9x2",
    "You can write /bot approve k3f9x2 to go on",
    "> /bot approve k3f9x2",
    "> a\n/bot approve k3f9x2",  # Markdown reads on in the quote
    "> > /bot approve k3f9x2",
    "    /bot approve k3f9x2",
    "\t/bot approve k3f9x2",
    "```\n/bot approve k3f9x2\n```",
    "````\n```\n/bot approve k3f9x2\n````",
    "~~~text\n/bot approve k3f9x2\n~~~",
    "```\n/bot approve k3f9x2",  # a fence that nobody closed
    "`/bot approve k3f9x2`",
    "`a\n/bot approve k3f9x2\nb`",
    "``a\n/bot approve k3f9x2 ` ``",
    "- /bot approve k3f9x2",
    "* yes: `/bot approve k3f9x2`",
    "1. /bot approve k3f9x2",
    "- a\n/bot approve k3f9x2",  # the list reads on
    "- a\n\n  /bot approve k3f9x2",
    "# /bot approve k3f9x2",
    "| a |\n|---|\n| /bot approve k3f9x2 |",
    "<!-- /bot approve k3f9x2 -->",
    "<!--\n/bot approve k3f9x2\n-->",
    "<!--\n/bot approve k3f9x2",
    "a <!--\n/bot approve k3f9x2\n--> b",
    "<details>\n/bot approve k3f9x2\n</details>",
    "<details>\n\n/bot approve k3f9x2\n\n</details>",
    "<blockquote>\n\n/bot approve k3f9x2\n\n</blockquote>",
    "<del>\n\n/bot approve k3f9x2\n\n</del>",
    "<pre>\n/bot approve k3f9x2\n</pre>",
    "a <sub>\n/bot approve k3f9x2\n</sub>",
    "<div><details/>\n\n/bot approve k3f9x2",
    "~~a\n/bot approve k3f9x2~~",
    "[a\n/bot approve k3f9x2](https://example.com)",
    '[a](https://example.com "\n/bot approve k3f9x2")',
    "*a\n/bot approve k3f9x2*",
    "\\/bot approve k3f9x2",
    "&#47;bot approve k3f9x2",
    "/\u200bbot approve k3f9x2",
    "/b\u043et approve k3f9x2",  # a Cyrillic o
    "\u2215bot approve k3f9x2",
    "\uff0fbot approve k3f9x2",
    "/bot\u00a0approve k3f9x2",
    "On Sun, Nov 22, 2026 at 3:12 AM fettle[bot] <n@example.com> wrote:\n\n/bot approve k3f9x2",
    "On Sun, Nov 22, 2026 fettle[bot] <\nn@example.com> wrote:\n/bot approve k3f9x2",
    "No!\n\n-----Original Message-----\nHello\n/bot approve k3f9x2",
    "No!\n\n________________________________\n/bot approve k3f9x2",
    "No!\n\nFrom: fettle[bot]\nSent: Sunday\n\n/bot approve k3f9x2",
    "No!\n\n**From:** fettle[bot]\n**Date:** Sunday\n\n/bot approve k3f9x2",
]


@pytest.mark.parametrize("body", YES)
def test_a_line_of_its_own_is_a_command(body):
    [said] = parse_commands(body)
    assert (said.verb, said.approval, said.tail) == ("approve", "k3f9x2", "")


@pytest.mark.parametrize("body", NO)
def test_what_only_talks_about_a_command_is_none(body):
    assert parse_commands(body) == ()


def test_the_reason_goes_on_to_the_end_of_the_paragraph():
    [said] = parse_commands("/bot deny k3f9x2 not like this,\nuse `git revert`\n\nSorry!")
    assert (said.verb, said.approval) == ("deny", "k3f9x2")
    assert said.words == "not like this,\nuse `git revert`"
    assert said.tail == "not like this,"


def test_several_commands_are_several_answers():
    body = "/bot approve aaa222\n/bot deny bbb333 too much\nof it\n/bot approve ccc444"
    assert [(s.verb, s.approval, s.words) for s in parse_commands(body)] == [
        ("approve", "aaa222", ""),
        ("deny", "bbb333", "too much\nof it"),
        ("approve", "ccc444", ""),
    ]


@pytest.mark.parametrize(
    ("body", "approval", "tail"),
    [
        ("/bot approve", "", ""),
        ("/bot approve all", "all", ""),
        ("/bot approve aaa222 bbb333", "aaa222", "bbb333"),
        ("/bot approve aaa222, bbb333", "aaa222", "bbb333"),
        ("/bot approve aaa222 if the tests pass", "aaa222", "if the tests pass"),
        ("/bot deny", "", ""),
    ],
)
def test_what_is_unclear_is_passed_on_as_it_is(body, approval, tail):
    [said] = parse_commands(body)
    assert (said.approval, said.tail) == (approval, tail)


def test_nobody_decides_without_end():
    assert len(parse_commands("\n".join(f"/bot approve a{n}" for n in range(1000)))) == MOST
    [said] = parse_commands(f"/bot deny {'x' * 10_000} {'y' * 10_000}")
    assert len(said.approval) <= 40
    assert len(said.words) <= 2000


@given(st.text(alphabet="/bot apprve\n`>-<!*~[]()#|d123 \t\\&;", max_size=60))
def test_any_text_has_commands_or_not(body):
    for said in parse_commands(body):
        assert said.verb in ("approve", "deny", "unknown")
        name = "" if said.verb == "unknown" else f" {said.verb}"
        assert f"/bot{name}" in " ".join(body.split()).lower()


@given(st.lists(st.sampled_from(["a", "> b", "", "- c"])), st.sampled_from("`~"))
def test_nothing_in_a_fence_is_a_command(before, mark):
    fence = mark * 3
    text = "\n".join([*before, "", fence, "/bot approve k3f9x2", fence])
    assert parse_commands(text) == ()


@pytest.mark.parametrize(
    "body",
    [
        "/bot",
        "/bot yes k3f9x2",
        "/bot approveall",
        "/bot\napprove k3f9x2",
        "/bot \u0430pprove k3f9x2",  # a Cyrillic a
        "/bot approve\u200b k3f9x2",
    ],
)
def test_a_word_that_means_nothing_is_one_that_was_meant_for_us(body):
    [said] = parse_commands(body)
    assert (said.verb, said.approval) == ("unknown", "")


@pytest.mark.parametrize(
    ("body", "verb", "words"),
    [
        ("/bot go", "go", ""),
        (
            "/bot go take the second one,\nbut keep `add`",
            "go",
            "take the second one,\nbut keep `add`",
        ),
        ("/bot Cancel: wrong issue", "cancel", "wrong issue"),
        ("/bot status please", "status", "please"),
        ("/bot why?", "why", ""),
        ("/bot retry from implement", "retry", "from implement"),
        ("/bot budget +$2", "budget", "+$2"),
    ],
)
def test_what_stands_behind_the_other_verbs(body, verb, words):
    [said] = parse_commands(body)
    assert (said.verb, said.words, said.approval) == (verb, words, "")


@pytest.mark.parametrize(
    ("said", "usd"),
    [
        ("+$2", 2),
        ("2", 2),
        ("$2.50", 2.5),
        ("+2 usd", 2),
        ("+ $2", 2),
        ("$+2", 2),
        ("2$", 2),
        ("USD 3", 3),
        ("`+$2`", 2),
        ("12 dollars", 12),
        ("2.", 2),
        ("", None),
        ("0", None),
        ("-2", None),
        ("2.345", None),
        ("1e3", None),
        ("nan", None),
        ("inf", None),
        ("99999", None),
        ("\u0662", None),  # a digit, but not one that everybody reads
        ("2 or 3", None),
        ("2,50", None),
    ],
)
def test_amounts(said, usd):
    assert parse_amount(said) == usd


@pytest.mark.parametrize(
    ("said", "stage"),
    [
        ("", ""),
        ("from implement", "implement"),
        ("From `check-quality`.", "check_quality"),
        ("from implement/2", "implement/2"),
        ("implement", None),
        ("from", None),
        ("from the start", None),
        ("from ../../etc", None),
        ("from implement and be careful", None),
    ],
)
def test_where_a_retry_begins(said, stage):
    assert parse_first_stage(said) == stage


@given(st.text())
def test_any_amount_and_beginning_is_read_or_not(said):
    usd = parse_amount(said)
    assert usd is None or 0 < usd < 10_000
    assert parse_first_stage(said) is None or isinstance(parse_first_stage(said), str)


# --- what a comment says besides its commands -----------------------------------------------------


@pytest.mark.parametrize(
    ("body", "rest"),
    [
        ("Just words.", "Just words."),
        ("/bot approve k3f9x2", ""),
        ("/bot status", ""),
        ("/BOT anything at all\nand its words", ""),
        ("Before.\n\n/bot retry\n\nAfter.", "Before.\n\n\nAfter."),
        ("Before.\r\n/bot deny k3f9x2 no\r\nreason", "Before."),
        ("/bot retry\n/bot why\n\nAfter.", "After."),
        ("Say `/bot retry` then.", "Say `/bot retry` then."),
        ("```\n/bot retry\n```", "```\n/bot retry\n```"),
        ("> /bot retry\n\nMine.", "> /bot retry\n\nMine."),
        ("/bottle of wine", "/bottle of wine"),
        ("Yes.\n\nOn Monday, 3 May 2027, Eve Smith wrote:\n> Run it", "Yes."),
        ("", ""),
    ],
)
def test_without_commands(body, rest):
    assert strip_commands(body) == rest
