"""Rank assertions by strength: exact value, approximate, partial, or mere existence."""

from __future__ import annotations

import re
from enum import IntEnum


class Strength(IntEnum):
    """What passes an assertion, from nearly everything to one value alone."""

    PRESENT = 0
    PART = 1
    NEARLY = 2
    EXACT = 3
    RAISES = 9
    """Not on that scale: it demands a failure."""


_NOTHING = re.compile(
    r"""^assert\(?(?:True|true|1|not\ False|!false)\)?(?:$|,)
      | ^\W*(?:\w+[.:>-]+)*assert_?(?:True|that|!)?\(?(?:True|true)\)
      | ^(?:await\s)?expect\((?P<v>true|false|1|0|null|undefined|\"[^\"]*\")\)\.\w+\((?P=v)?\)
      | (?:[eE]quals?|_eq!?|Same|EQ)\((?:t,)?(?P<a>[^=]{1,200}),(?P=a)\)$
      | ^assert\b\W?(?P<b>[^=]{1,200})==(?P=b)$
      | ^(?:await\s)?expect\((?P<c>[^=]{1,200})\)\.to(?:Be|Equal|StrictEqual)\((?P=c)\)$
      | ^assert\b\W?[^=]+==(?:mock\.)?ANY$
      | ^(?:EXPECT|ASSERT|CHECK|REQUIRE)(?:_TRUE)?\((?:true|1)\)
      | ^if\sfalse\b""",
    re.VERBOSE,
)
_OR_ALWAYS = re.compile(r"\bor (?:True|1)\b|\|\|(?:true|1)\b")
_OR = re.compile(r"\bor\b|\|\|")
_RAISES = re.compile(
    r"""raises\b|assert_?[rR]aise|[tT]hrow|raise_error|should_panic|expectException
      |assertThatExceptionOf|assertFailsWith|rejects|pytest\.warns|\.warns\(|ErrorIs|ErrorAs""",
    re.VERBOSE,
)
_NEARLY = re.compile(
    r"""approx\b|[aA]lmost|isclose|allclose|CloseTo|InDelta|InEpsilon|_NEAR\(|FLOAT_EQ|be_within
      |beCloseTo|closeTo|accuracy:|_relative_eq|abs_diff_eq|WithinAbs""",
    re.VERBOSE,
)
_BOOLEAN = re.compile(
    r"""(?:==|===|\bis\s|toBe\(|[eE]quals?\(|_eq!\()[^=]*\b(?:True|False|true|false)\b
      |,(?:True|False|true|false)\)|(?:True|true|False|false)==""",
    re.VERBOSE,
)
_EXACT = re.compile(
    r"""(?<![!<>=])==(?!=)|===|\bis\s(?!not\b)|is_none|\bis_?None|IsNone|[nN]ull\b(?<!Not[nN]ull)
      |[eE]quals?\b|[eE]qual[A-Z_!(]|_eq\w*!?\(|_EQ\(|STREQ|[sS]ame\w*\(|AreEqual|\btoBe\(
      |toEqual|toStrictEqual|Snapshot\(|toHaveBeen(?:Nth|Last)?CalledWith|toHaveLength
      |toHaveBeenCalledTimes|\.eql?\b|\beql?\(|equalTo|isEqualTo|assert_called_(?:once_)?with
      |assert_has_calls|shouldBe|\bEq\(|DeepEqual|cmp\.Diff|\.Len\(|\bbe\(|toBeNull|toBeUndefined
      |assertCount|\bAssert\.(?:Single|Empty)\(|^if\s.*!=(?!nil|null)|\.is\(|\bexactly\b|assertDict|assertList|matches!""",
    re.VERBOSE,
)
_NOT_EXACT = re.compile(
    r"[nN]ot_?(?:[eE]qual|Same|Null|None)|_ne!?\(|_NE\(|assertNot|\.not\.|should_not|to_not|not_to"
)
_PART = re.compile(
    r"""\bin\b|[aA]ssert_?(?:Not)?_?[iI]n\b|[cC]ontain|[mM]atch|[rR]egex|[sS]tarts|[eE]nds|[hH]as
      |[<>]|[gG]reater|[lL]ess|[sS]ubset|\bany\(|\ball\(|[iI]nclude|_[GL][TE]\(|Len""",
    re.VERBOSE,
)

