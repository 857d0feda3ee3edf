"""Step 8: text that bash evaluates although the grammar takes it for plain text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tree_sitter import Node

from agents.tools.shell.command import Command
from agents.tools.shell.options import named
from agents.tools.shell.tree import text_of
from agents.tools.shell.variables import UNKNOWN, Variables

_BACKTICKS = re.compile(r"\\.|`((?:\\.|[^`\\])*)`", re.DOTALL)
_EXPANDED = re.compile(r"\$\{\w+:?[-+=?][^`'}]{0,1000}`((?:\\.|[^`\\])*)`", re.DOTALL)
_SUBSCRIPT = re.compile(r"[A-Za-z_]\w*\[.*?(\$\(.*|`.*)", re.DOTALL)
_ARITHMETIC = named(
    "printf let test [ unset read declare typeset local export readonly mapfile readarray wait"
    " getopts shift return exit"
)
_PROMPTS = named("PS0 PS1 PS2 PS4")
_COMMANDS = named(
    "PROMPT_COMMAND EDITOR VISUAL PAGER MANPAGER BROWSER LESSOPEN LESSCLOSE GIT_EDITOR"
    " GIT_SEQUENCE_EDITOR GIT_PAGER GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_ASKPASS"
    " SSH_ASKPASS GIT_PROXY_COMMAND TAR_OPTIONS RSYNC_RSH"
)


def backticked(part: Node) -> Iterator[str]:
    """Yield what stands between backticks in a here-document or in `${...}`."""
    text = text_of(part)
    if part.type not in ("heredoc_redirect", "expansion") or "`" not in text:
        return
    start = next((c for c in part.named_children if c.type == "heredoc_start"), None)
    if start is not None and any(char in text_of(start) for char in "'\"\\"):
        return
    for found in _BACKTICKS.finditer(text):
        if found[1] is not None and found[1].strip():
            yield _unescaped(found[1])


def in_expansions(text: str) -> Iterator[str]:
    """Yield what stands between backticks in `${...}`, where a brace within ends it too early."""
    if "`" in text and "${" in text:
        yield from (_unescaped(found[1]) for found in _EXPANDED.finditer(text))


def _unescaped(text: str) -> str:
    """Return what stood between backticks as the shell reads it."""
    return re.sub(r"\\([\\`$])", r"\1", text)


def in_subscript(text: str) -> Iterator[str]:
    """Yield the substitution in `a[$(...)]`: arithmetic runs it, quoted or not."""
    if "[" in text and (found := _SUBSCRIPT.search(text)):
        yield f": {found[1]}"


def in_arguments(command: Command) -> Iterator[str]:
    """Yield the substitutions in arguments that a builtin evaluates."""
    if command.name in _ARITHMETIC:
        for word in command.words[1:]:
            yield from in_subscript(word)


def with_variables(variables: Variables, run: Callable[[str], None]) -> None:
    """Run what the values of variables make bash, or the programs that read them, run."""
    done: set[str] = set()
    while new := [text for text in _in_variables(variables) if text not in done]:
        for text in new:
            done.add(text)
            run(text)


def _in_variables(variables: Variables) -> list[str]:
    found = [text for value in variables.evaluated for text in in_subscript(value)]
    for name in _COMMANDS | _PROMPTS:
        for value in variables.values.get(name, ()):
            texts = [field for field in value if field != UNKNOWN]
            found += [f': "{text}"' for text in texts] if name in _PROMPTS else texts
    return list(dict.fromkeys(found))
