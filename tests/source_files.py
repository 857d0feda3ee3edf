"""What the rules of the house look at in each Python file, read once; the trees are not kept.

Two thousand trees take 400 MB, and each later look for garbage goes through all of them.
"""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("app", "handlers", "agents")

ATTRIBUTES = frozenset(("property", "cached_property", "setter", "stage", "fixture"))
OF_THE_ENVIRONMENT = frozenset(("environ", "environb", "getenv", "getenvb"))
CLOCKED = re.compile(
    r"(?:\b(?:monotonic|perf_counter|time\.time)|loop(?:\(\))?\.time)\(|\.seconds\b"
)
SHORT = 60.0  # seconds that a machine with other things to do takes for anything

TYPE = re.compile(r"[A-Z][A-Za-z]*[a-z][A-Za-z]*")

Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class FunctionShape:
    """A function: where it is, how long without its docstring, and whether it is called by us."""

    line: int
    name: str
    length: int
    is_attribute: bool
    parameters: frozenset[str]
    source: tuple[int, int]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file: its text, and what it defines, names and imports."""

    text: str
    docstring: str | None
    functions: tuple[FunctionShape, ...]
    types: frozenset[tuple[str, str]]
    """Classes, and what else is named like one; with its text, which may be there again."""
    names: frozenset[tuple[int, str]]
    imports: tuple[tuple[str, tuple[str, ...] | None], ...]
    bound: frozenset[str]
    environment: frozenset[str]
    races: tuple[int, ...]

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    def list_imports(self) -> Iterator[str]:
        """Yield each module that an import names, and each thing that it takes from one."""
        for module, names in self.imports:
            yield module
            yield from (f"{module}.{name}" for name in names or ())


@cache
def read_all() -> dict[str, SourceFile]:
    """Return every Python file by its path, tests and scripts included."""
    folders = (*PACKAGES, "tests", "deploy")
    files = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    with pause_collector():
        return {name_of(p): read_file(p) for p in files if "node_modules" not in p.parts}


@cache
def read_product() -> dict[str, SourceFile]:
    """Return every module that ships, by its path."""
    return {path: file for path, file in read_all().items() if path.split("/")[0] in PACKAGES}


def parse_product() -> Iterator[tuple[str, ast.Module]]:
    """Yield every module that ships with its tree, for rules that need more than a SourceFile."""
    with pause_collector():
        for path, file in read_product().items():
            yield path, ast.parse(file.text)


@contextmanager
def pause_collector():
    """Have no garbage looked for while trees are built: they are let go of one by one."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def read_file(path: Path) -> SourceFile:
    text = path.read_text("utf-8")
    return look_at(ast.parse(text), text)


def look_at(module: ast.Module, text: str = "") -> SourceFile:
    """Return what the rules look at in a module."""
    parts = [*ast.walk(module)]
    defined = [part for part in parts if isinstance(part, Definition)]
    used = [each for each in parts if isinstance(each, ast.Attribute)]
    return SourceFile(
        text,
        ast.get_docstring(module),
        tuple(map(look_at_function, defined)),
        frozenset(list_types(module, parts)),
        frozenset(list_names(parts)),
        tuple(list_imports(parts)),
        frozenset(list_bound(module)),
        frozenset(ast.unparse(each) for each in used if each.attr in OF_THE_ENVIRONMENT),
        tuple(list_races(parts)),
    )


def list_types(module: ast.Module, parts: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield the names of classes, and those of other types that the module gives a name."""
    yield from ((part.name, "") for part in parts if isinstance(part, ast.ClassDef))
    for part in module.body:
        match part:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if TYPE.fullmatch(name):
                yield name, ast.unparse(value)


def look_at_function(function: Definition) -> FunctionShape:
    """Return its shape; its length is that without its docstring."""
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is not None:
        text = function.body[0]
        lines -= text.end_lineno - text.lineno + 1
    parameters = frozenset(each.arg for each in function.args.args)
    source = (function.lineno, function.end_lineno)
    return FunctionShape(
        function.lineno, function.name, lines, is_attribute(function), parameters, source
    )


def is_attribute(function: Definition) -> bool:
    """Tell whether it is read, not called, or not called by us: pytest and the engine name it."""
    names = {ast.unparse(each).split("(")[0].split(".")[-1] for each in function.decorator_list}
    return bool(names & ATTRIBUTES) or function.name.startswith("__")


def list_names(parts: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield every name that a module gives, with its line; names of others that it uses are not."""
    for part in parts:
        match part:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield part.lineno, name
            case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
                yield part.lineno, name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                yield part.lineno, name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield part.lineno, name
            case ast.alias(asname=str(name)):
                yield part.lineno, name


def list_imports(parts: list[ast.AST]) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """Yield each imported module, with what is taken from it; None where it is taken itself."""
    for part in parts:
        if isinstance(part, ast.Import):
            yield from ((alias.name, None) for alias in part.names)
        elif isinstance(part, ast.ImportFrom) and part.module:
            yield part.module, tuple(alias.name for alias in part.names)


def list_bound(module: ast.Module) -> Iterator[str]:
    """Yield the names that a package gives itself: each wins over a submodule of that name."""
    for part in module.body:
        match part:
            case ast.ImportFrom(names=names):
                yield from (each.asname or each.name for each in names)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


def list_races(parts: list[ast.AST]) -> Iterator[int]:
    """Yield lines that want something done in fewer seconds than a busy machine takes for it."""
    for part in parts:
        if not isinstance(part, ast.Assert):
            continue
        for each in (each for each in ast.walk(part.test) if isinstance(each, ast.Compare)):
            sides = [each.left, *each.comparators]
            for left, way, right in zip(sides, each.ops, sides[1:], strict=False):
                less, more = (left, right) if isinstance(way, ast.Lt | ast.LtE) else (right, left)
                bound = isinstance(more, ast.Constant) and isinstance(more.value, int | float)
                is_race = bound and more.value < SHORT and CLOCKED.search(ast.unparse(less))
                if is_race and isinstance(way, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
                    yield part.lineno
