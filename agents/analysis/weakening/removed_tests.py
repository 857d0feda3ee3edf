"""Count the tests that a change takes out of their files, so that fewer that run are no riddle."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from agents.analysis.weakening.diff_views import FileDiff, Unreadable, ViewLine, read_diff
from agents.analysis.weakening.find import holds_tests
from agents.analysis.weakening.parameter_tables import list_rows
from agents.analysis.weakening.settings_files import is_settings
from agents.analysis.weakening.test_cases import ParsedTest, select_tests
from agents.analysis.weakening.test_changes import ParsedSuite, list_suites
from agents.analysis.which_are_tests import is_test, is_test_code

_REPEATS = re.compile(
    r"parametri[sz]e|\bparams\s*=|generate_tests|\.each\b|\b[Dd]ata[Pp]rovider|\w+Source\b"
    r"|[\[,<]\s*(?:InlineData|TestCase|DataRow|TestWith)\s*\(|@testWith\b|#\[case\b|\bfor\b.*\b(?:in|of|range)\b"
)
MOST_PAIRS = 4_000_000  # of names and titles that are compared
_PLACEHOLDER = re.compile(r"[$#]?\{[^}]{0,80}\}|%\w")
"""What a title has in it for the values of a row."""
NOWHERE = (-1, 0)
_ROW = re.compile(r"^\s*(?:[(\[{\"'\d-]|pytest\.param\()")


@dataclass(frozen=True)
class RemovedTests:
    """What a change takes out of its tests."""

    count: int = 0
    """The tests that it removes, or moves to other files."""
    tables: tuple[str, ...] = ()
    """Files by which more may be gone, and nobody can tell how many: rows that a test ran for, or
    data that tests may be made of."""
    removed: frozenset[str] = frozenset()
    """What tests are called that it removes."""
    added: frozenset[str] = frozenset()
    """What tests are called that it adds."""
    renamed: frozenset[str] = frozenset()
    """What tests were called that have other names now, or are in other files."""
    kept: frozenset[str] = frozenset()
    """What these are called now."""
    lines: str = ""
    """The lines that it takes out of files with tests."""
    product: tuple[str, ...] | None = None
    """All files of the change, where none of them is of tests; else None."""

    def list_unexplained(
        self, gone: Sequence[str], came: Sequence[str], messages: Collection[str] = ()
    ) -> Sequence[str]:
        """Return the tests that no longer run for no reason that is known.

        Others that run in their place explain as many, unless the change adds them: tests with
        other names do, and rows with other values. So do removed tests that runs call otherwise.
        `messages`: names that may be no tests' but what an assertion writes. Where the change takes
        out a line that writes one, any other explains it: other rules look at what a line demands.
        Where the change touches no test, none has another name or other values by it: tests that
        are made of what the product lists are gone with that, apart from examples in its own texts.
        """
        if self.product is not None:
            words = [name for name in gone if self._is_of_product(name, messages)]
            return [*(name for name in gone if name not in {*words}), *words[len(came) :]]
        known = len(self.removed) + len(self.added) + len(self.renamed)
        if (len(gone) + len(came)) * known > MOST_PAIRS:
            return gone[: max(len(gone) - len(came) - self.count, 0)]  # so their number has to do
        titles = (self.removed, self.added, self.renamed, self.kept)
        removed, added, renamed, kept = map(_list_titles, titles)
        lost = [name for name in gone if not _is_called(name, removed)]
        instead = sum(_find_title(name, kept) >= _find_title(name, added) for name in came)
        unnamed = sum(not any(_holds(name, each) for name in gone) for each in removed)
        moved = {name for name in lost if _is_called(name, renamed)}
        shown = {name for name in lost if name in messages and name in self.lines} - moved
        instead += min(sum(name in shown for name in lost), len(came) - instead)
        # Others run in the place of these, so they are the last to be missed.
        lost.sort(key=lambda name: name in moved or name in shown)
        return lost[: max(len(lost) - instead - unnamed, 0)]

    def _is_of_product(self, name: str, messages: Collection[str]) -> bool:
        """Return whether what a test is called may stand in the product itself."""
        paths = tuple(self.product or ())
        return name in messages or name.startswith(("doctest ", "doc ", *paths))

    def join(self, other: RemovedTests) -> RemovedTests:
        """Return what both of two changes take out."""
        return RemovedTests(
            self.count + other.count,
            tuple(dict.fromkeys((*self.tables, *other.tables))),
            self.removed | other.removed,
            self.added | other.added,
            self.renamed | other.renamed,
            self.kept | other.kept,
            f"{self.lines}\n{other.lines}",
            None if self.product is None or other.product is None else self.product + other.product,
        )


def count_removed_tests(diff: str) -> RemovedTests:
    """Return what the change removes. A diff that cannot be read explains nothing."""
    try:
        changes = read_diff(diff)
    except Unreadable:
        return RemovedTests()
    suites = list_suites([each for each in changes if holds_tests(each)])
    rows = [each.change.old or each.change.path for each in suites if _loses_rows(each)]
    data = [each.old or each.path for each in changes if _loses_data(each)]
    count = sum(1 for suite in suites for _ in _list_gone(suite))
    removed = {case.name for suite in suites for case in (*suite.gone, *suite.merged)}
    kept = {id(new) for suite in suites for _, new in suite.pairs}
    every = [case for suite in suites for case in select_tests(suite.after)]
    moved = [pair for suite in suites for pair in _list_renamed(suite)]
    return RemovedTests(
        count,
        tuple(dict.fromkeys((*rows, *data))),
        frozenset(removed),
        frozenset(case.name for case in every if id(case) not in kept),
        frozenset(old for old, _ in moved),
        frozenset(new for _, new in moved),
        "\n".join(line for suite in suites for line in _list_lost_lines(suite)),
        None if suites or any(map(_is_of_tests, changes)) else tuple(c.path for c in changes),
    )


def _is_of_tests(change: FileDiff) -> bool:
    return any(is_test(path) for path in (change.old, change.new) if path)


def _list_renamed(suite: ParsedSuite) -> Iterator[tuple[str, str]]:
    here = {id(case) for case in suite.after}
    other = suite.change.old != suite.change.new
    for old, new in suite.pairs:
        if old.line and (other or old.name != new.name or id(new) not in here):
            yield old.name, new.name


def _list_lost_lines(suite: ParsedSuite) -> list[str]:
    before, after = (_list_texts(each) for each in (suite.change.before, suite.change.after))
    return [*(Counter(before) - Counter(after))]


def _list_gone(suite: ParsedSuite) -> Iterator[ParsedTest]:
    yield from (*suite.gone, *suite.merged)
    here = {id(case) for case in suite.after}
    yield from (old for old, new in suite.pairs if old.line and id(new) not in here)


def _loses_rows(suite: ParsedSuite) -> bool:
    """Return whether some of what one test runs for is gone, or of what has it run again."""
    before, after = suite.change.before, suite.change.after
    lost = Counter(_list_texts(before)) - Counter(_list_texts(after))
    repeats = any(_REPEATS.search(text) for text in lost)
    rows = any(list_rows(old) - list_rows(new) for old, new in suite.pairs)
    return repeats or rows or _count_rows(before) > _count_rows(after)


def _loses_data(change: FileDiff) -> bool:
    """Return whether the change touches what tests may be made of, or deletes tests unseen.

    A file of tests that only has another name has all its tests still: whoever finds fewer of them
    looks in the wrong place.
    """
    path = change.old or ""
    unseen = change.binary or (change.new is None and not change.before)
    return is_test(path) and not is_settings(path) and (unseen or not is_test_code(path))


def _list_texts(lines: Sequence[ViewLine]) -> list[str]:
    return [line.text.strip() for line in lines if line.number]


def _count_rows(lines: Sequence[ViewLine]) -> int:
    return sum(bool(line.number and _ROW.match(line.text)) for line in lines)


def _list_titles(names: Collection[str]) -> list[str]:
    """Return the titles of tests without what stands in them for values."""
    plain = (max(_PLACEHOLDER.split(name), key=len).strip("` ") for name in names)
    return [each for each in plain if each]


def _is_called(name: str, titles: Collection[str]) -> bool:
    return any(_holds(name, title) for title in titles)


def _holds(name: str, title: str) -> bool:
    """Return whether a title stands in the name of a test that ran, as a word of its own."""
    return _find_title(name, (title,)) > NOWHERE


def _find_title(name: str, titles: Collection[str]) -> tuple[int, int]:
    """Return where the title ends that says most of a name, and its length.

    A test is called by what stands last in its name: in front of it are those of files and modules,
    which may be called as a test is. Rows of a table stand behind it.
    """
    return max((_find_end(name, title) for title in titles), default=NOWHERE)


def _find_end(name: str, title: str) -> tuple[int, int]:
    if title not in name:  # which is quick, and mostly so
        return NOWHERE
    found = re.finditer(rf"(?<!\w){re.escape(title)}(?!\w|\.\w|::\w+::)", name)
    return max(((each.end(), len(title)) for each in found), default=NOWHERE)
