"""RSpec: told by a variable, so that it hears through Rake and Bundler.

https://rspec.info/features/3-12/rspec-core/configuration/read-options-from-file/
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

from agents.analysis.check_failures.lines import normalize_name
from agents.analysis.check_failures.named_tests import pack_names
from agents.analysis.check_failures.reported import ReportedFailures
from agents.analysis.repository_files import table
from agents.analysis.test_runners.runner import REPORTS, Additions, ReportKind, TestRunner

_FILE = "rspec.json"
_OPTIONS = "SPEC_OPTS"


def read_rspec(texts: Sequence[str]) -> ReportedFailures | None:
    """Return what RSpec's JSON says; None where it is none."""
    names, ran, whole = dict[str, int](), list[str](), True
    for text in texts:
        try:
            document = table(json.loads(text))
        except (ValueError, RecursionError):
            return None
        listed, summary = document.get("examples"), table(document, "summary")
        if not isinstance(listed, list) or not summary:
            return None
        examples = [table(each) for each in listed]
        bad = [_name(each) for each in examples if each.get("status") == "failed"]
        for name in bad:
            names[name] = names.get(name, 0) + 1
        ran += [_name(each) for each in examples if each.get("status") in ("passed", "failed")]
        counts = (summary.get("failure_count"), summary.get("errors_outside_of_examples_count", 0))
        whole = whole and counts == (len(bad), 0)
    if not texts:
        return None
    tests = pack_names(ran)
    return ReportedFailures(names=names, whole=whole, ended=True, ran=len(ran), tests=tests)


def _name(example: dict[str, Any]) -> str:
    return normalize_name(f"{example.get('file_path', '')} {example.get('full_description', '')}")


def _select(names: Sequence[str]) -> Additions | None:
    described = [name.partition(" ")[2] for name in names]
    if not all(described) or any(each.startswith("-") for each in described):
        return None
    words = [word for each in dict.fromkeys(described) for word in ("--example", each)]
    return Additions(variables={_OPTIONS: shlex.join(words)})


RSPEC = TestRunner(
    "rspec",
    _select,
    (("rspec",),),
    ReportKind(
        read_rspec,
        _FILE,
        Additions(
            variables={_OPTIONS: f"--format progress --format json --out '{REPORTS}/{_FILE}'"}
        ),
        through_others=True,
    ),
)
