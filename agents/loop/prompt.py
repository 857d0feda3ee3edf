"""Prompt templates: Markdown files beside the stages, filled in strictly."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

SYSTEM = Path(__file__).with_name("system.md")


@cache
def _environment(folder: Path) -> Environment:
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,  # a missing variable is our mistake: loud, not an empty gap
        autoescape=False,  # noqa: S701 - prompts are Markdown for a model, not HTML
        keep_trailing_newline=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(path: Path, **variables: object) -> str:
    """Return the prompt with its variables filled in; an unknown variable raises."""
    return _environment(path.parent).get_template(path.name).render(**variables).strip()


@cache
def system_prompt() -> str:
    """Return the system prompt: one text for every session, so that all share its cache."""
    return SYSTEM.read_text(encoding="utf-8").strip()
