"""What every request begins with, for the bench `turns`: system prompt and tools, in tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from agents.loop.conversation import AnyConversation, root_of, system_prompt, tool_list
from agents.pipelines.registry import PIPELINES
from app.simulator.model import LocalModel, Script

AIM = 4000


@dataclass(frozen=True)
class Prefix:
    """The tokens before the first message of a session."""

    pipeline: str
    session: str
    """The conversation that begins it."""
    stages: int
    """Conversations that may take part in it."""
    system: int
    tools: int
    submissions: dict[str, int]

    @property
    def total(self) -> int:
        return self.system + self.tools + sum(self.submissions.values())


async def prefixes() -> list[Prefix]:
    """Count them for every session that a pipeline may begin."""
    model = await LocalModel.start(Script(()))
    try:
        async with aiohttp.ClientSession(model.url) as session:
            return [
                await _prefix(session, request.__name__, root, pipeline.conversations)
                for request, pipeline in PIPELINES.items()
                for root in pipeline.conversations
                if root.resumes is None
            ]
    finally:
        await model.stop()


async def _prefix(
    session: aiohttp.ClientSession,
    pipeline: str,
    root: AnyConversation,
    among: Sequence[AnyConversation],
) -> Prefix:
    tools = tool_list(among)
    names = [str(tool["name"]) for tool in tools]
    empty = await _count(session, "", [])
    counted = [await _count(session, "", [tool]) - empty for tool in tools]
    by_name = dict(zip(names, counted, strict=True))
    submissions = {n: count for n, count in by_name.items() if n.startswith("submit_")}
    return Prefix(
        pipeline,
        root.name,
        sum(root_of(each, among) is root for each in among),
        await _count(session, system_prompt(), []) - empty,
        sum(by_name.values()) - sum(submissions.values()),
        submissions,
    )


async def _count(session: aiohttp.ClientSession, system: str, tools: list[dict[str, Any]]) -> int:
    body = {"model": "m", "messages": [{"role": "user", "content": "-"}], "tools": tools}
    headers = {"x-api-key": "local", "anthropic-version": "2023-06-01"}
    asked = body | ({"system": system} if system else {})
    async with session.post("/v1/messages/count_tokens", json=asked, headers=headers) as answer:
        found: int = (await answer.json())["input_tokens"]
        return found


def print_prefixes(found: list[Prefix]) -> None:
    """Print a line for each session."""
    print("System prompt and tools, in tokens by the local model's counter, a quarter of the bytes")
    print("of their JSON (Claude's own counter is not to be had offline):")
    print(f"   {'session':28}{'system':>8}{'tools':>8}{'submit':>8}{'all':>8}   submissions")
    for each in sorted(found, key=lambda prefix: -prefix.total):
        parts = ", ".join(
            f"{name.removeprefix('submit_')} {count}"
            for name, count in sorted(each.submissions.items(), key=lambda pair: -pair[1])
        )
        print(
            f"   {f'{each.session} ({each.stages} stages)':28}{each.system:8,}{each.tools:8,}"
            f"{sum(each.submissions.values()):8,}{each.total:8,}   {parts}"
        )
    most = max(each.total for each in found)
    print(f"   the most {most:,}, aim {AIM:,}: {'met' if most <= AIM else 'missed'}")
