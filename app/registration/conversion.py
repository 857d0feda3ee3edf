"""The credentials of an App: converted from a manifest, or an id and key that exist already."""

from __future__ import annotations

import asyncio
import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    SecretStr,
    ValidationError,
)

from agents.errors import RunError, TransientError
from app.config.values import parse_key
from app.github.transport import Urls
from app.github.transport.app_client import AppClient
from app.github.transport.app_jwt import AppJwt
from app.github.transport.http import HttpApi, RequestFailed
from app.github.transport.rate_limits import NO_ANSWER

CODE = re.compile(r"[A-Za-z0-9._~-]{1,200}")
CLIENT_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")
CLIENT_SECRET = re.compile(r"[A-Za-z0-9._-]{1,200}")
TRIES = 3
SPENT = (
    "The App may exist at GitHub all the same, without anybody having its key: look under "
    "Developer settings, GitHub Apps. Delete it there and run `fettle setup` again; or make a "
    "private key and a webhook secret there and run `fettle setup --import`."
)


def _secret(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    if not text.strip() or not text.isprintable():
        raise ValueError("is not a secret")
    return value


class Registered(BaseModel):
    """An App on this GitHub; anybody chose its `name`, which is shown only cleaned."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    id: PositiveInt
    slug: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,99}$")]
    name: str
    html_url: str

    def install_link(self, urls: Urls) -> str:
        """Return the page on this GitHub where people install the App."""
        ours, theirs = urlsplit(urls.web), urlsplit(self.html_url)
        same = (theirs.scheme, theirs.netloc) == (ours.scheme, ours.netloc)
        path = theirs.path if re.fullmatch(r"(/[A-Za-z0-9_.-]+)+", theirs.path) else ""
        if not same or not path or theirs.query or theirs.fragment:
            path = f"/apps/{self.slug}"
        return f"{urls.web}{path}/installations/new"


class Converted(Registered):
    """A new App with its credentials."""

    pem: Annotated[SecretStr, AfterValidator(parse_key)]
    webhook_secret: Annotated[SecretStr, AfterValidator(_secret)]
    client_id: str = ""
    client_secret: SecretStr | None = None

    @property
    def for_sign_in(self) -> dict[str, str]:
        """Return what people sign in with, by variable; empty where GitHub gave nothing usable.

        It never costs the rest, which GitHub gives out once.
        """
        secret = self.client_secret.get_secret_value() if self.client_secret is not None else ""
        if not CLIENT_ID.fullmatch(self.client_id) or not CLIENT_SECRET.fullmatch(secret):
            return {}
        return {"FETTLE_CLIENT_ID": self.client_id, "FETTLE_CLIENT_SECRET": secret}


async def convert(urls: Urls, code: str, *, pause: float = 1.0) -> Converted:
    """Exchange the code for the App. Raises RunError or TransientError with what to do.

    https://docs.github.com/rest/apps/apps#create-a-github-app-from-a-manifest
    """
    async with urls.outbound.open_session() as session:
        answer = await _exchange(HttpApi(session, urls), code, pause)
    try:
        return Converted.model_validate(answer)
    except ValidationError as error:
        wrong = ", ".join(
            sorted({str(fault["loc"][0]) for fault in error.errors() if fault["loc"]})
        )
        raise RunError(
            f"GitHub's answer to the registration cannot be used ({wrong or 'no object'}). {SPENT}"
        ) from None


async def _exchange(api: HttpApi, code: str, pause: float) -> object:
    for tries in range(1, TRIES + 1):
        try:
            answer, _ = await api.send(
                "POST", "/app-manifests/{code}/conversions", url_vars={"code": code}
            )
            return answer
        except RequestFailed as refused:
            status = refused.reply.status
            if status not in {NO_ANSWER, 500, 502, 503, 504}:
                raise RunError(
                    f"GitHub refused the registration's code with status {status}: it holds for an "
                    f"hour and works once. {SPENT}"
                ) from None
            if tries == TRIES:
                raise TransientError(
                    f"GitHub did not answer when asked for the App's key. {SPENT}"
                ) from None
            await asyncio.sleep(pause * tries)
    raise AssertionError("the last try returns or raises")


async def adopt(urls: Urls, app_id: str, key: SecretStr) -> Registered:
    """Return the App that GitHub knows by this id and key.

    Raises ConfigError when there is none, TransientError when GitHub is out of reach.
    """
    jwt = AppJwt(app_id, key.get_secret_value())
    async with urls.outbound.open_session() as session:
        answer = await AppClient(HttpApi(session, urls), jwt).request("GET", "/app")
    try:
        return Registered.model_validate(answer)
    except ValidationError:
        raise RunError(
            f"What {urls.web} answers about the App cannot be used. Check the address."
        ) from None
