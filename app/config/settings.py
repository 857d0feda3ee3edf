"""The settings: read once, validated strictly, secrets never printed.

The environment comes first. The App's credentials and the model's key are otherwise read from the
files that `fettle setup` wrote into the data folder. The App's id, key and webhook secret go
together: with one of them in the environment, none is read from files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from agents.errors import ConfigError
from app.config.load import (
    CREDENTIALS,
    PREFIX,
    Problem,
    decode_values,
    field_variable,
    list_missing,
    list_unknown,
    read_valid,
)
from app.config.values import (
    DeclaredCapabilities,
    EngineProgram,
    Folders,
    ImagePatterns,
    Tier,
    certificates_in_file,
    default_data_dir,
    expand_core,
    fernet_keys,
    fits_clock,
    github_address,
    in_home,
    key_in_file,
    known_conversations,
    known_sandbox,
    known_tiers,
    parse_key,
    proxy_address,
    readable_file,
    split_list,
    split_named,
    split_places,
    split_secrets,
    web_address,
    webhook_address,
    with_driver,
)
from app.network.outbound import Outbound
from app.secrets.encryption import Cipher
from app.secrets.files import FOLDER, kept_beside

PlainWord = Annotated[str, Field(min_length=1, pattern=r"^\S+$")]


@dataclass(frozen=True)
class AppCredentials:
    """Credentials of the App at GitHub, and the secrets that sign GitHub's deliveries."""

    app_id: str
    private_key: SecretStr
    webhook_secrets: tuple[SecretStr, ...]


