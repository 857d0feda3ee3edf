"""Read which database servers a repository's tests need: `services` of workflows and compose files.

Anybody may have written these files. What comes of them is a short list of plain values, each of a
known form. https://docs.github.com/actions/using-containerized-services and
https://docs.docker.com/reference/compose-file/services/
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from agents.analysis.languages.ci_tools import WORKFLOWS
from agents.policy.document import MalformedPolicy, read_document
from agents.requests import Frozen
from agents.text import one_line

ServiceKind = Literal["postgres", "redis", "mysql"]

MOST_FILES = 20
MOST_SERVICES = 5
MOST_UNSTARTED = 5
PORTS: Mapping[ServiceKind, int] = {"postgres": 5432, "redis": 6379, "mysql": 3306}

_WORKFLOW = re.compile(WORKFLOWS)
_COMPOSE = re.compile(r"(?:docker-)?compose(?:[.-][\w-]{1,20})?\.ya?ml")
_IMAGES: Mapping[str, ServiceKind] = {
    "postgres": "postgres",
    "redis": "redis",
    "valkey": "redis",
    "mysql": "mysql",
    "mariadb": "mysql",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,62}")
_PASSWORD = re.compile(r"[!-&(-\[\]-~]{1,128}")  # printable, without quotes and backslashes
_DEFAULT = re.compile(r"\$\{\w+:?-([^${}]*)\}")
_PUBLISHED = re.compile(r"(?:\d+\.\d+\.\d+\.\d+:)?(\d{1,5})(?::\d{1,5})?(?:/tcp)?")


class Service(Frozen):
    """A server that tests connect to on loopback."""

    kind: ServiceKind
    port: int
    """From 1024 on: a command may not listen below."""
    user: str
    password: str
    """Empty where the files give none: then any is taken."""
    database: str
    """Empty where there is none to be made."""
    source: str
    """The file that names it."""


class UnstartedService(Frozen):
    """A server that cannot be started here."""

    source: str
    """The file that names it."""
    reason: str
    """A sentence for people, with words of the file."""

    @property
    def is_of_compose(self) -> bool:
        """Return whether a compose file names it, and no workflow.

        It may be for whoever runs the program, so no test is known to want it.
        """
        return _COMPOSE.fullmatch(self.source) is not None


class ServiceList(Frozen):
    """The services that a repository's files name."""

    services: tuple[Service, ...] = ()
    unstarted: tuple[UnstartedService, ...] = ()


def list_service_paths(paths: Iterable[str]) -> list[str]:
    """Return the files that may name services, workflows first."""
    known = sorted(paths)
    workflows = [path for path in known if _WORKFLOW.fullmatch(path)]
    compose = [path for path in known if _COMPOSE.fullmatch(path)]
    return [*workflows, *compose][:MOST_FILES]


def find_services(texts: Mapping[str, str]) -> ServiceList:
    """Return the services that these files name, each port once: what comes first holds."""
    services: dict[int, Service] = {}
    unstarted: dict[UnstartedService, None] = {}
    for path in list_service_paths(texts):
        for name, about in _list_described(path, texts[path]):
            found = _read_service(name, about, path)
            if isinstance(found, str):
                unstarted[UnstartedService(source=path, reason=found)] = None
            elif found and len(services) < MOST_SERVICES:
                services.setdefault(found.port, found)
    kept = tuple(unstarted)[:MOST_UNSTARTED]
    return ServiceList(services=tuple(services.values()), unstarted=kept)


def _list_described(path: str, text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each service's name with what the file says about it."""
    try:
        document = read_document(text.encode()).value
    except MalformedPolicy:
        return
    jobs = _mapping(document.get("jobs")).values() if _WORKFLOW.fullmatch(path) else [document]
    for job in jobs:
        for name, about in _mapping(_mapping(job).get("services")).items():
            if isinstance(about, dict):
                yield name, about


def _read_service(name: str, about: Mapping[str, Any], path: str) -> Service | str | None:
    """Return the service, why it cannot be started, or None for what is no server of others."""
    image = about.get("image")
    if not isinstance(image, str):
        return None  # the repository builds it
    program = re.split(r"[:@]", image.rsplit("/", 1)[-1])[0].lower()
    kind = _IMAGES.get(program)
    if kind is None and not _WORKFLOW.fullmatch(path):
        return None  # it may be for whoever runs the program: no test is known to want it
    if kind is None:
        return (
            f"`{path}` names the service `{one_line(name, 40)}` (image `{one_line(image, 60)}`), "
            f"which cannot be started in the sandbox; PostgreSQL, Redis and MySQL can."
        )
    given = _read_variables(about.get("environment", about.get("env")))
    port = _find_port(about.get("ports"), PORTS[kind])
    if not 1024 <= port <= 65535:
        return f"`{path}` wants {kind} on port {port}, where no command may listen: 1024 to 65535."
    user, password, database = _find_access(kind, given)
    return Service(
        kind=kind, port=port, user=user, password=password, database=database, source=path
    )


def _find_access(kind: ServiceKind, given: Mapping[str, str]) -> tuple[str, str, str]:
    """Return user, password and database, as the images of these servers understand them."""
    if kind == "redis":
        return "", _fit(_PASSWORD, given.get("REDIS_PASSWORD")), ""
    if kind == "postgres":
        user = _fit(_NAME, given.get("POSTGRES_USER")) or "postgres"
        password = _fit(_PASSWORD, given.get("POSTGRES_PASSWORD"))
        trusts = given.get("POSTGRES_HOST_AUTH_METHOD") == "trust"
        return user, "" if trusts else password, _fit(_NAME, given.get("POSTGRES_DB")) or user
    about = {
        part: given.get(f"MYSQL_{part}") or given.get(f"MARIADB_{part}")
        for part in ("USER", "PASSWORD", "ROOT_PASSWORD", "DATABASE")
    }
    user = _fit(_NAME, about["USER"]) or "root"
    chosen = about["ROOT_PASSWORD"] if user == "root" else about["PASSWORD"]
    return user, _fit(_PASSWORD, chosen), _fit(_NAME, about["DATABASE"])


def _fit(form: re.Pattern[str], value: str | None) -> str:
    """Return a value of this form; empty for any other, like an expression of a workflow's."""
    if value is None:
        return ""
    default = _DEFAULT.fullmatch(value)
    plain = default.group(1) if default else value
    return plain if "${" not in plain and form.fullmatch(plain) else ""


def _read_variables(given: object) -> dict[str, str]:
    """Return variables that stand as a mapping or, in compose files, as a list."""
    if isinstance(given, tuple):
        pairs = (each.partition("=") for each in given if isinstance(each, str))
        return {name: value for name, _, value in pairs}
    return {
        name: str(value) for name, value in _mapping(given).items() if isinstance(value, str | int)
    }


def _find_port(ports: object, usual: int) -> int:
    """Return the port on the machine of the tests."""
    for each in ports if isinstance(ports, tuple) else ():
        published = _mapping(each).get("published") if isinstance(each, dict) else each
        found = _PUBLISHED.fullmatch(_fit(re.compile(r"[\w.:/]+"), str(published)))
        if found:
            return int(found.group(1))
    return usual


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
