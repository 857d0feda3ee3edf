"""Ask pip in the sandbox for releases, and prove that the fix installs."""

from __future__ import annotations

import json
import re
import shlex
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path

from packaging.utils import InvalidName, canonicalize_name

from agents.pipelines.remediate.ladder.files import host
from agents.pipelines.remediate.ladder.locked import Entry, Locked
from agents.pipelines.remediate.ladder.python import specs
from agents.pipelines.remediate.ladder.python.provided_tools import (
    BASE,
    Tool,
    attempt,
    call,
    call_in_turn,
)
from agents.pipelines.remediate.ladder.values import (
    Accepted,
    Stuck,
    Target,
    Unfit,
    describe_failure,
    tail_output,
)
from agents.ports import WorkTree

_HASHES = "--no-deps --no-build --generate-hashes --no-header --no-annotate --quiet --color never"

_VERSIONS = re.compile(r"^Available versions:(.*)$", re.MULTILINE)
_QUIET = "--disable-pip-version-check --no-input --no-color --no-cache-dir"
_REPORT = (
    "pip install {quiet} --quiet --dry-run --no-deps --ignore-installed --only-binary :all: "
    "--report - -- {what} | python -I -c 'import json, sys; "
    'print("FETTLE" + json.dumps([[i["is_yanked"], i["metadata"].get("requires_python")] '
    'for i in json.load(sys.stdin)["install"]]))\''
)
_TELL_YANKED = """\
import json, sys
from pip._internal.cli.main import main
try:
    from pip._internal.index.package_finder import PackageFinder
    find = PackageFinder.find_all_candidates
    def find_and_tell(self, name):
        found = find(self, name)
        yanked = {str(each.version) for each in found if each.link.is_yanked}
        print("FETTLE" + json.dumps(sorted(yanked)))
        return found
    PackageFinder.find_all_candidates = find_and_tell
except (ImportError, AttributeError):
    pass
sys.exit(main(sys.argv[1:]))
"""
"""pip as it is, which tells beside what it says which of the releases were yanked."""
_LIST = f"""\
python -I -c {{releases}} {{package}} 2>/dev/null && exit
pip() {{{{ python -I -c {shlex.quote(_TELL_YANKED).replace("{", "{{").replace("}", "}}")} "$@"; }}}}
pip index {{quiet}} versions -- {{package}}
"""
_RELEASES = shlex.quote(Path(__file__).with_name("release_list.py").read_text("utf-8"))
_FETCH = """\
folder=$(mktemp -d)
fetch() {{
  if test -n "${{PIP_INDEX_URL:-}}" && test -z "${{PIP_EXTRA_INDEX_URL:-}}${{PIP_FIND_LINKS:-}}"
  then env -u UV_INDEX -u UV_FIND_LINKS uv pip install --quiet --no-config --no-cache \\
    --python "$tool/bin/python" --default-index "$PIP_INDEX_URL" --no-deps \\
    --only-binary :all: --require-hashes --target "$folder/$1" \\
    --requirement "$folder/moved.txt" >/dev/null 2>&1 && return
  fi
  pip download {quiet} --quiet --no-deps --only-binary :all: --require-hashes \\
    --dest "$folder/files" --requirement "$folder/moved.txt" >"$folder/said" 2>&1
}}
{each}
rm -rf "$folder"
"""
"""uv fetches in a fifth of the time; what it does not, for whatever reason, is for pip to say."""
_EACH = """\
printf '%s\\n' {line} >"$folder/moved.txt"
fetch {name} || {{ echo "FETTLE" {name}; tail -c 1500 "$folder/said"; }}
"""
_RESOLVE = """\
folder=$(mktemp -d)
pip install --disable-pip-version-check --no-input --no-color --quiet --dry-run \\
  --ignore-installed --only-binary :all: --target "$folder/none" \\
  --requirement {wanted} --constraint {constraints}
code=$?
rm -rf "$folder"
exit $code
"""
_SCRATCH = {"wanted": ".fettle-requirements.txt", "constraints": ".fettle-constraints.txt"}
_OLD = """\
printf '%s\\n' {wanted} | uv pip compile - --no-deps --no-build --no-header --quiet \\
  --no-annotate --color never --exclude-newer {day}T00:00:00Z >/dev/null 2>&1 &&
  echo FETTLE {wanted}
"""
_OLD_ROW = re.compile(r"^FETTLE (\S+)$", re.MULTILINE)
_TELL_CONFIGURED = """\
from pip._internal.configuration import Configuration
from pip._internal.models.index import PyPI
found = Configuration(isolated=False)
found.load()
print(list(found.items()), PyPI.simple_url)
"""
_OF_VARIABLES = """\
printf '%s\\n' FETTLE "${PIP_INDEX_URL:-}" "${PIP_EXTRA_INDEX_URL:-}" "${UV_DEFAULT_INDEX:-}" \\
  "${UV_INDEX_URL:-}" "${UV_INDEX:-}" "${UV_EXTRA_INDEX_URL:-}"
"""
"""The indexes that variables name, which nearly always are all. What stands before the mark is told
of the sandbox, such as where it was led and refused: no index is configured by that."""
_CONFIGURED = f"""\
echo FETTLE
python -I -c {shlex.quote(_TELL_CONFIGURED)} 2>/dev/null || {{
  pip config list
  pip --isolated install --help | tr -d ' \\n' | grep -oE 'defaulthttps?://[^)]+' || true
}}
"""
"""The indexes that pip is configured for, and the one that it asks otherwise: loading all of pip to
tell takes ten times as long."""
_URL = re.compile(r"(?:https?|file)://[^\s'\"]+")
_YANKED = "was yanked"
_MOST_PROVED = 20
_MISMATCH = "DO NOT MATCH THE HASHES"
_HASH = re.compile(r"sha(256:[0-9a-f]{64}|384:[0-9a-f]{96}|512:[0-9a-f]{128})")


