"""The operator's file: what is usable is used, what is not is named, nothing stops Fettle."""

from __future__ import annotations

import json

import pytest
from structlog.testing import capture_logs

from app.mcp.config import HttpServer, StdioServer, read_servers
from app.secrets.redaction import REDACTED, Redactor

LIVE = "a-live-secret-of-ours"


@pytest.fixture
def read(tmp_path):
    redactor = Redactor([LIVE])

    def entries(content):
        path = tmp_path / "mcp.json"
        text = content if isinstance(content, str) else json.dumps({"mcpServers": content})
        path.write_text(text)
        with capture_logs() as logs:
            servers = read_servers(path, redactor)
        return servers, [each for each in logs if each["log_level"] == "warning"], redactor

    return entries


def test_no_file_no_servers():
    assert read_servers(None, Redactor()) == {}


def test_programs_and_servers_elsewhere(read):
    servers, warnings, _ = read(
        {
            "graph": {"command": "graph-mcp", "args": ["--depth", "3"], "env": {"MODE": "fast"}},
            "docs": {"type": "http", "url": "https://mcp.example.com/mcp"},
            "near": {"url": "http://mcp:8000/mcp"},
            "off": {"command": "x", "disabled": True},
        }
    )

    assert servers == {
        "graph": StdioServer("graph", ("graph-mcp", "--depth", "3"), {"MODE": "fast"}),
        "docs": HttpServer("docs", "https://mcp.example.com/mcp"),
        "near": HttpServer("near", "http://mcp:8000/mcp"),
    }
    assert warnings == []


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("text", "not what they should be"),
        (None, "not what they should be"),
        ({}, "either `command`"),
        ({"command": "x", "url": "https://a.example"}, "either `command`"),
        ({"command": ["x"]}, "not what they should be: command"),
        ({"command": "x", "args": "y"}, "not what they should be: args"),
        ({"command": "x", "args": ["a\0b"]}, "`args`"),
        ({"command": "x", "env": {"A B": "1"}}, "is no variable"),
        ({"command": "x", "env": {"GITHUB_TOKEN": "abc"}}, "give its `url`"),
        ({"command": "x", "env": {"API_KEY": "abc"}}, "give its `url`"),
        ({"command": "x", "env": {"MODE": LIVE}}, "give its `url`"),
        ({"command": "x", "env": {"X": "ghp_" + "a1B2" * 10}}, "give its `url`"),
        ({"command": "x", "env": {"X": "9f86d081884c7d659a2feaa0c55ad015"}}, "give its `url`"),
        ({"command": "x", "env": {"X": "postgres://me:pw@db/x"}}, "give its `url`"),
        ({"command": "x", "args": ["--with", LIVE]}, "looks like a secret"),
        ({"url": "ftp://a.example"}, "https://"),
        ({"url": "http://mcp.example.com/"}, "not encrypted"),
        ({"url": "http://93.184.216.34/"}, "not encrypted"),
        ({"url": "https://me:pw@a.example/"}, "user name"),
        ({"url": "https://a.example:x/"}, "no address"),
        ({"url": "https://a.example", "type": "sse"}, "not spoken any more"),
        ({"url": "https://a.example", "headers": {"A": "${TOKEN}"}}, "names a variable"),
        ({"url": "https://a.example", "headers": {"A": "x\r\nB: y"}}, "is no header"),
        ({"url": "https://a.example", "headers": {"A b": "x"}}, "is no header"),
    ],
)
def test_what_cannot_be_used_is_named_and_left_out(read, entry, why):
    servers, warnings, _ = read({"bad": entry, "good": {"command": "x"}})

    assert list(servers) == ["good"]
    [warning] = warnings
    assert warning["server"] == "bad"
    assert why in warning["why"]


@pytest.mark.parametrize("text", ["", "[", "[]", '{"servers": {}}', '{"mcpServers": []}', "null"])
def test_a_file_that_is_none_is_named(read, text):
    servers, warnings, _ = read(text)

    assert servers == {}
    assert text == '{"mcpServers": []}' or "remedy" in warnings[0]


def test_names_that_would_be_one_word_are_not_taken_twice(read):
    servers, warnings, _ = read(
        {"a_b": {"command": "x"}, "a-b": {"command": "y"}, "--": {"command": "z"}}
    )

    assert list(servers) == ["a_b"]
    assert len(warnings) == 2


def test_secrets_in_headers_are_taken_out_of_everything_and_never_shown(read):
    entry = {"url": "https://a.example", "headers": {"Authorization": "Bearer sesame-open-up"}}

    servers, _, redactor = read({"far": entry})

    assert redactor.clean("it said sesame-open-up!") == f"it said {REDACTED}!"
    assert "sesame" not in repr(servers)
