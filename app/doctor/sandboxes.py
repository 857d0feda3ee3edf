"""The sandbox: which backend holds against attacks, and whether runs came upon the bait in it."""

from __future__ import annotations

from pathlib import Path

from agents.errors import FettleError
from app.config.settings import Settings
from app.doctor.finding import Diagnosis, ok, report_failure, report_warning
from app.sandbox.select import BACKENDS, BackendTrial, list_candidates, try_backend
from app.secrets.bait import FOLDER, list_taken

SHOWN = 5
BAIT = "bait"


async def attack(
    settings: Settings, *, everything: bool = False
) -> tuple[list[BackendTrial], str | None]:
    """Return what each backend came to, and the name of the one that agents would run in."""
    tried: list[BackendTrial] = []
    chosen: str | None = None
    asked = list_candidates(settings)
    for name in (*asked, *(n for n in BACKENDS if everything and n not in asked)):
        if chosen is not None and not everything:
            break
        tried.append(await try_backend(name, settings))
        if chosen is None and name in asked and tried[-1].chosen is not None:
            chosen = name
    return tried, chosen


async def sandbox_finding(settings: Settings) -> Diagnosis:
    """Tell in one line what `fettle doctor sandbox` shows in full."""
    try:
        tried, chosen = await attack(settings)
    except (FettleError, OSError) as error:  # like a full disk: the other checks go on
        return report_failure(
            "sandbox", f"It could not be tried, so Fettle does not serve. {error}"
        )
    if chosen is None:
        causes = "; ".join(f"{each.report.backend}: {each.report.cause}" for each in tried)
        return report_failure(
            "sandbox",
            f"None holds, so Fettle does not serve. {causes}.",
            f"{tried[0].report.remedy}. `fettle doctor sandbox` shows each attack.",
        )
    last = tried[-1]
    said = f"{chosen} held against {len(last.report.probes)} attacks"
    if last.sandbox is not None and last.sandbox.level != "full":
        return report_warning(
            "sandbox", f"{said}, and holds less than others.", "Set FETTLE_SANDBOX=auto."
        )
    return ok("sandbox", said)


def bait_finding(data_dir: Path) -> Diagnosis:
    """Tell whether runs came upon the bait in their sandboxes: then somebody looks for secrets."""
    taken = list(list_taken(data_dir))
    if not taken:
        return ok(BAIT, "No run has read what is laid into sandboxes as bait.")
    latest = "; ".join(f"run {run}: {where}" for run, where in taken[: -SHOWN - 1 : -1])
    return report_warning(
        BAIT,
        f"{len(taken)} times a run read out what is laid into sandboxes as bait. {latest}.",
        "Read what the run was asked (`fettle runs show ID`), and what stands in the evidence in"
        f" `{data_dir / FOLDER}`; delete the file there once you have.",
    )
