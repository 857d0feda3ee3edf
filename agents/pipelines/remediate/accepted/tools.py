"""Which commands show that a dependency file holds, by the file's name; and what people do by hand.

For files that no part of the ladder reads. https://docs.npmjs.com/cli/commands/npm-ci and its like
say of each command that it fails where the lock file does not fit.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Literal

from agents.pipelines.remediate.accepted.exit_codes import Program

_OTHERWISE = frozenset(
    {
        *("--dry-run", "--help", "-h", "--version", "--prefix", "-C", "--cwd", "--dir"),
        *("--directory", "--project", "--manifest-path", "--working-dir", "--gemfile", "--root"),
        *("--file", "--global", "-g", "--workspace", "-w", "--workspaces", "--filter"),
        *("--lockfile-only", "--package-lock-only", "--no-install", "--no-frozen-lockfile"),
        *("--no-immutable", "--no-lockfile", "--no-lock-file", "--no-deps", "--omit", "--only"),
        *("--production", "--prod", "--no-dev", "--without", "-f", "-p", "-pl", "--projects"),
        *("-N", "--non-recursive", "--project-dir", "-b", "--build-file"),
    }
)
"""Options with which a command works elsewhere, on a part of the file alone, or not at all."""
_OFF = ("=false", "=0", "=no", "=off")


@dataclass(frozen=True)
class CommandForm:
    """A command that fails where a file is wrong."""

    begins: tuple[str, ...]
    """What it begins with, its options left out; any of these."""
    needs: frozenset[str] = frozenset()
    """Options, or variables with a value: one has to be there."""
    may: frozenset[str] = frozenset()
    """Options that do no harm here."""
    never: frozenset[str] = frozenset()
    """Options with which it shows nothing."""
    alone: bool = False
    """Whether naming anything more makes it look at a part alone."""
    names: Literal["", "file", "folder"] = ""
    """Whether it has to name the file, or its folder with or without extras."""

    def fits(self, program: Program, path: str) -> bool:
        """Return whether the program is one of this form, for that file."""
        words = (posixpath.basename(program.words[0]), *program.words[1:])
        plain = [word for word in words if word[:1] != "-"]
        options = [word for word in words if word[:1] == "-"]
        on = {word.partition("=")[0] for word in options if not word.endswith(_OFF)}
        on |= {*options, *(f"{name}={value}" for name, value in program.settings.items())}
        begun = [each for each in map(str.split, self.begins) if plain[: len(each)] == each]
        return (
            bool(begun)
            and not (self.alone and len(plain) > max(map(len, begun)))
            and (not self.needs or not self.needs.isdisjoint(on))
            and ((_OTHERWISE | self.never) - self.may).isdisjoint(on)
            and "--mode=update-lockfile" not in on
            and (not self.names or _is_named(program, self._place(path)))
        )

    def _place(self, path: str) -> str:
        return path if self.names == "file" else posixpath.dirname(path) or "."


@dataclass(frozen=True)
class ProvingTool:
    """What reads or writes a kind of files."""

    ecosystem: str
    """GitHub's name of it."""
    forms: tuple[CommandForm, ...]
    recipe: str
    """How a person moves one package in it."""
    within: bool = False
    """Whether a command in a folder above accepts it as well."""


def _form(
    *begins: str,
    needs: str = "",
    may: str = "",
    never: str = "",
    alone: bool = False,
    names: Literal["", "file", "folder"] = "",
) -> CommandForm:
    one, harmless, useless = (frozenset(each.split()) for each in (needs, may, never))
    return CommandForm(begins, one, harmless, useless, alone=alone, names=names)


_NPM = _form("npm ci", "npm clean-install", "npm install-clean", "npm ic")
_YARN = _form("yarn", "yarn install", needs="--frozen-lockfile --immutable", alone=True)
_PNPM = _form("pnpm install", "pnpm i", needs="--frozen-lockfile")
_BUN = (_form("bun install", "bun i", needs="--frozen-lockfile"), _form("bun ci"))
_GO = _form("go mod download", alone=True)
_BUNDLE = _form(
    "bundle install",
    needs="--frozen --deployment BUNDLE_FROZEN=true BUNDLE_FROZEN=1 BUNDLE_DEPLOYMENT=true"
    " BUNDLE_DEPLOYMENT=1",
)
_GRADLE = _form(
    *(
        f"{program} {task}"
        for program in ("gradle", "gradlew")
        for task in ("build", "assemble", "check", "test", "classes", "testClasses", "compileJava")
    ),
    never="-m",
)
_PIP = tuple(
    f"{start} install" for start in ("pip", "pip3", "uv pip", "python pip", "python3 pip")
)  # the `-m` of the last ones is an option
_OF_BUNDLER = "`bundle update --conservative {package}`"
_OF_NPM = "`npm update {package}` (`npm install {package}{at}` where a `package.json` pins it)"
_OF_BUN = "`bun update {package}` (`bun add {package}{at}` where a `package.json` pins it)"
_OF_GRADLE = "`gradle dependencies --update-locks '*:*'` after setting the version of {package}"