def python_name(package: str) -> str:
    """Return a package's name as lock files write it. Raises Unfit for what is no name."""
    try:
        return str(canonicalize_name(package, validate=True))
    except InvalidName as error:
        raise Unfit(
            "unsafe", "The alert's package has a name that no Python package can have."
        ) from error


class PythonIndex:
    """The part of an Ecosystem that asks the index which pip is configured for in the sandbox."""

    index_setting = "`index-url` or `extra-index-url` in pip's configuration"
    _seconds: float

    def name_of(self, package: str) -> str:
        """Return the package's name as lock files write it; Unfit for what is no name."""
        return python_name(package)

    @property
    def _base(self) -> Tool:
        """Return pip, with what may share a sandbox with it."""
        return BASE

    @cached_property
    def _known(self) -> set[str]:
        """Return the hosts, or the folders, of indexes that are known to be configured."""
        return set()

    @cached_property
    def _offers(self) -> dict[str, Offer]:
        """Return what the index has said so far, by package."""
        return {}

    @cached_property
    def _targets(self) -> dict[str, dict[str, str]]:
        """Return where each vulnerable version goes, by package."""
        return {}

    def aim(self, targets: Sequence[Target]) -> None:
        """Take where each vulnerable version goes: markers may hold several of one package."""
        self._targets.clear()
        for each in targets:
            self._targets.setdefault(each.name, {})[each.old] = each.new

    def _list_lines(self, locked: Locked, pins: Mapping[str, str]) -> dict[str, list[str]]:
        """Return the packages of which markers hold several versions, with what each may be.

        That is what is meant for it, or what it has already: each copy's own requirement chooses.
        """
        lines = {}
        for name, targets in self._targets.items():
            held = [entry.version for entry in locked.by_name.get(name, ())]
            if name in pins and len(held) > 1:
                lines[name] = list(dict.fromkeys(targets.get(each, each) for each in held))
        return lines

    async def _admit_only(self, tree: WorkTree, package: str, versions: Sequence[str]) -> str:
        """Return a specifier that of all releases admits these alone."""
        return specs.admit_only(versions, await self.available(tree, package))

    def _find_goal(self, package: str, version: str) -> specs.Goal:
        return specs.Goal(version, self._targets.get(package, {}))

    async def available(self, tree: WorkTree, package: str) -> Sequence[str]:
        """Return the versions that the index effective in the sandbox offers."""
        if package not in self._offers:
            self._offers[package] = await ask_offer(tree, package, self._seconds, self._base)
        return self._offers[package].versions

    async def objection(self, tree: WorkTree, package: str, version: str) -> str:
        """Return why a version must not be taken; empty: take it."""
        known = self._offers.get(package)
        if known is None or known.yanked is None or version not in known.versions:
            return await objection(tree, package, version, self._seconds)
        return _YANKED if version in known.yanked else ""

    async def find_other_index(self, tree: WorkTree, _: Locked, package: str) -> str:
        """Return the host of an index that is named for the package and not configured here."""
        named = set(await self._list_named_indexes(tree, package)) - self._known
        if not named:
            return ""
        for script in (_OF_VARIABLES, _CONFIGURED):
            if named - self._known:
                said = await call(tree, self._base, script, seconds=self._seconds)
                urls = _URL.findall(said.partition("FETTLE")[2])
                self._known.update(host(url) or url for url in urls)
        return min(named - self._known, default="")

    async def find_young(
        self, tree: WorkTree, releases: Collection[tuple[str, str]], newest: date
    ) -> Collection[tuple[str, str]]:
        """Return those of which uv does not find any file uploaded on that day or before."""
        body = "".join(
            _OLD.format(wanted=shlex.quote(f"{name}=={version}"), day=newest + timedelta(days=1))
            for name, version in releases
        )
        old = set(_OLD_ROW.findall(await call(tree, BASE, f"{body}true", seconds=self._seconds)))
        return [each for each in releases if f"{each[0]}=={each[1]}" not in old]

    @abstractmethod
    async def _list_named_indexes(self, tree: WorkTree, package: str) -> Collection[str]:
        """Return the hosts of the indexes that the repository's files name for the package."""


@dataclass(frozen=True)
class Offer:
    """The releases of a package that an index offers."""

    versions: tuple[str, ...]
    yanked: frozenset[str] | None
    """Those of them that were yanked; None where pip did not tell."""


