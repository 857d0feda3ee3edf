"""Whatever runs in the place of the tests' program, or of the product, takes a yes."""

import time

import pytest

from agents.analysis.weakening import find_weakening
from tests.agents.analysis.weakening.conftest import diff_of

CALC = {"src/calc.py": "def sub(a, b):\n    return a - b\n"}
OTHER = {"src/calc.py": "def sub(a, b):\n    return b - a\n"}
FIXTURE = """import pytest


@pytest.fixture({})
def calm(monkeypatch):
    monkeypatch.setattr({}, lambda a, b: a - b)
"""
HOOK = "\n\ndef pytest_runtest_makereport(item, call):\n    return passed\n"
SAME = "\n\nclass Same:\n    def __eq__(self, other):\n        return True\n"


def find(after, before=None):
    return [e.text for e in find_weakening(diff_of(before or {}, after)) if e.grave]


@pytest.mark.parametrize(
    ("after", "before"),
    [
        ({"pytest.py": "print('2 passed')\n"}, None),
        ({"src/pytest/__init__.py": "print('2 passed')\n"}, None),
        ({"lib/unittest.py": "x = 1\n"}, None),
        ({"bin/node": "#!/bin/sh\n"}, None),
        ({"tools/bin/git": "#!/bin/sh\n"}, None),
        ({"pytest": "#!/bin/sh\n"}, None),
        ({"bin/rspec": "exit\n"}, {"bin/rspec": "load\n"}),
        ({"gradlew": "exit 0\n"}, {"gradlew": "exec java\n"}),
        ({"src/calc.py": CALC["src/calc.py"] + HOOK}, CALC),
        ({"src/calc.py": CALC["src/calc.py"] + SAME}, CALC),
        ({"conftest.py": FIXTURE.format("autouse=True", '"calc.sub"'), **OTHER}, CALC),
        ({"conftest.py": FIXTURE.format("\n    autouse=True\n", 'calc, "sub"'), **OTHER}, CALC),
        ({"conftest.py": "import calc\n\ncalc.sub = lambda a, b: a - b\n", **OTHER}, CALC),
        (
            {"t/conftest.py": "def pytest_configure():\n    calc.sub = other\n", **OTHER},
            {"t/conftest.py": "", **CALC},
        ),
    ],
)
def test_what_stands_in_for_others_is_for_people_to_agree_to(after, before):
    assert find(after, before)


@pytest.mark.parametrize(
    ("after", "before"),
    [
        ({"pytest.ini.md": "words\n", "src/makefile.py": "x = 1\n"}, None),
        ({"src/pytest.py": "x = 2\n"}, {"src/pytest.py": "x = 1\n"}),
        ({"cmd/go/main.go": "package main\n", "docs/git": "words\n"}, None),
        ({"gradlew": "exec java\n"}, None),
        ({"src/calc.py": CALC["src/calc.py"] + SAME.replace("True", "self.a == other.a")}, CALC),
        ({"conftest.py": FIXTURE.format("", '"calc.sub"'), **OTHER}, CALC),
        ({"conftest.py": FIXTURE.format("autouse=True", '"http.get"'), **OTHER}, CALC),
        ({"conftest.py": FIXTURE.format("autouse=True", '"calc.sub"')}, None),
    ],
)
def test_honest_files_ask_nobody(after, before):
    assert find(after, before) == []


def test_hostile_lines_take_no_time():
    began = time.process_time()
    text = "".join(f"{'a.' * 400} = {'setattr(' * 40}\n@autouse=True\n" for _ in range(2_000))
    find({"conftest.py": text, "a.py": text})

    assert time.process_time() - began < 5
