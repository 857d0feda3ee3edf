"""How fast alerts are mended, what that costs, and what it costs bare.

    python tests/bench/remediate [--group package] [--only MANAGER ...] [--reasons]
        [--climbs ROUNDS] [--only-climbs]

GitHub raises 40 alerts in 12 repositories of pip, Poetry, uv, npm and pnpm, all at once; the real
server takes its webhooks, mends, proves and opens pull requests. Where no rung of the ladder is
proof enough by itself, a script answers as the model. Beside it stand the commands with which
people make the same changes of the lock file, bare, one after the other. Package indexes are on
loopback, so no network is measured. With `--reasons` it says of each alert that took a model what
the model was for. After that the ladder climbs alone, one alert at a time, beside its bare command.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

sys.path.insert(0, str(Path(__file__).parents[3]))

from app.demo.package_index.server import LocalIndex
from app.demo.server_process import ServerProcess
from app.registration.manifest import app_manifest
from app.simulator.github import LocalGitHub
from app.simulator.github.state.alerts import Affected
from app.simulator.github.state.world import Repository
from app.simulator.model import LocalModel, Script
from app.store.database import Database
from app.store.runs.history import History, KeptRun
from app.store.runs.turns import StoredJournal
from tests.bench.remediate.climbs import Climb, Climbs, print_climbs
from tests.bench.remediate.reasons import explain_model
from tests.bench.remediate.samples import (
    SAMPLES,
    TROUBLES,
    VERSIONS,
    Sample,
    Trouble,
    alerts,
    releases,
)
from tests.bench.remediate.tools import Tools

PATIENCE = 900.0
OVER = ("done", "failed", "refused", "cancelled", "covered")
LETTERS = "23456789cfghjmpqrvwx"
WARM = ("pip", "poetry", "uv", "pnpm")
POLICY = (
    "setup: {{run: []}}\nquality: [{{name: check, run: sh check.sh}}]\n"
    "remediation: {{group: {group}, majors: true, overrides: true, tell_failures: false}}\n"
)
MANIFEST = {
    "npm": "package-lock.json",
    "pnpm": "pnpm-lock.yaml",
    "poetry": "poetry.lock",
    "uv": "uv.lock",
    "pip": "requirements.txt",
}


def _says(when: str, tool: str, **values: Any) -> dict[str, Any]:
    return {"when": when, "turns": [{"call": [{tool: values}]}]}


SCRIPT = Script.model_validate(
    [
        _says(
            "# Verify the update",
            "submit_verification",
            passed=True,
            issues=[],
            feedback="",
            reasoning="I read every line of the change and of what uses the package.",
        ),
        _says(
            "# Move the vulnerable package",
            "submit_dependency_fix",
            outcome="skipped",
            version="",
            summary="",
            reason="No release admits it.",
        ),
        _says(
            "# Summarize the update",
            "submit_summary",
            text="Another release was needed, so look at what it changes before you merge it.",
        ),
    ]
)


@dataclass
class Measured:
    """What a set of alerts took."""

    seconds: float = 0.0
    warm: float = 0.0
    """Seconds until each manager had been fetched into the sandbox, once for the machine."""
    runs: list[KeptRun] = field(default_factory=list)
    tokens: dict[str, int] = field(default_factory=dict)
    """By run."""


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--group", choices=("lockfile", "package"), default="lockfile")
    parser.add_argument("--only", nargs="*", choices=MANIFEST, default=list(MANIFEST))
    parser.add_argument("--reasons", action="store_true")
    parser.add_argument("--climbs", type=int, default=2, metavar="ROUNDS")
    parser.add_argument("--only-climbs", action="store_true")
    typed = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    wanted, policy = typed.only, POLICY.format(group=typed.group)
    samples = [each for each in SAMPLES if each.manager in wanted]
    folder = Path(tempfile.mkdtemp(prefix="fettle-bench-"))
    folder.chmod(0o711)
    try:
        if not typed.only_climbs:
            measured, bare = asyncio.run(_measure(samples, folder, policy))
            _print(samples, measured, bare, reasons=typed.reasons)
        if typed.climbs:
            print_climbs(asyncio.run(_climb(wanted, folder, typed.climbs)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _climb(managers: Sequence[str], folder: Path, rounds: int) -> list[Climb]:
    """Return what climbs take, one at a time."""
    tools = await asyncio.to_thread(Tools.fetch)
    old = [each for each in releases() if _was_there(each.name, each.version)]
    index = await LocalIndex.start([*old, *tools.releases], wheels=tools.wheels)

    def lock(sample: Sample) -> dict[str, str]:
        index.releases = [*old, *tools.releases]
        try:
            return tools.lay(sample, folder / "alone" / sample.name, index)
        finally:
            index.releases = [*releases(), *tools.releases]

    try:
        return await Climbs(tools, index, folder / "climbs", lock).measure(managers, rounds)
    finally:
        await index.stop()


async def _measure(
    samples: Sequence[Sample], folder: Path, policy: str
) -> tuple[Measured, list[float]]:
    tools = await asyncio.to_thread(Tools.fetch)
    old = [each for each in releases() if _was_there(each.name, each.version)]
    async with AsyncExitStack() as stack:
        index = await LocalIndex.start([*old, *tools.releases], wheels=tools.wheels)
        stack.push_async_callback(index.stop)
        warm = [Sample(f"warm-{name}", name, (TROUBLES[0],)) for name in WARM]
        warm = [each for each in warm if each.manager in {s.manager for s in samples}]
        files = {
            each.name: await asyncio.to_thread(
                tools.lay, each, folder / "locked" / each.name, index
            )
            for each in (*warm, *samples)
        }
        index.releases = [*releases(), *tools.releases]
        lay_sources(folder / "sources", files, policy)
        await asyncio.to_thread(shutil.copytree, folder / "locked", folder / "again")
        bare = await asyncio.to_thread(_bare, tools, samples, folder / "locked", index)
        measured = await _measure_mending(stack, warm, samples, index, folder)
        # The machine may have had other work meanwhile: so once before, and once after.
        return measured, bare + await asyncio.to_thread(
            _bare, tools, samples, folder / "again", index
        )


def _was_there(name: str, version: str) -> bool:
    """Tell whether a release was there when the repositories were locked."""
    first = VERSIONS.get(name, ("1.0.0",))[0]
    return version == first or (name, version) == ("eta", "2.0.0")


def _bare(tools: Tools, samples: Sequence[Sample], folder: Path, index: LocalIndex) -> list[float]:
    """Return for each bare command its seconds."""
    found = []
    for sample, trouble in _packages(samples):
        if command := tools.bare(sample, trouble):
            began = time.monotonic()
            tools.run(command, folder / sample.name, index)
            found.append(time.monotonic() - began)
    return found


def lay_sources(folder: Path, files: dict[str, dict[str, str]], policy: str) -> None:
    """Write the repositories, each with a policy and a check."""
    for repository, found in files.items():
        for name, text in {**found, "check.sh": "true\n", ".github/fettle.yml": policy}.items():
            path = folder / repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


async def _measure_mending(
    stack: AsyncExitStack,
    warm: Sequence[Sample],
    samples: Sequence[Sample],
    index: LocalIndex,
    folder: Path,
) -> Measured:
    github = await LocalGitHub.start(folder / "github")
    stack.push_async_callback(github.stop)
    model = await LocalModel.start(SCRIPT)
    stack.push_async_callback(model.stop)
    server = ServerProcess(folder / "fettle", github.url, model.url, more=index.environment)
    owner = github.create_organization("octo-org")
    app = github.create_app(
        "fettle",
        webhook_url=f"{server.url}/webhook",
        webhook_secret=server.webhook_secret,
        permissions=app_manifest().default_permissions,
        events=app_manifest().default_events,
    )
    repositories = {}
    for each in (*warm, *samples):
        source = folder / "sources" / each.name
        repositories[each.name] = await github.create_repository(owner, each.name, source=source)
    await github.install(app.app_id, [*repositories.values()])
    await server.start(app)
    stack.push_async_callback(server.stop)
    measured = Measured()
    if warm:  # npm is the sandbox's own
        measured.warm, _ = await _raise_alerts(github, server, warm, repositories)
    measured.seconds, measured.runs = await _raise_alerts(github, server, samples, repositories)
    database = Database(server.database_url)
    for run in measured.runs:
        usage, _, _ = await StoredJournal(database, run.id).sum_usage()
        measured.tokens[run.id] = sum(usage.model_dump().values())
    database.close()
    return measured


async def _raise_alerts(
    github: LocalGitHub,
    server: ServerProcess,
    samples: Sequence[Sample],
    repositories: dict[str, Repository],
) -> tuple[float, list[KeptRun]]:
    """Have all alerts of these raised; return the seconds until all is done, and the runs."""
    began, ids = time.monotonic(), _ids(samples[0].name)
    for sample, trouble in _packages(samples):
        for vulnerable in trouble.vulnerable:
            affected = Affected(sample.kind, trouble.name, vulnerable, trouble.safe or None)
            advisory = github.publish_advisory(next(ids), [affected], severity="high")
            repository = repositories[sample.name]
            await github.raise_alert(repository, advisory, manifest_path=MANIFEST[sample.manager])
    names = {repositories[each.name].full_name for each in samples}
    wanted = len([*_packages(samples)])
    database = Database(server.database_url)
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                every = await History(database).newest(1000, states=OVER)
                over = [r for r in every if r.repository in names and r.outcome is not None]
                if len({(r.repository, r.title) for r in over}) >= wanted:
                    return time.monotonic() - began, over
                await asyncio.sleep(0.2)
    finally:
        database.close()


def _ids(seed: str) -> Iterator[str]:
    """Yield names of advisories as GitHub makes them, others for another seed."""
    chosen = random.Random(seed)
    while True:
        yield "-".join(["GHSA", *("".join(chosen.choices(LETTERS, k=4)) for _ in range(3))])


def _packages(samples: Sequence[Sample]) -> Iterator[tuple[Sample, Trouble]]:
    return ((sample, trouble) for sample in samples for trouble in sample.troubles)


def _print(
    samples: Sequence[Sample], measured: Measured, bare: list[float], *, reasons: bool
) -> None:
    came_to: dict[tuple[str, int], tuple[str, str, str]] = {}  # a fix made anew counts once
    for run in measured.runs:
        details = (run.outcome.details if run.outcome else None) or {}
        spent = "with a model" if measured.tokens[run.id] else "without"
        for each in (details, *details.get("companions", ())):
            found = each.get("found") or each
            for alert in found.get("group", {}).get("advisories", []):
                about = (found["group"]["repository"], alert["alert"])
                came_to[about] = (details["result"], spent, found.get("tool") or "unknown")
    results = Counter(result for result, _, _ in came_to.values())
    fixed_by = Counter((tool, how) for result, how, tool in came_to.values() if result == "fixed")
    without = sum(count for (_, how), count in fixed_by.items() if how == "without")
    total, fixed = alerts(samples), results["fixed"]
    rate = fixed / measured.seconds * 60
    bare_rate = len(bare) / sum(bare) * 60
    tokens = sum(measured.tokens.values())
    lines = (
        ("mended", f"{fixed:8}", f" of {total}: {dict(results)}"),
        ("without a model", f"{without / max(fixed, 1):8.0%}", " of those"),
        ("tokens", f"{tokens / total:8.0f}", " for each alert, by the script"),
        ("mended in a minute", f"{rate:8.1f}", ", all at once, each proved and published"),
        (
            "bare commands in a minute",
            f"{bare_rate:8.1f}",
            f", {len(bare)} one after the other, nothing proved",
        ),
        ("a fix, to a bare command", f"{bare_rate / rate:8.1f}", " times as long"),
        ("tools fetched, once", f"{measured.warm:8.1f}", " s, with one alert for each of them"),
    )
    print(f"{total} alerts about {len(measured.runs)} packages in {len(samples)} repositories")
    for title, figure, words in lines:
        print(f"  {title:26} {figure}{words}")
    for tool, of_tool in sorted(Counter(tool for _, _, tool in came_to.values()).items()):
        alone = fixed_by[tool, "without"]
        mended = f"{alone + fixed_by[tool, 'with a model']} of {of_tool}"
        print(f"  {tool:26} {mended:>8}, {alone} without a model")
    for run in measured.runs if reasons else ():
        if measured.tokens[run.id]:
            print(f"  {run.repository} {run.title}: {explain_model(run)}")
    print(f"   {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