async def ask_offer(tree: WorkTree, package: str, seconds: float, base: Tool = BASE) -> Offer:
    """Return what the index effective in the sandbox offers for its Python. Raises Stuck."""
    body = _LIST.format(releases=_RELEASES, quiet=_QUIET, package=shlex.quote(package))
    output = await call(tree, base, body, seconds=seconds)
    found = _VERSIONS.search(output)
    if not found:
        raise Stuck(f"pip did not say which versions of {package} there are: {tail_output(output)}")
    versions = (version.strip() for version in found[1].split(","))
    return Offer(tuple(version for version in versions if version), _read_yanked(output))


def _read_yanked(output: str) -> frozenset[str] | None:
    """Return all releases that some line says were yanked; None where no line can be read."""
    found: frozenset[str] | None = None
    for line in re.findall(r"^FETTLE(.*)$", output, re.MULTILINE):
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(told, list):
            found = (found or frozenset()) | {str(each) for each in told}
    return found


async def objection(tree: WorkTree, package: str, version: str, seconds: float) -> str:
    """Return why a release must not be taken; empty when nothing speaks against it.

    One that has no wheel is not looked into, since that would run what strangers wrote.
    """
    body = _REPORT.format(quiet=_QUIET, what=shlex.quote(f"{package}=={version}"))
    result = await attempt(tree, BASE, body, seconds=seconds)
    told = re.findall(r"^FETTLE(.*)$", result.output, re.MULTILINE)
    return _YANKED if any(map(_is_yanked, told)) else ""


def _is_yanked(report: str) -> bool:
    """Tell whether it says so; a release's own words may hold lines that look like a report."""
    try:
        return any(row[0] for row in json.loads(report))
    except (ValueError, TypeError, LookupError):
        return False


async def hashes(tree: WorkTree, package: str, version: str, seconds: float) -> tuple[str, ...]:
    """Return the hashes of all files of a release, as the index has them. Raises Stuck."""
    wanted = shlex.quote(f"{package}=={version}")
    body = f"printf '%s\\n' {wanted} | uv pip compile - {_HASHES}"
    output = await call(tree, BASE, body, seconds=seconds)
    found = tuple(sorted({match[0] for match in _HASH.finditer(output)}))
    if not found:
        raise Stuck(f"The index has no hashes of {package} {version}.")
    return found


async def find_conflict(
    tree: WorkTree, wanted: Sequence[str], constraints: Sequence[str] = (), *, seconds: float
) -> str:
    """Return what pip says against installing all of it together; empty: it found a solution.

    Raises Stuck where pip was stopped. The requirements are lines that we wrote: a repository's own
    have options, which could lead pip anywhere.
    """
    for path, lines in zip(_SCRATCH.values(), (wanted, constraints), strict=True):
        await tree.write(path, "".join(f"{line}\n" for line in lines).encode())
    result = await attempt(tree, BASE, _RESOLVE.format(**_SCRATCH), seconds=seconds)
    return describe_failure("pip", result)


def is_hash(text: str) -> bool:
    """Return whether this is a hash as requirements files write them."""
    return _HASH.fullmatch(text) is not None


async def prove(
    tree: WorkTree,
    before: Locked,
    after: Locked,
    seconds: float,
    first: tuple[Tool, str] | None = None,
) -> Accepted:
    """Have what moved fetched with the lock file's own hashes. Raises Stuck on another content.

    `first`: a tool, and a script for it that has to succeed before, in the same sandbox. Notes say
    what could not be proved, such as what has no wheel for the sandbox.
    """
    known = {(entry.name, entry.version) for entry in before.entries}
    moved = [e for e in after.entries if not e.own and (e.name, e.version) not in known]
    hashed = [entry for entry in moved if any(map(_HASH.fullmatch, entry.hashes))][:_MOST_PROVED]
    bare = dict.fromkeys(entry.name for entry in moved if not entry.hashes)
    left = [entry.name for entry in moved if entry.hashes and entry not in hashed]
    scripts = [first] if first else []
    if hashed:
        each = "".join(map(_make_fetch_command, hashed))
        scripts.append((BASE, _FETCH.format(each=each, quiet=_QUIET)))
    if scripts:
        output = await call_in_turn(tree, scripts, seconds=seconds)
        if _MISMATCH in output:
            raise Stuck(f"The index has other files than the lock file says: {tail_output(output)}")
        left += re.findall(r"^FETTLE (\S+)$", output, re.MULTILINE)
    notes = [f"The files keep no hash of {', '.join(bare)} to hold the index to."] if bare else []
    notes += [f"Not fetched to prove their hashes: {', '.join(left)}."] if left else []
    fetched = (f"{each.name} {each.version}" for each in hashed if each.name not in left)
    return Accepted(fetched=tuple(dict.fromkeys(fetched)), notes=tuple(notes))


def _make_fetch_command(entry: Entry) -> str:
    hashes = " ".join(f"--hash={value}" for value in entry.hashes if _HASH.fullmatch(value))
    line = f"{entry.name}=={entry.version} {hashes}"
    return _EACH.format(line=shlex.quote(line), name=shlex.quote(entry.name))
