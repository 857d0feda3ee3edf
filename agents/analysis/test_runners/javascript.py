"""jest, vitest, mocha, Node's own runner and Bun's.

The first two write the same JSON (https://jestjs.io/docs/cli#--json). mocha and Node's take a
reporter, and are given one that writes what they themselves call each test, line by line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from agents.analysis.check_failures.lines import normalize_name
from agents.analysis.check_failures.named_tests import pack_names
from agents.analysis.check_failures.reported import ALL_OF_IT, ReportedFailures
from agents.analysis.repository_files import table
from agents.analysis.test_runners.reporter_lines import RAN, WITHIN, read_json, read_lines
from agents.analysis.test_runners.runner import (
    REPORTS,
    Additions,
    CommandWords,
    ReportKind,
    TestRunner,
)

_OF_JEST = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "
_SPACE = re.compile(r"(?:\\?\s)+")


def read_jest(texts: Sequence[str], *, within: str = _OF_JEST) -> ReportedFailures | None:
    """Return what the JSON of jest, or of vitest, says; None where it is none.

    `within`: what stands between the names of suites and test, as in the output for people.
    """
    documents = [read_json(text) for text in texts]
    if not documents or not all(isinstance(each.get("testResults"), list) for each in documents):
        return None
    names, ran, unnamed = dict[str, int](), list[str](), 0
    for document in documents:
        for each in document["testResults"]:
            file = normalize_name(str(table(each).get("name", "")))
            tests = table(each).get("assertionResults")
            cases = [table(case) for case in tests] if isinstance(tests, list) else []
            bad = [_name_jest(file, case, within) for case in cases if _has_failed(case)]
            if table(each).get("status") == "failed" and not bad:
                bad = [f"{file}{ALL_OF_IT}"]
            names |= dict.fromkeys(bad, 1)
            ran += [_name_jest(file, case, within) for case in cases if case.get("status") in RAN]
        counted = document.get("numFailedTests")
        unnamed += counted if isinstance(counted, int) else 0
    whole = sum(not name.endswith(ALL_OF_IT) for name in names) >= unnamed
    tests = pack_names(ran)
    return ReportedFailures(names=names, whole=whole, ended=True, ran=len(ran), tests=tests)


def _name_jest(file: str, case: dict[str, Any], within: str) -> str:
    above = case.get("ancestorTitles")
    titles = [str(each) for each in above if each] if isinstance(above, list) else []
    inside = within.join((*titles, str(case.get("title", ""))))
    return normalize_name(f"{file}{WITHIN}{inside}")


def _has_failed(case: dict[str, Any]) -> bool:
    return case.get("status") == "failed"


def _match(titles: Sequence[str]) -> str:
    """Return the expression that fits these titles and nothing else, with any white space."""
    fits = (_SPACE.sub(r"\\s+", re.escape(title).replace("/", "\\/")) for title in titles)
    return f"^(?:{'|'.join(dict.fromkeys(fits))})$"


def _split_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the files, and the titles as runners match them: joined by spaces."""
    pairs = [name.partition(WITHIN) for name in names]
    files = [file for file, _, _ in pairs if file]
    titles = [title.replace(_OF_JEST, " ").replace(WITHIN, " ") for _, _, title in pairs]
    return list(dict.fromkeys(files)), titles if all(titles) else []


def _select_jest(names: Sequence[str]) -> Additions | None:
    files, titles = _split_names(names)
    paths = [f"{re.escape(file)}$" for file in files]
    return Additions(("-t", _match(titles), *paths)) if titles and _may_follow(paths) else None


def _select_vitest(names: Sequence[str]) -> Additions | None:
    files, titles = _split_names(names)
    return Additions(("-t", _match(titles), *files)) if titles and _may_follow(files) else None


def _select_mocha(names: Sequence[str]) -> Additions | None:
    return Additions(("--grep", _match(names)))


