"""Find the programs of a shell script whose exit status is lost on its way to that of the script.

A status is heard where it is the script's own, stops the script, or is asked for: by what follows
an `||`, by a condition, or by `$?`. How well that is done is not asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from agents.analysis.bash import parse_bash, text_of
from agents.analysis.test_runners.steps import PROGRAM

if TYPE_CHECKING:
    from tree_sitter import Node

LONGER = 3  # times a step of a workflow
LONGEST_COMMAND = 2_000  # characters that are looked at
DEEPEST = 60  # parts within parts

_LEADS = re.compile(
    r"^(?:(?:time|exec|env|command|builtin|nyc|c8|npx|xvfb-run|valgrind(?:\s+-\S+){0,9}"
    r"|timeout(?:\s+-\S+){0,9}\s+\S+|nice(?:\s+-\S+){0,2}|\w{1,60}=\S*|[@+])\s+)*"
)
_RUNS = re.compile(r"(?:\"?\$|(?:\"?\$\w*/)?\w[\w.-]*/)[^\s=]*(?:\s|$)")
"""A program by its path, or one that a variable names."""
_PREPARES = re.compile(
    r"python[\d.]*\s+-m\s+(?:pip|venv|ensurepip)\b|\S*clean\S*(?:\s|$)|\$[({](?:RM|MKDIR\w*)[)}]"
    r"|(?:npm|yarn|pnpm|pip[\d.]*|gem|bundle|composer|apt(?:-get)?|apk|dnf|brew)\s+(?:-\S+\s+){0,9}"
    r"(?:install|ci|i|add|update|upgrade|prune|link|unlink|cache|remove|rm|uninstall)(?:\s|$)"
)
_TESTS = re.compile(
    r"(?:ava|tap|tape|jasmine|jest|mocha|vitest|karma|qunit|uvu|lab|cypress|playwright|bats|prove"
    r"|shunit2|shellspec|busted|r?spec|phpunit|pest|py\.?test|nosetests|tox|nox|ctest|lit|unittest)"
    r"(?:\s|$)"
)
"""Programs that are there to run tests, by name."""
_EACH = re.compile(rf"find\s.*\s-exec(?:dir)?\s+(?:{PROGRAM.pattern}|\{{\}}).*;")
"""What `find -exec … ;` runs: how that ended, `find` does not say."""
_ONE_OF = re.compile(r"concurrently\s.*(?:--success|-s)[ =](?!all\b)\w")
_TEST = re.compile(r"test|spec", re.IGNORECASE)
_SHELL = re.compile(r"(?:ba|da|z|k)?sh\s(?:\S+\s)*?-(\w*)c\s")
_WAITS = re.compile(r"\bwait\s+(?:-\w|[\"$%\d])")
_ASKS = re.compile(r"\$\?|PIPESTATUS|^(?:if\s+|!\s+)*(?:\[|(?:test|diff|cmp|e?grep)\s)")
"""What follows a program and asks how it ended, or what it has done."""
_NOTES = re.compile(r"(?:exit|return)\b|\w+\+?=|\w+\+\+")
_NOTE = re.compile(r"(?:(?:local|declare|export|let)\s+)?\(*([A-Za-z_]\w{0,60})(?:\+?=|\+\+)")
_NAMED = re.compile(r"\b([A-Za-z_]\w*)(\+?=(?:\$\(\(\s*\$?\1\b)?|\+\+)?")
_SOURCES = re.compile(r"(?:^|[;&\n])\s*(?:\.|source)\s")
_TRAP = re.compile(r"trap\s+(?:--\s+)?('[^']*'|\"[^\"]*\"|\w+)\s.*\b(?:EXIT|ERR|0)\b", re.DOTALL)
_EXCUSE = re.compile(r"(?:exit|return)\s+0|true|:")
_ENDS_WELL = re.compile(r"\bexit\s+0\b")
_NOWHERE = ("/dev/null", "1", "2")
_ZERO = re.compile(r"(?:exit|return)(?:\s+0)?$")
_ON = re.compile(r"set\s+(?:.*\s)?-(?:\w*e|\w*o\s+errexit)")
_OFF = re.compile(r"set\s+\+(?:\w*e|\w*o\s+errexit)")
_PIPES = re.compile(r"\bpipefail\b")
_SAYS = frozenset(
    (
        *("echo", "printf", "read", "true", ":", "cat", "tail", "head", "sleep", "rm", "date"),
        *("sed", "tee", "sort", "tr", "cut", "less", "more", "wc", "nl", "ts", "column", "uniq"),
        "clear",
    )
)
"""Whatever they are told, they end well."""
_TOOLS = frozenset(
    (
        *("rmdir", "mkdir", "cp", "mv", "ln", "touch", "chmod", "chown", "mktemp", "install", "ls"),
        *("kill", "pkill", "killall", "wait", "cd", "pushd", "popd", "which", "type", "hash"),
        *("command", "git", "docker", "docker-compose", "podman", "createdb", "dropdb", "psql"),
        *("createuser", "dropuser", "mysql", "mysqladmin", "redis-cli", "ulimit", "umask"),
        *("export", "stty", "tput", "uname", "nproc", "du", "df", "curl", "wget", "unzip", "tar"),
        *("unset", "set", "shopt", "source", ".", "test", "[", "[[", "grep", "egrep", "fgrep"),
        *("let", "local", "declare", "readonly", "shift", "trap"),
        *("exit", "return", "break", "continue"),
    )
)
"""They prepare something, look for it, or clear it away: tests may do without."""
_BODIES = (
    *("program", "compound_statement", "subshell", "else_clause", "case_statement", "case_item"),
    "ERROR",
)
_REPEATS = ("for_statement", "while_statement", "c_style_for_statement")
_WORDS = frozenset(
    (
        *("comment", "word", "string", "raw_string", "number", "simple_expansion", "expansion"),
        *("concatenation", "extglob_pattern", "regex"),
    )
)


@dataclass(frozen=True)
class _Hearing:
    """Who hears of the status of a part."""

    asked: bool
    """Whether it is the script's own, or something asks for it."""
    stops: bool = True
    """Whether a shell that stops at failures stops at this one: in conditions it does not."""
    dropped: bool = False
    """Whether the script says in so many words that it does not matter: by `|| true`, `exit 0`."""


