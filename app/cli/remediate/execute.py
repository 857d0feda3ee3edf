"""From what was typed to a report: what `fettle scan` and `fettle remediate` do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from agents.errors import ConfigError, FettleError
from agents.requests import Severity
from app.cli.remediate.clone_batch import RemediatingClone
from app.cli.remediate.commands import Options, RemediationArguments, RemediationCommand
from app.cli.remediate.github_batch import Remediating
from app.cli.remediate.show import show
from app.cli.remediate.terminal_session import SessionOptions
from app.cli.terminal import STOPPED, redactor_of, say
from app.clone.preconditions import start_at
from app.config.settings import Settings, load_settings
from app.github.transport import GitHub
from app.operator.find_clone import FoundClone, Places, clone_at
from app.operator.open_alerts import Choice
from app.operator.remediation_report import EXIT_CODES, Report
from app.operator.remediation_requests import RemediationOptions
from app.operator.repositories import Installed, repositories_of, repository_at
from app.operator.repository_reference import RepositoryName, no_folder, repository_named
from app.operator.scan_file import Scan, read_scan
from app.secrets.redaction import Redactor

ALL = "all"
HERE = "."
_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,99})")


async def run(command: RemediationCommand, said: RemediationArguments, options: Options) -> int:
    """Do what was typed, print the report, and return the exit code."""
    asked = _read_request(command, said, options)
    settings = load_settings(serving=False)
    redactor = redactor_of(settings)
    wanted = SessionOptions(asked, said.model, machine_readable=said.shape == "json")
    try:
        report = await _report(settings, redactor, wanted, said)
    except ConfigError:
        raise
    except FettleError as error:  # GitHub, the disk: it never came to a report
        say(f"Failed: {redactor.clean(str(error))}")
        return EXIT_CODES["infra_error"]
    show(report, said.shape, redactor)
    return report.exit_code if report.complete else STOPPED


async def _report(
    settings: Settings, redactor: Redactor, wanted: SessionOptions, said: RemediationArguments
) -> Report:
    place: RepositoryName | FoundClone | None = None
    if said.org is None and said.user is None:
        what = said.place or HERE
        path = _folder(settings, wanted.asked.command, what)
        if isinstance(path, RepositoryName):
            place = path
        elif _here_alone(settings, wanted):
            return await _in_clone(RemediatingClone(settings, redactor, wanted), path)
        else:
            place = await clone_at(path, settings.github_url)
    session = Remediating(load_settings(), redactor, wanted)
    return await _on_github(session, said, place)


# --- what was typed -----------------------------------------------------------------------------


def _read_request(
    command: RemediationCommand, said: RemediationArguments, options: Options
) -> RemediationOptions:
    batch = said.org is not None or said.user is not None
    if sum(each is not None for each in (said.place, said.org, said.user)) > 1:
        raise ConfigError("Name a repository, --org or --user: one of them.")
    if batch and (said.alerts or options.get("branch")):
        raise ConfigError("--alert and --branch are for one repository, not for all of an account.")
    if said.model and re.search(r"\s", said.model):
        raise ConfigError("--model has a space in it. Write the model's name.")
    choice = Choice(
        alerts=tuple(dict.fromkeys(said.alerts)),
        severities=_severities(said.severity),
        packages=tuple(dict.fromkeys(said.packages)),
    )
    scan = read_scan(said.from_scan) if said.from_scan is not None else None
    return RemediationOptions(command, choice, scan=scan, **options).with_branch_name()  # type: ignore[arg-type] # as typed


def _severities(said: str | None) -> tuple[Severity, ...]:
    known: tuple[Severity, ...] = get_args(Severity)
    if said is None:
        return ()
    words = {word.strip().lower() for word in said.split(",")}
    if words == {ALL}:
        return known
    if wrong := words.difference(known):
        raise ConfigError(
            f"`{', '.join(sorted(wrong))}` is no severity. Write some of"
            f" {', '.join(known)}, or all."
        )
    return tuple(each for each in known if each in words)


def _folder(settings: Settings, command: RemediationCommand, what: str) -> RepositoryName | Path:
    """Return the repository that is meant, or the folder of a clone."""
    known = settings.repositories
    named = repository_named(what, github_url=settings.github_url, repositories=known)
    if named is not None:
        return named
    path = Path(what).expanduser()
    if not path.exists():
        raise no_folder(what, known, command)
    return path


def _here_alone(settings: Settings, wanted: SessionOptions) -> bool:
    """Return whether the clone is all there is: without an App, what to mend is in the file."""
    if wanted.asked.scan is None:
        return False
    try:
        return not settings.credentials
    except ConfigError:
        return True


# --- where it is done ---------------------------------------------------------------------------


async def _on_github(
    session: Remediating, said: RemediationArguments, place: RepositoryName | FoundClone | None
) -> Report:
    settings = session.settings
    places = Places(settings.github_url, settings.clones, Path.cwd(), Path.home())
    if isinstance(place, FoundClone):
        places = Places(settings.github_url, here=place.path)
        place = place.name
    async with session.github() as github:
        if place is None:
            every = await _of_account(github, said, session.wanted.asked.scan)
            return await session.report(github, every, places, batch=True)
        one = await repository_at(github, place.owner, place.name)
        return await session.report(github, [one], places, batch=False)


async def _of_account(
    github: GitHub, said: RemediationArguments, scan: Scan | None
) -> Sequence[Installed]:
    login = said.org or said.user or ""
    if not _LOGIN.fullmatch(login):
        raise ConfigError(f"`{login}` is no name of an account. Write it as in its page's address.")
    every = await repositories_of(github, "org" if said.org is not None else "user", login)
    if scan is None:
        return every
    return [each for each in every if each.name.lower() in scan.found]


async def _in_clone(session: RemediatingClone, path: Path) -> Report:
    """Mend it there; what the clone calls itself must fit the scan, if it says anything."""
    scan = session.wanted.asked.scan
    assert scan is not None, "that is what to mend"
    try:
        name = (await clone_at(path, session.settings.github_url)).name
    except ConfigError:
        name = scan.get_only()
    return await session.report(await start_at(path), name, scan)
