"""Step 1: accept or refuse a webhook delivery by its headers and raw bytes, without any I/O.

The order is fixed, cheap checks first: size, type, headers, signature, event, action, JSON object,
ping, accounts not served, own events, checks that passed. Deliveries that pass all checks go to the
inbox.
https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from agents.errors import DeliveryError
from app.config.allowed_owners import AllowedOwners
from handlers import ROUTES, is_handled
from handlers.check_suite import BROKEN

ACCEPTED = "accepted as {run}"
"""The body of the answer to an accepted delivery, with the run id."""
MAX_BODY = 26 * 1024 * 1024
"""Bytes. GitHub sends no payload over 25 MB, and drops the event instead."""

_EVENT = re.compile(r"[a-z0-9_]{1,60}")
_DELIVERY_ID = re.compile(r"[A-Za-z0-9-]{1,80}")
_SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}")
_ACTION_FIRST = re.compile(rb'\s*\{\s*"action"\s*:\s*"([a-z_]{1,60})"')
_MAX_ID = 2**63


class DeliveryHeaders(NamedTuple):
    """The headers of a delivery."""

    event: str
    delivery_id: str
    signature: str
    """`sha256=` and 64 hex digits."""


class ImmediateAnswer(NamedTuple):
    """The answer to a delivery that is not stored."""

    status: int
    text: str
    outcome: str
    """The metric's label for this delivery."""


class Delivery(NamedTuple):
    """A delivery to store until it is dispatched."""

    id: str
    event: str
    action: str
    installation_id: int | None
    digest: str
    """The verified HMAC. Only who knows the secret can make two bodies share one, so it tells
    bodies apart without hashing them again. A body that comes twice under different ids (two
    hooks with one secret) is one event: an action repeated later differs in `updated_at`."""
    body: bytes


@dataclass
class OwnIdentity:
    """The App's own ids at GitHub; None until they are known after the start."""

    bot_id: int | None = None

    def record_bot(self, bot_id: int) -> None:
        """Note the user id of the App's bot."""
        self.bot_id = bot_id


class WebhookReceiver:
    """Verifies deliveries, and refuses or accepts them."""

    def __init__(
        self,
        secrets: Sequence[str],
        identity: OwnIdentity,
        *,
        renewed: Callable[[], Sequence[str] | None] = lambda: None,
        owners: AllowedOwners | None = None,
    ) -> None:
        self.accept(secrets)
        self._identity = identity
        self._owners = owners or AllowedOwners()
        self._renewed = renewed
        """Asked when a signature is unknown: the secret may have been replaced a moment ago."""

    def accept(self, secrets: Sequence[str]) -> None:
        """Accept deliveries signed with these secrets, and no others."""
        if not secrets or not all(secrets):
            raise ValueError("an empty webhook secret would let anybody in")
        self._secrets = [secret.encode() for secret in secrets]

    def admit(self, headers: Mapping[str, str], body: bytes) -> ImmediateAnswer | Delivery:
        """Decide on a whole delivery. Raises DeliveryError with the HTTP status of the refusal."""
        if len(body) > MAX_BODY:
            raise too_large()
        return self.decide(read_head(headers), body)

    def decide(self, head: DeliveryHeaders, body: bytes) -> ImmediateAnswer | Delivery:
        """Decide on a delivery whose headers were read. Raises DeliveryError."""
        self._require_signed(body, head.signature)
        if _nothing_handles(head.event, body):
            return _UNHANDLED
        payload = _json_object(body)
        if head.event == "ping":
            return ImmediateAnswer(200, "pong", "pong")
        action = payload.get("action")
        if not isinstance(action, str) or not is_handled(head.event, action):
            return _UNHANDLED
        if dropped := self._find_drop_reason(head.event, action, payload):
            return ImmediateAnswer(204, "", dropped)
        installation_id = _id_of(payload.get("installation"))
        return Delivery(
            head.delivery_id, head.event, action, installation_id, head.signature[7:], body
        )

    def _require_signed(self, body: bytes, signature: str) -> None:
        if verify(self._secrets, body, signature) is not None:
            return
        if (secrets := self._renewed()) is not None:
            self.accept(secrets)
            if verify(self._secrets, body, signature) is not None:
                return
        raise DeliveryError(401, "The signature does not fit the body and the webhook secret.")

    def _find_drop_reason(self, event: str, action: str, payload: dict[str, Any]) -> str:
        """Return the outcome of what is not even kept; empty for all other."""
        if not self._owners.allow(payload):
            return "foreign"
        if self._from_a_bot(event, action, payload.get("sender")):
            return "from_bot"
        return "passed" if _only_passed(event, payload) else ""

    def _from_a_bot(self, event: str, action: str, sender: Any) -> bool:
        """Tell whether we caused it ourselves, or any bot where only people count."""
        if not isinstance(sender, dict):
            return False
        if self._identity.bot_id is not None and sender.get("id") == self._identity.bot_id:
            return not ROUTES[event, action].ours_too
        return ROUTES[event, action].people_only and sender.get("type") == "Bot"


