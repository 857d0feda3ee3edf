"""The body of a pull request: the model's reasons, and measurements by code around them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

from agents.pipelines.resolve.pull_request.body_judged import asked_for, format_verdict, sub_issues
from agents.pipelines.resolve.pull_request.checked_facts import list_facts
from agents.pipelines.resolve.pull_request.craft_pr import PullRequestText
from agents.pipelines.resolve.work import MeasuredChange, ResolveWork
from agents.pipelines.stages.onboarding import cut_output, list_failed_commands
from agents.pipelines.stages.quality import (
    CheckComparison,
    CheckResult,
    format_by_exit_status,
    format_known,
    format_output,
    format_own_setup,
    format_setup_remarks,
    format_untold,
    some_names,
    tally,
)
from agents.ports import NeighbourPull, SetupResult, Usage
from agents.requests import ResolveIssue
from agents.text import code_span, command_span, fill_template, one_line, publish, put_into_template

WORDS_LIMIT = 8_000  # characters of each text of the model: what we measured needs its place, too
NAME_LIMIT, COMMAND_LIMIT = 60, 200
LINES_AT_BEGIN, LINES_AT_END = 12, 17
"""Of an excerpt: what newly fails stands at its begin, what a tool sums up at its end."""
COMMANDS_SHOWN = 6  # commands of the set-up
MOST_FILES = 6
"""Of one other pull request that are named."""


def pull_request_body(
    request: ResolveIssue,
    text: PullRequestText,
    checked: MeasuredChange,
    work: ResolveWork,
    spent: tuple[Usage, float, int],
    *,
    template: str = "",
    beside: str = "",
    moves: str = "",
    size: str = "",
    granted: Sequence[tuple[str, bool]] = (),
) -> str:
    """Return the body in Markdown: why, what was rejected, how it was verified, what it cost.

    `template`: the repository's own, which takes the place of the reasons: as a model filled it,
    else with the reasons where it asks for them.
    `beside`: which other open pull requests change the same files; `moves`: what came to the
    default branch meanwhile; `size`: which parts the change has, or that it is larger than people
    want it; all fit to be published. `granted`: what people granted with the plan, each with
    whether it was used.
    """
    # Each of the model's texts by itself: what it leaves open must not swallow what follows.
    safe = partial(publish, repository_url=request.repository_url, limit=WORDS_LIMIT)
    quality = checked.quality
    proof = checked.proof
    open_proof = proof.missing or proof.untold
    unchecked = (format_untold(quality), proof.section if open_proof else "")
    verified = (
        _verification(quality),
        "" if open_proof else proof.section,
        _set_up(quality.baseline.setup, safe),
        format_own_setup(quality.own_setup),
        _format_installs(quality.added),
    )
    why = safe(text.why)
    form = fill_template(template, text.template, list_facts(work.finding.kind, checked), safe)
    if not form and template:
        form = put_into_template(template, why, safe)
    sections = [
        _section("What nobody checked", "\n\n".join(part for part in unchecked if part)),
        _section("Size", size),
        form or _section("Why", why),
        _section("What the issue asks for", asked_for(work.verdict, safe)),
        _section("Sub-issues", sub_issues(work, safe)),
        _section("What was considered and rejected", safe(text.rejected)),
        _section("How it was verified", "\n\n".join(part for part in verified if part)),
        _section("What came to the default branch meanwhile", moves),
        _section(checked.inspection.title, checked.inspection.section),
        _section("What was granted with the plan", _format_granted(granted)),
        _section("Still failing", _format_failing_checks(quality)),
        _section("What fresh eyes found", format_verdict(work, safe)),
        _section("For the reviewer", safe(text.notes)),
        _section("Open pull requests on the same files", beside),
        _section("What triage found", safe(work.finding.reasoning)),
        _section("Cost", f"{_cost(spent)} {safe(work.path_note)}"),
    ]
    return "\n\n".join(section for section in sections if section)


def describe_overlaps(pulls: Sequence[NeighbourPull], changed: Collection[str]) -> str:
    """Return which of these pull requests change files of the change, without words of theirs."""
    shared = [(each, sorted(set(changed).intersection(each.files))) for each in pulls]
    return "\n".join(_describe_overlap(each, files) for each, files in shared if files)


def _describe_overlap(pull: NeighbourPull, files: Sequence[str]) -> str:
    """Return the overlap without words of its author: only paths that are this change's as well."""
    named = ", ".join(code_span(one_line(path, 120)) for path in files[:MOST_FILES])
    more = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
    return f"- #{pull.number}: {named}{more}"


def _section(title: str, text: str) -> str:
    return f"### {title}\n\n{text.strip()}" if text.strip() else ""


