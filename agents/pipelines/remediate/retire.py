"""Stage retire: remove an override that has reached its date, if the fix holds without it."""

from __future__ import annotations

from collections.abc import Collection

from agents.pipelines.remediate.clean_climb import (
    describe_advisories,
    find_new_advisories,
    find_objection,
)
from agents.pipelines.remediate.findings import make_terms
from agents.pipelines.remediate.ladder import Ecosystem, Fix, Refusal, do_without, ecosystem_of
from agents.pipelines.remediate.work import Bump, Work
from agents.run import StageContext, stage
from agents.text import one_line

_NEEDED = "Still needed. {why}"


@stage
async def retire(run: StageContext, work: Work) -> Work:
    """Do without the override in the work tree, or say why it is needed."""
    group, wish = work.found.group, work.found.retire
    assert wish is not None, "that is what was asked"
    paths = frozenset(await run.ports.source.files(run.base))

    def find_ecosystem(gone: Collection[str]) -> Ecosystem:
        ecosystem = ecosystem_of(paths - frozenset(gone), group)
        assert ecosystem is not None, "the scan has found it there"
        return ecosystem

    tree = await run.tree(run.base, changing=True)
    result = await do_without(tree, find_ecosystem, group, await make_terms(run), wish)
    if isinstance(result, Fix):
        learnt = await find_new_advisories(run, find_ecosystem(()), group, result.moves)
        if learnt.about:
            await tree.restore(run.base)
            reason = _NEEDED.format(why=find_objection(learnt))
            result = Refusal(cause="no_rung", reason=reason, steps=result.steps)
        else:
            evidence, notes = describe_advisories(learnt)
            more = {"evidence": (*result.evidence, *evidence), "notes": (*result.notes, *notes)}
            result = result.model_copy(update=more)
    if isinstance(result, Refusal):
        run.summarize(one_line(result.reason, 120))
        return work.model_copy(update={"refusal": result})
    run.summarize("not needed any more")
    return work.model_copy(update={"bump": Bump.from_fix(result)})
