"""Parse what shell scripts demand: `test`, `[`, `[[`, `diff`, `cmp`, `grep`, and `set -e`.

Each is written down as an assertion of other languages would be (`assert $(twice 2)==4`), whose
strength can be told. What fails where a condition holds demands its opposite.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agents.analysis.weakening.assertion_strength import says_nothing
from agents.analysis.weakening.assertions import Assertion, find_assertions, normalize
from agents.analysis.weakening.diff_views import ViewLine

BRANCH = 12  # lines behind a condition in which a branch is seen to fail
BLOCK = 4  # lines of a block that runs where a condition does not hold
LONGEST = 10  # lines of one command

_END = re.compile(r";+|\s#.*|$")
_LISTED = re.compile(r"&&|\|\|")
_PIPED = re.compile(r"\|&?")
_SPACE = re.compile(r"\s+")
_KEYWORD = re.compile(
    r"\s*+(?:(?P<branch>if|elif)|(?P<loop>while|until)|then|else|do|\{|\(|\w+\s*\(\)\s*\{)\s+"
)
_OTHERWISE = re.compile(r"\s*(?:else|elif)\b")
_OPENS = re.compile(r"[{(]\s*(?:[^)}]*)$")
_IN_BACKGROUND = re.compile(r"(?<![&>])&\s*$")
_BRANCHES_END = re.compile(r"\s*fi\b")
_WHOLE_OUTPUT = re.compile(r"^(\s*assert_output)\s+(?=[^-\s])")
_OF_OUTPUT = re.compile(r"^(\s*(?:assert|refute)_(?:output|line|success|failure))\b")
_FAILS = re.compile(
    r"\b(?:exit|return)\s+[1-9$]|\b(?:fail|failed|die|false|abort|bail|flunk|err|error|not[ _]ok)\b"
    r"|(?<!\w)\w{0,20}(?:rc|ret|status|fail|err)\w{0,10}(?:=[1-9$]|\+=|\+\+)",
    re.IGNORECASE,
)
_NOT_OK = re.compile(r"\bnot ok\b")
"""What a script writes that fails in the Test Anything Protocol."""
_WORDS = re.compile(r"\b(?:echo|printf)\b[^;&|}]*+|'[^']*+'|\"[^\"]*+\"")
"""What is written or compared: no commands."""
_OR_WRITES = "or only_writes()"
"""Stands behind what a script only writes a word about."""
_ENDS = re.compile(r"\s*exit\s+([\"']?\$.*)")
_DEFINES = re.compile(
    r"\s*(?:function\s+)?(\w*(?:fail|die|abort|bail|flunk|assert|check|expect|verify|err)\w*)"
    r"\s*(?:\(\)\s*)?\{"
)
_CLOSES = re.compile(r"\s*[)}]")
_ERREXIT = re.compile(r"\s*set\s+(?:-\w+\s+)*-(?:\w*e\w*|o\s+errexit)\b")
_RUN = re.compile(r"\s*run\s+(?:--\S+\s+)*+-(\d+)\s")
"""A command of bats, with the exit status that is wanted of it."""
_COMPARED = {
    **dict.fromkeys(("=", "==", "-eq"), "=="),
    **dict.fromkeys(("!=", "-ne"), "!="),
    **dict.fromkeys((">", "-gt"), ">"),
    **dict.fromkeys(("<", "-lt"), "<"),
    "-ge": ">=",
    "-le": "<=",
}
_OPPOSITE = {"==": "!=", "!=": "==", ">": "<=", "<": ">=", ">=": "<", "<=": ">"}
_ANYTHING = frozenset(('""', '"."', '".*"', '"^"', '"$"'))
_GLOB = re.compile(r"[^'\"]*(?<!\\)\*")
"""A pattern of `[[`, which quotes would take for a text."""
_SPECIAL = re.compile(r"\$\{?([\d?#@*])\}?")
_SPECIALS = {"?": "status", "#": "count", "@": "args", "*": "args"}
_NUMBER = re.compile(r"-?\d+")


def find_shell_assertions(lines: Sequence[ViewLine]) -> Iterator[Assertion]:
    """Yield the assertions in the lines of a script, those of libraries for tests among them."""
    at = 0
    while at < len(lines):
        start, text = at, lines[at].text
        while text.endswith("\\") and at + 1 < len(lines) and at < start + LONGEST:
            at += 1
            text = f"{text[:-1]} {lines[at].text}"
        at += 1
        found = list(_read_line(text, lines[at : at + BRANCH]))
        for each in found:
            made = Assertion(lines[start].number, normalize(f"assert {each}"))
            if not says_nothing(made.text) and not made.constant:
                yield made
        if not (found or text.lstrip().startswith("[") or _DEFINES.match(text)):
            yield from find_assertions([ViewLine(lines[start].number, _name_subject(text))])


def _name_subject(text: str) -> str:
    """Return a line of bats' assertions with what it is about as a name, and not as a text."""
    plain = _WHOLE_OUTPUT.sub(r"\1 $output == ", _unquote_substitutions(text))
    return _OF_OUTPUT.sub(r"\1 $output", plain) if plain == text else plain


