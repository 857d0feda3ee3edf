"""From the operator's file to what a run is given."""

from __future__ import annotations

import json
import sys

import pytest
from structlog.testing import capture_logs

from agents.errors import ConfigError
from app.mcp.servers import open_toolsets
from app.mcp.toolsets import RunToolsets
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.secrets.redaction import Redactor

FAR = {"far": {"url": "https://mcp.example.com/mcp"}}
PROGRAM = {"near": {"command": "near-mcp"}}


class OtherSandbox:
    name = "container"


@pytest.fixture
def file(tmp_path):
    def write(servers):
        path = tmp_path / "mcp.json"
        path.write_text(json.dumps({"mcpServers": servers}))
        return path

    return write


def test_without_servers_runs_get_none(file):
    assert open_toolsets(None, Redactor(), Bubblewrap(58999)) is None
    assert open_toolsets(file({}), Redactor(), Bubblewrap(58999)) is None


def test_each_run_gets_its_own(file):
    for_run = open_toolsets(file(FAR | PROGRAM), Redactor(), Bubblewrap(58999))

    assert isinstance(for_run(None), RunToolsets)
    assert for_run(None) is not for_run(None)


def test_programs_are_left_out_where_nothing_can_hold_them(file):
    with capture_logs() as logs:
        assert open_toolsets(file(PROGRAM), Redactor(), OtherSandbox()) is None

    assert "`container` cannot hold a program" in logs[0]["why"]
    assert open_toolsets(file(FAR | PROGRAM), Redactor(), OtherSandbox()) is not None


def test_servers_without_the_extra_are_refused_with_the_remedy(file, monkeypatch):
    for name in [each for each in sys.modules if each.partition(".")[0] in ("mcp", "mcp_types")]:
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("http", "stdio", "connection", "toolsets", "results"):
        monkeypatch.delitem(sys.modules, f"app.mcp.{name}", raising=False)
        monkeypatch.delattr(f"app.mcp.{name}", raising=False)

    with pytest.raises(ConfigError, match=r"deploy/setup\.sh extras"):
        open_toolsets(file(FAR), Redactor(), Bubblewrap(58999))
    assert open_toolsets(None, Redactor(), Bubblewrap(58999)) is None
