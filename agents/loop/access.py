"""Ways to Claude: Anthropic's own API or a gateway, Amazon Bedrock, Google Vertex AI.

Each opens the SDK's client for it. What they are sent, and how their errors read, is the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from agents.errors import ConfigError

if TYPE_CHECKING:
    from ssl import SSLContext

    from anthropic import AsyncAnthropic, AsyncAnthropicBedrock, AsyncAnthropicVertex

# ruff: noqa: PLC0415 - the SDKs have thousands of modules: they wait for the first question

CONNECT_SECONDS = 10.0
_OF_CLOUDS = (401, 402, 403)
_WORD: Any = {"role": "user", "content": "Hi"}
_NO_MODEL = ("model identifier", "model id")
"""What Bedrock says, as a bad request, of a name that it does not know."""


class ModelAccess(Protocol):
    """An address with what it wants to see of us."""

    @property
    def secrets(self) -> Sequence[str]:
        """Return what no text may show."""
        ...

    @property
    def settings(self) -> str:
        """Return which settings to look at where credentials are refused, for people."""
        ...

    @property
    def final(self) -> Collection[int]:
        """Return the statuses by which a look at a model shows that none can be asked."""
        ...

    async def look_up(self, client: Any, model: str) -> Mapping[str, Any]:
        """Return what the server says of the model; nothing where it only shows that it is there.

        Raises the SDK's error for a refusal, UnknownModel for a model that there is not.
        """
        ...

    async def open(self, timeout: float) -> Any:
        """Return a client whose longest wait for the server is `timeout` seconds.

        Raises ConfigError where something is missing that it takes.
        """
        ...

    def explain(self, error: Exception) -> str | None:
        """Return what to do when a request could not be signed; None for another error."""
        ...


class UnknownModel(ConfigError):
    """The model's server has no model of this name."""

    def __init__(self, model: str, said: str, settings: str, secrets: Sequence[str]) -> None:
        super().__init__(
            f"The model's server does not know the model `{model}`: {hide(said, secrets)[:500]}"
            " Check FETTLE_MODEL, FETTLE_MODEL_FAST and FETTLE_MODEL_JUDGE, `models` in the policy,"
            f" and {settings}."
        )


@dataclass(frozen=True)
class AnthropicAccess:
    """Anthropic's API with a key, or another server that speaks it.

    `token` is sent as a bearer token, as gateways want it, instead of the key.
    """

    key: str = field(default="", repr=False)
    base_url: str | None = None
    token: str = field(default="", repr=False)
    trusted: SSLContext | None = None

    def __post_init__(self) -> None:
        """Raise ConfigError where there is neither a key nor a server that may need none."""
        if not (self.key or self.token or self.base_url):
            raise ConfigError(
                "ANTHROPIC_API_KEY is not set, so no model can be asked. Set it, or set"
                " ANTHROPIC_BASE_URL to a server that needs no key."
            )

    settings = "ANTHROPIC_API_KEY, the account's credit and limits, and ANTHROPIC_BASE_URL"
    final = (401,)
    """A gateway may have no such page, or show it to nobody."""

    @property
    def secrets(self) -> Sequence[str]:
        """Return the key and the token."""
        return [each for each in (self.key, self.token) if each]

    async def open(self, timeout: float) -> AsyncAnthropic:
        """Return the client."""
        await import_beside_loop("anthropic")
        from anthropic import AsyncAnthropic

        # Always named, or the SDK looks for them in the environment. Its own retries are off:
        # they obey a Retry-After of any length, and they do not see a stream that breaks.
        return AsyncAnthropic(
            api_key=None if self.token else self.key or "none",
            auth_token=self.token or None,
            base_url=self.base_url or "https://api.anthropic.com",
            **_limit(timeout, self.trusted),
        )

    async def look_up(self, client: AsyncAnthropic, model: str) -> Mapping[str, Any]:
        """Return the model's page; where there is none, have a word counted for it.

        That costs nothing, and tells a model that nobody knows from a gateway without pages.
        """
        from anthropic import NotFoundError

        try:
            return (await client.models.retrieve(model)).to_dict(mode="json")
        except NotFoundError as error:
            if not names_model(said_in(error), model):
                raise
        try:
            await client.messages.count_tokens(model=model, messages=[_WORD])
        except NotFoundError as error:
            if names_model(said := said_in(error), model):
                raise UnknownModel(model, said, self.settings, self.secrets) from error
        return {}

    def explain(self, error: Exception) -> str | None:  # noqa: ARG002 - the protocol has it
        """Return None: nothing is signed."""
        return None


