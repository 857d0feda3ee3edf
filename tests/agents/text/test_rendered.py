"""The second judge: GitHub's own parser finds nothing alive in what is published, or obeyed."""

from __future__ import annotations

import random
import re

import pytest
from bs4 import BeautifulSoup, Comment
from cmarkgfm import cmark

from agents.text.actions import AllowedEffects
from agents.text.rendered import find_effects
from handlers.command_parser import parse_commands
from tests.agents.text.test_outgoing import (
    CLOSING,
    COMMAND,
    FRAGMENTS,
    MENTION,
    OUTSIDE,
    OWN,
    publish_text,
)
from tests.gears import hostile_texts

TEXTS = 5_000
"""How many hostile texts are tried, in half a minute; `--fuzz 100` tries a hundred times that."""
EVIL = "https://evil.test"
ALIVE = ["![x](https://evil.test/p)", "<b>x</b>", "@octocat", "Fixes #2", "/merge", "<img src=x>"]
UNSEEN = ['[x](docs/a.md "hidden words")', "a&#x202e;b", "a&#8203;b"]
DEEP = ["- " * 12, "> " * 25, "1. " * 15, "- > " * 11, "* " * 60, "> - 1. " * 9]
BEYOND = ["- " * 120, "> " * 250]
SHAPES = ["<div a|b>\n-|-\n", "a|b\n-|-\n", "<p a|b>\n:-|-:\n", "|a\n|-\n", "<details a|b>\n-|-\n"]
EXTENSIONS = ["table", "strikethrough", "autolink"]
OPTIONS = (
    cmark.Options.CMARK_OPT_UNSAFE
    | cmark.Options.CMARK_OPT_FOOTNOTES
    | cmark.Options.CMARK_OPT_GITHUB_PRE_LANG
)
# what the parser writes by itself; a tag of the text may look the same, but carries nothing
WRITTEN = re.compile(
    "a|blockquote|br|code|del|em|h[1-6]|hr|li|ol|p|pre|section|strong|sup|table|tbody|td|th|thead"
    "|tr|ul"
)
HIDDEN = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e01ef]")
CARRYING = {"a": "href", "li": "id", "ol": "start", "pre": "lang", "td": "align", "th": "align"}


def find_alive(text):
    """Yield what lives on GitHub in a text, as another HTML reader sees it."""
    html = cmark.markdown_to_html_with_extensions(text, OPTIONS, extensions=EXTENSIONS)
    page = BeautifulSoup(html, "html.parser")
    for tag in page.find_all(True):
        own = {CARRYING.get(tag.name), *(("class", "id") if tag.name in ("a", "sup") else ())}
        if not WRITTEN.fullmatch(tag.name):
            yield "element", str(tag)[:80]
        elif (
            any(n not in own and not n.startswith("data-") and n != "aria-label" for n in tag.attrs)
            and tag.name != "section"
        ):
            yield "attribute", str(tag)[:80]
        href = str(tag.get("href", ""))
        if ":" in href.split("/", maxsplit=1)[0] and not href.startswith((OWN, "mailto:")):
            yield "address", href
        if tag.name == "pre" and tag.get("lang") in (
            "mermaid",
            "math",
            "geojson",
            "topojson",
            "stl",
        ):
            yield "drawing", str(tag)[:80]
    for code in page.find_all(["code", "pre"]):
        code.replace_with("`")
    page.smooth()
    for words in page.find_all(string=True):
        yield from (("hidden", repr(each)) for each in HIDDEN.findall(words))
        yield from (("mention", each) for each in MENTION.findall(words))
        yield from (("address", each) for each in OUTSIDE.findall(words))
    for block in page.find_all(["p", "td", "th", "li", "h1", "h2", "h3", "h4", "h5", "h6"]):
        if block.find(["p", "li", "blockquote", "table"]) is None:
            yield from (("closing", each) for each in CLOSING.findall(block.get_text()))
            yield from (("command", each) for each in COMMAND.findall(block.get_text()))


@pytest.mark.parametrize("alive", [*ALIVE, *UNSEEN])
@pytest.mark.parametrize("shape", [*DEEP, *BEYOND, *SHAPES])
def test_what_one_parser_takes_for_harmless_is_not_published(shape, alive):
    published = publish_text(f"{shape}{alive}")
    assert list(find_alive(published)) == []
    assert publish_text(published) == published


