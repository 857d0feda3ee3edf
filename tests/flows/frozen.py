"""The code that servers are forked from, warm and frozen.

They have read a model's answer, for which the SDK builds its types and the prices are read. No
server does that again, and none collects garbage in it.
"""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

from agents.loop.model import ClaudeModel
from agents.ports import Query
from app.simulator.model import LocalModel

SCRIPT = Path(__file__).with_name("calc.yml")


async def _ask_once():
    server = await LocalModel.start(SCRIPT)
    model = ClaudeModel("none", server.url)
    question = {"role": "user", "content": "# Triage"}
    await model.answer(Query("claude-opus-5-5", "Answer.", [], [question]))
    await model.close()
    await server.stop()


asyncio.run(_ask_once())
gc.collect()
gc.freeze()
