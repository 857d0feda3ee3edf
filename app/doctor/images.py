"""The images that repositories may name: which of them the engine has, and whether each holds."""

from __future__ import annotations

from collections.abc import Sequence

from agents.errors import ConfigError, FettleError
from agents.policy.images import ImagePattern, ImageReference, parse_image, parse_image_patterns
from app.config.settings import Settings
from app.doctor.finding import Diagnosis, ok, report_failure, report_skip, report_warning
from app.sandbox.container.engines import ContainerEngine, find_engines
from app.sandbox.container.images import find_image, list_images
from app.sandbox.select import make_image_sandbox

ABOUT = "images"
MOST_TRIED = 8


async def image_findings(settings: Settings) -> list[Diagnosis]:
    """Tell of each image that repositories may name; nothing where there is none."""
    patterns = parse_image_patterns(settings.environment_images)
    if not patterns:
        return []
    if settings.sandbox == "none":
        return [report_skip(ABOUT, "Commands run without a sandbox, so in no image either.")]
    engines, silent = await find_engines(named=settings.container_engine)
    if not engines:
        said = f"FETTLE_ENVIRONMENT_IMAGES allows some, but no engine answers: {'; '.join(silent)}."
        return [report_warning(ABOUT, said, "Run `apt-get install podman`, or start docker.")]
    here = await _find_here(engines[0], patterns)
    found = [
        _tell_missing(engines[0], each.reference) for each in patterns if _is_missing(each, here)
    ]
    found += [await _try(settings, engines[0], image) for image in here[:MOST_TRIED]]
    if len(here) > MOST_TRIED:
        found.append(ok(ABOUT, f"{len(here) - MOST_TRIED} more are allowed and here; not tried."))
    if not found:
        said = f"{engines[0].name} has none of those that FETTLE_ENVIRONMENT_IMAGES allows."
        found.append(report_warning(ABOUT, said, f"Run `{engines[0].name} pull` for each."))
    return found


async def _find_here(
    engine: ContainerEngine, patterns: Sequence[ImagePattern]
) -> list[ImageReference]:
    """Return the images that the engine has and that are allowed, each by one name."""
    found: dict[str, ImageReference] = {}
    for name in await list_images(engine):
        try:
            image = parse_image(name)
        except ValueError:  # a name that only engines give
            continue
        if any(pattern.allows(image) for pattern in patterns):
            found[str(image)] = image
    return list(found.values())


def _is_missing(pattern: ImagePattern, here: Sequence[ImageReference]) -> bool:
    return pattern.reference is not None and not any(pattern.allows(each) for each in here)


def _tell_missing(engine: ContainerEngine, image: ImageReference | None) -> Diagnosis:
    said = f"`{image}` is allowed, and is not here."
    return report_warning(ABOUT, said, f"Run `{engine.name} pull {image}` as Fettle's user.")


async def _try(settings: Settings, engine: ContainerEngine, image: ImageReference) -> Diagnosis:
    try:
        local = await find_image(engine, str(image))
        if local is None:
            return _tell_missing(engine, image)
        report = await make_image_sandbox(settings, engine, local, str(image)).probe()
    except ConfigError as error:
        return report_warning(ABOUT, f"`{image}` cannot be used: {error}.")
    except (FettleError, OSError) as error:
        return report_failure(ABOUT, f"`{image}` could not be tried: {error}")
    if report.held:
        return ok(ABOUT, f"`{image}` ({local.id[:12]}) held against {len(report.probes)} attacks")
    remedy = report.remedy if "FETTLE_SANDBOX_IMAGE" not in report.remedy else ""
    return report_warning(ABOUT, f"`{image}` is not used: {report.cause}.", remedy)
