"""The shape of the code: sizes, words, and who may touch what."""

from __future__ import annotations

import ast
import importlib
import io
import re
import statistics
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.pipelines.flowchart import find_pipelines
from agents.pipelines.registry import PIPELINES
from tests.gears import FIXTURES, MARKS, of_folder
from tests.source_files import (
    OF_THE_ENVIRONMENT,
    PACKAGES,
    ROOT,
    FunctionShape,
    look_at,
    look_at_function,
    name_of,
    read_all,
    read_product,
)
from tests.verbs import is_no_verb

FILE_LINES, FILE_MEDIAN = 450, 120
FUNCTION_LINES, FUNCTION_P90, PIPELINE_LINES = 50, 25, 30

SMALL_LINES, SMALL_SHARE = 40, 0.05  # files below so many lines, as a share of all
FAN_OUT, FAN_OUT_P90 = 25, 9  # modules of ours that one module imports
WIRING = ("app/wiring/",)  # where everything meets
FOLDER_MODULES = 20
CLASS_HOMES = 2  # modules that may use one class name: a port and its adapter, a class and its fake
RULES = "handlers/access/"  # a rule is called as its facts are; the names are stored and logged

ONE_HOME = {
    "anthropic": {"agents/loop/access.py", "agents/loop/model.py"},
    "dbos": {"app/runs/engine.py"},
    "openai": {"agents/loop/chat_messages.py", "agents/loop/chat_model.py"},
}
ENVIRONMENT_HOME = "app/config/settings.py"
FOR_SANDBOXES = {"agents/pipelines/remediate/ladder/python/release_list.py"}
"""Programs that sandboxes run: the environment there is not the product's."""

UNMIRRORED = {  # folders of tests that no folder of the source has: what they try
    "tests/app/git/stages": "stages of the pipelines on a real git",
    "tests/app/pages/browser": "the pages as a real browser shows them",
}

WORDS = {"helper", "manager", "util", "utility"}
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
BORROWED = (  # whose word it is: where, which, why
    ("app/git/remote.py", "helper", "git's setting `credential.helper`"),
)

SENTENCE = re.compile(r"[^\n]+[.?](?:\n\n|\Z)")
NOQA = re.compile(r"#\s*(?:ruff: )?noqa(?P<codes>: [A-Z]+[0-9]+(?:,\s?[A-Z]+[0-9]+)*)?(?P<why>.*)")
IGNORE = re.compile(r"#\s*type: ignore(?P<codes>\[[a-z, -]+\])?(?P<why>.*)")


def list_functions() -> Iterator[tuple[str, FunctionShape]]:
    for path, file in read_product().items():
        for function in file.functions:
            yield f"{path}:{function.line} {function.name}", function


def assert_none(found: list[str], rule: str):
    assert not found, "\n".join([rule, *found])


# --- sizes --------------------------------------------------------------------------------------


def test_files_are_short():
    every = {path: file.lines for path, file in read_all().items()}
    too_long = [f"{path} {count}" for path, count in every.items() if count > FILE_LINES]
    assert_none(too_long, f"more than {FILE_LINES} lines: one subject per file, split them")
    lines = {path: every[path] for path in read_product()}
    # Every file counted, it is below 100; an __init__ of one line says nothing about size.
    median = statistics.median(count for count in lines.values() if count > 1)
    print(f"{len(lines)} files, median {median} lines, longest {max(lines.values())}")
    assert median <= FILE_MEDIAN


def test_few_files_of_tests_are_small():
    tests = {p: file.lines for p, file in read_all().items() if p.startswith("tests/")}
    small = [f"{path} {count}" for path, count in sorted(tests.items()) if count < SMALL_LINES]
    print(f"{len(tests)} files of tests, {len(small)} of them below {SMALL_LINES} lines")
    rule = f"{len(small)} of {len(tests)} are below {SMALL_LINES} lines: merge what is one subject"
    assert len(small) <= SMALL_SHARE * len(tests), "\n".join([rule, *small])


def test_functions_are_short():
    lengths = {name: function.length for name, function in list_functions()}
    too_long = [f"{name} {count}" for name, count in lengths.items() if count > FUNCTION_LINES]
    assert_none(too_long, f"more than {FUNCTION_LINES} lines without docstring: find its parts")
    ordered = sorted(lengths.values())
    p90 = ordered[int(len(ordered) * 0.9)]
    median = statistics.median(ordered)
    print(f"{len(ordered)} functions, median {median} lines, p90 {p90}, longest {ordered[-1]}")
    assert p90 <= FUNCTION_P90


def test_few_files_are_tiny():
    """Each package's own `__init__` is apart: it says what the package is, and names its parts."""
    files = [path for path in read_product() if not path.endswith("/__init__.py")]
    tiny = [path for path in files if read_all()[path].lines < SMALL_LINES]
    print(f"{len(tiny)} of {len(files)} files have fewer than {SMALL_LINES} lines")
    rule = f"more than {SMALL_SHARE:.0%} have fewer than {SMALL_LINES} lines: merge siblings"
    assert len(tiny) <= len(files) * SMALL_SHARE, "\n".join([rule, *tiny])


