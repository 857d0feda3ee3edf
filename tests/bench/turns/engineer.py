"""The scripted engineer of the bench `turns`: cases of `fettle eval`, made larger where asked."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

CASES = Path(__file__).parents[3] / "app" / "evaluation" / "cases"
ONE_FILE, FAST = "humanize", "one-file-fast"
LOOKS = 40  # calls more in the long run
LINES = 25
SOURCE, TESTS = "src/humanize/filesize.py", "tests/test_filesize.py"

Part = dict[str, Any]


def write_cases(folder: Path) -> None:
    """Write the one-file bug: as it is, on the fast path, in three steps, and drawn out."""
    parts = yaml.safe_load((CASES / ONE_FILE / "script.yml").read_text("utf-8"))
    for name, script in (
        ("one-file", parts),
        (FAST, _in_one_go(parts)),
        ("three-step", _in_three_steps(parts)),
        ("long", _drawn_out(parts)),
    ):
        place = folder / name
        shutil.copytree(CASES / ONE_FILE, place)
        (place / "script.yml").write_text(yaml.safe_dump(script, allow_unicode=True), "utf-8")
        if name == FAST:
            policy = place / "fettle.yml"
            said = policy.read_text("utf-8") if policy.is_file() else ""
            policy.write_text(f"{said}path: fast\n", "utf-8")


def _in_one_go(parts: Sequence[Part]) -> list[Part]:
    """Return the same work by whoever understood the issue, who reads nothing a second time."""
    script = copy.deepcopy(list(parts))
    triage = next(part for part in script if part["when"] == "# Triage")
    at = next(n for n, part in enumerate(script) if part["when"].startswith("# Implement"))
    [plan] = [_call(part, "submit_plan") for part in script if part["when"] == "# Plan the steps"]
    _call(triage, "submit_triage")["steps"] = plan["steps"]
    whole, docs = script[at], next(part for part in script if part["when"].startswith("# Review"))
    look, make, run, done = whole["turns"]
    triage["turns"][1]["call"].append(look["call"][1])
    make["call"].append(docs["turns"][0]["call"][0])
    said = _call(docs, "submit_docs")["summary"]
    done["call"][0]["submit_step"] |= {"documentation": said, "rejected": "", "notes": ""}
    script[at] = {"when": "# Make the planned change", "turns": [make, run, done]}
    return script


def _in_three_steps(parts: Sequence[Part]) -> list[Part]:
    """Return the same change as three commits: the cure, its tests, an example."""
    script = copy.deepcopy(list(parts))
    [plan] = [_call(part, "submit_plan") for part in script if part["when"] == "# Plan the steps"]
    brief = plan["steps"][0]["brief"]
    titles = ("Show whole bytes below one kilobyte", "Test small sizes", "Show a small size")
    plan["steps"] = [{"title": title, "brief": brief} for title in titles]
    at = next(n for n, part in enumerate(script) if part["when"].startswith("# Implement"))
    whole = script[at]
    cure, test = whole["turns"][1]["call"]
    read_source, read_tests = whole["turns"][0]["call"]
    run, done = whole["turns"][2]["call"][0], whole["turns"][3]["call"][0]
    old = "        >>> naturalsize(3000000)\n"
    new = f"        >>> naturalsize(2.75)\n        '2 Bytes'\n{old}"
    example = {"edit": {"path": SOURCE, "old": old, "new": new}}
    unproven = {"submit_step": {**done["submit_step"], "proof": ""}}
    steps = (
        (read_source, cure, unproven),
        (read_tests, test, done),
        ({"grep": {"pattern": "naturalsize\\(", "path": SOURCE}}, example, unproven),
    )
    script[at : at + 1] = [
        {
            "when": f"# Implement step {number} of {len(steps)}",
            "turns": [{"call": [each]} for each in (look, make, run, submit)],
        }
        for number, (look, make, submit) in enumerate(steps, 1)
    ]
    return script


def _drawn_out(parts: Sequence[Part]) -> list[Part]:
    """Return the script with an engineer who looks at much before anything is changed."""
    script = copy.deepcopy(list(parts))
    step = next(part for part in script if part["when"].startswith("# Implement"))
    looks = [
        {"read": {"path": (SOURCE, TESTS)[number % 2], "offset": 1 + number, "limit": LINES}}
        for number in range(LOOKS)
    ]
    step["turns"][:0] = [
        {"think": "One place after the other.", "say": "I go on.", "call": [each]} for each in looks
    ]
    return script


def _call(part: Part, name: str) -> dict[str, Any]:
    """Return the arguments of a part's call of this tool."""
    calls = [call for turn in part["turns"] for call in turn["call"]]
    found: dict[str, Any] = next(call[name] for call in calls if name in call)
    return found