def _verification(quality: CheckComparison) -> str:
    baseline = quality.baseline
    if not quality.runs:
        return ""
    rows = [
        "| Check | Command | Before | After |",
        "| --- | --- | --- | --- |",
        *(_row(before, after) for before, after in quality.compared),
    ]
    where = (
        f"Run by Fettle in a sandbox without network ({baseline.source}): before on the default"
        f" branch, after on {quality.commit[:10]}. Only failures that are new count."
    )
    flaky = (_format_flaky(quality), format_known(quality))
    parts = ("\n".join(rows), where, format_by_exit_status(quality), *flaky)
    return "\n\n".join(part for part in parts if part)


def _row(before: CheckResult, after: CheckResult) -> str:
    cells = (one_line(after.name, NAME_LIMIT), _command(after), _exit(before), _exit(after))
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def _command(run: CheckResult) -> str:
    return command_span(run.command, COMMAND_LIMIT)


def _exit(run: CheckResult) -> str:
    measured = f"exit {run.exit_code}, {run.seconds} s"
    if not run.exit_code:
        return f"passed ({measured})"
    return f"failed ({'; '.join(part for part in (tally(run), measured) if part)})"


def _format_flaky(quality: CheckComparison) -> str:
    """Return what fails now and then: people can mend it, and must know that it was passed over."""
    told = [run for run in quality.runs if run.verdict != "unknown"]  # else the reasons name them
    names = [name for run in told for name in run.flaky]
    if not names:
        return ""
    return f"Fails now and then, and is held against nobody: {some_names(names)}."


def _set_up(setup: SetupResult, safe: Callable[[str], str]) -> str:
    """Return what came of installing dependencies: checks mean less where some are missing."""
    problems = "\n".join(f"- {problem}" for problem in setup.problems)
    parts = [
        f"**Set-up failed.** Checks may fail or be left out for that reason.\n\n{safe(problems)}"
        if problems
        else "",
        *(
            f"{command_span(c.command, COMMAND_LIMIT)} wrote at the end:\n\n{_fence(cut_output(c))}"
            for c in list_failed_commands(setup)
        ),
        *(safe(note) for note in setup.notes),
        format_setup_remarks(setup),
    ]
    if setup.commands and not setup.problems:
        commands = ", ".join(
            command_span(c.command, COMMAND_LIMIT) for c in setup.commands[:COMMANDS_SHOWN]
        )
        parts.append(f"Dependencies were installed beforehand ({setup.source}): {commands}.")
    return "\n\n".join(part for part in parts if part)


_INSTALLED = (
    "**Installed during the run,** for the checks too, with a person's yes or because the"
    " repository's own manifests name it:"
)


def _format_installs(commands: Sequence[str]) -> str:
    """Return what was installed during the run: a check could pass for that reason."""
    if not commands:
        return ""
    shown = "\n".join(f"- {command_span(command, COMMAND_LIMIT)}" for command in commands)
    return f"{_INSTALLED}\n\n{shown}"


def _format_granted(granted: Sequence[tuple[str, bool]]) -> str:
    return "\n".join(
        f"- {code_span(one_line(what, COMMAND_LIMIT))}: {'used' if used else 'not used'}"
        for what, used in granted
    )


def _format_failing_checks(quality: CheckComparison) -> str:
    """Return what still fails: an excerpt of the first, and the others by name."""
    if not quality.failing:
        return ""
    first, *rest = quality.failing
    ended = f"{_command(first)} ended with exit code {first.exit_code}:"
    parts = [f"{ended}\n\n{_fence(format_output(first))}"]
    if rest:
        parts.append(f"So did, with output left out here: {', '.join(map(_command, rest))}.")
    return "\n\n".join(parts)


def _fence(output: str) -> str:
    """Return the output as a block of code that it cannot close, of at most 30 lines."""
    lines = output.splitlines()
    if (left_out := len(lines) - LINES_AT_BEGIN - LINES_AT_END) > 1:
        told = f"[{left_out} lines left out]"
        output = "\n".join((*lines[:LINES_AT_BEGIN], told, *lines[-LINES_AT_END:]))
    fence = "```"
    while fence in output:
        fence += "`"
    return f"{fence}text\n{output}\n{fence}"


def _cost(spent: tuple[Usage, float, int]) -> str:
    usage, usd, answers = spent
    prompt = usage.input + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h
    cached = f", {usage.cache_read / prompt:.0%} of it read from cache" if prompt else ""
    return (
        f"${usd:.2f} for {answers} model answers, {prompt:,} tokens in{cached},"
        f" {usage.output:,} tokens out."
    )
