"""The operator's page has every metric, and the rules for Prometheus speak of no other."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from prometheus_client import generate_latest

from app.installations.metrics import measure
from app.observability.metrics import Metrics

ROOT = Path(__file__).resolve().parents[2]


def list_metrics():
    """Every metric by the name under which Prometheus knows it."""
    metrics = Metrics()
    measure(metrics)
    every = set()
    for family in metrics.registry.collect():
        if family.name.startswith("fettle_"):
            every.add(f"{family.name}_total" if family.type == "counter" else family.name)
    return every


def find_metrics(query):
    """The metrics of Fettle that a query asks for; a histogram by its own name."""
    return {
        re.sub(r"(_duration_seconds)_(?:bucket|sum|count)$", r"\1", name)
        for name in re.findall(r"\bfettle_\w+", query)
    }


def test_the_page_has_every_metric_and_no_other(deploy):
    page = (deploy / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| `(fettle_\w+)` \| (.+) \|$", page, re.MULTILINE)
    named = [name for name, _ in rows]
    assert len(named) == len(set(named))
    assert set(named) == list_metrics()


def test_the_rules_are_about_metrics_that_are_there(deploy):
    text = (deploy / "alerts.yml").read_text("utf-8")
    [group] = yaml.safe_load(text)["groups"]
    names = [rule["alert"] for rule in group["rules"]]
    assert len(names) == len(set(names)) > 5
    for rule in group["rules"]:
        asked = find_metrics(rule["expr"])
        assert asked <= list_metrics()
        assert asked or "up{" in rule["expr"]
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"]["summary"]


def test_what_may_fall_is_not_asked_for_its_increase(deploy):
    """Rows are forgotten, and to `increase` and `rate` any fall is a new beginning from zero."""
    for rule in yaml.safe_load((deploy / "alerts.yml").read_text("utf-8"))["groups"][0]["rules"]:
        for name in re.findall(r"\b(?:increase|i?rate)\((\w+)", rule["expr"]):
            assert name.endswith("_total"), rule["alert"]


WAKES = {
    "a worker is gone and had runs": "FettleWorkerGone",
    "no progress for 15 minutes": "FettleNoProgress",
    "a queue of more than 10 minutes": "FettleQueueLong",
    "the event loop is late": "FettleLoopLags",
    "the disk is full": "FettleDiskFull",
    "it costs too much": "FettleSpends",
}


@pytest.mark.parametrize("name", WAKES.values(), ids=list(WAKES))
def test_somebody_is_woken_when(deploy, name):
    rules = yaml.safe_load((deploy / "alerts.yml").read_text("utf-8"))["groups"][0]["rules"]
    assert name in {rule["alert"] for rule in rules}


def read_panels(deploy):
    return json.loads((deploy / "dashboard.json").read_text("utf-8"))["panels"]


def test_the_dashboard_asks_for_metrics_that_are_there(deploy):
    panels = [panel for panel in read_panels(deploy) if panel["type"] != "row"]
    for panel in panels:
        assert panel["title"]
        assert panel["description"]
        for target in panel["targets"]:
            asked = find_metrics(target["expr"])
            assert asked <= list_metrics(), panel["title"]
            assert asked or "process_" in target["expr"]
            assert target["datasource"] == panel["datasource"]
    shown = set().union(*(find_metrics(t["expr"]) for panel in panels for t in panel["targets"]))
    assert {"fettle_queue_wait_duration_seconds", "fettle_spent_today_usd"} <= shown


def test_the_dashboard_is_one_that_grafana_can_lay_out(deploy):
    """Ids are unique, and panels lie side by side on the 24 columns of a dashboard.

    https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/
    """
    dashboard = json.loads((deploy / "dashboard.json").read_text("utf-8"))
    assert {"uid", "title", "schemaVersion", "panels", "templating", "time"} <= dashboard.keys()
    [source] = [each for each in dashboard["templating"]["list"] if each["type"] == "datasource"]
    ids, taken = [], set()
    for panel in dashboard["panels"]:
        ids.append(panel["id"])
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
        if panel["type"] != "row":
            assert panel["datasource"]["uid"] == f"${{{source['name']}}}"
            assert panel["type"] in {"timeseries", "stat"}
    assert len(ids) == len(set(ids))


PROMTOOL = shutil.which("promtool") or shutil.which(ROOT / ".cache/promtool")


@pytest.fixture
def promtool():
    if PROMTOOL is None:
        pytest.skip("promtool is not on this machine")

    def check(what, *files, **more):
        subprocess.run([PROMTOOL, "check", what, *files], check=True, **more)

    return check


def test_promtool_takes_rules_and_panels(deploy, tmp_path, promtool):
    queries = [  # as Grafana sends them, which puts a duration there first
        target["expr"].replace("$__rate_interval", "5m")
        for panel in read_panels(deploy)
        for target in panel.get("targets", ())
    ]
    rules = [{"record": f"panel:{n}", "expr": expr} for n, expr in enumerate(queries)]
    (tmp_path / "panels.yml").write_text(yaml.dump({"groups": [{"name": "g", "rules": rules}]}))
    promtool("rules", deploy / "alerts.yml", tmp_path / "panels.yml")


def test_promtool_finds_nothing_odd_in_the_metrics(promtool):
    metrics = Metrics()
    measure(metrics)
    promtool("metrics", input=generate_latest(metrics.registry))


def test_the_simulation_waits_as_a_queue_does(deploy):
    """Nobody waits while places are free; at the limit those wait who ask for much."""
    command = [sys.executable, str(deploy / "simulate_queue.py"), "5", "58", "--hours", "60"]
    fleet = ["--workers", "3", "--installations", "20", "--minutes", "12"]
    ran = subprocess.run([*command, *fleet], capture_output=True, text=True, check=True)
    _, calm, full = [line.split("|") for line in ran.stdout.splitlines()]
    assert [float(cell) for cell in calm[2:]] == [0, 0, 0, 0]
    everybody, modest = float(full[3]), float(full[5])
    assert everybody > 3 * modest
    assert full[1].strip() == "97%"
