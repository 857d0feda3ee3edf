"""The result of looking for a policy: missing, invalid or valid, and where it was."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from pydantic import BaseModel, ConfigDict

from agents.policy.document import LONGEST, PolicyFault
from agents.policy.parse import examine, parse_policy
from agents.policy.policy import POLICY_PATH, Policy

FOLDER, NAME = POLICY_PATH.split("/")
_STEM = PurePosixPath(NAME).stem
_SUFFIXES = (".yml", ".yaml")


class PolicyOrigin(BaseModel):
    """Where a policy was read."""

    model_config = ConfigDict(frozen=True)

    repository: str = ""
    """`owner/name`; empty for files that lie on this machine."""
    url: str = ""
    """The page of the file; empty where it has none."""
    owners: bool = False
    """It is the owner's for all of their repositories, which the repository at hand falls back
    to."""
    secret: bool = False
    """Who may see the repository at hand may not see this one."""


class PinnedPolicy(BaseModel):
    """What a run keeps of the policy that it began under, for all processes that go on with it."""

    model_config = ConfigDict(frozen=True)

    text: str | None
    """None: there was none, so all defaults."""
    origin: PolicyOrigin = PolicyOrigin()

    def policy(self) -> Policy:
        """Return the policy. Raises PolicyInvalid: it was valid when an older Fettle read it."""
        return parse_policy(None if self.text is None else self.text.encode())


@dataclass(frozen=True)
class MissingPolicy:
    """There is none, neither here nor at the owner's: all defaults."""

    policy: Policy = field(default_factory=Policy)

    @property
    def given(self) -> PinnedPolicy:
        """Return what a run keeps of it."""
        return PinnedPolicy(text=None)


@dataclass(frozen=True)
class ValidPolicy:
    """There is one, and it holds."""

    policy: Policy
    text: str
    origin: PolicyOrigin

    @property
    def given(self) -> PinnedPolicy:
        """Return what a run keeps of it."""
        return PinnedPolicy(text=self.text, origin=self.origin)


@dataclass(frozen=True)
class InvalidPolicy:
    """There is one, and nobody can say what it wants. Nothing is done then, least by defaults."""

    faults: tuple[PolicyFault, ...]
    origin: PolicyOrigin


Found = MissingPolicy | ValidPolicy | InvalidPolicy


@dataclass(frozen=True)
class FolderEntry:
    """What a folder of a repository holds under one name."""

    name: str
    kind: Literal["file", "symlink", "submodule", "folder"]
    size: int
    id: str
    """Git's id of it: the same id, the same bytes."""
    url: str = ""


def listed_policy(entries: Iterable[FolderEntry]) -> FolderEntry | PolicyFault | None:
    """Return the policy among what the folder `.github` holds; a fault where it must not be read.

    What is called nearly so was meant to be one: without a word its rules would not hold.
    """
    named = [each for each in entries if _resembles_policy_name(each.name)]
    other = next((each for each in named if each.name != NAME), None)
    if other is not None:
        return PolicyFault(
            1, 1, f"it has to be called `{POLICY_PATH}`, not `{FOLDER}/{other.name}`"
        )
    if not named:
        return None
    entry = named[0]
    if entry.kind != "file":
        return PolicyFault(1, 1, f"it has to be a file, and is a {_KINDS[entry.kind]}")
    if entry.size > LONGEST:
        return PolicyFault(1, 1, f"it has {entry.size} bytes, and may have {LONGEST}")
    return entry


def found_in(data: bytes, origin: PolicyOrigin) -> ValidPolicy | InvalidPolicy:
    """Return what is in the file."""
    found = examine(data)
    if isinstance(found, Policy):
        return ValidPolicy(found, data.decode("utf-8-sig"), origin)
    return InvalidPolicy(found, origin)


def _resembles_policy_name(name: str) -> bool:
    lowered = name.lower()
    return any(lowered == f"{_STEM}{suffix}" for suffix in _SUFFIXES)


_KINDS = {"symlink": "symbolic link", "submodule": "submodule", "folder": "folder"}
