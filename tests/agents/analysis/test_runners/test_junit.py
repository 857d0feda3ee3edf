"""Reports for programs in JUnit's form: what Surefire writes, and what a hostile one can do."""

import pytest

from agents.analysis.check_failures import compare, read_failures
from agents.analysis.test_runners.junit import read_junit
from tests.agents.analysis.check_failures.test_compare import Ran

SUREFIRE = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="org.example.SumTest" tests="3" errors="1" skipped="1" failures="1">
  <testcase name="adds" classname="org.example.SumTest" time="0.01"/>
  <testcase name="subtracts" classname="org.example.SumTest">
    <failure message="expected: &lt;1&gt;"/></testcase>
  <testcase name="waits" classname="org.example.SumTest"><skipped/></testcase>
</testsuite>
"""
LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<testsuite><testcase classname="t" name="&b;"/></testsuite>
"""


def test_what_surefire_writes_is_read_document_by_document():
    told = read_junit([SUREFIRE, SUREFIRE.replace("SumTest", "OtherTest")])

    assert (told.ran, told.whole, set(told.names)) == (
        4,
        True,
        {"org.example.SumTest subtracts", "org.example.OtherTest subtracts"},
    )


@pytest.mark.parametrize(
    "text",
    [
        LAUGHS,
        SUREFIRE[:300],
        "<?xml version='1.0'?>no",
        "find: no such file",
        "<a>" * 100_000,
        f"<a>{'<testcase/>' * 1_000_000}</a>",
    ],
    ids=["expands", "cut", "no XML", "no report", "too deep", "too many"],
)
def test_what_cannot_be_read_or_declares_something_is_not_whole(text):
    assert not read_junit([text]).whole
    assert not read_junit([SUREFIRE, text]).whole


def test_what_no_encoding_has_harms_nobody():
    assert read_junit([SUREFIRE.replace("subtracts", "\ud800")]).total == 1


def test_what_a_test_prints_keeps_no_report_from_being_read():
    """Meson 1.0.1 copies what no XML may have, here of the tests of tinyxml2, into its report."""
    text = (
        '<testsuites><testsuite name="tinyxml2" tests="2"><testcase name="xmltest">'
        "<system-out>[pass] Broken \x0e\x00\ufffe</system-out></testcase>"
        '<testcase name="other"><failure/></testcase></testsuite></testsuites>'
    )

    told = read_junit((text,))

    assert (told.ran, told.whole, [*told.names]) == (2, True, ["other"])


def test_of_ctest_a_test_without_its_program_fails_although_it_is_called_skipped():
    case = '<testcase name="{0}" classname="{0}" status="{1}">{2}</testcase>'
    skipped = '<skipped message="{}"/>'
    cases = (
        case.format("good", "run", ""),
        case.format("absent", "notrun", skipped.format("Unable to find executable")),
        case.format("skips", "notrun", skipped.format("SKIP_RETURN_CODE=77")),
        case.format("off", "disabled", ""),
    )

    told = read_junit([f'<?xml version="1.0"?>\n<testsuite>{"".join(cases)}</testsuite>'])

    assert (set(told.names), told.ran) == ({"absent absent"}, 1)


def test_a_red_run_that_names_nothing_which_fails_tells_nothing():
    said = "3 passed in 0.1s\nsh: 1: aud: not found\n"
    red = Ran(1, read_failures(said, "npm test", exited=True))

    assert red.failures.ran == 3
    assert compare([red], red).verdict == "unknown"


def test_what_is_to_be_done_yet_and_what_asserts_nothing_has_not_failed():
    cases = (
        '<testcase name="todo"><skipped type="todo"/><failure/></testcase>'
        '<testcase name="risky"><error type="PHPUnit\\Framework\\RiskyTestError"/></testcase>'
    )

    assert read_junit([f"<testsuite>{cases}</testsuite>"]).names == {}


def test_without_a_report_there_is_nothing():
    assert read_junit([]) is None


def test_a_report_decides_where_every_run_has_one():
    def make_ending(code, *bad):
        cases = "".join(
            f'<testcase classname="t" name="{n}">{"<failure/>" if n in bad else ""}</testcase>'
            for n in "abc"
        )
        report = read_junit([f'<?xml version="1.0"?><testsuite>{cases}</testsuite>'])
        failures = read_failures("garbled [... 9 bytes left out ...]", "x", exited=True)
        return Ran(code, failures.model_copy(update={"reports": {"Maven": report}}))

    assert compare([make_ending(1, "a")], make_ending(1, "a")).verdict == "no worse"
    assert compare([make_ending(1, "a")], make_ending(1, "a", "b")).new == ("t b",)
    without = Ran(1, read_failures("garbled", "x", exited=True))
    assert compare([without], make_ending(1, "a")).verdict == "unknown"
