"""Published text: nothing in it acts, whatever the model was talked into writing."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agents.text import publish
from agents.text.outgoing import LIMIT

OWN = "https://github.com/octo/parse"
WJ = "\u2060"


def publish_text(text, **options):
    settings_ = {
        "repository_url": OWN,
        "mention_ok": frozenset({"Asker"}),
        "closes": frozenset({7}),
    }
    return publish(text, **settings_ | options)


TABLE = [
    # images and HTML (row 7)
    ("![secret](https://evil.test/?d=1)", "secret"),
    ("![a][r] end\n\n[r]: https://evil.test/?d=1", "a end"),
    ('<img src="https://evil.test/?d=1">x', "x"),
    ("a <picture><source srcset=//evil.test></picture> b", "a  b"),
    ('<svg onload="x()"/>', ""),
    ("<details>\n<summary>More</summary>\n\ntext\n</details>", "More\n\ntext"),
    ("line<br>next <!-- hidden --> end", "line next  end"),
    ("a `Vec<T>` and Vec<T>", "a `Vec<T>` and Vec\\<T>"),
    # links
    ("[click](https://evil.test/a?secret=1)", "click (`https://evil.test/a…`)"),
    ("[https://evil.test](https://evil.test)", "`https://evil.test`"),
    ("<https://evil.test/x#y>", "`https://evil.test/x…`"),
    ("see https://evil.test/q?x=1.", "see `https://evil.test/q…`."),
    ("see WWW.evil.test now", "see `WWW.evil.test` now"),
    ("[x](&#104;ttps://evil.test)", "x (`https://evil.test`)"),
    ("[x](//evil.test/a)", "x (`//evil.test/a`)"),
    ("[x](https://github.com/octo/parse-evil)", "x (`https://github.com/octo/parse-evil`)"),
    (
        "[x](https://github.com/octo/parse/../../evil)",
        "x (`https://github.com/octo/parse/../../evil`)",
    ),
    (
        "[x](https://github.com@evil.test/octo/parse)",
        "x (`https://github.com@evil.test/octo/parse`)",
    ),
    ('[x](docs/a.md "hidden words")', "[x](docs/a.md)"),
    ("[r]: https://evil.test/?d=1\n\ntext", "text"),
    # mentions and references (row 8)
    ("hi @octocat, @org/team", f"hi @{WJ}octocat, @{WJ}org/team"),
    ("&#64;octocat \\@octocat @<b></b>octocat", f"@{WJ}octocat @{WJ}octocat @{WJ}octocat"),
    ("thanks @asker and @asker-not", f"thanks @asker and @{WJ}asker-not"),
    ("(@a) é@b x@c.de", f"(@{WJ}a) é@{WJ}b x@c.de"),
    (
        "| a | b |\n| --- | --- |\n| @x \\| y | `p\\|q` |",
        f"| a | b |\n| --- | --- |\n| @{WJ}x \\| y | `p\\|q` |",
    ),
    ("like other/repo#5 and user#3", "like `other/repo#5` and `user#3`"),
    ("like octo/parse#5 and #3", "like octo/parse#5 and #3"),
    # closing keywords
    ("Fixes #12", f"Fixes{WJ} #12"),
    ("fixed: #12, **closes** #13", f"fixed{WJ}: #12, **closes{WJ}** #13"),
    ("Resolves\n#12", f"Resolves{WJ}\n#12"),
    ("Resolves #7 and fixes octo/parse#7", "Resolves #7 and fixes octo/parse#7"),
    (
        "Fixes https://github.com/octo/parse/issues/9",
        f"Fixes{WJ} <https://github.com/octo/parse/issues/9>",
    ),
    ("Fixes GH-4 and prefixes #4", f"Fixes{WJ} GH-4 and prefixes #4"),
    # commands
    ("/merge", f"{WJ}/merge"),
    ("a\n  /lgtm cancel\nb", f"a\n  {WJ}/lgtm cancel\nb"),
    ("- /approve", f"- {WJ}/approve"),
    ("/usr/bin/python runs", "/usr/bin/python runs"),
    # characters
    ("a\u202eb\u200bc\x07d\U000e0041", "abcd"),
    ("a&#x202e;b", "ab"),
    # code
    ("```mermaid\ngraph\n```", "```text\ngraph\n```"),
    (
        "```py\n@x fixes #9 <img> https://evil.test\n```",
        "```py\n@x fixes #9 <img> https://evil.test\n```",
    ),
    ("`@x` `fixes #9` `<img>`", "`@x` `fixes #9` `<img>`"),
    ("```py\nopen", "```py\nopen\n```"),
    ("`<!-- fettle run=1 -->`", f"`<!--{WJ} fettle run=1 -->`"),
    # left alone
    ("- [x] done @a\n- [ ] open", f"- [x] done @{WJ}a\n- [ ] open"),
    ("> [!NOTE]\n> see @a", f"> [!NOTE]\n> see @{WJ}a"),
    (
        "# Title\n\n1. *a* **b** ~~c~~\n   - d\n\n> q",
        "# Title\n\n1. *a* **b** ~~c~~\n   - d\n\n> q",
    ),
    (
        "[in](https://github.com/octo/parse/blob/main/a.py#L3)",
        "[in](https://github.com/octo/parse/blob/main/a.py#L3)",
    ),
    ("[^1] note\n\n[^1]: word", "[^1] note\n\n\\[^1]: word"),
]


@pytest.mark.parametrize(("text", "expected"), TABLE)
def test_what_acts_is_defused(text, expected):
    published = publish_text(text)
    assert published == expected
    assert publish_text(published) == published


def test_an_ordinary_text_is_published_byte_for_byte():
    text = (
        "The cause is in `parse()`: *six* digits_only were read, see [it](src/parse.py#L10).\n"
        "\n* one & two < three\n* `a|b`\n\n| Check | Result |\n| :-- | --: |\n| tests | ok |\n"
        "\n---\n"
        "\n```diff\n- old @x\n+ new\n```\nDone, 50% at $5!"
    )
    assert publish_text(text) == text


def test_without_a_repository_no_absolute_link_lives():
    text = "[x](https://github.com/octo/parse) #7"
    assert publish(text) == "x (`https://github.com/octo/parse`) #7"


@pytest.mark.parametrize(
    "text", ["```\nx", "~~~~\n```", "> ```\n> x", "- a\n  ```\n  x", "<pre>\nx", "<!-- x"]
)
def test_what_follows_is_not_swallowed(text):
    tokens = MarkdownIt("commonmark").parse(f"{publish_text(text)}\n\nResolves #7")
    assert [t.content for t in tokens if t.type == "inline"][-1] == "Resolves #7"
    assert tokens[-1].level == 0


@pytest.mark.parametrize("unit", ["word ", "<b>@x*_", "line\n", "```\n"])
def test_long_text_is_shortened_and_says_so(unit):
    text = unit * (80_000 // len(unit))
    published = publish_text(text)
    assert len(published) <= LIMIT
    assert re.search(r"\[[\d,]+ more characters left out\]$", published)
    assert publish_text(published) == published


# --- whatever comes -----------------------------------------------------------------------------

FRAGMENTS = [
    *(text for text, _ in TABLE),
    *(
        "\n",
        "\n\n",
        " ",
        "  \n",
        "\\",
        "*",
        "**",
        "_",
        "`",
        "``",
        "```",
        "~~~",
        "[",
        "]",
        "(",
        ")",
        "!",
        "<",
        ">",
    ),
    *(
        "> ",
        "- ",
        "1. ",
        "# ",
        "    ",
        "\t",
        "|",
        "|---|\n",
        "---\n",
        "===\n",
        "&lt;",
        "&amp;",
        "&#64;",
        "@",
        "/",
    ),
    *(
        "<b>",
        "</b>",
        "<!--",
        "-->",
        "<?",
        "<![CDATA[",
        "<script>",
        "<div>",
        "<a href='https://evil.test'>",
        "<x:y>",
    ),
    *(
        "https://evil.test/",
        "www.",
        "http:",
        "//",
        "octocat",
        "fixes ",
        "#9",
        "![",
        "](",
        "][",
        "]: ",
        "[r]: x\n",
    ),
    *(
        "\u2060",
        "\u200b",
        "\ud800",
        "\x00",
        "\r",
        "\u00a0",
        "<https://evil.test>",
        "<m@x.yz>",
        "$",
        "~~",
        "[^1]: ",
    ),
]
hostile = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=4)), max_size=14).map(
    "".join
)
MENTION = re.compile(r"(?<![A-Za-z0-9_])@(?!asker(?![A-Za-z0-9-]|/))[A-Za-z0-9]", re.IGNORECASE)
OUTSIDE = re.compile(
    r"https?://(?=[^\s<>\"`])(?!github\.com/octo/parse(?![^/#?\s.,;:!?'*_~)\]}]))|(?<![A-Za-z0-9])www\.[^\s<>\"`]",
    re.IGNORECASE,
)


CLOSING = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(?!7\b)\d+", re.IGNORECASE)
COMMAND = re.compile(r"^\s*/[a-z]+(?=\s|$)", re.IGNORECASE | re.MULTILINE)


def visible_text(block):
    breaks = {"softbreak": "\n", "hardbreak": "\n", "code_inline": "`"}
    children = block.children or []
    return "".join(breaks.get(c.type, c.content if c.type == "text" else "") for c in children)


def referee(text):
    """Read the text with a parser of its own and yield what lives in it."""
    md = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for block in md.parse(text):
        if block.type == "html_block":
            yield "html", block.content
        yield from (("closing", found) for found in CLOSING.findall(visible_text(block)))
        yield from (("command", found) for found in COMMAND.findall(visible_text(block)))
        for child in block.children or []:
            if child.type in ("image", "html_inline"):
                yield child.type, child.content
            elif child.type == "link_open":
                href = child.attrs["href"]
                if ":" in href.split("/")[0] and not href.startswith(OWN):
                    yield "link", href
            elif child.type == "text":
                yield from (("mention", m) for m in MENTION.findall(child.content))
                yield from (("url", m) for m in OUTSIDE.findall(child.content))


@given(hostile)
def test_nothing_lives_and_doing_it_again_changes_nothing(text):
    published = publish_text(text)
    assert list(referee(published)) == []
    assert publish_text(published) == published


@given(hostile)
@example("```mermaid\ngraph\n```\xa0")  # which closes nothing
@example("```\na\n    ```")
def test_words_after_it_are_read_as_they_stand(text):
    tokens = MarkdownIt("commonmark").parse(f"{publish_text(text)}\n\nResolves #7\n")
    assert [t.content for t in tokens if t.type == "inline"][-1] == "Resolves #7"


@pytest.mark.parametrize(
    ("href", "alive"),
    [
        ("https://github.com/advisories/GHSA-h5c8-rqwp-cp95", True),
        ("https://github.com/advisories/GHSA-h5c8-rqwp-cp95?q=secret", False),
        ("https://github.com/advisories/GHSA-h5c8-rqwp-cp95/../../evil", False),
        ("https://github.com/advisories/GHSA-aaaa-aaaa-aaaa", False),
        ("https://github.com/advisories/", False),
        ("https://github.com.evil.example/advisories/GHSA-h5c8-rqwp-cp95", False),
        ("http://github.com/advisories/GHSA-h5c8-rqwp-cp95", False),
    ],
)
def test_an_advisorys_own_page_may_be_linked_and_nothing_else_of_that_place(href, alive):
    said = publish(f"See [it]({href}).", repository_url="https://github.com/octo/parse")
    assert (f"]({href})" in said) == alive