def _unquote_substitutions(text: str) -> str:
    words = _split(text, _SPACE)
    return "".join(each.replace('"', "") if "$" in each or "`" in each else each for each in words)


def _read_line(text: str, behind: Sequence[ViewLine]) -> Iterator[str]:
    """Yield what a line demands; `behind`: the lines that follow it."""
    if _ERREXIT.match(text):
        yield "errexit()"
        return
    if ends := _ENDS.match(text):
        yield from _read_list(f"[ {_split(ends[1], _END)[0]} -eq 0 ]", "", opposite=False)
        return
    if (named := _DEFINES.match(text)) and _has_failed(_read_block(text, behind).partition("{")[2]):
        yield f"fails({named[1]})"
    if wanted := _RUN.match(text):
        yield from _read_list(f'[ "$status" -eq {wanted[1]} ]', "", opposite=False)
        return
    branches, certain = _read_branches(text, behind) if "if" in text else (None, True)
    block = _read_block(text, behind)
    for statement in () if _IN_BACKGROUND.search(text) else _split(text, _END)[::2]:
        opposite: bool | None = False
        start = 0
        conditional = False
        while keyword := _KEYWORD.match(statement, start):
            if keyword["branch"] or keyword["loop"]:
                opposite = branches if keyword["branch"] else None
                conditional = True
            start = keyword.end()
        if opposite is not None:
            for demand in _read_list(statement[start:], block, opposite=opposite):
                yield demand if certain or not conditional else f"{demand} {_OR_WRITES}"


def _read_block(text: str, behind: Sequence[ViewLine]) -> str:
    """Return a line, with those of the block that it opens and does not close."""
    if "}" in text or not _OPENS.search(text):
        return text
    lines = [text]
    for line in behind[:BLOCK]:
        lines.append(line.text)
        if _CLOSES.match(line.text):
            break
    return "; ".join(lines)


def _has_failed(text: str) -> bool:
    """Return whether commands among these fail, and do not only write that something did."""
    return bool(_NOT_OK.search(text) or _FAILS.search(_WORDS.sub("", text)))


def _read_branches(text: str, behind: Sequence[ViewLine]) -> tuple[bool | None, bool]:
    """Return whether the script fails where a condition holds, and not only writes so.

    None: it does not, either way.
    """
    branch = [text.partition("then")[2]]
    otherwise: list[str] = []
    for line in behind:
        if _BRANCHES_END.match(line.text):
            break
        if otherwise or _OTHERWISE.match(line.text):
            otherwise.append(line.text)
        else:
            branch.append(line.text)
    for certain, fails in ((True, _has_failed), (False, _FAILS.search)):
        if any(map(fails, branch)):
            return True, certain
        if any(map(fails, otherwise)):
            return False, certain
    return None, True


def _read_list(statement: str, block: str, *, opposite: bool) -> Iterator[str]:
    """Yield what commands demand that stand in a row, joined by `&&` and `||`.

    Nothing where a condition only says whether another command runs.
    """
    parts = [each.strip() for each in _split(statement, _LISTED)]
    commands, signs = parts[::2], parts[1::2]
    written = ""
    if signs and (_FAILS.match(commands[-1]) or _is_failing_block(commands[-1], block)):
        certain = _FAILS.match(commands[-1]) or _has_failed(block)
        written = "" if certain else f" {_OR_WRITES}"
        opposite = opposite != (signs[-1] == "&&")
        commands, signs = commands[:-1], signs[:-1]
    demands = [_read_command(each, opposite=opposite) for each in commands]
    if "||" not in signs:
        yield from (f"{each}{written}" for each in demands if each and demands[-1])
    elif all(demands):
        yield " or ".join(sorted(demands, key=lambda each: each == "True")) + written


def _is_failing_block(command: str, block: str) -> bool:
    return command[:1] in ("{", "(") and _FAILS.search(block) is not None


