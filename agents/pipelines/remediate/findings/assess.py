"""Stage assess: a read-only session judges how far alerts reach, where the policy wants it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from agents.errors import ModelRefused
from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.remediate.findings.alert_group import Affected, AlertGroup, TriageResult
from agents.pipelines.remediate.prompt_text import alerts_shown
from agents.requests import Severity
from agents.run import StageContext, stage

MOST = 8  # places that one judgement keeps


class Judged(BaseModel):
    """How far one advisory reaches."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    ghsa_id: str
    """The advisory, as it was named to you."""
    affected: Affected
    """Whether code of this repository can reach what is vulnerable; `unsure` if you cannot tell."""
    evidence: tuple[str, ...]
    """The places that show it, as `file:line what stands there`."""
    risk: Severity
    """How bad it is here, seen with how the package is used."""
    why: str = Field(min_length=10, max_length=500)
    """In one or two sentences."""


class Assessment(Submission, tool="submit_assessment"):
    """Deliver what you found of the reach."""

    judged: tuple[Judged, ...]
    """Each advisory that you were asked about, once."""


ASSESS = Conversation(
    name="assess",
    prompt=prompt_path(__file__, "assess.md"),
    output=Assessment,
    capability=Capability.READ_ONLY,
    tier="fast",
    max_turns=25,
)


@stage
async def assess(run: StageContext, found: AlertGroup) -> AlertGroup:
    """Judge how far the alerts reach."""
    run.update_state(tainted=True)  # an advisory's text is anybody's
    groups = (found, *found.companions)
    wanted = [result for each in groups for result in each.to_assess]
    wanted = wanted or [*found.unclear]  # in a run that an older version began
    asked = list(dict.fromkeys(each.ghsa_id for each in wanted))
    try:
        done = await run.converse(
            ASSESS,
            objection=lambda said: _objection(said, asked),
            ids=", ".join(asked),
            alerts=await alerts_shown(run, *groups),
        )
    except ModelRefused:  # what code found out stands, and says that it is unclear
        run.summarize("came to no result")
        return found
    by_id = {each.ghsa_id: each for each in done.judged}
    judged = [
        each.model_copy(
            update={
                "triage": tuple(
                    _with_assessment(result, by_id[result.ghsa_id]) if result in wanted else result
                    for result in each.triage
                )
            }
        )
        for each in groups
    ]
    run.summarize(", ".join(f"{each.ghsa_id}: {each.affected}" for each in done.judged[:3]))
    return judged[0].model_copy(update={"companions": tuple(judged[1:])})


def _with_assessment(result: TriageResult, said: Judged) -> TriageResult:
    return result.model_copy(
        update={
            "affected": said.affected,
            "evidence": said.evidence[:MOST] or result.evidence,
            "risk": said.risk,
            "why": said.why,
            "judged": True,
        }
    )


def _objection(said: Assessment, asked: Sequence[str]) -> str | None:
    named = Counter(each.ghsa_id for each in said.judged)
    faults = {
        "Missing": [each for each in asked if each not in named],
        "Named more than once": [each for each, times in named.items() if times > 1],
        "Not asked about": [each for each in named if each not in asked],
        "`yes` and `no` need evidence": [
            j.ghsa_id for j in said.judged if j.affected != "unsure" and not j.evidence
        ],
    }
    found = [f"{fault}: {', '.join(ids)}." for fault, ids in faults.items() if ids]
    return " ".join(found) or None
