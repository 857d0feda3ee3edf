"""What the tests of a Python project need, by the settings of each tool that knows it.

A requirement is a text as pip takes it. What names a place outside of the package indexes, an
option or a variable is left out.
"""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterable, Iterator

from agents.analysis.repository_files import LONGEST, RepositoryFiles, strings, table

FOR_TESTS = ("test", "tests", "testing", "dev", "develop", "development", "all")
_POETRY_GROUPS = (*FOR_TESTS, "lint", "typing", "types", "ci")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[\w\s,.-]*\])?\s*(?:[~<>=!][^;@{}\\]*)?(?:;[^{}@]*)?"
)
_FILE = re.compile(r"(?:-r|--requirement)[\s=]*(?:\{toxinidir\}/)?([\w][\w./-]*)")
_PART = re.compile(r"(\^|~(?!=)|[<>=!~]=?|===)?\s*(\d[\w.*+!-]*)")


def list_needs(files: RepositoryFiles, project: dict[str, object]) -> Iterator[list[str]]:
    """Yield requirements for tests, one list for each tool that names some."""
    groups = table(project, "dependency-groups")
    yield [w for name in FOR_TESTS for w in _list_group(groups, name, set())]
    tools = table(project, "tool")
    yield _list_poetry(table(tools, "poetry"))
    yield strings(table(tools, "uv").get("dev-dependencies"))
    old = table(tools, "pdm", "dev-dependencies")
    yield _keep([each for name in old for each in strings(old[name])])
    yield _list_hatch(table(tools, "hatch", "envs"))
    pipfile = files.toml("Pipfile")
    yield [
        *_translate(table(pipfile, "packages")),
        *_translate(table(pipfile, "dev-packages")),
    ]
    config = _read_ini(files, "setup.cfg")
    yield _keep(_list_lines(config.get("options", "tests_require", fallback="")))
    yield _keep(_list_setup_py(files.texts.get("setup.py", "")))
    yield _list_tox(files, table(tools, "tox"))
    yield _list_nox(files.texts.get("noxfile.py", ""))


def find_extras(files: RepositoryFiles, project: dict[str, object]) -> list[str]:
    """Return the extras of the project that are for tests."""
    declared = {*table(project, "project", "optional-dependencies")}
    declared |= {*table(project, "tool", "poetry", "extras")}
    config = _read_ini(files, "setup.cfg")
    if config.has_section("options.extras_require"):
        declared |= {*config.options("options.extras_require")}
    return [name for name in FOR_TESTS if name in declared]


def name_project(files: RepositoryFiles, project: dict[str, object]) -> str:
    """Return the name under which the project is installed; empty where only building tells."""
    named = table(project, "project").get("name") or table(project, "tool", "poetry").get("name")
    name = named or _read_ini(files, "setup.cfg").get("metadata", "name", fallback="")
    return name if isinstance(name, str) and _NAME.fullmatch(name) else ""


def list_own_needs(files: RepositoryFiles, project: dict[str, object]) -> list[str]:
    """Return what the project itself needs, with its extras for tests, so far as it is written."""
    wanted = strings(table(project, "project").get("dependencies"))
    for extra in find_extras(files, project):
        wanted += strings(table(project, "project", "optional-dependencies").get(extra))
    wanted += _translate(table(project, "tool", "poetry", "dependencies"))
    config = _read_ini(files, "setup.cfg")
    return wanted + _keep(_list_lines(config.get("options", "install_requires", fallback="")))


def declares_project(files: RepositoryFiles) -> bool:
    """Return whether the files say what project it is, and not only how tools are set."""
    config = _read_ini(files, "setup.cfg")
    document = files.toml("pyproject.toml")
    return (
        config.has_section("metadata")
        or config.has_section("options")
        or "build-system" in document
        or bool(files.paths & {"setup.py", "Pipfile"})
        or bool(table(document, "tool", "poetry").get("name"))
        or (bool(files.folder) and bool(document.keys() & {"project", "dependency-groups"}))
    )


def name_package(files: RepositoryFiles) -> str:
    """Return the name of one package that the project depends on, or nothing."""
    project = files.toml("pyproject.toml")
    wanted = [
        *strings(table(project, "project").get("dependencies")),
        *(name for name in table(project, "tool", "poetry", "dependencies") if name != "python"),
        *strings(table(project, "build-system").get("requires")),
    ]
    names = (_NAME.match(each) for each in wanted)
    return next((name[0] for name in names if name), "")


def _keep(wanted: Iterable[str]) -> list[str]:
    """Return those that name a package of an index, and nothing else."""
    plain = (each.split(" #")[0].strip() for each in wanted)
    return [each for each in plain if len(each) <= 300 and _REQUIREMENT.fullmatch(each)]


def _list_group(groups: dict[str, object], name: str, seen: set[str]) -> Iterator[str]:
    """Yield what a dependency group asks for, with the groups that it includes."""
    items = groups.get(name)
    if name in seen or not isinstance(items, list):
        return
    seen.add(name)
    for item in items:
        if isinstance(item, str):
            yield item
        elif isinstance(included := table(item).get("include-group"), str):
            yield from _list_group(groups, included, seen)


