"""Classifies the paths that a command names: repository, scratch, build output, credentials."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from agents.policy import Policy
from agents.tools.paths import ROOT, names_git
from agents.tools.shell.options import word_set
from agents.tools.shell.variables import HOME, UNKNOWN

BUILD_FOLDERS = word_set(
    "build dist out target node_modules bower_components venv .venv __pycache__ .tox"
    " .nox .eggs .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .cache"
    " .benchmarks .ipynb_checkpoints htmlcov coverage .nyc_output .next .nuxt .output .turbo"
    " .parcel-cache .svelte-kit .angular .vite .sass-cache .gradle .dart_tool .build DerivedData"
    " dist-newstyle .stack-work elm-stuff zig-out zig-cache .zig-cache _build _site CMakeFiles obj"
    " test-results playwright-report storybook-static tmp .tmp wheelhouse"
)
BUILD_NAMES = word_set(
    "*.egg-info *.dist-info cmake-build-* bazel-* *.pyc *.pyo *.o *.a *.so *.obj *.class *.log"
    " *.tmp *.bak *.orig *.rej *.swp *~ *.gcda *.gcno *.gcov *.prof *.tsbuildinfo .coverage"
    " .coverage.* coverage.xml coverage.json lcov.info .DS_Store CMakeCache.txt *.whl"
    " *.snap *.map *.actual *.out *.dump"
)
_FILE = re.compile(
    r"\.*[^/]*\.(?:json5?|lock|ya?ml|toml|txt|md|rst|py|pyi|[cm]?[jt]sx?|vue|svelte|go|mod|sum|rs|[ch]"
    r"|cc|cpp|hpp|java|kt|scala|swift|rb|php|pl|lua|sh|css|scss|html?|xml|csv|tsv|png|jpe?g|gif|svg"
    r"|webp|pdf|db|sqlite3?|sql|ini|cfg|conf|env|patch|diff|ipynb|proto|gz|zip|tgz)"
    r"|(?:Make|Docker|Rake|Gem|Pip|Proc|Vagrant|Jenkins|Brew)file|[A-Z]{4,}|\.[a-z]+(?:ignore|rc|config|attributes)"
)
_PICTURES = re.compile(r"[^/]+/.*\.(?:png|jpe?g|gif|webp|pdf|webm|mp4|trace|zip)")
_SCRATCH = ("/tmp", "/var/tmp", "/dev/shm", "/run/user", HOME)  # noqa: S108 the sandbox's own
_SINKS = re.compile(r"/dev/(?:null|zero|full|tty|stdout|stderr|stdin|fd/.*|pts/.*)")
_HOMES = re.compile(r"/(?:root|home/[^/]+)(?:/|$)")
_GLOB = re.compile(r"[*?\[\0]")

_IN_HOME = (
    ".netrc",
    "_netrc",
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/gcloud",
    ".config/hub",
    ".docker/config.json",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
    ".bash_history",
)
_IN_SYSTEM = (
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/krb5.keytab",
    "/run/secrets",
    "/var/run/secrets",
)
_OF_PROCESSES = re.compile(
    r"/proc/[^/]+(?:/task/[^/]+)?/(?:(?:environ|mem|auxv)(?:/|$)|(?:fd|root|cwd)/)"
)
_WITHIN = re.compile(r"[=@:,'\"()<\s]")


def relative_path(place: str) -> str | None:
    """Return the path relative to the repository's root, `.` for the root; None if outside."""
    if place == ROOT:
        return "."
    return place.removeprefix(f"{ROOT}/") if place.startswith(f"{ROOT}/") else None


def is_unclear(place: str) -> bool:
    """Return whether nothing is known of where the path begins."""
    return place.startswith(UNKNOWN)


def is_pattern(path: str) -> bool:
    """Return whether the path may stand for more than one file."""
    return bool(_GLOB.search(path))