def test_the_referee_sees_what_lives():
    kinds = {kind for alive in [*ALIVE, f"[x]({EVIL})"] for kind, _ in find_alive(alive)}
    assert kinds == {"element", "mention", "closing", "command", "address"}
    assert [kind for kind, _ in find_alive("```&#109;ermaid\ngraph\n```")] == ["drawing"]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("plain *words* and `code` with $5 or $6", set()),
        ("![x](y)", {"picture"}),
        ("a <b>", {"raw HTML"}),
        ("<!-- raw HTML omitted -->", {"raw HTML"}),
        ("`<!-- raw HTML omitted -->`", set()),
        ("```&#109;ath\nx\n```", {"drawing"}),
        ("[x](https://evil.test)", {"address"}),
        ("x[^1]\n\n[^1]: https://evil.test", {"address", "mention"}),
        ("me@example.com", set()),
        ("so $\\href{x}{y}$ is", {"math", "mention"}),
        ("$`x`$", {"math"}),
        ("@octocat", {"mention"}),
        ('[x](docs/a.md "hidden words")', {"hidden"}),
        ("a&#x202e;b&#x200b;c", {"hidden"}),
        ("a\u2060b \U0001f468\ufe0f", set()),
        ("`&#x202e;`", set()),
        ("closes #3", {"trigger"}),
        ("a\n/merge", {"trigger"}),
    ],
)
def test_effects_are_told_by_kind(text, kinds):
    assert find_effects(text, AllowedEffects(OWN)) == kinds


def write_hostile(chance):
    """Return a text of pieces that parsers are known to read differently."""
    nesting = [*DEEP, *SHAPES, "\n", "\n\n", "\n> ", "\n- ", "\n    ", "|", "`", "```\n", "~~~"]
    pool = [FRAGMENTS, FRAGMENTS, ALIVE, nesting]
    pieces = (chance.choice(chance.choice(pool)) for _ in range(chance.randint(1, 14)))
    return "".join(pieces)


def test_no_hostile_text_survives(request):
    chance = random.Random(request.config.getoption("--fuzz"))
    survivors = []
    for _ in range(hostile_texts(request, TEXTS)):
        text = write_hostile(chance)
        if alive := list(find_alive(publish_text(text))):
            survivors.append((text, alive))
    assert survivors == []


ORDER = "/bot approve k3f9x2"
SURROUNDING = ["<details>\n", "<!--\n", "<pre>\n", "<del>", "> ", "```\n", "\n\n", "\n", "-->\n"]


def count_orders(body):
    """Return how many lines that nothing surrounds begin with the command.

    A paragraph is a heading where `---` follows, as the line above a signature does.
    """
    sent = body.encode("utf-8", "replace").decode("utf-8")
    html = cmark.markdown_to_html_with_extensions(sent, OPTIONS, extensions=EXTENSIONS)
    # A browser takes it for a comment, and this reader for a mistake.
    page = BeautifulSoup(re.sub(r"<!\[[^>]*>?", "", html), "html.parser")
    for hidden in page.find_all(string=lambda words: isinstance(words, Comment)):
        hidden.extract()
    plain = [each for each in page.find_all(["p", "h1", "h2"]) if each.parent is page]
    for paragraph in plain:
        for inside in paragraph.find_all(True):
            inside.replace_with("`")
    lines = [line.strip() for each in plain for line in each.get_text().split("\n")]
    return sum(line.startswith(ORDER) for line in lines)


def test_half_a_character_hides_no_command():
    """JSON can carry one half of a surrogate pair, which UTF-8 cannot."""
    assert len(parse_commands(f"\ud800\n\n{ORDER}")) == 1


def test_no_hostile_comment_has_a_command_that_people_do_not_see(request):
    times = request.config.getoption("--fuzz")
    chance, read, survivors = random.Random(times), 0, []
    for _ in range(hostile_texts(request, TEXTS)):
        parts = [write_hostile(chance), chance.choice(SURROUNDING), ORDER, "\n"]
        body = "".join([chance.choice(SURROUNDING), *parts, write_hostile(chance)])
        found = len(parse_commands(body))
        read += found
        if found > count_orders(body):
            survivors.append(body)
    assert survivors == []
    assert read > 0


@pytest.mark.parametrize(
    "body",
    [
        "<details a|b>\n-|-\n/bot approve k3f9x2\n</details>",
        "<details a|b>\n-|-\n\n/bot approve k3f9x2",
        f"{'> ' * 25}a\n/bot approve k3f9x2",
        f"{'- ' * 30}a\n/bot approve k3f9x2",
        "<x-y>\n\n/bot approve k3f9x2",
        "[^1]: a\n\n    b\n/bot approve k3f9x2\n\nx[^1]",
    ],
)
def test_what_the_parsers_read_differently_is_no_command(body):
    assert parse_commands(body) == ()


@pytest.mark.parametrize(
    "body", ["/bot approve k3f9x2?", "/bot approve k3f9x2 ?", "/bot approve k3f9x2 shall I?"]
)
def test_who_asks_has_not_said_yes(body):
    assert [said.approval for said in parse_commands(body)] == ["k3f9x2?"]
