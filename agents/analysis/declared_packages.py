"""The packages that a manifest names anew, of tools whose names `known_packages` does not know.

Data is read as its tool reads it, and says which packages it names and where they come from.
Manifests that are programs are read line by line: lines that cannot name a package are left out,
and each new name in the others counts, since nobody knows what a program does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from agents.analysis.python_packages import read_json
from agents.analysis.repository_files import table
from agents.analysis.test_runners.xml_walk import UnreadableReport
from agents.analysis.xml_manifests import list_new_artifacts, read_msbuild
from agents.text.toml import toml_in

LONGEST = 300_000  # characters of a manifest that is read as what it is
LONGEST_LINE = 400  # characters of a line that is read as more than words

_WORD = re.compile(r"[A-Za-z@][\w.@/-]+")
_NAME = re.compile(r"[\"']([^\"'\s]++)[\"']|(?<![\w:]):([a-z_]\w*+)")
"""A text or a symbol of a program, which is how packages are named there."""
_VERSIONED = re.compile(
    r"(?<!\w)(?!(?:version|elixir|vsn)\s*:)(\w++):\s*+[\"']\s*+(?:[~><=^]|\d+(?:\.\d+)*+[\"'])"
)
"""A key with a release as its value: a package, in lists of pairs."""
_COMMENT = re.compile(r"\s*(?:#|//)")

_CARGO_KINDS = re.compile(r"(?:(?:dev|build)[-_])?dependencies")
_CARGO_COMMITS = ("branch", "tag", "rev")
_CARGO_SOURCES = ("git", "registry", "registry-index", "base")
_POMS = frozenset(("pom.xml", "extensions.xml"))
_MSBUILD = re.compile(r".+\.(?:cs|fs|vb)proj|Directory\.(?:Build|Packages)\.(?:props|targets)")

_QUOTED = re.compile(r"\"[^\"]*+\"|'[^']*+'")
_HELD = re.compile(r"\$\{?([A-Za-z_][\w.]{0,80})")
"""A name whose value stands in a text."""
_ASSIGNED = re.compile(r"\s*(?:(?:const|private|def|val|var|ext\.|String)\s*)*(\w+)\s*=\s*[\"']")
_BLOCK = re.compile(
    r"\bplugins\s*\{|\b(?:dependencies|repositories|buildscript|pluginManagement|constraints"
    r"|dependencyManagement|dependencyResolutionManagement|versionCatalogs|sourceControl)\b[^{}]*\{"
)
_DECLARES = re.compile(
    r"^\s*(?:apply|classpath|id|alias|includeBuild|implementation|api|kapt|ksp|annotationProcessor)\b"
    r"|\w(?:Implementation|Api|Only|Processor)\b|[dD]ependenc|[rR]epositor|(?i:plugin)"
)
_ACCESSORS = (
    *("libs.", "projects.", "sourceSets.", "configurations.", "project.configurations.", "tasks."),
    "project.sourceSets.",
)
"""Names of what a catalog declares, or of the build's own parts."""
_OWN_PARTS = re.compile(r"\b(?:val|def)\s+(\w+)\s*(?:by|=)\s*(?:configurations|sourceSets|tasks)\b")
_WORDS = frozenset(
    (
        *("apply", "false", "true", "it", "this", "isTransitive", "isChanging"),
        *("output", "runtimeClasspath", "compileClasspath"),
    )
)
"""What builds say of dependencies and of their own parts, and no package is called."""
_PROJECTS = re.compile(
    r"(?m)^\s*include\b\s*+(?:\((?:[\s,]|\"[^\"\n]*+\"|'[^'\n]*+')*+\)"
    r"|(?:[\t ]|,\s*+|\"[^\"\n]*+\"|'[^'\n]*+')++$)"
)
"""The projects of a build, which lie in its folder."""
_PLUGIN = re.compile(r"\s*(?:id\b|apply\b.*\bplugin\b|(?:\w+\.)*(?:pluginManager|plugins)\.\w+\b)")
_SHORT = re.compile(r"[\w-]+")
"""The id of a plugin of Gradle's own, or of the build's: others have a namespace.

https://docs.gradle.org/current/userguide/plugin_basics.html"""
_OF_CATALOG = re.compile(r"\$\{libs\.[\w.()]+\}")
_EXCLUDES = re.compile(r"\s*(?:exclude|import)\b")
_OPENS = re.compile(r"\s*(?:[\w.]+\s*\{)?[{}()\[\],\s]*")
_GRADLE_NAME = re.compile(r"[\w.${}-]+:[\w.${}-]+(?::[\w.${}+@-]*)*")

