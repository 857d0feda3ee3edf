"""Step 8: what a line of Python, JavaScript, Perl or Ruby does, said as shell commands.

A best effort: it recognises the usual ways to delete, to write, to reach the network and to run
commands. Whatever it misses meets the sandbox, as does any script in a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from agents.tools.shell.command import Command, Script
from agents.tools.shell.options import first_operand, has, valued, values
from agents.tools.shell.python_code import python_commands
from agents.tools.shell.quotes import ansi_c
from agents.tools.shell.variables import UNKNOWN

_PYTHON = re.compile(r"(?:python|pypy)[\d.]*w?")
_OPTIONS = {
    "node": ("-e", "--eval", "-p", "--print", "-pe"),
    "nodejs": ("-e", "--eval", "-p", "--print"),
    "bun": ("-e", "--eval"),
    "perl": ("-e", "-E", "-ne", "-pe", "-le", "-nle", "-ple", "-we", "-lne", "-lpe"),
    "ruby": ("-e", "-ne", "-pe"),
    "php": ("-r",),
    "lua": ("-e",),
    "Rscript": ("-e",),
}
_AWK = frozenset(("awk", "gawk", "mawk", "nawk"))
_FROM_INPUT = frozenset(("node", "nodejs", "perl", "ruby"))
_PYTHON_VALUED = valued("-W -X -Q")

_TEXT = r"""(?:[rbuf]{0,2})(['"`])((?:\\.|(?!\1).)*?)\1"""
_STRING = re.compile(_TEXT, re.DOTALL)
_LIST = re.compile(r"[\[(]\s*((?:['\"][^'\"\n]*['\"]\s*,?\s*){1,40})[\])]")
_RUNS = re.compile(
    r"os\.(?:system|popen|exec|spawn|posix_spawn)|subprocess|commands\.getoutput|pty\.spawn"
    r"|child_process|\b(?:exec|spawn)(?:File)?(?:Sync)?\s*\(|\bsystem\b|\bqx\b|\bpopen\b|`|shell_exec"
    r"|passthru|Bun\.(?:spawn|\$)|IO\.popen|Open3|\|\s*getline"
)
_DELETES = re.compile(
    r"rmtree|remove_dir|rm_rf|rm_r\b|removedirs|rimraf|\brm(?:dir)?(?:Sync)?\s*\(|emptyDir|rmtree"
)
_REMOVES = re.compile(r"os\.(?:remove|unlink|rmdir)|\bunlink(?:Sync)?\b|File\.delete|fs\.rm\b")
_WRITES = re.compile(
    r"open(?:Sync)?\s*\((?=[^)]*['\"]\s*(?:[rb]*[wax+]|\+?>))|Path\s*\((?=[^)]*\)\.(?:write|touch|open))"
    r"|(?:writeFile|writeTextFile|Bun\.write|appendFile|createWriteStream|copyFile|rename|symlink|link|truncate|cp)(?:Sync)?"
    r"\s*\(|os\.(?:rename|replace|symlink)\s*\(|shutil\.\w+\s*\(|\b(?:rename|truncate)\b"
    r"|(?:File|IO)\.(?:write|rename|symlink)\s*\(|FileUtils\.\w+\s*\(|file_put_contents\s*\("
)
_PRINTS_TO = re.compile(rf"\bprint[^;}}\n]*>\s*{_TEXT}", re.DOTALL)
_ARGUMENT = re.compile(rf"[\s,({{]*(?:{_TEXT}|([A-Za-z_$]\w*))", re.DOTALL)
_REACHES = re.compile(
    r"urlopen|urlretrieve|requests\.|httpx|aiohttp|http\.client|create_connection|\.connect\("
    r"|fetch\(|https?\.(?:get|request)|net\.(?:connect|Socket)|LWP|Net::HTTP|open-uri|socket"
)
_ADDRESS = re.compile(r"[a-z]+://[^\s'\"`)]+|(?<=['\"])\d+\.\d+\.\d+\.\d+(?=['\"])", re.IGNORECASE)
_HOST = re.compile(r"(?<=['\"])(?:[a-z0-9-]+\.)+[a-z]{2,}(?=['\"])", re.IGNORECASE)
_ENVIRONMENT = re.compile(
    r"os\.environ\b(?!\s*[\[.])|environ\.(?:items|copy|values)\(|process\.env\b(?!\s*[\[.])"
    r"|[%@]ENV\b|\bENV\.(?:to_|each|inspect)|\bp\(? ?ENV\b(?!\[)|\bgetenv\(\)|\bin ENVIRON\b"
)
_PRINTS = re.compile(r"print|\bp[ (]|dumps|console\.|puts|say\b|write|inspect|post\(|urlopen|fetch")


def runs_in_code(command: Command) -> Iterator[Command | Script]:
    """Yield what the code in a command's arguments, or at its input, would do."""
    plain = replace(command, writes=(), feed=None)
    if _PYTHON.fullmatch(command.name) and (inner := _module(command)):
        yield replace(plain, words=inner)
    for text in _code(command):
        known = python_commands(text, plain) if _PYTHON.fullmatch(command.name) else None
        yield from _commands(text, plain) if known is None else known


def _module(command: Command) -> tuple[str, ...]:
    """Return the module or the script that Python runs, and its arguments."""
    words = command.words[1:]
    for at, word in enumerate(words):
        if word == "-m" or (word.startswith("-") and word[1:2] != "-" and word.endswith("m")):
            return tuple(words[at + 1 :])
        if word.startswith("-m"):
            return (word[2:], *words[at + 1 :])
        if not word.startswith("-") or word == "-c":
            return tuple(words[at:]) if word.endswith(".py") else ()
    return ()


def _code(command: Command) -> Iterator[str]:
    name, words = command.name, command.words[1:]
    if _PYTHON.fullmatch(name):
        yield from _python(command)
    elif name in _AWK:
        at = first_operand(words, valued("-F -v -f -i"))
        yield from words[at : at + 1] if "-f" not in words else ()
    elif name == "deno":
        yield from words[2:3] if words[:1] == ("eval",) else ()
    elif name in _OPTIONS:
        given = list(values(words, *_OPTIONS[name]))
        yield from given
        operand = first_operand(words) < len(words)
        if name in _FROM_INPUT and not given and not operand and command.feed:
            yield from command.feed.texts


def _python(command: Command) -> Iterator[str]:
    words = command.words[1:]
    for at, word in enumerate(words):
        if word.startswith("-") and word[1:2] != "-" and word.endswith("c") and len(word) > 1:
            yield from words[at + 1 : at + 2]
            return
    at = first_operand(words, _PYTHON_VALUED)
    if (at == len(words) or words[at] == "-") and "-m" not in words and command.feed:
        yield from command.feed.texts


def _commands(code: str, plain: Command) -> Iterator[Command | Script]:
    """Yield shell commands that do what the code does."""
    strings = [ansi_c(found[2]) for found in _STRING.finditer(code)][:60]
    if _RUNS.search(code):
        yield from (Script(string) for string in strings if string.strip())
        for found in _LIST.finditer(code):
            yield replace(plain, words=tuple(s[2] for s in _STRING.finditer(found[1])))
    if _ENVIRONMENT.search(code) and (_PRINTS.search(code) or has(plain.words[1:], "p")):
        yield replace(plain, words=("printenv",))
    yield from (
        replace(plain, words=("cat", s)) for s in strings if "/" in s or s[:1] in (".", "~")
    )
    yield from _changes(code, plain)
    if _REACHES.search(code):
        for found in [*_ADDRESS.finditer(code), *_HOST.finditer(code)]:
            yield replace(plain, words=("curl", found[0]))


def _changes(code: str, plain: Command) -> Iterator[Command]:
    for pattern, words in ((_DELETES, ("rm", "-r")), (_REMOVES, ("rm",))):
        for found in pattern.finditer(code):
            string = re.compile(rf"\W*{_TEXT}\s*[,)]", re.DOTALL).match(code, found.end())
            yield replace(plain, words=(*words, string[2] if string else UNKNOWN))
    yield from (replace(plain, words=("tee", path)) for path in _written(code))


def _written(code: str) -> Iterator[str]:
    """Yield the first two arguments of the calls that write; a third is what is written."""
    for found in _WRITES.finditer(code):
        at = found.end()
        for _ in range(4 if found[0].startswith("open") else 2):
            if argument := _ARGUMENT.match(code, at):
                at = argument.end()
                given = [argument[2]] if argument[1] else _named(argument[3], code)
                yield from (path for path in given if _is_path(path))
    yield from (found[2] for found in _PRINTS_TO.finditer(code))


def _named(name: str, code: str) -> list[str]:
    """Return the texts that a variable is given."""
    given = re.compile(rf"{re.escape(name)}\s*=\s*{_TEXT}", re.DOTALL)
    return [found[2] for found in given.finditer(code)]


def _is_path(text: str) -> bool:
    return 0 < len(text) < 300 and not set(text) & set(" \n<>|")
