"""HTML of strangers: whatever it is, it is read to its end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.text.markdown import HtmlReader

BITS = st.sampled_from(
    ["<!", "<![", "<!--", "-->", "]]>", "<?", "<a ", "</", "<p", ">", "[", "&#", "'", '"', "x", " "]
)


class Tags(HtmlReader):
    """Collects the elements that begin."""

    def __init__(self):
        super().__init__()
        self.begun = []

    def handle_starttag(self, tag, attrs):
        self.begun.append(tag)


@given(st.lists(BITS, max_size=40).map("".join))
def test_nothing_makes_it_give_up(text):
    reader = Tags()
    reader.feed_part(text)
    reader.feed_part("<b>")
    assert reader.begun[-1] == "b"


@pytest.mark.parametrize("odd", ["<![x]>", "<![if a]>", "<![CDATA[<i>]]>", "<![--<u]>", "<!x [<!>"])
def test_odd_declarations_are_comments(odd):
    reader = Tags()
    reader.feed_part(f"<p>{odd}<s>")
    assert reader.begun[0] == "p"
    assert reader.begun[-1] == "s"
    assert "u" not in reader.begun