# --- versions as Poetry and Pipenv write them -----------------------------------------------------


def _list_poetry(poetry: dict[str, object]) -> list[str]:
    """Return what Poetry's groups for development name; pip reads those of `project` itself."""
    wanted = [*_translate(table(poetry, "dev-dependencies"))]
    for name in _POETRY_GROUPS:
        wanted += _translate(table(poetry, "group", name, "dependencies"))
    return wanted


def _translate(packages: dict[str, object]) -> Iterator[str]:
    """Yield packages with versions as pip writes them."""
    for name, wanted in packages.items():
        if not _NAME.fullmatch(name) or name == "python":
            continue
        version = wanted if isinstance(wanted, str) else table(wanted).get("version", "")
        if table(wanted).keys() & {"git", "path", "url", "file", "ref"}:
            continue
        if isinstance(wanted, list) or not isinstance(version, str):
            version = ""
        extras = [each for each in strings(table(wanted).get("extras")) if _NAME.fullmatch(each)]
        marked = f"[{','.join(extras)}]" if extras else ""
        yield f"{name}{marked}{to_specifier(version)}"


def to_specifier(version: str) -> str:
    """Return a constraint like `^1.2` as pip writes it; of one that is not plain, nothing."""
    made: list[str] = []
    for part in version.split("||", maxsplit=1)[0].split(","):
        found = _PART.fullmatch(part.strip())
        if found is None:
            return ""
        sign, number = found[1] or "==", found[2]
        if sign in ("^", "~"):
            made += [f">={number}", f"<{_next_after(number, caret=sign == '^')}"]
        else:
            made.append(f"{'==' if sign == '=' else sign}{number}")
    return ",".join(made)


def _next_after(number: str, *, caret: bool) -> str:
    """Return the first version that is too new: Poetry's docs, "Dependency specification"."""
    parts = [int(each) for each in re.findall(r"\d{1,9}", number)[:3]]
    first = next((at for at, each in enumerate(parts) if each), len(parts) - 1)
    at = first if caret else min(1, len(parts) - 1)
    return ".".join(str(each) for each in [*parts[:at], parts[at] + 1])


# --- settings of tools that run tests -------------------------------------------------------------


def _list_hatch(environments: dict[str, object]) -> list[str]:
    named = (table(environments, name) for name in ("default", "hatch-test", *FOR_TESTS))
    keys = ("dependencies", "extra-dependencies")
    return _keep([each for found in named for key in keys for each in strings(found.get(key))])


def _list_tox(files: RepositoryFiles, tox: dict[str, object]) -> list[str]:
    """Return what tox installs for its ordinary environments."""
    old = tox.get("legacy_tox_ini")
    config = _parse_ini(old if isinstance(old, str) else files.texts.get("tox.ini", ""))
    lines = _list_lines(config.get("testenv", "deps", fallback=""))
    lines += strings(table(tox, "env_run_base").get("deps"))
    # `py311: mock` is for some environments alone; to have it in all of them breaks none.
    plain = [re.sub(r"^[\w,{}.!-]{1,80}:\s+", "", line) for line in lines]
    return _keep(plain)


def list_requirement_files(files: RepositoryFiles) -> list[str]:
    """Return the files of requirements that tox and nox name, of those that are there."""
    config = _parse_ini(files.texts.get("tox.ini", ""))
    lines = _list_lines(config.get("testenv", "deps", fallback=""))
    lines += [f"-r {path}" for path in _list_session_words(files.texts.get("noxfile.py", ""))]
    found = (_FILE.fullmatch(line) for line in lines)
    return [each[1] for each in found if each and each[1] in files.paths]


def _list_nox(source: str) -> list[str]:
    return _keep(_list_session_words(source))


def _list_session_words(source: str) -> list[str]:
    """Return the texts that sessions of nox install."""
    return [
        word.value
        for call in _list_calls(source)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "install"
        for word in call.args
        if isinstance(word, ast.Constant) and isinstance(word.value, str)
    ]


def _list_setup_py(source: str) -> list[str]:
    """Return `tests_require` where `setup.py` writes it out."""
    return [
        word.value
        for call in _list_calls(source)
        for keyword in call.keywords
        if keyword.arg == "tests_require" and isinstance(keyword.value, ast.List | ast.Tuple)
        for word in keyword.value.elts
        if isinstance(word, ast.Constant) and isinstance(word.value, str)
    ]


def _list_calls(source: str) -> list[ast.Call]:
    """Return the calls in a Python file; of one that is no Python, or too long, none."""
    if not source or len(source) > LONGEST:
        return []
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [part for part in ast.walk(module) if isinstance(part, ast.Call)]


def _list_lines(text: str) -> list[str]:
    return [line for line in re.split(r"[\n]", text) if line.strip()]


def _read_ini(files: RepositoryFiles, path: str) -> configparser.ConfigParser:
    return _parse_ini(files.texts.get(path, ""))


def _parse_ini(text: str) -> configparser.ConfigParser:
    """Return what the file says; nothing where it is broken."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text if len(text) <= LONGEST else "")
    except configparser.Error:
        return configparser.ConfigParser()
    return parser
