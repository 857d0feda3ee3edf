"""A pull request's text from a clone says when it was made without a full sandbox."""

import pytest

from app.clone.ports import ClonePublisher
from app.secrets.redaction import Redactor


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
