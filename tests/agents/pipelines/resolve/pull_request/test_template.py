"""The repository's own template: filled by a model, ticked by records alone."""

import pytest

from agents.pipelines.resolve.pull_request.checked_facts import list_facts
from agents.pipelines.resolve.work import MeasuredChange
from agents.pipelines.stages.inspect_weakening import Inspection
from agents.pipelines.stages.quality import Baseline, CheckComparison, CheckResult
from agents.pipelines.stages.regression_proof import RegressionProof
from agents.ports import SetupResult
from agents.text import publish
from agents.text.pull_template import (
    MOST_BOXES,
    MOST_SECTIONS,
    CheckedFact,
    fill_template,
    find_template,
    put_into_template,
    split_template,
)

TEMPLATE = """\
## What does this change?

Tell us in a sentence.

## Kind of change

- [ ] Bug fix
- [ ] New feature

## Checklist ##

* [x] The tests pass
* [ ] I have read the testing guide
- [ ] Documentation updated

```md
## no heading
- [ ] no box
```

### Screenshots
"""
FACTS = (
    CheckedFact("tests", "exit code 0 on aaaaaaaaaa", frozenset({"test"})),
    CheckedFact("kind of change", "triage read it as bug", frozenset({"bug", "fix"})),
)


TOLD = """\
## what does this change
It adds right.

## Kind of change
It is one.
- [x] Bug fix (kind of change)
- [ ] New feature

## Checklist
All of it.
- [x] The tests pass (tests)
- [x] I have read the testing guide (tests)
- [x] Documentation updated (tests)
"""


def fill(filled=TOLD, template=TEMPLATE, facts=FACTS, safe=str):
    return fill_template(template, filled, facts, safe)


def check(name, exit_code, verdict="no worse"):
    return CheckResult(
        name=name,
        command=f"make {name}",
        timeout=9,
        exit_code=exit_code,
        seconds=1,
        output="",
        verdict=verdict,
    )


def make_change(*runs, proof=RegressionProof()):  # noqa: B008 - it is frozen
    baseline = Baseline(runs=runs, unavailable=(), source="-", setup=SetupResult(source="-"))
    quality = CheckComparison(commit="a" * 40, runs=runs, baseline=baseline)
    return MeasuredChange(quality=quality, proof=proof, inspection=Inspection())


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["README.md", ".github/pull_request_template.md"], ".github/pull_request_template.md"),
        (["docs/PULL_REQUEST_TEMPLATE.md"], "docs/PULL_REQUEST_TEMPLATE.md"),
        (
            ["PULL_request_template.txt", "docs/pull_request_template.md"],
            "PULL_request_template.txt",
        ),
        ([".github/PULL_REQUEST_TEMPLATE/bug.md", "src/pull_request_template.md"], ""),
    ],
)
def test_it_is_found_where_github_looks(files, found):
    assert find_template(files) == found


def test_every_heading_stands_in_its_order_with_text_or_a_word_that_there_is_none():
    text = fill()
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "## What does this change?",
        "## Kind of change",
        "## Checklist ##",
        "### Screenshots",
    ]
    assert text.startswith("## What does this change?\n\nIt adds right.\n\n## Kind")
    assert "Tell us" not in text
    assert text.endswith("### Screenshots\n\nNothing to say here.")


def test_what_ticks_a_box_is_named_beside_it():
    text = fill()
    assert "- [x] Bug fix (kind of change: triage read it as bug)\n- [ ] New feature" in text
    assert "- [x] The tests pass (tests: exit code 0 on aaaaaaaaaa)\n- [ ] I have read" in text


@pytest.mark.parametrize(
    "box",
    [
        "- [x] I have read the testing guide (tests)",  # what a person did
        "- [x] Documentation updated (tests)",  # about something else
        "- [x] The tests pass (lint)",  # no such record
        "- [x] The tests pass",  # no record named
        "- [ ] The tests pass (tests)",
        "- [x] The tests and all else pass (tests)",  # no such box
        "- [x] New feature (kind of change)",  # triage said otherwise
    ],
)
def test_no_box_is_ticked_by_a_models_word_alone(box):
    text = fill(f"## Kind of change\n-\n{box}\n## Checklist\n-\n{box}")
    assert "[x]" not in text
    assert "- [ ] The tests pass" in text
    assert text.count("- [ ]") == 5


