"""What test programs of C and C++ printed, recorded with the versions that Debian 12 has."""

FAILED = {
    "GoogleTest": """\
Running main() from ./googletest/src/gtest_main.cc
[==========] Running 5 tests from 2 test suites.
[----------] Global test environment set-up.
[----------] 3 tests from Sum
[ RUN      ] Sum.Adds
[       OK ] Sum.Adds (0 ms)
[ RUN      ] Sum.Breaks
gt.cc:3: Failure
Expected equality of these values:
  3
  1+1
    Which is: 2
[  FAILED  ] Sum.Breaks (0 ms)
[ RUN      ] Sum.Later
gt.cc:4: Skipped
no network
[  SKIPPED ] Sum.Later (0 ms)
[ DISABLED ] Sum.DISABLED_Off
[----------] 3 tests from Sum (0 ms total)

[----------] 2 tests from Num/P
[ RUN      ] Num/P.Odd/0
[       OK ] Num/P.Odd/0 (0 ms)
[ RUN      ] Num/P.Odd/1
gt.cc:7: Failure
Expected equality of these values:
  1
  GetParam()%2
    Which is: 0
[  FAILED  ] Num/P.Odd/1, where GetParam() = 2 (0 ms)
[----------] 2 tests from Num/P (0 ms total)

[----------] Global test environment tear-down
[==========] 5 tests from 2 test suites ran. (0 ms total)
[  PASSED  ] 2 tests.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Sum.Later
[  FAILED  ] 2 tests, listed below:
[  FAILED  ] Sum.Breaks
[  FAILED  ] Num/P.Odd/1, where GetParam() = 2

 2 FAILED TESTS
  YOU HAVE 1 DISABLED TEST
""",  # GoogleTest 1.12.1
    "Catch2": """\
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
c2 is a Catch v2.13.10 host application.
Run with -? for options

-------------------------------------------------------------------------------
sums break
  with three
-------------------------------------------------------------------------------
c2.cc:5
...............................................................................

c2.cc:5: FAILED:
  REQUIRE( 1+1==3 )
with expansion:
  2 == 3

-------------------------------------------------------------------------------
sums break
  with four
-------------------------------------------------------------------------------
c2.cc:5
...............................................................................

c2.cc:5: FAILED:
  CHECK( 1+1==4 )
with expansion:
  2 == 4

c2.cc:5: FAILED:
  CHECK( 1+1==5 )
with expansion:
  2 == 5

-------------------------------------------------------------------------------
known
-------------------------------------------------------------------------------
c2.cc:7
...............................................................................

c2.cc:7: FAILED:
  CHECK( false )

-------------------------------------------------------------------------------
throws
-------------------------------------------------------------------------------
c2.cc:8
...............................................................................

c2.cc:8: FAILED:
due to unexpected exception with message:
  gone

===============================================================================
test cases: 4 | 1 passed | 2 failed | 1 failed as expected
assertions: 6 | 1 passed | 4 failed | 1 failed as expected
""",  # Catch2 2.13.10
    "doctest": """\
[doctest] doctest version is "2.4.9"
[doctest] run with "--help" for options
===============================================================================
dt.cc:5:
TEST CASE:  sums break
  with three

dt.cc:5: FATAL ERROR: REQUIRE( 1+1==3 ) is NOT correct!
  values: REQUIRE( 2 == 3 )

===============================================================================
dt.cc:7:
TEST CASE:  throws

dt.cc:7: ERROR: test case THREW exception: unknown exception

===============================================================================
[doctest] test cases: 3 | 1 passed | 2 failed | 1 skipped
[doctest] assertions: 2 | 1 passed | 1 failed |
[doctest] Status: FAILURE!
""",  # doctest 2.4.9
    "Boost.Test": """\
Running 3 test cases...
bt.cc(7): error: in "sum/breaks": check 1+1 == 3 has failed [2 != 3]
bt.cc(7): error: in "sum/breaks": check 1+1==4 has failed [1 + 1 != 4]
unknown location(0): fatal error: in "sum/throws": std::runtime_error: gone
bt.cc(9): last checkpoint: "throws" test entry

*** 3 failures are detected in the test module "sums"
""",  # Boost.Test 1.74.0
    "Check": """\
Running suite(s): Sum
33%: Checks: 3, Failures: 1, Errors: 1
ck.c:4:F:Core:breaks:0: Assertion '1+1 == 3' failed: 1+1 == 2, 3 == 3
ck.c:5:E:Core:crashes:0: (after this point) Received signal 6 (Aborted)
""",  # Check 0.15.2
    "cmocka": """\
[==========] Running 3 test(s).
[ RUN      ] adds
[       OK ] adds
[ RUN      ] breaks
[  ERROR   ] --- 0x2 != 0x3
[   LINE   ] --- cm.c:7: error: Failure!
[  FAILED  ] breaks
[ RUN      ] later
[  SKIPPED ] later
[==========] 3 test(s) run.
[  PASSED  ] 1 test(s).
[  SKIPPED ] 1 test(s), listed below:
[  SKIPPED ] later

 1 SKIPPED TEST(S)
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] breaks

 1 FAILED TEST(S)
""",  # cmocka 1.1.5
    "Unity": """\
t.c:6:test_adds:PASS
t.c:4:test_breaks:FAIL: Expected 3 Was 2
t.c:5:test_later:IGNORE: no network

-----------------------
3 Tests 1 Failures 1 Ignored
FAIL
""",  # Unity 2.7.1
    "CUnit": """\
     CUnit - A unit testing framework for C - Version 2.1-3
     http://cunit.sourceforge.net/


Suite Sum, Test breaks had failures:
    1. cu.c:3  - 1+1==3
    2. cu.c:3  - CU_ASSERT_EQUAL(1,2)

Run Summary:    Type  Total    Ran Passed Failed Inactive
              suites      1      1    n/a      0        0
               tests      3      2      1      1        1
             asserts      3      3      1      2      n/a

Elapsed time =    0.000 seconds
""",  # CUnit 2.1-3
    "CppUTest": """\
!
cp.cc:6: error: Failure in TEST(Sum, breaks)
	LONGS_EQUAL(3, 1+1) failed
	expected <3 (0x3)>
	but was  <2 (0x2)>

..
Errors (1 failures, 3 tests, 2 ran, 2 checks, 1 ignored, 0 filtered out, 0 ms)
""",  # CppUTest 4.0
    "Criterion": """\
[----] cr.c:6: Assertion Failed
[----]
[----]   The expression 1+1==3 is false.
[----]
[FAIL] sum::breaks: (0.00s)
[----] cr.c:7: Unexpected signal caught below this line!
[FAIL] sum::crashes: CRASH!
[====] Synthesis: Tested: 3 | Passing: 1 | Failing: 2 | Crashing: 1
""",  # Criterion 2.4.1
    "Qt Test": """\
********* Start testing of Sum *********
Config: Using QtTest library 5.15.8, Qt 5.15.8 (x86_64-little_endian-lp64), debian 12
PASS   : Sum::initTestCase()
PASS   : Sum::adds()
FAIL!  : Sum::breaks() Compared values are not the same
   Actual   (1+1): 2
   Expected (3)  : 3
   Loc: [tst.cpp(5)]
PASS   : Sum::rows(one)
FAIL!  : Sum::rows(two) Compared values are not the same
   Actual   (n): 2
   Expected (1): 1
   Loc: [tst.cpp(7)]
SKIP   : Sum::later() no network
   Loc: [tst.cpp(8)]
PASS   : Sum::cleanupTestCase()
Totals: 4 passed, 2 failed, 1 skipped, 0 blacklisted, 4ms
********* Finished testing of Sum *********
""",  # QtTest 5.15.8, whose second line is shortened
    "Automake": """\
make: Entering directory '/src/sum'
make  check-TESTS
make[1]: Entering directory '/src/sum'
make[2]: Entering directory '/src/sum'
PASS: good.sh
FAIL: bad.sh
SKIP: later.sh
XFAIL: known.sh
ERROR: hard.sh
============================================================================
Testsuite summary for sum 1.0
============================================================================
# TOTAL: 5
# PASS:  1
# SKIP:  1
# XFAIL: 1
# FAIL:  1
# XPASS: 0
# ERROR: 1
============================================================================
See ./test-suite.log
============================================================================
make[2]: *** [Makefile:483: test-suite.log] Error 1
make[2]: Leaving directory '/src/sum'
make[1]: *** [Makefile:591: check-TESTS] Error 2
make[1]: Leaving directory '/src/sum'
make: *** [Makefile:823: check-am] Error 2
make: Leaving directory '/src/sum'
""",  # Automake 1.16.5
    "CTest": """\
make: Entering directory '/src/sum/build'
Running tests...
Test project /src/sum/build
    Start 1: good
1/6 Test #1: good .............................   Passed    0.00 sec
    Start 2: sum.bad
2/6 Test #2: sum.bad ..........................***Failed    0.00 sec
    Start 3: gone
Looked in the following places:
3/6 Test #3: gone .............................***Not Run   0.00 sec
    Start 4: crash
4/6 Test #4: crash ............................***Exception: SegFault  0.00 sec
    Start 5: later
5/6 Test #5: later ............................***Skipped   0.00 sec
    Start 6: off
6/6 Test #6: off ..............................***Not Run (Disabled)   0.00 sec

40% tests passed, 3 tests failed out of 5

Total Test time (real) =   0.01 sec

The following tests did not run:
\t  5 - later (Skipped)
\t  6 - off (Disabled)

The following tests FAILED:
\t  2 - sum.bad (Failed)
\t  3 - gone (Not Run)
\t  4 - crash (SEGFAULT)
Errors while running CTest
Output from these tests are in: /src/sum/build/Testing/Temporary/LastTest.log
Use "--rerun-failed --output-on-failure" to re-run the failed cases verbosely.
make: *** [Makefile:71: test] Error 8
make: Leaving directory '/src/sum/build'
""",  # CTest 3.25.1, without where it looked for a program
}
PASSED = {
    "GoogleTest": """\
Running main() from ./googletest/src/gtest_main.cc
Note: Google Test filter = Sum.Adds
[==========] Running 1 test from 1 test suite.
[----------] Global test environment set-up.
[----------] 1 test from Sum
[ RUN      ] Sum.Adds
[       OK ] Sum.Adds (0 ms)
[----------] 1 test from Sum (0 ms total)

[----------] Global test environment tear-down
[==========] 1 test from 1 test suite ran. (0 ms total)
[  PASSED  ] 1 test.
""",  # GoogleTest 1.12.1
    "Catch2": """\
===============================================================================
All tests passed (1 assertion in 1 test case)
""",  # Catch2 2.13.10
    "doctest": """\
[doctest] doctest version is "2.4.9"
[doctest] run with "--help" for options
===============================================================================
[doctest] test cases: 1 | 1 passed | 0 failed | 0 skipped
[doctest] assertions: 1 | 1 passed | 0 failed |
[doctest] Status: SUCCESS!
""",  # doctest 2.4.9
    "Boost.Test": """\
Running 1 test case...

*** No errors detected
""",  # Boost.Test 1.74.0
    "Check": """\
Running suite(s): Sum
100%: Checks: 1, Failures: 0, Errors: 0
""",  # Check 0.15.2
    "cmocka": """\
[==========] Running 1 test(s).
[ RUN      ] adds
[       OK ] adds
[==========] 1 test(s) run.
[  PASSED  ] 1 test(s).
""",  # cmocka 1.1.5
    "Unity": """\
t.c:6:test_adds:PASS

-----------------------
1 Tests 0 Failures 0 Ignored
OK
""",  # Unity 2.7.1
    "CUnit": """\
     CUnit - A unit testing framework for C - Version 2.1-3
     http://cunit.sourceforge.net/



Run Summary:    Type  Total    Ran Passed Failed Inactive
              suites      1      1    n/a      0        0
               tests      1      1      1      0        0
             asserts      1      1      1      0      n/a

Elapsed time =    0.000 seconds
""",  # CUnit 2.1-3
    "CppUTest": """\
.
OK (1 tests, 1 ran, 1 checks, 0 ignored, 0 filtered out, 0 ms)
""",  # CppUTest 4.0
    "Criterion": """\
[====] Synthesis: Tested: 1 | Passing: 1 | Failing: 0 | Crashing: 0
""",  # Criterion 2.4.1
    "Qt Test": """\
********* Start testing of Sum *********
Config: Using QtTest library 5.15.8, Qt 5.15.8 (x86_64-little_endian-lp64), debian 12
PASS   : Sum::initTestCase()
PASS   : Sum::adds()
PASS   : Sum::cleanupTestCase()
Totals: 3 passed, 0 failed, 0 skipped, 0 blacklisted, 1ms
********* Finished testing of Sum *********
""",  # QtTest 5.15.8, whose second line is shortened
    "Automake": """\
make: Entering directory '/src/sum'
make  check-TESTS
make[1]: Entering directory '/src/sum'
make[2]: Entering directory '/src/sum'
PASS: good.sh
============================================================================
Testsuite summary for sum 1.0
============================================================================
# TOTAL: 1
# PASS:  1
# SKIP:  0
# XFAIL: 0
# FAIL:  0
# XPASS: 0
# ERROR: 0
============================================================================
make[2]: Leaving directory '/src/sum'
make[1]: Leaving directory '/src/sum'
make: Leaving directory '/src/sum'
""",  # Automake 1.16.5
    "CTest": """\
make: Entering directory '/src/sum/build'
Running tests...
Test project /src/sum/build
    Start 1: good
1/1 Test #1: good .............................   Passed    0.00 sec

100% tests passed, 0 tests failed out of 1

Total Test time (real) =   0.00 sec
make: Leaving directory '/src/sum/build'
""",  # CTest 3.25.1
}
CRASHED = {
    "alone": """\
./crash
Running main() from ./googletest/src/gtest_main.cc
[==========] Running 3 tests from 1 test suite.
[----------] Global test environment set-up.
[----------] 3 tests from Sum
[ RUN      ] Sum.Adds
[       OK ] Sum.Adds (0 ms)
[ RUN      ] Sum.Crashes
make: *** [Makefile:2: test] Aborted
""",
    "ignored": """\
./crash
Running main() from ./googletest/src/gtest_main.cc
[==========] Running 3 tests from 1 test suite.
[----------] Global test environment set-up.
[----------] 3 tests from Sum
[ RUN      ] Sum.Adds
[       OK ] Sum.Adds (0 ms)
[ RUN      ] Sum.Crashes
make: [Makefile:2: test] Aborted (ignored)
./tail


     CUnit - A unit testing framework for C - Version 2.1-3
     http://cunit.sourceforge.net/



Run Summary:    Type  Total    Ran Passed Failed Inactive
              suites      1      1    n/a      0        0
               tests      1      1      1      0        0
             asserts      1      1      1      0      n/a

Elapsed time =    0.000 seconds
""",
}
