"""What a package tool says is wrong, among all that it writes."""

import time

import pytest

from agents.analysis.failure_cause import LONGEST, SHORT, find_cause, shorten_cause

NPM_CI = """npm error code EUSAGE
npm error
npm error `npm ci` can only install packages when your package.json and package-lock.json or \
npm-shrinkwrap.json are in sync. Please update your lock file with `npm install` before continuing.
npm error
npm error Missing: mocha@10.2.0 from lock file
npm error
npm error Clean install a project
npm error
npm error Usage:
npm error npm ci
npm error
npm error Options:
npm error [--install-strategy <hoisted|nested|shallow|linked>] [--legacy-bundling]
npm error [--no-bin-links] [--no-fund] [--dry-run]
npm error
npm error Run "npm help ci" for more info
npm error A complete log of this run can be found in: /home/agent/.npm/_logs/debug-0.log
"""
PIP = """Collecting attrs
  Downloading attrs-23.1.0-py3-none-any.whl (61 kB)
ERROR: Package 'api' requires a different Python: 3.11.2 not in '>=3.13'
[notice] A new release of pip is available: 23.0 -> 24.0
"""
MAVEN = """[WARNING] cannot x
[ERROR] Plugin a:b could not be resolved -> [Help 1]
[ERROR]
[ERROR] To see the full stack trace of the errors, re-run Maven with the -e switch.
"""
GRADLE = """> Task :a FAILED
* What went wrong:
Could not resolve x:y:1.
> No cached version

* Try:
> Run with --stacktrace
"""


def test_npms_list_of_options_is_no_cause():
    cause = find_cause(NPM_CI)
    assert cause.splitlines()[-1] == "Missing: mocha@10.2.0 from lock file"
    assert "are in sync" in cause
    assert "--" not in cause
    assert "debug-0.log" not in cause


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        (PIP, "Package 'api' requires a different Python: 3.11.2 not in '>=3.13'"),
        (MAVEN, "Plugin a:b could not be resolved -> [Help 1]"),
        (GRADLE, "Could not resolve x:y:1.\n> No cached version"),
        ("building\nfatal: no such file\n", "no such file"),
        ("one\n\ntwo\nthree\nfour\n", "two\nthree\nfour"),
        ("", ""),
        (
            (
                "Loading composer repositories\n\nIn CurlDownloader.php line 365:\n        \n"
                "  curl error 6: Co  \n  uld not find ho  \n  st: example.org  \n        \n\n"
                "install [--prefer-source] [--dry-run] [--no-dev]\n"
            ),
            "curl error 6: Could not find host: example.org",
        ),
        (
            "error: could not find `x` in registry `y`\nwarning: z",
            "could not find `x` in registry `y`",
        ),
    ],
)
def test_the_line_that_says_why(output, cause):
    assert find_cause(output) == cause


@pytest.mark.parametrize(
    "line", ["error: cannot " + "x" * 900, "npm error " * 9_000, "E:" + " " * 9]
)
def test_what_a_package_writes_is_bounded(line):
    began = time.thread_time()
    hostile = f"{line}{'-' * 50_000}\n" * 300
    assert len(find_cause(hostile)) <= LONGEST
    assert len(shorten_cause(hostile)) <= SHORT
    assert time.thread_time() - began < 2


def test_curls_meter_is_no_cause():
    meter = "  0     0    0     0    0     0      0      0 --:--:-- --:--:-- --:--:--     0"
    said = f"make data\n{meter}curl: (6) Could not resolve host: data.example\nmake: *** [data]\n"
    assert find_cause(said) == "curl: (6) Could not resolve host: data.example"