def is_one_file(path: str) -> bool:
    """Return whether the path names one file, by the look of it: a folder has no such ending."""
    return not is_pattern(path) and bool(_FILE.fullmatch(path.rstrip("/").rsplit("/", 1)[-1]))


def are_pictures(path: str) -> bool:
    """Return whether a pattern takes in pictures, or recordings, of one folder below the root."""
    return "**" not in path and UNKNOWN not in path and bool(_PICTURES.fullmatch(path))


def is_sink(place: str) -> bool:
    """Return whether what is written there is gone, or goes to the command's own output."""
    return bool(_SINKS.fullmatch(place))


def is_device(place: str) -> bool:
    """Return whether the path is a device of the machine, or the kernel's own."""
    return place.startswith(("/dev/", "/sys/", "/proc/")) and not is_scratch(place)


def is_scratch(place: str) -> bool:
    """Return whether the path is in a place that vanishes with the command anyway."""
    return any(place.startswith(f"{top}/") or place == top != HOME for top in _SCRATCH)


def is_build_output(path: str) -> bool:
    """Return whether a path in the repository is something that building or testing makes."""
    parts = [part for part in path.split("/") if part not in ("", ".", UNKNOWN)]
    return any(part in BUILD_FOLDERS for part in parts) or any(
        fnmatchcase(part, pattern) for part in parts for pattern in BUILD_NAMES
    )


def is_git(path: str) -> bool:
    """Return whether a path in the repository belongs to git; a stale lock does not count."""
    return names_git(path) and not path.endswith(".lock")


def find_protection(path: str, policy: Policy, *, wide: bool = False) -> str | None:
    """Return the pattern of the policy that protects the path, or something below it if `wide`."""
    if pattern := policy.protects(path):
        return pattern
    if wide and path != ".":
        start = path.lower().rstrip("/") + "/"
        return next((p for p in policy.protection if p.lower().startswith(start)), None)
    return None


def find_secret(word: str, place: str) -> str | None:
    """Return the place of credentials that a word names, or may name.

    `place` is where the word leads as a path; parts of it, as in `if=/proc/self/environ` or
    `-d@/etc/shadow`, are looked at as well.
    """
    for path in {place, *_parts(word)}:
        if path.startswith("/") and (found := _secret(path)):
            return found
    return None


def _parts(word: str) -> Iterator[str]:
    if "/" in word and len(word) < 4_000:
        for part in _WITHIN.split(word):
            at = part.find("/")
            yield part.replace("~", HOME, 1) if part.startswith("~/") else part[max(at, 0) :]


def _secret(path: str) -> str | None:
    path = re.sub(r"/(?:\./)*/*", "/", path)
    if _OF_PROCESSES.match(path):
        return path
    if home := _HOMES.match(path):
        rest = path[home.end() :]
        return next((path for name in _IN_HOME if _names(rest, name)), None)
    if (inside := relative_path(path)) is not None:
        return path if inside in (".netrc", "_netrc", ".git-credentials") else None
    if _GLOB.search(path) and _may_be(path, ("/proc/self/environ", "/proc/1/environ")):
        return path
    return next((path for name in _IN_SYSTEM if _names(path, name)), None)


def _names(path: str, secret: str) -> bool:
    """Return whether a path, which may hold wildcards, names the secret or what is below it."""
    depth = secret.count("/") + 1
    return _matches("/".join(path.split("/")[:depth]), secret)


def _may_be(path: str, names: tuple[str, ...]) -> bool:
    return any(_matches(path, name) for name in names)


def _matches(path: str, name: str) -> bool:
    """Return whether a pattern of bash, unknown parts included, takes in this very path."""
    ours, theirs = path.split("/"), name.split("/")
    return len(ours) == len(theirs) and all(map(_part_matches, ours, theirs))


def _part_matches(part: str, name: str) -> bool:
    if part == UNKNOWN:
        return False  # anything at all: says nothing about this
    hidden = name.startswith(".") and part[:1] in ("*", "?", "[")
    return not hidden and fnmatchcase(name, part.replace(UNKNOWN, "*"))
