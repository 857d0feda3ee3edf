"""A script that goes on after one of its programs failed tells of the last of them alone."""

import json
import time

import pytest

from agents.analysis.test_runners import find_unheard, list_script_files


def make_manifest(script):
    return {"package.json": json.dumps({"scripts": {"test": script, "other": "sh a.sh; sh b.sh"}})}


@pytest.mark.parametrize(
    ("command", "texts", "program"),
    [
        ("node a.js; node b.js", {}, "node a.js"),
        ("npm test", make_manifest("node a.js; node b.js"), "node a.js"),
        ("npm test", make_manifest("node a.js & node b.js & wait"), "node a.js &"),
        ("make", {"Makefile": "all:\n\tfor t in $(TESTS); do ./$$t; done\n"}, "./$$t"),
        ("make", {"Makefile": "all:\n\tfor t in $(T); do valgrind -q ./$$t; done\n"}, "./$$t"),
        ("make", {"Makefile": "all: a\na:\n\tperl t/a.pl; perl t/b.pl\n"}, "perl t/a.pl"),
        ("sh run.sh", {"run.sh": "#!/bin/sh\n# run all\ncd x\n./a\n./b\n"}, "./a"),
        ("sh run.sh", {"run.sh": 'for f in t/*.sh; do\n  sh "$f"\ndone\n'}, 'sh "$f"'),
        ("sh run.sh", {"run.sh": 'cd "$d" || exit 1\n./a\n./b\nexit $?\n'}, "./a"),
        ("sh run.sh", {"run.sh": "if [ -z $CC ]; then CC=cc; fi\n./a || true\n./b\n"}, "./a"),
        ("sh run.sh", {"run.sh": "trap 'rm x' EXIT\n./a\n./b\n"}, "./a"),
        ("sh run.sh", {"run.sh": 'for f in t/*.sh\ndo\n  "$f"\ndone\n'}, '"$f"'),
    ],
)
def test_programs_whose_failure_nobody_hears_of_are_found(command, texts, program):
    assert find_unheard(command, texts) == program


@pytest.mark.parametrize(
    ("command", "texts"),
    [
        ("npm test", make_manifest("node a.js && node b.js")),
        ("npm test", make_manifest("node server.js & node b.js")),
        ("npm test", make_manifest("tsc; node b.js")),
        ("make", {"Makefile": "all:\n\tfor t in $(TESTS); do ./$$t || exit 1; done\n"}),
        ("make", {"Makefile": "all:\n\t@set -e; for t in $(TESTS); do ./$$t; done\n"}),
        ("make", {"Makefile": ".SHELLFLAGS := -eu -c\nall:\n\tfor t in a b; do ./$$t; done\n"}),
        ("make", {"Makefile": "all: a\na:\n\t./a\n\t./b\nother:\n\t./x; ./y\n"}),
        ("sh run.sh", {"run.sh": "set -eu\n./a\n./b\n"}),
        ("./run.sh", {"run.sh": "#!/bin/sh -e\n./a\n./b\n"}),
        ("sh run.sh", {"run.sh": "./a\nif ! ./b; then bad=1; fi\n"}),
        ("sh run.sh", {"run.sh": "trap 'exit 1' ERR\n./a\n./b\n"}),
        ("sh run.sh", {"run.sh": "cc -o a a.c\n./a\n"}),
        ("sh run.sh", {"run.sh": "for f in t/*.sh; do\n  sh $f || rc=1\ndone\nexit $rc\n"}),
    ],
)
def test_scripts_that_stop_or_ask_how_their_programs_ended_are_believed(command, texts):
    assert find_unheard(command, texts) == ""


def test_shell_scripts_are_found_where_manifests_name_them():
    texts = {"lib/package.json": make_manifest("sh ci/run.sh && bash -e x.sh")["package.json"]}

    assert list_script_files("cd lib && npm test", texts) == ("lib/ci/run.sh",)


@pytest.mark.parametrize("part", ["a && ", "node - ", "do ", "& ", "# ", "'", "${ ", "./", "\n"])
def test_hostile_scripts_are_read_in_little_time(part):
    text = part * (300_000 // len(part))
    began = time.process_time()

    find_unheard("sh run.sh", {"run.sh": text, **make_manifest(text)})
    find_unheard("npm test", make_manifest(text))

    assert time.process_time() - began < 2
