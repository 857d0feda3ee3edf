"""A sign-in that somebody finishes elsewhere, by typing a code."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class DeviceSignIn(BaseModel):
    """What GitHub gives a program that has no browser.

    https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps#device-flow
    """

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    device_code: Annotated[str, Field(min_length=1, max_length=200)]
    """With which the program asks whether somebody has typed the other one. Secret."""
    user_code: Annotated[str, Field(pattern=r"^[A-Z0-9-]{4,20}$")]
    verification_uri: Annotated[str, Field(pattern=r"^https?://[\x21-\x7e]{1,300}$")]
    expires_in: Annotated[int, Field(ge=1, le=3600)]
    """Seconds."""
    interval: Annotated[int, Field(ge=1, le=60)]
    """Seconds from one question to the next."""
