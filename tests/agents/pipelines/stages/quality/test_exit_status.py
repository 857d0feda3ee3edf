"""A script that counts no tests tells of a change where it is seen to fail without it."""

import json

import pytest

from agents.pipelines.stages.quality import checks_table
from agents.policy import POLICY_PATH

OLD, NEW, WRONG = "twice = 2\n", "twice = 2\nthrice = 3\n", "twice = 5\nthrice = 3\n"
TEST, MORE = "wants twice = 2\n", "wants twice = 2\nwants thrice = 3\n"
SCRIPT = {"scripts": {"test": "node run.js"}}
BASE = {
    POLICY_PATH: "setup: {second_look: false}\n",
    "package.json": json.dumps(SCRIPT),
    "run.js": "runs what the tests want",
    "lib.js": OLD,
    "tests/all.js": TEST,
}
WORK = {"lib.js": NEW, "tests/all.js": MORE}


def assert_by_exit_status(files):
    """Do what a test program does that says nothing: end with 1 where something wanted is not."""
    wanted = files["tests/all.js"].splitlines()
    lines = files["lib.js"].splitlines()
    return int(any(each.removeprefix("wants ") not in lines for each in wanted)), ""


@pytest.fixture
def compared(compare_change):
    """Compare a head with the base by `npm test`, which does as `does` says with the files."""

    async def compare(changes, does=assert_by_exit_status, base=BASE):
        commands = {"npm run --silent test": does, "npm test": does}
        return await compare_change(base, changes, commands)

    return compare


async def test_a_script_that_fails_without_the_change_makes_it_ready_and_people_read_so(compared):
    quality = await compared(WORK)

    assert quality.verdict == "no worse"
    assert "It fails on the files from before the change" in checks_table(quality)


async def test_a_script_that_fails_with_the_change_is_worse(compared):
    assert (await compared({**WORK, "lib.js": WRONG})).verdict == "worse"


def passes(_files):
    return 0, ""


def cannot_be_built(files):
    lacks = "thrice" in files["tests/all.js"] and "thrice" not in files["lib.js"]
    return (1, "Error: Cannot find module './thrice'") if lacks else (0, "")


def hides_a_failure(files):
    failed, _ = assert_by_exit_status(files)
    return failed, "FAIL other" if "thrice" in files["lib.js"] else "ok other"


def speaks_in_its_own_words(files):
    failed, _ = assert_by_exit_status(files)
    return failed, "run all\n" + "sum is -1" * ("thrice" in files["lib.js"])


def loses_a_success(files):
    failed, _ = assert_by_exit_status(files)
    return failed, "" if "thrice" in files["lib.js"] else "ok other"


def loses_one_of_very_many(files):
    failed, _ = assert_by_exit_status(files)
    words = ["".join(chr(97 + int(sign)) for sign in str(number)) for number in range(3_000)]
    kept = words[:-1] if "thrice" in files["lib.js"] else words
    return failed, "\n".join(f"{word} ok" for word in kept)


@pytest.mark.parametrize(
    ("changes", "does", "why"),
    [
        ({"lib.js": NEW}, assert_by_exit_status, "says nowhere that any test ran"),
        ({**WORK, "odd\n@@ name": "1"}, assert_by_exit_status, "diff cannot be read"),
        (WORK, passes, "it passes on the files from before with the tests of the change, too"),
        (WORK, cannot_be_built, "it fails before a test runs"),
        (WORK, hides_a_failure, "with the change it writes `FAIL other`"),
        (WORK, speaks_in_its_own_words, "with the change it writes `sum is -1`"),
        (WORK, loses_one_of_very_many, "writes more than can be compared"),
        (WORK, loses_a_success, "with the change it no longer writes `ok other`"),
        (
            {**WORK, "tests/all.js": "wants thrice = 3\n"},
            assert_by_exit_status,
            "takes `wants twice",
        ),
        ({**WORK, "run.js": "runs little"}, assert_by_exit_status, "touches `run.js`"),
        (
            {**WORK, "package.json": json.dumps({"scripts": {"test": "node run.js || true"}})},
            assert_by_exit_status,
            "touches `package.json`",
        ),
    ],
)
async def test_what_shows_less_leaves_the_verdict_open(compared, changes, does, why):
    quality = await compared(changes, does)

    assert quality.verdict == "unknown"
    assert why in quality.untold[0]


