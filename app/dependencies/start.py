"""Compose the set-up phase of this machine from its settings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from agents.policy.images import parse_image_patterns
from app.config.settings import Settings, process_environment
from app.dependencies.add_package import Adder
from app.dependencies.cache import Store
from app.dependencies.images import Images
from app.dependencies.index_access import IndexWays
from app.dependencies.indexes.finder import IndexFinder
from app.dependencies.indexes.operator_config import Operator
from app.dependencies.install import Builder
from app.dependencies.install_phase import SetUps, describe_surroundings
from app.dependencies.origins import place_of
from app.dependencies.tool_kits import AT as KITS_AT
from app.dependencies.tool_kits import Kits
from app.sandbox.container.backend import Container
from app.sandbox.container.images import LocalImage
from app.sandbox.port import Sandbox
from app.sandbox.select import make_image_sandbox
from app.secrets.redaction import Redactor
from app.toolchains.choose import Toolchains


@dataclass(frozen=True)
class ImageSetting:
    """What is known of an image that a repository names."""

    sandbox: Container
    id: str
    name: str

    def place(self, own: Sandbox) -> Sandbox:
        """Return where commands run in the image as the user of this sandbox."""
        return self.sandbox.for_user(own.owner[0])


def make_set_ups(settings: Settings, sandbox: Sandbox, redactor: Redactor) -> SetUps:
    """Return the set-up phase of this machine; nothing is read before a run needs it."""
    operator = Operator(
        process_environment(), settings.setup_hosts, settings.setup_variables, settings.toolchains
    )
    # Where packages come from is the operator's to say, and their tools are asked once for all.
    finder = IndexFinder(operator, sandbox.owner, conceal=redactor.add, outbound=settings.outbound)
    made = _make_in(settings, sandbox, redactor, finder)
    patterns = parse_image_patterns(settings.environment_images)

    def furnish(inside: Container, image: LocalImage, name: str) -> SetUps:
        # What the operator has in FETTLE_TOOLCHAINS was made for this machine, not for an image.
        own = settings.model_copy(update={"toolchains": ()})
        setting = ImageSetting(inside, image.id, name)
        return _make_in(own, sandbox, redactor, finder, setting)

    images = Images(
        patterns,
        sandbox,
        settings.container_engine,
        partial(make_image_sandbox, settings),
        furnish,
    )
    return replace(made, images=images if patterns else None)


def _make_in(
    settings: Settings,
    sandbox: Sandbox,
    redactor: Redactor,
    finder: IndexFinder,
    image: ImageSetting | None = None,
) -> SetUps:
    """Return the set-up phase of this machine, or in an image: one's results serve no other.

    Also in an image git is run in the machine's sandbox.
    """
    environ = process_environment()
    ways = IndexWays(finder, sandbox.owner)
    passed_on = {name: environ.get(name) for name in settings.setup_variables}
    store = Store(settings.data_dir / "setups", sandbox.owner[1])
    inside = image.sandbox if image else sandbox
    named = image.id if image else settings.sandbox_image
    about = describe_surroundings(inside, settings.toolchains, named, passed_on)
    reading = partial(ways.open, reading_alone=True)
    kits = Kits(store, inside, reading, about, finder.origins)
    place = image.place if image else None
    return SetUps(
        store,
        Builder(sandbox, settings.toolchains, redactor, ways.open, place),
        inside,
        about,
        finder.origins,
        Adder(inside, reading),
        kits,
        Toolchains(
            inside,
            settings.toolchains,
            frozenset(map(_find_host, settings.setup_hosts)),
            environ,
            kits.provide,
            KITS_AT,
            image.name if image else "",
        ),
        place=place,
    )


def _find_host(text: str) -> str:
    """Return the host that a line of FETTLE_SETUP_HOSTS names; a faulty one is told in a set-up."""
    try:
        return place_of(text if "://" in text else f"https://{text}").host
    except ValueError:
        return text
