"""Installing dependencies in a run on a clone: what cannot be installed is said to people."""

from tests.app.clone.conftest import CALC, GOOD, make_clone


async def test_a_set_up_that_fails_is_in_the_pull_request_and_ends_nothing(bench):
    clone = make_clone(bench.place / "php", {**CALC, "composer.json": "{}"})
    await bench.play(GOOD)

    result = await bench.resolve(clone)

    assert result.outcome.kind == "pull_request", result.outcome
    body = result.outcome.pull_request.body
    assert "**Set-up failed.**" in body
    assert "PHP needs composer, which sandboxes here do not have" in body
    assert "failed: PHP needs composer" in bench.shown.getvalue()