def _read_command(command: str, *, opposite: bool) -> str:
    """Return what a command demands; empty where it demands nothing that is known."""
    *feeds, last = _split(command, _PIPED)[::2]
    words = [each for each in _split(last.strip(), _SPACE)[::2] if each]
    while words[:1] == ["!"]:
        opposite, words = not opposite, words[1:]
    if not words:
        return ""
    name, rest = words[0], words[1:]
    if name in ("[", "[["):
        rest = rest[:-1] if rest[-1:] in (["]"], ["]]"]) else rest
        return _read_condition(rest, opposite=opposite)
    if name == "test":
        return _read_condition(rest, opposite=opposite)
    plain = [each for each in rest if not each.startswith(("-", ">", "2>", "<"))]
    if name in ("diff", "cmp"):
        return f"{name}({_list_files(plain)}){'!=' if opposite else '=='}0"
    if name in ("grep", "egrep", "fgrep") and plain:
        return _read_grep(rest, plain, "|".join(feeds).strip(), opposite=opposite)
    return ""


def _read_grep(rest: Sequence[str], plain: Sequence[str], fed: str, *, opposite: bool) -> str:
    inverts = any(re.fullmatch(r"-[a-zA-Z]*v[a-zA-Z]*", each) for each in rest)
    pattern, where = _read_operand(plain[0]), fed or _list_files(plain[1:])
    if inverts == opposite and pattern in _ANYTHING:
        return f"output({where})"
    return f"{pattern} {'not in' if inverts != opposite else 'in'} output({where})"


def _read_condition(words: list[str], *, opposite: bool) -> str:
    while words[:1] == ["!"]:
        opposite, words = not opposite, words[1:]
    for signs, joined in ((("-o", "||"), " or "), (("-a", "&&"), " and ")):
        for at, word in enumerate(words):
            if word in signs and at:
                sides = (words[:at], words[at + 1 :])
                return joined.join(_read_condition(each, opposite=opposite) for each in sides)
    if len(words) == 3:
        return _read_comparison(words, opposite=opposite)
    read = [_read_operand(each) for each in words]
    if len(words) == 1 and _is_written(read[0]):
        return str(not opposite)
    if words[:1] in (["-n"], ["-z"]) or len(words) == 1:
        return read[-1] if (words[0] == "-z") == opposite else f'{read[-1]}==""'
    return f"{'not ' * opposite}exists({_list_files(words[1:])})" if words else ""


def _read_comparison(words: Sequence[str], *, opposite: bool) -> str:
    one, sign, other = _read_operand(words[0]), words[1], _read_operand(words[2])
    compared = _COMPARED.get(sign, "")
    equal = compared in ("", "==")
    if sign == "=~" or (compared in ("==", "!=") and _GLOB.match(words[2])):
        return f"{'' if equal != opposite else 'not '}match({one},{other})"
    if not compared:
        return f"{'not ' * opposite}holds({one},{sign},{other})"
    return f"{one}{_OPPOSITE[compared] if opposite else compared}{other}"


def _read_operand(word: str) -> str:
    """Return a word: what the shell puts in as it is, all else as a number or a quoted text."""
    if "$" in word or "`" in word:
        named = _SPECIAL.sub(lambda each: f"${_SPECIALS.get(each[1], f'arg{each[1]}')}", word)
        return named.replace('"', "")
    plain = word.replace('"', "").replace("'", "")
    return plain if _NUMBER.fullmatch(plain) else _quote(plain)


def _list_files(words: Sequence[str]) -> str:
    """Return files as names, which say what an assertion is about."""
    return ",".join(each.replace('"', "").replace("'", "") for each in words)


def _is_written(read: str) -> bool:
    return read[:1] == '"' or bool(_NUMBER.fullmatch(read))


def _quote(text: str) -> str:
    return '"{}"'.format(text.replace('"', "'"))


def _split(text: str, separator: re.Pattern[str]) -> list[str]:
    """Return the parts of a text and what separates them, outside of quotes and substitutions."""
    parts, inside, start, at = [], list[str](), 0, 0
    while at < len(text):
        step = _step_inside(text, at, inside)
        if not step and not inside and (found := separator.match(text, at)) and found[0]:
            parts += [text[start:at], found[0]]
            start = at + len(found[0])
            step = len(found[0])
        at += step or 1
    return [*parts, text[start:]]


def _step_inside(text: str, at: int, inside: list[str]) -> int:
    """Return how many signs open, close or belong to quotes there; `inside`: what is open."""
    sign, within = text[at], inside[-1] if inside else ""
    if sign == "\\" and within != "'":
        return 2
    if within and sign == within:
        inside.pop()
        return 1
    if within == "'":
        return 1
    if text.startswith("$(", at) or (sign == "(" and within == ")"):
        inside.append(")")
        return 2 if sign == "$" else 1
    if sign in '"`' or (sign == "'" and within != '"'):
        inside.append(sign)
        return 1
    return 0
