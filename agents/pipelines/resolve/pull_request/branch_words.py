"""Turn a model's words into a branch name: lower case, joined by single hyphens."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
LONGEST = 50


def _kebab(value: str) -> str:
    if len(value) > LONGEST or not _KEBAB.fullmatch(value):
        raise ValueError("must be a few lower-case words joined by single hyphens")
    return value


BranchWords = Annotated[str, AfterValidator(_kebab)]
