"""Whether runs have come upon the bait in their sandboxes: then somebody looks for secrets."""

from __future__ import annotations

from pathlib import Path

from app.doctor.finding import Diagnosis, ok, report_warning
from app.secrets.bait import FOLDER, list_taken

SHOWN = 5
NAME = "bait"


def bait_finding(data_dir: Path) -> Diagnosis:
    """Tell which runs were ended for it, the latest first."""
    taken = list(list_taken(data_dir))
    if not taken:
        return ok(NAME, "No run has read what is laid into sandboxes as bait.")
    latest = "; ".join(f"run {run}: {where}" for run, where in taken[: -SHOWN - 1 : -1])
    return report_warning(
        NAME,
        f"{len(taken)} times a run read out what is laid into sandboxes as bait. {latest}.",
        "Read what the run was asked (`fettle runs show ID`), and what stands in the evidence in"
        f" `{data_dir / FOLDER}`; delete the file there once you have.",
    )