def _select_nodejs(names: Sequence[str]) -> Additions | None:
    """Select each test by its own name, and what it stands in by that, which has to run, too.

    https://nodejs.org/api/test.html#filtering-tests-by-name
    """
    parts = [part for name in names for part in name.split(WITHIN)[1:]]
    if not all(WITHIN in name for name in names):
        return None
    return Additions(tuple(f"--test-name-pattern={_match([each])}" for each in parts))


def _select_bun(names: Sequence[str]) -> Additions | None:
    """Select by what stands around a test and its own name, joined by spaces.

    https://bun.com/docs/test#filter-by-test-name
    """
    joined = [name.replace(WITHIN, " ") for name in names]
    return Additions(("-t", _match([*joined, *names])))


def _may_follow(arguments: Sequence[str]) -> bool:
    return not any(each.startswith("-") for each in arguments)


_JEST_FILE, _VITEST_FILE = "jest.json", "vitest.json"
_MOCHA_FILE, _MOCHA_REPORTER = "mocha.json", "mocha_reporter.cjs"
_NODEJS_FILE, _NODEJS_REPORTER = "node.json", "node_reporter.mjs"
_FOR_PEOPLE = "--test-reporter=spec --test-reporter-destination=stdout"
_FOR_PROGRAMS = (
    f"--test-reporter={REPORTS}/{_NODEJS_REPORTER}"
    f" --test-reporter-destination={REPORTS}/{_NODEJS_FILE}"
)
_OPTIONS = f"{_FOR_PEOPLE} {_FOR_PROGRAMS}"


def _report_beside(words: CommandWords) -> Additions | None:
    """Give the one reporter of a call a destination, behind that of the report.

    Node takes them in pairs: https://nodejs.org/api/test.html#multiple-reporters
    """
    options = [each.partition("=")[0] for each in words if each.startswith("--test-reporter")]
    if options != ["--test-reporter"]:
        return None
    pairs = f"{_FOR_PROGRAMS} --test-reporter-destination=stdout"
    return Additions(variables={"NODE_OPTIONS": pairs})


JEST = TestRunner(
    "jest",
    _select_jest,
    (("jest",),),
    ReportKind(
        read_jest,
        _JEST_FILE,
        Additions(("--json", f"--outputFile={REPORTS}/{_JEST_FILE}")),
        not_with=("--json", "--outputFile", "--output-file"),
    ),
)
VITEST = TestRunner(
    "vitest",
    _select_vitest,
    (("vitest",),),
    ReportKind(
        partial(read_jest, within=WITHIN),
        _VITEST_FILE,
        Additions(
            (
                "--reporter=default",
                "--reporter=json",
                f"--outputFile.json={REPORTS}/{_VITEST_FILE}",
            )
        ),
        not_with=("--reporter", "--outputFile"),
    ),
)
MOCHA = TestRunner(
    "mocha",
    _select_mocha,
    (("mocha",), ("_mocha",)),
    ReportKind(
        read_lines,
        _MOCHA_FILE,
        Additions(("--reporter", f"{REPORTS}/{_MOCHA_REPORTER}")),
        not_with=("--reporter", "-R"),
        reporter=_MOCHA_REPORTER,
    ),
)
NODEJS = TestRunner(
    "node --test",
    _select_nodejs,
    (("node", "--test"),),
    ReportKind(
        read_lines,
        _NODEJS_FILE,
        Additions(variables={"NODE_OPTIONS": _OPTIONS}),
        not_with=("--test-reporter",),
        beside=_report_beside,
        supported=f"NODE_OPTIONS='{_FOR_PEOPLE}' node -e 0",
        reporter=_NODEJS_REPORTER,
    ),
    options_first=True,
)
"""Its options stand in front of the files, which scripts name: so it is told by a variable."""
BUN = TestRunner("bun", _select_bun, (("bun", "test"),))
"""Its output names what fails, and a file that cannot be loaded; its report leaves that out."""
