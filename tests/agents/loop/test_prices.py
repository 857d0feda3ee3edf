"""What an answer costs: every kind of token, names as clouds dress them, the operator's prices."""

import random

import pytest

from agents.errors import ConfigError
from agents.loop.prices import ModelPrice, PriceList, read_prices
from agents.ports import Usage

MODEL = "claude-opus-5-5"
MILLION = 1_000_000
LISTED = PriceList()


def test_prices_count_every_kind_of_token():
    for model, price_in, price_out, read in (
        ("claude-opus-5-5", 4.0, 20.0, 0.2),
        ("claude-sonnet-5-5", 2.0, 10.0, 0.1),
    ):
        kinds = {
            "input": price_in,
            "output": price_out,
            "cache_write_5m": price_in * 1.25,
            "cache_write_1h": price_in * 2,
            "cache_read": read,
        }
        for kind, dollars in kinds.items():
            assert LISTED.cost_of(model, Usage(**{kind: MILLION})) == pytest.approx(dollars), kind
    assert LISTED.cost_of("claude-haiku-5-5", Usage(input=1000)) == pytest.approx(0.0001)


def test_a_sum_of_kinds_costs_the_sum_of_their_prices():
    rng = random.Random(3)
    for _ in range(50):
        parts = {name: rng.randrange(50_000) for name in Usage.model_fields}
        whole = LISTED.cost_of(MODEL, Usage(**parts))
        assert whole == pytest.approx(
            sum(LISTED.cost_of(MODEL, Usage(**{k: v})) for k, v in parts.items())
        )


@pytest.mark.parametrize(
    "name",
    [
        "us.anthropic.claude-opus-5-5-v1:0",
        "claude-opus-5-5@20260922",
        "anthropic/claude-opus-5-5",
    ],
)
def test_a_model_costs_the_same_by_each_of_its_names(name):
    assert LISTED.cost_of(name, Usage(input=MILLION)) == pytest.approx(4.0)


def test_a_model_that_nobody_knows_has_no_price():
    assert LISTED.cost_of("qwen-on-my-desk", Usage(input=5, output=5)) is None
    with pytest.raises(ConfigError, match=r"`qwen-on-my-desk`.*FETTLE_PRICE_FILE"):
        LISTED.require("qwen-on-my-desk")
    LISTED.require(MODEL)


FILE = """
["house"]
input = 1
output = 3.5
cache_read = 0.1

["claude-opus-5-5"]
input = 2
output = 2

["*"]
input = 0
output = 0
"""


def test_the_operators_prices_go_before_the_list(tmp_path):
    file = tmp_path / "prices.toml"
    file.write_text(FILE)
    prices = read_prices(file)

    used = Usage(
        input=MILLION, output=MILLION, cache_read=MILLION, cache_write_5m=MILLION, cache_write_1h=1
    )
    assert prices.cost_of("house", used) == pytest.approx(1 + 3.5 + 0.1 + 1 + 1e-6)
    for name in ("claude-opus-5-5", "eu.anthropic.claude-opus-5-5-v1:0"):
        assert prices.cost_of(name, Usage(input=MILLION)) == 2.0
    assert prices.cost_of("claude-sonnet-5-5", Usage(input=MILLION)) == pytest.approx(2.0)
    assert prices.cost_of("qwen", used) == 0.0
    prices.require("qwen")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[house]\ninput = 1\n", "house.output: Field required"),
        ("[house]\ninput = -1\noutput = 1\n", "house.input: "),
        ("[house]\ninput = inf\noutput = 1\n", "house.input: "),
        ("[house]\ninput = 1\noutput = 1\nper = 2\n", "house.per: "),
        ("house = [", "Invalid value"),
        ("\0", "Invalid statement"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_with_how_it_should_be(tmp_path, text, why):
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as raised:
        read_prices(file)
    assert why in str(raised.value)
    assert "dollars for a million tokens" in str(raised.value)
    assert str(tmp_path) not in str(raised.value)


def test_a_file_that_is_gone_is_told(tmp_path):
    with pytest.raises(ConfigError, match="No such file"):
        read_prices(tmp_path / "prices.toml")


def test_a_price_of_nothing_is_a_price():
    free = PriceList({"*": ModelPrice(input=0, output=0)})
    free.require("anything")
    assert free.cost_of("anything", Usage(input=MILLION)) == 0.0