class Settings(BaseSettings):
    """Every setting of a Fettle process. `load_settings` makes it; it never changes."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        populate_by_name=True,
        use_attribute_docstrings=True,
        validate_default=True,
    )

    app_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9.]{1,40}$")] | None = None
    """App ID or client ID, from the App's settings page."""
    private_key: Annotated[SecretStr, AfterValidator(parse_key)] | None = None
    """The App's private key: PEM, PEM with \\n for line ends, or base64 of the PEM."""
    private_key_file: Annotated[Path, AfterValidator(key_in_file)] | None = None
    """A file with the App's private key, instead of the key itself."""
    webhook_secrets: Annotated[tuple[SecretStr, ...], NoDecode, BeforeValidator(split_secrets)] = ()
    """Webhook secrets, all tried in turn, so one can be replaced without losing a delivery:
    separated by commas, or a JSON list when one has a comma inside."""
    github_url: Annotated[str, AfterValidator(github_address)] = "https://github.com"
    """Start page of your GitHub: https://github.com, https://NAME.ghe.com, or your own server."""
    webhook_url: Annotated[str | None, AfterValidator(webhook_address)] = None
    """Where GitHub reaches this server: `fettle setup` tells GitHub, `fettle doctor` compares."""

    https_proxy: Annotated[SecretStr | None, AfterValidator(proxy_address)] = Field(
        default=None, validation_alias="HTTPS_PROXY"
    )
    """Proxy towards https:// addresses of GitHub, models and package indexes, for git as well:
    http://proxy.example:3128, with a user name and a password if it wants them."""
    http_proxy: Annotated[SecretStr | None, AfterValidator(proxy_address)] = Field(
        default=None, validation_alias="HTTP_PROXY"
    )
    """The same towards http:// addresses."""
    no_proxy: str = Field(default="", validation_alias="NO_PROXY")
    """Hosts and domains that are reached directly, separated by commas; this machine always is."""
    ca_file: Annotated[Path | None, AfterValidator(certificates_in_file)] = None
    """File with certificates (PEM) of authorities to trust beside the machine's own, such as your
    company's, whose proxy ends TLS."""

    data_dir: Annotated[Path, AfterValidator(Path.expanduser)] = Field(
        default_factory=default_data_dir
    )
    """Folder for the database, the mirrors and the work trees."""
    database_url: Annotated[SecretStr | None, AfterValidator(with_driver)] = None
    """sqlite:///FILE or postgresql://...; when absent, the file fettle.db in the data folder."""
    encryption_keys: Annotated[
        tuple[SecretStr, ...],
        NoDecode,
        BeforeValidator(split_secrets),
        AfterValidator(fernet_keys),
    ] = ()
    """Fernet keys that encrypt the texts in the database: the first encrypts, all decrypt what they
    encrypted; separated by commas. Whoever loses them loses the texts."""
    signing_key_file: Annotated[Path | None, AfterValidator(in_home)] = None
    """File with the Ed25519 keys (PEM) that sign how pull requests were checked: the first signs,
    all are published; `fettle signing-key --new` makes it. Absent: secrets/signing.pem in the data
    folder, made at the first start; on PostgreSQL, where workers must share it, nothing is signed
    then."""
    commit_key_file: Annotated[Path | None, AfterValidator(readable_file)] = None
    """OpenSSH private key without a passphrase: signs commits where GitHub itself signs none."""
    committer: Annotated[str | None, Field(pattern=r"^[^<>\n]+ <[^<>\s]+@[^<>\s]+>$")] = None
    """Whose key that is, as `Name <email>`: an account at GitHub with it as a signing key."""
    host: PlainWord = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    """Port to listen on; 0 takes any free one."""

    models: Literal["all", "none"] = "all"
    """none asks no model and needs no key: alerts are fixed as far as code alone can fix them, and
    nothing else is done."""
    model: PlainWord = "claude-opus-5-5"
    """The strong model, which writes code."""
    model_judge: PlainWord | None = None
    """The model that judges changes: as strong as the strong one or stronger; absent: that one."""
    fallback_model: PlainWord | None = None
    """The model that goes on once where another declines to answer; absent: such a stage ends."""
    model_fast: PlainWord = "claude-haiku-5-5"
    """The fast model, which sorts and writes prose."""
    effort: Annotated[
        dict[str, Literal["low", "medium", "high"]], AfterValidator(known_conversations)
    ] = {}
    """How hard models think, as JSON by the conversation (* is all others): low, medium or high.
    {"*": "medium", "implement": "high"}; absent: medium, low for words, and high for a large or
    risky change."""
    path: Literal["whole", "fast"] = "whole"
    """How an issue becomes a change where a policy does not say it. fast costs about half: whoever
    has understood the issue goes on to make a change of one step."""
    tiers: Annotated[dict[str, Tier], AfterValidator(known_tiers)] = {}
    """Which model holds a conversation, as JSON: strong, fast or judge. {"craft_pr": "strong"};
    absent: fast for sorting and for words, judge for judging, strong for all others."""
    models_allowed: Annotated[tuple[str, ...], NoDecode, BeforeValidator(split_list)] = ()
    """Models that the policies of repositories may name beside these: comma or JSON list."""
    anthropic_api_key: SecretStr | None = Field(default=None, validation_alias="ANTHROPIC_API_KEY")
    """Key for the Messages API."""
    anthropic_auth_token: SecretStr | None = Field(
        default=None, validation_alias="ANTHROPIC_AUTH_TOKEN"
    )
    """Bearer token for a gateway before the Messages API, instead of a key."""
    anthropic_base_url: Annotated[str | None, AfterValidator(web_address)] = Field(
        default=None, validation_alias="ANTHROPIC_BASE_URL"
    )
    """Address of another server that speaks the Messages API."""
    aws_region: PlainWord | None = Field(default=None, validation_alias="AWS_REGION")
    """Region of Amazon Bedrock, for models whose names begin with `bedrock:` (extra `bedrock`)."""
    aws_access_key_id: PlainWord | None = Field(default=None, validation_alias="AWS_ACCESS_KEY_ID")
    """Key for it; absent, AWS looks for credentials in its usual places: profile or instance."""
    aws_secret_access_key: SecretStr | None = Field(
        default=None, validation_alias="AWS_SECRET_ACCESS_KEY"
    )
    """The secret that belongs to that key."""
    aws_session_token: SecretStr | None = Field(default=None, validation_alias="AWS_SESSION_TOKEN")
    """The token that belongs to a key which holds for a while."""
    aws_bearer_token_bedrock: SecretStr | None = Field(
        default=None, validation_alias="AWS_BEARER_TOKEN_BEDROCK"
    )
    """Bearer token for Amazon Bedrock, instead of a key."""
    bedrock_url: Annotated[str | None, AfterValidator(web_address)] = Field(
        default=None, validation_alias="ANTHROPIC_BEDROCK_BASE_URL"
    )
    """Address of Amazon Bedrock, where it is not the region's public one."""
    vertex_project: PlainWord | None = Field(
        default=None, validation_alias="ANTHROPIC_VERTEX_PROJECT_ID"
    )
    """Project of Google Cloud, for models whose names begin with `vertex:` (extra `vertex`);
    absent: that of the credentials which Google finds on this machine."""
    vertex_region: PlainWord = Field(default="global", validation_alias="CLOUD_ML_REGION")
    """Region of Vertex AI."""
    vertex_url: Annotated[str | None, AfterValidator(web_address)] = Field(
        default=None, validation_alias="ANTHROPIC_VERTEX_BASE_URL"
    )
    """Address of Vertex AI, where it is not the region's public one."""
    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    """Key for models whose names begin with `openai:` (extra `openai`)."""
    openai_base_url: Annotated[str | None, AfterValidator(web_address)] = Field(
        default=None, validation_alias="OPENAI_BASE_URL"
    )
    """Address of another server that speaks chat completions, with its /v1."""
    model_capabilities: dict[
        str, Annotated[DeclaredCapabilities, BeforeValidator(expand_core)]
    ] = {}
    """What models understand where their server does not say it or says it wrong, as JSON by name
    (* is all): {"*": "core"}, {"house": {"effort": true, "context_window": 200000}}."""

    price_file: Annotated[Path | None, AfterValidator(readable_file)] = None
    """TOML file of what models cost that no public list names, in dollars a million tokens:
    ["house"], then lines like input = 0.5 and output = 1.5; "*" is all others."""

    toolchains: Folders = ()
    """Folders that every sandbox sees read-only, their bin first on PATH; of several versions in
    folders below one, a repository's version files choose: comma or JSON list."""
    sandbox: Annotated[
        Literal["auto", "bubblewrap", "container", "none"], BeforeValidator(known_sandbox)
    ] = "auto"
    """What holds agents; auto takes bubblewrap, else a container engine, and refuses otherwise."""
    i_understand_agents_run_unsandboxed: bool = False
    """true lets FETTLE_SANDBOX=none run what agents write without any hold."""
    sandbox_image: PlainWord = "python:3"
    """Image that the container sandbox runs commands in; it needs bash, git and perl."""
    container_engine: EngineProgram = None
    """Program of the container engine: a podman or docker that lies in no usual place."""
    environment_images: ImagePatterns = ()
    """Images that repositories may have their commands run in, by policy or devcontainer: comma or
    JSON list such as mcr.microsoft.com/devcontainers/*, ghcr.io/acme/ci:1.*. None is fetched."""
    sandbox_memory_mb: Annotated[int, Field(ge=128)] = 4096
    """Memory that one command and all it starts may use, where cgroups can be used."""
    sandbox_disk_mb: Annotated[int, Field(ge=64)] = 10_240
    """Disk that one run may fill; the command that goes beyond is stopped."""
    sandbox_files: Annotated[int, Field(ge=10_000)] = 1_000_000
    """Files and folders that one run may make; the command that goes beyond is stopped."""
    disk_reserve_mb: Annotated[int, Field(ge=0)] = 1024
    """Free disk below which no command starts."""
    setup_hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(split_list)] = ()
    """Hosts that set-up commands may reach, beside the package indexes, and so may uv and mise when
    they fetch a toolchain: comma or JSON list."""
    setup_variables: Annotated[tuple[str, ...], NoDecode, BeforeValidator(split_list)] = ()
    """Names of variables of this environment that set-up commands get, such as PIP_INDEX_URL."""
    mcp_servers: Annotated[Path | None, AfterValidator(readable_file)] = None
    """JSON file of the MCP servers that policies may name, in the usual `mcpServers` form."""
    sandbox_uid: Annotated[int, Field(ge=1, lt=2**31)] = 58999
    """User id that commands of agents get when Fettle runs as root."""
    worker: PlainWord = "fettle"
    """Name of this process; on PostgreSQL each has its own, and keeps it over restarts."""
    stages_at_once: Annotated[int, Field(ge=1, le=1000)] = 4
    """Runs that are at work at the same time on this machine. Those that wait, for a place or for
    people, are rows of the database."""
    installation_places: Annotated[int, Field(ge=0, le=10_000)] = 0
    """Runs of one installation that are at work at the same time, over all workers. 0: all places
    of a worker but one, where the App is installed more than once."""
    database_connections: Annotated[int, Field(ge=14, le=1000)] = 20
    """Connections that this process opens to PostgreSQL at most."""
    inbox_limit: Annotated[int, Field(ge=1)] = 10_000
    """Deliveries that may wait for dispatch; beyond it GitHub is told to come back."""
    connection_limit: Annotated[int, Field(ge=10)] = 1_000
    """Connections that may be open at once; one too many ends the one that has waited longest."""
    body_limit_mb: Annotated[int, Field(ge=32)] = 64
    """Megabytes of deliveries that may be in memory at once; beyond it GitHub is told to come
    back."""
    sweep_seconds: Annotated[int, Field(ge=1, le=3600), AfterValidator(fits_clock)] = 600
    """Seconds from one look for lost deliveries and overlooked labels to the next."""
    retention_days: Annotated[int, Field(ge=0)] = 90
    """Days for which the texts of runs that ended are kept, with the deliveries and commits that
    belong to them; numbers stay. 0 keeps all of it for good."""
    removed_days: Annotated[int, Field(ge=0)] = 30
    """Days after which a repository that the App was taken off is forgotten whole; 0: never."""
    github_write_spacing: Annotated[float, Field(ge=0, le=60)] = 1.0
    """Seconds between two writes to GitHub for one installation."""
    run_budget_usd: Annotated[float, Field(gt=0)] = 20.0
    """Dollars one run may spend on models at most, whatever a policy or a person says."""
    day_budget_usd: Annotated[float, Field(gt=0)] = 100.0
    """Dollars all runs on one repository may spend in a day (UTC), whatever its policy says."""
    repositories: dict[str, str] = {}
    """Short names for `fettle resolve NAME 25`, as JSON: {"parse": "octo-org/parse"}."""
    owners: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,100}$")], ...],
        NoDecode,
        BeforeValidator(split_named),
    ] = ()
    """Accounts that Fettle works for, by login or by id, where anybody can install the App: comma
    or JSON list. Nothing is done for others. Absent: it works wherever the App is installed."""
    clones: Annotated[
        dict[str, Path] | tuple[Path, ...], NoDecode, BeforeValidator(split_places)
    ] = ()
    """Where clones are, to begin a mirror with: folders, or as JSON {"octo/lib": "/src/lib"}."""

    pages: Literal["off", "operators", "people"] = "off"
    """operators serves pages of runs, approvals and spending, on a port of their own, to whoever
    logs in with a code of `fettle page`; people also to whoever signs in with GitHub, of the
    repositories that they can read there."""
    client_id: PlainWord | None = None
    """The App's client id, for signing in with GitHub: on the App's page at GitHub."""
    client_secret: SecretStr | None = None
    """A client secret made on the same page."""
    operators: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,100}$")], ...],
        NoDecode,
        BeforeValidator(split_named),
    ] = ()
    """Who of those that sign in with GitHub sees and does everything on the pages, by login or,
    better, by id: comma or JSON list."""
    pages_host: PlainWord = "127.0.0.1"
    """Address that the pages listen on."""
    pages_port: Annotated[int, Field(ge=0, le=65535)] = 8081
    """Port that they listen on; 0 takes any free one."""
    pages_url: Annotated[str | None, AfterValidator(web_address)] = None
    """Their address for browsers, where a proxy before them adds TLS: https://fettle.example."""

    otlp_url: Annotated[str | None, AfterValidator(web_address)] = None
    """OpenTelemetry collector that traces are sent to, such as http://127.0.0.1:4318; it takes the
    extra `otel`."""
    otlp_headers: dict[str, SecretStr] = {}
    """Headers that it wants, as JSON: {"authorization": "Bearer ..."}."""
    log_format: Literal["console", "json"] = "console"
    """console for people, json for machines."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least important message that is still written."""

    @classmethod
    def settings_customise_sources(  # type: ignore[override] # three unused arguments left out
        cls, *_: object, init_settings: PydanticBaseSettingsSource, **__: object
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take values from the caller alone: `load_settings` is what reads the environment."""
        return (init_settings,)

    @property
    def pages_for_people(self) -> str:
        """Return the address of the pages where people can sign in; empty where they cannot."""
        return (self.pages_url or "").rstrip("/") if self.pages == "people" else ""

    @property
    def database(self) -> str:
        """Return the database's SQLAlchemy URL, password included: never print it."""
        if self.database_url is None:
            return f"sqlite:///{self.data_dir / 'fettle.db'}"
        return self.database_url.get_secret_value()

    @cached_property
    def outbound(self) -> Outbound:
        """Return the way out of this machine."""
        given = {"https": self.https_proxy, "http": self.http_proxy}
        proxies = {name: each.get_secret_value() for name, each in given.items() if each}
        return Outbound(proxies, self.no_proxy, self.ca_file.read_text() if self.ca_file else "")

    @property
    def signing_keys(self) -> Path | None:
        """Return the file of the signing keys; None where workers would each make their own."""
        own = self.database.startswith("sqlite")
        return self.signing_key_file or (self.data_dir / FOLDER / "signing.pem" if own else None)

    @property
    def cipher(self) -> Cipher:
        """Return the cipher for texts at rest; without keys it leaves them plain."""
        return Cipher([key.get_secret_value() for key in self.encryption_keys])

    @property
    def credentials(self) -> AppCredentials:
        """Return the App's credentials. Raises ConfigError when they are not set."""
        key = self.private_key
        if self.private_key_file is not None:
            key = parse_key(SecretStr(self.private_key_file.read_text()))
        if self.app_id is None or key is None or not self.webhook_secrets:
            raise ConfigError("\n".join(map(str, list_missing(self.model_dump()))))
        return AppCredentials(self.app_id, key, self.webhook_secrets)


@dataclass(frozen=True)
class LoadedSettings:
    """The settings, with defaults in place of faulty values."""

    settings: Settings
    problems: tuple[Problem, ...]
    missing: tuple[Problem, ...]
    """What a server lacks."""
    without_app: bool
    """Nothing of an App is there at all."""


class AppNotConfigured(ConfigError):
    """No App is configured yet; `settings` has the other settings, which are valid."""

    def __init__(self, text: str, settings: Settings) -> None:
        super().__init__(text)
        self.settings = settings


def load_settings(environ: Mapping[str, str] | None = None, *, serving: bool = True) -> Settings:
    """Return the settings in these variables, by default those of the process.

    With `serving=False` the App's credentials may be absent: a local run needs no GitHub.
    Raises ConfigError with one line for each problem: variable, what is wrong, remedy.
    """
    read = read_settings(environ)
    problems = [*read.problems, *(read.missing if serving else ())]
    if not problems:
        return read.settings
    lines = "\n".join(["Fettle cannot start with these settings:", *map(str, problems)])
    if read.without_app and not read.problems:
        raise AppNotConfigured(lines, read.settings)
    raise ConfigError(lines)


def read_settings(environ: Mapping[str, str] | None = None) -> LoadedSettings:
    """Return the readable settings and every problem; raises nothing."""
    environ = os.environ if environ is None else environ
    given = {name.lower(): text for name, text in environ.items() if text.strip()}
    folder = given.get(f"{PREFIX}DATA_DIR".lower())
    kept = kept_beside(given, Path(folder).expanduser() if folder else default_data_dir())
    problems = [Problem(*each) for each in kept.problems]
    problems += list_unknown(
        environ, [field_variable(Settings, field) for field in Settings.model_fields]
    )
    source = EnvSettingsSource(Settings)
    source.env_vars = {**{name.lower(): text for name, text in kept.values.items()}, **given}
    values = decode_values(Settings, source, problems)
    missing = tuple(list_missing(values))
    settings = read_valid(Settings, values, problems)
    without_app = not any(values.get(name) for name in CREDENTIALS)
    return LoadedSettings(settings, tuple(problems), missing, without_app)


def process_environment() -> dict[str, str]:
    """Return all variables of the process, for the operator's tools and never for a sandbox."""
    return dict(os.environ)
