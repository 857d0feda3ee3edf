"""What pnpm and Turborepo print of several packages is read for each of them."""

from __future__ import annotations

from agents.analysis.check_failures import read_failures

PYTEST = """\
=========================== short test summary info ============================
FAILED tests/test_a.py::test_b - assert 0
1 failed, 2 passed in 0.10s
"""
PNPM = """\
Scope: 2 of 3 workspace projects
packages/a test$ node --test
packages/b test$ node --test
packages/b test: TAP version 13
packages/a test: TAP version 13
packages/b test: # Subtest: adds
packages/a test: # Subtest: adds
packages/b test: {b} 1 - adds
packages/a test: {a} 1 - adds
packages/b test: 1..1
packages/a test: 1..1
packages/b test: # tests 1
packages/b test: # pass 1
packages/b test: # fail 0
packages/a test: # tests 1
packages/a test: # pass 1
packages/a test: # fail 0
packages/a test: Done
packages/b test: Done
"""
TURBO = """\
   • Packages in scope: @x/a, @x/b
   • Running test in 2 packages
@x/b:test: cache miss, executing 93f112fe84aa8746
@x/a:test: cache bypass, force executing 750f8d3864b7965b
@x/b:test: TAP version 13
@x/a:test: TAP version 13
@x/b:test: not ok 1 - adds
@x/a:test: ok 1 - adds
@x/b:test: 1..1
@x/a:test: 1..1
@x/a:test: # tests 1
@x/a:test: # pass 1
@x/b:test: # tests 1
@x/b:test: # fail 1
"""


def read_pnpm(command="pnpm -r test", a="ok", b="ok"):
    return read_failures(PNPM.format(a=a, b=b), command, exited=True)


def test_each_package_counts_its_own_tests():
    told = read_pnpm()

    assert told.ran == 2
    assert {key.partition(" (in ")[2]: each.ran for key, each in told.told.items()} == {
        "packages/a test)": 1,
        "packages/b test)": 1,
    }


def test_turborepo_is_read_as_well():
    told = read_failures(TURBO, "turbo run test", exited=True)

    [failed] = [key for key, each in told.told.items() if each.names]
    assert failed.endswith("(in @x/b:test)")
    assert told.names == {"adds"}


def test_a_test_of_the_same_name_in_another_package_is_another_test():
    before = read_pnpm("pnpm -r --no-bail test", a="not ok")
    after = read_pnpm("pnpm -r --no-bail test", b="not ok")

    assert before.told.keys() == after.told.keys()
    assert [key for key, each in before.told.items() if each.names] != [
        key for key, each in after.told.items() if each.names
    ]


def test_packages_behind_the_first_that_fails_may_not_have_run():
    assert not read_pnpm(a="not ok").whole
    assert read_pnpm("pnpm -r --no-bail test", a="not ok").whole


def test_a_line_that_only_looks_so_stays():
    said = "error test: so\n" + PYTEST

    assert read_failures(said, "pytest", exited=True).names == {"tests/test_a.py::test_b"}
