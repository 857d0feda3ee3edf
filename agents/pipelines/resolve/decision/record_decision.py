"""Stage record_decision: write a decision into the project's decision log."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import Field

from agents.errors import RunError, ToolError
from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.loop.turns import last_tree
from agents.pipelines.resolve.decision.log import ADR_DIR, DecisionLog, find_log, only_adds
from agents.pipelines.resolve.triage.triage import Triage
from agents.policy import POLICY_PATH, Policy
from agents.ports import WorkTree
from agents.requests import Frozen, ResolveIssue
from agents.run import StageContext, stage

LARGEST = 100_000  # bytes of a file of the log


class DecisionRecord(Submission, tool="submit_decision_record"):
    """Deliver the record: the decision log is committed as it is now, and nothing else."""

    title: str = Field(min_length=3, max_length=90)
    """The decision in one line."""
    summary: str
    """Why it is right, in two to five lines; or which record says it."""


class RecordedDecision(Frozen):
    """A decision, and what came of recording it."""

    finding: Triage
    commit: str | None = None
    """None: there is no record, and `note` says why."""
    title: str = ""
    path: str = ""
    """The file with the record."""
    put_back: tuple[str, ...] = ()
    """What else had been changed: not part of the commit."""
    note: str = ""


RECORD_DECISION = Conversation(
    name="record_decision",
    prompt=prompt_path(__file__, "record_decision.md"),
    output=DecisionRecord,
    capability=Capability.CHANGE,
    resumes="triage",
)
_OFF = f"`decisions.record` in `{POLICY_PATH}` says that no decisions are recorded."
_PROTECTED = (
    f"`{{path}}` is protected: `{{pattern}}` is one of the `protected_paths` in `{POLICY_PATH}`."
)


@stage
async def record_decision(
    run: StageContext, request: ResolveIssue, finding: Triage
) -> RecordedDecision:
    """Record the decision."""
    try:
        recorded = await _write_record(run, request, finding)
    except (RunError, ToolError) as error:  # people are told the decision all the same
        recorded = RecordedDecision(finding=finding, note=str(error))
    run.summarize(f"{recorded.path}: {recorded.commit[:10]}" if recorded.commit else "not recorded")
    return recorded


async def _write_record(
    run: StageContext, request: ResolveIssue, finding: Triage
) -> RecordedDecision:
    policy = await run.policy()
    if not policy.decisions.record:
        return RecordedDecision(finding=finding, note=_OFF)
    # On the default branch, also where the run went on with an earlier pull request.
    run.update_state(base=run.trunk, start=run.trunk, head=run.trunk, branch="")
    present = await run.ports.source.files(run.head)
    log = find_log(present, await _find_wanted_log(run, policy, present))
    if pattern := policy.protects(log.place):
        return RecordedDecision(
            finding=finding, note=_PROTECTED.format(path=log.place, pattern=pattern)
        )
    record = await run.converse(
        RECORD_DECISION,
        reference=request.reference,
        url=request.url,
        decision=finding.decision,
        log=log,
    )
    kept, put_back = await _only_the_log(run, log, present)
    if not kept:
        return RecordedDecision(finding=finding, note=record.summary, put_back=put_back)
    commit = await run.commit(f"Record the decision: {record.title}", record.summary)
    return RecordedDecision(
        finding=finding, commit=commit, title=record.title, path=kept[0], put_back=put_back
    )


async def _find_wanted_log(
    run: StageContext, policy: Policy, present: Collection[str]
) -> str | None:
    """Return the log that the owners name: in their policy, or for adr-tools."""
    if policy.decisions.path or ADR_DIR not in present:
        return policy.decisions.path
    named = await run.ports.source.show(run.head, ADR_DIR) or b""
    return named.decode("utf-8", "replace").strip()


async def _only_the_log(
    run: StageContext, log: DecisionLog, present: Collection[str]
) -> tuple[list[str], tuple[str, ...]]:
    """Put every other file back; return the paths of the log, and the other ones."""
    turns = await run.ports.journal.turns(run.standing.sessions[RECORD_DECISION.name])
    left = last_tree(turns, run.current) or run.head
    tree = await run.tree(changing=True)
    changed = await tree.list_changed_paths(run.head, left)
    texts = await log_alone(tree, run.head, left, log, present)
    for path, text in texts.items():
        await tree.write(path, text)
    await run.tree(await tree.snapshot())
    return list(texts), tuple(path for path in changed if path not in texts)


async def log_alone(
    tree: WorkTree, head: str, left: str, log: DecisionLog, present: Collection[str]
) -> dict[str, bytes]:
    """Return what the log takes of the files that the model `left`, the record first.

    Whoever wrote the issue has a say in this session, and nobody checks the change: so what is
    committed is made anew of this, rather than cleaned of everything else.
    """
    texts: dict[str, bytes] = {}
    for path in await tree.list_changed_paths(head, left):
        new = await tree.show(left, path) if log.takes(path, present) else None
        if new and len(new) <= LARGEST and only_adds(await tree.show(head, path) or b"", new):
            texts[path] = new
    if texts.keys() <= {log.index}:  # an index alone would lead nowhere
        return {}
    return dict(sorted(texts.items(), key=lambda text: text[0] == log.index))
