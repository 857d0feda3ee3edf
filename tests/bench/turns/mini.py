"""mini-swe-agent beside Fettle, for the bench `turns`: the same cases, engineer, and local model.

It is one conversation with one tool, and ends with changed files: no plan, no checks before and
after, nobody with fresh eyes, no words for people. So this is the floor of what a change can take.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from anthropic.types import Usage as ReportedUsage

from agents.loop.prices import PriceList, usage_of
from agents.ports import Usage
from app.config.settings import load_settings
from app.evaluation.case import read_case
from app.evaluation.case_repository import make_repository
from app.evaluation.evaluate import EvaluationPlan, Evaluator
from app.evaluation.sources import fetch
from app.simulator.model import LocalModel, Script
from tests.bench.npm import CACHE
from tests.bench.turns.bill import MODEL, Bill
from tests.bench.turns.engineer import CASES

VERSION = "2.4.6"
NAMES = ("humanize", "parse", "pycodestyle")
SECONDS = 300
_OF_THE_ENGINEER = re.compile(r"# (?:Triage|Implement)\b")
_DONE = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_RUN = """
import json, os, sys, yaml
from minisweagent import package_dir
from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.litellm_model import LitellmModel
folder, url, model, task = sys.argv[1:]
config = yaml.safe_load((package_dir / "config" / "mini.yaml").read_text())
config["agent"].pop("mode", None)
told = {**config["model"], "set_cache_control": "default_end", "cost_tracking": "ignore_errors"}
told["model_kwargs"] = {"drop_params": True, "api_base": url, "api_key": "local"}
agent = DefaultAgent(
    LitellmModel(model_name=f"anthropic/{model}", **told),
    LocalEnvironment(cwd=folder, **config["environment"]),
    **config["agent"],
)
print("ended", json.dumps(agent.run(task).get("exit_status")))
"""


async def compare() -> list[tuple[Bill, Bill]]:
    """Return of each case what it takes with Fettle, and with mini-swe-agent."""
    python = await asyncio.to_thread(_install)
    os.environ["FETTLE_DATA_DIR"] = str(CACHE / "evaluation")
    plan = EvaluationPlan([CASES / name for name in NAMES], scripted=True)
    ended = await Evaluator(load_settings(serving=False), plan, lambda text: None).run()
    if wrong := [each for each in ended.results if each.state != "solved"]:
        raise SystemExit(f"{wrong[0].case} is {wrong[0].state}: {'; '.join(wrong[0].why)}")
    ours = [Bill(each.case, each.turns, each.usd, each.usage) for each in ended.results]
    return [(bill, await _solve(bill.work, python)) for bill in ours]


def print_comparison(found: Sequence[tuple[Bill, Bill]]) -> None:
    """Print both beside each other."""
    print(
        f"The cases of `fettle eval` by the same scripted engineer, beside mini-swe-agent {VERSION}"
    )
    print("(one conversation, no plan, checks, fresh eyes or words), list prices:")
    print(
        f"   {'':14}{'':16}{'answers':>8}{'input':>8}{'written':>9}{'read':>9}{'output':>8}{'$':>8}"
    )
    for ours, theirs in found:
        for who, bill in (("Fettle", ours), ("mini-swe-agent", theirs)):
            u = bill.usage
            written = u.cache_write_1h + u.cache_write_5m
            print(
                f"   {bill.work:14}{who:16}{bill.answers:8}{u.input:8,}{written:9,}"
                f"{u.cache_read:9,}{u.output:8,}{bill.usd:8.3f}"
            )


def _install() -> Path:
    """Return the Python of an environment that has it."""
    home = CACHE / f"mini-swe-agent-{VERSION}"
    python = home / "bin" / "python"
    if not (home / "whole").exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        wanted = f"mini-swe-agent=={VERSION}"
        subprocess.run([python, "-m", "pip", "install", "-q", wanted], check=True)
        (home / "whole").touch()
    return python


async def _solve(name: str, python: Path) -> Bill:
    case = read_case(CASES / name)
    fetched = await fetch(case, CACHE / "evaluation" / "evaluation" / "cache")
    if case.script is None:
        raise SystemExit(f"{name} has no script")
    script = yaml.safe_load(case.script.read_text("utf-8"))
    turns = [*_list_turns(script), {"call": [{"bash": {"command": _DONE}}]}]
    model = await LocalModel.start(
        Script.model_validate([{"when": "Please solve this issue", "turns": turns}])
    )
    with tempfile.TemporaryDirectory(prefix="fettle-bench-") as place:
        repository = await make_repository(fetched, Path(place, name))
        try:
            said = await _run(python, repository.folder, model.url, case.issue.read_text("utf-8"))
            changed = await repository.git.local(
                *("status", "--porcelain", "--untracked-files=no"),
                environment={"GIT_WORK_TREE": str(repository.folder)},
            )
        finally:
            await model.stop()
    if "Submitted" not in said or not changed.strip():
        raise SystemExit(f"mini-swe-agent did not come to its end: {said[-2_000:]}")
    asked = [each for each in model.requests if each.answered]
    usages = [usage_of(ReportedUsage.model_validate(each.usage)) for each in asked]
    usd = sum(PriceList().cost_of(MODEL, usage) or 0.0 for usage in usages)
    return Bill(name, len(asked), usd, sum(usages, Usage()))


async def _run(python: Path, folder: Path, url: str, task: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *(str(python), "-c", _RUN, str(folder), url, MODEL, task),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "MSWEA_SILENT_STARTUP": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    )
    written, _ = await asyncio.wait_for(process.communicate(), SECONDS)
    return written.decode("utf-8", "replace")


def _list_turns(script: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what the engineer does to understand and to change, each call once, as commands."""
    seen: set[str] = set()
    for part in script:
        if not _OF_THE_ENGINEER.search(str(part["when"])):
            continue
        for turn in part["turns"]:
            calls = [each for each in turn["call"] if not next(iter(each)).startswith("submit_")]
            commands = [text for each in calls if (text := _to_command(each)) not in seen]
            seen.update(commands)
            if commands:
                more = {name: turn[name] for name in ("say", "think") if name in turn}
                yield more | {"call": [{"bash": {"command": text}} for text in commands]}


def _to_command(call: Mapping[str, Any]) -> str:
    [(tool, given)] = call.items()
    match tool:
        case "bash":
            return str(given["command"])
        case "read":
            first = given.get("offset", 1)
            last = first + given.get("limit", 2_000) - 1
            return f"nl -ba {shlex.quote(given['path'])} | sed -n '{first},{last}p'"
        case "grep":
            where = shlex.quote(given.get("path", "."))
            return f"grep -rnE -- {shlex.quote(given['pattern'])} {where}"
        case "glob":
            return f"find . -path {shlex.quote('./' + given['pattern'])}"
        case "edit":
            old, new, path = (json.dumps(given[name]) for name in ("old", "new", "path"))
            return (
                "python3 - <<'END'\nimport pathlib\n"
                f"file = pathlib.Path({path})\ntext = file.read_text()\n"
                f"assert text.count({old}) == 1\nfile.write_text(text.replace({old}, {new}))\nEND"
            )
        case "write":
            return f"cat <<'END' > {shlex.quote(given['path'])}\n{given['content']}END"
    raise SystemExit(f"no command for {tool}")
