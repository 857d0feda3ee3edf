"""`fettle doctor repository` and `fettle init`: what a repository's checks can tell."""

import asyncio
import json

import pytest

from agents.policy import parse_policy
from app.cli import main
from tests.app.clone.conftest import CALC, GOOD, ISSUE, make_clone
from tests.fakes.container_engine import FakeContainerEngine

SETUP = "setup: {run: ['true']}\n"
GREEN = "quality: [{name: unit, run: python3 -m unittest -q}]\n"
TEST = (
    "import unittest\n\n\nclass TestIt(unittest.TestCase):\n    def test_it(self):\n        pass\n"
)
POLICY = ".github/fettle.yml"


@pytest.fixture
def fettle(bench, monkeypatch, capsys):
    """Run a command as who has no key would; return its exit code, output and messages."""

    def run(*args):
        for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("FETTLE_DATA_DIR", str(bench.data))
        monkeypatch.setenv("COLUMNS", "120")
        monkeypatch.setattr("sys.argv", ["fettle", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return ended.value.code or 0, told.out, told.err

    return run


FLAKES = """
from pathlib import Path
import calc
changed = calc.add(1, 1) == 2
seen = Path.home() / ("seen" if changed else "before")
fails = not seen.exists() and (changed or (Path.home() / "seen").exists())
if changed or fails:
    seen.touch()
print("=== short test summary info ===")
print("FAILED test_a.py::test_it - x\\n=== 1 failed in 0.1s ===" if fails else "1 passed in 0.1s")
raise SystemExit(fails)
"""


async def test_what_flakes_on_a_clone_is_known_to_later_runs_until_it_is_forgotten(bench, fettle):
    async def call(*args):
        return await asyncio.to_thread(fettle, "flaky", *args)

    policy = SETUP + "quality: [{name: unit, run: python3 suite.py}]\n"
    clone = make_clone(bench.place / "r", CALC | {"suite.py": FLAKES, POLICY: policy})
    assert "No run saw" in (await call(clone))[2]

    for runs in (1, 2):
        await bench.play(GOOD)
        done = await bench.resolve(clone, f"{ISSUE}{runs}")
        assert ("(in 1 run, 1 of them without" in done.outcome.pull_request.body) == (runs == 2)
        [known] = json.loads((await call(clone, "--json"))[1])
        assert (known["name"], known["runs"]) == ("test_a.py::test_it", runs)

    assert "test_a.py::test_it" in (await call(clone))[1]
    assert "what 2 runs saw" in (await call(clone, "--forget"))[2]
    assert json.loads((await call(clone, "--json"))[1]) == []
    assert (await call("octo/lib"))[0] == (await call("nowhere"))[0] == 2


NAMELESS = "quality: []\n"
UNTOLD = r"""
quality:
  - {name: odd, run: 'echo it is broken; false'}
  - {name: none, run: no-such-program}
  - {name: skips, run: echo 5 skipped in 0.1s}
  - {name: "a\u202eb", run: 'false'}
"""
WHY = (
    "it failed without saying what fails",
    "the command could not be started",
    "it ran no test",
    "it failed without saying what fails",
)


@pytest.mark.parametrize(
    ("policy", "reasons"),
    [(NAMELESS, ["no check of the repository was found"]), (UNTOLD, WHY)],
    ids=["no check", "four that cannot tell"],
)
def test_what_cannot_be_told_is_named_with_its_reason(bench, fettle, policy, reasons):
    clone = make_clone(bench.place / "r", {POLICY: SETUP + policy})

    code, out, _ = fettle("doctor", "repository", clone, "--json")

    told = json.loads(out)
    assert (code, told["ready"]) == (2, False)
    for untold, why in zip(told["untold"], reasons, strict=True):
        assert why in untold
    assert all(check["same_output"] for check in told["checks"])
    if policy == UNTOLD:  # names in a repository move no cursor
        _, out, _ = fettle("doctor", "repository", clone)
        assert "the command could not be started" in " ".join(out.split())
        assert "\u202e" not in out


def test_init_writes_the_checks_that_can_tell_and_no_others(bench, fettle):
    bad = "  broken:\n    runs-on: x\n    steps: [{run: python3 -m unittest -q no_such_test}]\n"
    good = "  unit:\n    runs-on: x\n    steps: [{run: python3 -m unittest -q}]\n"
    files = {"test_it.py": TEST, ".github/workflows/ci.yml": f"on: push\njobs:\n{good}{bad}"}
    clone = make_clone(bench.place / "r", files)

    code, out, err = fettle("init", clone)

    assert code == 0, err
    written = (clone / POLICY).read_text()
    assert written.strip() in out
    [check] = parse_policy(written.encode()).quality
    assert check.run == "python3 -m unittest -q"
    assert "# This could not be told, and is not among them:\n# - `tests" in written


UNSEEN = {
    "test_it.py": TEST,
    "pyproject.toml": "[project]\nname = 'a'\nversion = '1'\n",
    "web/package.json": '{"scripts": {"start": "vite"}}',
    "web/src/a.ts": "export const a = 1\n",
    "web/src/a.test.ts": "test('a', () => {})\n",
    "examples/one/package.json": "{}",
    "docs/package.json": "{}",
    ".github/workflows/ci.yml": "on: push\njobs:\n  unit:\n    runs-on: x\n"
    "    steps: [{run: python3 -m unittest -q}]\n",
}


def test_projects_and_tests_that_no_check_looks_at_are_named(bench, fettle):
    clone = make_clone(bench.place / "r", {**UNSEEN, POLICY: "setup: {run: ['true']}\n"})

    code, out, err = fettle("doctor", "repository", clone)
    assert code == 0, err
    assert "No check looks at these, so changes there stay drafts" in out
    listed = [line for line in out.splitlines() if line.startswith("- ")]
    assert listed == ["- web/", "- web/src/a.test.ts"]
    told = json.loads(fettle("doctor", "repository", clone, "--json")[1])
    assert told["unchecked"] == {"folders": ["web"], "tests": ["web/src/a.test.ts"]}

    clone = make_clone(bench.place / "s", UNSEEN)
    code, _, err = fettle("init", clone)
    assert code == 0, err
    assert "or changes pass unseen" in " ".join(err.split())
    written = (clone / POLICY).read_text()
    assert "here how they are checked:\n# - web/\n# - web/src/a.test.ts\n" in written
    assert parse_policy(written.encode()).quality


def test_init_leaves_a_policy_that_is_there(bench, fettle):
    clone = make_clone(bench.place / "r", {POLICY: GREEN})

    code, _, err = fettle("init", clone)

    assert code == 2
    assert "is there already" in err
    assert (clone / POLICY).read_text() == GREEN


def test_init_without_a_check_that_can_tell_writes_nothing(bench, fettle):
    clone = make_clone(bench.place / "r", {"README.md": "words\n"})

    code, _, err = fettle("init", clone)

    assert code == 2
    assert "there is nothing to write" in err.replace("\n", " ")
    assert not (clone / POLICY).exists()


def test_checks_that_say_the_same_twice_can_tell_and_the_image_that_they_ran_in_is_named(
    bench, fettle, monkeypatch, tmp_path
):
    """It is written down, too; where people named the checks, no project is unseen."""
    engine = FakeContainerEngine(tmp_path / "engine")
    engine.hold()
    engine.add_image("ghcr.io/acme/ci:1")
    monkeypatch.setenv("FETTLE_CONTAINER_ENGINE", str(engine.folder / "podman"))
    wants = '{"image": "ghcr.io/acme/ci:1", "postCreateCommand": "make"}'
    files = {**UNSEEN, ".python-version": "3\n", ".devcontainer.json": wants}
    clone = make_clone(bench.place / "r", files | {POLICY: SETUP + GREEN})
    there = {path.name for path in clone.iterdir()}

    code, out, err = fettle("doctor", "repository", clone)
    assert code == 0, err
    assert "\nToolchains: python 3." in f"\n{out}"
    assert "python3 -m unittest -q" in out
    assert "changes can be called ready here, where these checks look." in " ".join(out.split())
    assert bench.list_folders() == [], "nothing is left behind"
    assert {path.name for path in clone.iterdir()} == there
    assert "The image `ghcr.io/acme/ci:1`, which `.devcontainer.json` names, was not used" in out
    assert "FETTLE_ENVIRONMENT_IMAGES" in out
    assert not engine.has_made_any()

    monkeypatch.setenv("FETTLE_ENVIRONMENT_IMAGES", "ghcr.io/acme/ci:1")
    code, out, err = fettle("doctor", "repository", clone, "--json")
    assert code == 0, err
    assert json.loads(out)["unchecked"] == {"folders": [], "tests": []}
    image = json.loads(out)["setup"]["image"]
    assert (image["image"], image["left_out"]) == ("ghcr.io/acme/ci:1", ["postCreateCommand"])
    assert image["id"]
    assert engine.has_made_any()

    clone = make_clone(bench.place / "s", {"test_it.py": TEST, ".devcontainer.json": wants})
    code, _, err = fettle("init", clone)
    assert code == 0, err
    written = (clone / POLICY).read_text()
    assert "# They ran in the image ghcr.io/acme/ci:1, which .devcontainer.json names." in written
    parse_policy(written.encode())
