"""Which paths are tests: by table."""

from __future__ import annotations

import pytest

from agents.analysis.which_are_tests import find_language, is_test, is_test_code

TESTS = """
test_parse.py
tests/test_parse.py
tests/conftest.py
conftest.py
tests/__init__.py
tests/helpers.py
tests/data/leap-years.json
tests/data/sample.md
tests/unit/__snapshots__/test_cli.ambr
src/pkg/parse_test.py
src/pkg/tests/cases.yaml
app/tests.py
integration_tests/flow.py
test/fixtures/one.html
test/units/executor/test_play.py
t/twice.sh
t/lib/sums.bash
src/components/Button.test.tsx
src/components/__tests__/Button.tsx
src/components/__snapshots__/Button.test.tsx.snap
src/components/__mocks__/api.ts
src/api.spec.mts
packages/core/test/index.js
e2e/login.ts
cypress/support/commands.ts
jest.setup.js
src/setupTests.ts
server/api.e2e.ts
pkg/server/handler_test.go
pkg/server/testdata/golden.json
testsuite/E27.py
test-suites/slow/case.txt
internal/contest_test.go
tests/integration.rs
crates/core/tests/common/mod.rs
src/parser/tests.rs
src/test/java/com/acme/ParserTest.java
src/test/resources/cases.csv
app/src/androidTest/kotlin/LoginTest.kt
core/TestParser.java
modules/core/ParserSpec.scala
spec/models/user_spec.rb
spec/rails_helper.rb
spec/fixtures/users.yml
spec/support/auth.rb
test/models/user_test.rb
tests/Unit/ParserTest.php
tests/Feature/LoginCest.php
src/Acme.Tests/ParserTests.cs
test/Acme.UnitTests/data.json
Acme.Core.Test/Parser.cs
test/parser_test.exs
test/test_helper.exs
test/widget_test.dart
Tests/CoreTests/ParserTests.swift
src/core/parser_unittest.cc
lib/parser_spec.lua
t/basic.t
tests/smoke.bats
tests/testthat/test-parse.R
test/runtests.jl
test/ParserSpec.hs
test/parser_SUITE.erl
features/login.feature
""".splitlines()[1:]

NO_TESTS = """
latest.py
contest.py
attest.go
src/testing/api.py
src/testing/__init__.py
src/pkg/test_support_plan.md
src/manifest.json
src/contest/rules.py
src/latest/index.ts
src/inspect.ts
src/spectrum/color.js
docs/testing.md
docs/tests/index.md
docs/conftest.md
README.md
tests/README.md
requirements-test.txt
spec/openapi.yaml
specs/protocol.md
openapi.spec.json
pyinstaller.spec
cmd/test/main.go
src/commands/test/index.ts
src/cli/test/run.py
app/fixtures/initial.json
src/main/java/com/acme/Latest.java
src/main/java/com/acme/AbTest.java
src/Contest.java
src/TestingApi.java
src/Attestation.cs
src/Protests.md
src/tester.py
src/fastest.js
src/backtest.py
src/protest.rb
.github/workflows/tests.yml
.github/tests/run.sh
node_modules/left-pad/test/index.js
vendor/github.com/x/y_test.go
t/readme.txt
benchmarks/run.py
""".splitlines()[1:]


@pytest.mark.parametrize("path", TESTS)
def test_it_is_a_test_or_what_tests_need(path):
    assert is_test(path)


@pytest.mark.parametrize("path", NO_TESTS)
def test_it_only_sounds_like_a_test(path):
    assert not is_test(path)


@pytest.mark.parametrize("path", ["", ".", "/"])
def test_what_names_no_file_is_no_test(path):
    assert not is_test(path)


def test_data_is_no_test_code():
    assert is_test_code("tests/test_a.py")
    assert not is_test_code("tests/data/leap-years.json")
    assert (find_language("a.tsx"), find_language("a.kt"), find_language("a.md")) == (
        "script",
        "jvm",
        "",
    )