_TEXT = r"(?:\"(?:[^\"#\\]|\#(?!\{))*+\"|'[^'\\]*+')"
_LITERAL = rf"(?>{_TEXT}|-?\d[\d_.]*+|:\w++|true\b|false\b|nil\b)"
_PAIR = rf"\w++:(?>\s*+(?>\w++:(?!:)|{_LITERAL}|[\[\],]))*+"
_HARMLESS = {
    "mix.exs": re.compile(
        rf"""\s*+(?>\#.*|end|[\[\],\s]+|def(?:p|module)?\s+[\w.]+(?:\(\))?\s+do|use\s+Mix\.Project
        |{_PAIR}|@\w+\s+{_TEXT})?\s*+""",
        re.VERBOSE,
    ),
    "Gemfile": re.compile(
        rf"\s*+(?>\#.*|end|ruby\s+{_TEXT}|group\b(?:\s*,?\s*:\w+)+\s+do)?\s*+", re.VERBOSE
    ),
    ".gemspec": re.compile(
        rf"""\s*+(?>\#.*|end|\w+\.(?:name|version|summary|description|authors?|email|homepage
        |licen[sc]es?|metadata(?:\[{_TEXT}\])?|required_ruby_version|executables|bindir|require_paths?)
        \s*=\s*(?:{_TEXT}|\[(?>{_TEXT}|[,\s])*+\]|\{{)
        |["'](?:\w+_uri|allowed_push_host|rubygems_mfa_required)["']\s*=>\s*{_TEXT},?|\}})?\s*+""",
        re.VERBOSE,
    ),
}
_ELSEWHERE = re.compile(
    r"\b(?:git|github|gitlab|bitbucket|gist|path|url|repo|organization|hex|override|\w*deps\w*)\s*:"
)


def list_new_packages(path: str, before: Sequence[str], after: str) -> list[str]:
    """Return what the manifest names and none of those before it did.

    `before`: the texts of this manifest and others of its name, before the change. What is a
    program, or cannot be read, is asked about word by word.
    """
    name = path.rpartition("/")[2]
    if name in _POMS or _find_reader(name):
        try:
            if name in _POMS:
                return list_new_artifacts(list(map(_shorten, before)), _shorten(after))
            known = {each for text in before for each in _read(name, text)}
            return [each for each in _read(name, after) if each not in known]
        except (ValueError, UnreadableReport):
            pass
    kind = ".gemspec" if name.endswith(".gemspec") else name
    list_names = _list_names if kind in _HARMLESS else _WORD.findall
    known_lines = [line for text in before for line in text.splitlines()]
    code = [line for line in known_lines if not _COMMENT.match(line)]
    there = {word for line in code for word in (*_WORD.findall(line), *list_names(line))}
    lines = {line.strip() for line in known_lines}
    found = (
        word
        for line in after.splitlines()
        if line.strip() not in lines and not _is_harmless(kind, line)
        for word in list_names(line)
        if word not in there
    )
    return list(dict.fromkeys(found))


def _list_names(line: str) -> list[str]:
    """Return what may name a package in a line of a program: each word, where nothing is quoted."""
    quoted = [text or symbol for text, symbol in _NAME.findall(line)]
    named = [each for each in quoted if any(map(str.isalpha, each))]  # and no version
    return [*named, *_VERSIONED.findall(line)] or _WORD.findall(line)


def _is_harmless(kind: str, line: str) -> bool:
    """Return whether no package comes in by that line, whatever stands around it."""
    pattern = _HARMLESS.get(kind)
    if pattern is None or len(line) >= LONGEST_LINE:
        return False
    names_some = _ELSEWHERE.search(line) or _VERSIONED.search(line)
    return pattern.fullmatch(line) is not None and not names_some


def _read(name: str, text: str) -> list[str]:
    """Return what a manifest names. Raises ValueError, UnreadableReport."""
    read = _find_reader(name)
    return list(dict.fromkeys(read(_shorten(text)))) if read and text.strip() else []


def _find_reader(name: str) -> Callable[[str], Iterable[str]] | None:
    return _READERS.get(name) or (read_msbuild if _MSBUILD.fullmatch(name) else None)


def _shorten(text: str) -> str:
    """Return the text of a manifest. Raises ValueError where it is too long to be read."""
    if len(text) > LONGEST:
        raise ValueError("it is too long")
    return text


# --- Cargo ----------------------------------------------------------------------------------------
# https://doc.rust-lang.org/cargo/reference/manifest.html


def _read_cargo(text: str) -> Iterator[str]:
    document = toml_in(text)
    for kinds in (document, table(document, "workspace"), *table(document, "target").values()):
        for kind, named in table(kinds).items():
            if _CARGO_KINDS.fullmatch(kind):
                yield from _list_crates(table(named))
    yield from _list_crates(table(document, "replace"))
    for named in table(document, "patch").values():
        yield from _list_crates(table(named))


def _list_crates(named: Mapping[str, object]) -> Iterator[str]:
    for key, value in named.items():
        wanted = table(value)
        name = str(wanted.get("package", key))
        found = [str(wanted[source]) for source in _CARGO_SOURCES if source in wanted]
        found += [f"{key} {wanted[key]}" for key in _CARGO_COMMITS if found and key in wanted]
        if found or "path" not in wanted:  # what lies in the repository comes from nowhere
            yield f"{name} from {' '.join(found)}" if found else name


