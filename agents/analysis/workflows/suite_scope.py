"""Tell whether a workflow's command runs all tests that its runner would find, or a part of them.

Workflows divide a suite into steps, of which not all can be taken. What runs a part says nothing
of the rest, so the whole is looked for besides. A command that nobody can tell it of is taken for
the whole: then things are as they would be without looking.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Collection, Iterator, Sequence

from agents.analysis.languages.projects import NOT_OURS
from agents.analysis.which_are_tests import find_language, has_test_name

_NARROWING = {  # first word of a subject: options that choose some of the tests
    "tests": "-k -m --deselect --lf",
    "npm": "-w --workspace --filter -F --scope -t --testNamePattern --testPathPattern"
    " --testPathPatterns -g --grep --project --projects --shard",
    "go": "-run -skip",
    "cargo": "-p --package --lib --bin --bins --test --doc --example --examples -E",
    "maven": "-pl --projects -Dtest -Dit.test",
    "gradle": "--tests -p --project-dir",
    "ruby": "-e --example -t --tag -n",
    "php": "--filter --testsuite --group",
    "dotnet": "--filter",
    "mix": "--only",
}
_MORE = {  # what may have tests run that the plain command does not, by its first word
    "tests": r"-m[= ]|-c[= ]|-o[= ]|--run\w+|--\w*(?:integration|slow|e2e|network)\w*",
    "npm": r"--config|-c[= ]|--project",
    "go": r"-tags",
    "cargo": r"--(?:all-)?features|--(?:include-)?ignored|--all-targets",
    "maven": r"-P|-Dit|-Dgroups",
    "gradle": r"-P",
    "ruby": r"--tag|-t[= ]",
    "php": r"--testsuite|--group|-c[= ]",
    "mix": r"--include|--only",
}
_LANGUAGES = {"tests": "python", "npm": "script", "ruby": "ruby", "php": "php", "mix": "elixir"}
_ELSEWHERE = re.compile(  # options whose values are no choice of tests
    r"--?(?:c|n|o|p|W|cov|cov-config|rootdir|confcutdir|ignore|basetemp|junitxml|junit-xml|config"
    r"|settings|features|manifest-path|target|profile|target-dir|configuration|source|rcfile)"
)
_STARTS = ("pytest", "py.test", "unittest", "test", "jest", "vitest", "mocha", "rspec", "phpunit")
_RUNS_NOTHING = re.compile(r"--(?:no-run|collect-only|co|listTests|list-tests|list)")
_ONE_SCRIPT = re.compile(r"\btest:(?!ci\b|all\b|cov)[\w:.-]+")
_TASK = re.compile(r"(?:[A-Z_]\w*=\S* )*(?:make|just|task|npm|yarn|pnpm|bun) (?:run )?([\w:.-]+)")
_WHOLE = "test tests check all ci cov coverage unit unittest unittests run py t"
"""Words in a task's name that leave none of the tests out, as far as names tell."""


def runs_nothing(words: Sequence[str]) -> bool:
    """Return whether a command of tests builds or lists them, and runs none."""
    return any(map(_RUNS_NOTHING.fullmatch, words))


def may_run_more_tests(command: str, subject: str) -> bool:
    """Return whether a command may run tests that the subject's plain command does not."""
    options = _MORE.get(subject.split(maxsplit=1)[0], "")
    more = options and re.search(rf"\s(?:{options})", f"{command} ")
    return bool(more) or _is_task_of_some(command)


def runs_subset(command: str, subject: str, folder: str, paths: Collection[str]) -> bool:
    """Return whether a workflow's command of this subject runs some of the tests alone."""
    first = subject.split(maxsplit=1)[0]
    if not re.search(r"\btests\b", subject):
        return False
    words = _list_arguments(shlex.split(command))
    options = {word.partition("=")[0] for word in words if word.startswith("-")}
    if options & {*_NARROWING.get(first, "").split()}:
        return True
    if (first == "npm" and _ONE_SCRIPT.search(command)) or _is_task_of_some(command):
        return True
    if first == "go":
        return command.split(maxsplit=1)[0] == "go" and "./..." not in words
    if first == "cargo":
        return bool(words) and not words[0].startswith("-")
    return _leaves_out(words, first, folder, paths)


def _is_task_of_some(command: str) -> bool:
    task = _TASK.match(command)
    return task is not None and not {*re.split(r"[-_:.]", task[1].lower())} <= {*_WHOLE.split()}


def _leaves_out(words: Sequence[str], first: str, folder: str, paths: Collection[str]) -> bool:
    """Return whether the command names places, and a test lies in none of them."""
    within = f"{folder}/" if folder else ""
    inside = [path[len(within) :] for path in paths if path.startswith(within)]
    named = [place for word in _list_values(words) for place in _find_places(word, inside)]
    if not named or "." in named:
        return False
    language = _LANGUAGES.get(first, "")
    return any(
        is_own_test(path, language)
        and not any(path == place or path.startswith(f"{place}/") for place in named)
        for path in inside
    )


def is_own_test(path: str, language: str = "") -> bool:
    """Return whether a file holds tests of the repository's own, in that language if one is named.

    Those of others' code and of examples are not.
    """
    if language and find_language(path) != language:
        return False
    parts = path.split("/")[:-1]
    others = any(NOT_OURS.fullmatch(part) and not re.match("_*(test|spec)", part) for part in parts)
    return has_test_name(path) and not others and not path.endswith("conftest.py")


def _list_arguments(words: Sequence[str]) -> list[str]:
    """Return what stands after the word that runs tests."""
    at = [number for number, word in enumerate(words) if posixpath.basename(word) in _STARTS]
    return list(words[at[0] + 1 :]) if at else []


def _list_values(words: Sequence[str]) -> Iterator[str]:
    """Yield the words that are neither options nor values of some."""
    before = ""
    for word in words:
        other = word.startswith("-") or word.endswith((".sln", ".slnx"))
        if not other and not _ELSEWHERE.fullmatch(before):
            yield word
        before = word


def _find_places(word: str, inside: Sequence[str]) -> list[str]:
    """Return the file or folder that the word names, also as Python writes modules."""
    plain = posixpath.normpath(word.partition("::")[0])
    for place in (plain, plain.replace(".", "/"), f"{plain.replace('.', '/')}.py"):
        if place == "." or any(path == place or path.startswith(f"{place}/") for path in inside):
            return [place]
    return []
