"""Stage adapt: change the code to fit the new version, in a commit of its own."""

from __future__ import annotations

from pydantic import Field

from agents.analysis.lock_files import is_dependency_file
from agents.errors import BudgetExceeded, ContextFull, DayOver, ModelRefused, NotAsked
from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.remediate.prompt_text import moves_shown, name_shown
from agents.pipelines.remediate.work import Work
from agents.pipelines.stages.onboarding import describe_setup, read_instructions
from agents.pipelines.stages.quality import CheckResult, format_output, some_names, to_code
from agents.ports import SetupResult
from agents.run import StageContext, stage

PLACES_LIMIT = 4_000
SUMMARY_LIMIT = 3_000

_FILES = "Manifests and lock files are done; put back {files}."


class Adaptation(Submission, tool="submit_adaptation"):
    """Deliver the adapted code."""

    summary: str = Field(min_length=10)
    """What the new version changed, and what you changed for it, in two to six lines; if nothing
    can be done in the code, why not."""
    tried: str
    """What you ran to see that it works, and what it printed."""


ADAPT = Conversation(
    name="adapt",
    prompt=prompt_path(__file__, "adapt.md"),
    output=Adaptation,
    capability=Capability.CHANGE,
    max_turns=60,
)


@stage
async def adapt(run: StageContext, work: Work, setup: SetupResult) -> Work:
    """Have the code follow the new version."""
    run.update_state(tainted=True)  # a release's files and changelog are anybody's
    assert work.bump is not None, "something moved"
    assert work.quality is not None, "and was checked"
    files = frozenset(work.bump.files)

    async def objects(_done: Adaptation) -> str | None:
        tree = run.at_work
        changed = await tree.list_changed_paths(run.head, await tree.snapshot())
        wrong = [path for path in changed if path in files or is_dependency_file(path)]
        return _FILES.format(files=", ".join(wrong[:10])) if wrong else None

    checks = [
        {
            "name": check.name,
            "command": check.command,
            "exit_code": check.exit_code,
            "output": run.fence(format_output(check)),
        }
        for check in work.quality.failing
    ]
    try:
        done = await run.converse(
            ADAPT,
            objection=objects,
            setup=describe_setup(run, setup),
            instructions=await read_instructions(run),
            moves=moves_shown(run, work),
            places=run.fence(_places(work), limit=PLACES_LIMIT),
            checks=checks,
            feedback=run.fence(work.feedback) if work.feedback else "",
        )
    except (BudgetExceeded, ContextFull, ModelRefused) as error:
        return _give_up(run, work, error)
    name = name_shown(work, 50)
    body = "" if work.found.group.undisclosed else done.summary[:SUMMARY_LIMIT]
    commit = await run.commit(f"Adapt the code to the new {name}", body)
    run.summarize(f"changed: {commit[:10]}" if commit else "nothing changed")
    seen = {"adapted": done.summary if commit else "", "broken": _describe_failures(work)}
    return work.model_copy(update=seen)


def _give_up(
    run: StageContext, work: Work, error: BudgetExceeded | ContextFull | ModelRefused
) -> Work:
    """Return the work without code that follows: the checks say what became of it.

    Where the budget ends, that holds for another major version alone, which people can go on with.
    """
    refused = isinstance(error, ModelRefused)
    major = bool(work.bump and work.bump.major and work.quality and work.quality.failing)
    if not refused and (isinstance(error, DayOver) or not major):
        raise error
    run.summarize("came to no result")
    over = not refused or isinstance(error, NotAsked)
    seen = {"broken": _describe_failures(work), "unfollowed": str(error) if over else ""}
    return work.model_copy(update=seen)


def _describe_failures(work: Work) -> str:
    return ", ".join(map(_describe_failure, work.quality.failing if work.quality else ()))


def _describe_failure(check: CheckResult) -> str:
    """Return a check that fails with the new version and its tests that newly do, for people."""
    new = f" ({some_names(check.new)})" if check.new else ""
    return f"{to_code(check.name)}{new}"


def _places(work: Work) -> str:
    found = [line for each in work.found.triage for line in each.evidence]
    return "\n".join(dict.fromkeys(found)) or "No import of the package was found by its name."
