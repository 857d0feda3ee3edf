"""The second look at a set-up: a model proposes commands where a check cannot run without them.

It sees the files of the default branch and what failed, in a conversation of its own that holds
nothing of the request. Our process tries what it proposes, and says what counts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from pydantic import Field

from agents.analysis.failure_cause import read_cause
from agents.errors import WORDLESS, ConfigError, ModelRefused, TransientError
from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.loop.turns import pair_calls, submits
from agents.pipelines.stages.quality.proposed_commands import MOST_COMMANDS, find_fault
from agents.pipelines.stages.quality.results import CheckStart, Starts
from agents.ports import SetupProposal, SetupResult
from agents.run import StageContext
from agents.text import one_line, printable

TRIES = 3
PATIENCE = 1_800.0  # seconds after which nothing further is tried
SHOWN = 6_000  # characters of what was run, and of what the checks say, in the prompt
TOLD, CAUSE = 3_000, 1_500  # characters of a fault, and of one command's output in it
REASON = 300  # characters of a reason, for people
SOURCE = "proposed by a model"

_FINE = "it runs, or was not looked at to the end"
_FOUND_NONE = "the model found none that would help"
_CHANGED = (
    "The commands changed files that the repository has: {paths}. Leave them as they are: what is"
    " checked has to be what is committed."
)
_LOST = "{command} ran before and does not with these commands."
_NO_GAIN = "Every command succeeded, but no check can run that could not before.\n{still}"
_UNTRIED = "no further one was tried: it would have taken too long"


class ProposedSetup(Submission, tool="submit_setup"):
    """Deliver the commands that set the repository up."""

    commands: tuple[str, ...] = Field(max_length=MOST_COMMANDS)
    """For bash, in this order, each in the repository's root; empty if none would help."""


SECOND_LOOK = Conversation(
    name="second_look",
    prompt=prompt_path(__file__, "second_look.md"),
    output=ProposedSetup,
    capability=Capability.READ_ONLY,
    tier="fast",
    max_turns=16,
    tools=("glob", "grep", "read"),
    usd_share=0.1,
)


async def may_look_again(run: StageContext) -> bool:
    """Return whether a model may be asked: once in a run, and never over the owners' commands."""
    setup = (await run.policy()).setup
    if run.standing.setup is not None or setup.run is not None or not setup.second_look:
        return False
    if SECOND_LOOK not in run.conversations or not (run.unchanged and run.foundation == run.base):
        return False
    try:
        await run.ports.model.capabilities(run.models["fast"])
    except (ModelRefused, ConfigError, TransientError):  # whoever cannot do without says so
        return False
    return True


async def look_again(
    run: StageContext,
    setup: SetupResult,
    before: Starts,
    look: Callable[[], Awaitable[Starts]],
) -> SetupResult:
    """Return the set-up that the run goes on with, where a check cannot run after this one.

    `before` is what the checks came to after it; `look` tells what they come to after another.
    """
    blind = {command: start for command, start in before.items() if start.why}
    if not blind:
        return setup
    trials = _Trials(run, _give_reason(setup, blind), before, look)
    proposal = await _recall(run, trials)
    if proposal is None:
        proposal = await _ask(run, setup, before, trials)
    run.update_state(setup=proposal)
    run.let_go()
    made = trials.results.get(proposal.commands) if proposal.holds else None
    return hold_to(proposal, made or setup)


async def _recall(run: StageContext, trials: _Trials) -> SetupProposal | None:
    """Return what an earlier run's second look came to, where it holds here as well."""
    if run.ports.setups is None or await run.ports.journal.turns(run.current):
        return None  # a conversation under way goes on, whatever others found meanwhile
    earlier = await run.ports.setups.recall()
    if earlier is None or earlier.image != _name_image(run):
        return None  # what helps in one image says nothing of another
    if earlier.holds:
        now = await trials.judge(earlier.commands)
        return now.model_copy(update={"asked": False}) if now.holds else None
    vain = earlier.reason == trials.reason
    return earlier.model_copy(update={"asked": False}) if vain else None


async def _ask(
    run: StageContext, setup: SetupResult, before: Starts, trials: _Trials
) -> SetupProposal:
    """Have a model propose commands; what came of it is kept for later runs."""
    states = "\n\n".join(f"`{c}`: {s.why or _FINE}" for c, s in before.items())
    try:
        said = await run.converse(
            SECOND_LOOK,
            objection=trials.find_objection,
            begin=run.base,
            setup=run.fence(_describe_setup(setup), limit=SHOWN),
            checks=run.fence(printable(states), limit=SHOWN),
        )
        proposal = await trials.judge(said.commands)
        proposal = proposal.model_copy(update={"fault": one_line(proposal.fault, REASON)})
    except (*WORDLESS, ConfigError) as error:  # it came to no end, so another run may try
        return SetupProposal(reason=trials.reason, fault=one_line(str(error), REASON))
    if run.ports.setups is not None:
        await run.ports.setups.note(proposal)
    return proposal


