"""A case: a folder with a repository's source, an issue, and hidden tests that judge the change."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Self

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from agents.errors import ConfigError
from agents.text import split_title

CASE_FILE, ISSUE, POLICY, SCRIPT = "case.yml", "issue.md", "fettle.yml", "script.yml"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def _require_inside(path: str) -> str:
    """Refuse a path that leaves the repository or names all of it."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or not pure.parts or ".." in pure.parts:
        raise ValueError("must be a path within the repository")
    return str(pure)


CaseWord = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+!-]*$")]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Within = Annotated[str, AfterValidator(_require_inside)]


class Strict(BaseModel):
    """Part of a case's file: an unknown key is an error, and numbers do not become text."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Source(Strict):
    """Where files come from: a package's source distribution, a folder, or an archive."""

    package: CaseWord | None = None
    """Name of a package, for pip."""
    version: CaseWord | None = None
    """Its version."""
    folder: str | None = None
    """A folder beside the case's file."""
    archive: str | None = None
    """A tar file beside the case's file."""
    sha256: Hash | None = None
    """Hash of the source distribution or the archive."""
    leave_out: tuple[Within, ...] = ()
    """What is not taken along, like files that only packaging made."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if [self.package, self.folder, self.archive].count(None) != 2:
            raise ValueError("name exactly one of `package`, `folder`, `archive`")
        if self.package and not (self.version and self.sha256):
            raise ValueError("a package needs its `version` and the `sha256` of its sdist")
        if self.archive and not self.sha256:
            raise ValueError("an archive needs its `sha256`")
        if self.version and not self.package:
            raise ValueError("`version` belongs to a `package`")
        if self.folder and self.sha256:
            raise ValueError("a folder has no `sha256`")
        return self


class HiddenTests(Strict):
    """The tests that the run never sees: paths of the cured source, or a folder of the case."""

    take: tuple[Within, ...] = ()
    """Paths of `cured` that replace those of the repository."""
    folder: str | None = None
    """A folder beside the case's file; its files are laid over the repository."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if bool(self.take) == bool(self.folder):
            raise ValueError("name either `take` or `folder`")
        return self


class JudgeSettings(Strict):
    """How it is decided whether a change solves the issue."""

    hidden: HiddenTests
    own: tuple[Within, ...] = ()
    """The repository's own tests: judged as they were before the run, whatever it made of them."""
    command: str
    """For bash, in the repository's root. Writes a JUnit file to `$REPORT`; one that does not
    mention that is itself the one test, named `command`, and passes with exit code 0."""
    must_pass: Annotated[tuple[str, ...], Field(min_length=1)]
    """Tests that fail before and pass after, as `class::name`; `*` stands for anything."""
    may_fail: tuple[str, ...] = ()
    """Tests that do not count, like those of other features of the later version."""
    seconds: Annotated[float, Field(gt=0, le=7200)] = 300.0
    """Time that one run of the command may take."""

    @model_validator(mode="after")
    def _has_ids(self) -> Self:
        if not self.reports and self.must_pass != ("command",):
            raise ValueError("a command without `$REPORT` is one test: `must_pass: [command]`")
        return self

    @property
    def reports(self) -> bool:
        """Return whether the command tells each test's result."""
        return bool(re.search(r"\$\{?REPORT\b", self.command))

    @property
    def ours(self) -> tuple[str, ...]:
        """Return the paths of tests, which are never taken from the run."""
        return tuple(dict.fromkeys((*self.own, *self.hidden.take)))


class CaseFile(Strict):
    """The file `case.yml`."""

    source: Source
    """The repository as it was when the issue was reported."""
    cured: Source | None = None
    """The same with the bug cured: shows that the case holds, and may bring the hidden tests."""
    judge: JudgeSettings
    toolchain: str | None = None
    """A pip requirements file with hashes beside the case's file: what the tests need beside
    the system's Python."""
    script: str = SCRIPT
    """What the local model answers, beside the case's file; it need not be there."""

    @model_validator(mode="after")
    def _hidden_is_somewhere(self) -> Self:
        if self.judge.hidden.take and self.cured is None:
            raise ValueError("`judge.hidden.take` takes from `cured`, which is missing")
        return self


@dataclass(frozen=True)
class Case:
    """A case as its folder describes it; nothing is fetched yet."""

    name: str
    folder: Path
    about: CaseFile
    title: str
    body: str

    @property
    def script(self) -> Path | None:
        """Return the file with the local model's answers, if the case brings one."""
        path = self.folder / self.about.script
        return path if path.is_file() else None

    @property
    def policy(self) -> Path | None:
        """Return the policy that the repository gets, if the case brings one."""
        path = self.folder / POLICY
        return path if path.is_file() else None

    @property
    def issue(self) -> Path:
        """Return the file of the issue."""
        return self.folder / ISSUE


def name_of(folder: Path) -> str:
    """Return what a case is called: its folder's name."""
    return folder.resolve().name


def find_cases(folder: Path, wanted: tuple[str, ...] = ()) -> list[Path]:
    """Return the folders of cases: this one, or those in it, all or the ones `wanted`.

    Raises ConfigError when there is none, or not one that is wanted.
    """
    if (folder / CASE_FILE).is_file():
        found = {name_of(folder): folder}
    else:
        found = {path.parent.name: path.parent for path in sorted(folder.glob(f"*/{CASE_FILE}"))}
    if not found:
        raise ConfigError(
            f"There is no case in `{folder}`. A case is a folder with a `{CASE_FILE}`; name one,"
            " or a folder of such folders."
        )
    if missing := [name for name in wanted if name not in found]:
        raise ConfigError(
            f"There is no case `{missing[0]}` in `{folder}`. Known are: {', '.join(found)}."
        )
    return [path for name, path in found.items() if not wanted or name in wanted]


def read_case(folder: Path) -> Case:
    """Return the case in this folder. Raises ConfigError, which says where it is wrong."""
    file = folder / CASE_FILE
    name = name_of(folder)
    if not NAME.fullmatch(name):
        raise ConfigError(f"`{name}` cannot name a case: letters, digits and `._-` can.")
    try:
        about = CaseFile.model_validate(yaml.safe_load(file.read_text("utf-8")))
        title, body = split_title((folder / ISSUE).read_text("utf-8"))
    except ValidationError as error:
        raise ConfigError(f"{file} is not valid:\n{_faults(error)}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{file} is not YAML: {error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"A file in {folder} is not UTF-8 text. Save it as UTF-8.") from error
    except OSError as error:
        raise ConfigError(f"{error.filename} cannot be read: {error.strerror}.") from error
    if not title:
        raise ConfigError(f"{folder / ISSUE} has no title. Write it into the first line.")
    return Case(name, folder, about, title, body)


def _faults(error: ValidationError) -> str:
    return "\n".join(
        f"- {'.'.join(map(str, fault['loc'])) or 'the file'}: "
        f"{fault['msg'].removeprefix('Value error, ')}"
        for fault in error.errors(include_url=False)
    )
