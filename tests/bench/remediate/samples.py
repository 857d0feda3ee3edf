"""A set of repositories with vulnerable packages, as alerts find them; all of it is made up here.

Each kind of trouble is one package, in both worlds, so that what is compared is the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.demo.package_index.releases import Release

NPM, PIP = "npm", "pip"


@dataclass(frozen=True)
class Trouble:
    """One vulnerable package, and what has to happen for it to be safe."""

    name: str
    why: str
    vulnerable: tuple[str, ...]
    """One alert for each range."""
    safe: str
    """The release to go to; empty where there is none."""
    direct: bool = False
    above: str = ""
    """Who needs it, if nobody asks for it by name."""


DIRECT = Trouble("alpha", "direct, pinned", ("< 1.0.1",), "1.0.1", direct=True)
BELOW = Trouble("beta", "transitive", ("< 1.0.2",), "1.0.2", above="holder")
SEVERAL = Trouble(
    "gamma", "three alerts", ("< 1.0.1", "< 1.0.2", ">= 1.0.0, < 1.1.1"), "1.1.1", direct=True
)
MAJOR = Trouble("delta", "another major version", ("< 2.0.0",), "2.0.0", direct=True)
HELD = Trouble("epsilon", "an override", ("< 1.0.1",), "1.0.1", above="pinner")
NEVER = Trouble("zeta", "no safe release", ("< 9.0.0",), "", direct=True)
COPIES = Trouble("eta", "two copies", ("< 1.0.1", ">= 2.0.0, < 2.0.1"), "1.0.1", above="older")
PARENT = Trouble("theta", "a parent's release", ("< 1.0.1",), "1.0.1", above="lifter")
TROUBLES = (DIRECT, BELOW, SEVERAL, MAJOR, HELD, NEVER, COPIES, PARENT)

VERSIONS = {
    "alpha": ("1.0.0", "1.0.1", "1.1.0"),
    "beta": ("1.0.0", "1.0.1", "1.0.2", "1.1.0"),
    "gamma": ("1.0.0", "1.0.1", "1.0.2", "1.1.0", "1.1.1"),
    "delta": ("1.0.0", "1.1.0", "2.0.0"),
    "epsilon": ("1.0.0", "1.0.1"),
    "zeta": ("1.0.0", "1.0.1"),
    "eta": ("1.0.0", "1.0.1", "2.0.0", "2.0.1"),
    "theta": ("1.0.0", "1.0.1"),
}
"""Of each the first is what is locked."""

_NEEDS = {
    ("holder", "1.0.0"): ("beta", ">=1.0.0,<2", "^1.0.0"),
    ("pinner", "1.0.0"): ("epsilon", "==1.0.0", "1.0.0"),
    ("older", "1.0.0"): ("eta", ">=1.0.0,<2", "^1.0.0"),
    ("newer", "1.0.0"): ("eta", ">=2.0.0,<3", "^2.0.0"),
    ("lifter", "1.0.0"): ("theta", "==1.0.0", "1.0.0"),
    ("lifter", "1.1.0"): ("theta", ">=1.0.1,<2", "^1.0.1"),
}


@dataclass(frozen=True)
class Sample:
    """One repository."""

    name: str
    manager: str
    """pip, poetry, uv, npm or pnpm."""
    troubles: tuple[Trouble, ...]

    @property
    def kind(self) -> str:
        """Return which index it takes its packages from."""
        return NPM if self.manager in ("npm", "pnpm") else PIP

    @property
    def asked(self) -> dict[str, str]:
        """Return what it asks for, and which releases of it will do, in its world's words."""
        found = {}
        for trouble in self.troubles:
            if trouble.direct:
                found[trouble.name] = VERSIONS[trouble.name][0]
            elif trouble is COPIES:
                found |= {"older": "^1.0.0", "newer": "^1.0.0"}
            elif trouble is PARENT:
                found[trouble.above] = "^1.0.0"
            else:
                found[trouble.above] = "1.0.0"
        return found

    @property
    def first(self) -> dict[str, str]:
        """Return the releases that were there when it was locked."""
        below = [each for each in self.troubles if not each.direct]
        found = {each.name: VERSIONS[each.name][0] for each in below if each is not COPIES}
        if PARENT in self.troubles:
            found[PARENT.above] = "1.0.0"
        return found


SAMPLES = (
    Sample("npm-1", "npm", (DIRECT, BELOW, SEVERAL, COPIES)),
    Sample("npm-2", "npm", (DIRECT, BELOW, HELD, PARENT)),
    Sample("npm-3", "npm", (BELOW, NEVER)),
    Sample("pnpm-1", "pnpm", (DIRECT, BELOW, HELD, COPIES)),
    Sample("pnpm-2", "pnpm", (BELOW, SEVERAL)),
    Sample("pip-1", "pip", (DIRECT, SEVERAL)),
    Sample("pip-2", "pip", (DIRECT, NEVER)),
    Sample("pip-3", "pip", (DIRECT, MAJOR)),
    Sample("poetry-1", "poetry", (DIRECT, BELOW, PARENT)),
    Sample("poetry-2", "poetry", (BELOW,)),
    Sample("uv-1", "uv", (DIRECT, BELOW, HELD)),
    Sample("uv-2", "uv", (BELOW, MAJOR, PARENT)),
)


def releases() -> list[Release]:
    """Return all that the index has."""
    found = []
    for kind in (NPM, PIP):
        for name, versions in VERSIONS.items():
            found += [_release(kind, name, version, {}) for version in versions]
        for (name, version), (needed, python, npm) in _NEEDS.items():
            needs = {needed: npm if kind == NPM else python}
            found.append(_release(kind, name, version, needs))
    return found


def alerts(samples: Iterable[Sample] = SAMPLES) -> int:
    """Return how many alerts there are about these."""
    return sum(len(trouble.vulnerable) for each in samples for trouble in each.troubles)


def _release(kind: str, name: str, version: str, needs: dict[str, str]) -> Release:
    file = "index.js" if kind == NPM else f"{name}.py"
    return Release(kind, name, version, needs, {file: ""})
