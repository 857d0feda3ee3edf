"""A check is run so that its runner reports: with real tools, in a folder of the test."""

import os
import shutil
import sys

import pytest

from agents.analysis.check_failures import compare
from agents.analysis.test_runners import run_afresh, select_tests
from agents.pipelines.stages.quality.results import RepositoryCheck
from agents.pipelines.stages.quality.run_check import find_call, run_check
from agents.ports import CommandResult
from tests.fakes.work_trees import FolderTree

NODE = """
import {test, describe, it} from 'node:test'; import assert from 'node:assert';
test('bad "q"', () => assert.equal(1, 2));
describe('suite', () => { it('out', () => { throw new Error('x') }); it('in', () => {}); });
"""
GO = """package sum
import "testing"
func TestBad(t *testing.T) { t.Errorf("got %d", 3) }
func TestGood(t *testing.T) { t.Log("hidden") }
"""
RSPEC = "describe('Sum') { it('adds it') { raise 'x' }; it('is good') { } }"
RAKE = "require 'rspec/core/rake_task'\nRSpec::Core::RakeTask.new(:test)\n"
PHP = """<?php
use PHPUnit\\Framework\\TestCase;
final class SumTest extends TestCase {
    public function testBad(): void { $this->assertSame(1, 2); }
    public function testGood(): void { $this->assertTrue(true); }
    public function testRisky(): void { }
}
"""
CTEST = """cmake_minimum_required(VERSION 3.10)
project(x NONE)
enable_testing()
add_test(NAME bad+one COMMAND false)
add_test(NAME good COMMAND true)
"""
MESON = (
    "project('p')\nf = find_program('false')\ntest('a bad one', f)\ntest('b', find_program('true'))"
)
PACKAGE = '{"scripts": {"test": "node --test"}}'
MIX = """defmodule A.MixProject do
  use Mix.Project
  def project, do: [app: :a, version: "1.0.0"]
end
"""
EXUNIT = """defmodule SumTest do
  use ExUnit.Case
  test "bad: x", do: flunk("no")
  test "ok", do: :ok
end
"""
RUST = "#[test] fn bad() { panic!() }\n#[test] fn bad_too() { panic!() }\n#[test] fn good() {}\n"
CRATE = '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n'

REAL = {
    "node": (
        {"package.json": PACKAGE, "a.test.mjs": NODE},
        "npm test",
        {'a.test.mjs > bad "q"', "a.test.mjs > suite > out"},
        3,
    ),
    "node dot": (
        {
            "package.json": PACKAGE.replace("--test", "--test --test-reporter=dot"),
            "a.test.mjs": NODE,
        },
        "npm test",
        {'a.test.mjs > bad "q"', "a.test.mjs > suite > out"},
        3,
    ),
    "go": (
        {"go.mod": "module a.org/sum\n\ngo 1.18\n", "sum_test.go": GO},
        "go test -vet=off ./...",
        {"a.org/sum TestBad"},
        2,
    ),
    "rspec": (
        {"spec/a_spec.rb": RSPEC, "Rakefile": RAKE},
        "rake test",
        {"./spec/a_spec.rb Sum adds it"},
        2,
    ),
    "phpunit": ({"t/SumTest.php": PHP}, "phpunit t", {"SumTest::testBad"}, 3),
    "ctest": (
        {"CMakeLists.txt": CTEST},
        "cmake -S . -B b && cd b && ctest --output-on-failure",
        {"bad+one"},
        2,
    ),
    "meson": ({"meson.build": MESON}, "meson setup b && meson test -C b", {"a bad one"}, 2),
    "mix": (
        {"mix.exs": MIX, "test/test_helper.exs": "ExUnit.start()", "test/sum_test.exs": EXUNIT},
        "mix test --no-deps-check",
        {"test bad: x (SumTest)"},
        2,
    ),
    "cargo": (
        {"Cargo.toml": CRATE, "src/lib.rs": "", "tests/t.rs": RUST},
        "cargo test --offline --no-fail-fast",
        {"tests/t.rs bad", "tests/t.rs bad_too"},
        3,
    ),
}


PYTESTS = """
import pytest

def test_good():
    pass

def test_bad():
    assert 0

@pytest.mark.skip
def test_left_out():
    pass

class TestThings:
    @pytest.mark.parametrize("word", ["a b", "c - d"])
    def test_word(self, word):
        assert word == "a b"
"""


@pytest.fixture
def lay(tmp_path):
    """Lay files into a tree; return it."""

    def lay_files(files):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        return FolderTree(tmp_path, dict(os.environ))

    return lay_files