async def test_a_script_that_fails_now_and_then_shows_nothing(compared):
    ends = [0, 0, 1, 0]  # before, with the change, and twice on the files from before
    quality = await compared(WORK, lambda _files: (ends.pop(0), ""))

    assert quality.verdict == "unknown"
    assert not ends


async def test_other_lines_of_a_manifest_do_not_decide_what_its_script_runs(compared):
    version = json.dumps({"version": "1.1.0", **SCRIPT})

    assert (await compared({**WORK, "package.json": version})).verdict == "no worse"


async def test_a_script_that_goes_on_after_a_failure_tells_of_its_last_program_alone(compared):
    script = {"package.json": json.dumps({"scripts": {"test": "sh ci/run.sh"}})}
    quality = await compared(
        WORK, base={**BASE, **script, "ci/run.sh": "node tests/a.js\nnode tests/all.js\n"}
    )

    assert quality.verdict == "unknown"
    assert "does not tell whether `node tests/a.js` fails" in quality.untold[0]


GUIDE = {**BASE, "README.md": "# Sums\n", "docs/guide.md": "Add.\n"}
EDITED = {"README.md": "# All sums\n", "docs/guide.md": None, "CHANGELOG": "More.\n"}


def counts_words(files):
    return 0, f"{len(files.get('README.md', ''))} words in {files['lib.js'].count('=')} ms\nok all"


@pytest.mark.parametrize("does", [passes, counts_words])
async def test_documentation_alone_needs_no_more_than_what_passes_as_before(compared, does):
    quality = await compared(EDITED, does, GUIDE)

    assert quality.verdict == "no worse"
    assert "The change is documentation alone" in checks_table(quality)


def quotes(files):
    return 0, files["README.md"].replace("#", "ok")


def falls_silent(files):
    return 0, "it adds\n" * ("Sums" in files["README.md"])


def fails(files):
    return 0, "FAIL" * ("A" in files["README.md"])


def writes_much(files):
    return 0, f"# {files['README.md']}\n{'it adds up' * 1_000}"


@pytest.mark.parametrize(
    ("changes", "more", "does", "why"),
    [
        ({"README.md": "A\n", "lib.js": NEW}, {}, passes, "nobody named it"),
        ({"templates/mail.md": "A\n"}, {}, passes, "nobody named it"),
        ({"tests/data/README2.md": "A\n"}, {}, passes, "it passes on the files from before"),
        ({"README.md": "All\n"}, {}, quotes, "with the change it no longer writes `ok Sums`"),
        ({"README.md": "A\n"}, {}, falls_silent, "it writes `it adds` only before the change, or"),
        ({"README.md": "A\n"}, {"tests/a.js": "read('README.md')"}, passes, "`tests/a.js` may"),
        ({"README.md": "A\n"}, {"run.js": "glob('**/*.md')"}, passes, "`run.js` may read"),
        ({"docs/guide.md": "A\n"}, {"tests/a.js": "list('docs')"}, passes, "`tests/a.js` may"),
        (
            {"README.md": "A\n"},
            {"package.json": json.dumps({"scripts": {"test": "sh t.sh"}}), "t.sh": "node a\n" * 2},
            passes,
            "does not tell whether `node a` fails",
        ),
        ({"README.md": "A\n"}, {}, fails, "with the change it writes `FAIL`"),
        ({"README.md": "A\n"}, {}, writes_much, "it writes more than can be compared"),
    ],
    ids=[
        *("code", "template", "data of tests", "other words", "fewer", "test", "program", "folder"),
        *("unheard", "failure", "much"),
    ],
)
async def test_documents_that_something_reads_leave_the_verdict_open(
    compared, changes, more, does, why
):
    quality = await compared(changes, does, {**GUIDE, **more})

    assert quality.verdict == "unknown"
    assert why in quality.untold[0]