_UNHANDLED = ImmediateAnswer(204, "", "unhandled")


def read_head(headers: Mapping[str, str]) -> DeliveryHeaders:
    """Read the headers of a delivery, before its body. Raises DeliveryError.

    https://docs.github.com/webhooks/webhook-events-and-payloads#delivery-headers
    """
    length = headers.get("Content-Length", "")
    if length.isdecimal() and int(length[:20]) > MAX_BODY:
        raise too_large()
    if headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
        raise DeliveryError(415, "Send application/json: set the webhook's content type to it.")
    if "Content-Encoding" in headers:
        raise DeliveryError(415, "Send the body as it was signed, without Content-Encoding.")
    return DeliveryHeaders(
        _well_formed(headers, "X-GitHub-Event", _EVENT),
        _well_formed(headers, "X-GitHub-Delivery", _DELIVERY_ID),
        _signature(headers),
    )


def verify(secrets: Sequence[bytes], body: bytes, signature: str) -> int | None:
    """Return the index of the secret that signed the body, or None; only SHA-256 counts.

    https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries
    """
    if not _SIGNATURE.fullmatch(signature):
        return None
    given = bytes.fromhex(signature[7:])
    for index, secret in enumerate(secrets):
        if hmac.compare_digest(hmac.digest(secret, body, "sha256"), given):
            return index
    return None


def too_large() -> DeliveryError:
    """Return the error for a body over the limit of GitHub's payloads.

    https://docs.github.com/webhooks/webhook-events-and-payloads#payload-cap
    """
    return DeliveryError(413, "The body is larger than any delivery of GitHub.")


def _well_formed(headers: Mapping[str, str], name: str, pattern: re.Pattern[str]) -> str:
    value = headers.get(name)
    if value is None:
        raise DeliveryError(400, f"The header {name} is missing.")
    if not pattern.fullmatch(value):
        raise DeliveryError(400, f"The header {name} does not look like one of GitHub's.")
    return value


def _signature(headers: Mapping[str, str]) -> str:
    value = headers.get("X-Hub-Signature-256")
    if value is None:
        raise DeliveryError(401, "The header X-Hub-Signature-256 is missing: set a secret.")
    if not _SIGNATURE.fullmatch(value):
        raise DeliveryError(401, "The header X-Hub-Signature-256 holds no SHA-256 signature.")
    return value


def _nothing_handles(event: str, body: bytes) -> bool:
    """Tell whether that is plain without parsing: most deliveries of a busy account end here.

    The event stands in a header. The action is the first key of each payload GitHub writes, and
    the signature proves that GitHub wrote this one. If it is not first, the parsed payload tells.
    """
    if event == "ping":
        return False
    if not is_handled(event):
        return True
    first = _ACTION_FIRST.match(body)
    return first is not None and not is_handled(event, first[1].decode("ascii"))


def _only_passed(event: str, payload: dict[str, Any]) -> bool:
    """Tell whether it says that checks have not failed, which most pushes of an account bring.

    Odd shapes are left to the handler.
    """
    suite = payload.get("check_suite") if event == "check_suite" else None
    conclusion = suite.get("conclusion") if isinstance(suite, dict) else None
    return isinstance(conclusion, str) and conclusion not in BROKEN


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        payload = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise DeliveryError(400, "The body is not JSON.") from None
    if not isinstance(payload, dict):
        raise DeliveryError(400, "The body is not a JSON object.")
    return payload


def _id_of(installation: Any) -> int | None:
    """Return the installation for looking things up; the handler is the one that judges it."""
    found = installation.get("id") if isinstance(installation, dict) else None
    return found if type(found) is int and 0 < found < _MAX_ID else None