@pytest.mark.parametrize("tool", REAL)
async def test_a_real_runner_says_what_failed_and_runs_one_of_it_alone(tool, lay):
    if shutil.which(tool.split()[0]) is None:
        pytest.skip(f"this machine has no {tool}; what it wrote elsewhere is in test_recorded.py")
    files, command, names, ran = REAL[tool]
    tree = lay(files)
    check = RepositoryCheck(name="tests", run=command, timeout=300)

    ended = await run_check(tree, "c", check, ())
    call = await find_call(tree, "c", command)
    [best] = ended.failures.best.values()
    assert (set(best.names), best.ran, best.whole) == (names, ran, True), ended.output
    assert bool(ended.failures.reports) == (tool != "cargo")

    name = min(names)
    chosen = select_tests(ended.failures, [name], call)
    afresh = run_afresh(ended.failures, call)
    alone = await run_check(tree, "c", check, (), afresh.join(chosen))
    [best] = alone.failures.best.values()
    assert (name in best.names, best.ran) == (True, 1), alone.output


async def test_pytest_reports_what_it_ran_and_what_it_could_not_collect(lay):
    tree = lay({"deep/test_some.py": PYTESTS, "test_lost.py": "import nothing_of_that_name"})
    command = f"{sys.executable} -m pytest -q -p no:cacheprovider"
    check = RepositoryCheck(name="tests", run=command, timeout=300)

    ended = await run_check(tree, "c", check, ())
    report = ended.failures.reports["pytest"]
    bad = {
        "deep/test_some.py::test_bad",
        "deep/test_some.py::TestThings::test_word[c - d]",
    }
    assert (ended.failures.ran, report.unread) == (4, ("test_lost.py",))
    assert set(report.names) == {"test_lost.py (all of it)", *bad}
    assert report.names.keys() == ended.failures.told["pytest"].names.keys()

    (tree.root / "test_lost.py").unlink()
    chosen = select_tests(ended.failures, sorted(bad), await find_call(tree, "c", command))
    alone = await run_check(tree, "c", check, (), chosen)
    assert "2 failed in" in alone.output
    assert alone.failures.ran == 2


@pytest.mark.skipif(shutil.which("go") is None, reason="this machine has no go")
async def test_people_read_what_go_would_have_written(lay):
    files, command, _, _ = REAL["go"]
    ended = await run_check(
        lay(files), "c", RepositoryCheck(name="t", run=command, timeout=300), ()
    )

    assert '"Action"' not in ended.output
    assert "sum_test.go:3: got 3" in ended.output
    assert "FAIL\ta.org/sum" in ended.output
    assert "hidden" not in ended.output, "of what passes, go says nothing"


async def test_a_runner_that_cannot_report_is_read_by_its_words(lay):
    """It is too old, says mocha, and does not know the option; the report of before is gone."""
    words = "  1 passing (1ms)\n  1 failing\n\n  1) suite\n       adds:\n     Error\n"
    knows = "if [ $# -gt 0 ]; then echo 'unknown option'; exit 9; fi\n"
    tree = lay({"mocha": f"#!/bin/bash\n{knows}cat <<'E'\n{words}E\nexit 1\n"})
    (tree.root / "mocha").chmod(0o755)
    (tree.root / ".git" / "fettle").mkdir()
    (tree.root / ".git" / "fettle" / "mocha.json").write_text('{"ended": true}\n')

    ended = await run_check(tree, "c", RepositoryCheck(name="tests", run="./mocha", timeout=9), ())

    assert ended.failures.reports == {}
    assert set(ended.failures.told["mocha"].names) == {"suite adds"}


@pytest.mark.parametrize(
    ("recipe", "several"), [("\t./lint\n\t./types\n", True), ("\t./lint\n", False)]
)
async def test_what_stops_at_its_first_program_is_told_from_what_runs_one(lay, recipe, several):
    finds = "#!/bin/bash\necho 'src/a.py:3:1: F401 unused'\nexit 1\n"
    tree = lay({"Makefile": f"look:\n{recipe}", "lint": finds})
    (tree.root / "lint").chmod(0o755)
    check = RepositoryCheck(name="look", run="make look", timeout=9)

    ended = await run_check(tree, "c", check, ())

    assert ended.several is several
    assert compare([ended], ended).verdict == ("unknown" if several else "no worse")


async def test_a_report_of_a_run_that_was_stopped_does_not_say_all(lay):
    """Its file may be whole, of the first of several sessions."""
    tree = lay({"test_a.py": "def test_bad():\n    assert 0\n"})

    async def run(argv, **more):
        done = await FolderTree.run(tree, argv, **more)
        if "collect" in argv:
            return done
        return CommandResult(done.exit_code, "timeout", "", done.seconds)

    tree.run = run
    command = f"{sys.executable} -m pytest -q -p no:cacheprovider"
    ended = await run_check(tree, "c", RepositoryCheck(name="tests", run=command, timeout=60), ())

    assert ended.stopped
    assert [each.whole for each in ended.failures.programs] == [False]
