"""The pages for people: what they link to and name is there: files, names, targets, commands."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path

import pytest

from handlers.command_parser import VERBS

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("app", "handlers", "agents", "tests", "deploy")
CODE = re.compile(r"`([^`\n]+)`")
BLOCK = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^ *```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
DELIVERY = set("123456789")


def find_pages() -> list[str]:
    """Every page that is there for people; prompts and cases are for models."""
    readmes = [path for package in PACKAGES for path in (ROOT / package).rglob("README.md")]
    found = [ROOT / "README.md", *(ROOT / ".github").glob("*.md"), *(ROOT / "deploy").glob("*.md")]
    found += [path for path in readmes if "node_modules" not in path.parts]
    return sorted({path.relative_to(ROOT).as_posix() for path in found})


@pytest.fixture(params=find_pages())
def page(request) -> Path:
    return ROOT / request.param


def slugs(text: str) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    heads = re.findall(r"^#+ (.+)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_links_lead_to_what_is_there(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text("utf-8")):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        found = (page.parent / name) if name else page
        assert found.exists(), target
        assert not anchor or anchor in slugs(found.read_text("utf-8")), target


def test_every_path_is_one(page):
    """`<event>` and `*` stand for anything; a page in a folder may name what lies beside it."""
    words = CODE.findall(BLOCK.sub("", page.read_text("utf-8")))
    paths = [word for word in words if re.fullmatch(rf"(?:{'|'.join(PACKAGES)})/[\w./<>*-]+", word)]
    missing = [
        path for path in paths if not any(ROOT.glob(re.sub(r"<\w+>", "*", path.rstrip("/"))))
    ]
    assert not missing


def test_every_target_of_make_is_one(page):
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    text = page.read_text("utf-8")
    blocks = "\n".join(SHELL.findall(text))
    named = re.findall(r"`make ([a-z-]+)", text) + re.findall(r"(?m)^ *make ([a-z-]+)", blocks)
    assert set(named) <= set(targets)


def test_every_command_in_a_comment_is_one(page):
    named = re.findall(r"`/bot ([a-z]+)", page.read_text("utf-8"))
    assert set(named) <= set(VERBS)


def test_the_manual_has_every_command():
    manual = (ROOT / "deploy/commands.md").read_text("utf-8")
    assert set(re.findall(r"`/bot ([a-z]+)", manual)) == set(VERBS)


@pytest.mark.parametrize(
    ("name", "lines"),
    [("README.md", 150), *((f"{each}/README.md", 40) for each in PACKAGES if each != "deploy")],
)
def test_a_page_can_be_read_in_one_sitting(name, lines):
    assert (ROOT / name).read_text("utf-8").count("\n") <= lines


QUESTIONS = ("duplicate delivery", "approval bound to a commit", "npm's lock read", "on SIGTERM")


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_packages_answer_what_readers_look_for(question):
    asked = [
        row
        for name in ("app", "agents")
        for row in rows(ROOT / name / "README.md")
        if question in row["what a reader looks for"]
    ]
    assert asked


ADDING = ("a webhook event", "a stage to a pipeline", "a tool", "an ecosystem", "a setting")


@pytest.mark.parametrize("thing", ADDING)
def test_newcomers_are_told_how_to_add_each_thing_and_which_files_it_touches(thing):
    text = (ROOT / ".github/CONTRIBUTING.md").read_text("utf-8")
    _, _, told = text.partition(f"\n## Add {thing}\n")
    steps = [
        line for line in told.partition("\n## ")[0].splitlines() if line[:3] == f"{line[:1]}. "
    ]
    assert len(steps) >= 4, "numbered steps"
    assert sum(".py" in step or "/" in step for step in steps) >= 3, "steps that name files"


# --- tables with the columns file and function ---------------------------------------------------


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows(page: Path) -> list[dict[str, str]]:
    """The rows of a page's tables that have the columns file and function."""
    lines = page.read_text("utf-8").splitlines()
    heads = [i for i, line in enumerate(lines) if {"file", "function"} <= set(cells(line))]
    return [
        dict(zip(cells(lines[head]), cells(line), strict=True))
        for head in heads
        for line in itertools.takewhile(lambda line: "|" in line, lines[head + 2 :])
    ]


def list_defined(path: Path) -> set[str]:
    """The functions, classes and constants of a file; what a class has as `Class.name`."""
    names = set()
    for part in ast.parse(path.read_text("utf-8")).body:
        names |= list_given(part)
        if isinstance(part, ast.ClassDef):
            names |= {f"{part.name}.{name}" for each in part.body for name in list_given(each)}
    return names


def list_given(part: ast.stmt) -> set[str]:
    match part:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
    return set()


def test_tables_name_files_and_functions_that_exist(page):
    for row in rows(page):
        paths = [ROOT / name for name in re.findall(r"`([^`]+\.py)`", row["file"])]
        functions = re.findall(r"`([\w.]+)(?:\(\))?`", row["function"])
        assert paths, row
        assert functions, row
        assert all(path.is_file() for path in paths), row
        known = set().union(*map(list_defined, paths))
        assert set(functions) <= known, f"{row}: {set(functions) - known}"


def test_the_readme_follows_a_delivery_from_its_arrival_to_the_report():
    assert {row["step"][0] for row in rows(ROOT / "README.md")} == DELIVERY


def test_a_name_in_a_file_is_there(page):
    """Pages say it as "`NAME` in `path`"."""
    for names, path in re.findall(
        r"((?:`[\w.]+`(?:,\s|\sand\s)?)+)\sin\s+`([\w./]+\.py)`", page.read_text("utf-8")
    ):
        missing = set(CODE.findall(names)) - list_defined(ROOT / path)
        assert not missing, f"{path}: {missing}"
