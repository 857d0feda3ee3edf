"""A file that its own language cannot parse since the change is no ready change."""

import ast
import shutil
import subprocess

import pytest

from agents.pipelines.stages.quality.unparsed import PARSE
from agents.policy import POLICY_PATH

GOOD = "print('made')\n"
BROKEN = "def make(:\n"
LONG = 10_000
BASE = {
    POLICY_PATH: "setup: {second_look: false}\n",
    "pyproject.toml": "[project]\nname = 'a'\nversion = '1'\n",
    "test_a.py": "def test(): pass\n",
    "gen.py": GOOD,
    "old.py": "print 'two'\n",
    "templates/made.py": GOOD,
}
PASSED = (0, "test_a.py::test PASSED\n1 passed in 0.1s\n")


@pytest.fixture
def compared(compare_change):
    """Compare a change of these files with what was there; the sandbox parses Python."""

    def parser(path):
        def parse(files):
            if len(files[path]) > LONG:
                return 1, "", "timeout"
            try:
                ast.parse(files[path])
            except SyntaxError:
                return 0, "0\n"
            return 0, ""

        return parse

    async def compare(changes, base=BASE):
        files = {**base, **changes}
        parsers = {f"./{path}": parser(path) for path in files if path.endswith(".py")}
        return await compare_change(base, changes, {"python3 -m pytest -q": PASSED, **parsers})

    return compare


@pytest.mark.parametrize("path", ["gen.py", "new.py"])
async def test_what_its_language_cannot_parse_any_more_is_no_ready_change(compared, path):
    quality = await compared({path: BROKEN})

    assert quality.verdict == "unknown"
    [reason] = quality.untold
    assert reason.startswith(f"since the change `{path}` cannot be parsed")


async def test_what_its_parser_comes_to_no_end_with_is_not_called_good(compared):
    assert (await compared({"gen.py": "x = 1\n" * LONG})).unparsed == ("gen.py",)


@pytest.mark.parametrize(
    "changes",
    [
        {"gen.py": "print('better')\n"},
        {"old.py": "print 'three'\n"},
        {"templates/made.py": "{% if x %}\n"},
        {"test_broken.py": BROKEN},
        {"{{name}}/made.py": BROKEN},
    ],
)
async def test_what_can_be_or_could_not_before_or_is_no_code_of_the_project_is_fine(
    compared, changes
):
    assert (await compared(changes)).unparsed == ()


async def test_where_people_named_the_checks_these_say_all(compared):
    quality = "quality: [{name: unit, run: python3 -m pytest -q}]\n"
    named = {**BASE, POLICY_PATH: f"{BASE[POLICY_PATH]}{quality}"}
    assert (await compared({"gen.py": BROKEN}, named)).unparsed == ()


@pytest.mark.parametrize(
    ("tool", "kind", "good", "broken"),
    [
        ("python3", "py", "x = 1\n", "x = (\n"),
        ("python3", "json", "{}", "{,}"),
        ("node", "js", "let x = 1\n", "let = = 1\n"),
        ("ruby", "rb", "BEGIN { File.write('hit', '') }\nx = 1\n", "def (\n"),
        ("php", "php", "<?php file_put_contents('hit', '');\n", "<?php if (\n"),
        ("bash", "bash", "touch hit\n", "if\n"),
    ],
)
def test_each_language_is_parsed_by_itself_and_nothing_is_run(tmp_path, tool, kind, good, broken):
    if not shutil.which(tool):
        pytest.skip(f"there is no {tool} here")
    names = [f"a.{kind}", f"$(touch hit) b.{kind}", f"-c.{kind}", f"c\n1.{kind}"]
    for name, text in zip(names, (good, broken, good, broken), strict=True):
        (tmp_path / name).write_text(text)
    argv = ["bash", "-c", PARSE, "parse", *(f"./{name}" for name in names)]
    ended = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert ended.stdout.split() == ["1", "3"]
    assert not (tmp_path / "hit").exists()


def test_where_there_is_no_parser_nothing_is_refused(tmp_path):
    (tmp_path / "a.rb").write_text("def (")
    argv = [shutil.which("bash"), "-c", PARSE, "parse", "./a.rb", "./gone.php"]
    bare = {"PATH": str(tmp_path)}
    ended = subprocess.run(
        argv, cwd=tmp_path, env=bare, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "")
