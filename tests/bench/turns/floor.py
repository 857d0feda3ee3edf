"""The floor of the bench `turns`: the same conversation by the SDK alone, with nothing else done.

    python tests/bench/turns/floor.py < CONVERSATION

It takes the conversation as JSON: `url`, `request` (all but messages), `prompt` and `results`, one
list of texts for each answer. It prints one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from anthropic import AsyncAnthropic


async def main(told: dict[str, Any]) -> None:
    """Hold the conversation and print what it took, imports not counted."""
    client = AsyncAnthropic(api_key="local", base_url=told["url"], max_retries=0)
    messages: list[Any] = [{"role": "user", "content": [{"type": "text", "text": told["prompt"]}]}]
    cpu, began = time.process_time(), time.monotonic()
    for results in told["results"]:
        async with client.messages.stream(**told["request"], messages=messages) as stream:
            answer = (await stream.get_final_message()).to_dict(mode="json")
        messages.append({"role": "assistant", "content": answer["content"]})
        calls = [block["id"] for block in answer["content"] if block["type"] == "tool_use"]
        content = [
            {"type": "tool_result", "tool_use_id": call, "content": text}
            for call, text in zip(calls, results, strict=True)
        ]
        messages.append({"role": "user", "content": content})
    took = {"wall": time.monotonic() - began, "cpu": time.process_time() - cpu}
    print(json.dumps({**took, "answers": len(told["results"])}))
    await client.close()


if __name__ == "__main__":
    asyncio.run(main(json.load(sys.stdin)))
