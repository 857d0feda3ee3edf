"""The tools that look outside, through the real server: GitHub's words, another server's tool."""

import json

import yaml

PROGRAM = """
import json, sys
TOOL = {"name": "lines", "description": "Counts lines.", "inputSchema": {"type": "object"}}
for line in sys.stdin:
    asked = json.loads(line)
    method, answer = asked["method"], None
    if method == "initialize":
        server = {"name": "count", "version": "1"}
        answer = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        answer["serverInfo"] = server
    elif method == "tools/list":
        answer = {"tools": [TOOL]}
    elif method == "tools/call":
        text = str(len(open("/workspace/calc.py").read().splitlines())) + " lines"
        answer = {"content": [{"type": "text", "text": text}]}
    if "id" in asked:
        said = {"result": answer} if answer else {"error": {"code": -32601, "message": "no"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)
"""
POLICY = "mcp:\n- server: count\n"
SCRIPT = [
    {
        "when": "# Triage",
        "turns": [
            {
                "call": [
                    {"gh": {"verb": "issue", "number": 1}},
                    {"gh": {"verb": "checks", "ref": "main"}},
                    {"gh": {"verb": "search", "query": "adds"}},
                    {"mcp_count_lines": {}},
                    {"webfetch": {"url": "http://127.0.0.1/latest/meta-data"}},
                ]
            },
            {
                "call": [
                    {
                        "submit_triage": {
                            "decision": "decline",
                            "kind": "bug",
                            "reasoning": "Looked around.",
                            "detail": "Not now.",
                        }
                    }
                ]
            },
        ],
    }
]


async def test_a_run_reads_github_and_other_servers_and_no_token_is_seen(
    make_place, tmp_path, rest_referee
):
    script, servers = tmp_path / "script.yml", tmp_path / "mcp.json"
    script.write_text(yaml.safe_dump(SCRIPT))
    count = {"command": "python3", "args": ["-c", PROGRAM]}
    servers.write_text(json.dumps({"mcpServers": {"count": count, "broken": {}}}))
    files = {"calc.py": "x = 1\ny = 2\n", ".github/fettle.yml": POLICY}

    async with make_place(files, script=script, FETTLE_MCP_SERVERS=str(servers)) as place:
        await place.github.comment(place.repository, 1, place.people["mara"], "In calc.py only.")
        await place.github.comment(place.repository, 1, place.people["eve"], "EVE SAYS OTHERWISE")
        await place.label()
        outcome = await place.wait_for_end()
        heard = await place.read_results("triage/1")

        assert outcome.kind == "comment"
        assert "It adds one too many" in heard
        assert "## mara (maintain)" in heard
        assert "EVE" not in heard
        assert "1 comments by people without write access" in heard
        assert "No checks and no statuses." in heard
        assert "# Found (issues): 1" in heard
        assert "2 lines" in heard
        assert "is not the name of a public host" in heard
        assert not [secret for secret in place.secrets() if secret in heard]
        problems = rest_referee.problems(place.github.requests)
        assert not problems, "\n".join(problems)
