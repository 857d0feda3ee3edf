"""The code that servers are forked from, warm and frozen.

What a server imports when its first run comes is here, and a model's answer was read, for which
the SDK builds its types. No server does that again, and none collects garbage in it.
"""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import agents.pipelines.registry  # noqa: F401 a server imports it when its first run comes
import app.cli.serve
import app.runs.conductor  # noqa: F401 a server imports it when its first run comes
from agents.loop.access import AnthropicAccess
from agents.loop.model import ClaudeModel
from agents.ports import Query
from app.simulator.model import LocalModel

SCRIPT = Path(__file__).with_name("calc.yml")


async def _ask_once():
    server = await LocalModel.start(SCRIPT)
    model = ClaudeModel(AnthropicAccess("none", server.url))
    question = {"role": "user", "content": "# Triage"}
    await model.answer(Query("claude-opus-5-5", "Answer.", [], [question]))
    await model.close()
    await server.stop()


asyncio.run(_ask_once())
gc.collect()
gc.freeze()
