"""How variables become settings: what cannot be read is left out and told, nothing is raised."""

from __future__ import annotations

from typing import TypeVar

from pydantic import ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsError

from app.config.problems import Problem, variable_of

S = TypeVar("S", bound=BaseSettings)


def decoded(
    model: type[BaseSettings], source: EnvSettingsSource, problems: list[Problem]
) -> dict[str, object]:
    """Return the values by field; one that is no JSON where it must be is left out and told."""
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


def valid(model: type[S], values: dict[str, object], problems: list[Problem]) -> S:
    """Return the settings without the values that are wrong, and tell those."""
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
    """Return the environment variable of a field, also when it is named by its alias."""
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