@dataclass
class _StatusWalk:
    """Walks through a script in its order, and collects the programs that nobody hears of."""

    text: str
    scripts: Collection[str]
    """Commands that run programs, such as `npm run a`."""
    stops: bool
    pipefail: bool = False
    waits: bool = False
    functions: set[str] = field(default_factory=set)
    noting: set[str] = field(default_factory=set)
    """Functions that end the script, or keep something in mind."""
    excusing: set[str] = field(default_factory=set)
    """Functions that end the script as if all passed."""
    trapped: dict[str, str] = field(default_factory=dict)
    """What runs at the script's end or where it fails, with the command that says so."""
    lost: list[str] = field(default_factory=list)

    @cached_property
    def read(self) -> Collection[str]:
        """Return the words of the script apart from variables that are only given a value."""
        return {each[1] for each in _NAMED.finditer(self.text) if not each[2]}

    def visit(self, part: Node, to: _Hearing, depth: int = 0) -> None:
        """Read a part; `to`: who hears of it."""
        readers: dict[str, Callable[[Node, _Hearing, int], None]] = {
            "command": self._run,
            "list": self._choose,
            "pipeline": self._pipe,
            "negated_command": self._negate,
            "if_statement": self._ask,
            "elif_clause": self._ask,
            "function_definition": self._define,
            "redirected_statement": self._redirect,
            **dict.fromkeys(_BODIES, self._follow_body),
            **dict.fromkeys(_REPEATS, self._repeat),
        }
        read = readers.get(part.type)
        if read and depth < DEEPEST:
            read(part, to, depth + 1)

    def _run(self, part: Node, to: _Hearing, depth: int) -> None:
        text = _LEADS.sub("", text_of(part).strip())
        if shell := _SHELL.match(text):
            inner = parse_bash(text[shell.end() :].strip("'\" "))
            if inner is not None:
                outer, self.stops = self.stops, "e" in shell[1]
                self.visit(inner, _Hearing(self._hears(to, outer)), depth)
                self.stops = outer
            return
        text = text[:LONGEST_COMMAND]
        self._set(text)
        if trap := _TRAP.match(text):
            self.trapped[trap[1].strip("'\"")] = text
        each = _EACH.match(text) or _ONE_OF.match(text)
        known = self._is_program(text) or (to.dropped and self._may_be_program(text))
        if each or (known and not self._hears(to, self.stops)):
            self.lost.append(text)

    @staticmethod
    def _hears(to: _Hearing, stops: bool) -> bool:
        return to.asked or (stops and to.stops)

    def _set(self, text: str) -> None:
        if text.startswith("set "):
            self.stops = (self.stops or bool(_ON.match(text))) and not _OFF.match(text)
            self.pipefail = self.pipefail or bool(_PIPES.search(text))

    def _is_program(self, text: str) -> bool:
        words = text.split()
        if _PREPARES.match(text):
            return False
        called = bool(words) and words[0] in self.functions
        runs = PROGRAM.match(text) or _RUNS.match(text) or _TESTS.match(text)
        return called or text in self.scripts or bool(runs)

    @staticmethod
    def _may_be_program(text: str) -> bool:
        """Return whether a command may run tests: a tool that nobody knows may."""
        word, *_ = text.split(maxsplit=1) or [""]
        return bool(word) and word not in _TOOLS | _SAYS and not _PREPARES.match(text)

    def _follow_body(self, part: Node, to: _Hearing, depth: int) -> None:
        before = self.stops, self.pipefail
        self._follow([*_list_statements(part)], to, depth)
        if part.type == "subshell":
            self.stops, self.pipefail = before

    def _repeat(self, part: Node, to: _Hearing, depth: int) -> None:
        """Read a loop, whose own status is that of its last round alone."""
        for child in part.named_children:
            if child.type in ("do_group", "compound_statement"):
                self._follow_body(child, replace(to, asked=False), depth)

    def _negate(self, part: Node, to: _Hearing, depth: int) -> None:
        for child in part.named_children:
            self.visit(child, replace(to, stops=False), depth)

    def _redirect(self, part: Node, to: _Hearing, depth: int) -> None:
        """Read a command with its redirects: what it writes to a file may be asked for there."""
        body, *redirects = part.named_children
        files = [text_of(each.named_children[-1]) for each in redirects if each.named_children]
        read = any(self.text.count(file) > 1 for file in files if file not in _NOWHERE)
        self.visit(body, replace(to, asked=to.asked or read), depth)

    def _follow(self, parts: Sequence[Node], to: _Hearing, depth: int) -> None:
        """Read statements, one after the other."""
        for at, part in enumerate(parts):
            below = parts[at + 1] if at + 1 < len(parts) else None
            if _is_in_background(part):
                self._start(part, depth)
                continue
            asked = self._asks(below) if below else to.asked
            dropped = below is not None and _EXCUSE.fullmatch(text_of(below).strip()) is not None
            self.visit(part, replace(to, asked=asked, dropped=to.dropped or dropped), depth)

    def _asks(self, part: Node) -> bool:
        """Return whether a part asks how the one before it ended, or what that has done."""
        text = text_of(part)
        return _ASKS.search(text) is not None and not self._is_forgotten(text)

    def _is_forgotten(self, command: str) -> bool:
        """Return whether a command only keeps something in mind that nobody looks at again."""
        found = _NOTE.match(command)
        if found is None or _SOURCES.search(self.text):
            return False
        return found[1] not in self.read

    def _is_deaf(self, parts: Sequence[Node]) -> bool:
        """Return whether nothing follows from what made the script come to these parts."""
        return all(map(self._ends_well, parts))

    def _ends_well(self, part: Node) -> bool:
        """Return whether a part only says something, or ends the script as if all passed."""
        commands = _list_commands(part)
        words = ((each.split(maxsplit=1) or [""])[0] for each in commands)
        return all(
            word in _SAYS or _ZERO.fullmatch(each) or self._is_forgotten(each)
            for word, each in zip(words, commands, strict=True)
        )

    def _start(self, part: Node, depth: int) -> None:
        """Read what goes on in the background: without `wait` it is mostly a server."""
        if self.waits or _TEST.search(text_of(part)):
            self.visit(part, _Hearing(asked=False, stops=False), depth)

    def _choose(self, part: Node, to: _Hearing, depth: int) -> None:
        """Read `one && other`, or `one || other`."""
        one, *others = part.named_children
        if any(each.type == "||" for each in part.children):
            deaf = self._is_deaf(others)
            self.visit(one, _Hearing(asked=not deaf, stops=False, dropped=deaf), depth)
        else:
            asked = to.asked or any(map(self._notes, others))
            self.visit(one, replace(to, asked=asked, stops=False), depth)
        for other in others:
            self.visit(other, to, depth)

    def _notes(self, part: Node) -> bool:
        """Return whether a part keeps in mind that it was come to, or ends the script by it."""
        commands = _list_commands(part)
        return any(
            _NOTES.match(each) or not self.noting.isdisjoint(each.split()[:1]) for each in commands
        )

    def _pipe(self, part: Node, to: _Hearing, depth: int) -> None:
        *sources, end = part.named_children
        passes_on = self._ends_well(end) or re.match(r"grep\s+(?:-\w+\s+)*-\w*v", text_of(end))
        for each in sources:
            hidden = _Hearing(asked=not passes_on, stops=False)
            self.visit(each, to if self.pipefail else hidden, depth)
        self.visit(end, to, depth)

    def _ask(self, part: Node, to: _Hearing, depth: int) -> None:
        """Read a condition and what comes of it."""
        then = next((at for at, each in enumerate(part.children) if each.type == "then"), 0)
        conditions = [each for each in part.children[:then] if each.is_named]
        bodies = [each for each in part.children[then:] if each.is_named]
        deaf = self._is_deaf(bodies)
        for each in conditions:
            self.visit(each, _Hearing(asked=not deaf, stops=False), depth)
        clauses = ("elif_clause", "else_clause")
        self._follow([each for each in bodies if each.type not in clauses], to, depth)
        for each in bodies:
            if each.type in clauses:
                self.visit(each, to, depth)

    def _define(self, part: Node, _to: _Hearing, depth: int) -> None:
        """Read a function: where its status is that of a program, its calls are programs."""
        name, *_ = part.named_children or (part,)
        inside = [text for body in part.named_children[1:] for text in _list_commands(body)]
        runs = any(self._is_program(_LEADS.sub("", text)) for text in inside)
        if runs and not _ASKS.search(text_of(part)) and "||" not in text_of(part):
            self.functions.add(text_of(name))
        if any(map(self._notes, part.named_children[1:])):
            self.noting.add(text_of(name))
        if any(_ENDS_WELL.match(text) for text in inside):
            self.excusing.add(text_of(name))
        before = self.stops, self.pipefail
        for body in part.named_children[1:]:
            self.visit(body, _Hearing(asked=True), depth)
        self.stops, self.pipefail = before  # what it sets, it sets where it is called


