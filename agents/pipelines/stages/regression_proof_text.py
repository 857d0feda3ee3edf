"""Describe the regression proof, or its absence, for a pull request."""

from __future__ import annotations

from agents.pipelines.stages.quality import CheckResult
from agents.text import command_span, one_line, publish

COMMAND_LIMIT = 200
WHY_LIMIT = 600
NAME = "The tests of the change"

SHOWN = (
    "**A test shows the bug.** Fettle ran it twice in a sandbox without network: on the files from"
    " before the change with the changed test files put onto them, and on the change."
)
NO_BUG = (
    "The issue was read as {kind}, not as a bug, so no test has to fail without the change.{tests}"
)
SAYS_NOTHING = (
    "**That says nothing of the change:** {why}. Run them where they are not skipped before you"
    " merge."
)
NOT_SHOWN = "**No test shows the bug**: {why}."


def tests_section(kind: str, head: CheckResult | None, why: str) -> str:
    """Return what its own tests say of a change that mends no bug, safe to publish."""
    if head is None:
        return NO_BUG.format(kind=command_span(kind, COMMAND_LIMIT), tests="")
    tests = f" {NAME} {_exit(head)} with it: {command_span(head.command, COMMAND_LIMIT)}."
    parts = [NO_BUG.format(kind=command_span(kind, COMMAND_LIMIT), tests=tests)]
    if why:
        parts.append(SAYS_NOTHING.format(why=_line(why)))
    if (head.exit_code or why) and head.output:
        parts.append(f"They end with:\n\n{_fence(head.output)}")
    return "\n\n".join(parts)


def proof_section(
    command: str, base: CheckResult | None, head: CheckResult | None, *, shown: bool, why: str
) -> str:
    """Return the proof as Markdown, safe to publish: a sentence, the runs, what failed before."""
    sentence = SHOWN if shown else NOT_SHOWN.format(why=_line(why))
    parts = [sentence, _table(command, base, head) if base else ""]
    if shown and why:
        parts.append(f"Note: {_line(why)}.")
    if shown and base and base.output:
        parts.append(f"Without the change, it ends with:\n\n{_fence(base.output)}")
    if not shown and head and head.exit_code and head.output:
        parts.append(f"With the change, it ends with:\n\n{_fence(head.output)}")
    return "\n\n".join(part for part in parts if part)


def _line(text: str) -> str:
    return publish(one_line(text, WHY_LIMIT)).strip().rstrip(".")


def _table(command: str, base: CheckResult, head: CheckResult | None) -> str:
    cells = (NAME, command_span(command, COMMAND_LIMIT), _exit(base), _exit(head))
    return "\n".join(
        (
            "| Check | Command | Without the change | With the change |",
            "| --- | --- | --- | --- |",
            f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |",
        )
    )


def _exit(check: CheckResult | None) -> str:
    if check is None:
        return "not run"
    word = "failed" if check.exit_code else "passed"
    return f"{word} (exit {check.exit_code}, {check.seconds} s)"


def _fence(output: str) -> str:
    fence = "```"
    while fence in output:
        fence += "`"
    return f"{fence}text\n{output}\n{fence}"
