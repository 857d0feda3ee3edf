"""Step 8: words of a command that are no paths: patterns, messages, what `echo` prints."""

from __future__ import annotations

from collections.abc import Iterator

from agents.tools.shell.command import Command
from agents.tools.shell.options import first_operand, has, named, valued, values

_SEARCH = named("grep egrep fgrep rg ag ack zgrep")
_SEARCH_VALUED = valued(
    "--regexp -A -B -C -m -e -f -g -t -T -d -D -j -M --include --exclude --exclude-dir --glob"
    " --type --file --max-count --context --after-context --before-context --color"
)
_MESSAGES = ("-m", "--message", "--grep", "-S", "-G", "--author")


def texts_in(command: Command) -> Iterator[str]:
    """Yield arguments that the command takes as text, each as often as it is given."""
    name, words = command.name, command.words[1:]
    if name in ("echo", "printf"):
        yield from words
    elif name in _SEARCH:
        yield from _patterns(words)
    elif name == "pytest":
        yield from (value for value in values(words, "-k", "-m") if value in words)
    elif name == "git":
        yield from (word for word in words if word.startswith("--") and _is_message(word))
        yield from (value for value in values(words, *_MESSAGES) if value in words)


def _patterns(words: tuple[str, ...]) -> Iterator[str]:
    given = [value for value in values(words, "-e", "--regexp") if value in words]
    yield from given
    at = first_operand(words, _SEARCH_VALUED)
    if not given and not has(words, "f", "--file", "--files", "--regexp") and at < len(words):
        yield words[at]


def _is_message(word: str) -> bool:
    return word.partition("=")[0] in _MESSAGES
