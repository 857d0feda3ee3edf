"""Calls through the gate: what runs, what a yes opens, and what the model reads otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents.errors import ToolError
from agents.ports import Approval, ApprovalRequest
from agents.text import child_process
from agents.tools.gate.gate import call, judge, judge_in_child
from tests.agents.tools.conftest import ACTING, ARGUMENTS, LISTED, READING
from tests.fakes.external import MemoryToolsets, MemoryWeb


async def test_a_refusal_names_its_rule_and_what_to_do(reading, put):
    file = put("a.py", "a")
    with pytest.raises(ToolError, match=r"rule stage/read-only.*Say in your submission"):
        await call("edit", ARGUMENTS["edit"], bench=reading)
    assert file.read_text() == "a"


async def test_a_protected_file_stays(bench, put):
    file = put(".github/workflows/ci.yml", "a")
    with pytest.raises(
        ToolError, match=r"path/never.*protects \.github/workflows/ci\.yml \(pattern `\.github/wo"
    ):
        await call("write", {"path": ".github/workflows/ci.yml", "content": "b"}, bench=bench)
    assert file.read_text() == "a"


ASKED = {"path": "AGENTS.md", "content": "b"}


def approval(arguments, *, state="approved", head="a1b2", name="write"):
    asking = ApprovalRequest(
        call_id="1",
        session="implement/1",
        stage="implement/1",
        tool=name,
        arguments=arguments,
        rule="r",
        reason="",
        head=head,
    )
    return Approval(id="k3f9", state=state, binding=asking.binding)


async def test_what_a_person_would_have_to_approve_is_not_done_without(bench, put):
    file = put("AGENTS.md", "a")
    with pytest.raises(
        ToolError, match=r"path/protected wants a person to approve.*so it was not done"
    ):
        await call("write", ASKED, bench=bench)
    assert file.read_text() == "a"


@pytest.fixture
def bench(bench):
    return replace(bench, head="a1b2")


async def test_a_yes_to_this_very_call_lets_it_run(bench, put):
    file = put("AGENTS.md", "a")
    await call("write", ASKED, bench=bench, grant=approval(ASKED))
    assert file.read_text() == "b"


@pytest.mark.parametrize(
    "grant",
    [
        approval(ASKED, state="waiting"),
        approval(ASKED, state="denied"),
        approval(ASKED, state="expired"),
        approval(ASKED, state="void"),
        approval(ASKED, head=""),
        approval(ASKED, name="edit"),
        approval(ASKED | {"content": "c"}),
        approval(ASKED | {"path": "./AGENTS.md"}),
    ],
    ids=["waiting", "denied", "expired", "void", "moved", "tool", "content", "spelling"],
)
async def test_a_yes_to_anything_else_does_not(bench, put, grant):
    file = put("AGENTS.md", "a")
    with pytest.raises(ToolError, match="nobody has approved exactly this call"):
        await call("write", ASKED, bench=bench, grant=grant)
    assert file.read_text() == "a"


async def test_a_yes_opens_nothing_that_is_denied(bench, put):
    file = put(".github/fettle.yml", "a")
    arguments = {"path": ".github/fettle.yml", "content": "b"}
    with pytest.raises(ToolError, match="path/never"):
        await call("write", arguments, bench=bench, grant=approval(arguments))
    assert file.read_text() == "a"


def test_the_gate_judges_without_running(bench, put):
    file = put("AGENTS.md", "a")
    assert judge("write", ASKED, bench=bench).decision == "ask"
    assert file.read_text() == "a"
    with pytest.raises(ToolError, match="no tool 'shell'"):
        judge("shell", {}, bench=bench)
    with pytest.raises(ToolError, match="`path`: Field required"):
        judge("write", {}, bench=bench)


async def test_other_servers_are_called_through_the_gate_alone(bench):
    known = {"mcp_tracker_close": ACTING, "mcp_tracker_find": READING}
    servers = MemoryToolsets(known, says="\x1b[1mfound")
    bench = replace(bench, policy=LISTED, toolsets=servers, stage="implement")
    told = await call("mcp_tracker_find", {"text": "a"}, bench=bench)
    assert "found" in told
    assert "\x1b" not in told
    with pytest.raises(ToolError, match="mcp/acts wants a person"):
        await call("mcp_tracker_close", {"id": 3}, bench=bench)
    yes = approval({"id": 3}, name="mcp_tracker_close")
    await call("mcp_tracker_close", {"id": 3}, bench=bench, grant=yes)
    with pytest.raises(ToolError, match="no tool 'mcp_tracker_open'"):
        await call("mcp_tracker_open", {}, bench=bench)
    with pytest.raises(ToolError, match="cannot run with these arguments"):
        await call("mcp_tracker_find", "text=a", bench=bench)
    assert servers.called == [("mcp_tracker_find", {"text": "a"}), ("mcp_tracker_close", {"id": 3})]


async def test_a_page_is_fetched_only_where_the_gate_lets_it(bench):
    bench = replace(bench, policy=LISTED, web=MemoryWeb(), tainted=True)
    assert "hello" in await call("webfetch", ARGUMENTS["webfetch"], bench=bench)
    with pytest.raises(ToolError, match="web/carries"):
        await call("webfetch", {"url": "https://docs.example.org/?q=secret"}, bench=bench)


async def test_an_unknown_tool_is_answered_with_the_known_ones(bench):
    with pytest.raises(
        ToolError, match=r"no tool 'shell'\. The tools are: bash, edit, gh, glob, grep, read"
    ):
        await call("shell", {}, bench=bench)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("read", {}, "`path`: Field required"),
        ("read", {"path": "a", "offset": 0}, r"`offset`: .*greater than or equal to 1 \(sent: 0\)"),
        ("read", {"path": "a", "lines": 3}, "`lines`: Extra inputs are not permitted"),
        ("read", {"path": "a\0b"}, "`path` holds a NUL character"),
        ("bash", {"command": "echo \udc80"}, "`command` holds half a character"),
        ("bash", {"command": ""}, "`command`"),
        ("bash", {"command": "x", "timeout": 9000}, "`timeout`.*1800"),
        ("glob", {"pattern": "!x"}, "`pattern`"),
        ("read", "path=a", "`input`"),
        ("read", None, "`input`"),
        ("write", {"path": "a", "content": "\ud800"}, "half a character"),
    ],
)
async def test_wrong_arguments_are_explained(bench, name, arguments, words):
    with pytest.raises(ToolError, match=words) as caught:
        await call(name, arguments, bench=bench)
    assert f"{name} cannot run with these arguments" in str(caught.value)
    assert "It takes: " in str(caught.value)


async def test_null_counts_as_absent(reading, put):
    put("a", "x")
    arguments = {"path": "a", "offset": None, "limit": None}
    assert await call("read", arguments, bench=reading) == "     1\tx"


async def test_whoever_watches_is_told_before_it_runs(bench, put):
    seen = []
    put("a.py", "a")
    await call("read", {"path": "a.py"}, bench=bench, watch=lambda *told: seen.append(told))
    await call(
        "bash",
        {"command": "\n\necho \x1b[31m\nsecond"},
        bench=bench,
        watch=lambda *t: seen.append(t),
    )
    assert seen == [("read", "a.py"), ("bash", "echo \\x1b[31m")]


async def test_a_refused_call_is_not_announced(reading):
    seen = []
    with pytest.raises(ToolError):
        await call("write", ARGUMENTS["write"], bench=reading, watch=lambda *t: seen.append(t))
    assert seen == []


async def test_a_script_that_takes_too_long_to_be_read_is_a_persons_to_read(bench, monkeypatch):
    monkeypatch.setattr(child_process, "CLOCK_SECONDS", 0.0)
    verdict = await judge_in_child("bash", {"command": "`a`" * 10_000}, bench=bench)
    assert (verdict.decision, verdict.rule) == ("ask", "shell/unreadable")


async def test_a_long_script_is_judged_as_a_short_one(bench):
    command = "echo a;" * 1_000 + "sudo reboot"
    verdict = await judge_in_child("bash", {"command": command}, bench=bench)
    assert verdict == judge("bash", {"command": command}, bench=bench)
    assert verdict.decision == "deny"
