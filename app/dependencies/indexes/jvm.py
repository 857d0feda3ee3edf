"""Maven's mirrors, read from its settings, and the servers that Gradle's init scripts name.

Neither tool can be asked for them without a plugin from an index.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import Element

from app.dependencies.indexes.operator_config import Operator
from app.dependencies.indexes.parse_url import add_mirror
from app.dependencies.indexes.result import Configured

CENTRAL = ("https://repo.maven.apache.org/maven2/", "https://repo1.maven.org/maven2/")
PLUGINS = "https://plugins.gradle.org/m2/"
_PLUGIN_FILES = "https://plugins-artifacts.gradle.org/"

_MAVEN_FOLDERS = ("/usr/share/maven", "/opt/maven", "/usr/local/share/maven")
_VARIABLE = re.compile(r"\$\{env\.([A-Za-z_][A-Za-z0-9_]*)\}")
_GRADLE_URL = re.compile(
    r"""\b(?:url|setUrl|artifactUrls?)\b[\s=(]{0,9}(?:uri\s{0,3}\()?\s{0,3}["'](https?://[^"'$\s]+)["']"""
)
_LARGEST_SCRIPT = 1_000_000
_ENCRYPTED = (
    "The password of Maven's server `{id}` is encrypted, and was not used: put it into ~/.netrc for"
    " Fettle."
)
_OTHER_HEADERS = (
    "Maven's server `{id}` has headers that set-ups do not send; only Authorization is."
)
_SEVERAL = (
    "Gradle's init scripts name several servers, and none of them as the mirror of Maven Central:"
    " a mirror of `central` in Maven's settings.xml says so."
)
_KEEPS_LOGINS = "Logins in Gradle's init scripts are not used: put them into ~/.netrc for Fettle."


@dataclass(frozen=True)
class _Server:
    """One address of Maven's settings, and how it is opened."""

    id: str
    url: str
    mirrors: str = ""
    """The ids of the repositories that it stands for, as `mirrorOf` has them."""


@dataclass
class _Settings:
    """What the settings files say together, the user's before the machine's."""

    mirrors: list[_Server] = field(default_factory=list)
    repositories: list[_Server] = field(default_factory=list)
    logins: dict[str, Element] = field(default_factory=dict)

    def find_mirror(self, repository: str) -> _Server | None:
        """Return the mirror of the repository with this id: one of its own before a pattern.

        https://maven.apache.org/guides/mini/guide-mirror-settings.html
        """
        exact = (each for each in self.mirrors if each.mirrors == repository)
        fitting = (each for each in self.mirrors if _covers(each.mirrors, repository))
        return next(exact, None) or next(fitting, None)


async def maven_indexes(operator: Operator) -> Configured:
    """Return the mirror of Maven Central and the repositories of active profiles, or Central.

    https://maven.apache.org/settings.html
    """
    made = Configured("mvn")
    settings = _read_settings(operator)
    publics: dict[_Server, tuple[str, ...]] = {}
    central = settings.find_mirror("central")
    if central is not None:
        publics[central] = CENTRAL
    for each in settings.repositories:
        mirror = settings.find_mirror(each.id)
        if mirror is None:
            _add(made, operator, settings, each, ())
        elif each.url.startswith("https://"):
            publics[mirror] = (*publics.get(mirror, ()), f"{each.url.rstrip('/')}/")
    for each, urls in publics.items():
        _add(made, operator, settings, each, urls)
    for url in CENTRAL if central is None else ():
        add_mirror(made, operator, url)
    return made


async def gradle_indexes(operator: Operator) -> Configured:
    """Return the servers of Gradle's init scripts, and what answers for its plugin portal.

    Maven Central's mirror in Maven's settings is Gradle's, too: an operator with a mirror for one
    wants no other way out for the other.
    https://docs.gradle.org/current/userguide/init_scripts.html
    """
    made = Configured("gradle")
    settings = _read_settings(operator)
    scripts = list(_read_scripts(operator))
    urls = list(dict.fromkeys(url for text in scripts for url in _GRADLE_URL.findall(text)))
    if any(re.search(r"\bcredentials\b", text) for text in scripts):
        made.notes.append(_KEEPS_LOGINS)
    mirror = settings.find_mirror("gradle-plugins")
    if mirror is not None:
        _add(made, operator, settings, mirror, (PLUGINS,))
    alone = len(urls) == 1 and settings.find_mirror("central") is None
    for url in urls:
        add_mirror(made, operator, url, (*CENTRAL, PLUGINS) if alone else ())
    if len(urls) > 1 and settings.find_mirror("central") is None:
        made.notes.append(_SEVERAL)
    if mirror is None and not alone:
        for url in (PLUGINS, _PLUGIN_FILES):
            add_mirror(made, operator, url)
    return made


def _add(
    made: Configured,
    operator: Operator,
    settings: _Settings,
    server: _Server,
    publics: tuple[str, ...],
) -> None:
    """Add one server with the login that the settings have for its id."""
    login, token = None, ""
    about = settings.logins.get(server.id)
    if about is not None:
        user, password = _text(about, "username", operator), _text(about, "password", operator)
        if password.startswith("{") and password.endswith("}"):
            made.notes.append(_ENCRYPTED.format(id=server.id))
        elif user or password:
            login = (user, password)
        token = _find_token(about, operator)
        if about.find("configuration/httpHeaders") is not None and not token:
            made.notes.append(_OTHER_HEADERS.format(id=server.id))
    add_mirror(made, operator, server.url, publics, login=login, token=token)


def _find_token(server: Element, operator: Operator) -> str:
    for header in server.iterfind("configuration/httpHeaders/property"):
        scheme, _, token = _text(header, "value", operator).partition(" ")
        if _text(header, "name", operator).lower() == "authorization" and scheme == "Bearer":
            return token.strip()
    return ""


def _read_settings(operator: Operator) -> _Settings:
    homes = [operator.environ.get(name, "") for name in ("MAVEN_HOME", "M2_HOME")]
    folders = [Path(each, "conf") for each in (*homes, *_MAVEN_FOLDERS) if each]
    paths = [operator.home / ".m2/settings.xml"]
    paths += [path for path in (each / "settings.xml" for each in folders) if path.exists()][:1]
    made = _Settings()
    for root in operator.xmls(paths):
        made.mirrors += [
            _Server(_text(m, "id", operator), _text(m, "url", operator), _text(m, "mirrorOf"))
            for m in root.iterfind("mirrors/mirror")
            if _text(m, "blocked") != "true"
        ]
        for server in root.iterfind("servers/server"):
            made.logins.setdefault(_text(server, "id", operator), server)
        made.repositories += _list_repositories(root, operator)
    return made


def _list_repositories(root: Element, operator: Operator) -> Iterator[_Server]:
    """Yield the repositories of the profiles that are always active."""
    active = {(each.text or "").strip() for each in root.iterfind("activeProfiles/activeProfile")}
    for profile in root.iterfind("profiles/profile"):
        by_default = _text(profile, "activation/activeByDefault") == "true"
        if by_default or _text(profile, "id") in active:
            for kind in ("repositories/repository", "pluginRepositories/pluginRepository"):
                for each in profile.iterfind(kind):
                    yield _Server(_text(each, "id", operator), _text(each, "url", operator))


def _covers(patterns: str, repository: str) -> bool:
    covered = False
    for pattern in map(str.strip, patterns.split(",")):
        if pattern == repository:
            return True
        if pattern == f"!{repository}":
            return False
        covered = covered or pattern in {"*", "external:*"}
    return covered


def _text(element: Element, path: str, operator: Operator | None = None) -> str:
    """Return the text there; with an operator, their variables are put in as Maven does."""
    text = (element.findtext(path) or "").strip()
    environ = operator.environ if operator else {}
    return _VARIABLE.sub(lambda found: environ.get(found[1], found[0]), text)


def _read_scripts(operator: Operator) -> Iterable[str]:
    """Yield Gradle's init scripts, without their comments: nothing in them is run."""
    environ = operator.environ
    homes = [Path(environ.get("GRADLE_USER_HOME") or operator.home / ".gradle")]
    if environ.get("GRADLE_HOME"):
        homes.append(Path(environ["GRADLE_HOME"]))
    for home in homes:
        files = [home / "init.gradle", home / "init.gradle.kts"]
        files += [
            each for end in ("", ".kts") for each in sorted(home.glob(f"init.d/*.gradle{end}"))
        ]
        for path in files:
            try:
                text = path.read_text("utf-8")[:_LARGEST_SCRIPT]
            except (OSError, UnicodeDecodeError):
                continue
            yield re.sub(r"/\*.*?\*/|(?<![:\w])//[^\n]*", "", text, flags=re.DOTALL)