@pytest.mark.parametrize(
    "pipeline", find_pipelines(ROOT / "agents/pipelines"), ids=lambda p: p.title
)
def test_a_pipeline_can_be_read_at_a_glance(pipeline):
    assert look_at_function(pipeline.function).length <= PIPELINE_LINES
    assert pipeline.title, "its docstring says what it turns into what"


def test_every_pipeline_is_registered():
    drawn = reversed(find_pipelines(ROOT / "agents/pipelines"))
    first = {e.path: e.function.name for e in drawn if e.path.parent.name != "stages"}
    assert {each.function.__name__ for each in PIPELINES.values()} == set(first.values())


# --- words --------------------------------------------------------------------------------------


def test_every_file_says_what_it_is():
    docs = {path: file.docstring for path, file in read_all().items()}
    silent = [path for path, doc in docs.items() if not doc]
    assert_none(silent, "a file starts with a docstring of one sentence")
    long = [f"{path}: {doc}" for path, doc in docs.items() if not SENTENCE.match(doc)]
    assert_none(long, "the first paragraph is one line that ends in a full stop")


def is_forbidden(name: str, path: str) -> bool:
    words = {word.lower() for word in WORD.findall(name)}
    words |= {word.removesuffix("s") for word in words}
    borrowed = {word for start, word, _ in BORROWED if path.startswith(start)}
    return name not in borrowed and bool(words & WORDS - borrowed)


def test_folders_of_tests_are_named_like_the_source():
    """Or like one of its modules, whose tests take more than one file."""
    mirrored = tuple(f"tests/{package}/" for package in PACKAGES)
    folders = {Path(path).parent for path in read_all() if path.startswith(mirrored)}
    strange = set()
    for folder in folders:
        tried = ROOT / Path(*folder.parts[1:])
        if not tried.is_dir() and not tried.with_suffix(".py").is_file():
            strange.add(folder.as_posix())
    assert_none(sorted(strange - UNMIRRORED.keys()), "nothing of the source has that name")
    assert strange >= UNMIRRORED.keys(), "a folder that is gone"


def test_folders_hold_few_modules():
    modules = [path for path in read_all() if not path.endswith(("__init__.py", "conftest.py"))]
    counts = Counter(Path(path).parent.as_posix() for path in modules if "/migrations/" not in path)
    crowded = [f"{folder} {count}" for folder, count in counts.items() if count > FOLDER_MODULES]
    assert_none(crowded, f"more than {FOLDER_MODULES} modules in a folder: group by capability")


def test_a_class_name_means_one_thing():
    homes = defaultdict(dict)
    for path, file in read_all().items():
        for name, text in file.types:
            homes[name].setdefault(text or path, path)
    many = {name: sorted(f.values()) for name, f in homes.items() if len(f) > CLASS_HOMES}
    rule = f"in more than {CLASS_HOMES} modules: let each name say whose it is"
    assert_none([f"{name}: {', '.join(found)}" for name, found in sorted(many.items())], rule)


def test_a_function_is_called_by_a_verb():
    bad = [
        f"{path}:{each.line} {each.name}"
        for path, file in read_all().items()
        if not path.startswith(RULES)
        for each in file.functions
        if not each.is_attribute and is_no_verb(each.name)
    ]
    assert_none(bad, "a participle or a preposition alone: `find_parent`, `is_held`, `to_json`")


def test_one_word_per_thing():
    bad = [
        f"{path}:{line} {name}"
        for path, file in read_product().items()
        for line, name in sorted(file.names)
        if is_forbidden(name, path)
    ]
    for path in read_product():
        bad += [path for part in Path(path).with_suffix("").parts if is_forbidden(part, path)]
    assert_none(bad, f"not used as names: {', '.join(sorted(WORDS))}")


def test_borrowed_words_are_still_in_use():
    for start, word, _ in BORROWED:
        files = [file for path, file in read_product().items() if path.startswith(start)]
        names = {name.lower() for file in files for _, name in file.names}
        assert any(word in name for name in names), f"`{word}` is not used in {start} any more"


def test_exceptions_to_a_rule_carry_their_rule_and_reason():
    unexplained = []
    for path, file in read_all().items():
        if "noqa" not in file.text and "type: ignore" not in file.text:
            continue  # most files, and to read one word by word takes a while
        for token in tokenize.generate_tokens(io.StringIO(file.text).readline):
            if token.type != tokenize.COMMENT:
                continue
            for pattern in (NOQA, IGNORE):
                found = pattern.search(token.string)
                if found and not (found["codes"] and re.search(r"[a-z]{2}", found["why"])):
                    unexplained.append(f"{path}:{token.start[0]} {token.string}")
    assert_none(unexplained, "write `# noqa: CODE reason` or `# type: ignore[code]  # reason`")


