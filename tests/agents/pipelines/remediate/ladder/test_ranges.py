"""Which version is safe, and which is the smallest of those."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from univers.versions import GolangVersion, RubygemsVersion, SemverVersion

from agents.pipelines.remediate.ladder import NPM, PYPI, Ranges, Scheme, Unfit
from agents.pipelines.remediate.ladder.cargo.adapter import Cargo
from agents.pipelines.remediate.ladder.composer.adapter import Composer
from agents.pipelines.remediate.ladder.python.specs import (
    admits,
    bump_pin,
    floor,
    poetry_admits,
    poetry_widened,
    raise_floor,
    widen_range,
)
from tests.agents.pipelines.remediate.ladder.conftest import advisory

numbers = st.integers(0, 4)
versions = st.tuples(numbers, numbers, numbers).map(lambda n: ".".join(map(str, n)))
bounds = st.tuples(st.sampled_from(["<", "<=", ">", ">=", "="]), versions)
github = st.lists(bounds, min_size=1, max_size=2, unique_by=lambda b: b[0])


def format_parts(parts):
    return ", ".join(f"{operator} {version}" for operator, version in parts)


def make_ranges(*texts, scheme=PYPI):
    return Ranges.from_advisories(scheme, [advisory("p", text) for text in texts])


@given(parts=github, version=versions)
def test_a_range_holds_what_packaging_says_it_holds(parts, version):
    operators = {operator for operator, _ in parts}
    if len(parts) > 1 and ("=" in operators or len({o[0] for o in operators}) < 2):
        return  # GitHub writes a lower and an upper bound, or one version
    if len({v for _, v in parts}) < len(parts):
        return  # an empty range, which no advisory has
    lower = [Version(v) for o, v in parts if o[0] == ">"]
    upper = [Version(v) for o, v in parts if o[0] == "<"]
    if lower and upper and lower[0] > upper[0]:
        return  # the same
    expected = SpecifierSet(",".join(f"{'==' if o == '=' else o}{v}" for o, v in parts))
    assert make_ranges(format_parts(parts)).hold(version) == expected.contains(version)


@given(
    below=st.lists(versions, min_size=1, max_size=3),
    old=versions,
    offered=st.lists(versions, max_size=12),
    majors=st.booleans(),
)
def test_a_target_is_the_smallest_that_no_alert_names(below, old, offered, majors):
    ranges = make_ranges(*(f"< {version}" for version in below))
    found = list(ranges.targets(old, offered, majors=majors))
    safe = [
        v for v in set(offered)
        if Version(v) > Version(old) and all(Version(v) >= Version(b) for b in below)
    ]  # fmt: skip
    line = [v for v in safe if v.split(".")[0] == old.split(".")[0]]
    others = [v for v in safe if v not in line] if majors else []
    assert found == sorted(line, key=Version) + sorted(others, key=Version)


@pytest.mark.parametrize("scheme", [PYPI, NPM])
def test_prereleases_are_no_targets(scheme):
    offered = ["1.0.0", "1.1.0-rc.1" if scheme is NPM else "1.1.0rc1", "1.2.0"]
    assert list(make_ranges("< 1.1.0", scheme=scheme).targets("1.0.0", offered, majors=True)) == [
        "1.2.0"
    ]


def test_ranges_of_several_alerts_count_together():
    ranges = make_ranges(">= 3.0, < 3.1.4", "= 3.1.4", "<= 2.11")
    held = [v for v in ("2.11", "2.12", "3.1.3", "3.1.4", "3.1.5") if ranges.hold(v)]
    assert held == ["2.11", "3.1.3", "3.1.4"]


@pytest.mark.parametrize("text", ["", "*", "rm -rf", ">= 1.0; x", "< " + "9" * 5000])
def test_a_range_that_cannot_be_read_is_never_passed_over(text):
    with pytest.raises(Unfit):
        make_ranges(text)


@pytest.mark.parametrize("text", ["", "x", "9" * 5000, "1.0+", "$(id)"])
def test_what_is_no_version_counts_as_vulnerable(text):
    assert make_ranges("< 1.0").hold(text)


@pytest.mark.parametrize(
    ("old", "new", "delta"),
    [
        ("1.2.3", "1.2.4", "patch"), ("1.2.3", "1.3.0", "minor"), ("1.2.3", "2.0.0", "major"),
        ("0.4.4", "0.5.0", "minor"), ("1!1.0", "2!1.0", "major"), ("1.0", "1.0.post1", "patch"),
        ("1.2.3.4", "1.2.3.5", "patch"), ("x", "1.0", "other"),
    ],
)  # fmt: skip
def test_how_far_a_move_goes(old, new, delta):
    assert PYPI.delta(old, new) == delta


SPECS = [
    # asked for, version, with its pin moved, with floor moved, widened
    ("==0.4.4", "0.5.0", "==0.5.0", "==0.5.0", "==0.5.0"),
    ("~=3.1.3", "3.1.4", "~=3.1.3", "~=3.1.4", "~=3.1.3"),
    ("~=3.0.1", "3.1.4", None, None, "~=3.1.4"),
    (">=0.4,<0.5", "0.5.0", None, None, ">=0.4,<0.6"),
    (">=3, <4", "3.1.4", ">=3, <4", ">=3.1.4, <4", ">=3, <4"),
    ("<3.1.4", "3.1.4", None, None, "<3.1.5"),
    (">=1.0,<2.0", "2.3.1", None, None, ">=1.0,<3.0"),
    ("<0.5.0", "0.6.2", None, None, "<0.7.0"),
    ("<=3.1.3", "3.1.4", None, None, "<=3.1.4"),
    ("==3.0.*", "3.1.4", None, None, "==3.1.*"),
    ("==3.1.*", "3.1.4", "==3.1.*", "==3.1.*,>=3.1.4", "==3.1.*"),
    (">=3.1.5,==3.1.*", "3.1.7", ">=3.1.5,==3.1.*", ">=3.1.7,==3.1.*", ">=3.1.5,==3.1.*"),
    ("> 3.0", "3.1.4", "> 3.0", ">= 3.1.4", "> 3.0"),
    ("!=3.1.4", "3.1.4", None, None, None),
    ("", "1.0", None, None, None),
    ("==1.0 || ==2.0", "3.0", None, None, None),
]


@pytest.mark.parametrize(("spec", "version", "pin", "low", "wide"), SPECS)
def test_requirements_move_no_further_than_asked(spec, version, pin, low, wide):
    assert [change(spec, version) for change in (bump_pin, raise_floor, widen_range)] == [
        pin,
        low,
        wide,
    ]


@given(
    parts=st.lists(
        st.tuples(st.sampled_from(["<", "<=", ">=", "~=", "==", "!="]), versions), max_size=3
    ),
    version=versions,
)
def test_a_changed_requirement_admits_the_version(parts, version):
    spec = ",".join(f"{operator}{bound}" for operator, bound in parts)
    for change in (bump_pin, raise_floor, widen_range):
        moved = change(spec, version)
        assert moved is None or admits(moved, version)


@pytest.mark.parametrize(
    ("spec", "version", "admitted", "wide"),
    [
        ("^3.0", "3.1.4", True, "^3.0"), ("^0.4.4", "0.5.0", False, "^0.5.0"),
        ("~3.0", "3.1.4", False, "~3.1"), ("3.0.3", "3.0.4", False, "3.0.4"),
        ("*", "9.0", True, None), ("3.0.*", "3.1.4", False, "3.1.*"),
        ("^2.0 || ^3.0", "4.0", False, None),
    ],
)  # fmt: skip
def test_poetrys_requirements(spec, version, admitted, wide):
    assert poetry_admits(spec, version) is admitted
    assert poetry_widened(spec, version) == wide


def test_the_floor_of_a_requirement():
    assert [floor(s) for s in (">=1.0,<2", "==1.5", "<2", "~=1.4", "")] == [
        "1.0",
        "1.5",
        "",
        "1.4",
        "",
    ]


@pytest.mark.parametrize(
    ("old", "new", "delta"),
    [
        ("2023.7.22", "2024.2.2", "minor"),
        ("2023.7.22", "2023.11.17", "minor"),
        ("23.1.0", "24.1.0", "major"),
        ("1.0", "2024.1", "major"),
    ],
)
def test_a_new_year_is_no_other_major_version(old, new, delta):
    assert PYPI.delta(old, new) == delta


@pytest.mark.parametrize(
    ("scheme", "wanted", "takes", "leaves"),
    [
        (PYPI, ">=5", "5.1", "4.9"),
        (PYPI, "~=5.1", "5.9", "6.0"),
        (PYPI, "5.*", "5.2", "6.0"),
        (PYPI, "5.1", "5.1", "5.2"),
        (NPM, "5.x", "5.9.1", "6.0.0"),
        (NPM, "^1.2.3 || ^3.0.0", "1.9.0", "2.0.0"),
        (NPM, ">= 5, < 6", "5.0.1", "6.0.0"),
        (Scheme("gem", RubygemsVersion), "~> 5.0", "5.9", "6.0"),
        (Scheme("golang", GolangVersion), "1.3.x", "v1.3.7", "v1.4.0"),
        (Scheme("cargo", SemverVersion), ">= 2.0.0", "2.1.0", "1.9.0"),
        (Cargo.scheme, "1.2", "1.5.0", "2.0.0"),
        (Composer.scheme, "~1.2", "1.5.0", "2.0.0"),
    ],
)
def test_a_requirement_is_read_as_its_ecosystem_writes_it(scheme, wanted, takes, leaves):
    assert scheme.admits(wanted, takes)
    assert not scheme.admits(wanted, leaves)


@pytest.mark.parametrize("wanted", ["", "[5.0,6.0)", "latest", ">" * 200, "$(id)", "\0"])
@pytest.mark.parametrize("scheme", [PYPI, NPM, Scheme("gem", RubygemsVersion)])
def test_what_is_no_requirement_takes_nothing(scheme, wanted):
    assert not scheme.admits(wanted, "5.1.0")
