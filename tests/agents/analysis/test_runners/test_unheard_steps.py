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
        ("npm test", make_manifest("node a.js & node b.js & wait"), "node a.js"),
        ("make", {"Makefile": "all:\n\tfor t in $(TESTS); do ./$$t; done\n"}, "./$t"),
        ("make", {"Makefile": "all:\n\tfor t in $(T); do valgrind -q ./$$t; done\n"}, "./$t"),
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
        ("sh run.sh", {"run.sh": "./a || bad=1\nif ! ./b; then bad=1; fi\nexit $bad\n"}),
        ("sh run.sh", {"run.sh": "trap 'exit 1' ERR\n./a\n./b\n"}),
        ("sh run.sh", {"run.sh": "cc -o a a.c\n./a\n"}),
        ("sh run.sh", {"run.sh": "for f in t/*.sh; do\n  sh $f || rc=1\ndone\nexit $rc\n"}),
    ],
)
def test_scripts_that_stop_or_ask_how_their_programs_ended_are_believed(command, texts):
    assert find_unheard(command, texts) == ""


def runs(text):
    return "sh run.sh", {"run.sh": text}


def makes(recipes, before="", command="make test"):
    return command, {"Makefile": f"{before}test:\n\t{recipes}\nother:\n\t-./x\n"}


def scripts(script, **others):
    return "npm test", {"package.json": json.dumps({"scripts": {"test": script, **others}})}


@pytest.mark.parametrize(
    ("found", "program"),
    [
        (scripts("node a.js || true; node b.js"), "node a.js"),
        (scripts("node a.js ||: ; node b.js"), "node a.js"),
        (scripts("node a.js || echo bad; node b.js"), "node a.js"),
        (scripts("node a.js && echo ok || echo bad; node b.js"), "node a.js"),
        (scripts("node a.js || exit 0; node b.js"), "node a.js"),
        (scripts("node a.js; node b.js || exit 1"), "node a.js"),
        (scripts("node a.test.js & node b.test.js"), "node a.test.js"),
        (scripts("node a.js 2>&1 | tee log; node b.js"), "node a.js"),
        (scripts("npm run a; npm run b", a="node a.js", b="node b.js"), "npm run a"),
        (scripts("npm run a && node b.js", a="node x.js || true"), "node x.js"),
        (scripts("bash -c 'node a.js; node b.js'"), "node a.js"),
        (scripts("(CI=1 node a.js; node b.js)"), "node a.js"),
        (scripts("find t -name '*.js' -exec node {} \\;"), "find t -name '*.js' -exec node {} \\;"),
        (
            scripts("concurrently --success first 'node a.js' 'node b.js'"),
            "concurrently --success first 'node a.js' 'node b.js'",
        ),
        (scripts("set +e; node a.js; node b.js; exit $?"), "node a.js"),
        (makes("-node a.js\n\tnode b.js"), "node a.js"),
        (makes("@-./a\n\t./b"), "./a"),
        (makes("./a || true\n\t./b"), "./a"),
        (makes("./a | tee log\n\t./b"), "./a"),
        (makes("-$(MAKE) more\n\t./b\nmore:\n\t./a"), "$(MAKE) more"),
        (makes("./a\n\t./b", ".IGNORE:\n"), "make test"),
        (makes("./a\n\t./b", "MAKEFLAGS += --ignore-errors\n"), "make test"),
        (makes("./a\n\t./b", command="make -i test"), "make -i test"),
        (makes("./a\n\t./b", ".ONESHELL:\n"), "./a"),
        (("make test", {"GNUmakefile": "test:\n\t./a; ./b\n"}), "./a"),
        (runs("set -e\n./a || true\n./b\n"), "./a"),
        (runs("set -e\nset +e\n./a\n./b\n"), "./a"),
        (runs("set -e\n./a | tee log\n./b\n"), "./a"),
        (runs("set -e\n./a | grep -v noise\n"), "./a"),
        (runs("set -e\n./a &\n./b &\nwait\n"), "./a"),
        (runs("set -e\nif ./a; then echo ok; else echo bad; fi\n./b\n"), "./a"),
        (runs("set -e\n./a && echo ok\n./b\n"), "./a"),
        (runs("set -e\nfor t in a b; do ./$t || echo bad $t; done\n"), "./$t"),
        (runs("set -e\n! ./a\n./b\n"), "./a"),
        (runs("set -e\n./a || { echo bad; }\n./b\n"), "./a"),
        (runs("./a\nif ! ./b; then exit 1; fi\n"), "./a"),
        (runs("./a\n./b\nif [ $? -ne 0 ]; then exit 1; fi\n"), "./a"),
        (runs("run() { ./$1; }\nrun a\nrun b\n"), "run a"),
        (runs("case $1 in\nall) ./a; ./b;;\nesac\n"), "./a"),
        (("./test", {"test": "#!/bin/sh\n./a\n./b\n"}), "./a"),
        (scripts("tester run || true; node b.js"), "tester run"),
        (scripts("jasmine; node b.js"), "jasmine"),
        (runs("tester run\nexit 0\n"), "tester run"),
        (makes("-tester run\n\t./b"), "tester run"),
        (runs("./a || bad=1\n./b || bad=1\nexit 0\n"), "./a"),
        (runs("n=0\n./a || n=$((n + 1))\n./b\n"), "./a"),
        (runs("./a\nrc=$?\nexit 0\n"), "./a"),
        (runs("set -e\ntrap 'exit 0' EXIT\n./a\n"), "trap 'exit 0' EXIT"),
        (runs("set -e\ntrap 'rm x; exit 0' 0 2\n./a\n"), "trap 'rm x; exit 0' 0 2"),
        (runs("trap end EXIT\nend() { rm x; exit 0; }\n./a\n"), "trap end EXIT"),
        (runs("trap 'exit 0' ERR\n./a\n./b\n"), "trap 'exit 0' ERR"),
        (runs("./a\n" * 20_000), "run.sh"),
    ],
)
def test_what_drops_a_failure_is_heard_of_however_it_does(found, program):
    assert find_unheard(*found) == program


