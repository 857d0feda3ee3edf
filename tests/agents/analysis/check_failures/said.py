"""What programs that are not on every machine write of failures, after their documentation."""

from agents.analysis.check_failures.reported import ALL_OF_IT

SAID = {
    "jest": """\
FAIL src/a.test.js (5.2 s)
  ● Console

    console.log
  ● suite \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} adds one
    expect(received).toBe(expected)
      at Object.<anonymous> (src/a.test.js:4:5)
FAIL src/b.test.js
  ● Test suite failed to run
PASS src/c.test.js

Test Suites: 2 failed, 1 passed, 3 total
Tests:       1 failed, 4 passed, 5 total
""",
    "vitest": """\
 \N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT} test/a.test.ts (2 tests | 1 failed) 5ms
⎯⎯⎯ Failed Suites 1 ⎯⎯⎯
 FAIL  test/b.test.ts [ test/b.test.ts ]
⎯⎯⎯ Failed Tests 1 ⎯⎯⎯
 FAIL  test/a.test.ts > suite > adds one
AssertionError: expected 1 to be 2
 Test Files  2 failed | 1 passed (3)
      Tests  1 failed | 3 passed (4)
""",
    "mocha": """\
  suite
    1) adds one
    ✓ adds two

  1 passing (10ms)
  1 failing

  1) suite
       adds one:
     AssertionError: 1 == 2
""",
    "bun": "(fail) suite > adds one [0.12ms]\n\n 1 pass\n 1 fail\nRan 2 tests across 1 file.\n",
    "go test": """\
--- FAIL: TestSum (0.00s)
    --- FAIL: TestSum/one (0.00s)
        sum_test.go:12: got 3
FAIL
FAIL\texample.com/sum\t0.002s
ok  \texample.com/other\t0.002s
FAIL\texample.com/broken [build failed]
FAIL
""",
    "nextest": """\
        PASS [   0.004s] ca tests::good
        FAIL [   0.005s] ca tests::bad
     Summary [   0.010s] 2 tests run: 1 passed, 1 failed, 0 skipped
        FAIL [   0.005s] ca tests::bad
""",
    "dotnet test": """\
  Failed Sums.Tests.Adds [12 ms]
  Error Message:
Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3, Duration: 3 ms - S.dll
""",
    "rspec": """\
Finished in 0.01 seconds
3 examples, 2 failures

Failed examples:

rspec ./spec/sum_spec.rb:12 # Sum adds one
rspec './spec/sum_spec.rb[1:2:1]' # Sum adds two
""",
    "minitest": """\
  1) Failure:
SumTest#test_adds [test/sum_test.rb:12]:
Expected: 2
  2) Error:
SumTest#test_two:
NoMethodError: none

3 runs, 5 assertions, 1 failures, 1 errors, 0 skips
""",
    "PHPUnit": """\
There was 1 failure:

1) App\\SumTest::testAdds with data set #0 (1, 2)
Failed asserting that 3 is 2.

There was 1 risky test:

1) App\\SumTest::testNothing

FAILURES!
Tests: 3, Assertions: 4, Failures: 1, Risky: 1.
""",
    "ExUnit": """\
  1) test adds two (SumTest)
     test/sum_test.exs:5
     Assertion with == failed

  2) doctest Sum.add/2 (1) (SumTest)
     test/sum_test.exs:2

Finished in 0.03 seconds (0.00s async, 0.03s sync)
1 doctest, 3 tests, 2 failures, 1 skipped
""",
    "Maven": """\
[ERROR] Tests run: 2, Failures: 1, Errors: 1, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! - in S
[ERROR] com.x.SumTest.adds -- Time elapsed: 0.01 s <<< FAILURE!
[ERROR] addsTwo(com.x.SumTest)  Time elapsed: 0.01 s  <<< ERROR!
[ERROR] Tests run: 2, Failures: 1, Errors: 1, Skipped: 0
""",
    "Gradle": """\
> Task :test FAILED
SumTest > adds() FAILED
    org.opentest4j.AssertionFailedError at SumTest.java:12
3 tests completed, 1 failed
""",
    "pre-commit": "check yaml......Passed\nruff (legacy)...........Failed\n- hook id: ruff\n",
    "findings": """\
./src/a.py:1:80: E501 line too long (105 > 100 characters)
src/a.py:9:80: E501 line too long (101 > 100 characters)
src/b.py:3: error: Incompatible types  [assignment]
src/b.py:3: note: See the manual
src/c.ts(3,5): error TS2304: Cannot find name 'x'.

/src/d.js
  1:5  error    'x' is unused  no-unused-vars
  2:5  warning  'y' is unused  no-unused-vars

would reformat e.py
# example.com/flag
flag/f_test.go:1242:3: fmt.Println arg list ends with redundant newline
vet: ./uuid/u.go:3:9: undefined: y
""",
}
WANTED = {
    "jest": [
        "src/a.test.js > suite \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} adds one",
        f"src/b.test.js{ALL_OF_IT}",
    ],
    "vitest": ["test/a.test.ts > suite > adds one", f"test/b.test.ts{ALL_OF_IT}"],
    "mocha": ["suite adds one"],
    "bun": ["suite > adds one"],
    "go test": [
        "example.com/sum TestSum",
        "example.com/sum TestSum/one",
        f"example.com/broken{ALL_OF_IT}",
    ],
    "nextest": ["ca tests::bad"],
    "dotnet test": ["Sums.Tests.Adds"],
    "rspec": ["./spec/sum_spec.rb Sum adds one", "./spec/sum_spec.rb Sum adds two"],
    "minitest": ["SumTest#test_adds", "SumTest#test_two"],
    "PHPUnit": ["App\\SumTest::testAdds with data set #0 (1, 2)"],
    "ExUnit": ["test adds two (SumTest)", "doctest Sum.add/2 (1) (SumTest)"],
    "Maven": ["com.x.SumTest.adds", "com.x.SumTest.addsTwo"],
    "Gradle": ["SumTest > adds()"],
    "pre-commit": ["ruff (legacy)"],
    "findings": [
        *["src/a.py: E501 line too long (… > … characters)"] * 2,
        "src/b.py: error: Incompatible types [assignment]",
        "src/c.ts: error TS2304: Cannot find name 'x'.",
        "/src/d.js: 'x' is unused no-unused-vars",
        "e.py",
        "flag/f_test.go: fmt.Println arg list ends with redundant newline",
        "uuid/u.go: undefined: y",
    ],
}
