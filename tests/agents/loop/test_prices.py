"""What an answer costs: every kind of token, and models without a list price."""

import random

import pytest

from agents.loop.prices import cost_of
from agents.ports import Usage

MODEL = "claude-opus-5-5"


def test_prices_count_every_kind_of_token():
    million = 1_000_000
    for model, price_in, price_out, read in (
        ("claude-opus-5-5", 4.0, 20.0, 0.2),
        ("claude-sonnet-5-5", 2.0, 10.0, 0.1),
    ):
        assert cost_of(model, Usage(input=million)) == pytest.approx(price_in)
        assert cost_of(model, Usage(output=million)) == pytest.approx(price_out)
        assert cost_of(model, Usage(cache_write_5m=million)) == pytest.approx(price_in * 1.25)
        assert cost_of(model, Usage(cache_write_1h=million)) == pytest.approx(price_in * 2)
        assert cost_of(model, Usage(cache_read=million)) == pytest.approx(read)
    assert cost_of("claude-haiku-5-5", Usage(input=1000)) == pytest.approx(0.0001)


def test_a_sum_of_kinds_costs_the_sum_of_their_prices():
    rng = random.Random(3)
    for _ in range(50):
        parts = {name: rng.randrange(50_000) for name in Usage.model_fields}
        whole = cost_of(MODEL, Usage(**parts))
        assert whole == pytest.approx(
            sum(cost_of(MODEL, Usage(**{k: v})) for k, v in parts.items())
        )


def test_a_model_without_list_price_costs_nothing_and_says_so_once(caplog):
    assert cost_of("qwen-on-my-desk", Usage(input=5, output=5)) == 0.0
    assert cost_of("qwen-on-my-desk", Usage(input=5, output=5)) == 0.0
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    assert "qwen-on-my-desk" in caplog.text