@pytest.mark.parametrize(
    "found",
    [
        scripts("rm -rf tmp || true; node a.js"),
        scripts("node a.js || (cat log; exit 1)"),
        scripts("echo start; node a.js"),
        scripts("set -o pipefail; node a.js | tee log"),
        scripts("npm run clean; node a.js", clean="rm -rf x"),
        scripts("npm run a && npm run b", a="node a.js", b="node b.js"),
        scripts("bash -ec 'node a.js; node b.js'"),
        scripts("concurrently 'node a.js' 'node b.js'"),
        scripts("python3 -m pip install -r x.txt; python3 t.py"),
        makes("-rm -f x\n\tnode a.js"),
        makes("@echo hi; ./a"),
        makes("./a && ./b\n\t./c"),
        makes("./a | tee log", "SHELL = /bin/bash -o pipefail\n"),
        makes("./a\n\t./b", command="make -k test"),
        runs("set -euo pipefail\n./a | tee log\n./b\n"),
        runs("set -e\n./a > out\ngrep -q ok out\n./b\n"),
        runs("./a > out\ndiff out wanted || exit 1\n"),
        runs("./a\n[ -f out ] || exit 1\n"),
        runs("set -e\n./server &\npid=$!\n./a\nkill $pid || true\n"),
        runs("bad=0\nfor t in t/*.sh; do\n  if ! sh $t; then bad=1; fi\ndone\nexit $bad\n"),
        runs("set -e\n./a | grep -q expected\n"),
        runs("set -e\n./a | diff - wanted\n"),
        runs('set -e\nout=$(./a)\n[ "$out" = 3 ]\n'),
        runs("set -e\nif ./bad; then echo should fail; exit 1; fi\n"),
        runs("set -e\n./a || rc=$?\n[ $rc = 3 ]\n"),
        runs("set -e\n./bad && exit 1\n./a\n"),
        runs("set -e\nend() { set +e; kill $pid; }\ntrap end EXIT\n./a\n./b\n"),
        runs("set -e\n(set +e; kill $pid)\n./a\n./b\n"),
        runs('fail() { echo "$1"; exit 1; }\n./a || fail a\n./bad && fail bad\necho ok\n'),
        runs("./a &\none=$!\n./b &\nwait $one || exit 1\nwait $! || exit 1\n"),
        runs('check() { "$@" || bad=1; }\ncheck ./a\ncheck ./b\nexit $bad\n'),
        makes("-$(RM) x\n\t-docker rm y\n\t./a"),
        makes("$(CC) -o $@ $^ $(@D)/x.o\n\t./a"),
        scripts("npm install || true; node a.js"),
        runs("createdb x || true\n./a\n"),
        runs("set -e\ntrap 'rm x; exit $?' EXIT\ntrap 'exit 0' INT TERM\n./a\n"),
        runs("n=0\n./a || n=$((n + 1))\n./b || n=$((n + 1))\nexit $n\n"),
        runs("./a || bad=1\n. ./end.sh\n"),
        runs("for t in a b; do ./$t && ok=$((ok+1)); done\n[ $ok = 2 ]\n"),
    ],
)
def test_what_sees_to_failures_in_whatever_way_is_believed(found):
    assert find_unheard(*found) == ""


def test_scripts_that_scripts_run_are_found():
    texts = {"t.sh": "set -e\n./more.sh\n"}

    assert list_script_files("sh t.sh", texts) == ("more.sh", "t.sh")
    assert find_unheard("sh t.sh", {**texts, "more.sh": "./a\n./b\n"}) == "./a"


def test_shell_scripts_are_found_where_manifests_name_them():
    texts = {"lib/package.json": make_manifest("sh ci/run.sh && bash -e x.sh")["package.json"]}

    assert list_script_files("cd lib && npm test", texts) == ("lib/ci/run.sh",)


@pytest.mark.parametrize(
    "part",
    [
        "a && ",
        "./a || b=1\n",
        "trap 'x",
        "node - ",
        "do ",
        "& ",
        "# ",
        "'",
        "${ ",
        "./",
        "\n",
        "(",
        "./a | ",
        "if ",
        "x() {",
    ],
)
def test_hostile_scripts_are_read_in_little_time(part):
    began = time.process_time()

    for size in (3_000, 50_000, 300_000):
        text = part * (size // len(part))
        find_unheard("sh run.sh", {"run.sh": text, **make_manifest(text)})
        find_unheard("npm test", make_manifest(text))

    assert time.process_time() - began < 5


def test_many_calls_of_one_script_are_read_in_little_time():
    calls = "".join(f"npm run test x{number}; " for number in range(4_000))
    began = time.process_time()

    find_unheard("npm test", make_manifest(calls))

    assert time.process_time() - began < 2
