"""Find what newly keeps the assertions of a shell test from running, or from failing it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from agents.analysis.weakening.diff_views import FileDiff, ViewLine, list_fresh_lines
from agents.analysis.weakening.test_changes import ParsedSuite

_ENDS = re.compile(
    r"""^(?:exit|return)(?:\s+0)?\s*(?:\#.*)?$ | ^\s*set\s+(?:-\w+\s+)*\+(?:\w*e|o\s+errexit)
      | ^\s*(?:function\s+)?(?:test|\[|diff|cmp|e?f?grep|exit)\s*\(\)
      | ^\s*alias\s+(?:test|diff|cmp|e?f?grep|exit)=
      | ^\s*trap\b.*\bexit\s+0\b""",
    re.VERBOSE,
)
"""What stands behind it does not run, or what fails a test does not."""
_SHADOWS = re.compile(
    r"^\s*(?:(?:function\s+)?(fail\w*|die|assert\w*)\s*\(\)|alias\s+(fail\w*|die|assert\w*)=)"
)
"""And so does this, where something of that name was called before."""
_ENDS_EARLY = re.compile(
    r"^exec\s+(?![<>&{\"$\d])\S|^(?!if\b|case\b|for\b|while\b)[^|&#'\"]*;\s*exit(?:\s+0)?\s*$"
)
"""So do these, where assertions stand behind them."""
_NEVER = re.compile(
    r"^\s*(?:(?:if|elif|while)\s+(?:false\b|!\s*(?:true|:)(?!\w)|\[+\s+(?:\"\"\s+)?\]|test\s*;)"
    r"|until\s+(?:true|:)(?!\w)|for\s+\w+\s+in\s*(?:;|$))"
)
_TEXT = re.compile(r"^\s*(?::|true)\s.*?<<-?\s*[\\'\"]?(\w+)")
"""Begins a text that no program reads, and names the word that ends it."""
_FUNCTION = re.compile(r"^\s*(?:function\s+(\w+)\s*(?:\(\)\s*)?|(\w+)\s*\(\)\s*)[({]")
_WORD = re.compile(r"[\w-]+")
_CALLED = re.compile(r"[\w-]+")
_BEGINS = re.compile(
    r"^\s*(?:if|while|until|for|case)\b|^\s*[({]\s*$|^\s*(?:function\s+)?\w+\s*\(\)\s*[({]\s*$"
)
_CLOSES = re.compile(r"^\s*(?:fi|done|esac|[)}])(?!\w)")
_OTHERWISE = re.compile(r"^\s*(?:else|elif)\b")
_HIDES = re.compile(r"^\s*(?:fi|done|esac|[)}])\s*(?:&\s*$|\|\|\s*(?:true|:|echo)(?!\w))")
"""Closes a block whose failure nobody hears of."""
_HIDDEN = re.compile(r"\s*(?:\|\|\s*(?:true|:)|(?<![&>])&)\s*$")
MOST = 100  # new lines of a script of which it is told what stands behind them, or within

_CLEANS = re.compile(
    r"\s*(?:(?:sudo|command)\s+)?(?:rm|rmdir|p?kill|killall|wait|umount|docker|podman|trap|unset"
    r"|cp|mv|mkdir|chmod|read|let|git|set|shopt|sleep|cd|popd|pushd|export|echo|printf)\b"
)
"""Commands that prepare or clean up: nobody tests them."""


def find_bypassed_shell(suite: ParsedSuite) -> Iterator[ViewLine]:
    """Yield the new lines of a script that disable assertions which it had before."""
    change = suite.change
    if change.language != "shell" or change.old is None:
        return
    fresh = list_fresh_lines(change.before, change.after)
    asserted = {one.line for case in suite.after for one in case.asserted}
    asserted -= {line.number for line in fresh}
    called = {name for line in change.before for name in _CALLED.findall(line.text)}
    for line in fresh:
        at_end = line.text.startswith(("exit", "return")) and line == change.after[-1]
        shadows = _SHADOWS.match(line.text)
        if (_ENDS.search(line.text) and not at_end) or (shadows and called & {*shadows.groups()}):
            yield line
    yield from _list_silencers(change.after, fresh, asserted)
    yield from _list_hidden(change, fresh)


def _list_silencers(
    lines: Sequence[ViewLine], fresh: Sequence[ViewLine], asserted: set[int]
) -> Iterator[ViewLine]:
    """Yield the new lines because of which assertions do not run, or fail nobody."""
    words = Counter(word for line in lines for word in set(_WORD.findall(line.text)))
    places = {line.number: at for at, line in enumerate(lines)}
    left = MOST
    for line in fresh:
        if not (left and (find := _choose_search(line.text, words))):
            continue
        left -= 1
        begin, end = find(lines, places[line.number])
        if not left or any(each.number in asserted for each in lines[begin:end]):
            yield line


Search = Callable[[Sequence[ViewLine], int], tuple[int, int]]


def _choose_search(text: str, words: Mapping[str, int]) -> Search | None:
    """Return what tells which lines do not run, or fail nobody, because of this one."""
    if _ENDS_EARLY.search(text):
        return lambda lines, at: (at + 1, len(lines))
    if _HIDES.match(text):
        return lambda lines, at: (_find_start(lines, at), at)
    if _TEXT.match(text):
        return _find_text
    function = _FUNCTION.match(text)
    if _NEVER.match(text) or (function and words[function[1] or function[2]] == 1):
        return lambda lines, at: (at + 1, _find_end(lines, at))
    return None


def _find_text(lines: Sequence[ViewLine], at: int) -> tuple[int, int]:
    found = _TEXT.match(lines[at].text)
    word = found[1] if found else ""
    ends = (n for n in range(at + 1, len(lines)) if lines[n].text.strip() == word)
    return at + 1, next(ends, at)


def _find_end(lines: Sequence[ViewLine], start: int) -> int:
    """Return the line that closes the block which begins here."""
    depth = 0
    for at in range(start, len(lines)):
        text = lines[at].text
        depth += bool(_BEGINS.match(text)) - bool(_CLOSES.match(text))
        if at > start and (depth <= 0 or (depth == 1 and _OTHERWISE.match(text))):
            return at
    return len(lines)


def _find_start(lines: Sequence[ViewLine], end: int) -> int:
    """Return the line that begins the block which is closed here."""
    depth = 0
    for at in range(end, -1, -1):
        text = lines[at].text
        depth += bool(_CLOSES.match(text)) - bool(_BEGINS.match(text))
        if depth <= 0:
            return at
    return 0


def _list_hidden(change: FileDiff, fresh: Sequence[ViewLine]) -> Iterator[ViewLine]:
    """Yield the commands that ran before and whose failure is hidden now."""
    there = {line.text.strip() for line in change.after}
    gone = {line.text.strip() for line in change.before if line.number} - there
    for line in fresh:
        plain = _HIDDEN.sub("", line.text)
        if plain != line.text and plain.strip() in gone and not _CLEANS.match(plain):
            yield line
