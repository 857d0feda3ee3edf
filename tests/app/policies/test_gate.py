"""A run keeps the policy that it was admitted under: its words, its models, over a restart."""

from __future__ import annotations

import pytest

from agents.errors import ConfigError, ModelRefused, TransientError
from agents.loop.no_model import NoModel
from agents.pipelines.pipeline import Pipeline
from agents.pipelines.registry import PIPELINES
from agents.policy import (
    InvalidPolicy,
    MissingPolicy,
    PinnedPolicy,
    PolicyOrigin,
    ValidPolicy,
    found_in,
)
from agents.requests import RemediateAlert, ResolveIssue
from agents.run import Outcome, stage
from app.policies.gate import PolicyGate
from app.runs.admission import Admission, require_models
from handlers.access.issues import AskerFacts
from tests.app.runs.conductor.conftest import machine, make_asking, wish
from tests.fakes.requests import build_remediate_alert

__all__ = ["machine", "wish"]  # fixtures

CHEAP = b"budget: {usd: 1}\nmodels: {strong: small-1}\n"
DEAR = b"budget: {usd: 9}\nmodels: {strong: big-9}\n"


def admission(data):
    return Admission(policy=found_in(data, PolicyOrigin()).given, tainted=False)


class Watching:
    """A pipeline that keeps what its runs were given."""

    def __init__(self, machine):
        self.machine = machine
        self.seen = []

    async def work(self, run, request):
        @stage
        async def look(run) -> str:
            """Look at what holds."""
            return f"{(await run.policy()).budget.usd:g} {run.models.get('strong')}"

        self.seen.append(await run.stage(look))
        outcome = await self.machine.pipeline(run, request)
        self.seen.append(
            f"{(await run.context.policy()).budget.usd:g} {run.context.models.get('strong')}"
        )
        return Outcome(kind="comment", text=outcome.text)


async def test_the_policy_of_its_beginning_holds_to_its_end(machine, wish, monkeypatch):
    watching = Watching(machine)
    monkeypatch.setitem(PIPELINES, ResolveIssue, Pipeline(watching.work, ()))
    machine.works, machine.admission = [make_asking()], admission(CHEAP)
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()

    await machine.engine.drain(0)
    machine.admission = admission(DEAR)
    await machine.restart()
    await machine.wait_for_parked()
    await machine.decide(waiting)
    await machine.end()

    assert set(watching.seen) == {"1 small-1"}


@pytest.mark.parametrize("tier", ["strong", "judge", "fast"])
async def test_each_tier_is_the_model_that_is_named(machine, wish, monkeypatch, tier):
    seen = []

    async def work(run, request):
        seen.append(run.context.models)
        return await machine.pipeline(run, request)

    monkeypatch.setitem(PIPELINES, ResolveIssue, Pipeline(work, ()))
    machine.admission = admission(f"models: {{{tier}: small-1}}\n".encode())
    await machine.queue.submit("0001-run", wish)
    await machine.end()

    assert seen == [{tier: "small-1"}]


@pytest.mark.parametrize("wanted", ["all", "none"])
async def test_whether_models_are_asked_about_alerts_is_as_the_policy_says(
    machine, wish, monkeypatch, wanted
):
    seen = {}

    async def work(run, request):
        seen[type(request)] = run.context.ports.model
        return await machine.pipeline(run, request)

    for kind in (ResolveIssue, RemediateAlert):
        monkeypatch.setitem(PIPELINES, kind, Pipeline(work, ()))
    machine.admission = admission(f"remediation: {{models: {wanted}}}\n".encode())
    await machine.queue.submit("0001-run", build_remediate_alert())
    await machine.queue.submit("0002-run", wish)
    await machine.end()

    assert seen[ResolveIssue] is not seen[RemediateAlert] or wanted == "all"
    assert isinstance(seen[RemediateAlert], NoModel) is (wanted == "none")
    assert not isinstance(seen[ResolveIssue], NoModel)
    if wanted == "none":
        with pytest.raises(ModelRefused, match=r"The repository's policy.*remediation.models"):
            await seen[RemediateAlert].capabilities("big-9")


