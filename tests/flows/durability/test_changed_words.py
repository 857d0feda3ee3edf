"""An upgrade that changed every word: what a conversation was begun with, it keeps.

Every prompt, each tool's text, the models, other servers and the policy are others after it. The
local model refuses a conversation whose head or messages are not those that it signed.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
from pathlib import Path

from app.store.runs import StoredJournal
from tests.flows.conftest import write_policy
from tests.flows.forked import ForkedServer
from tests.flows.resolve.test_tools_flow import PROGRAM
from tests.flows.scripted import CURE, SHORT_PARTS, plan, step, usual

ROOT = Path(__file__).resolve().parents[3]
WORD = "Another version wrote this."
PATH = "docs/CODEOWNERS"
OWNERS = {"write": {"path": PATH, "content": "* @mara\n"}}
FILES = write_policy("mcp: [{server: count}]") | {PATH: "* @jonas\n"}
SCRIPT = usual(
    SHORT_PARTS[0],
    plan("Add without one too many", "Look once more"),
    step([OWNERS], CURE, number=1, count=2),
    step(number=2, count=2),
)
BEFORE, AFTER = "claude-opus-5-5", "claude-opus-4-8"
_TOOL = re.compile(r'^(class \w+\((?:Tool|Submission)\b.*\):\n    """)', re.MULTILINE)


def write_code(folder):
    """Write the product with every word that a model reads changed; return the folder."""
    for name in ("agents", "app", "handlers"):
        shutil.copytree(ROOT / name, folder / name)  # with what is compiled of the unchanged ones
    prompts = list((folder / "agents").rglob("*.md"))
    for prompt in prompts:
        heading, _, rest = prompt.read_text("utf-8").partition("\n")
        prompt.write_text(f"{heading}\n\n{WORD}\n{rest}", "utf-8")
    tools = 0
    for file in (folder / "agents").rglob("*.py"):
        text, changed = _TOOL.subn(rf"\g<1>{WORD} ", file.read_text("utf-8"))
        tools += changed
        if changed:
            file.write_text(text, "utf-8")
    assert len(prompts) > 20
    assert tools > 15
    return folder


class Upgraded(ForkedServer):
    """A server whose code can be another's."""

    code = None

    async def _spawn(self, environment, log):
        if self.code is None:
            return await super()._spawn(environment, log)
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "app", "serve"),
            env=environment,
            cwd=self.code,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def write_servers(file, tool):
    """Write the operator's list of other servers, with one tool of this name."""
    program = PROGRAM.replace('"lines"', f'"{tool}"')
    servers = {"count": {"command": "python3", "args": ["-c", program]}}
    file.write_text(json.dumps({"mcpServers": servers}))


async def read_heads(place, run_id, session):
    turns = await StoredJournal(place.database(), run_id).turns(session)
    return [turn.content for turn in turns if turn.kind == "head"]


async def test_what_is_under_way_keeps_what_it_was_begun_with(make_place, tmp_path):
    servers = tmp_path / "mcp.json"
    write_servers(servers, "lines")
    more = {"FETTLE_MCP_SERVERS": str(servers), "FETTLE_MODEL": BEFORE}
    async with make_place(files=FILES, script=SCRIPT, kind=Upgraded, **more) as place:
        await place.label()
        run_id = await place.wait_for_parked()
        asked = await place.wait_for_comment("/bot approve ")
        before = await read_heads(place, run_id, "implement/1")
        seen = len(place.model.requests)

        await place.server.stop()
        write_servers(servers, "words")
        place.server.code = write_code(tmp_path)
        place.server.more["FETTLE_MODEL"] = AFTER
        policy = {".github/fettle.yml": write_policy("budget: {turns: 140}")[".github/fettle.yml"]}
        await place.github.commit(
            place.repository, policy, author=place.people["mara"], message="Another policy"
        )
        await place.server.start(place.app)
        await place.say("mara", re.search(r"/bot approve [a-z0-9]+", asked)[0])
        assert (await place.ends("pull_request")).ready

        later = place.model.requests[seen:]
        assert {each.status for each in place.model.requests} == {200}
        own = [each for each in later if each.model in (BEFORE, AFTER)]
        assert not any(each.dropped for each in own), "their thoughts are bound to what was said"
        assert await read_heads(place, run_id, "implement/1") == before
        assert later[0].model == BEFORE
        assert {each.model for each in later if "Implement step 2" in each.part} == {AFTER}
        head, *_ = await read_heads(place, run_id, "implement/2")
        assert head != before[0]
        prompts = [await place.read_prompts(f"implement/{number}") for number in (1, 2)]
        assert [WORD in each for each in prompts] == [False, True]
