"""What the model knows beside the issue: instructions, decisions, linked issues, pictures."""

from __future__ import annotations

from tests.app.github.attachments.image_samples import png
from tests.flows.conftest import CALC

FILES = CALC | {
    "AGENTS.md": "Sums are tested with unittest.\n",
    "docs/decisions/0001-whole-numbers.md": "# Whole numbers only\n\nNo fractions.\n",
}


async def test_it_reaches_the_model_through_the_front_door(make_place):
    async with make_place(files=FILES) as place:
        earlier = await place.file("It was right once", "Before the last change.")
        address = place.github.attach_file(place.repository, png())
        text = f"As #{earlier.number} says.\n\n![what I see]({address})\n"
        issue = await place.file("It adds one too many", text)
        await place.label(issue=issue)
        await place.ends("pull_request")

        told = await place.read_prompts("triage/1")
        assert "Sums are tested with unittest." in told
        assert "0001-whole-numbers" in told
        assert "Before the last change." in told
        first = (await place.turns("triage/1"))[0].content
        assert [block["type"] for block in first] == ["text", "image"]
        assert first[1]["source"]["media_type"] == "image/png"
        assert "Sums are tested with unittest." in await place.read_prompts("evaluation/1")
