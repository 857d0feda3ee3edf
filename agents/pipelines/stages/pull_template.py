"""The repository's template for descriptions of pull requests, as it is on its default branch."""

from __future__ import annotations

from agents.pipelines.stages.onboarding import read_text
from agents.run import StageContext
from agents.text import publish, pull_template
from agents.text.pull_template import LIMIT, find_template


async def read_template(run: StageContext) -> str:
    """Return the default branch's template without what is hidden in it; empty if there is none."""
    path = find_template(await run.ports.source.files(run.trunk))
    text = await read_text(run, path) if path else ""
    return text if len(text) <= LIMIT else ""


async def put_into_template(run: StageContext, made: str) -> str:
    """Return a description that code made, in the repository's template if there is one."""
    template = await read_template(run)
    return pull_template.put_into_template(template, made, publish) if template else made
