"""Stages write_setup, publish_setup and settle_without: offer the owners commands that set up.

A model proposed them in an earlier run, and our process saw checks run with them. Code alone writes
the policy file, and people decide whether it is merged.
"""

from __future__ import annotations

from agents.pipelines.guidance.publish_proposal import open_proposal
from agents.pipelines.guidance.write_proposal import commit_files
from agents.policy import POLICY_PATH, add_setup
from agents.ports import SetupMemory, SetupProposal
from agents.requests import Frozen
from agents.run import Outcome, StageContext, stage
from agents.text import code_span, one_line, publish

SUBJECT = "Say how this repository is set up"
COMMAND, REASON = 400, 300  # characters of a command and of a reason

_FORGOTTEN = "No commands are known that set the repository up."
_SAID = f"The policy says how the repository is set up, or `{POLICY_PATH}` cannot be added to."
_NOT_NOW = "The commands do not set up the newest commit of the default branch."
_OWNERS = (
    "The owner's policy holds here, and a file of the repository's own would take its place, so"
    " nothing is proposed."
)
_BODY = f"""\
The set-up that Fettle found in the repository's files left checks unable to run: {{reason}}.

A model proposed these commands. Fettle ran them in a sandbox that reaches package indexes alone, \
on {{base}}, and afterwards {{checks}} could run, which could not before:

{{commands}}

With this change they are how the repository is set up before Fettle works on it, in the same \
sandbox. Nobody but you has read them: change them as you like before you merge.

Close this if you do not want it: it is not proposed again. Until `setup.run` is set, runs go on \
with such commands where nothing else helps; with `setup: {{{{second_look: false}}}}` in \
`{POLICY_PATH}` no model is asked for them."""


class SetupOffer(Frozen):
    """What is offered, or why nothing is."""

    proposal: SetupProposal | None = None
    why_not: str = ""
    """Why nothing is, for people; empty where something was committed."""
    later: bool = False
    """Whether it is tried again another day."""


@stage
async def write_setup(run: StageContext) -> SetupOffer:
    """Write it down."""
    trunk = await run.ports.source.fetch()
    await run.stand_on(trunk)
    await run.policy()  # an unreadable one ends the run
    proposal = await _memory(run).recall()
    if proposal is None or not proposal.holds:
        return SetupOffer(why_not=_FORGOTTEN)
    data = await run.ports.source.show(trunk, POLICY_PATH)
    if data is None and run.given is not None and run.given.origin.owners:
        return SetupOffer(why_not=_OWNERS)
    made = add_setup(data or b"", proposal.commands)
    if made is None:
        return SetupOffer(why_not=_SAID)
    run.update_state(setup=proposal)  # the files lie beside what these commands install
    tried = await run.install()
    if tried.problems or tried.changed:
        return SetupOffer(why_not=_NOT_NOW, later=True)
    await commit_files(run, SUBJECT, {POLICY_PATH: made})
    run.summarize(f"{len(proposal.commands)} commands")
    return SetupOffer(proposal=proposal)


@stage
async def publish_setup(run: StageContext, offered: SetupOffer) -> Outcome:
    """Offer it."""
    assert offered.proposal is not None, "something was committed"
    opened = await open_proposal(run, "setup", SUBJECT, describe_offer(offered.proposal))
    await _memory(run).settle(opened.number or 0)
    run.summarize(f"#{opened.number}")
    return Outcome(
        kind="pull_request",
        text=f"Offered set-up commands for the policy in #{opened.number}.",
        url=opened.url,
        pull_request=opened,
    )


@stage
async def settle_without(run: StageContext, offered: SetupOffer) -> Outcome:
    """Offer nothing, and tell nobody."""
    if not offered.later:
        await _memory(run).settle(0)
    run.summarize("nothing to offer")
    return Outcome(kind="covered", text=offered.why_not)


def describe_offer(proposal: SetupProposal) -> str:
    """Return the pull request's body in Markdown."""
    return _BODY.format(
        reason=publish(one_line(proposal.reason, REASON)).rstrip("."),
        base=f"`{proposal.base[:10]}`",
        checks=", ".join(code_span(one_line(each, COMMAND)) for each in proposal.checks),
        commands="\n".join(f"- {code_span(one_line(e, COMMAND))}" for e in proposal.commands),
    )


def _memory(run: StageContext) -> SetupMemory:
    memory = run.ports.setups
    assert memory is not None, "the offer was made of it"
    return memory
