"""Read one run of a test command: a test failed, passed, or none ran."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from agents.analysis.check_failures import read_failures
from agents.analysis.outcome_lines import says_not_built
from agents.pipelines.stages.quality import CheckResult
from agents.ports import CommandResult
from agents.text import plain_output, printable
from agents.tools.shell.options import word_set
from agents.tools.shell.script import read

OUTPUT_KEPT = 3_000  # characters of the end of the output: where it says what failed
SHORTEST = 4  # characters of a file's name by which it can be told from other words

_PYTEST = re.compile(
    r"\bpytest\b|\bpy\.test\b|= test session starts =|short test summary info|\bno tests ran in "
    r"|\d+ deselected in |\[file_or_dir\]"
)
_PYTEST_SAYS = {
    3: "pytest itself broke down",
    4: "pytest could not make sense of the command, or of the tests' set-up",
    5: "pytest found no tests to run",
}
_COLLECTING = re.compile(r"errors? during collection|ERROR collecting|^ERROR \S+", re.MULTILINE)
_LACKS = re.compile(r"AttributeError|NameError|uninitialized constant|Class \"\S+\" not found")
_RAN_SOME = re.compile(
    r"\b[1-9]\d*\s+(?:passed|failed|tests?|examples?|passing|failing|specs?|assertions?)\b"
    r"|Tests run: [1-9]|\bRan [1-9]|^--- (?:PASS|FAIL)|^(?:ok|FAIL)\s|\bTests:\s+.*[1-9]",
    re.MULTILINE,
)
_RAN_NONE = re.compile(
    r"\bRan 0 tests\b|\bno tests (?:ran|to run|found)\b|\[no test files\]|\[no tests to run\]"
    r"|No tests? found|\b0 (?:passing|examples|tests)\b|running 0 tests",
    re.IGNORECASE,
)
_GO_SKIPPED = re.compile(r"^ *--- SKIP:", re.MULTILINE)
_GO_RAN = re.compile(r"^ *--- (?:PASS|FAIL):", re.MULTILINE)
_MAKE = re.compile(r"\bmake\b")  # it ends with 2 whatever fails
_STOPPED = {
    "timeout": "it had not ended when its time was over",
    "output": "it was stopped, because it wrote far too much",
    "killed": "it was killed",
    "memory": "it used up the memory that a command may have",
    "disk": "it used up the space that a run may have",
}
CRASHES = {134: "SIGABRT", 136: "SIGFPE", 139: "SIGSEGV"}  # a crash may be the very bug
ALONE = (
    "it has to be one program that runs tests, without pipes, `;`, `||`, `!` or a second program"
)
NO_TESTS = "`{name}` runs no tests"
_ENTERS = word_set("cd export set source .")
_LOOKS = word_set(
    "[ ack ag awk bat cat cmp column comm cut diff dir echo egrep exit expr false fgrep file find"
    " gawk git grep head jq kill less ls more nl od printf readlink return rg sed sort stat strings"
    " tac tail test tr true uniq wc which xxd yq"
)
_WRITTEN_OUT = re.compile(
    r"\b(?:python[\d.]*|node|deno|bun|ruby|perl|php|(?:ba|da|z|k)?sh)(?:\s+-(?!m\b)\S+)*?\s+"
    r"(?:-[A-Za-z]*[ce]\b|--eval\b|eval\b|-r\b|-p\b|--print\b)"
)
BEFORE, AFTER = "without the change", "with the change"
NOT_IMPORTED = (
    "without the change, the tests cannot even be imported or built: that they fail says less than"
    " a failed assertion would"
)
NOT_THERE = (
    "without the change, the tests fail because something that they use is not there: that says"
    " less than a failed assertion would"
)


@dataclass(frozen=True)
class Trial:
    """A test command and how it ended."""

    command: str
    result: CommandResult

    @property
    def output(self) -> str:
        """Return what it wrote, as text."""
        return plain_output(self.result.output)

    @property
    def weakness(self) -> str:
        """Return what makes its failure say less than that of an assertion; mostly nothing."""
        if self._asserted or not self._lacks_something:
            return ""
        unread = says_not_built(self.output) or _COLLECTING.search(self.output)
        return NOT_IMPORTED if unread and not self._ran_some else NOT_THERE

    @property
    def collects(self) -> bool:
        """Return whether pytest stopped while it read the tests."""
        return bool(_COLLECTING.search(self.output)) and self._lacks_something

    @property
    def pytest(self) -> bool:
        """Return whether the exit code is pytest's."""
        return bool(_PYTEST.search(f"{self.command}\n{self.output}"))

    @property
    def tests_fail(self) -> bool:
        """Return whether tests fail in it, or cannot be read, and it is not the command that does.

        A crash counts: nothing else was run.
        """
        return bool(self.result.exit_code) and not _no_failure(self)

    @property
    def ran_none(self) -> bool:
        """Return whether it says that no test ran: none was there, or all were skipped."""
        if self._ran == 0 or (_GO_SKIPPED.search(self.output) and not _GO_RAN.search(self.output)):
            return True
        said = _RAN_NONE.search(self.output) is not None
        return said and not (self._ran or _RAN_SOME.search(self.output))

    @property
    def _lacks_something(self) -> bool:
        return bool(says_not_built(self.output) or _LACKS.search(self.output))

    @property
    def _ran_some(self) -> bool:
        """Return whether it says that at least one test could be run."""
        ran = self._ran
        return bool(ran) or (ran is None and _RAN_SOME.search(self.output) is not None)

    @property
    def _ran(self) -> int | None:
        return read_failures(self.output, self.command, exited=True).ran

    @property
    def _asserted(self) -> bool:
        return "AssertionError" in self.output or bool(
            re.search(r"^E\s+assert", self.output, re.MULTILINE)
        )


