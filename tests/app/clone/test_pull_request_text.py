"""A pull request's text from a clone says what was missing when it was made."""

import pytest

from agents.policy import POLICY_PATH
from app.clone.ports import ClonePublisher
from app.secrets.redaction import Redactor
from tests.app.clone.conftest import CALC, GOOD, make_clone


@pytest.mark.parametrize(
    ("caution", "ending"), [("", "Because."), ("**Caution:** x", "**Caution:** x")]
)
async def test_the_text_ends_with_the_caution(tmp_path, caution, ending):
    publisher = ClonePublisher(None, None, "main", Redactor([]), tmp_path, caution)
    pull = await publisher.open_pull_request(
        branch="bot/1", commit="0" * 40, title="t", body="### Why\n\nBecause.", draft=False
    )
    assert pull.body.rstrip().endswith(ending)
    assert pull.body.startswith("### Why\n\nBecause.")


async def test_a_set_up_that_fails_is_in_the_pull_request_and_ends_nothing(bench):
    policy = f"setup: {{run: [no-such-tool install]}}\n{CALC[POLICY_PATH]}"
    clone = make_clone(bench.place / "odd", {**CALC, POLICY_PATH: policy})
    await bench.play(GOOD)

    result = await bench.resolve(clone)

    assert result.outcome.kind == "pull_request", result.outcome
    body = result.outcome.pull_request.body
    assert "**Set-up failed.**" in body
    assert "`no-such-tool install` ended with exit code 127" in body
    assert "failed: `no-such-tool install` ended" in bench.shown.getvalue()
