"""Measure a package's reach: files that import it, and files that use what its alerts name."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from agents.pipelines.remediate.ladder import Advisory

SHOWN = 6  # places of each alert
LONGEST = 400_000  # characters of a file that are searched
SYMBOLS = 30  # names of an advisory that are searched for

PYTHON, JAVASCRIPT = (".py", ".pyi"), (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts")
SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "pip": PYTHON,
    "uv": PYTHON,
    "poetry": PYTHON,
    "npm": JAVASCRIPT,
}
"""Which files are searched, by GitHub's name of the ecosystem; of others, none can be."""
SKIPPED = re.compile(r"(?:^|/)(?:node_modules|vendor|\.venv|venv|dist|build|site-packages)/")

_MODULES: Mapping[str, tuple[str, ...]] = {
    "attrs": ("attr", "attrs"),
    "beautifulsoup4": ("bs4",),
    "django-rest-framework": ("rest_framework",),
    "djangorestframework": ("rest_framework",),
    "opencv-python": ("cv2",),
    "pillow": ("PIL",),
    "protobuf": ("google.protobuf",),
    "pycryptodome": ("Crypto",),
    "pyjwt": ("jwt",),
    "pyopenssl": ("OpenSSL",),
    "python-dateutil": ("dateutil",),
    "python-jose": ("jose",),
    "python-multipart": ("multipart", "python_multipart"),
    "pyyaml": ("yaml",),
    "scikit-learn": ("sklearn",),
}
"""What packages are imported as, where that is not their name."""

_QUOTED = re.compile(r"`([A-Za-z_$][\w$.]{2,60})(?:\(\))?`")
_CALLED = re.compile(r"\b([A-Za-z_]\w{2,60}(?:\.\w+)*)\(\)")
_IN_SCRIPT = r"""(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)["']{name}(?:/[^"']*)?["']"""
_WORD = r"(?<![\w$]){name}(?![\w$])"


@dataclass(frozen=True)
class CodeLocation:
    """One line of the repository."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        """Return it for people."""
        return f"{self.path}:{self.line} {self.what}"


def list_source_files(ecosystem: str, paths: Iterable[str]) -> list[str]:
    """Return the files that could import a package of this ecosystem."""
    suffixes = SUFFIXES.get(ecosystem, ())
    return sorted(path for path in paths if path.endswith(suffixes) and not SKIPPED.search(path))


def modules(ecosystem: str, package: str) -> tuple[str, ...]:
    """Return what the package is imported as, as far as its name tells."""
    if SUFFIXES.get(ecosystem) is not PYTHON:
        return (package,)
    plain = re.sub(r"[-_.]+", "-", package).lower()
    guessed = (plain.replace("-", "_"), plain.removeprefix("python-").replace("-", "_"))
    return _MODULES.get(plain, tuple(dict.fromkeys(guessed)))


def imports(path: str, text: str, names: Collection[str]) -> list[CodeLocation]:
    """Return the lines of a file that import one of these modules."""
    if len(text) > LONGEST:
        return []
    if path.endswith(PYTHON):
        return list(_python(path, text, names))
    found = re.compile("|".join(_IN_SCRIPT.format(name=re.escape(name)) for name in names))
    return [
        CodeLocation(path, text.count("\n", 0, match.start()) + 1, "imports it")
        for match in found.finditer(text)
    ]


def symbols(advisory: Advisory, names: Collection[str]) -> tuple[str, ...]:
    """Return what the advisory names that code could use: the last part of each dotted name."""
    text = f"{advisory.summary}\n{advisory.description}"[:20_000]
    own = {advisory.package.lower(), *(name.lower() for name in names)}
    quoted = [*_QUOTED.findall(text), *_CALLED.findall(text)]
    parts = (name.rstrip(".").rpartition(".")[2] for name in quoted)
    usable = (part for part in parts if part.lower() not in own and not part.isdigit())
    return tuple(dict.fromkeys(usable))[:SYMBOLS]


def uses(path: str, text: str, wanted: Collection[str]) -> list[CodeLocation]:
    """Return the lines of a file where one of these names stands, the first of each name."""
    found = []
    for name in wanted:
        match = re.search(_WORD.format(name=re.escape(name)), text[:LONGEST])
        if match:
            line = text.count("\n", 0, match.start()) + 1
            found.append(CodeLocation(path, line, f"has `{name}`"))
    return found


def _python(path: str, text: str, names: Collection[str]) -> Iterator[CodeLocation]:
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for part in ast.walk(module):
        match part:
            case ast.Import(names=listed):
                named = [alias.name for alias in listed]
            case ast.ImportFrom(module=str(origin), level=0):
                named = [origin]
            case _:
                continue
        if any(name == each or name.startswith(f"{each}.") for name in named for each in names):
            yield CodeLocation(path, part.lineno, "imports it")
