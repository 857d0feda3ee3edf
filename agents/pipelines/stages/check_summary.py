"""Summarise a check's failures by name, for GitHub and for prompts."""

from __future__ import annotations

from collections.abc import Sequence

from agents.pipelines.stages.run_checks import CheckResult
from agents.text import one_line

NAME_LIMIT = 60  # characters of a check's name in a table
TEST_LIMIT = 90  # and of a test's, which says most at its end
JOINERS = 30  # characters that may be put in between, so that a name sets nothing off
NEW_SHOWN = 3  # names in a table
NEW_TOLD = 40  # names in a prompt

_NEW = "These fail with the change and did not fail before it:"
_FLAKY = "These failed once and not again when it was run once more, so leave them alone:"
_WROTE = "What the check wrote:"


def tally(run: CheckResult) -> str:
    """Return how much failed in a check, and what is new, as Markdown that fits into a table.

    Empty where the check does not say it in a way that is known.
    """
    failed, parts = run.failures, []
    if failed.total:
        parts.append(f"{failed.total}" if failed.whole else f"at least {failed.total}")
    if run.new:
        parts.append(f"{len(run.new)} new: {some_names(run.new)}")
    if run.flaky:
        parts.append(f"{len(run.flaky)} only once")
    return ", ".join(parts)


def some_names(names: Sequence[str]) -> str:
    """Return the first of these names as code spans, and how many there are besides."""
    shown = ", ".join(code(_end(name), TEST_LIMIT + JOINERS) for name in names[:NEW_SHOWN])
    more = len(names) - NEW_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def format_output(run: CheckResult) -> str:
    """Return what a check wrote, the names of what newly fails first; none of it is fenced."""
    parts = [
        "\n".join((title, *(f"- {name}" for name in names[:NEW_TOLD]), *_format_remainder(names)))
        for title, names in ((_NEW, run.new), (_FLAKY, run.flaky))
        if names
    ]
    return "\n\n".join((*parts, f"{_WROTE}\n{run.output}" if parts else run.output))


def code(text: str, limit: int = NAME_LIMIT) -> str:
    """Return a name that others chose as a code span, which also fits into a table."""
    plain = one_line(text, limit).replace("`", "'").replace("|", "¦")
    return f"`{plain}`" if plain else "(no name)"


def _end(name: str) -> str:
    return name if len(name) <= TEST_LIMIT else f"…{name[1 - TEST_LIMIT :]}"


def _format_remainder(names: tuple[str, ...]) -> tuple[str, ...]:
    return (f"- and {len(names) - NEW_TOLD} more",) if len(names) > NEW_TOLD else ()
