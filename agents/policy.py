"""What a repository's owners allow and want: `.github/fettle.yml` of the default branch."""

from __future__ import annotations

import yaml
from pathspec import GitIgnoreSpec
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.errors import PolicyInvalid

POLICY_PATH = ".github/fettle.yml"
FAULTS_SHOWN = 5

PROTECTED_PATHS = (
    ".github/workflows/**",
    ".github/actions/**",
    ".github/fettle.yml",
    "**/CODEOWNERS",
    ".gitmodules",
    "**/AGENTS.md",
    "**/CLAUDE.md",
)


class Strict(BaseModel):
    """Owners' settings: an unknown key is an error, not a silent wish."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Check(Strict):
    """One quality tool: a command of the repository whose exit code counts."""

    name: str
    """What people call it, like `tests`."""
    run: str
    """The command, for bash, in the repository's root."""
    timeout: float = Field(default=900, gt=0, le=7200)
    """Seconds after which it is stopped and counts as failed."""


class Budget(Strict):
    """What one run may use up at most."""

    usd: float = Field(default=5.0, gt=0)
    """Dollars for the model."""
    turns: int = Field(default=150, gt=0)
    """Answers of the model."""
    minutes: float = Field(default=120, gt=0)
    """Time at work; waiting for a place, a person or a restart does not count."""


class Policy(Strict):
    """The whole file. Every key is optional."""

    quality: tuple[Check, ...] | None = None
    """The commands that must pass. Absent: found by looking at the repository."""
    protected_paths: tuple[str, ...] = PROTECTED_PATHS
    """Patterns, as in .gitignore, of files that no run may change."""
    budget: Budget = Budget()
    """Limits of one run; the operator's limits hold as well."""

    def protects(self, path: str) -> str | None:
        """Return the pattern that protects this path, or None. Case does not matter."""
        lowered = path.lower()
        for pattern in self.protected_paths:
            if GitIgnoreSpec.from_lines([pattern.lower()]).match_file(lowered):
                return pattern
        return None


def parse_policy(text: bytes | None) -> Policy:
    """Return the policy in that file's bytes; None means no file, so all defaults.

    Raises PolicyInvalid, whose text says where the file is wrong.
    """
    if text is None:
        return Policy()
    try:
        return Policy.model_validate(yaml.safe_load(text) or {})
    except ValidationError as error:
        faults = "; ".join(
            f"`{'.'.join(map(str, e['loc'])) or 'file'}`: {e['msg']}"
            for e in error.errors(include_url=False)[:FAULTS_SHOWN]
        )
        raise PolicyInvalid(f"`{POLICY_PATH}` is not valid: {faults}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # it reads dates and numbers, too
        raise PolicyInvalid(f"`{POLICY_PATH}` is not YAML: {error}") from error