# --- Composer -------------------------------------------------------------------------------------
# https://getcomposer.org/doc/04-schema.md


def _read_composer(text: str) -> Iterator[str]:
    document = read_json(text)
    if not document:
        raise ValueError("it is no object")
    for kind in ("require", "require-dev"):  # without a slash: PHP, extensions of it, and Composer
        yield from (name for name in table(document, kind) if "/" in name)
    places: Any = document.get("repositories")
    if isinstance(places, dict):
        places = [*places.values()]
    for each in places if isinstance(places, list) else ():
        yield json.dumps(each, sort_keys=True)
    yield from _list_patches(table(document, "extra"))


def _list_patches(extra: Mapping[str, object]) -> Iterator[str]:
    """Yield what plugins that are widely used change packages by, or take more of them from.

    https://docs.cweagans.net/composer-patches, https://github.com/wikimedia/composer-merge-plugin
    """
    for patched in table(extra, "patches").values():
        listed = patched if isinstance(patched, list) else table(patched).values()
        places = (table(each).get("url", each) for each in listed)
        yield from (f"patch {place}" for place in places if "://" in str(place))
    for kind in ("include", "require"):
        named = table(extra, "merge-plugin").get(kind)
        for place in named if isinstance(named, list) else filter(None, [named]):
            yield f"packages of {place}"


# --- Gradle ---------------------------------------------------------------------------------------
# https://docs.gradle.org/current/userguide/declaring_dependencies.html


def _read_gradle(text: str) -> Iterator[str]:
    """Yield what lines name that can declare a package, a plugin, or a place that they are from.

    A build is a program: within the blocks for these each line counts, elsewhere what looks so, and
    what a name holds that stands in another text.
    """
    held = {name for found in _HELD.findall(text) for name in found.split(".")}
    parts = {*_OWN_PARTS.findall(text), *_WORDS}
    depth, inside = 0, 0
    for line in _PROJECTS.sub("", text).splitlines():
        if _COMMENT.match(line) or _EXCLUDES.match(line):
            continue
        bare = _QUOTED.sub('""', line[:LONGEST_LINE])
        opens = _BLOCK.search(bare)
        if inside or opens or _DECLARES.search(bare) or len(line) > LONGEST_LINE:
            yield from (each for each in _list_declared(line, bare) if each not in parts)
        else:
            assigned = _ASSIGNED.match(line)
            for each in map(_unquote, _QUOTED.findall(line)):
                if _looks_declared(each) or (assigned and assigned[1] in held):
                    yield from _plain_names(each)
        inside = inside or (depth + 1 if opens else 0)
        depth += bare.count("{") - bare.count("}")
        inside = inside if depth >= inside else 0


def _list_declared(line: str, bare: str) -> Iterator[str]:
    """Yield the texts of a line; where there are none, its words but the first."""
    quoted = _QUOTED.findall(line)
    of_plugin = _PLUGIN.match(bare)
    for each in map(_unquote, quoted):
        yield from () if of_plugin and _SHORT.fullmatch(each) else _plain_names(each)
    words = _WORD.findall(bare)
    if not quoted and not _OPENS.fullmatch(bare):
        named = words[1:] or (words if "(" in bare else [])
        yield from (each for each in named if not each.startswith(_ACCESSORS))


def _plain_names(text: str) -> Iterator[str]:
    """Yield the name of a package without its release; nothing for a project or a release."""
    if text.startswith((":", "-")) or not any(map(str.isalpha, text)) or text[:1].isdigit():
        return
    if _OF_CATALOG.fullmatch(text):
        return
    yield text if "://" in text else ":".join(text.split(":")[:2])


def _looks_declared(text: str) -> bool:
    return bool(_GRADLE_NAME.fullmatch(text)) or "://" in text or text.endswith((".jar", ".aar"))


def _unquote(text: str) -> str:
    return text.strip("\"'")


def _read_catalog(text: str) -> Iterator[str]:
    """Yield the packages and plugins of a catalog.

    https://docs.gradle.org/current/userguide/version_catalogs.html
    """
    document = toml_in(text)
    for each in table(document, "libraries").values():
        wanted = table(each)
        parts = f"{wanted.get('group', '')}:{wanted.get('name', '')}"
        yield from _plain_names(each if isinstance(each, str) else str(wanted.get("module", parts)))
    for each in table(document, "plugins").values():
        yield each.split(":")[0] if isinstance(each, str) else str(table(each).get("id", ""))


_READERS: Mapping[str, Callable[[str], Iterable[str]]] = {
    "Cargo.toml": _read_cargo,
    "composer.json": _read_composer,
    "libs.versions.toml": _read_catalog,
    **dict.fromkeys(
        ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"), _read_gradle
    ),
}
