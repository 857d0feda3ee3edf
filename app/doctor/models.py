"""The models: does each take the request that runs send, for a price that is known before."""

from __future__ import annotations

import json
from dataclasses import replace

from agents.errors import FettleError
from agents.loop.conversation import begin_query
from agents.pipelines.resolve.pipeline import CONVERSATIONS
from agents.ports import Capabilities, Model, Query, Usage
from app.config.model_access import asked_models, can_ask, open_model, open_prices
from app.config.settings import Settings
from app.doctor.finding import Diagnosis, ok, report_failure, report_skip

SECONDS = 60.0
ABOUT = "model"
CHARACTERS = 3  # of one token, at least
ANSWER = 500  # tokens, thoughts included: one word is asked for
QUESTION = "Are you there? Answer with the word yes, without calling any tool."


def make_question(model: str) -> Query:
    """Return the request that begins a run on an issue, with a question instead of an issue."""
    said = [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}]
    return replace(begin_query(model, CONVERSATIONS), messages=said)


def price_text(settings: Settings) -> str:
    """Return what asking each model costs: the fixed part of every conversation, and a word."""
    names = asked_models(settings)
    sent = make_question(names[0])
    prompt = (len(sent.system) + len(json.dumps(list(sent.tools)))) // CHARACTERS
    asked, prices = Usage(cache_write_1h=prompt, output=ANSWER), open_prices(settings)
    costs = [prices.cost_of(name, asked) for name in names]
    known = [cost for cost in costs if cost is not None]
    if len(known) < len(costs):
        return "no price is known for one of them; it is one word"
    return f"${sum(known):.2f} at most"


async def model_findings(settings: Settings, *, allowed: bool) -> list[Diagnosis]:
    """Ask each model for a word by the request that runs send, if that is allowed."""
    if settings.models == "none":
        said = "No model is asked (FETTLE_MODELS=none): alerts are fixed as far as code can."
        return [report_skip(ABOUT, said)]
    if not can_ask(settings):
        return [report_skip(ABOUT, "It waits for ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL.")]
    if not allowed:
        said = f"Not asked ({price_text(settings)}): say yes, or add `--yes`."
        return [report_skip(ABOUT, said)]
    model = open_model(settings, tries=1, timeout=SECONDS)
    try:
        return [await _ask(model, name) for name in asked_models(settings)]
    finally:
        await model.close()


async def _ask(model: Model, name: str) -> Diagnosis:
    try:
        can = await model.capabilities(name)
        answer = await model.answer(replace(make_question(name), capabilities=can))
    except FettleError as error:
        return report_failure(f"{ABOUT} {name}", str(error), "Check the model's name, too.")
    price = f"${answer.cost_usd:.5f}"
    if answer.estimated:
        price += " by estimate, as of all its answers: its server does not count tokens"
    said = f"answered in {answer.seconds:.1f} s for {price}; {_describe(can)}"
    return ok(f"{ABOUT} {name}", said)


def _describe(can: Capabilities) -> str:
    parts = {
        "effort": can.effort,
        "thinking": can.adaptive_thinking,
        "strict tools": can.strict_tools,
        "cache markers": can.cache_markers,
    }
    without = [name for name, there in parts.items() if not there]
    left_out = f", without {', '.join(without)}" if without else ""
    return f"reads {can.context_window:,} tokens, answers {can.longest_answer:,}{left_out}"
