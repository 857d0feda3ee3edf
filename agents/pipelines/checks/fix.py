"""Stage fix: mend the failures that the branch caused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.analysis.lock_files import is_dependency_file
from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.checks.consider import checks_port, remember
from agents.pipelines.checks.failures import Failure, Failures
from agents.pipelines.stages.checkout_pull_request import reviewing_port
from agents.pipelines.stages.onboarding import describe_ground, read_instructions
from agents.ports import SetupResult
from agents.run import StageContext, stage
from agents.text import clean_in_child, one_line

MOST = 20  # checks that the model looks into
LOGS_LIMIT = 60_000  # characters of all logs together
LOG_LIMIT, LEAST = 16_000, 3_000  # and of one
SUMMARY_LIMIT = 3_000  # of what a check says of itself
UPDATE_LIMIT = 12_000  # of what a bot says of its update: release notes, mostly
DIFF_LIMIT = 30_000  # of what the pull request changes
NAME = 40

BOTH_WAYS = "A check of the same name passed on this commit: of another workflow, or another event."


class Cause(BaseModel):
    """Why one check fails."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    about: str
    """The key of the check, like `c2`."""
    kind: Literal["branch", "flaky", "external"]
    """Whose fault it is, as the stage describes."""
    why: str = Field(min_length=10, max_length=600)
    """The cause, with the line of the log that shows it; for `branch` also what you changed, or
    why you could not."""


class ChecksFixed(Submission, tool="submit_checks_fixed"):
    """Deliver the fix of the failing checks."""

    causes: tuple[Cause, ...]
    """Each check that you were given, once."""
    summary: str
    """What you changed and why that is the cure, for the commit's body, in two to six lines; empty
    when nothing was to be changed."""


IMPLEMENT = Conversation(
    name="implement",
    prompt=prompt_path(__file__, "fix_checks.md"),
    output=ChecksFixed,
    capability=Capability.CHANGE,
    max_turns=60,
)


@stage
async def fix(run: StageContext, failures: Failures, setup: SetupResult) -> Failures:
    """Mend the failing checks."""
    run.update_state(tainted=True)  # their logs hold whatever their programs came across
    await remember(run, failures.head)  # once, also where this try comes to no end
    asked = {f"c{number}": each for number, each in enumerate(failures.ours[:MOST], 1)}

    async def objects(done: ChecksFixed) -> str | None:
        tree = run.at_work
        changed = await tree.list_changed_paths(run.head, await tree.snapshot())
        return _objection(
            done, list(asked), changed, update=bool(failures.updater) or failures.on_update
        )

    done = await run.converse(
        IMPLEMENT,
        objection=objects,
        setup=await describe_ground(run, setup),
        instructions=await read_instructions(run),
        head=failures.head[:12],
        update=await _describe_update(run, failures),
        diff=await _diff(run, failures),
        checks=await _describe_failures(run, asked),
    )
    commit = await run.commit(subject(_list_fixed_checks(done, asked)), done.summary)
    run.summarize(f"changed: {commit[:10]}" if commit else "nothing changed")
    return failures.model_copy(
        update={
            "every": _with_judgements(failures.every, done, asked),
            "summary": done.summary if commit else "",
            "commit": commit or "",
        }
    )


def subject(names: Sequence[str]) -> str:
    """Return the subject of the commit that mends these checks."""
    quoted = [f"`{one_line(name, NAME).replace('`', chr(39))}`" for name in names]
    if len(quoted) == 1:
        return f"Fix the check {quoted[0]}"
    return f"Fix the checks {', '.join(quoted[:-1])} and {quoted[-1]}" if quoted else "Fix checks"


def _list_fixed_checks(done: ChecksFixed, asked: Mapping[str, Failure]) -> list[str]:
    """Return the names of the checks that the change is for."""
    return [asked[cause.about].check.name for cause in done.causes if cause.kind == "branch"]


def _with_judgements(
    every: Sequence[Failure], done: ChecksFixed, asked: Mapping[str, Failure]
) -> tuple[Failure, ...]:
    """Return all failures, with what the model says of those that it was asked about."""
    judged = list(every)
    for cause in done.causes:
        failure = asked[cause.about]
        said = {"kind": cause.kind, "why": cause.why, "said": True}
        judged[judged.index(failure)] = failure.model_copy(update=said)
    return tuple(judged)


def _objection(
    done: ChecksFixed, keys: Sequence[str], changed: Sequence[str], *, update: bool = False
) -> str | None:
    """Return what is missing, twice or unknown, changed for no check, or not to be changed.

    `update`: the pull request is another bot's, which moves dependencies, or stands on one.
    """
    named = Counter(cause.about for cause in done.causes)
    faults = {
        "Missing": [key for key in keys if key not in named],
        "Named more than once": [key for key, times in named.items() if times > 1],
        "Not one of the keys": [key for key in named if key not in keys],
    }
    said = [f"{fault}: {', '.join(found)}." for fault, found in faults.items() if found]
    if changed and all(cause.kind != "branch" for cause in done.causes):
        said.append(
            f"No check is `branch`, so nothing is to be changed: put back {', '.join(changed)}."
        )
    if update and (theirs := [path for path in changed if is_dependency_file(path)]):
        said.append(f"The dependencies stay as the bot moved them: put back {', '.join(theirs)}.")
    if changed and not done.summary.strip():
        said.append("Files were changed: `summary` has to say what and why.")
    return " ".join(said) or None


async def _describe_update(run: StageContext, failures: Failures) -> str:
    """Return what the bot says of its update, and of the releases; empty where it is none."""
    if not failures.updater:
        return ""
    pull = await reviewing_port(run).pull()
    body = (await clean_in_child(pull.body)).text
    return run.fence(f"{one_line(pull.title, 200)}\n\n{body}", limit=UPDATE_LIMIT)


async def _describe_failures(
    run: StageContext, asked: Mapping[str, Failure]
) -> list[dict[str, str]]:
    limit = max(LEAST, min(LOG_LIMIT, LOGS_LIMIT // max(1, len(asked))))
    return [
        {
            "key": key,
            "about": await _describe_failure(run, each),
            "log": await _log(run, each, limit),
        }
        for key, each in asked.items()
    ]


async def _describe_failure(run: StageContext, failure: Failure) -> str:
    check = failure.check
    lines = (
        f"Name: {one_line(check.name, 200)}",
        f"Of: {one_line(check.app, 100)}",
        f"Ended: {check.ended}",
        BOTH_WAYS if failure.both_ways else "",
        f"What it says of itself:\n{(await clean_in_child(check.summary)).text}"
        if check.summary.strip()
        else "",
    )
    return run.fence("\n".join(line for line in lines if line), limit=SUMMARY_LIMIT)


async def _log(run: StageContext, failure: Failure, limit: int) -> str:
    text = await checks_port(run).log(failure.check, limit=limit)
    return run.fence((await clean_in_child(text)).text, limit=limit)


async def _diff(run: StageContext, failures: Failures) -> str:
    """Return what the pull request changes, fenced."""
    source, tree = run.ports.source, await run.tree()
    fork = await source.fork_point(failures.trunk or run.trunk, run.head)
    return run.fence(await tree.diff(fork, run.head), limit=DIFF_LIMIT)