def hold_to(proposal: SetupProposal | None, setup: SetupResult) -> SetupResult:
    """Return what came of a set-up, with what the run's second look came to."""
    if proposal is None:
        return setup
    source = SOURCE if proposal.holds else setup.source
    return setup.model_copy(update={"proposal": proposal, "source": source})


@dataclass
class _Trials:
    """Tries proposals, each once."""

    run: StageContext
    reason: str
    before: Starts
    look: Callable[[], Awaitable[Starts]]
    results: dict[tuple[str, ...], SetupResult] = field(default_factory=dict)
    _judged: dict[tuple[str, ...], SetupProposal] = field(default_factory=dict)
    _began: float = 0.0

    def __post_init__(self) -> None:
        self._began = self.run.clock()

    async def find_objection(self, said: ProposedSetup) -> str | None:
        """Return what the model has to know to do better; None where it has had its tries."""
        proposal = await self.judge(said.commands)
        made = self.results.get(proposal.commands)
        helpless = made is not None and not made.commands  # no sandbox here can run any
        if proposal.holds or not proposal.commands or helpless or await self._is_last():
            return None
        return proposal.fault

    async def judge(self, commands: tuple[str, ...]) -> SetupProposal:
        """Return the proposal with what speaks against it."""
        if not commands:
            return self._propose(commands).model_copy(update={"fault": _FOUND_NONE})
        if commands not in self._judged:
            known = await self.run.find_known_packages()
            fault = await find_fault(commands, known) or (_UNTRIED if self._is_late() else "")
            proposal = self._propose(commands)
            if not fault:
                proposal, fault = await self._try(proposal)
            fault = printable(fault)[:TOLD]
            self._judged[commands] = proposal.model_copy(update={"fault": fault})
        return self._judged[commands]

    def _propose(self, commands: tuple[str, ...]) -> SetupProposal:
        return SetupProposal(
            reason=self.reason,
            commands=commands,
            base=self.run.base if commands else "",
            image=_name_image(self.run),
        )

    async def _try(self, proposal: SetupProposal) -> tuple[SetupProposal, str]:
        """Set the repository up by it and look at the checks; return what speaks against it."""
        run = self.run
        run.update_state(setup=proposal)
        run.let_go()
        try:
            made = await run.install()
            self.results[proposal.commands] = made
            if fault := _find_fault_of(made):
                return proposal, fault
            after = await self.look()
        finally:
            run.update_state(setup=None)
            run.let_go()
        return self._compare(proposal, after)

    def _compare(self, proposal: SetupProposal, after: Starts) -> tuple[SetupProposal, str]:
        """Return it with the checks that run now and could not, or why they are no better off."""
        none = CheckStart(runs=False)
        lost = [c for c, start in self.before.items() if start.runs and not after.get(c, none).runs]
        if lost:
            return proposal, "\n".join(_LOST.format(command=f"`{command}`") for command in lost)
        blind = [command for command, start in self.before.items() if start.why]
        gained = tuple(command for command in blind if after.get(command, none).runs)
        if gained:
            return proposal.model_copy(update={"checks": gained}), ""
        still = [f"`{c}`: {after.get(c, none).why or 'nobody can tell'}" for c in blind]
        return proposal, _NO_GAIN.format(still="\n".join(still))

    def _is_late(self) -> bool:
        return self.run.clock() - self._began > PATIENCE

    async def _is_last(self) -> bool:
        """Return whether so many were sent back that this one was the last, kills or not."""
        turns = await self.run.ports.journal.turns(self.run.current)
        sent_back = sum(submits(c) and "is_error" in told for c, told in pair_calls(turns))
        return sent_back >= TRIES - 1 or self._is_late()


def _name_image(run: StageContext) -> str:
    return run.standing.image.id if run.standing.image is not None else ""


def _find_fault_of(made: SetupResult) -> str:
    """Return what speaks against commands by how they ended, with what they wrote of it."""
    if made.problems:
        failed = [each for each in made.commands if each.exit_code]
        causes = [f"`{c.command}` wrote:\n{read_cause(c.output, CAUSE)}" for c in failed]
        return "\n\n".join((*made.problems, *causes))
    if made.changed:
        return _CHANGED.format(paths=", ".join(f"`{path}`" for path in made.changed[:10]))
    return ""


def _give_reason(setup: SetupResult, blind: Starts) -> str:
    """Return in one line why a model was asked."""
    if setup.problems:
        return one_line(setup.problems[0], REASON)
    command, start = next(iter(blind.items()))
    return one_line(f"`{command}`: {start.why}", REASON)


def _describe_setup(setup: SetupResult) -> str:
    """Return what was run, and what went wrong."""
    ran = [f"$ {each.command}\nexit code {each.exit_code}" for each in setup.commands]
    fault = _find_fault_of(setup.model_copy(update={"changed": ()}))
    return printable(
        "\n\n".join((*(ran or ["nothing was installed"]), *([fault] if fault else [])))
    )