LOCKS = {
    "yarn.lock": ProvingTool(
        "npm",
        (_YARN,),
        "`yarn up -R {package}` (with yarn 1 `yarn upgrade {package}`; where a `package.json` pins"
        " it `yarn up {package}{at}` or `yarn upgrade {package}{at}`)",
    ),
    "bun.lock": ProvingTool("npm", _BUN, _OF_BUN),
    "bun.lockb": ProvingTool("npm", _BUN, _OF_BUN),
    "package-lock.json": ProvingTool("npm", (_NPM,), _OF_NPM),
    "npm-shrinkwrap.json": ProvingTool("npm", (_NPM,), _OF_NPM),
    "pnpm-lock.yaml": ProvingTool(
        "npm",
        (_PNPM,),
        "`pnpm update -r {package}` (`pnpm update -r {package}{at}` where a `package.json` pins"
        " it)",
    ),
    "go.sum": ProvingTool("go", (_GO,), "`go get {package}{at_v}` and `go mod tidy`"),
    "go.work.sum": ProvingTool("go", (_GO,), "`go get {package}{at_v}` and `go work sync`"),
    "Pipfile.lock": ProvingTool(
        "pip",
        (_form("pipenv sync"), _form("pipenv install", needs="--deploy --ignore-pipfile")),
        "`pipenv upgrade {package}{equals}`",
    ),
    "pdm.lock": ProvingTool(
        "pip",
        (_form("pdm sync"), _form("pdm install", needs="--frozen-lockfile --no-lock")),
        "`pdm update {package}`, after setting its version where `pyproject.toml` pins it",
    ),
    "poetry.lock": ProvingTool(
        "pip",
        (_form("poetry install", "poetry sync"),),
        "`poetry update {package}`, after setting its version where `pyproject.toml` pins it",
    ),
    "uv.lock": ProvingTool(
        "pip", (_form("uv sync", needs="--frozen --locked"),), "`uv lock -P {package}{equals}`"
    ),
    "pylock.toml": ProvingTool(
        "pip",
        (_form("uv pip sync", *_PIP, names="file"),),
        "the command that wrote it, such as `uv export --format pylock.toml` after"
        " `uv lock -P {package}{equals}`",
    ),
    "Cargo.lock": ProvingTool(
        "rust",
        (_form("cargo fetch", needs="--locked --frozen"),),
        "`cargo update -p {package}{precise}`",
    ),
    "Gemfile.lock": ProvingTool("rubygems", (_BUNDLE,), _OF_BUNDLER),
    "gems.locked": ProvingTool("rubygems", (_BUNDLE,), _OF_BUNDLER),
    "composer.lock": ProvingTool(
        "composer", (_form("composer install", "composer i"),), "`composer update {package} -W`"
    ),
    "packages.lock.json": ProvingTool(
        "nuget",
        (
            _form(
                "dotnet restore",
                needs="--locked-mode -p:RestoreLockedMode /p:RestoreLockedMode"
                " -p:RestoreLockedMode=true",
            ),
        ),
        "`dotnet add package {package}{version_option}` in the project that asks for it, and"
        " `dotnet restore --force-evaluate`",
        within=True,
    ),
    "mix.lock": ProvingTool(
        "erlang",
        (_form("mix deps.get", needs="--check-locked", may="--only"),),
        "`mix deps.update {package}`",
    ),
    "pubspec.lock": ProvingTool(
        "pub",
        (_form("dart pub get", "flutter pub get", needs="--enforce-lockfile"),),
        "`dart pub upgrade {package}`",
    ),
    "Package.resolved": ProvingTool(
        "swift",
        (
            _form(
                "swift package resolve",
                needs="--force-resolved-versions --only-use-versions-from-resolved-file"
                " --disable-automatic-resolution",
            ),
        ),
        "`swift package update {package}`",
    ),
    "gradle.lockfile": ProvingTool("maven", (_GRADLE,), _OF_GRADLE, within=True),
}
"""Lock files, by their names."""

