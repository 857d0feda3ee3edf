"""The settings: each one that is wrong or missing, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from app.config.settings import LoadedSettings
from app.doctor.finding import Diagnosis, ok, report_failure
from app.secrets.files import CREDENTIALS, app_folder


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