async def test_who_answers_and_how_hard_they_think_is_as_the_policy_says_else_as_the_operator_does(
    machine, wish, monkeypatch
):
    seen = []

    async def work(run, request):
        seen.extend([run.context.efforts, run.context.tiers])
        return await machine.pipeline(run, request)

    monkeypatch.setitem(PIPELINES, ResolveIssue, Pipeline(work, ()))
    machine.replace(efforts={"*": "medium", "triage": "low"}, tiers={"triage": "fast"})
    said = b"models: {effort: {triage: high, evaluation: high}, tiers: {craft_pr: strong}}\n"
    machine.admission = admission(said)
    await machine.queue.submit("0001-run", wish)
    await machine.end()

    efforts = {"*": "medium", "triage": "high", "evaluation": "high"}
    assert seen == [efforts, {"triage": "fast", "craft_pr": "strong"}]


async def test_what_is_found_is_kept_as_text_and_nothing_is_kept_of_what_is_wrong(wish):
    async def judge(found):
        async def read():
            return found

        return await PolicyGate(wish, read, frozenset({"small-1"})).judge(
            AskerFacts(role_name="write", permission="write")
        )

    assert await judge(MissingPolicy()) == (None, PinnedPolicy(text=None))
    refusal, given = await judge(found_in(CHEAP, PolicyOrigin(repository="octo/lib")))
    assert refusal is None
    assert (given.text, given.origin.repository) == (CHEAP.decode(), "octo/lib")
    refusal, given = await judge(found_in(b"nonsense", PolicyOrigin()))
    assert isinstance(found_in(b"nonsense", PolicyOrigin()), InvalidPolicy)
    assert (refusal.rule, given) == ("policy-valid", None)
    refusal, given = await judge(found_in(DEAR, PolicyOrigin()))
    assert isinstance(found_in(DEAR, PolicyOrigin()), ValidPolicy)
    assert refusal.rule == "models-allowed"


def test_a_record_of_an_older_version_has_no_policy():
    older = {"refusal": None, "tainted": False, "cancelled": ""}
    assert Admission.model_validate(older).policy is None


class PricedModel:
    """Knows what some models cost; the others cannot be talked with."""

    def __init__(self, *known):
        self.known, self.asked = known, []

    async def capabilities(self, model):
        self.asked.append(model)
        if model == "away":
            raise TransientError("Its server is out of reach.")
        if model not in self.known:
            raise ConfigError(f"No price is known for `{model}`.")


async def test_a_model_of_which_nothing_could_begin_is_found_before_the_run_does():
    model = PricedModel("big-9")
    await require_models(model, ["big-9", "away", "big-9"])
    assert model.asked == ["big-9", "away"]
    with pytest.raises(ConfigError, match="small-1"):
        await require_models(model, ["big-9", "small-1"])


async def test_the_models_of_the_policy_are_looked_at_once_at_the_beginning(machine, wish):
    machine.model, machine.admission = PricedModel("big-9"), admission(DEAR)
    machine.works = ["done"]
    await machine.queue.submit("0001-run", wish)
    await machine.end()
    assert machine.model.asked == ["big-9"]

    machine.admission = admission(CHEAP)
    await machine.queue.submit("0002-run", wish)
    refused = await machine.engine.result("0002-run")
    assert refused["kind"] == "refused"
    assert "No price is known for `small-1`." in refused["text"]


async def test_without_models_an_issue_is_refused_in_words_before_any_work(machine, wish):
    machine.model = NoModel()
    machine.replace(models={"strong": "big-9"})
    machine.admission, machine.works = admission(b""), ["done"]
    await machine.queue.submit("0001-run", wish)

    refused = await machine.engine.result("0001-run")

    assert refused["kind"] == "refused"
    assert "FETTLE_MODELS=none" in refused["text"]
    assert machine.works == ["done"], "no stage began"