def test_every_folder_stands_in_its_readme():
    missing = [
        f"{package}/README.md: {folder.name}/"
        for package in ("app", "agents")
        for folder in sorted((ROOT / package).iterdir())
        if (folder / "__init__.py").is_file()
        and f"`{name_of(folder)}/`" not in (ROOT / package / "README.md").read_text("utf-8")
    ]
    assert_none(missing, "a folder that the README does not name")


# --- who may touch what -------------------------------------------------------------------------


def module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def find_imported(path: str, paths: dict[str, str]) -> set[str]:
    """The modules of ours that it names in imports, wherever they stand in it."""
    found = set()
    for module, names in read_product()[path].imports:
        if names is None:
            found.add(module)
        elif module in paths:
            bound = read_product()[paths[module]].bound
            below = {name: f"{module}.{name}" for name in names}
            found |= {
                below[name] if below[name] in paths and name not in bound else module
                for name in below
            }
    return found & paths.keys() - {module_of(path)}


def test_a_module_imports_few_others():
    paths = {module_of(each): each for each in read_product()}
    counts = {path: len(find_imported(path, paths)) for path in read_product()}
    rule = f"imports more than {FAN_OUT} modules of ours: find its parts"
    many = [f"{path} {n}" for path, n in counts.items() if n > FAN_OUT]
    assert_none([each for each in many if not each.startswith(WIRING)], rule)
    ordered = sorted(n for path, n in counts.items() if not path.endswith("/__init__.py"))
    p90 = ordered[int(len(ordered) * 0.9)]
    print(f"median {statistics.median(ordered)}, p90 {p90}, most {ordered[-1]}")
    assert p90 <= FAN_OUT_P90, "a tenth of all modules import more"


@pytest.mark.parametrize(("library", "home"), ONE_HOME.items())
def test_a_library_with_one_home_is_imported_only_there(library, home):
    users = {
        path
        for path, file in read_product().items()
        if any(name.split(".")[0] == library for name in file.list_imports())
    }
    assert users == home


def test_only_the_settings_read_the_environment():
    readers = set()
    for path, file in read_product().items():
        used = {*file.environment, *file.list_imports()}
        if used & {f"os.{name}" for name in OF_THE_ENVIRONMENT}:
            readers.add(path)
    assert readers <= {ENVIRONMENT_HOME} | FOR_SANDBOXES


@pytest.mark.parametrize("package", PACKAGES)
def test_the_packages_are_ours(package):
    """Some libraries bring a package named `agents` or `app`, and the first on the path wins."""
    assert Path(importlib.import_module(package).__file__).parent == ROOT / package


def test_no_test_says_how_quick_a_machine_is():
    """By the clock: what a thread of its own took of a processor may be bounded (`thread_time`)."""
    found = [
        f"{path}:{line}"
        for path, file in read_all().items()
        if path.startswith("tests/") and not path.startswith("tests/bench/")
        for line in file.races
    ]
    assert_none(found, "wait for what must happen, or compare with a limit of a minute and more")


@pytest.mark.parametrize(
    ("line", "races"),
    [
        ("assert time.monotonic() - began < 2", True),
        ("assert 0.3 <= result.seconds < 5.0", True),
        ("assert 5 > time.perf_counter() - began", True),
        ("assert (a, now.seconds < 1.5) == (True, True)", True),
        ("assert asyncio.get_running_loop().time() - began < 1", True),
        ("assert time.monotonic() - began >= 0.5", False),
        ("assert result.seconds < 600", False),
        ("assert time.thread_time() - began < 2", False),
    ],
)
def test_a_race_with_the_clock_is_seen(line, races):
    assert bool(look_at(ast.parse(line)).races) is races


STARTS = re.compile(
    r"Local(GitHub|Model)\.start|(ServerProcess|ForkedServer|Bubblewrap|TCPSite)\(|start_server\("
)
MARKED = re.compile("mark\\.({})".format("|".join(MARKS)))


def test_what_starts_a_server_or_a_sandbox_is_left_out_of_the_quick_gear() -> None:
    """Whether by its folder, its mark or its fixture; tests/gears.py sees to it as they run."""
    missed = []
    for name, file in read_all().items():
        if not name.startswith("tests/") or of_folder(ROOT / name) or MARKED.search(file.text):
            continue
        lines = file.text.splitlines()
        for defined in file.functions:
            source = "\n".join(lines[defined.source[0] - 1 : defined.source[1]])
            is_covered = defined.name in FIXTURES or defined.parameters & FIXTURES.keys()
            if STARTS.search(source) and not is_covered:
                missed.append(f"{name}:{defined.line} {defined.name}")
    assert missed == []
