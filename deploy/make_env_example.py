"""Make deploy/env.example from the settings themselves: names, words and defaults.

python deploy/make_env_example.py >deploy/env.example
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from app.config.settings import PREFIX, Settings

WIDTH = 100
HEAD = """\
# All settings of Fettle, made from app/config/settings.py by deploy/make_env_example.py.
#
# One line is one variable, for `EnvironmentFile=` of fettle.service and `env_file` of compose.yml.
# What is commented out has its default. Take the # away in front of what you decide differently.
# Secrets do not belong in here: each is a file that is named like the variable (deploy/README.md).
# What `fettle setup` wrote into the data folder counts where the variable is absent; the App's id,
# key and webhook secret are taken together from one place or the other.
"""
ELSEWHERE = "A secret: keep it in a file of this name in the folder of secrets, not here."


def main() -> None:
    """Print the file."""
    sys.stdout.write("\n".join([HEAD, *_settings()]))


def _settings() -> Iterator[str]:
    for name, field in Settings.model_fields.items():
        words = [" ".join((field.description or "").split())]
        secret = _is_secret(field.annotation)
        if secret:
            words.append(ELSEWHERE)
        lines = [line for text in words for line in textwrap.wrap(text, WIDTH - len("# "))]
        value = "" if secret else _format_default(field)
        yield "".join([*(f"# {line}\n" for line in lines), f"#{_variable(name, field)}={value}\n"])


def _variable(name: str, field: FieldInfo) -> str:
    alias = field.validation_alias
    return alias if isinstance(alias, str) else f"{PREFIX}{name.upper()}"


def _is_secret(annotation: Any) -> bool:
    return annotation is SecretStr or any(map(_is_secret, get_args(annotation)))


def _format_default(field: FieldInfo) -> str:
    """Return the default as a variable holds it; one that a machine makes is not told."""
    if field.default_factory is not None or field.default is None or field.default == ():
        return ""
    if isinstance(field.default, str):
        return field.default
    return json.dumps(field.default)


if __name__ == "__main__":
    main()
