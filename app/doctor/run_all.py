"""All checks, one after another: each goes as far as what there is of a configuration lets it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from agents.errors import ConfigError
from app.config.allowed_owners import AllowedOwners
from app.config.settings import AppCredentials, LoadedSettings, Settings
from app.doctor.app_identity import app_findings
from app.doctor.database import database_finding
from app.doctor.finding import Diagnosis, ok, report_failure, report_skip
from app.doctor.github_client import open_client
from app.doctor.images import image_findings
from app.doctor.machine import disk_findings, git_finding, programs_finding
from app.doctor.models import model_findings
from app.doctor.registry import policy_findings, read_registry
from app.doctor.rulesets import ruleset_findings
from app.doctor.sandboxes import bait_finding, sandbox_finding
from app.doctor.signing import commit_key_finding, signing_finding
from app.doctor.webhook import hook_findings
from app.secrets.files import CREDENTIALS, app_folder


async def examine(
    reading: LoadedSettings, environ: Mapping[str, str], *, ask_models: bool
) -> list[Diagnosis]:
    """Return what every check found. Nothing is changed anywhere."""
    settings = reading.settings
    found = list(settings_findings(reading, environ))
    found += await _github(settings)
    found.append(await sandbox_finding(settings))
    found += await image_findings(settings)
    found += [await git_finding(), programs_finding()]
    try:
        found += list(await asyncio.to_thread(lambda: list(disk_findings(settings))))
    except OSError as error:
        found.append(report_failure("disk", f"`{settings.data_dir}`: {error.strerror}."))
    found.append(await asyncio.to_thread(database_finding, settings))
    found.append(await asyncio.to_thread(bait_finding, settings.data_dir))
    found.append(await asyncio.to_thread(signing_finding, settings))
    if commits := await asyncio.to_thread(commit_key_finding, settings):
        found.append(commits)
    return found + await model_findings(settings, allowed=ask_models)


async def _github(settings: Settings) -> list[Diagnosis]:
    credentials = _credentials(settings)
    if credentials is None:
        waits = "It waits for the App's id, key and webhook secret: run `fettle setup`."
        return [
            report_skip("App's key", waits),
            report_skip("webhook", "It waits for the App's key."),
        ]
    try:
        async with open_client(settings.github_url, credentials, settings.outbound) as github:
            books = await asyncio.to_thread(read_registry, settings)
            owners = AllowedOwners(settings.owners)
            owners.load_accounts(books.owners)
            found = await app_findings(github, owners)
            found += policy_findings(books.problems)
            if any(
                each.level == "failed" and each.about in {"App's key", "GitHub"} for each in found
            ):
                return [
                    *found,
                    report_skip("webhook", "It waits for GitHub to accept the App's key."),
                ]
            found += await ruleset_findings(
                github, owners, has_key=settings.commit_key_file is not None
            )
            return found + await hook_findings(github, settings.webhook_url)
    except ConfigError as error:
        return [report_failure("App's key", str(error))]


def _credentials(settings: Settings) -> AppCredentials | None:
    try:
        return settings.credentials
    except ConfigError:
        return None


def settings_findings(reading: LoadedSettings, environ: Mapping[str, str]) -> Iterator[Diagnosis]:
    """Tell every problem; without any, where the App's secrets come from."""
    problems = [*reading.problems, *reading.missing]
    for problem in problems:
        yield report_failure("setting", f"{problem.variable} {problem.text}")
    if problems:
        return
    given = [name for name in CREDENTIALS if environ.get(name, "").strip()]
    source = "variables" if given else f"`{app_folder(reading.settings.data_dir)}`"
    yield ok(
        "settings",
        f"All are valid. The App's secrets come from {source}; the data folder is "
        f"`{reading.settings.data_dir}`.",
    )
