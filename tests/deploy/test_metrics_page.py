"""The operator's page has every metric, and the rules for Prometheus speak of no other."""

from __future__ import annotations

import re

import yaml

from app.installations.metrics import measure
from app.observability.metrics import Metrics


def list_metrics():
    """Every metric by the name under which Prometheus knows it."""
    metrics = Metrics()
    measure(metrics)
    every = set()
    for family in metrics.registry.collect():
        every.add(f"{family.name}_total" if family.type == "counter" else family.name)
    return every


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
        asked = set(re.findall(r"\bfettle_\w+", rule["expr"]))
        assert asked <= list_metrics()
        assert asked or "up{" in rule["expr"]
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"]["summary"]


def test_what_may_fall_is_not_asked_for_its_increase(deploy):
    """Rows are forgotten, and to `increase` and `rate` any fall is a new beginning from zero."""
    for rule in yaml.safe_load((deploy / "alerts.yml").read_text("utf-8"))["groups"][0]["rules"]:
        for name in re.findall(r"\b(?:increase|i?rate)\((\w+)", rule["expr"]):
            assert name.endswith("_total"), rule["alert"]
