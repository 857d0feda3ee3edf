"""Parse assertions, and compare how much each demands before and after a change."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from agents.analysis.weakening.assertion_strength import (
    Strength,
    is_broader,
    is_looser,
    read_demands,
    says_nothing,
)
from agents.analysis.weakening.diff_views import ViewLine

LONGEST = 60  # lines of one assertion

_ASSERTION = re.compile(
    r"""^\s*(?:await\s+|return\s+|async\s+|yield\s+|cy\.|\}\s*|else\s+)*(?:
        assert\b(?!\w)(?!\s*=[^=])
      | (?:self|cls|this|super|tt?|\$this|self::|static::)?[.:>-]*(?:assert|refute)
            _?[A-Za-z]*\w*!?\s*[(\s]
      | (?:[\w$]+(?:\.|->|::))*[aA]ssert\w*(?:\.|::|->)\w+
      | (?:debug_)?assert\w*!\s*[(\[{]
      | (?:a?with\s+)?[\w.]*\b(?:raises|warns|deprecated_call|assert\w+)\s*[(\s]
      | (?:a?with\s+)?\w+\.(?:assert[A-Z_]\w*)\s*\(
      | expect(?:[A-Z_]\w*)?(?:\.\w+)*\s*[({!]
      | (?:[\w.()\[\]'"-]+)\.(?:should|must_\w+|shouldBe\w*|assert_\w+)\b
      | (?:t|b|tb|s|suite|require|assert|is|c)\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow|Equal\w*
            |NotEqual|Nil|NotNil|NoError\w*|True|False|Len|Contains|Empty|ErrorIs|ErrorAs|Eq|Assert
            |is|not|same|deepEqual|throws\w*|ok)\s*\(
      | (?:EXPECT|ASSERT|CHECK|REQUIRE|BOOST|XCTAssert|STATIC_REQUIRE)\w*\s*\(
      | (?:verify|inOrder\.verify|StepVerifier|check_\w+|verify_\w+|expect_\w+|ensure_\w+)\s*\(
      | (?:\#expect|\#require)\s*\(
      | \#\[should_panic | is_expected\b | fail\s*\( | \[\s.*\]$ | run\s+!
    )""",
    re.VERBOSE,
)
_DIRECT = re.compile(r"(?:await )?(?:[\w$]+(?:\.|::|->))*(?:assert|expect)")
_MORE = re.compile(r"^\s*(?:\.|\)\.|->|&&|\|\||and\b|or\b|\?)")
_TEXTS = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`(?:\\.|[^`\\])*`")
_IF = re.compile(r"^\s*(?:\}\s*else\s+)?if\b.*\{\s*$")
_TOKEN = re.compile(r"\"[^\"]*\"|'[^']*'|\w+|[^\w\s]")
_LITERAL = re.compile(
    r"\"[^\"]*\"|'[^']*'|`[^`]*`|\b\d[\w.]*|\b(?:True|False|None|true|false|null|nil|undefined)\b"
)
_LISTING = re.compile(r"[\s,()\[\]{}:]+")
_NAME = re.compile(r"[A-Za-z_]\w*")
_PLUMBING = re.compile(
    r"an?|and|approx|as|assert|async|await|be|cls|exactly|expect|false|have|in|instanceof|is"
    r"|isinstance|len|not|null|nil|none|of|or|pytest|raises|self|should|static|this|to|true|t|that"
    r"|undefined|with",
    re.IGNORECASE,
)
_ASSERT_NAME = re.compile(
    r"(?:assert|expect|refute|require|XCT|to[A-Z]|be_|match|contain|deep[A-Z])\w*"
    r"|(?i:equals?|same|eql?|not_?(?:equal|null|nil)|null|empty|contains?|errorf?|fatalf?|not_to)",
    re.ASCII,
)


@dataclass(frozen=True)
class Assertion:
    """One assertion, in one line without its formatting."""

    line: int
    text: str

    @cached_property
    def tokens(self) -> Counter[str]:
        """Return its words and signs."""
        return Counter(_TOKEN.findall(self.text))

    @property
    def literals(self) -> list[str]:
        """Return the values that it writes out."""
        return [each.strip("\"'`") for each in _LITERAL.findall(self.text)]

    @property
    def skeleton(self) -> str:
        """Return what is left of it without its values."""
        return _LISTING.sub("", _LITERAL.sub("", self.text))

    @property
    def constant(self) -> bool:
        """Return whether it compares written values alone, and never the code."""
        return bool(_DIRECT.match(self.text) and self.literals and not self.subject)

    @cached_property
    def subject(self) -> frozenset[str]:
        """Return the names that it speaks of, beside the words that all assertions have."""
        names = _NAME.findall(_TEXTS.sub("", self.text))
        return frozenset(
            name
            for name in names
            if not _PLUMBING.fullmatch(name) and not _ASSERT_NAME.fullmatch(name)
        )


class AssertionChange(IntEnum):
    """How one assertion differs from the one whose place it took."""

    NONE = 0
    EXPECTATION = 1
    WEAKER = 2


def find_assertions(lines: Sequence[ViewLine]) -> Iterator[Assertion]:
    """Yield the assertions in the lines of a test, each with all of its lines."""
    at = 0
    while at < len(lines):
        first = lines[at]
        if not _ASSERTION.match(first.text):
            at += 1
            continue
        end = _end(lines, at)
        guard = lines[at - 1].text if at and _IF.match(lines[at - 1].text) else ""
        text = normalize(" ".join([guard, *(line.text for line in lines[at:end])]))
        made = Assertion(first.number, text)
        if not says_nothing(text) and not made.constant:
            yield made
        at = end


def normalize(text: str) -> str:
    """Return the text without what formatters change: spaces, quotes, last commas."""
    text = " ".join(text.replace("'", '"').split()).rstrip(";,{ ")
    text = re.sub(r",\s*([)\]}])", r"\1", text)
    return re.sub(r"\s*([^\w\s\"])\s*", r"\1", text)


def measure_similarity(one: Assertion, other: Assertion) -> float:
    """Return how much two assertions have in common, from 0 to 1."""
    mine, theirs = one.tokens, other.tokens
    total = mine.total() + theirs.total()
    return 2 * (mine & theirs).total() / total if total else 0.0


def compare(gone: Assertion, new: Assertion) -> AssertionChange:
    """Return what it means that the one took the place of the other."""
    before, after = read_demands(gone.text), read_demands(new.text)
    if Strength.RAISES in (before, after):
        return _compare_raises(gone, new) if before is after else AssertionChange.NONE
    if not _same_subject(gone, new):
        return AssertionChange.NONE
    if after < before or is_looser(gone.text, new.text):
        return AssertionChange.WEAKER
    if after is before and gone.skeleton == new.skeleton and gone.literals != new.literals:
        return AssertionChange.EXPECTATION
    return AssertionChange.NONE


def _compare_raises(gone: Assertion, new: Assertion) -> AssertionChange:
    if is_broader(gone.text, new.text):
        return AssertionChange.WEAKER
    return AssertionChange.NONE if is_broader(new.text, gone.text) else AssertionChange.EXPECTATION


def _same_subject(gone: Assertion, new: Assertion) -> bool:
    mine, theirs = gone.subject, new.subject
    if not mine or not theirs:
        return gone.skeleton == new.skeleton
    return len(mine & theirs) / min(len(mine), len(theirs)) > 0.5


def _end(lines: Sequence[ViewLine], start: int) -> int:
    """Return behind which line the assertion is over: where its brackets close."""
    depth, at = 0, start
    while at < len(lines) and at - start < LONGEST:
        text = _TEXTS.sub('""', lines[at].text)
        depth += sum(text.count(sign) for sign in "([{") - sum(text.count(sign) for sign in ")]}")
        at += 1
        open_block = depth == 1 and text.rstrip().endswith(("{", ":"))
        goes_on = at < len(lines) and _MORE.match(lines[at].text)
        if (depth <= 0 and not goes_on and not text.endswith("\\")) or (
            open_block and "with" in text
        ):
            break
    return at