_NODE = ProvingTool(
    "npm",
    (
        *(_NPM, _PNPM, *_BUN, _form("npm install", "npm i", "pnpm install", "bun install")),
        _form("yarn", "yarn install", alone=True),
    ),
    "`npm install {package}{at}`, or what your package manager calls it,",
    within=True,
)
_PYTHON = ProvingTool(
    "pip",
    (
        _form(*_PIP, names="folder"),
        _form(
            *("uv sync", "pdm install", "poetry install", "poetry sync"),
            never="--frozen --frozen-lockfile --no-lock",
        ),
    ),
    "`python3 -m pip install -e .` after setting the version of {package}",
)
_REQUIREMENTS = ProvingTool(
    "pip",
    (_form("uv pip sync", *_PIP, names="file"),),
    "`python3 -m pip install -r` with the file after setting the version of {package}",
)
_MODULES = ProvingTool(
    "go",
    (_GO, _form("go mod tidy", "go build ./...", "go vet ./...", "go test ./...")),
    "`go get {package}{at_v}` and `go mod tidy`",
)
_CRATES = ProvingTool(
    "rust",
    (_form("cargo fetch", "cargo build", "cargo check", "cargo test"),),
    "`cargo update -p {package}{precise}` after setting the version",
    within=True,
)
_GEMS = ProvingTool("rubygems", (_form("bundle install"),), _OF_BUNDLER)
_PHP = ProvingTool(
    "composer",
    (_form("composer install", "composer i", "composer update"),),
    "`composer require {package}{colon} -W`",
)
_MAVEN = ProvingTool(
    "maven",
    (
        _form(
            *(
                f"{program} {goal}"
                for program in ("mvn", "mvnw")
                for goal in (
                    *("compile", "test-compile", "test", "package", "verify", "install"),
                    *("dependency:go-offline", "dependency:resolve"),
                )
            )
        ),
    ),
    "`mvn versions:use-dep-version -Dincludes={package} -DdepVersion={version}"
    " -DforceVersion=true` where a `pom.xml` asks for it (else set it in `dependencyManagement`),"
    " then `mvn verify`,",
    within=True,
)
_GRADLED = ProvingTool(
    "maven",
    (_GRADLE,),
    "`gradle build` after setting the version of {package}, where a build file or version catalog"
    " asks for it, else in a constraint (`dependencies {{ constraints {{ … }} }}`),",
    within=True,
)
_DOTNET = ProvingTool(
    "nuget",
    (_form("dotnet restore", "dotnet build", "dotnet test"),),
    "`dotnet add package {package}{version_option}` in the project that asks for it",
    within=True,
)
_MIX = ProvingTool(
    "erlang", (_form("mix deps.get", may="--only"),), "`mix deps.update {package}`", within=True
)
_PUB = ProvingTool(
    "pub", (_form("dart pub get", "flutter pub get"),), "`dart pub upgrade {package}`"
)
_SWIFT = ProvingTool(
    "swift", (_form("swift package resolve", "swift build"),), "`swift package update {package}`"
)
_MANIFESTS = (
    (r"package\.json|\.yarnrc\.yml|pnpm-workspace\.yaml", _NODE),
    (r"pyproject\.toml|setup\.(?:py|cfg)", _PYTHON),
    (r"[^/]*requirements[^/]*\.(?:txt|in)|constraints[^/]*\.txt", _REQUIREMENTS),
    (r"Pipfile", ProvingTool("pip", (_form("pipenv install"),), "`pipenv upgrade {package}`")),
    (r"go\.(?:mod|work)", _MODULES),
    (r"Cargo\.toml", _CRATES),
    (r"Gemfile|gems\.rb|[^/]+\.gemspec", _GEMS),
    (r"composer\.json", _PHP),
    (r"pom\.xml", _MAVEN),
    (
        r"(?:build|settings)\.gradle(?:\.kts)?|gradle\.properties|libs\.versions\.toml",
        _GRADLED,
    ),
    (r"[^/]+\.(?:cs|fs|vb)proj|packages\.config|Directory\.Packages\.props", _DOTNET),
    (r"mix\.exs", _MIX),
    (r"pubspec\.yaml", _PUB),
    (r"Package\.swift", _SWIFT),
)
"""Manifests, by expressions for their names."""
_UNKNOWN = ProvingTool("", (), "the tool that wrote it")


def find_tool(file: str) -> ProvingTool:
    """Return what reads or writes a file; one without commands where none is known."""
    name = posixpath.basename(file)
    if name in LOCKS:
        return LOCKS[name]
    return next((tool for names, tool in _MANIFESTS if re.fullmatch(names, name)), _UNKNOWN)


def is_manifest(file: str) -> bool:
    """Return whether people write the file; else it counts as a lock file, known or not."""
    return posixpath.basename(file) not in LOCKS and find_tool(file) is not _UNKNOWN


def _is_named(program: Program, place: str) -> bool:
    """Return whether an argument leads to that place."""
    for word in program.words[1:]:
        plain = re.sub(r"\[[\w., -]*\]$", "", word.rpartition("=")[2].removeprefix("-r"))
        if plain and posixpath.normpath(posixpath.join(program.folder or "", plain)) == place:
            return True
    return False
