"""Step 8: a script skimmed without its grammar: whether it is too long, what it may run."""

from __future__ import annotations

import re

from agents.tools.shell.quotes import ansi_c

LONGEST = 60_000  # characters of a script; longer text belongs into a file
MOST_SIGNS = 1_200  # `|` and `(`: the time that the grammar takes grows with their square
_STARTS = 30  # substitutions that are looked into
_REACH = 200  # characters of each
_REDIRECT = re.compile(r"[\d&]*(<>|>{1,2}\|?|<)(?!&)(.*)", re.DOTALL)
_HEREDOC = re.compile(r"<<(?P<tabs>-?)[ \t]*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)")
_TOKEN = re.compile(
    r"""
    (?P<space> [ \t\r]+ )
    | (?P<braces> \{ [^\s{},]* , [^\s{}]* \} )
    | (?P<comment> (?:^|(?<=\s)) \# [^\n]* )
    | (?P<break> && | \|\| | [;|\n(){}`] | (?<!>)&(?!>) )
    | (?P<ansi> \$' (?:\\.|[^'\\])* '? )
    | (?P<raw> ' [^']* '? )
    | (?P<quoted> " (?:\\.|[^"\\])* "? )
    | (?P<escaped> \\. )
    | (?P<value> \$ \{? \w+ \}? )
    | (?P<bare> [^\s;|(){}`&'"\\$]+ | . )
    """,
    re.DOTALL | re.VERBOSE,
)


def too_long(text: str) -> bool:
    """Return whether reading the script could take longer than anybody should wait."""
    signs = without_heredocs(text) if "<<" in text else text
    return len(text) > LONGEST or signs.count("|") + signs.count("(") > MOST_SIGNS


def loose_commands(text: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return what could be simple commands in the script: bare words, and files written to.

    Quotes are heeded, nesting is not: after every opening of a substitution, too, a command may
    begin. Text for other programs, in here-documents, is left out.
    """
    text = without_heredocs(text)
    starts = [found.end() for found in re.finditer(r"\$\(|`|[<>]\(", text)]
    inner = [_commands(text[start : start + _REACH])[:1] for start in starts[:_STARTS]]
    return [_command(words) for words in [*_commands(text), *(w for each in inner for w in each)]]


def without_heredocs(text: str) -> str:
    """Return the script without the bodies of its here-documents."""
    kept, at = "", 0
    while (found := _HEREDOC.search(text, at)) is not None:
        line = text.find("\n", found.end())
        indent = r"\t*" if found["tabs"] else ""
        end = re.compile(rf"^{indent}{found['end']}$", re.MULTILINE).search(text, max(line, 0))
        if line < 0 or end is None:
            break
        kept, at = kept + text[at : line + 1], end.end()
    return kept + text[at:]


def _command(words: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    kept, writes = list[str](), list[str]()
    pending = iter(words)
    for word in pending:
        found = _REDIRECT.fullmatch(word)
        if found is None:
            kept.append(word)
        elif (target := found[2] or next(pending, "")) and ">" in found[1]:
            writes.append(target)
    return tuple(kept), tuple(writes)


def _commands(text: str) -> list[list[str]]:
    found: list[list[str]] = [[]]
    glued = False
    for token in _TOKEN.finditer(text):
        kind, piece = str(token.lastgroup), token[0]
        if kind == "break":
            found += [[]] if found[-1] else []
        elif kind not in ("space", "comment"):
            words = found[-1]
            first, *more = _opened(piece) if kind == "braces" else [_bare(kind, piece)]
            if glued and words:
                words[-1] += first
            else:
                words.append(first)
            words += more
        glued = kind not in ("break", "space", "comment")
    return [words for words in found if words]


def _opened(braces: str) -> list[str]:
    """Return the alternatives within braces; bash drops empty ones."""
    return [part for part in braces[1:-1].split(",") if part] or [""]


def _bare(kind: str, piece: str) -> str:
    """Return a token as bash would hand it on."""
    match kind:
        case "ansi":
            return ansi_c(piece[2:].removesuffix("'"))
        case "raw":
            return piece.strip("'")
        case "quoted":
            return re.sub(r"\\(.)", r"\1", piece.strip('"'))
        case "escaped":
            return piece[1:].strip("\n")
        case "value":
            return "\0"
        case _:
            return piece
