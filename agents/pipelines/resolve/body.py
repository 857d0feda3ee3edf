"""The text of a pull request: the model's reasons, and around them what our process measured."""

from __future__ import annotations

from functools import partial

from agents.pipelines.resolve.craft_pr import PullRequestText
from agents.pipelines.resolve.triage import Triage
from agents.pipelines.shared.quality import Baseline, CheckRun, Quality
from agents.ports import Usage
from agents.requests import ResolveIssue
from agents.text import publish


def pull_request_body(
    request: ResolveIssue,
    finding: Triage,
    text: PullRequestText,
    quality: Quality,
    spent: tuple[Usage, float, int],
) -> str:
    """Return the body in Markdown: why, what was rejected, how it was verified, what it cost."""
    # Each of the model's texts by itself: what it leaves open must not swallow what follows.
    safe = partial(publish, repository_url=request.repository_url)
    sections = [
        _section("Why", safe(text.why)),
        _section("What was considered and rejected", safe(text.rejected)),
        _section("How it was verified", _verification(quality)),
        _section("Still failing", _failing(quality)),
        _section("For the reviewer", safe(text.notes)),
        _section("What triage found", safe(finding.reasoning)),
        _section("Cost", _cost(spent)),
        f"Resolves #{request.number}" if request.number else "",
    ]
    return "\n\n".join(section for section in sections if section)


def _section(title: str, text: str) -> str:
    return f"### {title}\n\n{text.strip()}" if text.strip() else ""


def _verification(quality: Quality) -> str:
    baseline = quality.baseline
    if not quality.runs:
        return f"**Not verified by any check.** {_unavailable(baseline)}".strip()
    before = {run.name: run for run in baseline.runs}
    rows = [
        "| Check | Command | Before | After |",
        "| --- | --- | --- | --- |",
        *(_row(run, before[run.name]) for run in quality.runs),
    ]
    where = (
        f"Run by Fettle in a sandbox without network ({baseline.source}): before on the default"
        f" branch, after on {quality.commit[:10]}. Only failures that are new count."
    )
    return "\n\n".join(part for part in ("\n".join(rows), where, _unavailable(baseline)) if part)


def _row(after: CheckRun, before: CheckRun) -> str:
    command = after.command.replace("|", "\\|").replace("`", "'")
    return f"| {after.name} | `{command}` | {_exit(before)} | {_exit(after)} |"


def _exit(run: CheckRun) -> str:
    return f"{'passed' if run.exit_code == 0 else 'failed'} (exit {run.exit_code}, {run.seconds} s)"


def _unavailable(baseline: Baseline) -> str:
    if not baseline.unavailable:
        return ""
    commands = ", ".join(f"`{command}`" for command in baseline.unavailable)
    return f"Suggested by the repository but not available in the sandbox: {commands}."


def _failing(quality: Quality) -> str:
    return "\n\n".join(
        f"`{run.command}` ended with exit code {run.exit_code}:\n\n{_fenced(run.output)}"
        for run in quality.failing
    )


def _fenced(output: str) -> str:
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