def find_lost_status(
    script: str, *, stops: bool = False, scripts: Collection[str] = ()
) -> str | None:
    """Return the first program whose failure is lost; empty: none, None: nobody can read it.

    `stops`: whether the shell is told to stop at a failure; `scripts`: commands that run programs.
    """
    tree = parse_bash(script, times=LONGER)
    if tree is None:
        return None
    handled = re.search(r"\btrap\s.{0,200}\bERR\b", script) is not None
    walk = _StatusWalk(
        script,
        scripts,
        stops or handled,
        pipefail=_PIPES.search(script.split("\n", 1)[0]) is not None,
        waits=re.search(r"\bwait\b", script) is not None and not _WAITS.search(script),
    )
    walk.visit(tree, _Hearing(asked=True))
    excuses = [
        text
        for action, text in walk.trapped.items()
        if _ENDS_WELL.search(action) or action in walk.excusing
    ]
    return next(iter((*walk.lost, *excuses)), "")


def _list_statements(part: Node) -> Iterator[Node]:
    for child in part.named_children:
        if child.type not in _WORDS:
            yield child


def _list_commands(part: Node) -> list[str]:
    """Return the simple commands in a part, and assignments."""
    found, left = [], [part]
    while left:
        each = left.pop()
        if each.type in ("command", "variable_assignment", "postfix_expression", "test_command"):
            found.append(text_of(each))
        else:
            left.extend(each.named_children)
    return found


def _is_in_background(part: Node) -> bool:
    sign = part.next_sibling
    return sign is not None and sign.type == "&"
