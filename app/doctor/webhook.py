"""The webhook: where GitHub sends it, whether that answers, and how the last deliveries fared."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import aiohttp
from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from agents.errors import FettleError
from app.doctor.finding import Diagnosis, ok, report_failure, report_skip, report_warning
from app.doctor.github_client import DoctorClient

ABOUT, SENT = "webhook", "deliveries"
PAGE = "the App's page, under General → Webhook"
SECONDS = 10.0
MOST_NAMED = 3
_REASONS = {
    401: "Fettle did not accept the signature: the webhook secret here is not the one at GitHub. "
    "Set the same in both places; FETTLE_WEBHOOK_SECRETS takes the old and the new one meanwhile.",
    404: "Something else answers there. Have the proxy forward POST /webhook to Fettle.",
    405: "The path is not /webhook. Correct the URL at GitHub.",
    413: "The proxy refuses large bodies. Let it take 26 MB.",
    415: "Content type and body have to be JSON. Set `application/json` at GitHub.",
    502: "The proxy does not reach Fettle. Is `fettle serve` running, where the proxy looks?",
    503: "Fettle could not take it: full, stopping, or without an App. Its log says which.",
    504: "The proxy does not reach Fettle in time.",
}
_NO_ANSWER = (
    "GitHub did not reach the server. Check DNS, the firewall and the certificate, from outside."
)
_AGAIN = "Once that is mended, `fettle serve` has GitHub send again what failed within three days."


class _Config(BaseModel):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    url: str = ""
    content_type: str = "form"
    insecure_ssl: str | int = "0"
    secret: str | None = None


class _Delivery(BaseModel):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    guid: str
    delivered_at: AwareDatetime
    status: str
    status_code: int
    event: str
    action: str | None = None

    @property
    def fine(self) -> bool:
        return 200 <= self.status_code < 300


async def hook_findings(github: DoctorClient, expected: str | None) -> list[Diagnosis]:
    """Tell how the webhook is set at GitHub and what came of it."""
    try:
        config = _Config.model_validate(await github.get("/app/hook/config"))
        listed = await github.get("/app/hook/deliveries?per_page=100")
        deliveries = [_Delivery.model_validate(each) for each in listed]
    except FettleError as error:
        return [report_failure(ABOUT, str(error))]
    except ValidationError:
        return [report_failure(ABOUT, "What GitHub says about the webhook cannot be read.")]
    found = list(_diagnose_configuration(config, expected))
    if config.url:
        found.append(await _try_address(config.url))
    return [*found, *_diagnose_deliveries(deliveries)]


def _diagnose_configuration(config: _Config, expected: str | None) -> Iterator[Diagnosis]:
    if not config.url:
        yield report_failure(ABOUT, "GitHub has no URL to send to.", f"Set it on {PAGE}.")
        return
    faults = len(wrong := list(_faults(config, expected)))
    yield from wrong
    if not faults:
        yield ok(ABOUT, f"GitHub sends to {config.url}, signed")


def _faults(config: _Config, expected: str | None) -> Iterator[Diagnosis]:
    if expected and config.url != expected:
        said = f"GitHub sends to {config.url}, and FETTLE_WEBHOOK_URL is {expected}."
        yield report_failure(ABOUT, said, f"Correct the one that is wrong: the first is on {PAGE}.")
    if not config.secret:
        said = "There is no webhook secret at GitHub, and Fettle takes nothing unsigned."
        yield report_failure(ABOUT, said, f"Set it on {PAGE}, the same as here.")
    if config.content_type != "json":
        said = f"GitHub sends `{config.content_type}`; Fettle takes JSON alone."
        yield report_failure(ABOUT, said, f"Choose application/json on {PAGE}.")
    if str(config.insecure_ssl) != "0":
        said = "GitHub does not check the server's certificate, so others could read along."
        yield report_warning(ABOUT, said, f"Enable SSL verification on {PAGE}.")
    if urlsplit(config.url).scheme != "https" and not _is_loopback(config.url):
        said = f"{config.url} is not encrypted, and carries what private repositories hold."
        yield report_warning(
            ABOUT, said, "Put a proxy with TLS in front, and https:// into the URL."
        )


def _is_loopback(url: str) -> bool:
    return urlsplit(url).hostname in {"127.0.0.1", "localhost", "::1"}


async def _try_address(url: str) -> Diagnosis:
    """Ask the URL from here, with a GET that does nothing: Fettle answers it with 405."""
    about = "webhook from here"
    limit = aiohttp.ClientTimeout(total=SECONDS)
    try:
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), timeout=limit) as session,
            session.get(url, allow_redirects=False) as answer,
        ):
            status = answer.status
    except aiohttp.ClientConnectorCertificateError:
        remedy = "Renew it, and have the proxy send the whole chain."
        return report_failure(about, "The server's certificate is not valid.", remedy)
    except (aiohttp.ClientError, TimeoutError, ValueError, OSError) as error:
        said = f"It does not answer this machine ({type(error).__name__})."
        return report_warning(
            about, said, "GitHub may get through all the same: see the deliveries."
        )
    if status == 405:
        return ok(about, "Fettle answers")
    if status == 503:
        return report_warning(about, "It answers 503: Fettle is not ready.", "Its log says why.")
    said = f"It answers a GET with {status}, which is not Fettle's answer."
    return report_warning(about, said, "Something in between may answer; then see the deliveries.")


def _diagnose_deliveries(deliveries: list[_Delivery]) -> Iterator[Diagnosis]:
    """Tell of the newest attempt of each delivery."""
    if not deliveries:
        yield report_skip(SENT, "GitHub has sent nothing yet.")
        return
    newest: dict[str, _Delivery] = {}
    for each in sorted(deliveries, key=lambda each: each.delivered_at):
        newest[each.guid] = each
    came = {each.guid for each in deliveries if each.fine}
    lost = [each for each in newest.values() if each.guid not in came]
    lost.sort(key=lambda each: each.delivered_at, reverse=True)
    total = len(newest)
    if not lost:
        yield ok(SENT, f"The last {total} all arrived.")
        return
    last = max(newest.values(), key=lambda each: each.delivered_at)
    told = "; ".join(_describe(each) for each in lost[:MOST_NAMED])
    said = f"{len(lost)} of the last {total} failed: {told}."
    finding = report_warning if last.fine else report_failure
    yield finding(SENT, said, f"{_reason(lost[0])} {_AGAIN}")


def _describe(delivery: _Delivery) -> str:
    event = f"{delivery.event}.{delivery.action}" if delivery.action else delivery.event
    when = delivery.delivered_at.strftime("%Y-%m-%d %H:%M UTC")
    return f"{event} at {when} ({delivery.status})"


def _reason(delivery: _Delivery) -> str:
    if delivery.status_code == 0:
        return _NO_ANSWER
    other = f"The server answered {delivery.status_code}: the App's page shows the answer."
    return _REASONS.get(delivery.status_code, other)
