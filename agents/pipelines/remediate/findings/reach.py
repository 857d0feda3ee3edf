"""Measure how far an alert reaches: files that import the package, and that use what it names.

What code cannot tell stays `unsure`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agents.pipelines.remediate.findings.alert_group import Affected, FoundCopy, TriageResult
from agents.pipelines.remediate.ladder import Advisory
from agents.requests import ACTIONS, Severity

SHOWN = 6  # places of each alert
LONGEST = 400_000  # characters of a file that are searched
SYMBOLS = 30  # names of an advisory that are searched for

PYTHON, JAVASCRIPT = (".py", ".pyi"), (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts")
GO, RUST = (".go",), (".rs",)
SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "pip": PYTHON,
    "uv": PYTHON,
    "poetry": PYTHON,
    "npm": JAVASCRIPT,
    "go": GO,
    "rust": RUST,
}
"""Which files are searched, by GitHub's name of the ecosystem; of others, none can be."""
SKIPPED = re.compile(r"(?:^|/)(?:node_modules|vendor|\.venv|venv|dist|build|site-packages)/")

_MODULES: Mapping[str, tuple[str, ...]] = {
    "attrs": ("attr", "attrs"),
    "beautifulsoup4": ("bs4",),
    "django-rest-framework": ("rest_framework",),
    "gitpython": ("git",),
    "grpcio": ("grpc",),
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
_IN_GO = r"""(?m)^[ \t]*(?:import[ \t]+)?(?:[\w.]+[ \t]+)?["`]{name}(?:/[^"`\n]*)?["`]"""
_IN_RUST = r"(?:\bextern\s+crate\s+{name}\b|\buse\s+(?:::)?{name}\b|(?<![\w:]){name}::)"
_FORMS = {GO: _IN_GO, RUST: _IN_RUST}
_WORD = r"(?<![\w$]){name}(?![\w$])"
_ORDER: Sequence[Severity] = ("low", "medium", "high", "critical")
_NO_COPY = "No copy of the package is in a vulnerable range."
_USED = "The code imports the package and uses what the advisory names."
IMPORTED = "The code imports it; whether it uses what is vulnerable could not be told."
"""It counts as reached, since nothing says that it is not; it is not called so to people."""
_UNUSED = "The code imports the package, but nothing that the advisory names was found in it."
_THROUGH = "No import of it was found in the code; it comes in through {parents}."
_DIRECT = "The code asks for it, but no import of it was found."
_NO_IMPORT = "No import of it was found in the code."
_UNSEARCHED = "Fettle cannot search the code of this ecosystem for imports."
_RUN = "Workflows or actions of the repository run it."
_NO_CODE = "The repository has no code that could import it: no file of its language was found."


@dataclass(frozen=True)
class CodeLocation:
    """One line of the repository."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        """Return the location for people."""
        return f"{self.path}:{self.line} {self.what}"


def list_source_files(ecosystem: str, paths: Iterable[str]) -> list[str]:
    """Return the files that could import a package of this ecosystem."""
    suffixes = SUFFIXES.get(ecosystem, ())
    return sorted(path for path in paths if path.endswith(suffixes) and not SKIPPED.search(path))


def guess_modules(ecosystem: str, package: str) -> tuple[str, ...]:
    """Return what the package is imported as, as far as its name tells."""
    if SUFFIXES.get(ecosystem) is RUST:
        return (package.replace("-", "_"),)
    if SUFFIXES.get(ecosystem) is not PYTHON:
        return (package,)
    plain = re.sub(r"[-_.]+", "-", package).lower()
    guessed = [plain.replace("-", "_"), plain.removeprefix("python-").replace("-", "_")]
    if (part := plain.removeprefix("google-cloud-")) != plain:
        guessed = [f"google.cloud.{part.replace('-', by)}" for by in ("_", "", ".")]
    return _MODULES.get(plain, tuple(dict.fromkeys(guessed)))


def find_imports(path: str, text: str, names: Collection[str]) -> list[CodeLocation]:
    """Return the lines of a file that import one of these modules."""
    if len(text) > LONGEST:
        return []
    if path.endswith(PYTHON):
        return list(_python(path, text, names))
    form = next((each for suffixes, each in _FORMS.items() if path.endswith(suffixes)), _IN_SCRIPT)
    return [
        CodeLocation(path, text.count("\n", 0, match.start()) + 1, "imports it")
        for name in names
        for match in re.finditer(form.format(name=re.escape(name)), text)
    ]


def list_symbols(advisory: Advisory, names: Collection[str]) -> tuple[str, ...]:
    """Return what the advisory names that code could use: the last part of each dotted name."""
    text = f"{advisory.summary}\n{advisory.description}"[:20_000]
    own = {advisory.package.lower(), *(name.lower() for name in names)}
    quoted = [*_QUOTED.findall(text), *_CALLED.findall(text)]
    parts = (name.rstrip(".").rpartition(".")[2] for name in quoted)
    usable = (part for part in parts if part.lower() not in own and not part.isdigit())
    return tuple(dict.fromkeys(usable))[:SYMBOLS]


def find_uses(path: str, text: str, wanted: Collection[str]) -> list[CodeLocation]:
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
            case ast.ImportFrom(module=str(origin), names=listed, level=0):
                named = [origin, *(f"{origin}.{alias.name}" for alias in listed)]
            case _:
                continue
        if any(name == each or name.startswith(f"{each}.") for name in named for each in names):
            yield CodeLocation(path, part.lineno, "imports it")


@dataclass
class Reach:
    """Everything that was found in the code about one package."""

    ecosystem: str
    package: str
    searchable: bool
    imported: list[CodeLocation] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    """The files that import it."""

    def look(self, path: str, text: str) -> None:
        """Take one file into account."""
        found = find_imports(path, text, self.modules)
        if found:
            self.imported += found
            self.texts[path] = text

    @property
    def modules(self) -> tuple[str, ...]:
        """Return what the package is imported as."""
        return guess_modules(self.ecosystem, self.package)


def triage(
    advisories: Iterable[Advisory], copies: Sequence[FoundCopy], reach: Reach, *, located: bool
) -> tuple[TriageResult, ...]:
    """Return what can be told of each alert; `located`: whether the copies are known at all."""
    return tuple(_one(advisory, copies, reach, located=located) for advisory in advisories)


def _one(
    advisory: Advisory, copies: Sequence[FoundCopy], reach: Reach, *, located: bool
) -> TriageResult:
    affected, why, places = _judge_advisory(advisory, copies, reach, located=located)
    evidence = [*map(str, places[:SHOWN]), *_ways(copies)]
    return TriageResult(
        alert=advisory.alert,
        ghsa_id=advisory.ghsa_id,
        cve_id=advisory.cve_id,
        severity=advisory.severity,
        affected=affected,
        evidence=tuple(evidence),
        risk=judge_risk(advisory, affected),
        why=why,
    )


def judge_risk(advisory: Advisory, affected: Affected) -> Severity:
    """Return the severity, a step lower for each of: not surely reached, development alone."""
    if affected == "no":
        return "low"
    steps = (affected == "unsure") + (advisory.scope == "development")
    return _ORDER[max(0, _ORDER.index(advisory.severity) - steps)]


def _judge_advisory(
    advisory: Advisory, copies: Sequence[FoundCopy], reach: Reach, *, located: bool
) -> tuple[Affected, str, list[CodeLocation]]:
    if located and not any(copy.vulnerable for copy in copies):
        return "no", _NO_COPY, []
    if reach.ecosystem == ACTIONS and located:
        return "yes", _RUN, []
    if not reach.searchable:
        return "unsure", _NO_CODE if reach.ecosystem in SUFFIXES else _UNSEARCHED, []
    if not reach.imported:
        parents = ", ".join(dict.fromkeys(p[-2] for c in copies for p in c.paths if len(p) > 1))
        why = _DIRECT if any(copy.paths for copy in copies) else _NO_IMPORT
        return "unsure", _THROUGH.format(parents=parents) if parents else why, []
    wanted = list_symbols(advisory, reach.modules)
    used = [place for path, text in reach.texts.items() for place in find_uses(path, text, wanted)]
    if used:
        return "yes", _USED, [*used, *reach.imported]
    return ("unsure", _UNUSED, reach.imported) if wanted else ("yes", IMPORTED, reach.imported)


def _ways(copies: Sequence[FoundCopy]) -> list[str]:
    return [
        f"{copy.version} by {' → '.join(copy.paths[0])}"
        for copy in copies[:SHOWN]
        if copy.vulnerable and copy.paths
    ]
