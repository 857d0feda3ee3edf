"""What test programs in C and C++ print: of two tests, one may fail. Recorded from real ones."""

from __future__ import annotations

RECORDED = {
    "GoogleTest 1.12.1": (
        "GoogleTest",
        """\
Running main() from ./googletest/src/gtest_main.cc
[==========] Running 3 tests from 1 test suite.
[----------] Global test environment set-up.
[----------] 3 tests from Sums
[ RUN      ] Sums.Adds
[       OK ] Sums.Adds (0 ms)
[ RUN      ] Sums.Fails
[       OK ] Sums.Fails (0 ms)
[ RUN      ] Sums.Skips
gt.cc:4: Skipped
later
[  SKIPPED ] Sums.Skips (0 ms)
[ DISABLED ] Sums.DISABLED_Off
[----------] 3 tests from Sums (0 ms total)

[----------] Global test environment tear-down
[==========] 3 tests from 1 test suite ran. (0 ms total)
[  PASSED  ] 2 tests.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Sums.Skips

  YOU HAVE 1 DISABLED TEST
""",
        """\
Running main() from ./googletest/src/gtest_main.cc
[==========] Running 3 tests from 1 test suite.
[----------] Global test environment set-up.
[----------] 3 tests from Sums
[ RUN      ] Sums.Adds
[       OK ] Sums.Adds (0 ms)
[ RUN      ] Sums.Fails
gt.cc:3: Failure
Expected equality of these values:
  1+1
    Which is: 2
  3
[  FAILED  ] Sums.Fails (0 ms)
[ RUN      ] Sums.Skips
gt.cc:4: Skipped
later
[  SKIPPED ] Sums.Skips (0 ms)
[ DISABLED ] Sums.DISABLED_Off
[----------] 3 tests from Sums (0 ms total)

[----------] Global test environment tear-down
[==========] 3 tests from 1 test suite ran. (0 ms total)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Sums.Skips
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Sums.Fails

 1 FAILED TEST
  YOU HAVE 1 DISABLED TEST
""",
    ),
    "cmocka 1.1.5": (
        "cmocka",
        """\
[==========] Running 3 test(s).
[ RUN      ] adds
[       OK ] adds
[ RUN      ] fails
[       OK ] fails
[ RUN      ] skips
[  SKIPPED ] skips
[==========] 3 test(s) run.
[  PASSED  ] 2 test(s).
[  SKIPPED ] 1 test(s), listed below:
[  SKIPPED ] skips

 1 SKIPPED TEST(S)
""",
        """\
[==========] Running 3 test(s).
[ RUN      ] adds
[       OK ] adds
[ RUN      ] fails
[  FAILED  ] fails
[ RUN      ] skips
[  SKIPPED ] skips
[==========] 3 test(s) run.
[  ERROR   ] --- 0x2 != 0x3
[   LINE   ] --- cm.c:7: error: Failure!
[  PASSED  ] 1 test(s).
[  SKIPPED ] 1 test(s), listed below:
[  SKIPPED ] skips

 1 SKIPPED TEST(S)
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] fails

 1 FAILED TEST(S)
""",
    ),
    "Catch2 2.13.10": (
        "Catch2",
        """\
===============================================================================
All tests passed (2 assertions in 2 test cases)
""",
        """\
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
c23 is a Catch v2.13.10 host application.
Run with -? for options

-------------------------------------------------------------------------------
fails
  deep
-------------------------------------------------------------------------------
c2.cc:4
...............................................................................

c2.cc:4: FAILED:
  CHECK( 1+1==3 )
with expansion:
  2 == 3

===============================================================================
test cases: 2 | 1 passed | 1 failed
assertions: 2 | 1 passed | 1 failed
""",
    ),
    "doctest 2.4.9": (
        "doctest",
        """\
[doctest] doctest version is "2.4.9"
[doctest] run with "--help" for options
===============================================================================
[doctest] test cases: 2 | 2 passed | 0 failed | 1 skipped
[doctest] assertions: 2 | 2 passed | 0 failed |
[doctest] Status: SUCCESS!
""",
        """\
[doctest] doctest version is "2.4.9"
[doctest] run with "--help" for options
===============================================================================
dt.cc:4:
TEST CASE:  fails

dt.cc:4: ERROR: CHECK( 1+1==3 ) is NOT correct!
  values: CHECK( 2 == 3 )

===============================================================================
[doctest] test cases: 2 | 1 passed | 1 failed | 1 skipped
[doctest] assertions: 2 | 1 passed | 1 failed |
[doctest] Status: FAILURE!
""",
    ),
    "Boost.Test 1.74": (
        "Boost.Test",
        """\
Running 2 test cases...

\x1b[1;32;49m*** No errors detected
\x1b[0;39;49m
""",
        """\
Running 2 test cases...
bt.cc(5): \x1b[1;31;49merror: in "inner/fails": check 1+1==3 has failed [1 + 1 != 3]\x1b[0;39;49m

\x1b[1;31;49m*** 1 failure is detected in the test module "sums"
\x1b[0;39;49m
""",
    ),
    "Check 0.15.2": (
        "Check",
        """\
Running suite(s): Sums
100%: Checks: 2, Failures: 0, Errors: 0
""",
        """\
Running suite(s): Sums
50%: Checks: 2, Failures: 1, Errors: 0
ck.c:3:F:Core:fails:0: Assertion '1+1 == 3' failed: 1+1 == 2, 3 == 3
""",
    ),
    "CUnit 2.1-3, verbose": (
        "CUnit",
        """\
     CUnit - A unit testing framework for C - Version 2.1-3
     http://cunit.sourceforge.net/


Suite: sums
  Test: adds ...passed
  Test: fails ...passed

Run Summary:    Type  Total    Ran Passed Failed Inactive
              suites      1      1    n/a      0        0
               tests      2      2      2      0        0
             asserts      2      2      2      0      n/a

Elapsed time =    0.000 seconds
""",
        """\
     CUnit - A unit testing framework for C - Version 2.1-3
     http://cunit.sourceforge.net/


Suite: sums
  Test: adds ...passed
  Test: fails ...FAILED
    1. cu.c:3  - 1+1==FAILV

Run Summary:    Type  Total    Ran Passed Failed Inactive
              suites      1      1    n/a      0        0
               tests      2      2      1      1        0
             asserts      2      2      1      1      n/a

Elapsed time =    0.000 seconds
""",
    ),
    "CUnit 2.1-3": (
        "CUnit",
        """\
     CUnit - A unit testing framework for C - Version 2.1-3
     http://cunit.sourceforge.net/



Run Summary:    Type  Total    Ran Passed Failed Inactive
              suites      1      1    n/a      0        0
               tests      2      2      2      0        0
             asserts      2      2      2      0      n/a

Elapsed time =    0.000 seconds
""",
        """\
     CUnit - A unit testing framework for C - Version 2.1-3
     http://cunit.sourceforge.net/


Suite sums, Test fails had failures:
    1. cu.c:3  - 1+1==FAILV

Run Summary:    Type  Total    Ran Passed Failed Inactive
              suites      1      1    n/a      0        0
               tests      2      2      1      1        0
             asserts      2      2      1      1      n/a

Elapsed time =    0.000 seconds
""",
    ),
    "CppUTest 4.0": (
        "CppUTest",
        """\
!..
OK (3 tests, 2 ran, 2 checks, 1 ignored, 0 filtered out, 0 ms)
""",
        """\
!
cp.cc:5: error: Failure in TEST(Sums, Fails)
\texpected <3>
\tbut was  <2>
\tdifference starts at position 0 at: <          2         >
\t                                               ^

..
Errors (1 failures, 3 tests, 2 ran, 2 checks, 1 ignored, 0 filtered out, 0 ms)
""",
    ),
    "Criterion 2.4.1": (
        "Criterion",
        """\
[====] Synthesis: Tested: 2 | Passing: 2 | Failing: 0 | Crashing: 0
""",
        """\
[----] cr.c:3: Assertion Failed
[----]
[----]   The expression 1+1==3 is false.
[----]
[FAIL] sums::fails: (0.00s)
[====] Synthesis: Tested: 2 | Passing: 1 | Failing: 1 | Crashing: 0
""",
    ),
}
"""By program and version: the reader, what it prints where all is well, and where a test fails."""
