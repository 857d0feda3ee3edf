"""Composer's versions and constraints, held against what Composer's own library says of them."""

import json
from pathlib import Path

import pytest

from agents.pipelines.remediate.ladder import Ranges
from agents.pipelines.remediate.ladder.composer import constraints
from agents.pipelines.remediate.ladder.composer.versions import SCHEME, is_development, read_key
from tests.agents.pipelines.remediate.ladder.conftest import advisory

TABLE = json.loads(Path(__file__).with_name("satisfies.json").read_text("utf-8"))


@pytest.mark.parametrize("constraint", TABLE["admitted"])
def test_a_constraint_admits_what_composer_says(constraint):
    admitted = [each for each in TABLE["versions"] if constraints.admits(constraint, each)]
    assert admitted == TABLE["admitted"][constraint]


def test_versions_are_ordered_as_composer_orders_them():
    ordered = SCHEME.order(TABLE["versions"])
    assert [read_key(each) for each in ordered] == [read_key(each) for each in TABLE["sorted"]]


@pytest.mark.parametrize(
    ("vulnerable", "inside", "outside"),
    [
        ("< 6.4.18.1", ["6.4.18.0", "6.4.18"], ["6.4.18.1", "6.4.20.2"]),  # shopware/core
        (
            ">= 2.4.6-p1, < 2.4.6-p10",  # magento/community-edition
            ["2.4.6-p1", "2.4.6-p2", "2.4.6-p9"],
            ["2.4.6", "2.4.6-p10", "2.4.6-p11"],
        ),
        ("< 2.4.4-p11", ["2.4.4", "2.4.4-p9", "2.4.4-beta1"], ["2.4.4-p11", "2.4.4-p12"]),
        ("< 1.7.8.10", ["1.7.8", "1.7.8.9", "v1.7.8.2"], ["1.7.8.10", "1.7.8.11"]),
        ("= 1.2.3", ["1.2.3", "1.2.3.0"], ["1.2.3.1", "1.2.3-p1"]),
    ],
)
def test_ranges_hold_four_numbers_and_patches(vulnerable, inside, outside):
    about = {"package": "acme/shop", "ecosystem": "composer"}
    alert = advisory("acme/shop", vulnerable).model_copy(update=about)
    ranges = Ranges.from_advisories(SCHEME, [alert])
    assert [each for each in inside if not ranges.hold(each)] == []
    assert [each for each in outside if ranges.hold(each)] == []
    assert ranges.hold("dev-main"), "a branch is no version that anything can be shown of"


def test_a_patch_is_no_prerelease_and_a_branch_is_no_release():
    assert not SCHEME.is_prerelease("2.4.6-p1")
    assert SCHEME.is_prerelease("2.4.6-beta1")
    assert SCHEME.delta("2.4.6-p1", "2.4.6-p8") == "patch"
    assert SCHEME.delta("6.4.18.0", "6.4.18.1") == "patch"
    assert SCHEME.delta("6.4.18.0", "7.0.0") == "major"
    branches = ("dev-main", "2.4.x-dev", "2.x-dev", "1.0.0-dev")
    assert all(map(is_development, branches))
    assert not is_development("2.4.6-p1")