def runs_no_test(command: str) -> str:
    """Return why nothing is shown by what this command says; nothing if it may run tests.

    Whoever wrote it wants the bug shown: what looks whether the change is there, and says that a
    test failed, must not pass for one. The folder may be changed before, and variables set.
    """
    *before, last = re.split(r"\s*&&\s*", command.strip())
    lexed = shlex.shlex(last, posix=False, punctuation_chars=True)
    lexed.whitespace_split = True
    try:
        signs = [word for word in lexed if set(word) <= set("();<>|&!") and ">" not in word]
    except ValueError:
        return ALONE
    entered = [each.split(maxsplit=1)[0] if each else "" for each in before]
    if signs or "\n" in last or "$(" in last or "`" in last or not _ENTERS.issuperset(entered):
        return ALONE
    looks = [each.name for each in read(command).commands if each.name in _LOOKS]
    if looks or _WRITTEN_OUT.search(last):
        return NO_TESTS.format(name=looks[0] if looks else last)
    return ""


def without_tests(trial: Trial, names: Iterable[str]) -> str:
    """Return why this run before the change is no failing test; nothing if it is one.

    `names`: the changed test files and the new tests in them. What failed has to be one of these,
    or else any command would do that only looks whether the change is there.
    """
    fault = _no_failure(trial)
    if fault:
        return fault
    if not any(_mentions(name, trial.output) for name in names):
        return f"{BEFORE} it fails, but what it writes names none of the tests that were changed"
    return ""


def says_too_little(trial: Trial) -> str:
    """Return why this run with the change is no passing test; nothing if it is one."""
    result = trial.result
    if result.why != "exit":
        return f"{AFTER}, {_STOPPED[result.why]}"
    if result.exit_code:
        return f"it fails {AFTER}, too (exit code {result.exit_code})"
    if failed := read_failures(trial.output, trial.command, exited=True).failed_tests:
        return f"{AFTER}, it ends as if all passed (exit code 0), and yet {failed[0]} failed in it"
    if trial.ran_none:
        return f"{AFTER}, it runs no test at all: those that it finds are skipped, or it finds none"
    return ""


def as_check(result: CommandResult, command: str, timeout: float) -> CheckResult:
    """Return the run as a check, with the end of what it wrote."""
    text = printable(plain_output(result.output)).strip()
    if result.why != "exit":
        text = f"{text}\n[{_STOPPED[result.why]}]"
    if len(text) > OUTPUT_KEPT:
        text = f"[... {len(text) - OUTPUT_KEPT} characters left out ...]\n{text[-OUTPUT_KEPT:]}"
    return CheckResult(
        name="proof",
        command=command,
        timeout=timeout,
        exit_code=result.exit_code,
        seconds=round(result.seconds, 2),
        output=text,
    )


def _no_failure(trial: Trial) -> str:
    if trial.result.why != "exit":
        return f"{BEFORE}, {_STOPPED[trial.result.why]}"
    code = trial.result.exit_code
    if code == 0:
        return f"its tests pass {BEFORE}, too"
    said = ""
    if code in (126, 127):
        said = "the command cannot be run"
    elif code > 128 and code not in CRASHES:
        said = "a signal ended it"
    elif trial.pytest and code in _PYTEST_SAYS:
        said = _PYTEST_SAYS[code]
    elif code == 2 and not trial.collects and not _MAKE.search(trial.command):
        said = "the command did not get as far as a test"
    return f"{BEFORE}, {said} (exit code {code})" if said else ""


def _mentions(name: str, output: str) -> bool:
    """Return whether the output names a test file, as path or module, or a test."""
    path = PurePosixPath(name)
    words = {name, path.name, path.with_suffix("").as_posix().replace("/", ".")}
    stem = path.name.split(".", 1)[0]
    if "/" not in name or len(stem) >= SHORTEST:
        words.add(stem)
    return any(
        re.search(rf"(?<![\w]){re.escape(word)}(?!\w)", output)
        for word in words
        if len(word) >= SHORTEST
    )
