"""The code that servers are forked from, warm and frozen.

What a server imports when its first run comes is here, and a model's answer was read, for which
the SDK builds its types. What a process makes once is made: prompts, definitions of tools, patterns
of protected paths. No server does that again, and none collects garbage in it.
"""

from __future__ import annotations

import asyncio
import gc
from importlib import import_module
from pathlib import Path

SCRIPT = Path(__file__).with_name("calc.yml")
ROOT = Path(__file__).resolve().parents[2]
FIRST = (
    "app.cli.serve",
    "app.dependencies.start",
    "app.runs.conductor",
    "app.runs.restored_outcome",
    "app.wiring.run_ports",
    "app.wiring.serve",
    "tests.flows.forked",
)
# What is read when the first run ends, its pushed change is attested or its words are sealed.
LAST = (
    "app.attestation.attestor",
    "cryptography.fernet",
    "dbos._sys_db_postgres",
    "dbos._sys_db_sqlite",
    "securesystemslib.dsse",
    "securesystemslib.signer",
)


def _read_code():
    """Import it without looking for garbage: all of it stays."""
    gc.disable()
    for name in (*FIRST, *LAST):
        import_module(name)


async def _ask_once():
    from agents.loop.access import AnthropicAccess  # noqa: PLC0415 - read meanwhile
    from agents.loop.model import ClaudeModel  # noqa: PLC0415 - the same
    from agents.ports import Query  # noqa: PLC0415 - the same
    from app.simulator.model import LocalModel  # noqa: PLC0415 - the same

    server = await LocalModel.start(SCRIPT)
    model = ClaudeModel(AnthropicAccess("none", server.url))
    question = {"role": "user", "content": "# Triage"}
    await model.answer(Query("claude-opus-5-5", "Answer.", [], [question]))
    await model.close()
    await server.stop()


def _make_once():
    from agents.loop.conversation import _environment, tool_list  # noqa: PLC0415 - the same
    from agents.pipelines.registry import PIPELINES  # noqa: PLC0415 - the same
    from agents.policy import Policy  # noqa: PLC0415 - the same
    from app.config.settings import Settings  # noqa: PLC0415 - the same
    from app.sandbox.user_slots import UserSlots  # noqa: PLC0415 - the same

    for pipeline in PIPELINES.values():
        tool_list(pipeline.conversations)
    for prompt in (ROOT / "agents").rglob("*.md"):
        _environment(prompt.parent).get_template(prompt.name)
    Policy().protects("README.md")
    UserSlots(Settings.model_fields["sandbox_uid"].default).describe()


_read_code()
asyncio.run(_ask_once())
_make_once()
gc.collect()
gc.freeze()
gc.enable()
