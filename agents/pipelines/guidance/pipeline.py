"""The guidance pipeline: what was learnt of a repository becomes a proposal to write it down.

That is what people said more than once, or with which commands the repository could be set up.
"""

from __future__ import annotations

from agents.pipelines.guidance.find_lessons import FIND_LESSONS, find_lessons, gather
from agents.pipelines.guidance.offer_setup import publish_setup, settle_without, write_setup
from agents.pipelines.guidance.publish_proposal import end_without, publish_proposal
from agents.pipelines.guidance.write_proposal import write_proposal
from agents.requests import OfferSetup, ProposalRequest
from agents.run import Outcome, Run

CONVERSATIONS = (FIND_LESSONS,)
LITTLE = "People have said too little to have said anything more than once."
NOTHING = "People have said nothing more than once that a line would have said before."
"""Why nothing is proposed."""


async def propose(run: Run, request: ProposalRequest) -> Outcome:
    """Propose to write down what people said more than once, or what set the repository up."""
    if isinstance(request, OfferSetup):
        return await offer(run)
    gathered = await run.stage(gather)
    if not gathered.enough:
        return await run.stage(end_without, LITTLE)
    lessons = await run.stage(find_lessons, gathered)
    proposal = await run.stage(write_proposal, gathered, lessons)
    if proposal.empty:
        return await run.stage(end_without, NOTHING)
    return await run.stage(publish_proposal, proposal)


async def offer(run: Run) -> Outcome:
    """Offer the owners the set-up commands that a model found, for their policy."""
    offered = await run.stage(write_setup)
    if offered.why_not:
        return await run.stage(settle_without, offered)
    return await run.stage(publish_setup, offered)
