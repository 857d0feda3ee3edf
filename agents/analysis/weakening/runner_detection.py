"""Find where a product newly asks whether tests run it: what it does then, nobody else sees.

Tests of such code pass whatever it does for everybody else. What asked before the change may go on
to ask, and test helpers, examples, settings and a repository's own tools may ask what they like.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from agents.analysis.weakening.diff_views import FileDiff, ViewLine, is_comment, list_fresh_lines
from agents.analysis.weakening.finding import Finding, make_finding
from agents.analysis.weakening.settings_files import is_settings
from agents.analysis.which_are_tests import is_test

_QUOTED = (
    r"['\"`](?i:py\.?test|_pytest|unittest|nose2?|jest|vitest|mocha|rspec|minitest|phpunit|junit"
    r"|org\.junit[\w.]*|surefire|xunit|nunit|testhost)\b"
)
_VARIABLES = (
    r"PYTEST_(?:CURRENT_TEST|VERSION|XDIST_WORKER)|JEST_WORKER_ID|VITEST(?:_POOL_ID|_WORKER_ID"
    r"|_MODE)?|NODE_TEST_CONTEXT|HARNESS_(?:ACTIVE|VERSION)|BATS_(?:TEST|VERSION|ROOT)\w*|NEXTEST"
    r"|PHPUNIT_COMPOSER_INSTALL|__PHPUNIT_PHAR__|TOX_ENV_(?:NAME|DIR)|VSTEST_\w+"
)
_SERVERS = r"['\"]?(?:CI|GITHUB_ACTIONS|CONTINUOUS_INTEGRATION)\b"
_CALLERS = r"(?:modules|argv|stack|frames?|StackTrace|class_exists|forName|find_spec)"
_EQUAL = r"['\"`\])}]*\s*[!=]==?\s*"
_ASKS = re.compile(
    rf"""\b(?:{_VARIABLES})\b
      | {_QUOTED}[^'"`]{{0,40}}['"`]\s*(?:not\s+)?(?:in\s|[!=]==?)
      | {_CALLERS}\b[^#;]{{0,60}}{_QUOTED} | {_QUOTED}[^;]{{0,60}}{_CALLERS}\b
      | ['"]tests?['"]\s+(?:not\s+)?in\s+sys\.argv
      | \b(?:NODE|RACK|RAILS|APP|HANAMI|MIX|DJANGO|FLASK)_ENV\b{_EQUAL}['"`:]+test
      | ['"`]test(?:ing)?{_EQUAL}[\w.]{{0,40}}\bNODE_ENV\b | \benv\.MODE{_EQUAL}['"`]test
      | \btypeof\s+\(?(?:jest|vi|vitest|mocha|describe|it|expect)\b
      | \bglobal(?:This)?\.(?:jest|describe|it|expect|vi|mocha)\b
      | \btesting\.Testing\(\) | \bflag\.Lookup\(\s*"test\. | \bos\.Args\[0\][^;]{{0,40}}test
      | \bcfg!\(\s*(?:not\(\s*)?test\b | \#\[cfg\(\s*not\(\s*test\s*\)
      | \bdefined\?\(\s*:*(?:RSpec|Minitest|Test::Unit) | \bRails\.env\.test\?
      | \$(?:0|PROGRAM_NAME)\b[^;]{{0,40}}\b(?:rspec|minitest|test)
      | \brunningUnitTests\(\) | ->environment\(\s*['"]testing
      | \bMix\.env(?:\(\))?{_EQUAL}:test\b
      | (?i:env(?:iron|ironmentvariable)?|_SERVER)(?:\.get)?\s*[(\[{{]\s*{_SERVERS}
      | \benv::var(?:_os)?\(\s*{_SERVERS} | \benv\.(?:CI|GITHUB_ACTIONS)\b
      | {_SERVERS}['"]\s+(?:not\s+)?in\s+(?:os\.)?environ""",
    re.VERBOSE,
)
# Most lines hold none of these words, and looking for them is quick.
_WORDS = re.compile(
    r"(?i:test|jest|mocha|rspec|nose|junit|phpunit|nunit|xunit|surefire|harness|bats_|typeof|global)"
    r"|CI\b|GITHUB_ACTIONS|CONTINUOUS_INTEGRATION"
)
_ONLY_TESTS = re.compile(r"^\s+#\[cfg\(\s*test\s*\)\]\s*$")
_DECLARES = re.compile(
    r"\s*(?:(?:pub|async|unsafe|const|static|fn|mod|use|impl|struct|enum|type|trait|extern)\b"
    r"|macro_rules|#|//|\}|\w+\s*:(?!:))"
)
"""An item or a field that is there for tests alone; anything else is what the product does."""
_OF_TESTS = re.compile(
    r"\.\w.*|(?:[\w-]*[_.-])?(?:test(?:s|ing|kit|lib|util(?:s|ities)?|support|helpers?)?|mocks?"
    r"|fixtures|bench\w*|examples?|samples?)",
    re.IGNORECASE,
)
"""Folders of what tests use, and of what nobody else does, wherever they lie."""
_AIDS = re.compile(r"docs?|scripts?|tools?|ci|hack|config", re.IGNORECASE)
"""Folders at the root, for whoever works on the project."""
_SETS_UP = re.compile(
    r"(?:setup|noxfile|fabfile|gulpfile|Gruntfile|build|Rakefile|settings)(?:\.\w+){1,2}|mix\.exs"
    r"|.+[.-](?:conf|config)\.\w+"
)

_FOR_ALL = re.compile(
    r"conftest\.py|(?:spec|test|rails)_helper\.\w+|bootstrap\.php"
    r"|(?:setup-?tests?|(?:jest|vitest)?[._-]?setup)\.[cm]?[jt]s"
)
"""Files that set up all tests."""
_SETS = re.compile(
    r"(?:\benviron\[|\benviron\.setdefault\(|\bputenv\(|\bENV\[|\benv\[|\benv\.)['\"]?"
    r"(?P<name>[A-Z][A-Z0-9_]{2,60})(?:['\"]\])?\s*(?:(?:\|\||\?\?)?=(?!=)|['\"],|=)"
)
_READS = re.compile(
    r"(?i:env(?:iron|ironmentvariable)?)\b\W{0,3}(?:(?:get|var|fetch)\w*\W{1,3})?(\w+)"
)


def find_runner_detection(changes: Sequence[FileDiff]) -> Iterator[Finding]:
    """Yield the lines of the product that ask for the first time whether tests run."""
    product = [each for each in changes if _is_product(each)]
    known = Counter(word for each in product for word, _ in _list_asked(each, each.before))
    for change in product:
        for word, line in _list_asked(change, change.after):
            if known[word]:
                known[word] -= 1
            else:
                yield make_finding(change.path, line.number, "detection", line.text)
    for change, line in _list_switches(changes, product):
        yield make_finding(change.path, line.number, "detection", line.text)


def _list_switches(
    changes: Sequence[FileDiff], product: Sequence[FileDiff]
) -> Iterator[tuple[FileDiff, ViewLine]]:
    """Yield what newly sets for all tests a variable that the product newly reads."""
    for_all = [e for e in changes if is_test(e.path) and _FOR_ALL.fullmatch(e.path.split("/")[-1])]
    if not for_all:
        return
    fresh = [line for each in product for line in list_fresh_lines(each.before, each.after)]
    read = {name for line in fresh for name in _READS.findall(line.text)}
    for each in for_all:
        for line in list_fresh_lines(each.before, each.after):
            if (found := _SETS.search(line.text)) and found["name"] in read:
                yield each, line


def _is_product(change: FileDiff) -> bool:
    path = PurePosixPath(change.path)
    if not change.language or change.binary or is_test(change.path) or is_settings(change.path):
        return False
    folders = path.parts[:-1]
    aside = any(map(_OF_TESTS.fullmatch, folders)) or any(map(_AIDS.fullmatch, folders[:1]))
    return not (aside or _SETS_UP.fullmatch(path.name))


def _list_asked(change: FileDiff, lines: Sequence[ViewLine]) -> Iterator[tuple[str, ViewLine]]:
    """Yield what a file asks, and where."""
    for line in lines:
        if not line.number or not _WORDS.search(line.text):
            continue
        found = _ASKS.search(line.text)
        if found and not is_comment(line.text, change.language):
            yield " ".join(found[0].split()), line
    if change.language == "rust":
        for line, below in pairwise(lines):
            if _ONLY_TESTS.match(line.text) and not _DECLARES.match(below.text):
                yield "cfg(test)", line
