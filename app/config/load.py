"""Read environment variables as settings: faults are collected with their remedies, none raised."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from pydantic import ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsError

from agents.loop.model_names import split_provider

S = TypeVar("S", bound=BaseSettings)


def decode_values(
    model: type[BaseSettings], source: EnvSettingsSource, problems: list[Problem]
) -> dict[str, object]:
    """Return the values by field; one that should be JSON and is not becomes a problem."""
    while True:
        try:
            return {name.lower(): value for name, value in source().items()}  # aliases in capitals
        except SettingsError as error:
            found = [name for name in model.model_fields if f'"{name}"' in str(error)]
            if not found:
                raise
            problems.append(_problem(model, (found[0],), "is not JSON"))
            source.env_vars = {
                name: text
                for name, text in source.env_vars.items()
                if name != field_variable(model, found[0]).lower()
            }


def read_valid(model: type[S], values: dict[str, object], problems: list[Problem]) -> S:
    """Return the settings; wrong values get their defaults and become problems."""
    while True:
        try:
            return model(**values)  # type: ignore[arg-type]  # pydantic checks them
        except ValidationError as error:
            faults = error.errors()
            if not {str(fault["loc"][0]).lower() for fault in faults} & values.keys():
                raise  # a default of ours is wrong: leaving values out would go on for ever
        problems += [_problem(model, fault["loc"], fault["msg"]) for fault in faults]
        wrong = {str(fault["loc"][0]).lower() for fault in faults}
        values = {name: value for name, value in values.items() if name not in wrong}


def field_variable(model: type[BaseSettings], field: str) -> str:
    """Return the environment variable of a field or of its alias."""
    known = model.model_fields.get(field)
    return variable_of(field, known.validation_alias if known else field)


def _problem(model: type[BaseSettings], where: tuple[int | str, ...], message: str) -> Problem:
    field = str(where[0])
    text = message.removeprefix("Value error, ")
    meant = model.model_fields.get(field.lower()) or model.model_fields.get(field)
    purpose = (
        f" Expected: {' '.join(meant.description.split())}" if meant and meant.description else ""
    )
    return Problem(field_variable(model, field), f"{text}.{purpose}")


PREFIX = "FETTLE_"

CREDENTIALS = ("app_id", "private_key", "private_key_file", "webhook_secrets")
"""The fields that prove who the App is."""


class Problem(NamedTuple):
    """A fault of one variable, with its remedy."""

    variable: str
    text: str

    def __str__(self) -> str:
        """Return the problem as a line of a list."""
        return f"- {self.variable}: {self.text}"


def variable_of(field: str, alias: object) -> str:
    """Return the environment variable of a field."""
    return alias if isinstance(alias, str) else f"{PREFIX}{field.upper()}"


def list_missing(values: Mapping[str, object]) -> Iterator[Problem]:
    """Yield the variables that a server needs and lacks, each with where to find the value."""
    page = "on the App's page, under Settings, Developer settings, GitHub Apps"
    if not values.get("app_id"):
        yield Problem(
            f"{PREFIX}APP_ID",
            f"is missing. Run `fettle setup`, or set it to the App ID {page}.",
        )
    keys = [values.get("private_key"), values.get("private_key_file")]
    if not any(keys):
        yield Problem(
            f"{PREFIX}PRIVATE_KEY",
            f"is missing. Run `fettle setup`, or set it, or {PREFIX}PRIVATE_KEY_FILE, to a "
            f"private key made {page}.",
        )
    if all(keys):
        yield Problem(
            f"{PREFIX}PRIVATE_KEY", f"is set, and {PREFIX}PRIVATE_KEY_FILE too. Take one away."
        )
    if not values.get("webhook_secrets"):
        yield Problem(
            f"{PREFIX}WEBHOOK_SECRETS",
            "is missing or empty. Run `fettle setup`, or set it to the webhook secret "
            f"{page}; without one anybody could send deliveries.",
        )
    if values.get("models") != "none":
        yield from list_keyless(values)


def list_keyless(values: Mapping[str, object]) -> Iterator[Problem]:
    """Yield the keys that the chosen models' providers need and that are not set."""
    others = [values.get(name) for name in ("model_judge", "model_fast", "fallback_model")]
    named = [values.get("model") or "", *filter(None, others)]
    providers = {split_provider(str(name))[0] for name in named}
    ways = ("anthropic_api_key", "anthropic_auth_token", "anthropic_base_url")
    if "anthropic" in providers and not any(map(values.get, ways)):
        yield Problem(
            "ANTHROPIC_API_KEY",
            "is missing. Set it to a key of the Messages API, or ANTHROPIC_BASE_URL to a server "
            "that needs none; or FETTLE_MODELS=none, to have alerts fixed by code alone.",
        )
    if "openai" in providers and not (
        values.get("openai_api_key") or values.get("openai_base_url")
    ):
        yield Problem(
            "OPENAI_API_KEY",
            "is missing. Set it to a key for the models whose names begin with `openai:`, or "
            "OPENAI_BASE_URL to a server that needs none.",
        )


def list_unknown(environ: Mapping[str, str], known: Sequence[str]) -> Iterator[Problem]:
    """Yield the variables with Fettle's prefix that are no setting: mostly misspellings."""
    for name in sorted(environ):
        if name.upper().startswith(PREFIX) and name not in known:
            near = difflib.get_close_matches(name.upper(), known, n=1, cutoff=0.5)
            hint = f"Did you mean {near[0]}?" if near else f"Known are: {', '.join(known)}."
            yield Problem(name, f"is no setting of Fettle. {hint}")
