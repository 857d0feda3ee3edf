"""The commands `fettle scan` and `fettle remediate`: Dependabot's alerts, looked at and mended."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import typer

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

RemediationCommand = Literal["scan", "remediate"]
Formats = Literal["table", "json", "markdown"]
Options = dict[str, str | bool | int]

PlaceArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[REPOSITORY|PATH]",
        help="OWNER/REPO, its address, a short name, or a clone; else the clone you stand in.",
    ),
]
Org = Annotated[
    str | None, typer.Option(metavar="NAME", help="All repositories of this organization.")
]
User = Annotated[str | None, typer.Option(metavar="NAME", help="All repositories of this person.")]
Alert = Annotated[
    list[int] | None,
    typer.Option(min=1, metavar="N", help="Only this alert's package; may be given again."),
]
Severities = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Like critical,high; or all. Else what the policy says."),
]
Package = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Only this one; may be given again.")
]
Base = Annotated[str, typer.Option(metavar="BRANCH", help="Another branch than the default one.")]
Assess = Annotated[
    bool, typer.Option("--assess", help="Have a model judge the reach that code cannot tell.")
]
ModelOption = Annotated[
    str, typer.Option(metavar="NAME", help="The model that writes code, for this command's work.")
]
Branch = Annotated[str, typer.Option(metavar="NAME", help="Of the fix; for one package alone.")]
SkipVerify = Annotated[
    bool, typer.Option("--skip-verify", help="Do without a model's look; code checks all the same.")
]
Iterations = Annotated[int, typer.Option(min=1, max=10, help="How often a fix may be made.")]
FromScan = Annotated[
    Path | None, typer.Option(metavar="FILE", help="What `fettle scan --format json` has written.")
]
Shape = Annotated[Formats, typer.Option("--format", help="How to print the report.")]


class RemediationArguments(NamedTuple):
    """What was typed, as far as both commands have it."""

    place: str | None
    org: str | None
    user: str | None
    alerts: list[int]
    severity: str | None
    packages: list[str]
    from_scan: Path | None
    model: str
    shape: Formats


def scan(
    place: PlaceArgument = None,
    *,
    alert: Alert = None,
    severity: Severities = None,
    package: Package = None,
    base: Base = "",
    assess: Assess = False,
    org: Org = None,
    user: User = None,
    model: ModelOption = "",
    shape: Shape = "table",
) -> None:
    """Look at alerts."""
    said = RemediationArguments(
        place, org, user, alert or [], severity, package or [], None, model, shape
    )
    options: Options = {"base": base, "assess": assess}
    _run("scan", said, options)


def remediate(
    place: PlaceArgument = None,
    *,
    alert: Alert = None,
    severity: Severities = None,
    package: Package = None,
    base: Base = "",
    branch: Branch = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only look, as a scan does.")] = False,
    no_pr: Annotated[
        bool, typer.Option("--no-pr", help="Make and check it; publish none.")
    ] = False,
    skip_verify: SkipVerify = False,
    assess: Assess = False,
    max_iterations: Iterations = 3,
    from_scan: FromScan = None,
    org: Org = None,
    user: User = None,
    model: ModelOption = "",
    shape: Shape = "table",
) -> None:
    """Mend alerts."""
    said = RemediationArguments(
        place, org, user, alert or [], severity, package or [], from_scan, model, shape
    )
    options: Options = {"base": base, "branch": branch, "dry_run": dry_run, "no_pr": no_pr}
    options |= {"skip_verify": skip_verify, "assess": assess, "max_iterations": max_iterations}
    _run("remediate", said, options)


def _run(command: RemediationCommand, said: RemediationArguments, options: Options) -> None:
    from app.cli.remediate.execute import run

    sys.exit(asyncio.run(run(command, said, options)))
