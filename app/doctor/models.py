"""The models: does each answer, for a price that is known before."""

from __future__ import annotations

from agents.errors import FettleError
from agents.loop.model import ClaudeModel
from agents.loop.prices import cost_of
from agents.ports import Query, Usage
from app.config.settings import Settings
from app.doctor.finding import Diagnosis, ok, report_failure, report_skip

TOKENS = Usage(input=24, output=1)
"""What the question takes at most."""
SECONDS = 30.0
ABOUT = "model"


def asked_models(settings: Settings) -> list[str]:
    """Return the models that runs use, each once."""
    every = (settings.model, settings.model_judge or settings.model, settings.model_fast)
    return list(dict.fromkeys(every))


def price_text(settings: Settings) -> str:
    """Return what asking each model for one token costs."""
    costs = [cost_of(model, TOKENS) for model in asked_models(settings)]
    if not all(costs):
        return "no list price is known for one of them; it is one token"
    return f"${sum(costs):.4f} at most"


def can_ask(settings: Settings) -> bool:
    """Tell whether there is a way to a model at all."""
    return bool(settings.anthropic_api_key or settings.anthropic_base_url)


async def model_findings(settings: Settings, *, allowed: bool) -> list[Diagnosis]:
    """Ask each model for one token, if that is allowed."""
    if not can_ask(settings):
        return [report_skip(ABOUT, "It waits for ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL.")]
    if not allowed:
        said = f"Not asked ({price_text(settings)}): say yes, or add `--yes`."
        return [report_skip(ABOUT, said)]
    key = settings.anthropic_api_key
    model = ClaudeModel(
        key.get_secret_value() if key else None,
        settings.anthropic_base_url,
        plain=True,
        tries=1,
        timeout=SECONDS,
    )
    try:
        return [await _ask(model, name) for name in asked_models(settings)]
    finally:
        await model.close()


async def _ask(model: ClaudeModel, name: str) -> Diagnosis:
    question = Query(
        model=name,
        system="Answer with one word.",
        tools=(),
        messages=[{"role": "user", "content": "Are you there?"}],
        max_tokens=1,
    )
    try:
        answer = await model.answer(question)
    except FettleError as error:
        return report_failure(f"{ABOUT} {name}", str(error), "Check the model's name, too.")
    return ok(f"{ABOUT} {name}", f"answered in {answer.seconds:.1f} s for ${answer.cost_usd:.5f}")