@pytest.mark.parametrize("filled", ["", "## Another heading\nIt adds.", "## Checklist\n\n"])
def test_where_no_text_fits_the_template_it_is_not_used(filled):
    assert fill(filled) == ""


def test_without_a_template_nothing_is_filled():
    assert fill(template="") == ""
    assert fill(template="\n\n") == ""


def test_headings_of_the_models_own_belong_to_the_section_before_them():
    text = fill("## What does this change\nIt adds.\n### How\nSo.\n## Checklist\n-")
    assert "It adds.\n### How\nSo.\n\n## Kind of change" in text


def test_code_is_text_in_what_a_model_wrote():
    code = "```md\n## Checklist\n- [x] The tests pass (tests)\n```"
    text = fill(f"## What does this change\nLike so:\n{code}")
    assert f"Like so:\n{code}\n\n## Kind" in text
    assert text.count("[x]") == 1


def test_a_template_without_headings_is_one_section():
    text = fill(
        "All of it.\n- [x] The tests pass (tests)", "Say what it does.\n\n- [ ] The tests pass"
    )
    assert text == "All of it.\n\n- [x] The tests pass (tests: exit code 0 on aaaaaaaaaa)"


def test_each_part_is_made_safe_by_itself():
    seen = []
    fill("## Checklist\n<details>", safe=lambda text: seen.append(text) or text)
    assert {"<details>", "## What does this change?", "Bug fix"} <= set(seen)


def test_a_huge_template_is_bounded():
    many = "".join(f"# {n}\n- [ ] a\n- [ ] b\n" for n in range(500))
    text = fill("# 1\nIt adds.", many)
    assert len([line for line in text.splitlines() if line.startswith("#")]) == MOST_SECTIONS
    assert fill("# 1\n-", "# 1\n" + "- [ ] a\n" * 500).count("- [ ]") == MOST_BOXES
    assert split_template("#" + " " * 1_000_000 + "x")


def test_records_are_what_passed_and_was_measured():
    shown = check("-", 0)
    proof = RegressionProof(commit="b" * 40, kind="bug", wanted=True, shown=True, head=shown)
    runs = (check("tests", 0), check("lint", 1), check("types", 0, "unknown"))
    names = [fact.name for fact in list_facts("bug", make_change(*runs, proof=proof))]
    assert names == ["tests", "regression test", "tests of the change", "kind of change"]
    assert list_facts("question", make_change(check("tests", 2))) == ()


EMPTY = "Nothing to say here."
PLACES = {
    "under the heading that asks": (
        "Thanks!\n\n## Checklist\n- [x] I ran it\n\n## Description\nSay it.\n\n## Notes\n",
        f"## Checklist\n\n- [ ] I ran it\n\n## Description\n\nMade.\n\n## Notes\n\n{EMPTY}",
    ),
    "above all where none does": (
        "## Why\n\n## Tests\n- [ ] Added",
        f"Made.\n\n## Why\n\n{EMPTY}\n\n## Tests\n\n- [ ] Added",
    ),
    "alone where there are none": ("Tell us.", "Made."),
}


@pytest.mark.parametrize("place", PLACES)
def test_what_code_describes_stands_where_the_template_asks_for_it(place):
    """And no box is ticked by it: nobody has judged what they say."""
    template, filled = PLACES[place]
    assert put_into_template(template, "Made.", publish) == filled


def test_a_template_brings_no_markup_of_its_own():
    hostile = "### What changes <img src=x>\n\n- [ ] <script>x</script> done @everybody\n"
    made = put_into_template(hostile, "Made.", publish)
    assert "<img" not in made
    assert "<script" not in made
    assert "@everybody" not in made
