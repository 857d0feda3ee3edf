"""The App's manifest `app.yml`: the permissions and events that Fettle asks of GitHub."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from app.config.values import CALLBACK

NAME = "app.yml"
_PACKAGE = Path(__file__).resolve().parents[1]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Hook(_Strict):
    url: str
    active: bool


class AppManifest(_Strict):
    """The contents of app.yml.

    https://docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
    """

    name: str
    description: str
    url: str
    public: bool
    hook_attributes: _Hook
    default_permissions: dict[str, Literal["read", "write", "admin"]]
    default_events: tuple[str, ...]

    def form(
        self, *, name: str | None, webhook_url: str, redirect_url: str, pages_url: str = ""
    ) -> str:
        """Return the manifest for GitHub's form, with one operator's name and addresses.

        `pages_url`: of the pages that people sign in to; empty: there are none.
        """
        given = self.model_dump(mode="json")
        given["hook_attributes"]["url"] = webhook_url
        if pages_url:
            given["callback_urls"] = [f"{pages_url.rstrip('/')}{CALLBACK}"]
        return json.dumps(given | {"name": name or self.name, "redirect_url": redirect_url})


@cache
def app_manifest() -> AppManifest:
    """Return app.yml of this checkout, or of the installed package."""
    places = (_PACKAGE / NAME, _PACKAGE.parent / NAME)
    found = next(place for place in places if place.is_file())
    return AppManifest.model_validate(yaml.safe_load(found.read_text("utf-8")))