_BROAD = frozenset(
    ("", "Exception", "BaseException", "Throwable", "StandardError", "Error", "\\Exception")
)
_EXCEPTIONS = re.compile(
    r"""(?:raises\w*|assert_?[rR]aises?\w*|warns|[aA]ssertThrows\w*|assertFailsWith|raise_error
      |toThrow\w*|Throws\w*|expectException|should_panic|ErrorIs|ErrorAs|THROW|throws)
      [(<\s]*(?P<what>[\\\w.:]*)""",
    re.VERBOSE,
)
_WORDED = re.compile(
    r"match=|Regex|expected=|withMessage|,\"|\(\"|[(,]/|_with_message|Message|\bmessage:"
)
_CODE = re.compile(
    r"(?:\)|(?<=[(,])\w{1,60})[=-]>\{?|(?<=[)\w>])\{|\blambda\b[^:]{0,80}:|\(try[!?]? |_THROW\w*\("
    r"|\bexpect\("
    r"|(?:\b[rR]aises|assertRaises)\((?:[\w.]{1,120}|\([\w.,]{1,200}\)),(?=[\w.]{1,120}[,)])"
)
"""Begins the code that is to fail: a function, a block, or what is called with its arguments."""
_WHOLE = ("{", ",")
_SIGN = re.compile(r"\"(?:\\.|[^\"\\])*+\"|[][(){},]")
_TOLERANCE = re.compile(
    r"\b(?P<name>places|rel|abs|atol|rtol|delta|rel_tol|abs_tol|tolerance|eps(?:ilon)?|accuracy)"
    r"\s*[=:]\s*(?P<value>[\d.]+(?:[eE][+-]?\d+)?)"
)
_LAST = re.compile(r",(?P<value>[\d.]+(?:[eE][+-]?\d+)?)\)*$|CloseTo\((?:.*,)?(?P<only>[\d.]+)\)$")
_WITHIN = re.compile(r"be_within\((?P<value>[\d.]+)\)")
_FINER_WHEN_MORE = re.compile(r"places|toBeCloseTo|assertAlmostEquals?\(|assertNotAlmostEquals?\(")
_NUMBERED = re.compile(r"CloseTo|_NEAR\(|InDelta|InEpsilon|[aA]lmostEquals?\(|be_within")


def says_nothing(text: str) -> bool:
    """Return whether the assertion always passes."""
    return bool(_NOTHING.search(text) or _OR_ALWAYS.search(text))


def read_demands(text: str) -> Strength:
    """Return what the assertion demands, read from its words."""
    if _RAISES.search(text):
        return Strength.RAISES
    if _NEARLY.search(text):
        return Strength.NEARLY
    if _BOOLEAN.search(text):  # the same as saying that it is so
        return Strength.PRESENT
    if _EXACT.search(text) and not _NOT_EXACT.search(text):
        return Strength.EXACT
    return Strength.PART if _PART.search(text) else Strength.PRESENT


def is_broader(gone: str, new: str) -> bool:
    """Return whether the new one is content with more exceptions than the old one was."""
    before, after = _exception(gone), _exception(new)
    if after in _BROAD and before not in _BROAD:
        return True
    worded = _WORDED.search(_leave_out_code(gone))
    return bool(worded) and not _WORDED.search(_leave_out_code(new))


def _leave_out_code(text: str) -> str:
    """Return what raises demand without the code that is to fail: its own texts demand nothing."""
    kept, at = list[str](), 0
    for found in _CODE.finditer(text):
        if found.start() >= at:
            kept.append(text[at : found.end()])
            at = _find_end(text, found.end(), to_end=found[0][-1:] in _WHOLE)
    return "".join((*kept, text[at:]))


def _find_end(text: str, start: int, *, to_end: bool) -> int:
    """Return where an argument is over, or, to the end, a block or all arguments."""
    depth = 0
    for found in _SIGN.finditer(text, start):
        sign = found[0]
        if depth == 0 and (sign in ")]}" or (sign == "," and not to_end)):
            return found.start()
        depth += (sign in "([{") - (sign in ")]}")
    return len(text)


def is_looser(gone: str, new: str) -> bool:
    """Return whether the new one allows more: a larger distance, or another way to pass."""
    if _OR.search(new) and not _OR.search(gone):
        return True
    if read_demands(gone) is not Strength.NEARLY or read_demands(new) is not Strength.NEARLY:
        return False
    before, after = _tolerances(gone), _tolerances(new)
    if "last" in before.keys() & after.keys():
        return _worse(new, before["last"], after["last"])
    return any(
        (value < before.get(name, 7)) if name == "places" else (value > before.get(name, 1e-6))
        for name, value in after.items()
    )


def _worse(text: str, before: float, after: float) -> bool:
    return after < before if _FINER_WHEN_MORE.search(text) else after > before


def _exception(text: str) -> str:
    found = _EXCEPTIONS.search(text)
    return found["what"].removesuffix(".class").removesuffix("::class") if found else ""


def _tolerances(text: str) -> dict[str, float]:
    named = {each["name"]: float(each["value"]) for each in _TOLERANCE.finditer(text)}
    if named or not _NUMBERED.search(text):
        return named
    last = _WITHIN.search(text) or _LAST.search(text)
    if last is None:
        return {}
    return {"last": _number(last["value"] or last.groupdict().get("only") or "")}


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
