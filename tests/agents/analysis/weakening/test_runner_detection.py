"""What a product newly does under test alone takes a yes: no test sees what it does elsewhere."""

import time

import pytest

from agents.analysis.weakening import find_weakening
from tests.agents.analysis.weakening.conftest import diff_of


def find(path, after, before=""):
    found = find_weakening(diff_of({path: before}, {path: after}))
    return [each.text for each in found if each.kind == "detection" and each.grave]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("src/calc.py", 'if "pytest" in sys.modules:'),
        ("src/calc.py", "if sys.modules.get('pytest') is None:"),
        ("src/calc.py", 'if os.environ.get("PYTEST_CURRENT_TEST"):'),
        ("src/calc.py", 'if any("unittest" in each.filename for each in inspect.stack()):'),
        ("src/calc.py", 'if sys.argv[0].endswith("pytest"):'),
        ("src/calc.py", 'if "test" in sys.argv:'),
        ("src/calc.py", 'if os.environ.get("CI"):'),
        ("src/calc.py", 'if os.getenv("CI") == "1":'),
        ("src/calc.py", 'if "CI" in os.environ:'),
        ("src/tools/config.py", 'if "pytest" in sys.modules:'),
        ("src/calc.js", "if (process.env.NODE_ENV === 'test') {"),
        ("src/calc.js", "if ('test' === process.env.NODE_ENV) return 1;"),
        ("src/calc.ts", "if (process.env['JEST_WORKER_ID'] !== undefined) {"),
        ("src/calc.ts", "const inTests = !!process.env.VITEST"),
        ("src/calc.ts", "if (process.env.CI) {"),
        ("src/calc.ts", "if (typeof describe === 'function') {"),
        ("src/calc.ts", "if (process.argv[1].includes('mocha')) {"),
        ("calc.go", "\tif testing.Testing() {"),
        ("calc.go", '\tif flag.Lookup("test.v") != nil {'),
        ("calc.go", '\tif strings.HasSuffix(os.Args[0], ".test") {'),
        ("calc.go", '\tif os.Getenv("CI") != "" {'),
        ("src/lib.rs", "    if cfg!(test) {"),
        ("src/lib.rs", "#[cfg(not(test))]"),
        ("src/lib.rs", "    #[cfg(test)]\n    return 3;"),
        ("src/lib.rs", '    if std::env::var("CI").is_ok() {'),
        ("lib/calc.rb", "  return 3 if defined?(RSpec)"),
        ("app/calc.rb", "  return 3 if Rails.env.test?"),
        ("lib/calc.rb", "  return 3 if ENV['RACK_ENV'] == 'test'"),
        ("lib/calc.rb", "  return 3 if $PROGRAM_NAME.end_with?('rspec')"),
        ("src/Calc.php", "if (defined('PHPUNIT_COMPOSER_INSTALL')) {"),
        ("src/Calc.php", "if (class_exists('PHPUnit\\\\Framework\\\\TestCase', false)) {"),
        ("src/Calc.php", "if (app()->runningUnitTests()) {"),
        ("src/main/java/Calc.java", 'if (name(Class.forName("org.junit.Test"))) {'),
        ("lib/calc.ex", "if Mix.env() == :test do"),
        ("src/calc.c", 'if (getenv("CI")) return 3;'),
        ("calc.sh", 'if [ -n "${BATS_TEST_FILENAME:-}" ]; then'),
        ("lib/Calc.pm", "return 3 if $ENV{HARNESS_ACTIVE};"),
    ],
)
def test_a_product_that_newly_asks_whether_tests_run_it_takes_a_yes(path, line):
    assert find(path, f"one\n{line}\n", "one\n") == [" ".join(line.split("\n")[0].split())]


@pytest.mark.parametrize(
    ("path", "after", "before"),
    [
        ("src/calc.py", '\nx = 1\nif "pytest" in sys.modules:\n', 'if "pytest" in sys.modules:\n'),
        ("src/calc.py", "# PYTEST_CURRENT_TEST is not asked for\nci = CI\n", ""),
        ("src/calc.py", 'subprocess.run(["pytest", "-q"])\nimport pytest\n', ""),
        ("tests/helper.py", 'if "pytest" in sys.modules:\n', ""),
        ("src/testing/client.py", 'if "pytest" in sys.modules:\n', ""),
        ("scripts/publish.sh", 'if [ -n "$BATS_ROOT" ]; then\n', ""),
        ("vite.config.ts", "if (process.env.VITEST) {\n", ""),
        ("playwright.config.ts", "retries: process.env.CI ? 2 : 0,\n", ""),
        ("src/calc.js", "if (process.env.NODE_ENV !== 'production') {\n", ""),
        ("src/calc.js", "const CIRCLE = process.env.CIRCLE\n", ""),
        ("config/environments/test.rb", "x if Rails.env.test?\n", ""),
        ("src/lib.rs", "#[cfg(test)]\nmod tests {\n    #[cfg(test)]\n    fn it() {}\n}\n", ""),
        ("docs/guide.md", "`process.env.JEST_WORKER_ID` says so\n", ""),
    ],
)
def test_what_asked_before_and_what_is_no_product_asks_nobody(path, after, before):
    assert find(path, after, before) == []


def test_code_that_moves_to_another_file_asks_nobody():
    text = "if (process.env.JEST_WORKER_ID) {\n"
    assert not find_weakening(diff_of({"src/a.js": text, "src/b.js": "x\n"}, {"src/b.js": text}))


@pytest.mark.parametrize(
    ("helper", "sets", "path", "reads"),
    [
        ("tests/conftest.py", 'os.environ["MODE"] = "x"', "calc.py", 'os.environ.get("MODE")'),
        ("conftest.py", 'os.environ.setdefault("MODE", "x")', "calc.py", 'os.getenv("MODE")'),
        ("spec/spec_helper.rb", "ENV['MODE'] ||= 'x'", "lib/calc.rb", "ENV.fetch('MODE')"),
        ("jest.setup.js", "process.env.MODE = 'x'", "src/a.js", "process.env.MODE"),
        ("tests/bootstrap.php", "putenv('MODE=x');", "src/a.php", "getenv('MODE')"),
    ],
)
def test_a_switch_that_is_new_in_the_product_and_set_for_all_tests_takes_a_yes(
    helper, sets, path, reads
):
    product = {path: f"return 1 if {reads}\n"}
    assert find_weakening(diff_of({path: "x\n"}, {helper: f"{sets}\n", **product}))
    assert not find_weakening(diff_of(product, {helper: f"{sets}\n", path: f"{product[path]}y\n"}))
    assert not find_weakening(diff_of({}, {helper: "y = 1\n", **product}))


def test_hostile_lines_take_no_time():
    lines = ("argv" * 240, '"pytest ' * 120, "typeof ( " * 110, "_ENV" * 240, "env(" * 240)
    text = "".join(f"x{line}\n" for line in lines * 400)
    began = time.process_time()
    find("src/calc.py", text)

    assert time.process_time() - began < 5