@dataclass(frozen=True)
class BedrockAccess:
    """Claude on Amazon Bedrock: a bearer token, a pair of keys, or what AWS finds by itself.

    Without any of them AWS looks for credentials in its usual places: profile, container, instance.
    https://docs.claude.com/en/api/claude-on-amazon-bedrock
    """

    region: str | None = None
    key_id: str | None = None
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    base_url: str | None = None
    trusted: SSLContext | None = None

    settings = "the credentials of AWS, AWS_REGION, and whether the account may invoke the model"
    final = _OF_CLOUDS

    @property
    def secrets(self) -> Sequence[str]:
        """Return what signs requests."""
        return [each for each in (self.secret_key, self.session_token, self.token) if each]

    async def open(self, timeout: float) -> AsyncAnthropicBedrock:
        """Return the client. Raises ConfigError without the extra `bedrock`, or a region."""
        await import_beside_loop("anthropic")
        await import_extra("botocore.session", "bedrock")
        from anthropic import AsyncAnthropicBedrock

        keyed = self.key_id if not self.token else None
        try:
            return AsyncAnthropicBedrock(
                aws_region=self.region,
                aws_access_key=keyed,
                aws_secret_key=self.secret_key if keyed else None,
                aws_session_token=self.session_token if keyed else None,
                api_key=self.token,
                base_url=self.base_url,
                **_limit(timeout, self.trusted),
            )
        except ValueError as error:
            raise ConfigError(
                "Amazon Bedrock cannot be asked without the name of a region: set AWS_REGION."
            ) from error

    async def look_up(self, client: AsyncAnthropicBedrock, model: str) -> Mapping[str, Any]:
        """Ask the model for one token: Bedrock has no page that needs no other permission."""
        return await _ask_for_a_token(client, model, self)

    def explain(self, error: Exception) -> str | None:
        """Return what to do where AWS finds no credentials, or cannot renew them."""
        from botocore.exceptions import (  # type: ignore[import-untyped]  # it has no stubs
            BotoCoreError,
        )

        if isinstance(error, (BotoCoreError, RuntimeError)):
            return f"AWS gives no credentials ({type(error).__name__}). {_AWS_REMEDY}"
        return None


@dataclass(frozen=True)
class VertexAccess:
    """Claude on Google Vertex AI, with the machine's own credentials of Google Cloud.

    Google looks for them by itself: the file that GOOGLE_APPLICATION_CREDENTIALS names, gcloud's
    login, the metadata server. https://docs.claude.com/en/api/claude-on-vertex-ai
    """

    project: str | None = None
    region: str = "global"
    base_url: str | None = None
    trusted: SSLContext | None = None

    settings = (
        "the credentials of Google Cloud, ANTHROPIC_VERTEX_PROJECT_ID, CLOUD_ML_REGION, and whether"
        " the project may use the model"
    )
    final = _OF_CLOUDS

    @property
    def secrets(self) -> Sequence[str]:
        """Return nothing: the tokens are made anew every hour, inside Google's library."""
        return ()

    async def open(self, timeout: float) -> AsyncAnthropicVertex:
        """Return the client. Raises ConfigError without the extra `vertex`."""
        await import_beside_loop("anthropic")
        await import_extra("google.auth.transport.requests", "vertex")
        from anthropic import NOT_GIVEN, AsyncAnthropicVertex

        return AsyncAnthropicVertex(
            region=self.region,
            project_id=self.project or NOT_GIVEN,
            base_url=self.base_url,
            **_limit(timeout, self.trusted),
        )

    async def look_up(self, client: AsyncAnthropicVertex, model: str) -> Mapping[str, Any]:
        """Ask the model for one token: not every region counts tokens."""
        return await _ask_for_a_token(client, model, self)

    def explain(self, error: Exception) -> str | None:
        """Return what to do where Google finds no credentials, or refuses to renew them."""
        from google.auth.exceptions import GoogleAuthError

        if isinstance(error, (GoogleAuthError, ValueError, RuntimeError)):
            return f"Google gives no credentials ({type(error).__name__}). {_GOOGLE_REMEDY}"
        return None


_AWS_REMEDY = (
    "Set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, or give this"
    " machine a role or profile that may invoke the model."
)
_GOOGLE_REMEDY = (
    "Set GOOGLE_APPLICATION_CREDENTIALS to a service account's file, or log in with `gcloud auth"
    " application-default login`, and name the project in ANTHROPIC_VERTEX_PROJECT_ID."
)


def names_model(said: str, model: str) -> bool:
    """Tell whether a server says that it has no such model, and not that it has no such page."""
    return model in said and f"/{model}" not in said


def said_in(error: Any) -> str:
    """Return what a server says in an error of the SDK: in its own words, or the body."""
    return str(error.api_message or error.message)


def hide(said: str, secrets: Sequence[str]) -> str:
    """Return the text without these."""
    for secret in filter(None, secrets):
        said = said.replace(secret, "[key]")
    return said


async def _ask_for_a_token(client: Any, model: str, access: ModelAccess) -> Mapping[str, Any]:
    from anthropic import BadRequestError, NotFoundError

    ask = client.messages.create
    try:
        answer = await ask(model=model, max_tokens=1, messages=[_WORD], stream=True)
        await answer.close()
    except (NotFoundError, BadRequestError) as error:
        said = said_in(error)
        known = isinstance(error, BadRequestError) and not any(w in said.lower() for w in _NO_MODEL)
        if known:
            raise
        raise UnknownModel(model, said, access.settings, access.secrets) from error
    return {}


async def import_beside_loop(name: str) -> None:
    """Import a module in a thread, where it takes a second or so: the loop goes on meanwhile."""
    await asyncio.to_thread(import_module, name)


async def import_extra(name: str, extra: str) -> None:
    """Import a module of one of Fettle's extras. Raises ConfigError where it is not installed."""
    try:
        await import_beside_loop(name)
    except ImportError as error:
        raise ConfigError(
            f"Models of `{extra}:` take a library that is not installed: install Fettle with the"
            f" extra `{extra}`, as in `pip install 'fettle[{extra}]'`."
        ) from error


def _limit(timeout: float, trusted: SSLContext | None) -> dict[str, Any]:
    """Return what holds for every client; the library itself finds proxies in the environment."""
    from anthropic import DefaultAsyncHttpxClient, Timeout

    limit = Timeout(timeout, connect=CONNECT_SECONDS)
    client = DefaultAsyncHttpxClient(verify=trusted, timeout=limit) if trusted else None
    return {"max_retries": 0, "timeout": limit, "http_client": client}
