"""Find what a change would let out or let in: secrets, new addresses, protection switched off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.private_key import PrivateKeyDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector
from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from agents.analysis.weakening import Finding, Unreadable, make_finding, read_diff
from agents.analysis.weakening.diff_views import FileDiff, ViewLine, is_comment
from agents.analysis.which_are_tests import is_test

# Those of detect-secrets whose pattern is a vendor's own format. Its guesses by names of variables
# and by entropy report every second test, and whoever is told of those stops reading.
_DETECTORS = tuple(
    detector()
    for detector in (
        AWSKeyDetector,
        AzureStorageKeyDetector,
        DiscordBotTokenDetector,
        GitHubTokenDetector,
        GitLabTokenDetector,
        JwtTokenDetector,
        MailchimpDetector,
        NpmDetector,
        OpenAIDetector,
        PrivateKeyDetector,
        PypiTokenDetector,
        SendGridDetector,
        SlackDetector,
        SquareOAuthDetector,
        StripeDetector,
        TelegramBotTokenDetector,
        TwilioKeyDetector,
    )
)
_MORE = {
    "Anthropic API key": re.compile(r"sk-ant-[A-Za-z0-9_-]{16,}"),
    "fine-grained GitHub token": re.compile(r"github_pat_[A-Za-z0-9_]{22,}"),
    "Google API key": re.compile(r"AIza[A-Za-z0-9_-]{35}"),
}
LONGEST = 20_000
"""Characters of a line that are looked through at once; a longer line is read in parts."""
_OVERLAP = 200
NO_DIFF = "the diff of the change could not be read"

_HOST = re.compile(
    r"\b(?:https?|wss?|ftp|ssh|git)://(?:[^\s/@\"'`<>]+@)?([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)"
)
_NOBODYS = re.compile(
    r"(?:.*\.)?(?:example\.(?:com|net|org)|(?:example|invalid|localhost|test|local))|[0-9.]+"
    r"|(?:www\.)?w3\.org|json-schema\.org|schemas?\..*|xmlns\..*",
    re.IGNORECASE,
)
"""Names that nobody is reached by (RFC 2606, RFC 6761), and those that only name a format."""
_NO_CODE = re.compile(
    r".*\.(?:md|rst|txt|adoc|lock|sum|svg)|(?:.*/)?[\w.-]*(?:-lock|\.lock)\.(?:json|yaml|yml)"
)

_UNSAFE = {
    "certificates are not checked": (
        r"\bverify\s*=\s*False\b|\brejectUnauthorized['\"]?\s*:\s*false|NODE_TLS_REJECT_UNAUTHORIZED"
        r"|\bInsecureSkipVerify\s*:\s*true|_create_unverified_context|\bCERT_NONE\b"
        r"|\bdanger_accept_invalid_certs\(\s*true|\bstrict-ssl\s*=\s*false|\bsslVerify[= ]+false"
        r"|CURLOPT_SSL_VERIFY(?:PEER|HOST)['\"]?\s*(?:,|=>)\s*(?:0|false)"
        r"|\b(?:curl|wget)\b.*\s(?:-k|--insecure|--no-check-certificate)\b"
    ),
    "errors are shown to everybody": r"\bDEBUG\s*=\s*True\b|\bdebug\s*=\s*True\b",
    "every address may come in": (
        r"\b0\.0\.0\.0/0\b|::/0['\"\s]|Access-Control-Allow-Origin['\"]?\s*[:,=]\s*['\"]?\*"
        r"|\ballow_origins\s*=\s*\[\s*['\"]\*|\bALLOWED_HOSTS\s*=\s*\[\s*['\"]\*"
    ),
    "everybody on the machine may write": r"\bchmod\s+(?:-R\s+)?(?:0?777|a\+w|o\+w)\b|\b0o?777\b",
    "a container may do all": r"\bprivileged['\"]?\s*:\s*true\b|--privileged\b",
    "what is loaded is run unseen": r"\b(?:curl|wget)\b[^|;]*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b",
    "data becomes code": (
        r"\bpickle\.loads?\(|\byaml\.(?:unsafe_)?load\((?!.*(?:Safe|CSafe)Loader)"
        r"|(?<![\w.])eval\(|\bshell\s*=\s*True\b|dangerouslySetInnerHTML"
    ),
    "requests are not checked for their origin": r"@csrf_exempt\b|\bskip_forgery_protection\b",
}  # fmt: skip
_ANY_UNSAFE = {words: re.compile(pattern) for words, pattern in _UNSAFE.items()}


class NewHost(NamedTuple):
    """A host that the change names and the lines around it did not."""

    name: str
    path: str
    line: int

    @property
    def finding(self) -> Finding:
        """Return the host as something to point out."""
        return make_finding(self.path, self.line, "host", self.name, grave=False)


def find_secrets(diff: str) -> tuple[Finding, ...]:
    """Return where the change adds what has the form of a secret. The secret is not in the text.

    What only moved from another line of the change is not new. Takes longer the longer the diff is:
    not for the event loop.
    """
    try:
        files = PatchSet(diff)
    except (UnidiffParseError, ValueError, AssertionError, AttributeError):
        return (make_finding("the whole change", 0, "secret", NO_DIFF),)
    lines = [(file.path, line) for file in files for hunk in file for line in hunk]
    gone = {line.value.strip() for _, line in lines if line.is_removed}
    found = [
        make_finding(path, line.target_line_no or 0, "secret", name)
        for path, line in lines
        if line.is_added and line.value.strip() not in gone
        for name in sorted(set(_name_secrets(line.value)))
    ]
    return tuple(dict.fromkeys(found))


def holds_secret(line: str) -> bool:
    """Return whether a line has in it what has the form of a secret."""
    return any(_name_secrets(line))


def find_exposures(diff: str) -> tuple[tuple[Finding, ...], tuple[NewHost, ...]]:
    """Return where the change switches protection off, and which hosts its code names anew.

    Not in tests and texts. Whether other files name a host already, the diff does not tell.
    """
    try:
        changes = [each for each in read_diff(diff) if _is_code(each)]
    except Unreadable:
        return (), ()
    gone = {line.text.strip() for change in changes for line in change.before}
    known = {name for change in changes for line in change.before for name in _list_hosts(line)}
    unsafe: list[Finding] = []
    hosts: dict[str, NewHost] = {}
    for change in changes:
        for line in change.after:
            text = line.text.strip()
            if not line.number or text in gone or is_comment(line.text, change.language):
                continue
            unsafe += [
                make_finding(change.path, line.number, "unsafe", f"{words}: {text}", grave=False)
                for words, pattern in _ANY_UNSAFE.items()
                if pattern.search(text)
            ]
            for name in _list_hosts(line):
                if name not in known:
                    hosts.setdefault(name, NewHost(name, change.path, line.number))
    return tuple(dict.fromkeys(unsafe)), tuple(hosts.values())


def _is_code(change: FileDiff) -> bool:
    return not (change.binary or _NO_CODE.fullmatch(change.path) or is_test(change.path))


def _list_hosts(line: ViewLine) -> list[str]:
    names = [name.lower() for name in _HOST.findall(line.text)]
    return [name for name in names if not _NOBODYS.fullmatch(name)]


def _name_secrets(line: str) -> Iterator[str]:
    """Yield what kinds of secret a line seems to hold."""
    for begin in range(0, max(len(line), 1), LONGEST):
        part = line[begin : begin + LONGEST + _OVERLAP]
        for detector in _DETECTORS:
            if next(iter(detector.analyze_string(part)), None) is not None:
                yield detector.secret_type
        yield from (name for name, pattern in _MORE.items() if pattern.search(part))
